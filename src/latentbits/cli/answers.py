"""`latentbits denoise`, `suspects`, `explain`: questions to a fitted model about a file, answered as CSV."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from latentbits.cli.folder import model_file
from latentbits.cli.options import Values, model_argument, read, reads_file, table_options
from latentbits.cli.output import show_table
from latentbits.errors import DataError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

__all__ = ["denoise", "explain", "suspects"]


def _numbers(ctx: click.Context, option: click.Parameter, value: str | None) -> list[float] | None:
    """Numbers with commas between them."""
    try:
        return None if value is None else [float(number) for number in value.split(",")]
    except ValueError:
        raise click.BadParameter("give numbers with commas between them, such as 1,0,1", ctx, option) from None


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
@click.option(
    "--ratings",
    callback=_numbers,
    metavar="R0,R1,...",
    help="How much of each component to keep, from 0 to 1.  [default: 0 for phantoms, 1 for the rest]",
)
@click.option(
    "--change",
    type=click.Choice(["auto", "both", "absence", "presence"]),
    default="auto",
    show_default=True,
    help="Which cells may change: zeros (absence), ones (presence), or what the phantoms can have falsified (auto).",
)
@table_options
@reads_file
def denoise(
    fitted: Path,
    file: Path,
    reading: Values,
    threshold_probability: float,
    ratings: list[float] | None,
    change: Any,
    out: Path | None,
    force: bool,
) -> None:
    """Write FILE as 0-1 data without the phantoms of the model in DIR; missing cells are filled.

    DIR is a folder made by "latentbits fit", or a model file. Columns are matched by name.
    """
    from latentbits.findings.results import data_table

    model, data = _opened(fitted, file, reading)
    cells = model.denoise(data, threshold=threshold_probability, ratings=ratings, change=change)
    show_table(data_table(cells, data), out, force=force)


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
@table_options
@reads_file
def suspects(
    fitted: Path,
    file: Path,
    reading: Values,
    kind: Literal["absence", "presence"],
    top: int,
    out: Path | None,
    force: bool,
) -> None:
    """List the cells of FILE that are most likely false, by the model in DIR.

    The score is the probability that a 0 hides a 1 (or that a 1 is false). DIR is a folder made by
    "latentbits fit", or a model file. Columns are matched by name; rows without names are counted from 0.
    """
    model, data = _opened(fitted, file, reading)
    show_table(model.suspects(data, kind=kind, top=top), out, force=force)


@click.command(
    short_help="Which component caused a cell of FILE.",
    epilog="Example: latentbits explain run sites.csv --cell Pikermi Equus",
)
@model_argument
@click.option("--row", metavar="LABEL", help="Explain all cells of this row.")
@click.option("--cell", "cells", nargs=2, multiple=True, metavar="ROW COLUMN", help="This cell (may be repeated).")
@table_options
@reads_file
def explain(
    fitted: Path,
    file: Path,
    reading: Values,
    row: str | None,
    cells: tuple[tuple[str, str], ...],
    out: Path | None,
    force: bool,
) -> None:
    """Which component caused a cell of FILE, by the model in DIR: a line for each cell and component.

    Rows and columns are given by name, or by position from 0. DIR is a folder made by "latentbits fit",
    or a model file. Columns are matched by name.
    """
    if (row is None) == (not cells):
        raise click.UsageError("give either --row LABEL or --cell ROW COLUMN")
    model, data = _opened(fitted, file, reading)
    if row is not None:
        table = model.explain(data, row=_key(row, data.row_names, "row"))
    else:
        keys = [(_key(i, data.row_names, "row"), _key(j, data.column_names, "column")) for i, j in cells]
        table = model.explain(data, cells=keys)
    show_table(table, out, force=force)


def _key(text: str, names: list[str] | None, what: str) -> str | int:
    """A name as it is, if there is such a one; otherwise a number is a position."""
    times = (names or []).count(text)
    if times > 1:
        raise DataError(f'{times} {what}s are named "{text}"; give the position of one, counted from 0')
    return int(text) if times == 0 and text.isdecimal() else text


def _opened(fitted: Path, file: Path, reading: Values) -> tuple[Any, BinaryData]:
    """The model, and the file's data with the model's columns."""
    from latentbits.persistence import load_model

    model = load_model(model_file(fitted))
    if not hasattr(model, "suspects"):
        raise DataError(
            f"{fitted}: {type(model).__name__} knows no phantoms, by which cells are cleaned, suspected or explained; "
            "fit --model aspect-bernoulli or beta-ica"
        )
    names = getattr(model, "feature_names_in_", None)
    return model, _matched(_read_for(names, file, reading), names, file.name)


def _read_for(names: Any, file: Path, reading: Values) -> BinaryData:
    """The file's data; of a file that has the model's columns only those, unless the user says which."""
    if names is None or reading["columns"] or reading["exclude"]:
        return read(file, reading)
    try:
        return read(file, {**reading, "columns": tuple(names)})
    except DataError:  # they aren't all there, or something else is wrong: what is said about the whole file helps more
        return read(file, reading)


def _matched(data: BinaryData, wanted: Any, file: str) -> BinaryData:
    """The data with their columns in the model's order; by position if either has no names."""
    import numpy as np

    from latentbits.data.binary_data import quoted

    if wanted is None or data.column_names is None or data.column_names == list(wanted):
        return data
    where = {name: j for j, name in enumerate(data.column_names)}
    lacking = [name for name in wanted if name not in where]
    extra = sorted(set(where) - set(wanted), key=where.__getitem__)
    if lacking:
        raise DataError(f"{file}: there is no column {_listed(lacking)}, which the model was fitted on; add it")
    if extra:
        flag = f"--exclude {quoted(extra[0])}"
        raise DataError(f"{file}: the model doesn't know the column {_listed(extra)}; use {flag} to leave it out")
    cells = np.ascontiguousarray(data.dense()[:, [where[name] for name in wanted]])
    return replace(data, cells=cells, sparse=None, column_names=list(wanted))


def _listed(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    from latentbits.data.binary_data import quoted

    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return quoted(names[0]) + more
