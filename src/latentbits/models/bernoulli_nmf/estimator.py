"""The estimator of Bernoulli NMF."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.restarts import Restart
from latentbits.fitting.workers import Workers
from latentbits.models.bernoulli_nmf.bernoulli_nmf import (
    MaximumLikelihood,
    Normalised,
    State,
    normalised,
    rates,
    solve_rows,
)
from latentbits.models.factor_model import RestartedFactorModel
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import RandomSource

__all__ = ["BernoulliNMF"]


class BernoulliNMF(RestartedFactorModel):
    """Bernoulli NMF: nonnegative causes add up, and the sum saturates to the probability of a 1.

    ``P = tanh(u/2)`` with ``u = weights_ @ components_``, both nonnegative: a component can only switch on, and a row
    may have several at full strength. Every cell also has a background of 1e-10 in u, so that no 1 is impossible
    (its log probability is at least -23.8). Fitted by maximum likelihood, with closed-form updates on a bound,
    accelerated.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components.
    n_init : int, default=10
        Random starts. The best is kept, all are in `restarts_`.
    max_iter : int, default=3000
        Passes over the data a start may make (a round of three is finished).
    tol : float, default=1e-6
        A start has converged when three passes raise the log likelihood by less than this per observed cell.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.
    random_state : None, int, Generator or RandomState
        The same seed gives the same answer on any number of jobs.
    n_jobs : int, optional
        Threads; -1 for all cores.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Nonnegative, the largest entry of each 1 (a component that died is 0 everywhere), in the order of their share
        in u. Columns that are never observed have 0.
    weights_ : ndarray of shape (n_rows, n_components)
        Of the training rows, from 0 to 1000: the best weight on a component all of whose cells are 1 would be infinite.
    average_weights_ : ndarray of shape (n_components,)
        Mean weights at the end of the climb; those of a row without observed cells.
    objective_ : float
        Log likelihood at the end of the best start's climb. (`weights_` are then solved for to the end, so
        `log_likelihood` of the training data is a little higher.)
    objective_history_ : ndarray
        The best start's log likelihood after each pass; it never falls, but for rounding.
    restarts_ : DataFrame
        Seed, objective, n_iter and converged of every start.
    restart_components_ : list of ndarray
        The components of every start.
    n_iter_, converged_ : int, bool
        Of the best start.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import BernoulliNMF
    >>> rng = np.random.default_rng(0)
    >>> has = rng.random((200, 2)) < 0.5
    >>> u = 3 * has @ np.kron(np.eye(2), np.ones(4))
    >>> X = rng.random((200, 8)) < np.tanh(u / 2)
    >>> model = BernoulliNMF(2, n_init=3, random_state=0).fit(X)
    >>> sorted((model.components_ > 0.3).astype(int).tolist())
    [[0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0]]
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-6,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> MaximumLikelihood:
        return MaximumLikelihood(data, row_weight, self.n_components, workers)

    def _keep(self, state: State, row_weight: np.ndarray) -> Normalised:
        return normalised(state, row_weight)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.components_ = best.kept.components
        self.average_weights_ = best.kept.average
        self.restart_components_ = [run.kept.components for run in runs]

    def _row_solver(self) -> RowSolver:
        return partial(solve_rows, components=self.components_, average=self.average_weights_)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = rates(W, self.components_)
        return np.log(np.tanh(u / 2)), np.log(2) - np.logaddexp(0.0, u)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return np.tanh(rates(np.maximum(W, 0.0), self.components_) / 2)

    def _n_parameters(self, n_rows: int) -> int:
        """Weights and components, up to the scale of each component."""
        K, D = self.components_.shape
        return K * (n_rows + D) - K
