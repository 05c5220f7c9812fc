"""Why a cell has its score: which cells of its row, and which other rows, speak for a 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.messages import Places
from latentbits.models.false_zeros.scored_rows import ScoredRows

if TYPE_CHECKING:
    from latentbits.models.false_zeros.estimator import FalseZeros

__all__ = ["explain_cell", "explain_cells"]

COUPLED = ("ising", "linear_autoencoder")
"""The members whose prediction is a sum over the other cells of the row."""


def explain_cell(model: FalseZeros, rows: ScoredRows, row: int | str, column: int | str, top: int) -> pd.DataFrame:
    """The table of `FalseZeros.explain`."""
    data = rows.data
    i = Places(data.row_names, data.shape[0], "row").position(row)
    j = Places(model._column_names(), data.shape[1], "column").position(column)
    (table,) = explain_cells(model, rows, [(i, j)], top)
    return table


def explain_cells(
    model: FalseZeros, rows: ScoredRows, cells: Sequence[tuple[int, int]], top: int
) -> list[pd.DataFrame]:
    """A table as of `FalseZeros.explain` for each of these cells; all rows are looked at once."""
    data = rows.data
    row_places = Places(data.row_names, data.shape[0], "row")
    column_places = Places(model._column_names(), data.shape[1], "column")
    if not cells:
        return []
    asked_rows, which = np.unique([i for i, _ in cells], return_inverse=True)
    asked_columns, where = np.unique([j for _, j in cells], return_inverse=True)
    asked = data.rows(asked_rows)
    alike, seen = _likeness(model, rows, asked, asked_columns)
    own = asked.dense()
    tables = []
    for (i, j), r, c in zip(cells, which, where, strict=True):
        lines = _of_columns(model, own[r], j, column_places, top)
        lines += _of_rows(alike[r], seen[:, c], i, row_places, top)
        table = pd.DataFrame(lines, columns=["what", "name", "value", "says"])
        table["value"] = table["value"].astype("Int8")
        tables.append(table)
    return tables


def _likeness(
    model: FalseZeros, rows: ScoredRows, asked: BinaryData, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How alike all rows are to some (n_asked x n_rows), and their cells in some columns (n_rows x n_columns)."""
    n_rows = rows.data.shape[0]
    own = _profile(model, model._scored_block(slice(0, asked.shape[0]), asked).odds)
    alike = np.empty((asked.shape[0], n_rows))
    seen = np.empty((n_rows, len(columns)), dtype=np.int8)
    for block in rows.blocks():
        alike[:, block.rows] = own @ _profile(model, block.odds).T
        seen[block.rows] = block.data.dense()[:, columns]
    return alike, seen


def _of_columns(model: FalseZeros, cells: np.ndarray, j: int, places: Places, top: int) -> list[tuple[Any, ...]]:
    """Where the prediction begins, the cells of the row that add most to it in either direction, and all others."""
    member = next((model.members_[name] for name in COUPLED if name in model.members_), None)
    if member is None:
        return []
    centred = np.where(cells == MISSING, 0.0, cells - member.means_)
    adds = member.couplings_[:, j] * centred
    adds[j] = 0.0
    best = [k for k in np.argsort(-np.abs(adds), kind="stable")[:top] if adds[k] != 0]
    names = places.labels(np.array(best, dtype=int))
    base = member.intercepts_[j] if hasattr(member, "intercepts_") else member.means_[j]
    return [
        ("base", "how common the column is", None, base),
        *(("column", name, _value(cells[k]), adds[k]) for name, k in zip(names, best, strict=True)),
        ("rest", "all other columns", None, adds.sum() - adds[best].sum()),
    ]


def _of_rows(alike: np.ndarray, seen: np.ndarray, i: int, places: Places, top: int) -> list[tuple[Any, ...]]:
    """The rows that are most alike by the ensemble's probabilities, and what was seen there."""
    likeness = np.where(seen == MISSING, -np.inf, alike)
    likeness[i] = -np.inf
    best = [k for k in np.argsort(-likeness, kind="stable")[:top] if likeness[k] > 0]
    names = places.labels(np.array(best, dtype=int))
    return [
        ("row", name, _value(seen[k]), likeness[k] if seen[k] == 1 else -likeness[k])
        for name, k in zip(names, best, strict=True)
    ]


def _profile(model: FalseZeros, odds: np.ndarray) -> np.ndarray:
    """What sets rows apart from the average row, centred and scaled so that products are correlations."""
    apart = odds - model._column_odds
    centred = apart - apart.mean(axis=1, keepdims=True)
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)


def _value(code: int) -> int | None:
    return None if code == MISSING else int(code)
