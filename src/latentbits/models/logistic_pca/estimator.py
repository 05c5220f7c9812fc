"""The estimator of logistic PCA."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.restarts import Restart
from latentbits.fitting.workers import Workers
from latentbits.models.deprecated import Renamed
from latentbits.models.factor_model import ClimbingFactorModel
from latentbits.models.logistic_pca.logistic_pca import (
    PenalisedLikelihood,
    PrincipalForm,
    State,
    principal_form,
    solve_rows,
)
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import RandomSource

__all__ = ["LogisticPCA"]


class LogisticPCA(ClimbingFactorModel):
    """Logistic PCA: the log-odds of the cells are a table of rank K plus an intercept for each column.

    ``logit P = weights_ @ components_ + intercepts_``. The counterpart of PCA for 0-1 data: components add and cancel
    on the scale of log-odds, so they predict well but are hard to interpret as causes. Fitted by accelerated
    alternating least squares on a bound of the likelihood. A small ridge penalty keeps the log-odds of separable data
    finite.

    Parameters
    ----------
    n_components : int, default=5
        K, the rank of the table of log-odds, the bias left out.
    ridge : float, default=0.1
        Strength of the penalty, at least 1e-3. The objective is the log-likelihood minus ``ridge`` times the sum of the
        singular values of the centred table of log-odds (the same as ridge/2 times the squares of both factors).
        Rounding grows with 1 / ridge^2, and is below 1e-6 in probabilities at 1e-3.
    n_init : int, default=3
        Number of restarts; the best is kept. They seldom end far apart.
    max_iter : int, default=1000
        Largest number of passes over the data per restart. They come in rounds of three, and a round is always
        finished.
    tol : float, default=1e-6
        A restart has converged when three passes raise the objective by less than this per observed cell.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the restarts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows in the order of `singular_values_`; the entry of each that is largest in size is positive. If
        the rank is lower than K, the last rows are zero.
    weights_ : ndarray of shape (n_rows, n_components)
        Coordinates of the training rows, of either sign.
    weights_gap_ : float
        What the last Newton step of a row gained per observed cell, at most.
    intercepts_ : ndarray of shape (n_features,)
        Log-odds of the columns at the mean of the rows' coordinates.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred table of log-odds (rows times the root of their weight) at the end of the
        iterations.
    objective_ : float
        Penalised log-likelihood of the best restart at the end of the iterations.
    objective_history_ : ndarray of shape (n_iter_,)
        The best restart's penalised log-likelihood after each pass; it never falls, except by rounding.
    restarts_ : DataFrame
        One line per restart: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The objective after each pass of every restart, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every restart, in the order of `restarts_`.
    n_iter_ : int
        Passes over the data made by the best restart.
    converged_ : bool
        Whether the best restart converged; False if it was stopped by `max_iter` or interrupted.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: `sample_weight`, or all 1.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    References
    ----------
    Tipping, Probabilistic visualisation of high-dimensional binary data, NIPS 1999. Schein, Saul and Ungar, A
    generalized linear model for principal component analysis of binary data, AISTATS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import LogisticPCA
    >>> side = np.repeat([-1, 1], 50)
    >>> log_odds = 3 * np.outer(side, [1, 1, -1, -1]) + [0, 1, 0, 1]
    >>> X = np.random.default_rng(0).random((100, 4)) < 1 / (1 + np.exp(-log_odds))
    >>> model = LogisticPCA(1, random_state=0).fit(X)
    >>> (model.components_[0] > 0).tolist()
    [False, False, True, True]
    >>> bool(np.abs(model.reconstruct(X) - 1 / (1 + np.exp(-log_odds))).mean() < 0.1)
    True
    """

    similarity_ = "cosine"
    bias_ = Renamed("intercepts_")

    def __init__(
        self,
        n_components: int = 5,
        *,
        ridge: float = 0.1,
        n_init: int = 3,
        max_iter: int = 1000,
        tol: float = 1e-6,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> PenalisedLikelihood:
        return PenalisedLikelihood(data, row_weight, self.n_components, self.ridge, workers)

    def _keep(self, state: State, row_weight: np.ndarray) -> PrincipalForm:
        return principal_form(state, row_weight)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.components_ = best.kept.components
        self.singular_values_ = best.kept.singular_values
        self.intercepts_ = best.kept.bias
        self.restart_components_ = [run.kept.components for run in runs]

    def _row_solver(self) -> RowSolver:
        return partial(
            solve_rows,
            components=self.components_,
            singular_values=self.singular_values_,
            bias=self.intercepts_,
            ridge=self.ridge,
        )

    def _log_odds(self, W: np.ndarray) -> np.ndarray:
        return W @ self.components_ + self.intercepts_

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = self._log_odds(W)
        return log_expit(theta), log_expit(-theta)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return expit(self._log_odds(W))

    def _n_parameters(self, n_rows: int) -> int:
        """Those of a bias and a centred table of rank K (or of what rank the table can have)."""
        K, D = self.components_.shape
        rank = min(K, n_rows - 1, D)
        return D + rank * (n_rows - 1) + rank * D - rank**2
