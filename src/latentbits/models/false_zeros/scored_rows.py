"""Rows scored by an ensemble, block by block: lists, what rows have lost, and why a cell has its score.

Rows that lost more ones than others, or got more false ones: how much, and what it means for a cell.

With a share w of a row's cells blanked by noise, a 1 is seen with probability p = (1 - w) c, c being what the content
of the row would put there; so c = p / (1 - w), whatever model p comes from. False ones are the mirror image.

A blank component gains likelihood also where rows are merely poor, and then to divide by 1 - w ranks worse: so far more
is asked of it here than by `noise="auto"` of an aspect model.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks
from latentbits.data.messages import Places
from latentbits.errors import DegenerateDataWarning
from latentbits.models.aspect import Noise
from latentbits.models.cell_ranking import Kind, RankedCells, check_top, may_be_false
from latentbits.models.false_zeros.later import Scale
from latentbits.models.registry import model_class

if TYPE_CHECKING:
    from latentbits.data.row_facts import RowFacts
    from latentbits.models.false_zeros.ensemble import FalseZeros

_PHANTOMS: dict[Kind, str] = {"absence": "white", "presence": "black"}

N_COMPONENTS, N_INIT = 4, 5
"""Few components: many can imitate a blank one, row by row."""

FACTOR, PER_CELL = 2.0, 0.01
"""A noise component must gain so many times what `noise="auto"` needs, and so many nats per cell of a row. What a blank
component gains in rows that are merely poor is up to 1.7 times that need at 60 columns, and 2.5 at 240: there it is
0.005 per cell, where rows that have lost ones gain 0.011 to 0.026 (simulated surveys, corroded digits and numerals)."""

MOST_LOST = 0.95


def find_row_noise(
    data: BinaryData, row_weight: np.ndarray, noise: Noise, seed: int, n_jobs: int | None
) -> tuple[Any, pd.DataFrame | None]:
    """An aspect model with these noise components, for "auto" with those that the rows clearly need, and the trials.

    None if they need none; the trials are None unless there were any.
    """

    def fitted(noise: str) -> Any:
        K = max(1, min(N_COMPONENTS, *data.shape))
        model = model_class("aspect-bernoulli")(
            K, noise=noise, smoothing=0.0, n_init=N_INIT, tol=1e-5, random_state=seed, n_jobs=n_jobs
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)  # said already, of the whole table
            return model.fit(data, sample_weight=row_weight)

    if noise != "auto":
        return fitted(noise), None
    trials = fitted("auto").noise_trials_
    gained, needed = (dict(zip(trials["model"], trials[name], strict=True)) for name in ("gain_per_row", "needed"))
    cells = PER_CELL * float(np.average(data.observed_per_row(), weights=row_weight))
    found = [kind for kind in _PHANTOMS.values() if gained[kind] >= max(FACTOR * needed[kind], cells)]
    return fitted("both" if len(found) > 1 else found[0]) if found else None, trials


def lost_share(noise_model: Any, data: BinaryData, kind: Kind) -> np.ndarray:
    """The share of each row's cells that noise of this kind has changed, as a column; 0 without a noise model."""
    if noise_model is None:
        return np.zeros((data.shape[0], 1))
    weights = np.asarray(noise_model._solved(data).weights)
    share = weights[:, noise_model.phantoms_ == _PHANTOMS[kind]].sum(axis=1, keepdims=True)
    return np.minimum(share, MOST_LOST)


def allow_for(lost: np.ndarray, p: np.ndarray) -> np.ndarray:
    """What the content of a row would put into a cell that is seen with probability p: p / (1 - lost), at most 1."""
    return p / np.maximum(1 - lost, p)


# ---- rows scored by an ensemble, block by block ------------------------------------------------------------------


class Block(NamedTuple):
    """Some rows: the members' probabilities of a 1, and the ensemble's log odds, each n x D."""

    rows: slice
    data: BinaryData
    by_members: list[np.ndarray]
    odds: np.ndarray


class _Cells(NamedTuple):
    """Chosen cells: places, scores, log odds by the ensemble, and probabilities of a 1 by each member (n x K)."""

    rows: np.ndarray
    columns: np.ndarray
    score: np.ndarray
    odds: np.ndarray
    by_members: np.ndarray

    def best(self, top: int | None) -> _Cells:
        """The highest scores first; equal ones in reading order."""
        order = np.lexsort((self.columns, self.rows, -self.score))[:top]
        return _Cells(*(part[order] for part in self))


