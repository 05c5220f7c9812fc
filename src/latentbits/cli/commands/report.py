"""`latentbits report`: what a fit has found as one HTML file, made again or about other rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.fit_run import show_as_images
from latentbits.cli.model_and_rows import (
    read_afresh_option,
    refuse_ratings_of_ensemble,
    refuse_without_phantoms,
    rows_for,
)
from latentbits.cli.options.asking import question_about
from latentbits.cli.options.click_helpers import FILE_PATH, Values, model_argument
from latentbits.cli.options.output import force_option, shape_option, terminal_options
from latentbits.cli.options.ratings import Ratings, marks_option, ratings_option
from latentbits.cli.options.reading import check_file, optional_reading_options
from latentbits.cli.output_file import check_target
from latentbits.cli.terminal import Terminal
from latentbits.errors import DataError
from latentbits.models.registry import TABLE_MODELS
from latentbits.storage.run_folder import REPORT_FILE, RunFolder

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.marks import Marks
    from latentbits.findings.results import Results

__all__ = ["report"]


@click.command(
    short_help="What a fit has found, as one HTML file to explore and act in.",
    epilog="Example: latentbits report run --ratings ratings.json",
)
@model_argument
@click.option("--out", type=FILE_PATH, metavar="FILE.html", help=f"Where to write.  [default: DIR/{REPORT_FILE}]")
@force_option("Replace an existing FILE.html (that of DIR is replaced anyway).")
@ratings_option("0 for phantoms, 1 for the rest")
@marks_option("the page begins with them")
@shape_option
@terminal_options
@optional_reading_options
@read_afresh_option
def report(
    fitted: Path,
    file: Path | None,
    reading: Values,
    read_afresh: bool,
    out: Path | None,
    force: bool,
    ratings: Ratings | None,
    marks: Marks | None,
    shape: tuple[int, int] | None,
    terminal: Terminal,
) -> None:
    """Write the report of the model in DIR: one HTML file that needs no network and can be sent on.

    It is about the rows that the model was fitted to or, if FILE is given, about those of FILE, which is read like
    the file of the fit and whose columns are matched by name. DIR is a folder made by "latentbits fit", or (with FILE)
    a model file.
    """
    run = RunFolder.open(fitted)
    target = _target(run, file, out, force=force)
    if file is None and read_afresh:
        raise click.UsageError("--read-afresh is about reading FILE; give one, or leave it out")
    if file is None:
        run.check_data()
    else:
        check_file(file)

    from latentbits.findings import gather, lead_with_verdict

    model = run.load_model()
    if marks is not None:
        refuse_without_phantoms(model, fitted)
    if ratings is not None:
        refuse_without_phantoms(model, fitted)
        refuse_ratings_of_ensemble(model, fitted, ratings)
        ratings.check(model)
    data, fit_params = run.load_data() if file is None else (_other_rows(run, model, file, reading, read_afresh), {})
    results = gather(model, data, **fit_params)
    if file is None and run.question is not None and hasattr(model, "members_"):
        _ask_again(results, data, run.question)
    record = run.fit_record
    if "verdict" in record:
        lead_with_verdict(results, record.pop("verdict"))
    results.summary |= record
    results.summary["data"]["file"] = run.file_name if file is None else file.name
    if shape := shape or run.image_shape:
        show_as_images(results, shape)
    run.write_report(results, target, selection=run.selection, ratings=_marked(ratings, marks))
    terminal.print_json({**results.summary, "report": str(target)})
    terminal.print(f"Open {target}.")


def _ask_again(results: Results, data: Any, question: Values) -> None:
    """Ask an ensemble what was asked when it was fitted; a note says if a file of revisits would be needed for that."""
    from latentbits.findings.false_zeros import N_SUSPECTS, ask

    if "revisits" in question:
        click.echo(
            f"note: without {question['revisits']} the probability is P(1 | the rest) again; latentbits false-zeros or "
            "suspects with --revisits gives the other",
            err=True,
        )
        question = {key: question[key] for key in ("kind", "per_row") if key in question}
    asking = {key: value for key, value in question.items() if key != "kind"}
    ask(results, asking, **question_about(data, asking, kind=question["kind"]), top=N_SUSPECTS)


def _marked(ratings: Ratings | None, marks: Marks | None) -> Values | None:
    """What the page begins with: ratings, or marks, or both."""
    document = {} if ratings is None else dict(ratings.document)
    if marks is not None:
        cells = [{"row": mark.row, "column": mark.column, "mark": mark.word} for mark in marks.marks]
        document |= {"marks": cells, "data": marks.fingerprint}
    return document or None


def _target(run: RunFolder, file: Path | None, out: Path | None, *, force: bool) -> Path:
    """Where the report goes; what would be replaced against the user's will is refused."""
    if file is None and not run.is_folder:
        raise click.UsageError(f"{run.path} is not a folder made by latentbits fit; give one, or a model file and FILE")
    if file is not None and out is None:
        raise click.UsageError(f"give --out FILE.html for the report on {file.name}")
    target = run.report_file if out is None else out
    check_target(target, force=force or run.is_own_report(target))
    return target


def _other_rows(run: RunFolder, model: Any, file: Path, reading: Values, read_afresh: bool) -> BinaryData:
    """The rows of a file with the model's columns."""
    from latentbits.models.registry import model_name

    name = model_name(model)
    if name not in TABLE_MODELS:
        raise DataError(f"{file.name}: a report of {name} is about the rows it was fitted to; leave FILE out")
    return rows_for(run, model, file, reading, read_afresh=read_afresh)
