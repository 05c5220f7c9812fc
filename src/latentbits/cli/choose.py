"""`latentbits select` and `compare`: how many components, and which model, judged on what wasn't seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli import console
from latentbits.cli.console import say
from latentbits.cli.options import (
    FILE_PATH,
    LEARNING,
    Values,
    bundled,
    force_option,
    parameters_of,
    read,
    reads_file,
)
from latentbits.cli.output import PLOTS_FOLDER, SUMMARY_FILE, check_folder, new_folder, write_csv, write_json
from latentbits.models.registry import TABLE_MODELS

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.data.binary_data import BinaryData

__all__ = ["Numbers", "compare", "select"]

BASELINE = "independent columns"
_DIFFER = (
    "They differ because they ask different things: aic and cv, what describes the rows; cells, what still helps to "
    "foretell a cell, where short rows make aspect-bernoulli and logistic-pca overconfident (beta-ica is not); bic and "
    "evidence charge for every row's weights."
)
_COMMON = ("restarts", "seed", "jobs", "max_iter", "tol")
_OUT_HELP = "A folder to make, with the tables as CSV and a plot.  [default: only tell]"


class Numbers(click.ParamType):
    """Whole numbers: one, a list with commas (2,4,8), or a range with both ends (2:8)."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """The numbers in order, each once."""
        if isinstance(value, list):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            first, colon, last = part.partition(":")
            if not first.isdecimal() or (colon and not last.isdecimal()):
                self.fail(f'"{part}" is no number of components; give one such as 4, a list 2,4,8 or a range 2:8')
            found |= set(range(int(first), int(last if colon else first) + 1))
        if not found or min(found) < 1:
            self.fail(f'"{value}" names no number from 1 on; give one such as 4, a list 2,4,8 or a range 2:8')
        return sorted(found)


class Names(click.ParamType):
    """Words with commas between them, each of them known."""

    name = "names"

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """The words."""
        words = value if isinstance(value, list) else [word.strip() for word in str(value).split(",")]
        for word in words:
            if word not in self.known:
                self.fail(f'"{word}" is unknown; use any of {", ".join(self.known)}, with commas between them')
        return words


class ModelNames(click.ParamType):
    """Models with commas between them, each with a number of components behind a colon or without."""

    name = "models"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[tuple[str, int | None]]:
        """Pairs of the name and the number, if any."""
        if isinstance(value, list):
            return value
        pairs: list[tuple[str, int | None]] = []
        for word in str(value).split(","):
            name, colon, number = word.strip().partition(":")
            if name not in TABLE_MODELS:
                self.fail(f'there is no model "{name}" for 0-1 tables; use any of {", ".join(TABLE_MODELS)}')
            if colon and (not number.isdecimal() or int(number) < 1):
                self.fail(f'"{word}": give a number of components behind the colon, such as {name}:5')
            pairs.append((name, int(number) if colon else None))
        return pairs


_SEARCHING = {key: settings for key, settings in LEARNING.items() if key != "components"}


def folds_option(command: Any) -> Any:
    """Give a command the number of folds."""
    return click.option(
        "--folds", type=click.IntRange(min=2), default=10, show_default=True, help="Of held-out rows and cells."
    )(command)


@click.command(
    short_help="How many components: criteria, stability, a plot.",
    epilog="Example: latentbits select sites.csv --components 2:8 --criterion aic,cells",
)
@click.option("--model", type=click.Choice(TABLE_MODELS), default="aspect-bernoulli", show_default=True)
@click.option("--components", type=Numbers(), required=True, metavar="RANGE", help="To try, such as 2:8 or 2,4,8.")
@click.option(
    "--criterion",
    type=Names(("aic", "bic", "evidence", "cv", "cells")),
    metavar="LIST",
    help="aic, bic, evidence (beta-ica), cv (held-out rows), cells (held-out cells); the first one chooses.  "
    "[default: aic,cells; for nmf and fast-ica cells]",
)
@folds_option
@bundled("learning", _SEARCHING)
@click.option("--out", type=FILE_PATH, metavar="DIR", help=_OUT_HELP)
@force_option("Replace DIR if it holds an earlier output, or nothing.")
@click.option("--quiet", is_flag=True, help="No progress bar, no answer; only files, notes and errors.")
@reads_file
def select(
    file: Path,
    reading: Values,
    model: str,
    components: list[int],
    criterion: list[str] | None,
    folds: int,
    learning: Values,
    out: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Compare numbers of components of a model for FILE; 1 is always tried as well, as the baseline.

    "cv" and "cells" fit FOLDS times more, each time without some rows or cells, and judge the model on these.
    Stability tells how well other random starts find the least stable component again (1: the same, 0 or less:
    an accident).
    """
    from latentbits.models.registry import model_class
    from latentbits.tasks.select import select_order

    if out is not None:
        check_folder(out, force=force)
    data = read(file, reading)
    parameters = parameters_of(learning, model)
    seed, jobs = parameters.pop("random_state", None), parameters.pop("n_jobs", None)
    estimator = model_class(model)(**parameters)
    found = select_order(
        estimator,
        data,
        components,
        criterion=criterion or (["aic", "cells"] if hasattr(estimator, "aic") else ["cells"]),
        n_folds=folds,
        random_state=seed,
        n_jobs=jobs,
        verbose=int(console.shows_progress(quiet=quiet)),
    )
    tables = {"selection": found.table, "choices": found.choices, "folds": found.folds, "stability": found.stability}
    if out is not None:
        told = {"model": model, "file": file.name, "choices": found.choices.to_dict("records")}
        _write(out, {name: table for name, table in tables.items() if len(table)}, found.plot(), told, force=force)
    if not quiet:
        _tell_data(data)
        say(_readable(found.table))
        for choice in found.choices.itertuples():
            say(_choice_line(choice))
        if found.choices["best"].nunique() > 1:
            say(_DIFFER)
        if out is not None:
            say(f"Look at {out}: selection.csv, folds.csv, stability.csv, and the plot in {PLOTS_FOLDER}.")


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
@click.option("--out", type=FILE_PATH, metavar="DIR", help=_OUT_HELP)
@force_option("Replace DIR if it holds an earlier output, or nothing.")
@click.option("--quiet", is_flag=True, help="No progress bar, no answer; only files, notes and errors.")
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
    quiet: bool,
) -> None:
    """Put several models of FILE through the same held-out cells and rows.

    The baseline of independent columns is always among them. A p value is that of a rank-sum test of the
    folds' scores against the best model's.
    """
    from latentbits.models.registry import model_class
    from latentbits.tasks.compare import compare as compare_models

    if out is not None:
        check_folder(out, force=force)
    data = read(file, reading)
    estimators: dict[str, Any] = {}
    for name, number in models:
        n_components = number or components
        kind = model_class(name)
        given = parameters_of({**learning, "components": n_components}, name, known_only=True)
        estimators[f"{name}:{n_components}"] = kind(**given)
    estimators[BASELINE] = model_class("bernoulli-mixture")(1, n_init=1)
    found = compare_models(
        estimators,
        data,
        criterion=criterion,
        n_folds=folds,
        random_state=learning["seed"],
        n_jobs=learning["jobs"],
        verbose=int(console.shows_progress(quiet=quiet)),
    )
    if out is not None:
        told = {"file": file.name, "best": found.best}
        _write(out, {"comparison": found.table, "folds": found.folds}, found.plot(), told, force=force)
    if not quiet:
        _tell_data(data)
        say(_readable(found.table.drop(columns="n_components")))
        for name in criterion:
            say(_verdict(found.table, name))
        if out is not None:
            say(f"Look at {out}: comparison.csv, folds.csv, and the plot in {PLOTS_FOLDER}.")


