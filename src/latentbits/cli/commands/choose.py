"""The commands that judge by what wasn't seen: `select` (how many components), `compare` (models), `check` (a list)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits import sentences
from latentbits.cli.options.learning import (
    CRITERIA,
    LEARNING,
    GroupedHelp,
    ModelNames,
    ModelWithNumber,
    Names,
    Numbers,
    criterion_option,
    folds_option,
    model_option,
    parameters_of,
)
from latentbits.cli.options.reading import check_file, read, read_numbers, read_with_segments, reading_options
from latentbits.cli.terminal import (
    FOLDER_FORCE,
    Terminal,
    Values,
    bundled,
    force_option,
    optional_folder_option,
    terminal_options,
)
from latentbits.models.abilities import Ability
from latentbits.models.registry import MODELS, NUMBER_MODELS, SEGMENT_MODELS, TABLE_MODELS
from latentbits.storage.files import to_records
from latentbits.storage.output_folder import PLOTS_FOLDER, OutputFolder
from latentbits.wording import TERMINAL_DIGITS

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable
    from latentbits.tasks.select import OrderSelection


def select_number(
    model: str,
    parameters: Values,
    data: Any,
    numbers: list[int],
    *,
    criterion: list[str] | None,
    folds: int,
    progress: bool,
    segments: list[Any] | None = None,
    parameter: str | None = None,
) -> OrderSelection:
    """Fit the model with each of the numbers, and judge them; `parameters` are the model's others."""
    from latentbits.models.registry import model_class
    from latentbits.tasks.select import select_order
    from latentbits.tasks.trials import default_criterion

    own = {name: value for name, value in parameters.items() if name not in ("random_state", "n_jobs")}
    estimator = model_class(model)(**own)
    abilities, default = MODELS[model].abilities, list(CRITERIA)
    if MODELS[model].data != "table":
        default = ["pairs"] if MODELS[model].data == "segments" else [default_criterion(estimator), "cv"]
    return select_order(
        estimator,
        data,
        numbers,
        criterion=criterion or [name for name in default if name != "aic" or Ability.INFORMATION_CRITERIA in abilities],
        n_folds=folds,
        segments=segments,
        parameter=parameter,
        random_state=parameters.get("random_state"),
        n_jobs=parameters.get("n_jobs"),
        verbose=int(progress),
    )


def _size_line(data: BinaryData | NumberTable) -> str:
    from latentbits.findings.analyse import summary_of_data

    return sentences.read(summary_of_data(data), data.row_label)


def _terminal_table(table: pd.DataFrame) -> str:
    """A table for the terminal: the details of the differences are left to the files."""
    shown = table[[name for name in table.columns if not name.endswith(("_behind_se", "_p"))]]
    return str(shown.to_string(index=False, na_rep="", float_format=lambda value: f"{value:.{TERMINAL_DIGITS}g}"))


CHOOSABLE = [name for name, spec in MODELS.items() if spec.orders]
COUNTS = ("components", "clusters", "sources")
"""The options that take several numbers here."""


