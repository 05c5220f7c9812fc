"""Surveys with repeat visits: what each visit to each site saw of each species."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from latentbits.data.binary_data import BinaryData
from latentbits.data.codes import MISSING, Tokens, as_text
from latentbits.data.encoding import Encoded, check_threshold, encode
from latentbits.data.long_format import Surveyed, collect_visits
from latentbits.data.messages import Origin, check_column_names, checked_text, choose_names, quoted
from latentbits.data.read_options import ReadOptions
from latentbits.data.row_facts import RowFacts
from latentbits.errors import DataError
from latentbits.wording import place


@dataclass(frozen=True, eq=False, repr=False)
class Histories:
    """N sites x V visits x D species of 0, 1 and missing, with their names.

    Make one with `Histories.of` (an array), `Histories.from_visits` (a table for each visit), `Histories.from_long` (a
    row for each observation) or `read_histories` (a file), which check the values; the constructor trusts its
    arguments. The order of the visits has no meaning for the models: a site's visits may be numbered as they come, and
    sites may have different numbers of them.

    Attributes
    ----------
    cells : int8 array of shape (N, V, D)
        1 seen, 0 not seen, -1 (missing) where the visit wasn't made, or didn't look for the species.
    row_names : list of str or None
        One name for each site.
    visit_names : list of str or None
        One name for each visit.
    column_names : list of str or None
        One name for each species.
    row_label : str or None
        What the row names are called: the name of the column that they came from.
    notes : tuple of str
        What was decided when the data were read.
    facts : RowFacts or None
        Covariates and coordinates of the sites.

    Examples
    --------
    >>> from latentbits import Histories
    >>> survey = Histories.of([[[1, 0], [1, 0]], [[0, 0], [None, None]]], column_names=["owl", "tit"])
    >>> survey
    Histories(2 rows x 2 visits x 2 columns, 3 of 4 visits made, 2 sightings)
    >>> survey.ever_seen().dense()
    array([[1, 0],
           [0, 0]], dtype=int8)
    >>> survey.n_visits
    array([[2, 2],
           [1, 1]])
    >>> survey.detections
    array([[2, 0],
           [0, 0]])
    """

    cells: NDArray[np.int8]
    row_names: list[str] | None = None
    visit_names: list[str] | None = None
    column_names: list[str] | None = None
    row_label: str | None = None
    notes: tuple[str, ...] = ()
    facts: RowFacts | None = None

    @classmethod
    def of(
        cls,
        Y: Any,
        *,
        binarize: float | None = None,
        row_names: Sequence[object] | None = None,
        visit_names: Sequence[object] | None = None,
        column_names: Sequence[object] | None = None,
    ) -> Histories:
        """Check an array of sites x visits x species and encode it.

        Parameters
        ----------
        Y : Histories, or array-like of shape (N, V, D)
            Bool, integer, float or object values. NaN, None and masked entries are missing. Histories come back as
            they are.
        binarize : float, optional
            Every value >= `binarize` counts as 1, every smaller one as 0, such as counts with binarize=1. By default
            anything but 0, 1 and missing is an error.
        row_names, visit_names, column_names : sequence, optional
            Names of sites, visits and species.

        Returns
        -------
        Histories
            The checked data.

        Raises
        ------
        DataError
            With the visit, the row and the column of a value that is neither 0, 1 nor missing.

        Examples
        --------
        >>> from latentbits import Histories
        >>> Histories.of([[[0, 1], [0, 3]]])
        Traceback (most recent call last):
        ...
        latentbits.errors.DataError: visit 2, row 1, column 2: value 3 is neither 0 nor 1; use binarize=1 to call \
