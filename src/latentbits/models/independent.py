"""Baselines without components, for all other models: column frequencies, and row and column effects.

The mathematics of row and column effects: log-odds of a cell = effect of its row + effect of its column.

Maximised is the penalised log-likelihood

    sum of w_i log P(x_ij) over observed cells  -  ridge / 2 sum_i w_i a_i^2
        +  2 smoothing sum_j (s log p_j + (1 - s) log (1 - p_j))

with P(x_ij = 1) = 1 / (1 + exp(-a_i - b_j)), p_j = 1 / (1 + exp(-b_j)), w_i the weight of row i and s the share of ones
in the table: each column gets 2 smoothing cells more, which pull it towards the table's share. (Towards 1/2, they would
move all columns of a sparse table, and all rows the other way.) It is concave. Each row's effect depends on nothing but
the row and the columns, so b alone is climbed, by Newton's method, with the rows solved for at every step.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, log_expit, logit
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData, row_blocks
from latentbits.data.encoding import check_row_weight
from latentbits.fitting import rows as cells
from latentbits.fitting.workers import Workers
from latentbits.models.factor_model import FactorModel
from latentbits.models.solved_rows import RowSolver, Solution

RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""The ridges to choose from: from rows that hardly differ (a spread of 0.03 in the log-odds) to a spread of 3."""

TOLERANCE = 1e-10
"""Of the effects, which are log-odds."""

COARSE = 1e-3
"""The same while ridges are compared: they differ by a factor of 3."""

MAX_STEPS, MAX_ROW_STEPS = 50, 100


class Effects(NamedTuple):
    """Effects of rows and columns that maximise the penalised log-likelihood for a ridge."""

    rows: np.ndarray
    columns: np.ndarray
    ridge: float
    objective: float
    evidence: float


class _Problem(NamedTuple):
    """The table, the weights of its rows, the ones and zeros added to each column, and the ridge."""

    data: BinaryData
    weight: np.ndarray
    added: tuple[float, float]
    ridge: float


class _Point(NamedTuple):
    """What a Newton step needs to know where it stands: the rows solved for, slope and curvatures."""

    rows: np.ndarray
    columns: np.ndarray
    objective: float
    evidence: float
    slope: np.ndarray
    curvature: np.ndarray
    row_curvature: np.ndarray
    cell_curvature: list[np.ndarray]


def fit_effects(data: BinaryData, row_weight: np.ndarray, ridge: float | None, smoothing: float) -> Effects:
    """The effects for this ridge; for None the one of `RIDGES` with the largest evidence.

    The evidence is Laplace's approximation of the likelihood with the row effects integrated out, as if they were drawn
    from a normal distribution of precision `ridge`. It is followed from the largest ridge down to the first fall.
    """
    ones, observed = data.ones_per_column(row_weight), data.observed_per_column(row_weight)
    share = (ones.sum() + 0.5) / (observed.sum() + 1)  # never 0 or 1, also of a table of zeros
    added = 2 * smoothing * share, 2 * smoothing * (1 - share)
    rows, columns = np.zeros(data.shape[0]), np.log((ones + added[0]) / (observed - ones + added[1]))
    best: Effects | None = None
    for candidate in RIDGES if ridge is None else (float(ridge),):
        found = _climb(_Problem(data, row_weight, added, candidate), rows, columns, COARSE)
        if best is not None and found.evidence <= best.evidence:
            break
        best, rows, columns = found, found.rows, found.columns
    assert best is not None
    return _climb(_Problem(data, row_weight, added, best.ridge), rows, columns, TOLERANCE)


def solve_effects(data: BinaryData, *, columns: np.ndarray, ridge: float, workers: Workers | None = None) -> Solution:
    """The effect of each row, the columns' fixed, with what it could still gain per observed cell."""
    effects, slope = _solve_rows(data, columns, ridge, np.zeros(data.shape[0]), TOLERANCE)
    # The penalty alone curves by `ridge`, so the climb left is at most slope^2 / (2 ridge).
    gap = slope**2 / (2 * ridge) / np.maximum(data.observed_per_row(), 1)
    return Solution(effects[:, None], gap)


def _solve_rows(
    data: BinaryData, columns: np.ndarray, ridge: float, start: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Row effects by Newton's method, and the slopes left; bisection where a step leaves the bracket of the root."""
    effects, slopes = np.array(start), np.zeros(len(start))
    for block, ones, zeros in cells.indicator_blocks(data):
        observed, n_ones = ones + zeros, ones.sum(axis=1)
        a, bound = effects[block], observed.sum(axis=1) / ridge  # |sum of residuals| <= cells, so |a| <= cells / ridge
        low, high = -bound, bound
        for _ in range(MAX_ROW_STEPS):
            p = expit(a[:, None] + columns) * observed
            slope = n_ones - p.sum(axis=1) - ridge * a
            low, high = np.where(slope >= 0, a, low), np.where(slope <= 0, a, high)
            newton = a + slope / ((p - p * p).sum(axis=1) + ridge)
            step = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2) - a
            a = a + step
            if np.all(np.abs(step) <= tolerance):
                break
        effects[block], slopes[block] = a, slope
    return effects, slopes


