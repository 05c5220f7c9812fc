"""`latentbits compare`: which model, judged on what wasn't seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.model_selection import size_line, terminal_table
from latentbits.cli.options.click_helpers import Values, bundled
from latentbits.cli.options.criteria import folds_option
from latentbits.cli.options.learning import LEARNING, parameters_of
from latentbits.cli.options.output import FOLDER_FORCE, force_option, optional_folder_option, terminal_options
from latentbits.cli.options.reading import check_file, read, reading_options
from latentbits.cli.options.value_types import ModelNames, Names
from latentbits.cli.terminal import Terminal
from latentbits.storage.files import to_records
from latentbits.storage.output_folder import PLOTS_FOLDER, OutputFolder

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]

BASELINE = "independent columns"
_COMMON = ("restarts", "seed", "jobs", "max_iter", "tol")


@click.command(
    short_help="Which model: held-out cells and rows, the same for all.",
    epilog="Example: latentbits compare sites.csv --components 4 --models aspect-bernoulli,bernoulli-mixture:12",
)
@click.option(
    "--models",
    type=ModelNames(),
    default="aspect-bernoulli,beta-ica,bernoulli-mixture,logistic-pca",
    show_default=True,
    metavar="LIST",
    help="With a number of components of its own behind a colon, if wanted.",
)
@click.option("--components", type=click.IntRange(min=1), default=5, show_default=True, help="Of the other models.")
@click.option(
    "--criterion",
    type=Names(("cells", "cv")),
    default="cells,cv",
    show_default=True,
    metavar="LIST",
    help="cells (held-out cells), cv (held-out rows); the first one sorts.",
)
@folds_option
@bundled("learning", {key: LEARNING[key] for key in _COMMON})
@optional_folder_option
@force_option(FOLDER_FORCE)
@terminal_options
@reading_options
def compare(
    file: Path,
    reading: Values,
    models: list[tuple[str, int | None]],
    components: int,
    criterion: list[str],
    folds: int,
    learning: Values,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Put several models of FILE through the same held-out cells and rows.

    The baseline of independent columns is always among them. A p value is that of a rank-sum test of the
    folds' scores against the best model's.
    """
    if out is not None:
        OutputFolder(out).check(force=force)
    check_file(file)
    data = read(file, reading)

    from latentbits.tasks.compare import compare as compare_models

    estimators = _estimators([(name, number or components) for name, number in models], learning)
    found = compare_models(
        estimators,
        data,
        criterion=criterion,
        n_folds=folds,
        random_state=learning["seed"],
        n_jobs=learning["jobs"],
        verbose=int(terminal.shows_progress),
    )
    tables = {"comparison": found.table, "folds": found.folds}
    summary = {"file": file.name, "best": found.best}
    if out is not None:
        OutputFolder(out).save_tables(tables, summary, figures={"comparison": found.plot}, force=force)
    terminal.print_json(summary | {name: to_records(table) for name, table in tables.items()})
    terminal.print(size_line(data))
    terminal.print(terminal_table(found.table.drop(columns="n_components")))
    for name in criterion:
        terminal.print(_verdict(found.table, name))
    if out is not None:
        terminal.print(f"Look at {out}: comparison.csv, folds.csv, and the plot in {PLOTS_FOLDER}.")


def _estimators(models: list[tuple[str, int]], learning: Values) -> dict[str, Any]:
    """Each model with its number of components, and the baseline, by the names that the tables show."""
    from latentbits.models.registry import MODELS, model_class

    estimators = {}
    for name, number in models:
        parameters = parameters_of({**learning, "components": number}, name, known_only=True)
        label = f"{name}:{number}" if MODELS[name].has_components else name
        estimators[label] = model_class(name)(**parameters)
    return {**estimators, BASELINE: model_class("independent")()}


def _verdict(table: pd.DataFrame, criterion: str) -> str:
    best = table["model"].iloc[int(table[criterion].to_numpy().argmax())]
    others = table[table["model"] != best]
    tied = others.loc[others[f"{criterion}_behind"] <= others[f"{criterion}_behind_se"], "model"].astype(str)
    line = f"Best by {criterion}: {best}"
    return f"{line}; within one standard error of it: {', '.join(tied)}." if len(tied) else f"{line}."