every value >= 1 present
        """
        check_threshold(binarize)
        if isinstance(Y, Histories):
            return Y._renamed(row_names, visit_names, column_names)
        values = _as_cube(Y)
        visits = _checked_visits(visit_names, values.shape[1])
        names = choose_names((values.shape[0], values.shape[2]), row_names, column_names)
        cells = np.empty(values.shape, np.int8)
        for v in range(values.shape[1]):
            origin = Origin(_called(visits, v))
            table = encode(values[:, v], binarize=binarize, row_names=names[0], column_names=names[1], origin=origin)
            cells[:, v] = _dense(table)
        return cls(cells, names[0], visits, names[1])

    @classmethod
    def from_visits(cls, tables: Iterable[Any] | Mapping[str, Any], *, binarize: float | None = None) -> Histories:
        """Make histories of a table for each visit.

        Parameters
        ----------
        tables : sequence of tables, or dict of visit name to table
            Each is what `BinaryData.of` takes, such as a data frame, with the same rows and columns in the same order.
        binarize : float, optional
            As in `of`.

        Returns
        -------
        Histories
            With the names of the first table.

        Raises
        ------
        DataError
            With the place where a table differs from the first, or of a value that is neither 0, 1 nor missing.

        Examples
        --------
        >>> from latentbits import Histories
        >>> Histories.from_visits({"May": [[1, 0], [0, 0]], "June": [[1, 1], [None, None]]}).visit_names
        ['May', 'June']
        """
        named = isinstance(tables, Mapping)
        listed = list(tables.values()) if isinstance(tables, Mapping) else list(tables)
        if not listed:
            raise DataError("there is no visit; give a table for each")
        visits = checked_text(tables, Origin(), "visit name") if named else None
        encoded = [_encoded(table, binarize, Origin(_called(visits, v))) for v, table in enumerate(listed)]
        for v, other in enumerate(encoded[1:], start=1):
            _check_alike(encoded[0], other, _called(visits, v), _called(visits, 0))
        cells = np.ascontiguousarray(np.stack([_dense(table) for table in encoded], axis=1))
        return cls(cells, encoded[0].row_names, visits, encoded[0].column_names)

    @classmethod
    def from_long(
        cls,
        table: Any,
        *,
        site: str,
        visit: str,
        species: str,
        value: str | None = None,
        surveyed: Surveyed = None,
        binarize: float | None = None,
    ) -> Histories:
        """Make histories of a table with a row for each observation.

        Parameters
        ----------
        table : data frame, or dict of lists
            With these columns; others are passed over.
        site, visit, species : str
            The columns that say where, on which visit and what. A row without a species says that the visit was made.
        value : str, optional
            The column that says whether the species was seen. Without it every row is a sighting.
        surveyed : sequence of (site, visit), "all" or "seen", optional
            The visits that were made; "all" if every visit was made to every site, "seen" if every visit saw something.
            By default those that occur in the
            table: a visit that saw nothing must be in it, as a row without a species or with a value of 0. Where a
            visit was made, species that it has no row of are 0; where it wasn't, all are missing.
        binarize : float, optional
            As in `of`, about the column `value`.

        Returns
        -------
        Histories
            Sites, visits and species in the order of appearance.

        Raises
        ------
        DataError
            With the row of a missing name, of a value that is neither 0 nor 1, of a second value for the same
            observation, or of an observation on a visit that wasn't made.

        Examples
        --------
        >>> from latentbits import Histories
        >>> seen = {"site": ["A", "A", "B"], "day": [1, 2, 1], "bird": ["owl", "", "tit"]}
        >>> survey = Histories.from_long(seen, site="site", visit="day", species="bird")
        >>> survey
        Histories(2 rows x 2 visits x 2 columns, 3 of 4 visits made, 2 sightings)
        >>> survey.row_names, survey.visit_names, survey.column_names
        (['A', 'B'], ['1', '2'], ['owl', 'tit'])
        """
        origin = Origin(row="row")
        columns = _columns_of(table, origin)
        names = check_column_names(columns, origin)
        rows = enumerate(zip(*columns.values(), strict=True), start=1)
        tokens = Tokens.of(ReadOptions(threshold=check_threshold(binarize)), origin)
        where = [site, visit, species, *([] if value is None else [value])]
        return collect_visits(names, rows, where, tokens, origin, surveyed)

    def _renamed(
        self, rows: Sequence[object] | None, visits: Sequence[object] | None, columns: Sequence[object] | None
    ) -> Histories:
        shape = self.shape
        own = self.row_names, self.column_names
        row_names, column_names = choose_names((shape[0], shape[2]), rows, columns, own=own)
        visit_names = self.visit_names if visits is None else _checked_visits(visits, shape[1])
        if (row_names, visit_names, column_names) == (self.row_names, self.visit_names, self.column_names):
            return self
        return replace(self, row_names=row_names, visit_names=visit_names, column_names=column_names)

    def __repr__(self) -> str:
        n_rows, n_visits, n_columns = self.shape
        made = f"{int(self.surveyed.sum())} of {n_rows * n_visits} visits made"
        size = f"{n_rows} rows x {n_visits} visits x {n_columns} columns"
        return f"Histories({size}, {made}, {int((self.cells == 1).sum())} sightings)"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of sites, visits and species."""
        n_rows, n_visits, n_columns = self.cells.shape
        return n_rows, n_visits, n_columns

    @cached_property
    def surveyed(self) -> NDArray[np.bool_]:
        """Whether each visit to each site was made, N x V: it has a cell that isn't missing."""
        made: NDArray[np.bool_] = (self.cells != MISSING).any(axis=2)
        return made

    @cached_property
    def n_visits(self) -> NDArray[np.int_]:
        """How many visits looked for each species at each site, N x D; 0 where none did."""
        return np.count_nonzero(self.cells != MISSING, axis=1)

    @cached_property
    def detections(self) -> NDArray[np.int_]:
        """How many visits saw each species at each site, N x D."""
        return np.count_nonzero(self.cells == 1, axis=1)

    def fingerprint(self) -> str:
        """Identify shape, cells, species and what is known of the sites.

        Returns
        -------
        str
            16 hex digits.
        """
        made = hashlib.sha256(repr((self.shape, self.ever_seen().fingerprint())).encode())
        made.update(np.ascontiguousarray(self.cells).tobytes())
        return made.hexdigest()[:16]

    def in_order(self) -> NDArray[np.intp]:
        """Which visit was a site's first, second, ...; -1 where it had no more.

        Returns
        -------
        int array of shape (N, most visits of a site)
            Positions of visits.
        """
        most = int(self.surveyed.sum(axis=1).max(initial=0))
        order = np.argsort(~self.surveyed, axis=1, kind="stable")[:, :most]
        return np.where(np.take_along_axis(self.surveyed, order, axis=1), order, -1)

    def numbered(self) -> Histories:
        """Number the visits of each site 1, 2, 3, ...; on many dates each site has few.

        Returns
        -------
        Histories
            With as many visits as the site that has most.
        """
        order = self.in_order()
        cells = np.take_along_axis(self.cells, np.maximum(order, 0)[:, :, None], axis=1)
        cells = np.where(order[:, :, None] < 0, np.int8(MISSING), cells)
        names = [str(v + 1) for v in range(order.shape[1])]
        return replace(self, cells=np.ascontiguousarray(cells), visit_names=names)

    def ever_seen(self) -> BinaryData:
        """Return what was seen on any visit.

        Returns
        -------
        BinaryData
            N x D: 1 if a visit saw the species, 0 if visits were made and none did, missing if none was made.
        """
        seen = (self.detections > 0).astype(np.int8)
        cells = np.where(self.n_visits > 0, seen, np.int8(MISSING))
        return BinaryData(
            cells,
            row_names=self.row_names,
            column_names=self.column_names,
            row_label=self.row_label,
            notes=self.notes,
            facts=self.facts,
        )

    def with_facts(self, rows: Any) -> Histories:
        """The same, with what is known of the sites.

        Parameters
        ----------
        rows : RowFacts, data frame or None
            A line for each site; None changes nothing.

        Returns
        -------
        Histories
            Another one.
        """
        if rows is None:
            return self
        facts = RowFacts.of(rows)
        if len(facts) != self.shape[0]:
            raise DataError(f"rows has {len(facts)} lines for {self.shape[0]} sites; give one line per site")
        return replace(self, facts=facts)

    def rows(self, index: slice | Sequence[int] | np.ndarray) -> Histories:
        """Select sites.

        Parameters
        ----------
        index : slice, sequence of int, or array of int or bool
            As NumPy takes it.

        Returns
        -------
        Histories
            These sites, in this order.
        """
        kept = np.arange(self.shape[0])[index if isinstance(index, slice) else np.asarray(index)]
        facts = None if self.facts is None else self.facts[kept]
        return replace(self, cells=self.cells[kept], row_names=_picked(self.row_names, kept), facts=facts)

    def visits(self, index: slice | Sequence[int] | np.ndarray) -> Histories:
        """Select visits.

        Parameters
        ----------
        index : slice, sequence of int, or array of int or bool
            As NumPy takes it.

        Returns
        -------
        Histories
            All sites, with these visits in this order.
        """
        kept = np.arange(self.shape[1])[index if isinstance(index, slice) else np.asarray(index)]
        return replace(
            self, cells=np.ascontiguousarray(self.cells[:, kept]), visit_names=_picked(self.visit_names, kept)
        )

    def _stored(self) -> dict[str, Any]:
        """As plain arrays, for a file; `_of_stored` makes it again."""
        names = {"row_names": self.row_names, "visit_names": self.visit_names, "column_names": self.column_names}
        return {
            "cells": self.cells,
            **{name: None if texts is None else np.array(texts, dtype=object) for name, texts in names.items()},
            "row_label": self.row_label,
            "facts": None if self.facts is None else self.facts._stored(),
        }

    @classmethod
    def _of_stored(cls, stored: Mapping[str, Any]) -> Histories:
        names: dict[str, Any] = {name: None if stored[name] is None else stored[name].tolist() for name in _NAMES}
        facts = None if stored["facts"] is None else RowFacts(**stored["facts"])
        return cls(stored["cells"], **names, row_label=stored["row_label"], facts=facts)