def _climb(problem: _Problem, rows: np.ndarray, columns: np.ndarray, tolerance: float) -> Effects:
    """Newton's method over the columns' effects; a step that doesn't rise is halved."""
    here = _look(problem, rows, columns, tolerance)
    for _ in range(MAX_STEPS):
        step = _newton_step(problem, here)
        while np.abs(step).max() > tolerance:
            there = _look(problem, here.rows, here.columns + step, tolerance)
            if there.objective >= here.objective:
                break
            step = step / 2
        else:
            break
        here = there
    return Effects(here.rows, here.columns, problem.ridge, here.objective, here.evidence)


def _look(problem: _Problem, start: np.ndarray, columns: np.ndarray, tolerance: float) -> _Point:
    """The objective at these columns, the rows solved for, and its first and second derivatives."""
    data, weight, (ones_added, zeros_added), ridge = problem
    rows, _ = _solve_rows(data, columns, ridge, start, tolerance)
    p = expit(columns)
    slope = ones_added - (ones_added + zeros_added) * p
    curvature = (ones_added + zeros_added) * p * (1 - p)
    row_curvature, cell_curvature = np.full(len(rows), ridge), []
    objective = float(np.sum(ones_added * log_expit(columns) + zeros_added * log_expit(-columns)))
    for block, ones, zeros in cells.indicator_blocks(data):
        odds = rows[block, None] + columns
        p = expit(odds) * (ones + zeros)
        cell_curvature.append(p - p * p)
        slope += weight[block] @ (ones - p)
        curvature += weight[block] @ cell_curvature[-1]
        row_curvature[block] += cell_curvature[-1].sum(axis=1)
        # log P(1) = odds + log P(0)
        objective += float(weight[block] @ (ones * odds + (ones + zeros) * log_expit(-odds)).sum(axis=1))
    objective -= ridge / 2 * float(weight @ rows**2)
    evidence = objective - float(weight @ np.log(row_curvature / ridge)) / 2
    return _Point(rows, columns, objective, evidence, slope, curvature, row_curvature, cell_curvature)


def _newton_step(problem: _Problem, here: _Point) -> np.ndarray:
    """Solves (C - W' diag(w / r) W) step = slope: the curvature of the columns less what the rows take up of it.

    C and r are the curvatures of columns and rows, W that of the cells. By conjugate gradients, so that no square
    matrix of the columns is made; W is nearly of rank one, so few rounds do.
    """
    taken_up = problem.weight / here.row_curvature
    blocks = list(row_blocks(*problem.data.shape))

    def product(v: np.ndarray) -> np.ndarray:
        out = here.curvature * v.ravel()
        for block, W in zip(blocks, here.cell_curvature, strict=True):
            out -= (taken_up[block] * (W @ v.ravel())) @ W
        return out

    n = len(here.slope)
    scale = np.maximum(here.curvature, np.finfo(float).tiny)  # 0 for a column that is certain
    scaling = LinearOperator((n, n), matvec=lambda v: v.ravel() / scale, dtype=float)
    step, _ = cg(LinearOperator((n, n), matvec=product, dtype=float), here.slope, rtol=1e-8, maxiter=100, M=scaling)
    return np.asarray(step)


# ---- the estimators ----------------------------------------------------------------------------------------------

EDGE = 1e-15
"""Probabilities of columns stay so far from 0 and 1, where log-odds are infinite, however little is added to counts."""


