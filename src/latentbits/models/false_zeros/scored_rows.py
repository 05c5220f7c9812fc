"""Rows scored by an ensemble, block by block: no N x D array is made unless it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks
from latentbits.models.cell_ranking import Kind, RankedCells, check_top, may_be_false
from latentbits.models.false_zeros.later import Scale

if TYPE_CHECKING:
    from latentbits.models.false_zeros.estimator import FalseZeros

__all__ = ["Block", "ScoredRows"]


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
