"""`latentbits fit`: a model of a file, with everything about it in one folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli import console
from latentbits.cli.console import Voice
from latentbits.cli.folder import Stopwatch, save, show_as_images, tell
from latentbits.cli.learning import LEARNING, parameters_of
from latentbits.cli.options import (
    FILE_PATH,
    FOLDER_FORCE,
    Values,
    bundled,
    check_file,
    force_option,
    given,
    read,
    read_numbers,
    read_with_segments,
    reads_file,
    shape_option,
    tells,
)
from latentbits.cli.output import as_records, check_folder
from latentbits.cli.selecting import choice_lines, criterion_option, folds_option, select_number, selection_tables
from latentbits.models.registry import MODELS, NUMBER_MODELS, TABLE_MODELS

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable
    from latentbits.findings.results import Results
    from latentbits.tasks.select import OrderSelection

__all__ = ["fit", "fit_and_gather"]

_INTERRUPTED = "interrupted:"


@click.command(
    short_help="Fit a model to FILE; tables, plots, report and model go to a folder.",
    epilog="Example: latentbits fit sites.csv --components 2:8 --exclude age --out run",
)
@click.option("--model", type=click.Choice(list(MODELS)), default="aspect-bernoulli", show_default=True)
@bundled("learning", LEARNING)
@criterion_option
@folds_option
@click.option("--segments", metavar="COLUMN", help="binary-ica: the column that says which segment a row belongs to.")
@click.option("--out", type=FILE_PATH, metavar="DIR", required=True, help="The folder to make.")
@force_option(FOLDER_FORCE)
@shape_option
@click.option("--report/--no-report", default=True, help="Whether DIR gets a report.html.  [default: report]")
@tells
@reads_file
def fit(
    file: Path,
    reading: Values,
    model: str,
    learning: Values,
    criterion: list[str] | None,
    folds: int,
    segments: str | None,
    out: Path,
    force: bool,
    shape: tuple[int, int] | None,
    report: bool,
    voice: Voice,
) -> None:
    """Fit a model to FILE and leave model, tables, plots, summary and a report in DIR.

    FILE is CSV, TSV or other delimited text (also gzipped), .npz, .npy, .mtx or .parquet, of 0, 1 and missing
    cells; for binary-factors and ica-mixture delimited text of numbers.

    DIR gets model.npz, the answers as tables (CSV), restarts.csv, summary.json, plots and report.html; of the aspect
    models (aspect-bernoulli, beta-ica) also denoised.csv and suspects.csv (the 1000 most suspected zeros, and ones if
    there is a black phantom). A fit that is interrupted leaves the best answer so far, and exit code 130.

    Several numbers of components are compared as by "latentbits select"; the model that the first --criterion
    chooses is kept. This leaves nothing when it is interrupted.
    """
    check_folder(out, force=force)
    numbers = learning["components"]
    searching = _is_search(model, numbers)
    if segments is not None and model != "binary-ica":
        raise click.UsageError(f"--segments is not an option of {model}; leave it out, or use --model binary-ica")
    check_file(file)
    parameters = parameters_of({**learning, "components": numbers and numbers[0]}, model)
    watch = Stopwatch()
    with watch.timed("read"):
        data, more = _read_for(model, file, reading, segments)
    with console.notes() as heard:
        if searching:
            searched = {"numbers": numbers, "criterion": criterion, "folds": folds}
            results = select_and_gather(model, parameters, data, watch, progress=voice.shows_progress, **searched)
        else:
            results = fit_and_gather(model, parameters, data, watch, progress=voice.shows_progress, **more)
        results.summary["data"]["file"] = file.name
        if shape is not None:
            show_as_images(results, shape)
    save(results, out, force=force, notes=heard, watch=watch, report=report)
    tell(results, out, voice)
    if any(text.startswith(_INTERRUPTED) for text in heard):
        click.get_current_context().exit(console.INTERRUPTED)


def _is_search(model: str, numbers: list[int] | None) -> bool:
    """Whether a number of components is to be chosen; options that make no sense are refused."""
    searching = numbers is not None and len(numbers) > 1
    if searching and model not in TABLE_MODELS:
        raise click.UsageError(f"--components of {model} must be one number; of 0-1 tables only it can be chosen")
    for option in ("criterion", "folds"):
        if given(option) and not searching:
            raise click.UsageError(f"--{option} chooses among several --components; give a range such as 2:8")
    return searching


def _read_for(model: str, file: Path, reading: Values, segments: str | None) -> tuple[BinaryData | NumberTable, Values]:
    """The data, and what else the model's `fit` takes."""
    if segments is not None:
        data, labels = read_with_segments(file, reading, segments)
        return data, {"segments": labels}
    return read_numbers(file, reading) if model in NUMBER_MODELS else read(file, reading), {}


def fit_and_gather(
    name: str, parameters: Values, data: BinaryData | NumberTable, watch: Stopwatch, *, progress: bool, **more: Any
) -> Results:
    """Fit the model of that name and ask it everything; `more` are further arguments of the model's `fit`."""
    from latentbits.findings import gather
    from latentbits.models.registry import model_class

    estimator = model_class(name)(**parameters, verbose=int(progress))
    with watch.timed("fit"):
        estimator.fit(data.to_frame() if name in NUMBER_MODELS else data, **more)
    estimator.set_params(verbose=0)  # a colleague who opens the model file didn't ask for progress
    with watch.timed("answers"):
        return gather(estimator, data, **more)


def select_and_gather(
    name: str, parameters: Values, data: Any, watch: Stopwatch, *, numbers: list[int], **how: Any
) -> Results:
    """Fit the model of that name with each number of components, and ask the best everything."""
    from latentbits.findings import gather

    with watch.timed("select"):
        others = {key: value for key, value in parameters.items() if key != "n_components"}
        found = select_number(name, others, data, numbers, **how)
    with watch.timed("answers"):
        results = gather(found.best_model, data)
    results.tables |= selection_tables(found)
    results.figures["selection"] = found.plot
    results.summary["selection"] = {
        "tried": list(found.models),
        "best": found.best_order,
        "seed": parameters.get("random_state"),
        "choices": as_records(found.choices),
    }
    results.lines[1:1] = _choice(found, numbers)
    return results


def _choice(found: OrderSelection, numbers: list[int]) -> Iterator[str]:
    yield f"That number was chosen among {', '.join(map(str, found.models))}:"
    for line in choice_lines(found):
        yield f"    {line}"
    if found.best_order not in numbers:
        yield "1 stands for independent columns: more components aren't worth their price in these data."