class ScoredRows:
    """A fitted ensemble and rows; the ensemble's methods say what the answers mean."""

    def __init__(self, model: FalseZeros, data: BinaryData) -> None:
        self.model = model
        self.data = data

    def blocks(self) -> Iterator[Block]:
        """All rows, in order."""
        for rows in row_blocks(*self.data.shape):
            yield self.model._scored_block(rows, self.data.rows(rows))

    def suspicion(self, kind: Kind, visible: np.ndarray | None) -> np.ndarray:
        """Scores of all cells, N x D: 0 for cells of the other value, missing ones and those that were looked up."""
        score = np.zeros(self.data.shape)
        for block in self.blocks():
            score[block.rows] = np.where(may_be_false(block.data, kind), self._score(block, kind, visible), 0.0)
        return score

    def probabilities(self, scale: Scale) -> np.ndarray:
        """Probabilities of all cells, N x D."""
        p = np.empty(self.data.shape)
        for block in self.blocks():
            p[block.rows] = self.model._given_the_rest(block)
            if scale.is_of_presence:
                cells, m = block.data.dense(), p[block.rows]
                unseen = np.where(cells == MISSING, scale.of_missing(m, block.rows), scale.of_zeros(m, block.rows))
                p[block.rows] = np.where(cells == 1, 1.0, unseen)
        return p

    def suspects(
        self, kind: Kind, *, top: int | None, per_row: int | None, visible: np.ndarray | None, scale: Scale
    ) -> pd.DataFrame:
        """The cells most likely to be false, as a table."""
        for name, value in (("top", top), ("per_row", per_row)):
            check_top(name, value)
        found = self._most_suspected(kind, top, per_row, visible)
        m = expit(self.model._lines[kind](found.odds))
        p = scale.of_zeros(m, found.rows) if kind == "absence" else 1 - m
        ranked = RankedCells(found.rows, found.columns, found.score)
        probability = scale.words if kind == "absence" else "P(0 | the rest)"
        by_members = dict(zip(self.model.members_, found.by_members.T, strict=True))
        return ranked.table(self.data, self.model._column_names(), **{probability: p}, **by_members)

    def _most_suspected(self, kind: Kind, top: int | None, per_row: int | None, visible: np.ndarray | None) -> _Cells:
        parts: list[_Cells] = []
        for block in self.blocks():
            parts.append(self._candidates(block, kind, per_row, visible).best(top))
            if top is not None and len(parts) > 1:  # what can't be among the best is dropped at once
                parts = [_joined(parts).best(top)]
        return _joined(parts).best(top)

    def _candidates(self, block: Block, kind: Kind, per_row: int | None, visible: np.ndarray | None) -> _Cells:
        asked, score = may_be_false(block.data, kind), self._score(block, kind, visible)
        if per_row is not None:
            asked &= _among_best_of_row(np.where(asked, score, -1.0), per_row)
        rows, columns = np.nonzero(asked)
        members = np.stack([p[rows, columns] for p in block.by_members], axis=1)
        return _Cells(rows + block.rows.start, columns, score[rows, columns], block.odds[rows, columns], members)

    def _score(self, block: Block, kind: Kind, visible: np.ndarray | None) -> np.ndarray:
        score = self.model._content(block, kind)
        if kind == "presence":
            score = 1 - score
        return score if visible is None else -np.expm1(visible[block.rows] * np.log1p(-np.minimum(score, 1 - 1e-9)))


def _joined(parts: list[_Cells]) -> _Cells:
    return _Cells(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _among_best_of_row(score: np.ndarray, n: int) -> np.ndarray:
    """Which cells are among the n highest of their row; equal ones in reading order."""
    best = np.argsort(-score, axis=1, kind="stable")[:, :n]
    chosen = np.zeros(score.shape, dtype=bool)
    np.put_along_axis(chosen, best, True, axis=1)
    return chosen


# ---- why a cell has its score ------------------------------------------------------------------------------------

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
    known = _known_of_rows(model, rows, asked, asked_columns, top)
    tables = []
    for (i, j), r, c in zip(cells, which, where, strict=True):
        lines = _of_columns(model, own[r], j, column_places, top)
        lines += [] if known is None else known.lines(r, c, i, seen[:, c], row_places, top)
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


class _KnownOfRows(NamedTuple):
    """What covariates, places and neighbours say of some rows, by the member that knows most of them.

    `says` has by name an array n_asked x n_columns; `near` positions, distances and nearness of neighbours, if the rows
    have coordinates.
    """

    facts: RowFacts
    says: dict[str, np.ndarray]
    near: tuple[np.ndarray, np.ndarray, np.ndarray] | None

    def lines(self, r: int, c: int, i: int, seen: np.ndarray, places: Places, top: int) -> list[tuple[Any, ...]]:
        """Those that add most in either direction, and the nearest rows where the column was looked at."""
        names = sorted(self.says, key=lambda name: -abs(self.says[name][r, c]))[:top]
        lines: list[tuple[Any, ...]] = [
            ("space", "where the row is", None, self.says[name][r, c])
            if name == "space"
            else ("covariate", f"{name} = {self.facts.text(name, r)}", None, self.says[name][r, c])
            for name in names
        ]
        if self.near is None:
            return lines
        at, far, near = (part[r] for part in self.near)
        others = [n for n, k in enumerate(at) if k != i and seen[k] != MISSING][:top]
        labels = places.labels(at[others])
        return lines + [
            (
                "neighbour",
                f"{label} ({self.facts.distance(far[n])})",
                _value(seen[at[n]]),
                near[n] * (2 * seen[at[n]] - 1.0),
            )
            for label, n in zip(labels, others, strict=True)
        ]


def _known_of_rows(
    model: FalseZeros, rows: ScoredRows, asked: BinaryData, columns: np.ndarray, top: int
) -> _KnownOfRows | None:
    if model._row_facts is None or asked.facts is None or not model._has_knowing:
        return None
    member = model._best_knowing("explain")
    says = member._spoken_by(asked.facts, columns)
    if asked.facts.coordinates is None or rows.data.facts is None:
        return _KnownOfRows(asked.facts, says, None)
    return _KnownOfRows(asked.facts, says, member._nearest(asked.facts, rows.data.facts, 3 * top))


def _profile(model: FalseZeros, odds: np.ndarray) -> np.ndarray:
    """What sets rows apart from the average row, centred and scaled so that products are correlations."""
    apart = odds - model._column_odds
    centred = apart - apart.mean(axis=1, keepdims=True)
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)


def _value(code: int) -> int | None:
    return None if code == MISSING else int(code)
