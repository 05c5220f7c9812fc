"""Which columns of a table the caller asked for."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from latentbits.data.messages import Origin, quoted
from latentbits.errors import UnknownColumnError

__all__ = ["ColumnChoice", "positions"]


@dataclass(frozen=True)
class ColumnChoice:
    """The columns that the caller asked for, as `read_table` takes them.

    Attributes
    ----------
    row_labels : str, int, bool or None
        The column that names the rows; False if there is none, None to find out.
    columns, exclude : sequence of str or None
        Names of the columns to read, None for all, and of those to leave out.
    metadata : sequence of str or None
        Names of the columns to keep beside the rows.

    Examples
    --------
    >>> choice = ColumnChoice("site", None, ["age"])
    >>> names = ["site", "age", "Equus", "Sus"]
    >>> label = choice.label(names, Origin())
    >>> label, choice.data(names, [label], Origin())
    (0, [2, 3])
    """

    row_labels: str | int | bool | None
    columns: Sequence[str] | None
    exclude: Sequence[str] | None
    metadata: Sequence[str] | None = None

    def label(self, names: Sequence[str], origin: Origin) -> int | None:
        """Find the label column that the caller named.

        Parameters
        ----------
        names : sequence of str
            Of all columns.
        origin : Origin
            Where the data come from, for error messages.

        Returns
        -------
        int or None
            Its position; None if the caller named none.

        Raises
        ------
        DataError
            If there is no such column.
        """
        if self.row_labels is None or self.row_labels is False:
            return None
        if isinstance(self.row_labels, str):
            return positions([self.row_labels], names, origin)[0]
        if not 0 <= self.row_labels < len(names):
            raise origin.error(
                f"row_labels={self.row_labels} is not a column; use 0 to {len(names) - 1}, a name or False"
            )
        return int(self.row_labels)

    def data(self, names: Sequence[str], others: Collection[int | None], origin: Origin) -> list[int]:
        """Find the data columns.

        Parameters
        ----------
        names : sequence of str
            Of all columns.
        others : collection of int
            The positions of labels and metadata, which are left out.
        origin : Origin
            Where the data come from, for error messages.

        Returns
        -------
        list of int
            Their positions, in the order asked for.

        Raises
        ------
        DataError
            If there is no such column, or none is left.
        """
        wanted = range(len(names)) if self.columns is None else positions(self.columns, names, origin)
        left_out = {*self.excluded(names, origin), *others}
        chosen = [j for j in wanted if j not in left_out]
        if not chosen:
            raise origin.error("no data columns are left; check columns, exclude and row_labels")
        return chosen

    def excluded(self, names: Sequence[str], origin: Origin) -> set[int | None]:
        """Find the columns to leave out.

        Parameters
        ----------
        names : sequence of str
            Of all columns.
        origin : Origin
            Where the data come from, for error messages.

        Returns
        -------
        set of int
            Their positions.

        Raises
        ------
        DataError
            If there is no such column.
        """
        return set(positions(self.exclude or (), names, origin))

    def beside(self, names: Sequence[str], origin: Origin) -> list[int]:
        """Find the metadata columns that the caller named.

        Parameters
        ----------
        names : sequence of str
            Of all columns.
        origin : Origin
            Where the data come from, for error messages.

        Returns
        -------
        list of int
            Their positions.

        Raises
        ------
        DataError
            If there is no such column.
        """
        return positions(self.metadata or (), names, origin)


def positions(wanted: str | Sequence[str], names: Sequence[str], origin: Origin) -> list[int]:
    """Find columns by their names.

    Parameters
    ----------
    wanted : str or sequence of str
        Their names.
    names : sequence of str
        Of all columns.
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    list of int
        Their positions.

    Raises
    ------
    DataError
        If there is no such column, with names that may have been meant.
    """
    where = {name: j for j, name in enumerate(names)}
    listed = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in listed:
        if name not in where:
            near = difflib.get_close_matches(str(name), names, 3) or names[:3]
            message = f"there is no column {quoted(str(name))}; did you mean {' or '.join(map(quoted, near))}?"
            raise UnknownColumnError(str(origin.error(message)), str(name))
    return [where[name] for name in listed]
