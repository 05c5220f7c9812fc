"""`latentbits fit`: a model of a file, with everything about it in one folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.fit_run import (
    Stopwatch,
    add_verdict,
    data_lines,
    fit_and_gather,
    read_for_fit,
    save_run,
    show_as_images,
    tell_origin,
    where_lines,
    with_marks,
)
from latentbits.cli.model_selection import choice_lines, select_number, selection_tables
from latentbits.cli.options.click_helpers import FILE_PATH, Values, bundled, given
from latentbits.cli.options.criteria import CHOOSING, FOLDS, criterion_option
from latentbits.cli.options.learning import LEARNING, parameters_of
from latentbits.cli.options.output import FOLDER_FORCE, force_option, shape_option, terminal_options
from latentbits.cli.options.ratings import marks_option
from latentbits.cli.options.reading import check_file, read_numbers, read_with_segments, reading_options
from latentbits.cli.terminal import INTERRUPTED, Terminal, warnings_as_notes
from latentbits.models.registry import MODELS, NUMBER_MODELS, TABLE_MODELS
from latentbits.storage.files import to_records
from latentbits.storage.run_folder import RunFolder

if TYPE_CHECKING:
    from latentbits.data.marks import Marks
    from latentbits.findings.results import Data, Results
    from latentbits.tasks.select import OrderSelection

__all__ = ["fit"]

_INTERRUPTED = "interrupted:"


@click.command(
    short_help="Fit a model to FILE; tables, plots, report and model go to a folder.",
    epilog="Example: latentbits fit sites.csv --components 2:8 --exclude age --out run",
)
@click.option("--model", type=click.Choice(list(MODELS)), default="aspect-bernoulli", show_default=True)
@bundled("learning", LEARNING)
@criterion_option(CHOOSING)
@click.option("--segments", metavar="COLUMN", help="binary-ica: the column that says which segment a row belongs to.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="aspect-bernoulli, beta-ica: fit on the workers of the Dask scheduler at ADDRESS, such as tcp://host:8786.",
)
@marks_option("confirmed ones are 1 in the fit, rejected ones 0, and neither is a suspect")
@click.option("--out", type=FILE_PATH, metavar="DIR", required=True, help="The folder to make.")
@force_option(FOLDER_FORCE)
@shape_option
@click.option(
    "--verdict/--no-verdict",
    default=True,
    help="Whether to ask first if the model predicts hidden cells better than frequencies.  [default: verdict]",
)
@click.option("--report/--no-report", default=True, help="Whether DIR gets a report.html.  [default: report]")
@terminal_options
@reading_options
def fit(
    file: Path,
    reading: Values,
    model: str,
    learning: Values,
    criterion: list[str] | None,
    segments: str | None,
    cluster: str | None,
    marks: Marks | None,
    out: Path,
    force: bool,
    shape: tuple[int, int] | None,
    verdict: bool,
    report: bool,
    terminal: Terminal,
) -> None:
    """Fit a model to FILE and leave model, tables, plots, summary and a report in DIR.

    FILE is CSV, TSV or other delimited text (also compressed), .xlsx, .parquet (or a folder of such files), .feather,
    .npz, .npy or .mtx, of 0, 1 and missing cells; for binary-factors (cells may be missing) and ica-mixture text or
    .xlsx of numbers.

    DIR gets model.npz, the answers as tables (CSV), restarts.csv, summary.json, plots and report.html; of the aspect
    models (aspect-bernoulli, beta-ica) also denoised.csv and suspects.csv (the 1000 most suspected zeros, and ones if
    there is a black phantom); of false-zeros what "latentbits false-zeros" leaves there. A fit that is interrupted
    leaves the best answer so far, and exit code 130; with --checkpoint the same command and --force go on there. Of a
    table with more than 20 million cells weights.csv and suspects.csv are of all rows, and the rest of the answers of a
    random part of them.

    The answer begins with a verdict: does the model predict hidden cells better than the frequencies of columns, and
    of rows and columns? If not, its suspects are no evidence of false zeros. For that, parts of the cells are hidden
    and predicted, from up to 10 random starts (of large tables 3); --no-verdict leaves it out.

    Several numbers of components are compared as by "latentbits select"; the model that the first --criterion
    chooses is kept, by default the one that predicts held-out cells best. This leaves nothing when it is interrupted.
    """
    RunFolder(out).check(force=force)
    numbers = learning["components"]
    searching = _is_search(model, numbers)
    if segments is not None and model != "binary-ica":
        raise click.UsageError(f"--segments is not an option of {model}; leave it out, or use --model binary-ica")
    if marks is not None and model in NUMBER_MODELS:
        raise click.UsageError(f"--marks is about 0-1 data, and {model} takes numbers; leave it out")
    if cluster is not None:
        _check_cluster(model, searching)
    check_file(file)
    folds = learning.pop("folds") if searching else None
    parameters = parameters_of({**learning, "components": numbers and numbers[0]}, model)
    watch = Stopwatch()
    progress = terminal.shows_progress
    found = None
    with warnings_as_notes() as notes:
        with watch.timed("read"):
            data, fit_params = _read_for(model, file, reading, segments, marks)
        if searching:
            search = {"numbers": numbers, "criterion": criterion, "default": CHOOSING, "folds": folds or FOLDS}
            results, found = _select_and_gather(model, parameters, data, watch, progress=progress, **search)
        else:
            results = fit_and_gather(model, parameters, data, watch, progress=progress, cluster=cluster, **fit_params)
        if verdict and model in TABLE_MODELS and not _is_interrupted(notes):
            add_verdict(results, found, watch, n_jobs=parameters.get("n_jobs"), progress=progress)
        tell_origin(results, file, reading, marks)
        if shape is not None:
            show_as_images(results, shape)
    save_run(results, out, force=force, notes=notes, watch=watch, report=report)
    _print_results(results, out, terminal)
    if _is_interrupted(notes):
        click.get_current_context().exit(INTERRUPTED)


def _is_interrupted(notes: list[str]) -> bool:
    return any(note.startswith(_INTERRUPTED) for note in notes)


def _is_search(model: str, numbers: list[int] | None) -> bool:
    """Whether a number of components is to be chosen; options that make no sense are refused."""
    searching = numbers is not None and len(numbers) > 1
    if searching and MODELS[model].has_components and model not in TABLE_MODELS:
        raise click.UsageError(f"--components of {model} must be one number; of 0-1 tables only it can be chosen")
    own = [parameter.option.name for parameter in MODELS[model].parameters.values() if parameter.option]
    for option in ("criterion", "folds"):
        if given(option) and not searching and option not in own:
            raise click.UsageError(f"--{option} chooses among several --components; give a range such as 2:8")
    return searching


def _check_cluster(model: str, searching: bool) -> None:
    """Refuse a cluster where it would not be used."""
    able = [name for name, spec in MODELS.items() if spec.on_cluster]
    if model not in able:
        raise click.UsageError(f"--cluster is not an option of {model}; leave it out, or use --model {able[0]}")
    if searching:
        raise click.UsageError("--cluster is for one number of --components; choose it on a sample of the rows first")


def _read_for(
    model: str, file: Path, reading: Values, segments: str | None, marks: Marks | None
) -> tuple[Data, Values]:
    """The data, and what else the model's `fit` takes."""
    if model in NUMBER_MODELS:
        return read_numbers(file, reading, allow_missing=MODELS[model].takes_missing), {}
    if segments is None:
        return read_for_fit(file, reading, marks), {}
    data, segment_of_row = read_with_segments(file, reading, segments)
    return with_marks(data, marks), {"segments": segment_of_row}


