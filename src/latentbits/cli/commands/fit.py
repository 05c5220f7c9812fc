"""The commands that fit a model to a file, and leave everything about it in one folder: fit, false-zeros."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.commands.choose import choice_lines, select_number, selection_tables, sentences_of_range
from latentbits.cli.options.asking import ASKING, kind_option, question_about, typed, with_visit_columns
from latentbits.cli.options.learning import (
    CHOOSING,
    FOLDS,
    LEARNING,
    GroupedHelp,
    criterion_option,
    model_option,
    parameters_of,
)
from latentbits.cli.options.ratings import marks_option
from latentbits.cli.options.reading import (
    check_file,
    read,
    read_numbers,
    read_with_segments,
    reader_arguments,
    reading_options,
)
from latentbits.cli.terminal import (
    FILE_PATH,
    FOLDER_FORCE,
    INTERRUPTED,
    Terminal,
    Values,
    bundled,
    force_option,
    given,
    shape_option,
    terminal_options,
    warnings_as_notes,
)
from latentbits.errors import DataError
from latentbits.models.registry import MODELS, NUMBER_MODELS, TABLE_MODELS
from latentbits.storage.files import to_records
from latentbits.storage.output_folder import PLOTS_FOLDER, SUMMARY_FILE
from latentbits.storage.run_folder import REPORT_FILE, RunFolder
from latentbits.wording import counted, place

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.marks import Marks
    from latentbits.findings.results import Data, Results
    from latentbits.tasks.select import OrderSelection

__all__ = [
    "Stopwatch",
    "add_verdict",
    "data_lines",
    "false_zeros",
    "fit",
    "fit_and_gather",
    "read_for_fit",
    "save_run",
    "show_as_images",
    "tell_origin",
    "where_lines",
    "with_marks",
]

MOST_CELLS, PART_CELLS = 20_000_000, 2_000_000
"""Tables with more cells are asked about a part of their rows, of so many cells."""

PATIENCE = 20
"""Seconds to wait for the scheduler of a cluster."""


class Stopwatch:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Time what happens inside."""
        start = time.perf_counter()
        yield
        self.seconds[what] = round(time.perf_counter() - start, 3)


def read_for_fit(file: Path, reading: Values, marks: Marks | None) -> BinaryData:
    """The 0-1 data of a file, with the cells that were looked up set to what they are."""
    return with_marks(read(file, reading), marks)


def with_marks(data: BinaryData, marks: Marks | None) -> BinaryData:
    """The data with the cells that were looked up set to what they are."""
    if marks is None:
        return data
    from latentbits.data.marks import apply_marks

    return apply_marks(data, marks)


def fit_and_gather(
    name: str,
    parameters: Values,
    data: Data,
    watch: Stopwatch,
    *,
    progress: bool,
    question: Values | None = None,
    cluster: str | None = None,
    **fit_params: Any,
) -> Results:
    """Fit the model of that name and ask it everything, or a question that it takes; `fit_params` are for its `fit`.

    With the address of a cluster the rows are worked on there; questions are answered here.
    """
    from latentbits.findings import gather
    from latentbits.models.registry import model_class

    estimator = model_class(name)(**parameters)
    has_progress = hasattr(estimator, "verbose") and MODELS[name].data != "segments"
    if has_progress:
        estimator.set_params(verbose=int(progress))
    with watch.timed("fit"), _placed(data, cluster) as where:
        estimator.fit(data.to_frame() if name in NUMBER_MODELS else where, **fit_params)
    if has_progress:
        estimator.set_params(verbose=0)  # a colleague who opens the model file didn't ask for progress
    with watch.timed("answers"):
        if MODELS[name].on_cluster and data.shape[0] * data.shape[1] > MOST_CELLS:
            return _gather_from_part(estimator, data)
        return gather(estimator, data, **fit_params, **(question or {}))