class IndependentBernoulli(FactorModel):
    """Independent columns: a 1 has the probability of its column, whatever else the row holds.

    The model without components, in closed form: whatever another model predicts better than this one is structure. A
    mixture or an aspect model with one component is this model, but for its prior.

    Parameters
    ----------
    smoothing : float, default=0.3
        Of the prior Beta(1 + smoothing, 1 + smoothing) on every probability: that many ones and as many zeros are added
        to each column's counts, as in `BernoulliMixture`. 0 is plain maximum likelihood, 0.5 the Jeffreys prior's mean.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.

    Attributes
    ----------
    components_ : ndarray of shape (1, n_features)
        The columns' probabilities of a 1; 1/2 for a column of which nothing is observed.
    weights_ : ndarray of shape (n_rows, 1)
        All 1: there is one component.
    weights_gap_ : None
        There is nothing to solve for, and so nothing to certify.
    row_weight_ : ndarray of shape (n_rows,)
        The sample weights of the training rows.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    objective_ : float
        Log-likelihood of the training rows.
    n_features_in_ : int
        Number of columns at the fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    Examples
    --------
    >>> from latentbits import IndependentBernoulli
    >>> model = IndependentBernoulli(smoothing=0).fit([[1, 0], [1, 1], [0, None]])
    >>> model.components_.round(2)
    array([[0.67, 0.5 ]])
    >>> model.score([[1, 0]]) == model.log_likelihood([[1, 0]])
    True
    """

    def __init__(self, *, smoothing: float = 0.3, binarize: float | None = None) -> None:
        self.smoothing = smoothing
        self.binarize = binarize

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Count the columns' ones.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            A row of weight 2 counts like two equal rows.

        Returns
        -------
        Self
            The fitted model.
        """
        self._check_parameters()
        data = self._data(X, reset=True)
        row_weight = check_row_weight(sample_weight, data.shape[0])
        observed = data.observed_per_column(row_weight) + 2 * self.smoothing
        ones = data.ones_per_column(row_weight) + self.smoothing
        share = np.divide(ones, observed, out=np.full(len(ones), 0.5), where=observed > 0)
        self.components_ = share[None, :]
        self._adopt_rows(data, row_weight)
        self.objective_ = float(row_weight @ self.score_samples(data))
        return self

    _solves_in_closed_form = True

    def _row_solver(self) -> RowSolver:
        return partial(_all_one)

    def _n_parameters(self, n_rows: int) -> int:
        return self.components_.shape[1]

    def _n_observations(self, data: BinaryData) -> int:
        return data.shape[0]  # the parameters don't grow with the rows

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row: the sum over its observed cells.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log-likelihoods.
        """
        check_is_fitted(self)
        log_p, log_q = cells.safe_log(self.components_), cells.safe_log(1 - self.components_)
        return cells.row_products(self._data(X), log_p, log_q, Workers())[:, 0]


def _all_one(data: BinaryData, workers: Workers) -> Solution:
    """One component has all of every row."""
    return Solution(np.ones((data.shape[0], 1)))


class RowColumnBernoulli(FactorModel):
    """Rows and columns: the log-odds of a 1 are the sum of an effect of its row and an effect of its column.

    Some rows are fuller than others, some columns are too, and that is all: no column says more about another than how
    full the row is. (In psychometrics it is the Rasch model.) What another model predicts better than this one is a
    pattern, not a difference in totals. Row effects are shrunk towards 0, by default as far as the data demand, so for
    rows that don't differ this is a model of independent columns as well.

    Parameters
    ----------
    ridge : float or None, default=None
        The precision (1 / variance) of the normal prior of row effects, at least 1e-6: 1000 makes nearly independent
        columns. None takes the one of 1000, 300, 100, ..., 0.1 with the largest likelihood, the row effects integrated
        out (Laplace's approximation).
    smoothing : float, default=0.3
        Twice that many cells are added to each column, with the table's share of ones, in a row without effect; at
        least 1e-6.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.

    Attributes
    ----------
    components_ : ndarray of shape (1, n_features)
        The columns' probabilities of a 1 in a row without effect.
    weights_ : ndarray of shape (n_rows, 1)
        The effects of the rows: what is added to the columns' log-odds.
    ridge_ : float
        The ridge that was given or chosen.
    row_weight_ : ndarray of shape (n_rows,)
        The sample weights of the training rows.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    objective_ : float
        The penalised log-likelihood of the training rows, which the effects maximise.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.
    n_features_in_ : int
        Number of columns at the fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Examples
    --------
    >>> from latentbits import RowColumnBernoulli
    >>> model = RowColumnBernoulli(ridge=1).fit([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, None, 0]])
    >>> model.weights_.round(1).tolist()
    [[0.5], [-0.7], [0.2]]
    """

    def __init__(self, *, ridge: float | None = None, smoothing: float = 0.3, binarize: float | None = None) -> None:
        self.ridge = ridge
        self.smoothing = smoothing
        self.binarize = binarize

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the effects of rows and columns, by Newton's method.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            A row of weight 2 counts like two equal rows.

        Returns
        -------
        Self
            The fitted model.
        """
        self._check_parameters()
        data = self._data(X, reset=True)
        self.row_weight_ = check_row_weight(sample_weight, data.shape[0])
        found = fit_effects(data, self.row_weight_, self.ridge, self.smoothing)
        self.components_ = np.clip(expit(found.columns), EDGE, 1 - EDGE)[None, :]
        self.ridge_ = found.ridge
        self.objective_ = found.objective
        self.weights_ = self._solved(data).weights.copy()
        self.data_checksum_ = self._checksum(data)
        return self

    def _row_solver(self) -> RowSolver:
        return partial(solve_effects, columns=logit(self.components_[0]), ridge=self.ridge_)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return expit(W + logit(self.components_))

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        odds = W + logit(self.components_)
        return log_expit(odds), log_expit(-odds)

    def _n_parameters(self, n_rows: int) -> int:
        return n_rows + self.components_.shape[1]
