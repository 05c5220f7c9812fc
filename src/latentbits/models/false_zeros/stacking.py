"""The members of the ensemble, their fits with and without each part of the cells, and how predictions become one.

The members are different models, each with settings that serve tables of any size.
With l_ijk the log odds of a 1 in cell ij by member k, the ensemble's are a + sum_k w_k l_ijk, w_k >= 0. Maximised over
a and w is the log likelihood of held-out cells, each predicted by fits that didn't see it, less

    strength K / 2 sum_k (w_k - p_k)^2:

a prior that keeps the weights of K members at p, which favours those that predict held-out cells well on their own (see
`promise`), unless the cells say more. It is concave. The strength is larger where there are few cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.metrics import roc_auc_score

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.held_out import Folds, HiddenCells, gain_over, log_odds, observed_cells
from latentbits.fitting.workers import run_all
from latentbits.metrics import calibration_table
from latentbits.models.registry import model_class
from latentbits.wording import counted

MOST_CELLS = 5_000_000
"""Of a table for the members that visit every cell many times: some ten minutes of one processor."""

MOST_PRODUCTS = 3e9
"""rows x columns^2 for the Ising model, which does some 60 such products: about as long."""

MOST_COLUMNS = 20_000
"""For the linear autoencoder, which holds a few matrices of columns x columns."""

STARTED_CELLS = 4_000_000
"""Restarts x cells of an aspect model: the average of few starts serves a large table, where all end alike."""

SAMPLED_CELLS, MOST_CHAINS = 120_000, 6
"""Chains x cells of probit factors, and chains. On a survey of 373 x 12 six chains rank zeros better than two (AUC by
.002, average precision by .004), and the seed matters a third as much; longer ones gain half of it for the same time.
"""


class Member(NamedTuple):
    """One member.

    Attributes
    ----------
    name : str
        In tables, and in `FalseZeros.members`.
    make : callable
        (rows, columns, seed) -> estimator.
    predict : str
        Its method that gives the probabilities of cells.
    too_large : callable
        (rows, columns) -> whether it would take too long.
    whole_weights : bool
        Whether row weights must be whole numbers.
    knows_rows : bool
        Whether it is made for what is known of rows, and stands aside without; the others don't look at it.
    in_folds : callable, or None
        (number of cells) -> parameters of fits without some of the cells, from which only weights are learned. Such a
        fit is asked for the cells of its own rows alone (`_completed`), which spares it what other questions need.
        None: as it is.
    """

    name: str
    make: Callable[[int, int, int], Any]
    predict: str
    too_large: Callable[[int, int], bool]
    whole_weights: bool = False
    knows_rows: bool = False
    in_folds: Callable[[int], Mapping[str, int]] | None = None

    def of_interest(self, data: BinaryData) -> BinaryData:
        """The data, with what is known of rows if the member uses it."""
        return data if self.knows_rows or data.facts is None else data.with_facts(None)

    def predicted(self, model: Any, data: BinaryData) -> np.ndarray:
        """Probabilities of a 1 in all cells of these rows, by the fitted model."""
        probabilities: np.ndarray = getattr(model, self.predict)(self.of_interest(data))
        return probabilities


PASSES = 60
"""Of an aspect model's start: their average predicts no better from starts that are climbed to the end."""


