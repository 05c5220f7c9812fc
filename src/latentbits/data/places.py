"""Rows and columns by what people call them: a name, "row 3" for the third, "Samos (row 3)" where names repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING

from latentbits.data.messages import quoted
from latentbits.errors import DataError
from latentbits.wording import place

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Places", "clear_names"]


def clear_names(names: Sequence[str], what: str) -> list[str]:
    """Tell rows or columns with the same name apart, and those without any.

    Parameters
    ----------
    names : sequence of str
        Their names.
    what : str
        "row" or "column".

    Returns
    -------
    list of str
        The names; one that is empty, or that others have as well, with its position.

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
        """Check whether the data themselves name a row or column so.

        Parameters
        ----------
        key : object
            A name, a position, or what rows and columns without a name of their own are called.

        Returns
        -------
        bool
            True for a name.
        """
        return key in self._own

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(self.names or ())

    def find(self, name: str) -> int:
        """Find a row or column.

        Parameters
        ----------
        name : str
            What it is called.

        Returns
        -------
        int
            Its position, from 0.

        Raises
        ------
        DataError
            If nothing is called so, or several are.
        """
        if name in self._known:
            return self._known[name]
        same = [i for i, other in enumerate(self.names or []) if other == name]
        if same:
            first = quoted(self._clear[same[0]])
            raise DataError(f"{len(same)} {self.what}s are named {quoted(name)}; give one of them, such as {first}")
        last = f'"{place(self.what, 0)}" to "{place(self.what, self.number - 1)}"'
        raise DataError(f"no {self.what} is named {quoted(name)}; give the name of one, or {last}")

    def position(self, key: object) -> int:
        """Find a row or column that is given by its name or its position.

        Parameters
        ----------
        key : str or int
            What it is called, or its position from 0; -1 is the last.

        Returns
        -------
        int
            Its position, from 0.

        Raises
        ------
        DataError
            If there is none.
        """
        if isinstance(key, str):
            return self.find(key)
        if not isinstance(key, Integral) or not -self.number <= int(key) < self.number:
            raise DataError(
                f"there is no {self.what} at position {key!r}; give a whole number from 0 (the first) to "
                f"{self.number - 1}"
            )
        return int(key) % self.number

    def labels(self, positions: np.ndarray) -> np.ndarray:
        """Name rows or columns.

        Parameters
        ----------
        positions : int array
            Their positions, from 0.

        Returns
        -------
        array
            Their names, each of which means one of them; the positions themselves if they have none.
        """
        import numpy as np  # late: commands are listed without NumPy

        return positions if self.names is None else np.array(self._clear, dtype=object)[positions]
