"""The suspects of the fit, as Python lists them: what the page shows until a rating is moved."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, NamedTuple

import numpy as np

from latentbits.findings.aspect import N_SUSPECTS, SUSPECTED
from latentbits.models.aspect.aspect_rows import FALSE_VALUE, AspectRows, Kind, SuspectedCells

__all__ = ["N_TOTALS", "Positions", "packed_floats", "suspect_lists"]

N_TOTALS = 20
"""How many rows, and how many columns, are listed by their number of suspects."""


class Positions(NamedTuple):
    """Positions of rows and of columns in the data."""

    rows: np.ndarray
    columns: np.ndarray


class _Totals(NamedTuple):
    """The rows (or columns) with most suspects: their positions, how many they have, and of how many cells."""

    at: np.ndarray
    suspects: np.ndarray
    cells: np.ndarray


def suspect_lists(solved: AspectRows, sample: Positions) -> tuple[dict[Kind, dict[str, Any]], Positions]:
    """The most suspected zeros and ones of all data, and which rows and columns have most of them.

    Cells outside the sample that the page holds are listed as well. The second value has the positions that the lists
    refer to: those of the sample, and behind them the others that are listed.
    """
    found = {kind: (solved.most_suspected(kind=kind, top=N_SUSPECTS), *_totals(solved, kind)) for kind in FALSE_VALUE}
    rows, columns = sample
    for cells, (by_row, by_column), _ in found.values():
        rows = _extended(rows, cells.rows, by_row.at)
        columns = _extended(columns, cells.columns, by_column.at)
    named = Positions(rows, columns)
    return {kind: _stored(*parts, named) for kind, parts in found.items()}, named


def _totals(solved: AspectRows, kind: Kind) -> tuple[tuple[_Totals, _Totals], int]:
    """Rows and columns with most suspects, and how many suspects there are."""
    suspected = solved.suspicion(kind=kind) >= SUSPECTED
    cells = solved.data.dense() == FALSE_VALUE[kind]
    by_row, by_column = (_most(suspected.sum(axis=axis), cells.sum(axis=axis)) for axis in (1, 0))
    return (by_row, by_column), int(suspected.sum())


def _most(suspects: np.ndarray, cells: np.ndarray) -> _Totals:
    at = np.argsort(-suspects, kind="stable")[:N_TOTALS]
    at = at[suspects[at] > 0]
    return _Totals(at, suspects[at], cells[at])


def _stored(
    cells: SuspectedCells, totals: tuple[_Totals, _Totals], n_suspected: int, named: Positions
) -> dict[str, Any]:
    """A list in the form that the page reads; rows and columns are places among those that it names."""
    return {
        "rows": _places(cells.rows, named.rows),
        "columns": _places(cells.columns, named.columns),
        "score": packed_floats(cells.score),
        "phantom": packed_floats(cells.phantom),
        "n_suspected": n_suspected,
        "totals": [
            [_places(side.at, among), side.suspects.tolist(), side.cells.tolist()]
            for side, among in zip(totals, named, strict=True)
        ],
    }


def _extended(positions: np.ndarray, *wanted: np.ndarray) -> np.ndarray:
    """The positions, and behind them the wanted ones that they lack."""
    return np.concatenate([positions, np.setdiff1d(np.concatenate(wanted), positions)])


def _places(positions: np.ndarray, among: np.ndarray) -> list[int]:
    """Where each position stands among distinct ones that contain it."""
    order = np.argsort(among)
    places: list[int] = order[np.searchsorted(among, positions, sorter=order)].tolist()
    return places


def packed_floats(values: np.ndarray) -> str:
    """Numbers as the text of their float64 bytes."""
    return b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()