def _select_and_gather(
    name: str, parameters: Values, data: Any, watch: Stopwatch, *, numbers: list[int], **options: Any
) -> tuple[Results, OrderSelection]:
    """Fit the model of that name with each number of components, and ask the best everything."""
    from latentbits.findings import gather

    with watch.timed("select"):
        others = {key: value for key, value in parameters.items() if key != "n_components"}
        found = select_number(name, others, data, numbers, **options)
    with watch.timed("answers"):
        results = gather(found.best_model, data)
    results.tables |= selection_tables(found)
    results.figures["selection"] = found.plot
    results.summary["selection"] = {
        "tried": list(found.models),
        "best": found.best_order,
        "seed": parameters.get("random_state"),
        "choices": to_records(found.choices),
    }
    results.lines[1:1] = _lines_about_choice(found, numbers)
    return results, found


def _lines_about_choice(found: OrderSelection, numbers: list[int]) -> Iterator[str]:
    yield f"That number was chosen among {', '.join(map(str, found.models))}:"
    for line in choice_lines(found):
        yield f"    {line}"
    if found.best_order not in numbers:
        yield "1 stands for independent columns: by this criterion more components aren't worth their price."


def _print_results(results: Results, folder: Path, terminal: Terminal) -> None:
    """The short answer on the terminal, or the summary for a script."""
    terminal.print_json(results.summary)
    size = len(results.summary.get("verdict", {}).get("sentences", ()))  # where the size of the data is stated
    for place, line in enumerate(results.lines):
        terminal.print(line)
        if place == size:
            for note in data_lines(results.data):
                terminal.print(note)
    for line in where_lines(results, folder):
        terminal.print(line)
