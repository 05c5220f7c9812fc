"""Rows of delimited text: blank lines, the header, the number of fields, and numbers in cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

from latentbits.data.messages import Origin
from latentbits.errors import DataError

__all__ = ["Rows", "empty_file_error", "finite_number", "is_blank", "rows_of_width", "split_header"]

Rows = Iterator[tuple[int, list[str]]]
"""Rows of a file: the number of the line where each ends, and its fields."""


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


def split_header(rows: Rows, header: bool, origin: Origin) -> tuple[list[str], str, Rows]:
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
    names : list of str
        Without surrounding blanks.
    place : str
        The line they are on, for error messages.
    rows : iterator of (int, list of str)
        The rows of data.

    Raises
    ------
    DataError
        If there is no such row.

    Examples
    --------
    >>> split_header(iter([(1, ["a ", "b"]), (2, ["0", "1"])]), True, Origin())[:2]
    (['a', 'b'], 'line 1')
    """
    line, first = next(((line, row) for line, row in rows if not is_blank(row, width=2)), (0, []))
    if not first:
        raise empty_file_error(origin)
    if header:
        return [name.strip() for name in first], f"line {line}", rows
    return [f"x{j + 1}" for j in range(len(first))], f"line {line}", chain([(line, first)], rows)


def rows_of_width(rows: Rows, width: int, origin: Origin) -> Rows:
    """Check the number of fields; blank lines are skipped at the end and refused elsewhere.

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
        For a row of another width, a blank line between rows, and if there is no row.
    """
    blank, empty = 0, True
    for line, row in rows:
        if is_blank(row, width):
            blank = blank or line
            continue
        if blank:
            raise origin.error("the line is blank; remove it", f"line {blank}")
        if len(row) != width:
            raise origin.error(
                f"{len(row)} fields, but {width} are expected as in the first line; look for a "
                "delimiter too many or too few, text to be quoted, or a header that has no name for the "
                "row labels",
                f"line {line}",
            )
        empty = False
        yield line, row
    if empty:
        raise origin.error("there is a header but no row below it; add rows, or use header=False (--no-header)")


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