_NAMES = ("row_names", "visit_names", "column_names")


def _as_cube(Y: Any) -> np.ndarray:
    """An array of three dimensions, none of them empty."""
    try:
        values = Y if isinstance(Y, np.ndarray) else np.asarray(Y)
        if values.dtype.kind in "US" and not isinstance(Y, np.ndarray):
            values = np.array(Y, dtype=object)  # NumPy made text of the numbers beside it
    except ValueError:
        raise DataError("the sites or visits differ in length; give each the same number of cells") from None
    if values.ndim != 3:
        raise DataError(
            f"histories have three dimensions, sites x visits x species, and this has {values.ndim}; "
            "give a table for each visit to Histories.from_visits, or a table of observations to Histories.from_long"
        )
    if 0 in values.shape:
        raise DataError(f"the shape {values.shape} has no cell; give at least one site, visit and species")
    return values


def _checked_visits(names: Sequence[object] | None, n_visits: int) -> list[str] | None:
    if names is None:
        return None
    texts = checked_text(names, Origin(), "visit name")
    if len(texts) != n_visits:
        raise DataError(f"visit_names has {len(texts)} names for {n_visits}; give one name each")
    return texts


def _called(visits: list[str] | None, v: int) -> str:
    """A visit as error messages name it."""
    return place("visit", v) if visits is None else f"visit {quoted(visits[v])}"


