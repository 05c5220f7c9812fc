"""`latentbits denoise`, `suspects`, `explain`: questions to a fitted model about a file, answered as tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from latentbits.cli.console import Voice
from latentbits.cli.folder import model_file
from latentbits.cli.matching import refuse_without_phantoms, rows_for
from latentbits.cli.options import Values, check_file, given, model_argument, reads_file, table_options, tells
from latentbits.cli.output import check_target, show_table
from latentbits.cli.ratings import CHANGES, Ratings, ratings_option
from latentbits.errors import DataError
from latentbits.findings.results import data_table

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

__all__ = ["denoise", "explain", "suspects"]


@click.command(
    short_help="FILE without noise, by a fitted model.",
    epilog="Example: latentbits denoise run sites.csv --out clean.csv",
)
@model_argument
@click.option(
    "--threshold-probability",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Cells with at least this probability of a 1 become 1.",
)
@ratings_option("0 for phantoms, 1 for the rest")
@click.option(
    "--change",
    type=click.Choice(CHANGES),
    default="auto",
    show_default=True,
    help="Which cells may change: zeros (absence), ones (presence), or what the phantoms can have falsified (auto).",
)
@table_options
@tells
@reads_file
def denoise(
    fitted: Path,
    file: Path,
    reading: Values,
    threshold_probability: float,
    ratings: Ratings | None,
    change: Any,
    out: Path | None,
    force: bool,
    voice: Voice,
) -> None:
    """Write FILE as 0-1 data without the phantoms of the model in DIR; missing cells are filled.

    DIR is a folder made by "latentbits fit", or a model file. Columns are matched by name. A file of ratings
    that was saved in a report also says threshold and change, unless they are given here.
    """
    model, data = _opened(fitted, file, reading, out, force)
    saved = {} if ratings is None else ratings.document
    if not given("threshold_probability"):
        threshold_probability = saved.get("threshold", threshold_probability)
    if not given("change"):
        change = saved.get("change", change)
    rated = _rated(ratings, model, fitted, data)
    cells = model.denoise(data, threshold=threshold_probability, ratings=rated, change=change)
    told = f": {len(cells):,} rows, {(cells != data.dense()).sum():,} of {cells.size:,} cells changed or filled in"
    show_table(data_table(cells, data), out, force=force, voice=voice, told=told)


@click.command(
    short_help="The cells of FILE that are most likely false.",
    epilog="Example: latentbits suspects run sites.csv --top 20",
)
@model_argument
@click.option(
    "--kind",
    type=click.Choice(["absence", "presence"]),
    default="absence",
    show_default=True,
    help="Zeros that may hide a 1, or ones that may be false.",
)
@click.option("--top", type=click.IntRange(min=1), default=100, show_default=True, help="How many cells.")
@ratings_option("phantoms don't count as content")
@table_options
@tells
@reads_file
def suspects(
    fitted: Path,
    file: Path,
    reading: Values,
    kind: Literal["absence", "presence"],
    top: int,
    ratings: Ratings | None,
    out: Path | None,
    force: bool,
    voice: Voice,
) -> None:
    """List the cells of FILE that are most likely false, by the model in DIR.

    The score ranks cells: the probability that the content of the row would put a 1 there (or not), averaged over the
    restarts of the fit; with --ratings by the best restart alone. It is no measured error rate. DIR is a folder made by
    "latentbits fit", or a model file. Columns are matched by name; rows without names are counted from 0.
    """
    model, data = _opened(fitted, file, reading, out, force)
    found = model.suspects(data, kind=kind, top=top, ratings=_rated(ratings, model, fitted, data))
    show_table(found, out, force=force, voice=voice)


@click.command(
    short_help="Which component caused a cell of FILE.",
    epilog="Example: latentbits explain run sites.csv --cell Pikermi Equus",
)
@model_argument
@click.option("--row", metavar="LABEL", help="Explain all cells of this row.")
@click.option("--cell", "cells", nargs=2, multiple=True, metavar="ROW COLUMN", help="This cell (may be repeated).")
@table_options
@tells
@reads_file
def explain(
    fitted: Path,
    file: Path,
    reading: Values,
    row: str | None,
    cells: tuple[tuple[str, str], ...],
    out: Path | None,
    force: bool,
    voice: Voice,
) -> None:
    """Which component caused a cell of FILE, by the model in DIR: a line for each cell and component.

    Rows and columns are given by name, or by position from 0. DIR is a folder made by "latentbits fit",
    or a model file. Columns are matched by name.
    """
    if (row is None) == (not cells):
        raise click.UsageError("give either --row LABEL or --cell ROW COLUMN")
    model, data = _opened(fitted, file, reading, out, force)
    if row is not None:
        table = model.explain(data, row=_key(row, data.row_names, "row"))
    else:
        keys = [(_key(i, data.row_names, "row"), _key(j, data.column_names, "column")) for i, j in cells]
        table = model.explain(data, cells=keys)
    show_table(table, out, force=force, voice=voice)


def _key(text: str, names: list[str] | None, what: str) -> str | int:
    """A name as it is, if there is such a one; otherwise a number is a position."""
    times = (names or []).count(text)
    if times > 1:
        raise DataError(f'{times} {what}s are named "{text}"; give the position of one, counted from 0')
    return int(text) if times == 0 and text.isdecimal() else text


def _opened(fitted: Path, file: Path, reading: Values, out: Path | None, force: bool) -> tuple[Any, BinaryData]:
    """The model, and the file's data with the model's columns; what can be refused at once is."""
    source = model_file(fitted)
    check_file(file)
    if out is not None:
        check_target(out, force=force)

    from latentbits.persistence import load_model

    model = load_model(source)
    refuse_without_phantoms(model, fitted)
    return model, rows_for(model, file, reading)


def _rated(ratings: Ratings | None, model: Any, fitted: Path, data: BinaryData) -> list[float] | None:
    """The numbers, once it is clear that they belong to the model."""
    if ratings is None:
        return None
    ratings.check(model)
    return ratings.values
