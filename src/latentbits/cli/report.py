"""`latentbits report`: what a fit has found as one HTML file, made again or about other rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.console import Voice
from latentbits.cli.folder import model_file, show_as_images, write_page
from latentbits.cli.matching import refuse_without_phantoms, rows_for
from latentbits.cli.options import (
    FILE_PATH,
    Values,
    check_file,
    force_option,
    may_read_file,
    model_argument,
    shape_option,
    tells,
)
from latentbits.cli.output import DATA_FILE, REPORT_FILE, check_target, list_file, stored_summary
from latentbits.cli.ratings import Ratings, ratings_option
from latentbits.errors import DataError
from latentbits.models.registry import TABLE_MODELS

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.findings.results import Data

__all__ = ["report"]


@click.command(
    short_help="What a fit has found, as one HTML file to explore and act in.",
    epilog="Example: latentbits report run --ratings ratings.json",
)
@model_argument
@click.option("--out", type=FILE_PATH, metavar="FILE.html", help=f"Where to write.  [default: DIR/{REPORT_FILE}]")
@force_option("Replace an existing FILE.html (that of DIR is replaced anyway).")
@ratings_option("0 for phantoms, 1 for the rest")
@shape_option
@tells
@may_read_file
def report(
    fitted: Path,
    file: Path | None,
    reading: Values,
    out: Path | None,
    force: bool,
    ratings: Ratings | None,
    shape: tuple[int, int] | None,
    voice: Voice,
) -> None:
    """Write the report of the model in DIR: one HTML file that needs no network and can be sent on.

    It is about the rows that the model was fitted to or, if FILE is given, about those of FILE, whose columns are
    matched by name. DIR is a folder made by "latentbits fit", or (with FILE) a model file.
    """
    source = model_file(fitted)
    target = _target(fitted, file, out, force=force)
    if file is None and not (fitted / DATA_FILE).is_file():
        raise DataError(f"{fitted} holds no {DATA_FILE} (an earlier version made it); give FILE, the rows to report on")
    if file is not None:
        check_file(file)

    from latentbits.data.stored import load_data
    from latentbits.findings import gather
    from latentbits.persistence import load_model

    model = load_model(source)
    if ratings is not None:
        refuse_without_phantoms(model, fitted)
    if ratings is not None:
        ratings.check(model)
    data, more = load_data(fitted / DATA_FILE) if file is None else _other_rows(model, file, reading)
    results = gather(model, data, **more)
    summary = stored_summary(fitted)
    results.summary |= _told_of_the_fit(summary)
    results.summary["data"]["file"] = file.name if file is not None else _file_name(summary)
    if shape := shape or _image_shape(summary):
        show_as_images(results, shape)
    write_page(results, target, selection=_selection(fitted), ratings=None if ratings is None else ratings.document)
    if _is_own(target, fitted):
        list_file(fitted, REPORT_FILE)
    voice.document({**results.summary, "report": str(target)})
    voice.say(f"Open {target}.")


def _target(fitted: Path, file: Path | None, out: Path | None, *, force: bool) -> Path:
    """Where the report goes; what would be replaced against the user's will is refused."""
    if file is None and not fitted.is_dir():
        raise click.UsageError(f"{fitted} is not a folder made by latentbits fit; give one, or a model file and FILE")
    if file is not None and out is None:
        raise click.UsageError(f"give --out FILE.html for the report on {file.name}")
    target = fitted / REPORT_FILE if out is None else out
    check_target(target, force=force or _is_own(target, fitted))
    return target


def _is_own(target: Path, fitted: Path) -> bool:
    """Whether it is the report of the fit's own folder."""
    return fitted.is_dir() and target.resolve() == (fitted / REPORT_FILE).resolve()


def _other_rows(model: Any, file: Path, reading: Values) -> tuple[Data, Values]:
    """The rows of a file with the model's columns."""
    from latentbits.models.registry import model_name

    name = model_name(model)
    if name not in TABLE_MODELS:
        raise DataError(f"{file.name}: a report of {name} is about the rows it was fitted to; leave FILE out")
    return rows_for(model, file, reading), {}


def _told_of_the_fit(summary: dict[str, Any]) -> dict[str, Any]:
    """What a summary says of a fit that the model itself doesn't know; a part that makes no sense is left out."""
    told: dict[str, Any] = {}
    match summary:
        case {"notes": list(notes)} if all(isinstance(note, str) for note in notes):
            told["notes"] = notes
    match summary:
        case {"seconds": dict(seconds)} if all(isinstance(value, int | float) for value in seconds.values()):
            told["seconds"] = seconds
    match summary:
        case {"selection": {"seed": int() | None, "tried": list(), "choices": [*choices]} as selection} if choices:
            if all(isinstance(choice, dict) and {"criterion", "best"} <= choice.keys() for choice in choices):
                told["selection"] = selection
    return told


def _file_name(summary: dict[str, Any]) -> str | None:
    match summary:
        case {"data": {"file": str(name)}}:
            return name
    return None


def _image_shape(summary: dict[str, Any]) -> tuple[int, int] | None:
    match summary.get("shape"):
        case [int(high), int(wide)]:
            return high, wide
    return None


def _selection(fitted: Path) -> pd.DataFrame | None:
    """The table by which the number of components was chosen, if it was."""
    import numpy as np
    import pandas as pd

    file = fitted / "selection.csv"
    if not file.is_file():
        return None
    try:
        table = pd.read_csv(file)
        numbers = table.drop(columns="converged", errors="ignore").fillna(0.0).to_numpy(dtype=float)
        good = len(table) > 0 and "n_components" in table and bool(np.isfinite(numbers).all())
    except ValueError:  # also what is no UTF-8, or empty
        good = False
    if not good:
        raise DataError(f"{file} is damaged; fit again, or move the file away")
    return table
