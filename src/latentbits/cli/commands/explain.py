"""`latentbits explain`: which component caused a cell of a file, by a fitted model."""

from __future__ import annotations

from pathlib import Path

import click

from latentbits.cli.model_and_rows import open_model_and_rows, read_afresh_option
from latentbits.cli.options.click_helpers import Values, model_argument
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.options.reading import reading_options
from latentbits.cli.output_file import output_table
from latentbits.cli.terminal import Terminal
from latentbits.errors import DataError
from latentbits.findings.results import with_names

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

    Rows and columns are given by name, or else by number: 1, or "row 1", is the first row, as "latentbits suspects"
    prints it. DIR is a folder made by "latentbits fit", or a model file. FILE is read like the file of the fit; options
    given here go before those given there. Columns are matched by name.
    """
    if (row is None) == (not cells):
        raise click.UsageError("give either --row ROW or --cell ROW COLUMN")
    model, data = open_model_and_rows(fitted, file, reading, read_afresh=read_afresh, out=out, force=force)
    n_rows, n_columns = data.shape
    if row is not None:
        table = model.explain(data, row=_position(row, data.row_names, n_rows, "row"))
    else:
        places = [
            (_position(i, data.row_names, n_rows, "row"), _position(j, data.column_names, n_columns, "column"))
            for i, j in cells
        ]
        table = model.explain(data, cells=places)
    output_table(with_names(table), out, force=force, terminal=terminal)


def _position(text: str, names: list[str] | None, n: int, what: str) -> int:
    """The position (from 0) of what has this name; if nothing has, "3" and "row 3" are the third row."""
    found = [position for position, name in enumerate(names or []) if name == text]
    if len(found) > 1:
        numbers = " or ".join(str(position + 1) for position in found[:3])
        raise DataError(f'{len(found)} {what}s are named "{text}"; give the number of one, such as {numbers}')
    if found:
        return found[0]
    number = text.removeprefix(f"{what} ")
    if not number.isdecimal():
        raise DataError(f'no {what} is named "{text}"; give the name of one, or its number from 1 to {n}')
    if not 1 <= int(number) <= n:
        raise DataError(f"there is no {what} {number}; give a number from 1 to {n}, or a name")
    return int(number) - 1
