"""Rows of delimited text: blank lines, the header, the number of fields, and numbers in cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from latentbits.data.messages import Origin
from latentbits.errors import DataError
from latentbits.storage.files import restore_label

__all__ = [
    "Header",
    "Rows",
    "empty_file_error",
    "finite_number",
    "is_blank",
    "no_row_error",
    "rows_of_width",
    "split_header",
]

Rows = Iterator[tuple[int, list[str]]]
"""Rows of a file: the number of the line where each ends, and its fields."""

_PEEKED = 20
"""How many rows say whether the header has a name for the row labels."""


def empty_file_error(origin: Origin) -> DataError:
    """Make the error for a file without any row.

    Parameters
    ----------
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    DataError
        For the caller to raise.
    """
    return origin.error("the file is empty; it needs a header line and at least one row")


def no_row_error(origin: Origin) -> DataError:
    """Make the error for a file without any row below its header.

    Parameters
    ----------
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    DataError
        For the caller to raise.
    """
    return origin.error("there is a header but no row below it; add rows, or use header=False (--no-header)")


def is_blank(row: list[str], width: int) -> bool:
    """Check whether a row is a blank line.

    Parameters
    ----------
    row : list of str
        Its fields.
    width : int
        How many columns there are; in a file of one column a quoted empty field is a cell.

    Returns
    -------
    bool
        True if it holds no cell.

    Examples
    --------
    >>> is_blank([""], width=2), is_blank([""], width=1), is_blank(["", ""], width=2)
    (True, False, False)
    """
    return not row or (width > 1 and len(row) == 1 and not row[0].strip())


class Header(NamedTuple):
    """The column names of a file.

    Attributes
    ----------
    names : list of str
        Without surrounding blanks, and the apostrophe that our own tables have in front of formulas.
    place : str
        The line they are on, for error messages.
    lacks_label : bool
        Whether the header has one name less than the rows have fields, as R writes it; `names` then begins with
        an empty name for the row labels.
    """

    names: list[str]
    place: str
    lacks_label: bool = False


def split_header(rows: Rows, header: bool, origin: Origin) -> tuple[Header, Rows]:
    """Take the column names off the first row that isn't blank.

    Parameters
    ----------
    rows : iterator of (int, list of str)
        Lines and fields.
    header : bool
        Whether that row has the names; otherwise it is data, and the columns are x1, x2, ...
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    header : Header
        The names; empty ones at the end, above empty cells, are left out.
    rows : iterator of (int, list of str)
        The rows of data.

    Raises
    ------
    DataError
        If there is no such row.

    Examples
    --------
    >>> split_header(iter([(1, ["a ", "b"]), (2, ["0", "1"])]), True, Origin())[0].names
    ['a', 'b']
    >>> rows = [(1, ["a", "b"]), (2, ["Pikermi", "0", "1"]), (3, ["Samos", "1", "1"])]
    >>> split_header(iter(rows), True, Origin())[0].names
    ['', 'a', 'b']
    """
    # Above the names an exported sheet may have rows of nothing but delimiters.
    used = (lambda row: any(map(str.strip, row))) if header else (lambda row: not is_blank(row, width=2))
    line, first = next(((line, row) for line, row in rows if used(row)), (0, []))
    if not first:
        raise empty_file_error(origin)
    peeked = list(islice(rows, _PEEKED))
    body = [row for _, row in peeked if not is_blank(row, width=2)]
    if not header:
        width = _filled_width([first, *body])
        names = [f"x{j + 1}" for j in range(max(width, 1))]
        return Header(names, origin.place(line)), chain([(line, first)], peeked, rows)
    names = [restore_label(name.strip()) for name in first]
    lacks_label = _lacks_label(len(names), body)
    if lacks_label:
        names = ["", *names]
    while len(names) > 1 and not names[-1] and _filled_width(body) < len(names):
        names.pop()
    return Header(names, origin.place(line), lacks_label), chain(peeked, rows)


def _filled_width(rows: list[list[str]]) -> int:
    """The number of fields up to the last that is filled in any row."""
    return max((j + 1 for row in rows for j, field in enumerate(row) if field.strip()), default=0)


def _lacks_label(n_names: int, body: list[list[str]]) -> bool:
    """Whether all of several rows have a field more than the header, and not just a delimiter at their end."""
    return (
        n_names > 1
        and len(body) > 1
        and {len(row) for row in body} == {n_names + 1}
        and _filled_width(body) == n_names + 1
    )


def rows_of_width(rows: Rows, width: int, origin: Origin) -> Rows:
    """Check the number of fields; blank lines, and empty fields at the end of a row, are skipped.

    Parameters
    ----------
    rows : iterator of (int, list of str)
        Lines and fields, without the header.
    width : int
        How many columns there are.
    origin : Origin
        Where the data come from, for error messages.

    Yields
    ------
    (int, list of str)
        The rows that aren't blank.

    Raises
    ------
    DataError
        For a row of another width, a blank line between rows of one column (where it may be a missing cell), and
        if there is no row.
    """
    blank, empty = 0, True
    for line, row in rows:
        if len(row) != width:
            if is_blank(row, width):
                blank = blank or line
                continue
            if len(row) < width or any(field.strip() for field in row[width:]):
                raise _width_error(line, row, width, origin)
            row = row[:width]
        if blank and width == 1:
            raise origin.error('the line is blank; remove it, or write "" for a missing cell', origin.place(blank))
        empty = False
        yield line, row
    if empty:
        raise no_row_error(origin)


def _width_error(line: int, row: list[str], width: int, origin: Origin) -> DataError:
    return origin.error(
        f"{len(row)} field{'s' * (len(row) != 1)}, but {width} are expected as in the first line; look for a delimiter "
        "too many or too few, or text to be quoted",
        origin.place(line),
    )


def finite_number(text: str) -> float | None:
    """Read a text as a finite number.

    Parameters
    ----------
    text : str
        A cell.

    Returns
    -------
    float or None
        None if it is no finite number; 1_0 is none, though Python reads it.

    Examples
    --------
    >>> finite_number("1e3"), finite_number("inf"), finite_number("1_0"), finite_number("ten")
    (1000.0, None, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None
