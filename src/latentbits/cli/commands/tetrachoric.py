"""`latentbits tetrachoric`: the correlations underneath yes-no columns, as a labelled table."""

from __future__ import annotations

from pathlib import Path

import click

from latentbits.cli.options.click_helpers import Values
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.options.reading import check_file, read, read_with_segments, reading_options
from latentbits.cli.output_file import output_table
from latentbits.cli.terminal import Terminal

__all__ = ["tetrachoric"]


@click.command(
    short_help="Tetrachoric correlations of the columns, as a labelled table.",
    epilog="Example: latentbits tetrachoric items.csv --out correlations.csv",
)
@click.option("--segments", metavar="COLUMN", help="The column that says which group a row belongs to.")
@click.option("--pairs", "as_pairs", is_flag=True, help="A line for each pair, with its standard error.")
@click.option("--repair", is_flag=True, help="Make the matrix positive definite, as factor analysis needs it.")
@table_options
@terminal_options
@reading_options
def tetrachoric(
    file: Path,
    reading: Values,
    segments: str | None,
    as_pairs: bool,
    repair: bool,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Correlations of the normal variables behind the columns of FILE, as a table with their names.

    Polychoric correlations, of columns with more than two ordered values, are not computed.
    """
    from latentbits.correlations.tetrachoric import tetrachoric as correlate

    check_file(file)
    data, labels = (read(file, reading), None) if segments is None else read_with_segments(file, reading, segments)
    found = correlate(data, labels, repair=repair)
    table = found.to_pairs() if as_pairs else found.to_frame().rename_axis(columns=None)
    if not as_pairs:
        table = table.reset_index(names=["segment", "column"] if labels is not None else ["column"])
    output_table(table, out, force=force, terminal=terminal)
