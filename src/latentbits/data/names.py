"""Names of rows and columns, validated, and what people call them: a name, "row 3", "Samos (row 3)" if names repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING

from latentbits.data.messages import Origin, quoted
from latentbits.errors import DataError
from latentbits.wording import place

if TYPE_CHECKING:
    import numpy as np

Names = tuple[list[str] | None, list[str] | None]
"""Row names and column names."""


def check_column_names(
    names: Iterable[object], origin: Origin, place: str = "", unnamed: int | None = None
) -> list[str]:
    """Refuse column names that are empty or repeated.

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
    """Turn names into strings that can be written to a file, which half a surrogate pair can't."""
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
    """Choose the caller's names, validated, or else the data's own."""
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


def clear_names(names: Sequence[str], what: str) -> list[str]:
    """Tell rows or columns with the same name apart, and those without any.

    Examples
    --------
    >>> clear_names(["Samos", "Pikermi", "Samos", ""], "row")
    ['Samos (row 1)', 'Pikermi', 'Samos (row 3)', '(row 4)']
    """
    times = Counter(names)
    return [
        name if times[name] == 1 and name.strip() else f"{name} ({place(what, i)})".strip()
        for i, name in enumerate(names)
    ]


@dataclass(frozen=True)
class Places:
    """The rows or columns of a table.

    Attributes
    ----------
    names : sequence of str or None
        Their names, if they have any.
    number : int
        How many there are.
    what : str
        "row" or "column".

    Examples
    --------
    >>> rows = Places(["Samos", "Pikermi", "Samos"], 3, "row")
    >>> rows.find("Pikermi"), rows.find("Samos (row 3)"), rows.find("row 1")
    (1, 2, 0)
    >>> rows.find("Samos")
    Traceback (most recent call last):
    ...
    latentbits.errors.DataError: 2 rows are named "Samos"; give one of them, such as "Samos (row 1)"
    """

    names: Sequence[str] | None
    number: int
    what: str

    @cached_property
    def _known(self) -> dict[str, int]:
        """Positions by every name that means one of them; a name of the data goes before one that is made here."""
        made = {place(self.what, i): i for i in range(self.number)}
        return made if self.names is None else made | {name: i for i, name in enumerate(self._clear)}

    @cached_property
    def _clear(self) -> list[str]:
        return clear_names(self.names or [], self.what)

    def has_name(self, key: object) -> bool:
        """Check whether the data themselves name a row or column so."""
        return key in self._own

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(self.names or ())

    def find(self, name: str) -> int:
        """Find a row or column."""
        if name in self._known:
            return self._known[name]
        same = [i for i, other in enumerate(self.names or []) if other == name]
        if same:
            first = quoted(self._clear[same[0]])
            raise DataError(f"{len(same)} {self.what}s are named {quoted(name)}; give one of them, such as {first}")
        last = f'"{place(self.what, 0)}" to "{place(self.what, self.number - 1)}"'
        raise DataError(f"no {self.what} is named {quoted(name)}; give the name of one, or {last}")

    def position(self, key: object) -> int:
        """Find a row or column that is given by its name or its position."""
        if isinstance(key, str):
            return self.find(key)
        if not isinstance(key, Integral) or not -self.number <= int(key) < self.number:
            raise DataError(
                f"there is no {self.what} at position {key!r}; give a whole number from 0 (the first) to "
                f"{self.number - 1}"
            )
        return int(key) % self.number

    def labels(self, positions: np.ndarray) -> np.ndarray:
        """Name rows or columns."""
        import numpy as np  # late: commands are listed without NumPy

        return positions if self.names is None else np.array(self._clear, dtype=object)[positions]
