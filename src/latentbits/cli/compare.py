"""`latentbits compare`: which model, judged on what wasn't seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from latentbits.cli.console import Voice
from latentbits.cli.learning import LEARNING, parameters_of
from latentbits.cli.options import FOLDER_FORCE, Values, bundled, check_file, force_option, read, reads_file, tells
from latentbits.cli.output import PLOTS_FOLDER, as_records, check_folder
from latentbits.cli.selecting import folds_option
from latentbits.cli.trials import out_option, readable, size_line, write_trials
from latentbits.cli.values import ModelNames, Names

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
@out_option
@force_option(FOLDER_FORCE)
@tells
@reads_file
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
    voice: Voice,
) -> None:
    """Put several models of FILE through the same held-out cells and rows.

    The baseline of independent columns is always among them. A p value is that of a rank-sum test of the
    folds' scores against the best model's.
    """
    if out is not None:
        check_folder(out, force=force)
    check_file(file)

    from latentbits.models.registry import model_class
    from latentbits.tasks.compare import compare as compare_models

    data = read(file, reading)
    wanted = [(name, number or components) for name, number in models]
    estimators = {
        f"{name}:{number}": model_class(name)(
            **parameters_of({**learning, "components": number}, name, known_only=True)
        )
        for name, number in wanted
    }
    estimators[BASELINE] = model_class("independent")()
    found = compare_models(
        estimators,
        data,
        criterion=criterion,
        n_folds=folds,
        random_state=learning["seed"],
        n_jobs=learning["jobs"],
        verbose=int(voice.shows_progress),
    )
    tables = {"comparison": found.table, "folds": found.folds}
    summary = {"file": file.name, "best": found.best}
    if out is not None:
        write_trials(out, tables, found.plot(), summary, force=force)
    voice.document(summary | {name: as_records(table) for name, table in tables.items()})
    voice.say(size_line(data))
    voice.say(readable(found.table.drop(columns="n_components")))
    for name in criterion:
        voice.say(_verdict(found.table, name))
    if out is not None:
        voice.say(f"Look at {out}: comparison.csv, folds.csv, and the plot in {PLOTS_FOLDER}.")


def _verdict(table: pd.DataFrame, criterion: str) -> str:
    best = table["model"].iloc[int(table[criterion].to_numpy().argmax())]
    others = table[table["model"] != best]
    tied = others.loc[others[f"{criterion}_behind"] <= others[f"{criterion}_behind_se"], "model"].astype(str)
    line = f"Best by {criterion}: {best}"
    return f"{line}; within one standard error of it: {', '.join(tied)}." if len(tied) else f"{line}."