@click.command(
    cls=GroupedHelp,
    first=(
        *("components", "model", "criterion", "folds", "restarts", "seed", "jobs", "out", "force"),
        *("row_labels", "exclude", "long", "presence", "threshold", "missing"),
    ),
    short_help="How many components, clusters or sources: criteria, stability, a plot.",
    epilog="Example: latentbits select sites.csv --components 2:8 --criterion aic,cells",
)
@model_option(ModelWithNumber(CHOOSABLE), "aspect-bernoulli")
@click.option("--components", type=Numbers(), metavar="RANGE", help="To try, such as 2:8 or 2,4,8.")
@click.option("--clusters", type=Numbers(), metavar="RANGE", help="To try, of ica-mixture.")
@click.option("--sources", type=Numbers(), metavar="RANGE", help="To try, of each cluster of ica-mixture.")
@click.option("--segments", metavar="COLUMN", help="binary-ica: the column that says which segment a row belongs to.")
@criterion_option
@folds_option
@bundled("learning", {key: LEARNING[key] for key in LEARNING if key not in (*COUNTS, "folds", "members")})
@optional_folder_option
@force_option(FOLDER_FORCE)
@terminal_options
@reading_options
def select(
    file: Path,
    reading: Values,
    model: str,
    components: list[int] | None,
    clusters: list[int] | None,
    sources: list[int] | None,
    segments: str | None,
    criterion: list[str] | None,
    folds: int,
    learning: Values,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Compare numbers of components of a model for FILE; 1 is always tried as well, as the baseline.

    Of ica-mixture, numbers of --clusters (which then are neither split nor deleted) or of --sources are compared, by
    the bound of the evidence and by held-out rows; binary-factors by maximum likelihood, BIC and held-out rows.

    "cv" and "cells" fit FOLDS times more, each time without some rows or cells, and judge the model on these.
    Of binary-ica rows are held out within segments, and "pairs" judges the pairs of their cells; 0 sources
    (independent columns) are tried as well. Stability tells how well other random starts find the least stable
    component again (1: the same, 0: as alike as two different ones).
    """
    if out is not None:
        OutputFolder(out).check(force=force)
    if segments is not None and model not in SEGMENT_MODELS:
        raise click.UsageError(f"--segments is not an option of {model}; leave it out, or use --model binary-ica")
    check_file(file)
    asked = {"components": components, "clusters": clusters, "sources": sources}
    parameter, numbers = _varied(model, asked)
    single = {name: own[0] for name, own in asked.items() if own and own is not numbers}
    parameters = parameters_of({**learning, **single}, model)
    data, labels = _read_for(model, file, reading, segments)
    search: Values = {"criterion": criterion, "folds": folds, "segments": labels}
    search |= {"parameter": parameter, "progress": terminal.shows_progress}
    from latentbits.findings.analyse import choice_notes, selection_tables

    found = select_number(model, parameters, getattr(data, "values", data), numbers, **search)
    tables = selection_tables(found)
    summary = {"model": model, "file": file.name, "best": found.best_order, "choices": to_records(found.choices)}
    if out is not None:
        OutputFolder(out).save_tables(tables, summary, figures={"selection": found.plot}, force=force)
    terminal.print_json(summary | {name: to_records(table) for name, table in tables.items()})
    terminal.print(_size_line(data))
    terminal.print(_terminal_table(found.table))
    terminal.print_lines(sentences.sentence(note) for note in choice_notes(found))
    if out is not None:
        terminal.print(f"Look at {out}: selection.csv, folds.csv, stability.csv, and the plot in {PLOTS_FOLDER}.")


def _varied(model: str, asked: dict[str, list[int] | None]) -> tuple[str, list[int]]:
    """The parameter to choose, and its numbers: the one with several, or the only one."""
    spec = MODELS[model]
    options = {parameter.option.name: name for name, parameter in spec.parameters.items() if parameter.option}
    for name, numbers in asked.items():
        if numbers and name not in options:
            raise click.UsageError(f"--{name} is not an option of {model}; leave it out, or choose another --model")
    own = [name for name in asked if options.get(name) in spec.orders]
    given = [name for name in own if asked[name]]
    several = [name for name in given if len(asked[name] or ()) > 1] or given
    if len(several) != 1:
        way_out = " or for ".join(f"--{name}" for name in own)
        raise click.UsageError(f"{model}: give a range, such as 1:6, for {way_out}")
    (name,) = several
    return options[name], asked[name] or []


def _read_for(
    model: str, file: Path, reading: Values, segments: str | None
) -> tuple[BinaryData | NumberTable, list[Any] | None]:
    """The data, and the segments of the rows if there are any."""
    if model in NUMBER_MODELS:
        return read_numbers(file, reading, allow_missing=MODELS[model].takes_missing), None
    return (read(file, reading), None) if segments is None else read_with_segments(file, reading, segments)


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

    The baseline of independent columns is always among them. A p value is that of a corrected resampled
    t-test (Nadeau and Bengio 2003) of the folds' differences from the best model.
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
    terminal.print(_size_line(data))
    terminal.print(_terminal_table(found.table.drop(columns="n_components")))
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
    return sentences.best_model(criterion, best, list(tied))


RANKING = "false-zeros"


@click.command(
    short_help="Would a list of suspects find ones of FILE that had been missed? Some are knocked out to see.",
    epilog="Example: latentbits check sites.csv --out checked",
)
@model_option(click.Choice([name for name in TABLE_MODELS if Ability.RANK_CELLS in MODELS[name].abilities]), RANKING)
@click.option("--components", type=click.IntRange(min=1), metavar="NUMBER", help="Of models that have some.")
@click.option(
    "--knocked-out",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="How many ones.  [default: a tenth, but at least 20 or half of them]",
)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Each with other ones.")
@bundled("learning", {key: LEARNING[key] for key in (*_COMMON, "members")})
@optional_folder_option
@force_option(FOLDER_FORCE)
@terminal_options
@reading_options
def check(
    file: Path,
    reading: Values,
    model: str,
    components: int | None,
    knocked_out: int | None,
    repeats: int,
    learning: Values,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Knock known ones out of FILE, rank its zeros, and count how many of the first suspects are those.

    The model sees FILE with these ones set to 0, and nothing else. Zeros of FILE that really hide a 1 count as
    mistakes, so precision is too low rather than too high. "found" is the mean over the repeats; beside it stands what
    a ranking by column frequencies finds, and one by chance.
    """
    if out is not None:
        OutputFolder(out).check(force=force)
    check_file(file)
    data = read(file, reading)
    own = {name: value for name, value in learning.items() if name not in ("seed", "jobs")}  # which are of the check
    parameters = parameters_of({**own, "components": components}, model)

    from latentbits.models.registry import model_class
    from latentbits.tasks.check import check as check_list

    found = check_list(
        data,
        model_class(model)(**parameters),
        n_knocked_out=knocked_out,
        n_repeats=repeats,
        random_state=learning["seed"],
        n_jobs=learning["jobs"],
        verbose=int(terminal.shows_progress),
    )
    tables = {"check": found.table, "curves": found.curves}
    summary = {"file": file.name, "model": model, **found.note.arguments, "sentence": str(found)}
    if out is not None:
        OutputFolder(out).save_tables(tables, summary, figures={"check": found.plot}, force=force)
    terminal.print_json(summary | {"table": to_records(found.table)})
    terminal.print(_size_line(data))
    terminal.print(str(found))
    terminal.print(_terminal_table(found.table.round(2)))
    if out is not None:
        terminal.print(f"Look at {out}: check.csv, curves.csv, and the plot in {PLOTS_FOLDER}.")