def _encoded(table: Any, binarize: float | None, origin: Origin) -> Encoded:
    if isinstance(table, BinaryData):
        return Encoded(table.dense(), None, table.row_names, table.column_names)
    return encode(table, binarize=binarize, origin=origin)


def _dense(table: Encoded) -> np.ndarray:
    if table.sparse is not None:
        return np.asarray(table.sparse.toarray())
    assert table.cells is not None
    return table.cells


def _check_alike(first: Encoded, other: Encoded, here: str, there: str) -> None:
    """Refuse a visit's table with other rows or columns than the first visit's."""
    way_out = "give every visit the same rows and columns, in the same order"
    shapes = [_dense(table).shape for table in (first, other)]
    if shapes[0] != shapes[1]:
        sizes = [f"{rows} x {columns}" for rows, columns in shapes]
        raise DataError(f"{here}: the table is {sizes[1]}, that of {there} {sizes[0]}; {way_out}")
    for what, expected, found in (
        ("row", first.row_names, other.row_names),
        ("column", first.column_names, other.column_names),
    ):
        for i, (name, wanted) in enumerate(zip(found or (), expected or (), strict=False)):
            if name != wanted:
                raise DataError(
                    f"{here}, {place(what, i)}: the name is {quoted(name)}, in {there} {quoted(wanted)}; {way_out}"
                )


def _columns_of(table: Any, origin: Origin) -> dict[str, list[str]]:
    """The columns of a data frame or dict of lists as texts."""
    if nw.dependencies.is_pandas_dataframe(table):
        check_column_names(table.columns, origin)
        listed = {str(name): table[name].tolist() for name in table.columns}
    elif isinstance(table, Mapping):
        listed = {str(name): list(values) for name, values in table.items()}
    else:
        frame = nw.from_native(table, pass_through=True)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        if not isinstance(frame, nw.DataFrame):
            raise DataError("a table of observations is a data frame or a dict of lists; give one of them")
        listed = {name: frame[name].to_list() for name in frame.columns}
    if len({len(values) for values in listed.values()}) > 1:
        raise DataError("the columns of the table differ in length; give each a cell for each row")
    return {name: [as_text(value) for value in values] for name, values in listed.items()}


def _picked(names: list[str] | None, kept: NDArray[np.int_]) -> list[str] | None:
    return names and [names[i] for i in kept]
