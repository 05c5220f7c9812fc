"""The estimators of the aspect family."""

from __future__ import annotations

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.aspect_bernoulli import MaximumLikelihood, State
from latentbits.models.aspect.base import AspectModel, Components
from latentbits.models.aspect.statistics import solve_weights
from latentbits.numerics import RandomSource

__all__ = ["AspectBernoulli"]


class AspectBernoulli(AspectModel):
    """Aspect Bernoulli: each cell of a row is caused by one of K components, picked by the row's own weights.

    Cell ij is 1 with probability ``(weights_ @ components_)[i, j]``. Components that are 0 (or 1) nearly everywhere
    are *phantoms*: they explain zeros (ones) that the content of a row does not, which are then suspected to be false.
    Fitted by maximum likelihood (EM, accelerated) from several random starts.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components, phantoms included.
    n_init : int, default=10
        Random starts. The best is kept, all are in `restarts_`, and `suspects` averages over them.
    max_iter : int, default=3000
        Passes over the data a start may make.
    tol : float, default=1e-6
        A start has converged when three passes raise the log likelihood by less than this per observed cell.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.
    phantom_threshold : float, default=0.1
        A component is a phantom when its probability of a 1 is at most this (or at least 1 minus this) on 95 % of the
        attributes on which components differ.
    random_state : None, int, Generator or RandomState
        The same seed gives the same answer on any number of jobs.
    n_jobs : int, optional
        Threads; -1 for all cores.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Probability of a 1, in the order of the components' share of the data.
    weights_ : ndarray of shape (n_rows, n_components)
        Mixing weights of the training rows; each row sums to 1.
    phantoms_ : ndarray of str
        "content", "white" or "black" for each component.
    objective_ : float
        Log likelihood at the end of the best start's climb. (`weights_` are then solved for to the end, so
        `log_likelihood` of the training data is a little higher.)
    objective_history_ : ndarray
        The best start's log likelihood after each pass; it never falls.
    restarts_ : DataFrame
        Seed, objective, n_iter and converged of every start.
    n_iter_, converged_ : int, bool
        Of the best start.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Bingham, Kaban and Fortelius, The aspect Bernoulli model: multiple causes of presences and absences.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, simulate
    >>> truth = simulate.aspect_bernoulli(200, 30, 3, white_phantom=True, random_state=0)
    >>> model = AspectBernoulli(3, n_init=5, random_state=0).fit(truth.X)
    >>> sorted(model.phantoms_.tolist())
    ['content', 'content', 'white']
    >>> model.suspects(truth.X, top=3).columns.tolist()
    ['row', 'column', 'score', 'phantom']
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-6,
        binarize: float | None = None,
        phantom_threshold: float = 0.1,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.phantom_threshold = phantom_threshold
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> MaximumLikelihood:
        return MaximumLikelihood(data, row_weight, self.n_components, workers)

    def _components_of(self, state: State) -> Components:
        return Components(state.H, state.H, 1 - state.H)

    def _weights_of(self, data: BinaryData, components: Components, workers: Workers) -> np.ndarray:
        return solve_weights(data, components.H1, components.H0, workers=workers)
