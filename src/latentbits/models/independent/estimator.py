"""The estimators without components: independent columns, and row and column effects."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logit
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.data.encoding import check_row_weight
from latentbits.fitting import cell_sums as cells
from latentbits.fitting.workers import Workers
from latentbits.models.factor_model import FactorModel
from latentbits.models.independent.row_column import fit_effects, solve_effects
from latentbits.models.solved_rows import RowSolver, Solution

__all__ = ["IndependentBernoulli", "RowColumnBernoulli"]

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
