"""`latentbits simulate`: a 0-1 table with known causes, to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.options.click_helpers import FILE_PATH
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.output_file import check_target, output_table
from latentbits.cli.terminal import Terminal
from latentbits.storage.output_folder import OutputFolder
from latentbits.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.simulate.zero_one_tables import AspectTruth

__all__ = ["simulate"]

SHARPNESS = 0.2
"""Most attributes of a component are nearly always or nearly never there: causes that can be told apart."""


@click.command(
    short_help="A 0-1 table with known causes, to try things on.",
    epilog="Example: latentbits simulate --rows 100 --columns 40 --out sites.csv --truth truth",
)
@click.option("--rows", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--columns", type=click.IntRange(min=1), default=40, show_default=True)
@click.option("--components", type=click.IntRange(min=1), default=4, show_default=True, help="Phantom included.")
@click.option(
    "--white-phantom/--no-white-phantom",
    default=True,
    help="Whether the last component makes false zeros only.  [default: white-phantom]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same table.")
@click.option("--truth", type=FILE_PATH, metavar="DIR", help="A folder to make, with what made the cells.")
@table_options
@terminal_options
def simulate(
    rows: int,
    columns: int,
    components: int,
    white_phantom: bool,
    seed: int,
    truth: Path | None,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Draw a table of 0 and 1: each cell is made by one of its row's components.

    The truth is written as components.csv (the chance of a 1 in each column), weights.csv (each row's components)
    and causes.csv (the component that made each cell).
    """
    if white_phantom and components < 2:
        raise click.UsageError("a phantom alone makes zeros only; use --components 2 or more, or --no-white-phantom")
    if out is not None:
        check_target(out, force=force)
    if truth is not None:
        OutputFolder(truth).check(force=force)

    from latentbits.simulate.zero_one_tables import aspect_bernoulli

    made = aspect_bernoulli(
        rows, columns, components, white_phantom=white_phantom, sharpness=SHARPNESS, random_state=seed
    )
    table, tables = _tables(made)
    if truth is not None:
        OutputFolder(truth).save_tables(tables, {}, force=force)
    kinds = f"{counted(components, 'component')}{', the last a white phantom' * white_phantom}"
    size = f": {counted(rows, 'row')} x {counted(columns, 'column')} of {kinds}"
    output_table(table, out, force=force, terminal=terminal, details=size)
    if out is not None:
        terminal.print(f"Go on with: latentbits fit {out} --components 2:{components + 2} --out run")


def _tables(made: AspectTruth) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """The table, and the tables of what made it, with names for rows and columns."""
    import pandas as pd

    n_rows, n_columns = made.X.shape
    sites = [f"site{i}" for i in range(n_rows)]
    species = [f"species{j}" for j in range(n_columns)]
    kinds = [f"component_{k}" for k in range(len(made.components))]

    def labelled(values: Any, columns: list[str]) -> pd.DataFrame:
        table = pd.DataFrame(values, columns=columns)
        table.insert(0, "site", sites)
        return table

    components = pd.DataFrame(made.components, columns=species)
    components.insert(0, "component", range(len(kinds)))
    return labelled(made.X, species), {
        "components": components,
        "weights": labelled(made.weights, kinds),
        "causes": labelled(made.causes, species),
    }