def _gather_from_part(model: Any, data: Any) -> Results:
    """Weights and suspects of all rows; answers that need all cells at once are of a random part of the rows."""
    import numpy as np

    from latentbits.findings import gather
    from latentbits.findings.aspect import suspects_table
    from latentbits.findings.factors import weights_table
    from latentbits.models.aspect.aspect_rows import AspectRows

    n_rows, n_columns = data.shape
    n = min(n_rows, max(1, PART_CELLS // n_columns))
    chosen = np.sort(np.random.default_rng(0).choice(n_rows, n, replace=False))
    part = data.rows(chosen)
    if part.row_names is None:
        part = replace(part, row_names=[place("row", i) for i in chosen])  # by their place in the whole table
    results = gather(model, part)
    results.tables |= {
        "weights": weights_table(model.weights_, data),
        "suspects": suspects_table(AspectRows(model, data)),
    }
    results.summary["part"] = {"rows": n, "of": n_rows}
    results.lines[0] = (
        f"{counted(len(model.components_), 'component')} fitted to {n_rows:,} rows x {counted(n_columns, 'column')}; "
        f"weights.csv and suspects.csv are about all of them, all else here is about a random part of {n:,} rows."
    )
    return results


@contextmanager
def _placed(data: Any, cluster: str | None) -> Iterator[Any]:
    """The data, on a cluster if there is an address."""
    if cluster is None:
        yield data
        return
    try:
        from distributed import Client
    except ImportError:
        raise DataError('--cluster needs Dask; pip install "latentbits[cluster]"') from None
    from latentbits.fitting.cluster import ClusterData

    try:
        client = Client(cluster, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"--cluster {cluster}: no scheduler answers there ({reason}); check the address") from None
    with client:
        yield ClusterData.of_data(data, client)


def add_verdict(
    results: Results, found: OrderSelection | None, watch: Stopwatch, *, n_jobs: int | None, progress: bool
) -> None:
    """Ask whether the model predicts hidden cells, and let the results begin with the answer.

    Cells that were held out when a number of components was chosen (`found`) are not predicted again.
    """
    from latentbits.findings import lead_with_verdict
    from latentbits.tasks.verdict import verdict, verdicts_of_selection

    model = results.model
    with watch.timed("verdict"):
        try:
            known = {} if found is None else verdicts_of_selection(found, n_jobs=n_jobs, verbose=progress)
            if found is not None and known:
                answer = known[found.best_order].to_dict()
                answer["sentences"] = sentences_of_range(known, found.best_order)
            else:
                seed = getattr(model, "random_state", 0)
                answer = verdict(model, results.data, random_state=seed, n_jobs=n_jobs, verbose=progress).to_dict()
        except KeyboardInterrupt:
            warnings.warn("interrupted: there is no verdict; the fit itself was finished", stacklevel=2)
            return
    lead_with_verdict(results, answer)


def tell_origin(results: Results, file: Path, reading: Values, marks: Marks | None) -> None:
    """Put into the summary where the data came from and how they can be read again, and which cells were looked up."""
    record = getattr(results.data, "reading", None)
    about = results.summary["data"]
    about |= {"file": file.name, "reading": reader_arguments(reading) if record is None else record}
    if marks is None:
        return
    counts = results.data.marks.counts()  # type: ignore[union-attr]
    about["marks"] = {"file": marks.place.removesuffix(": "), **counts}
    known = f"{counts['confirmed']:,} confirmed as 1, {counts['rejected']:,} rejected as 0, {counts['unsure']:,} unsure"
    results.lines.append(f"Cells that were looked up: {known}; the first two kinds are no suspects.")


def show_as_images(results: Results, shape: tuple[int, int]) -> None:
    """Let plots and report show the columns as the pixels of images of this shape."""
    high, wide = shape
    n_columns = results.data.shape[1]
    if high * wide != n_columns:
        raise DataError(
            f"--shape {high}x{wide} makes {high * wide:,} pixels, but there are {n_columns:,} columns; correct it, or "
            "leave it out"
        )
    results.summary["shape"] = [high, wide]
    for name in results.figures.keys() & {"components", "denoising"}:
        draw: Any = results.figures[name]
        results.figures[name] = partial(draw, shape=shape)


def save_run(results: Results, out: Path, *, force: bool, notes: list[str], watch: Stopwatch, report: bool) -> None:
    """Write the results to their folder, with the notes that were printed and the seconds it took."""
    results.summary |= {"notes": notes, "seconds": watch.seconds}
    RunFolder(out).save(results, force=force, report=report)


def data_lines(data: Data) -> Iterator[str]:
    """What the columns were taken for; the rest of `notes` is guesses, of which the reader has warned."""
    if "long" in (getattr(data, "reading", None) or {}):
        return
    if data.row_label:
        yield f'The column "{data.row_label}" names the rows (--no-row-labels if it is data).'
    elif data.row_names is not None:
        yield "The first column, which has no name, names the rows (--no-row-labels if it is data)."


def where_lines(results: Results, folder: Path) -> Iterator[str]:
    """What a run has left, and where."""
    tables = ", ".join(f"{name}.csv" for name in results.tables if name != "restarts")
    pictures = f", and pictures in {PLOTS_FOLDER}" if results.figures else ""
    yield f"Look at {folder}: {tables}, {SUMMARY_FILE}{pictures}."
    if REPORT_FILE in results.summary["files"]:
        yield f"Open {folder / REPORT_FILE}."


_INTERRUPTED = "interrupted:"


@click.command(
    cls=GroupedHelp,
    first=(
        *("out", "force", "components", "model", "restarts", "seed", "jobs", "verdict"),
        *("row_labels", "exclude", "long", "presence", "threshold", "missing"),
    ),
    short_help="Fit a model to FILE; tables, plots, report and model go to a folder.",
    epilog="Example: latentbits fit sites.csv --components 2:8 --exclude age --out run",
)
@model_option(click.Choice(list(MODELS)))
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
    for at, line in enumerate(results.lines):
        terminal.print(line)
        if at == size:
            for note in data_lines(results.data):
                terminal.print(note)
    for line in where_lines(results, folder):
        terminal.print(line)


_MODEL = "false-zeros"
_LEARNING = {
    parameter.option.name: LEARNING[parameter.option.name]
    for parameter in MODELS[_MODEL].parameters.values()
    if parameter.option is not None
}


@click.command(
    "false-zeros",
    short_help="Which zeros of FILE hide a 1: a ranking that needs no number of components.",
    epilog="Example: latentbits false-zeros sites.csv --top 20 --out run",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many cells to list; with --per-row alone all of those, in DIR/suspects.csv if there is one.",
)
@kind_option
@bundled("asking", ASKING)
@marks_option("confirmed ones are 1 in the fit, rejected ones 0, and neither is listed")
@bundled("learning", _LEARNING)
@click.option("--out", type=FILE_PATH, metavar="DIR", help="A folder to make, as of latentbits fit.")
@force_option(FOLDER_FORCE)
@click.option("--report/--no-report", default=True, help="Whether DIR gets a report.html.  [default: report]")
@terminal_options
@reading_options
def false_zeros(
    file: Path,
    reading: Values,
    top: int,
    kind: str,
    asking: Values,
    marks: Marks | None,
    learning: Values,
    out: Path | None,
    force: bool,
    report: bool,
    terminal: Terminal,
) -> None:
    """List the zeros of FILE that most likely hide a 1, by an ensemble of unlike models.

    The answer begins with a verdict: are hidden cells predicted better than by frequencies of rows and columns? If not,
    the list is no evidence of false zeros. The score ranks; the probability beside it is P(1 | the rest), not that of
    presence, unless --rate or --revisits tell how much a visit sees.

    With --out, DIR gets model, suspects.csv (1000 cells, with what each member says), members.csv, reliability.csv,
    plots, summary.json and report.html; "latentbits suspects DIR FILE" then asks it about other rows, and "latentbits
    explain DIR FILE --cell ROW COLUMN" says why. For components that explain cells, and to denoise, use
    "latentbits fit".
    """
    if out is not None:
        RunFolder(out).check(force=force)
    check_file(file)
    parameters = parameters_of(learning, _MODEL)
    watch = Stopwatch()
    progress = terminal.shows_progress
    limit = None if asking["per_row"] is not None and not given("top") else top
    with warnings_as_notes() as notes:
        with watch.timed("read"):
            data = read_for_fit(file, with_visit_columns(reading, asking), marks)
            question = question_about(data, asking, kind=kind)

        from latentbits.findings.false_zeros import N_SUSPECTS

        question |= {"typed": typed(asking), "top": None if limit is None else max(limit, N_SUSPECTS)}
        results = fit_and_gather(_MODEL, parameters, data, watch, progress=progress, question=question)
        said = [line for line in results.lines if line not in results.evidence]
        add_verdict(results, None, watch, n_jobs=parameters.get("n_jobs"), progress=progress)
        tell_origin(results, file, reading, marks)
    if out is not None:
        save_run(results, out, force=force, notes=notes, watch=watch, report=report)
    suspects = results.tables["suspects"][: limit if out is None else top]
    terminal.print_json(results.summary | {"suspects": results.summary["suspects"] | {"cells": to_records(suspects)}})
    for line in _lines(results, said, suspects):
        terminal.print(line)
    for line in [] if out is None else where_lines(results, out):
        terminal.print(line)


def _lines(results: Results, said: list[str], suspects: Any) -> list[str]:
    """The verdict, what was fitted, the list, and what its probability is."""
    from latentbits.findings.false_zeros import suspect_line, suspects_head

    first, *others, meaning = said
    listed = [suspects_head(suspects), *map(suspect_line, (line for _, line in suspects.iterrows()))]
    verdict = results.summary.get("verdict", {}).get("sentences", [])
    return [*verdict, first, *data_lines(results.data), *others, *(listed if len(suspects) else []), meaning]
