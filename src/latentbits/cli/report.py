"""`latentbits report`: what a fit has found as one HTML file, made again or about other rows."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.console import Voice
from latentbits.cli.folder import fitted_fingerprint, model_file, show_as_images, write_page
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

_OF_THE_FIT = ("notes", "seconds", "selection", "demo")
"""What a summary says of a fit that the model itself doesn't know."""


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

    from latentbits.findings import gather
    from latentbits.persistence import load_model

    model = load_model(source)
    if ratings is not None:
        refuse_without_phantoms(model, fitted)
    model, data, more = _as_fitted(model, fitted) if file is None else _on_rows(model, file, reading)
    if ratings is not None:
        ratings.check(model, (fitted_fingerprint(fitted), data.fingerprint()))
    results = gather(model, data, **more)
    summary = stored_summary(fitted)
    results.summary |= {name: summary[name] for name in _OF_THE_FIT if name in summary}
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
        raise click.UsageError(f"{fitted} is a model without data; give FILE, the rows to report on, as well")
    if file is not None and out is None:
        raise click.UsageError(f"give --out FILE.html for the report on {file.name}")
    target = fitted / REPORT_FILE if out is None else out
    check_target(target, force=force or _is_own(target, fitted))
    return target


def _is_own(target: Path, fitted: Path) -> bool:
    """Whether it is the report of the fit's own folder."""
    return fitted.is_dir() and target.resolve() == (fitted / REPORT_FILE).resolve()


def _as_fitted(model: Any, fitted: Path) -> tuple[Any, Data, Values]:
    """The model, the data that it was fitted to, and what else went into the fit."""
    from latentbits.data.stored import load_data

    return model, *load_data(fitted / DATA_FILE)


def _on_rows(model: Any, file: Path, reading: Values) -> tuple[Any, Data, Values]:
    """The model with its eyes on other rows, and these."""
    from latentbits.models.registry import model_name

    name = model_name(model)
    if name not in TABLE_MODELS:
        raise DataError(f"{file.name}: a report of {name} is about the rows it was fitted to; leave FILE out")
    data = rows_for(model, file, reading)
    seen = copy.copy(model)
    seen.weights_ = model.transform(data)  # all that a fitted model says about single rows of its own accord
    return seen, data, {}


def _file_name(summary: dict[str, Any]) -> str | None:
    about = summary.get("data")
    return about.get("file") if isinstance(about, dict) else None


def _image_shape(summary: dict[str, Any]) -> tuple[int, int] | None:
    match summary.get("shape"):
        case [int(high), int(wide)]:
            return high, wide
    return None


def _selection(fitted: Path) -> pd.DataFrame | None:
    """The table by which the number of components was chosen, if it was."""
    import pandas as pd

    file = fitted / "selection.csv"
    return pd.read_csv(file) if file.is_file() else None