def _tell_data(data: BinaryData) -> None:
    """What was read, so that a column too many or too few is seen."""
    n_rows, n_columns = data.shape
    label = f'; the column "{data.row_label}" names the rows' if data.row_label else ""
    say(f"Read {n_rows:,} rows x {n_columns:,} columns ({data.density:.1%} ones{label}).")


def _readable(table: pd.DataFrame) -> str:
    """A table for the terminal: the details of the differences are left to the files."""
    shown = table[[name for name in table.columns if not name.endswith(("_behind_se", "_p"))]]
    return str(shown.to_string(index=False, float_format=lambda value: f"{value:.5g}"))


def _choice_line(choice: Any) -> str:
    line = f"{choice.criterion}: {choice.best} component{'s' * (choice.best > 1)}"
    if choice.rival != choice.best:
        line += f"; {choice.rival} would be as good, within one standard error"
    if choice.at_the_end:
        line += "; that is the largest number tried, so try larger ones"
    return line + "."


def _verdict(table: pd.DataFrame, criterion: str) -> str:
    best = table["model"].iloc[int(table[criterion].to_numpy().argmax())]
    others = table[table["model"] != best]
    tied = others.loc[others[f"{criterion}_behind"] <= others[f"{criterion}_behind_se"], "model"].astype(str)
    line = f"Best by {criterion}: {best}"
    return f"{line}; within one standard error of it: {', '.join(tied)}." if len(tied) else f"{line}."


def _write(out: Path, tables: dict[str, pd.DataFrame], figure: Any, told: Values, *, force: bool) -> None:
    plot = "selection" if "selection" in tables else "comparison"
    with new_folder(out, force=force) as draft:
        for name, table in tables.items():
            write_csv(table, draft / f"{name}.csv")
        (draft / PLOTS_FOLDER).mkdir()
        figure.savefig(draft / PLOTS_FOLDER / f"{plot}.png")
        files = [SUMMARY_FILE, PLOTS_FOLDER, *(f"{name}.csv" for name in tables)]
        write_json({**told, "files": files}, draft / SUMMARY_FILE)
