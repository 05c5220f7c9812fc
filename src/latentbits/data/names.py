"""Names of rows and columns: those that the caller gives or the data have, validated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from latentbits.data.messages import Origin, quoted

__all__ = ["Names", "check_column_names", "checked_text", "choose_names"]

Names = tuple[list[str] | None, list[str] | None]
"""Row names and column names."""


def check_column_names(
    names: Iterable[object], origin: Origin, place: str = "", unnamed: int | None = None
) -> list[str]:
    """Refuse column names that are empty or repeated.

    Parameters
    ----------
    names : iterable
        Names of any type that can be written as text.
    origin : Origin
        Where the data come from, for error messages.
    place : str, optional
        Where the names are in the file.
    unnamed : int, optional
        The position of the column that may have an empty name.

    Returns
    -------
    list of str
        The names as text.

    Raises
    ------
    DataError
        If a name is empty, repeated or no valid text.

    Examples
    --------
    >>> check_column_names(["", 2001, 2002], Origin(), unnamed=0)
    ['', '2001', '2002']
    """
    texts = checked_text(names, origin, "column name", place)
    for position, name in enumerate(texts):
        if not name.strip() and position != unnamed:
            raise origin.error(f"column {position + 1} has an empty name; name each column", place)
    repeated, times = Counter(texts).most_common(1)[0] if texts else ("", 0)
    if times > 1:
        first, second = [j + 1 for j, name in enumerate(texts) if name == repeated][:2]
        raise origin.error(
            f"the column name {quoted(repeated)} appears {times} times, first as columns {first} and "
            f"{second}; give each column its own name",
            place,
        )
    return texts


def checked_text(names: Iterable[object], origin: Origin, what: str, place: str = "") -> list[str]:
    """Turn names into strings that can be written to a file, which half a surrogate pair can't.

    Parameters
    ----------
    names : iterable
        Names of any type.
    origin : Origin
        Where the data come from, for error messages.
    what : str
        What the names are called in an error message.
    place : str, optional
        Where the names are in the file.

    Returns
    -------
    list of str
        The names as text.

    Raises
    ------
    DataError
        If a name is no valid text.
    """
    texts = [str(name) for name in names]
    for position, name in enumerate(texts):
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise origin.error(f"{what} {position + 1}, {name!a}, is no valid text; correct it", place)
    return texts


def choose_names(
    shape: tuple[int, int],
    given_rows: Sequence[object] | None,
    given_columns: Sequence[object] | None,
    own: Names = (None, None),
    origin: Origin | None = None,
) -> Names:
    """Choose the caller's names, validated, or else the data's own.

    Parameters
    ----------
    shape : (int, int)
        The shape of the data.
    given_rows, given_columns : sequence or None
        The caller's names.
    own : (list of str or None, list of str or None), optional
        The data's own names of rows and columns.
    origin : Origin, optional
        Where the data come from, for error messages.

    Returns
    -------
    (list of str or None, list of str or None)
        Row names and column names; the very lists of `own` where the caller gave none.

    Raises
    ------
    DataError
        If the caller's names are not valid, or not one for each row or column.
    """
    source, (rows, columns) = origin or Origin(), own
    if given_rows is not None:
        rows = checked_text(given_rows, source, "row name")
        _check_length("row_names", len(rows), shape[0], source)
    if given_columns is not None:
        columns = check_column_names(given_columns, source)
        _check_length("column_names", len(columns), shape[1], source)
    return rows, columns


def _check_length(what: str, given: int, needed: int, origin: Origin) -> None:
    if given != needed:
        raise origin.error(f"{what} has {given} names for {needed}; give one name each")