def _aspects(n_components: int, n_init: int) -> Callable[[int, int, int], Any]:

    def make(n_rows: int, n_columns: int, seed: int) -> Any:
        n_starts = int(np.clip(STARTED_CELLS // (n_rows * n_columns), 3, n_init))
        K = max(1, min(n_components, n_rows, n_columns))
        return model_class("aspect-bernoulli")(
            K, smoothing=0.0, n_init=n_starts, max_iter=PASSES, tol=1e-5, random_state=seed
        )

    return make


def _probit(n_components: int) -> Callable[[int, int, int], Any]:
    """Few factors serve few columns, where covariates and space leave little; many serve many."""

    def make(n_rows: int, n_columns: int, seed: int) -> Any:
        K = max(1, min(n_components, n_columns // 2))
        n_chains = int(np.clip(SAMPLED_CELLS // (n_rows * n_columns), 2, MOST_CHAINS))
        return model_class("probit-factors")(K, n_init=n_chains, n_burn=100, n_samples=100, thin=2, random_state=seed)

    return make


def _ising(n_rows: int, n_columns: int, seed: int) -> Any:
    return model_class("ising")(10.0, max_iter=60, tol=1e-6)


def _linear_autoencoder(n_rows: int, n_columns: int, seed: int) -> Any:
    return model_class("linear-autoencoder")(60.0)


def _rows_and_columns(n_rows: int, n_columns: int, seed: int) -> Any:
    return model_class("row-column")(ridge=None, smoothing=0.3)


def too_many_cells(n_rows: int, n_columns: int) -> bool:
    """Whether a table is too large for models that visit every cell many times."""
    return n_rows * n_columns > MOST_CELLS


TWO_CHAINS = 100_000
"""Cells above which fits without some of them have one chain where rows are known: on 2,318 x 69 cells the ensemble
takes a third less time and ranks as well. Without covariates one chain isn't enough (AUC lower by .002)."""


def _two_chains(n_cells: int) -> Mapping[str, int]:
    """With 120 samples of two chains weights are as with 200 and a longer burn-in."""
    return {"n_init": 2, "n_burn": 80, "n_samples": 60}


def _chains_of_known(n_cells: int) -> Mapping[str, int]:
    return {**_two_chains(n_cells), "n_init": 1 if n_cells > TWO_CHAINS else 2}


def _as_made(n_cells: int) -> Mapping[str, int]:
    return {}


MEMBERS = (
    Member("probit_factors", _probit(8), "reconstruct", too_many_cells, whole_weights=True, in_folds=_two_chains),
    Member("covariates_2", _probit(2), "reconstruct", too_many_cells, True, True, in_folds=_chains_of_known),
    Member("covariates_8", _probit(8), "reconstruct", too_many_cells, True, True, in_folds=_chains_of_known),
    Member("aspects_12", _aspects(12, 20), "average_reconstruction", too_many_cells, in_folds=_as_made),
    Member("aspects_4", _aspects(4, 10), "average_reconstruction", too_many_cells, in_folds=_as_made),
    Member("aspects_2", _aspects(2, 10), "average_reconstruction", too_many_cells, in_folds=_as_made),
    Member("ising", _ising, "reconstruct", lambda n, d: n * d * d > MOST_PRODUCTS),
    Member("linear_autoencoder", _linear_autoencoder, "reconstruct", lambda n, d: d > MOST_COLUMNS),
    Member("rows_and_columns", _rows_and_columns, "reconstruct", too_many_cells),
)


def chosen_members(names: Sequence[str] | None, data: BinaryData | None = None) -> list[Member]:
    """The members of these names, in the order of `MEMBERS`; for None all that can use the data."""
    if names is None:
        return [member for member in MEMBERS if data is None or data.facts is not None or not member.knows_rows]
    known = [member.name for member in MEMBERS]
    unknown = [name for name in names if name not in known]
    if isinstance(names, str) or unknown or not names:
        wrong = "" if isinstance(names, str) or not unknown else f'; "{unknown[0]}" is none of them'
        raise DataError(f"members must be a list of some of {', '.join(known)}{wrong}")
    return [member for member in MEMBERS if member.name in names]


def stand_aside(member: Member, data: BinaryData, row_weight: np.ndarray) -> str:
    """Why a member can't be fitted to these data; empty if it can."""
    n_rows, n_columns = data.shape
    if member.knows_rows and data.facts is None:
        return f"{member.name} needs to know of the rows (rows=frame)"
    if member.knows_rows and np.any(row_weight != 1):
        return f"{member.name} takes each row once, and some row weights are not 1"
    if member.too_large(n_rows, n_columns):
        size = f"{counted(n_rows, 'row')} and {counted(n_columns, 'column')}"
        return f"{member.name} would take too long for {size}"
    if member.whole_weights and np.any(row_weight != np.round(row_weight)):
        return f"{member.name} draws samples for whole rows, and some row weights are no whole numbers"
    if member.whole_weights and member.too_large(int(row_weight.sum()), n_columns):
        return f"{member.name} draws samples for each of the {row_weight.sum():,.0f} rows that the weights add up to"
    return ""


# ---- the fits behind an ensemble ---------------------------------------------------------------------------------

MOST_HIDDEN = 2_000_000
"""Cells that weights are learned from, at most; of larger tables these are the cells of random rows."""

BASELINES = {"columns": "independent", "rows and columns": "row-column"}
"""The models without hidden causes that the ensemble is compared with."""


class HeldOut(NamedTuple):
    """Predictions of held-out cells, each by a fit that didn't see it.

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
    if member.in_folds is None:
        return member.predicted(_fit(member, seed, data, row_weight), data)
    model = member.make(*data.shape, seed).set_params(**member.in_folds(data.shape[0] * data.shape[1]))
    probabilities: np.ndarray = model._completed(member.of_interest(data), row_weight)
    return probabilities


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


STRENGTH, OF_CELLS, MOST_STRENGTH = 5.0, 1000.0, 50.0
"""Of the pull towards `promise`: of few held-out cells more than of many, as `pull` says. Chosen with the line below on
small public tables for tuning and on simulated ones (experiments/outside/small_ensemble.py)."""

TEMPER = 0.2
"""Of the held-out log-likelihood that makes `promise`: a fifth, as the cells of a row depend on each other and the best
of several members is best by chance, too."""

LARGEST_INTERCEPT = 3.0


class Stack(NamedTuple):
    """The ensemble's log odds are intercept + weights . (log odds of the members)."""

    intercept: float
    weights: np.ndarray

    def combine(self, odds: Sequence[np.ndarray]) -> np.ndarray:
        """The ensemble's log odds from those of the members, one array each."""
        total = np.full(odds[0].shape, self.intercept)
        for weight, part in zip(self.weights, odds, strict=True):
            total += weight * part
        return total


def equal_stack(n_members: int) -> Stack:
    """The mean of the members' log odds."""
    return Stack(0.0, np.full(n_members, 1 / n_members))


def pull(n_cells: float) -> float:
    """The strength for so many held-out cells: 5 from 1,000 cells on, where they tell members apart; up to 50."""
    return float(np.clip(STRENGTH * OF_CELLS / max(n_cells, 1.0), STRENGTH, MOST_STRENGTH))


def promise(odds: np.ndarray, x: np.ndarray, cell_weight: np.ndarray) -> np.ndarray:
    """Weights of the members by how well each alone predicts held-out cells: one that overfits gets next to none.

    They are proportional to exp(`TEMPER` x log-likelihood); of more than 1,000 cells, their mean times 1,000.

    Examples
    --------
    >>> promise(np.array([[2.0, -2.0], [-2.0, 2.0], [2.0, 0.0]]), np.array([1, 0, 1]), np.ones(3)).round(2)
    array([0.71, 0.29])
    """
    scores = cell_weight @ (x[:, None] * odds - np.logaddexp(0.0, odds))
    total = float(cell_weight.sum())
    return softmax(TEMPER * scores * min(1.0, OF_CELLS / max(total, 1.0)))


def fit_stack(odds: np.ndarray, x: np.ndarray, cell_weight: np.ndarray) -> Stack:
    """Weights of the members from held-out cells.

    Parameters
    ----------
    odds : ndarray of shape (n_cells, n_members)
        Log odds by fits that didn't see the cell.
    x : ndarray of shape (n_cells,)
        The cells, 0 or 1.
    cell_weight : ndarray of shape (n_cells,)
        How often each counts.

    Returns
    -------
    Stack
    """
    K = odds.shape[1]
    start, strength = promise(odds, x, cell_weight), pull(float(cell_weight.sum()))

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        eta, apart = theta[0] + odds @ theta[1:], theta[1:] - start
        residual = cell_weight * (x - expit(eta))
        value = cell_weight @ (np.logaddexp(0.0, eta) - x * eta) + strength * K / 2 * (apart @ apart)
        return float(value), -np.concatenate([[residual.sum()], odds.T @ residual - strength * K * apart])

    bounds = [(-LARGEST_INTERCEPT, LARGEST_INTERCEPT)] + [(0.0, None)] * K
    found = minimize(loss, [0.0, *start], jac=True, bounds=bounds, method="L-BFGS-B")
    return Stack(float(found.x[0]), found.x[1:])


def cross_fitted(odds: np.ndarray, x: np.ndarray, cell_weight: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """The ensemble's log odds of held-out cells, with weights learned on the other folds: what to expect of it."""
    out = np.empty(len(x))
    for number in np.unique(fold):
        inside = fold == number
        stack = fit_stack(odds[~inside], x[~inside], cell_weight[~inside])
        out[inside] = stack.combine(list(odds[inside].T))
    return out


# ---- how good an ensemble is on held-out cells -------------------------------------------------------------------


class HeldOutScores(NamedTuple):
    """What `FalseZeros` keeps as n_hidden_, held_out_, member_scores_, gains_ and auc_."""

    n_cells: int
    reliability: pd.DataFrame
    members: pd.DataFrame
    gains: dict[str, dict[str, Any]]
    auc: dict[str, float]


def score(held_out: HeldOut, cells: HiddenCells, predicted: np.ndarray, weights: Mapping[str, float]) -> HeldOutScores:
    """Scores of the ensemble, which predicted the held-out cells so, of its members and of the baselines."""
    baselines = held_out.by_baselines
    lines = [*zip(weights, weights.values(), held_out.by_members, strict=True), ("ensemble", 1.0, predicted)]
    members = pd.DataFrame(
        [(name, float(weight), _log_likelihood(cells.x, p), _auc(cells.x, p)) for name, weight, p in lines],
        columns=["member", "weight", "log_likelihood", "auc"],
    )
    return HeldOutScores(
        len(cells.x),
        calibration_table(cells.x.astype(float), predicted),
        members,
        {name: asdict(gain_over(cells, predicted, p)) for name, p in baselines.items()},
        {name: _auc(cells.x, p) for name, p in {"model": predicted, **baselines}.items()},
    )


def _auc(x: np.ndarray, p: np.ndarray) -> float:
    return float(roc_auc_score(x, p))


def _log_likelihood(x: np.ndarray, p: np.ndarray) -> float:
    odds = log_odds(p)
    return float(np.mean(x * odds - np.logaddexp(0.0, odds)))
