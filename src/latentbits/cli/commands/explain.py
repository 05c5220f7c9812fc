"""`latentbits explain`: which component caused a cell of a file, by a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.model_and_rows import open_model_and_rows, read_afresh_option
from latentbits.cli.options.click_helpers import Values, model_argument
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.options.reading import reading_options
from latentbits.cli.output_file import output_table
from latentbits.cli.terminal import Terminal
from latentbits.data.places import Places
from latentbits.findings.results import with_names
from latentbits.wording import place

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.data.binary_data import BinaryData

__all__ = ["explain"]


@click.command(
    short_help="Which component caused a cell of FILE.",
    epilog="Example: latentbits explain run sites.csv --cell Pikermi Equus",
)
@model_argument
@click.option("--row", metavar="ROW", help="Explain all cells of this row.")
@click.option("--cell", "cells", nargs=2, multiple=True, metavar="ROW COLUMN", help="This cell (may be repeated).")
@table_options
@terminal_options
@reading_options
@read_afresh_option
def explain(
    fitted: Path,
    file: Path,
    reading: Values,
    read_afresh: bool,
    row: str | None,
    cells: tuple[tuple[str, str], ...],
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Which component caused a cell of FILE, by the model in DIR: a line for each cell and component.

    Rows and columns are given by name, or as "row 1", which is the first, as "latentbits suspects" prints them; if they
    have no names, 1 is enough. DIR is a folder made by "latentbits fit", or a model file. FILE is read like the file of
    the fit; options given here go before those given there. Columns are matched by name.

    Of a fit of false-zeros, why a cell has its score: which columns of its row, and which rows like it, speak for a 1
    there ("says" above 0) or against it.
    """
    if (row is None) == (not cells):
        raise click.UsageError("give either --row ROW or --cell ROW COLUMN")
    model, data = open_model_and_rows(fitted, file, reading, read_afresh=read_afresh, out=out, force=force)
    rows, columns = Places(data.row_names, data.shape[0], "row"), Places(data.column_names, data.shape[1], "column")
    positions = [(_position(i, rows), _position(j, columns)) for i, j in cells]
    if hasattr(model, "members_"):
        table = _by_ensemble(model, data, positions, rows, columns)
    elif row is not None:
        table = model.explain(data, row=_position(row, rows))
    else:
        table = model.explain(data, cells=positions)
    output_table(with_names(table), out, force=force, terminal=terminal)


def _by_ensemble(model: Any, data: BinaryData, cells: list[tuple[int, int]], *sides: Places) -> pd.DataFrame:
    """What speaks for or against a 1 in each of these cells: columns of its row, and rows like it."""
    import numpy as np
    import pandas as pd

    if not cells:
        raise click.UsageError("false-zeros explains single cells; give --cell ROW COLUMN")
    parts = []
    for cell in cells:
        part = model.explain(data, *cell)
        part["name"] = [
            name if isinstance(name, str) else place(what, int(name))
            for what, name in zip(part["what"], part["name"], strict=True)
        ]
        for at, (position, places) in enumerate(zip(cell, sides, strict=True)):
            part.insert(at, places.what, places.labels(np.array([position]))[0])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _position(text: str, places: Places) -> int:
    """The position (from 0) of what is called so; where there are no names, a number from 1 is enough."""
    return places.find(f"{places.what} {text}" if places.names is None and text.isdecimal() else text)
