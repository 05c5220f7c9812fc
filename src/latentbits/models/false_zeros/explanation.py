"""Why a cell has its score: which cells of its row, and which other rows, speak for a 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from latentbits.data.binary_data import MISSING
from latentbits.data.places import Places
from latentbits.models.false_zeros.scored_rows import ScoredRows

if TYPE_CHECKING:
    from latentbits.models.false_zeros.estimator import FalseZeros

__all__ = ["explain_cell"]

COUPLED = ("ising", "linear_autoencoder")
"""The members whose prediction is a sum over the other cells of the row."""


def explain_cell(model: FalseZeros, rows: ScoredRows, row: int | str, column: int | str, top: int) -> pd.DataFrame:
    """The table of `FalseZeros.explain`."""
    data = rows.data
    row_places = Places(data.row_names, data.shape[0], "row")
    column_places = Places(model._column_names(), data.shape[1], "column")
    i, j = row_places.position(row), column_places.position(column)
    lines = _of_columns(model, data.rows([i]).dense()[0], j, column_places, top)
    lines += _of_rows(model, rows, i, j, row_places, top)
    table = pd.DataFrame(lines, columns=["what", "name", "value", "says"])
    table["value"] = table["value"].astype("Int8")
    return table


def _of_columns(model: FalseZeros, cells: np.ndarray, j: int, places: Places, top: int) -> list[tuple[Any, ...]]:
    """The cells of the row whose being 0 or 1 adds most, in either direction."""
    member = next((model.members_[name] for name in COUPLED if name in model.members_), None)
    if member is None:
        return []
    centred = np.where(cells == MISSING, 0.0, cells - member.means_)
    adds = member.couplings_[:, j] * centred
    adds[j] = 0.0
    best = np.argsort(-np.abs(adds), kind="stable")[:top]
    names = places.labels(best)
    return [("column", name, _value(cells[k]), adds[k]) for name, k in zip(names, best, strict=True) if adds[k] != 0]


def _of_rows(model: FalseZeros, rows: ScoredRows, i: int, j: int, places: Places, top: int) -> list[tuple[Any, ...]]:
    """The rows that are most alike by the ensemble's probabilities, and what was seen there."""
    data = rows.data
    own = _profile(model, model._scored_block(slice(0, 1), data.rows([i])).odds)[0]
    alike = np.empty(data.shape[0])
    column = np.empty(data.shape[0], dtype=np.int8)
    for block in rows.blocks():
        alike[block.rows] = _profile(model, block.odds) @ own
        column[block.rows] = block.data.dense()[:, j]
    alike[i] = -np.inf
    alike[column == MISSING] = -np.inf
    best = [k for k in np.argsort(-alike, kind="stable")[:top] if alike[k] > 0]
    names = places.labels(np.array(best, dtype=int))
    return [
        ("row", name, _value(column[k]), alike[k] if column[k] == 1 else -alike[k])
        for name, k in zip(names, best, strict=True)
    ]


def _profile(model: FalseZeros, odds: np.ndarray) -> np.ndarray:
    """What sets rows apart from the average row, centred and scaled so that products are correlations."""
    apart = odds - model._column_odds
    centred = apart - apart.mean(axis=1, keepdims=True)
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)


def _value(code: int) -> int | None:
    return None if code == MISSING else int(code)
