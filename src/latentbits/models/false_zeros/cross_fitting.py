"""The fits behind an ensemble: every member on all data, and, for its weights, without each part of the cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.held_out import Folds, observed_cells
from latentbits.fitting.workers import run_all
from latentbits.models.false_zeros.members import Member
from latentbits.models.registry import model_class

__all__ = ["BASELINES", "HeldOut", "Part", "counting_rows", "fit_all"]

MOST_HIDDEN = 2_000_000
"""Cells that weights are learned from, at most; of larger tables these are the cells of random rows."""

BASELINES = {"columns": "independent", "rows and columns": "row-column"}
"""The models without hidden causes that the ensemble is compared with."""


class HeldOut(NamedTuple):
    """Predictions of hidden cells, each by a fit that didn't see it.

    Attributes
    ----------
    data : BinaryData
        The rows whose cells were hidden.
    row_weight : ndarray of shape (n_rows,)
        Their weights.
    folds : Folds
        Which part hid which cell.
    by_members : list of ndarray of shape (n_cells,)
        Probabilities of the observed cells, row by row, an array a member.
    by_baselines : dict of str to ndarray of shape (n_cells,)
        The same by the models of `BASELINES`.
    """

    data: BinaryData
    row_weight: np.ndarray
    folds: Folds
    by_members: list[np.ndarray]
    by_baselines: dict[str, np.ndarray]


class Part(NamedTuple):
    """Rows with weights, and how many threads to use."""

    data: BinaryData
    row_weight: np.ndarray
    n_jobs: int | None
    verbose: bool


def fit_all(
    members: Sequence[Member], part: Part, n_folds: int | None, rng: np.random.Generator
) -> tuple[list[Any], HeldOut | None]:
    """The members fitted to all rows, and what fits without some of the cells say about these."""
    seeds = rng.integers(2**31, size=len(members)).tolist()
    seeded = list(zip(members, seeds, strict=True))
    on_all = [partial(_fit, member, seed, part.data, part.row_weight) for member, seed in seeded]
    if n_folds is None:
        return run_all(on_all, title="Members", n_jobs=part.n_jobs, verbose=part.verbose), None
    data, row_weight = _fewer_rows(part, rng)
    folds = Folds(data, n_folds, int(rng.integers(2**31)))
    predictors: list[Callable[[BinaryData, np.ndarray], np.ndarray]] = [
        *(partial(_member_predicts, member, seed) for member, seed in seeded),
        *(partial(_baseline_predicts, name) for name in BASELINES.values()),
    ]
    hidden = [partial(_predict_hidden, one, data, row_weight, folds, f) for one in predictors for f in range(n_folds)]
    jobs: list[Callable[[], Any]] = [*hidden, *on_all]
    done = run_all(jobs, title="Members", n_jobs=part.n_jobs, verbose=part.verbose)
    predicted = [folds.together(done[n_folds * i : n_folds * (i + 1)]) for i in range(len(predictors))]
    by_baselines = dict(zip(BASELINES, predicted[len(members) :], strict=True))
    return done[len(hidden) :], HeldOut(data, row_weight, folds, predicted[: len(members)], by_baselines)


def _fewer_rows(part: Part, rng: np.random.Generator) -> tuple[BinaryData, np.ndarray]:
    """The rows that count, or some of them if they are many."""
    data, row_weight = counting_rows(part.data, part.row_weight)
    n_rows, n_columns = data.shape
    enough = max(2, MOST_HIDDEN // n_columns)
    if n_rows <= enough:
        return data, row_weight
    rows = np.sort(rng.choice(n_rows, enough, replace=False))
    return data.rows(rows), row_weight[rows]


def counting_rows(data: BinaryData, row_weight: np.ndarray) -> tuple[BinaryData, np.ndarray]:
    """Without rows of weight 0: their cells are learned from nowhere, and tell nothing about how good an answer is."""
    rows = np.flatnonzero(row_weight > 0)
    return (data, row_weight) if len(rows) == len(row_weight) else (data.rows(rows), row_weight[rows])


def _fit(member: Member, seed: int, data: BinaryData, row_weight: np.ndarray) -> Any:
    known = member.of_interest(data)
    return member.make(*data.shape, seed).fit(known, sample_weight=row_weight)


def _member_predicts(member: Member, seed: int, data: BinaryData, row_weight: np.ndarray) -> np.ndarray:
    return member.predicted(_fit(member, seed, data, row_weight), data)


def _baseline_predicts(name: str, data: BinaryData, row_weight: np.ndarray) -> np.ndarray:
    probabilities: np.ndarray = model_class(name)().fit(data, sample_weight=row_weight).reconstruct(data)
    return probabilities


def _predict_hidden(
    predict: Callable[[BinaryData, np.ndarray], np.ndarray],
    data: BinaryData,
    row_weight: np.ndarray,
    folds: Folds,
    fold: int,
) -> np.ndarray:
    """The probabilities of the cells of one fold, row by row, by a fit to the others."""
    hidden = folds.cells(fold)
    return predict(data.hide(hidden), row_weight)[hidden & observed_cells(data)].astype(np.float32)
