"""The estimator of Bernoulli mixtures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.restarts import Restart
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models.factor_model import RestartedFactorModel
from latentbits.models.mixture.bernoulli_mixture import MixtureEM, State, joint_log_likelihood, responsibilities
from latentbits.models.solved_rows import RowSolver, SolvedRows
from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["BernoulliMixture"]


class BernoulliMixture(RestartedFactorModel):
    """Mixture of Bernoulli products: every *row* has one cause (latent class analysis of yes-no items).

    The clustering counterpart of `AspectBernoulli`, in which every *cell* has a cause of its own. Fitted by EM
    (accelerated) from several random starts.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components (classes, clusters).
    smoothing : float, default=0.3
        Of the prior Beta(1 + smoothing, 1 + smoothing) on every probability: that many ones and as many zeros are added
        to each count, so that no new row is infinitely surprising. 0 is plain maximum likelihood. (0.1 to 0.5 predicted
        held-out rows best on fossils, birds and digits.)
    n_init : int, default=10
        Random starts. The best is kept, all are in `restarts_`.
    max_iter : int, default=3000
        Passes over the data a start may make (a round of three is finished).
    tol : float, default=1e-7
        A start has converged when three passes raise the objective by less than this per observed cell.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.
    random_state : None, int, Generator or RandomState
    n_jobs : int, optional
        Threads; -1 for all cores.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Probability of a 1, the commonest component first.
    proportions_ : ndarray of shape (n_components,)
        How common each component is.
    weights_ : ndarray of shape (n_rows, n_components)
        The probabilities that each training row belongs to each component.
    objective_ : float
        Log likelihood of the training rows, plus that of the prior up to a constant.
    objective_history_, restarts_, restart_components_, n_iter_, converged_, n_features_in_, feature_names_in_ :
        As in `AspectBernoulli`.

    Examples
    --------
    >>> from latentbits import BernoulliMixture
    >>> X = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, None]]
    >>> model = BernoulliMixture(2, random_state=0).fit(X)
    >>> bool(model.predict(X)[0] == model.predict(X)[1] != model.predict(X)[2])
    True
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        smoothing: float = 0.3,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-7,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.smoothing = smoothing
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> MixtureEM:
        return MixtureEM(data, row_weight, self.n_components, self.smoothing, workers)

    def _keep(self, state: State, row_weight: np.ndarray) -> np.ndarray:
        return state.H

    def _adopt(self, best: Restart[State], runs: list[Restart[State]]) -> None:
        order = np.argsort(-best.state.pi, kind="stable")
        self.proportions_ = best.state.pi[order]
        self.components_ = best.state.H[order]
        self.restart_components_ = [run.kept for run in runs]

    def _row_solver(self) -> RowSolver:
        return partial(responsibilities, pi=self.proportions_, H=self.components_)

    def _log_likelihood(self, rows: SolvedRows) -> float:
        return float(np.sum(self.score_samples(rows.data)))

    def _n_parameters(self, n_rows: int) -> int:
        K, D = self.components_.shape
        return K * D + K - 1

    def _n_observations(self, data: BinaryData) -> int:
        return data.shape[0]  # the parameters don't grow with the rows

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest component of each row; `transform` has the probabilities of all."""
        return self._solved(X).weights.argmax(axis=1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log likelihood of each row: log sum_k p(k) p(x | k)."""
        check_is_fitted(self)
        data = self._data(X)
        with Workers(n_workers(self.n_jobs)) as workers:
            return logsumexp(joint_log_likelihood(data, self.proportions_, self.components_, workers), axis=1)

    def sample(self, n_samples: int = 1, random_state: RandomSource = None) -> np.ndarray:
        """New rows (int8): a component each, then every cell from that component."""
        check_is_fitted(self)
        check_number("n_samples", n_samples, least=1, integer=True)
        rng = as_generator(random_state)
        k = rng.choice(len(self.proportions_), size=n_samples, p=self.proportions_)
        return (rng.random((n_samples, self.n_features_in_)) < self.components_[k]).astype(np.int8)
