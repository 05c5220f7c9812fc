"""`latentbits explain`: which component caused a cell of a file, by a fitted model."""

from __future__ import annotations

from pathlib import Path

import click

from latentbits.cli.model_and_rows import open_model_and_rows
from latentbits.cli.options.click_helpers import Values, model_argument
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.options.reading import reading_options
from latentbits.cli.output_file import output_table
from latentbits.cli.terminal import Terminal
from latentbits.errors import DataError

__all__ = ["explain"]


@click.command(
    short_help="Which component caused a cell of FILE.",
    epilog="Example: latentbits explain run sites.csv --cell Pikermi Equus",
)
@model_argument
@click.option("--row", metavar="LABEL", help="Explain all cells of this row.")
@click.option("--cell", "cells", nargs=2, multiple=True, metavar="ROW COLUMN", help="This cell (may be repeated).")
@table_options
@terminal_options
@reading_options
def explain(
    fitted: Path,
    file: Path,
    reading: Values,
    row: str | None,
    cells: tuple[tuple[str, str], ...],
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Which component caused a cell of FILE, by the model in DIR: a line for each cell and component.

    Rows and columns are given by name, or by position from 0. DIR is a folder made by "latentbits fit",
    or a model file. Columns are matched by name.
    """
    if (row is None) == (not cells):
        raise click.UsageError("give either --row LABEL or --cell ROW COLUMN")
    model, data = open_model_and_rows(fitted, file, reading, out=out, force=force)
    if row is not None:
        table = model.explain(data, row=_name_or_position(row, data.row_names, "row"))
    else:
        places = [
            (_name_or_position(i, data.row_names, "row"), _name_or_position(j, data.column_names, "column"))
            for i, j in cells
        ]
        table = model.explain(data, cells=places)
    output_table(table, out, force=force, terminal=terminal)


def _name_or_position(text: str, names: list[str] | None, what: str) -> str | int:
    """A name as it is, if there is such a one; otherwise a number is a position."""
    times = (names or []).count(text)
    if times > 1:
        raise DataError(f'{times} {what}s are named "{text}"; give the position of one, counted from 0')
    return int(text) if times == 0 and text.isdecimal() else text
