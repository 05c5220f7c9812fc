"""The estimators of the aspect family."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np
from scipy.special import betaincinv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.models.aspect import answers
from latentbits.models.aspect.aspect_bernoulli import MaximumLikelihood, State
from latentbits.models.aspect.base import AspectModel, Components
from latentbits.models.aspect.beta_ica import (
    BayesState,
    EMState,
    Prior,
    VariationalBayes,
    VariationalEM,
    pass_components,
    solve_gamma,
)
from latentbits.models.aspect.statistics import solve_weights
from latentbits.numerics import RandomSource, check_number, expected_log_dirichlet

__all__ = ["AspectBernoulli", "BetaICA"]


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
        Passes over the data a start may make (a round of three is finished).
    tol : float, default=1e-6
        A start has converged when three passes raise the log likelihood by less than this per observed cell.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.
    phantom_threshold : float, default=0.2
        A component that switches nothing on is a white phantom when it makes at most this share of the ones that the
        fullest component makes; black ones mirror it.
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
        The best start's log likelihood after each pass; it never falls, but for rounding.
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
        phantom_threshold: float = 0.2,
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

    def _components_of(self, state: State, share: np.ndarray) -> Components:
        return Components(state.H, state.H, 1 - state.H, share)

    def _weights_of(self, data: BinaryData, components: Components, workers: Workers) -> np.ndarray:
        return solve_weights(data, components.H1, components.H0, workers=workers).W


class BetaICA(AspectModel):
    """Binary independent components with Beta sources, by variational Bayes or variational EM.

    The aspect model (see `AspectBernoulli`) with a Beta prior on every component's probability of a 1 and, for
    variational Bayes, a Dirichlet prior on every row's weights. The answer is a posterior: `components_` and `weights_`
    are its means, and intervals come with them.

    Two cautions about every factorised ("mean field") posterior. Its intervals are too narrow: they take the causes of
    cells as better known than they are (a nominal 90 % covered 25 to 55 % on data from the prior itself). And its
    evidence bound is exact for one component and loose for more, so it tends to prefer too few, above all when rows
    mix many components evenly; compare it with AIC.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components, phantoms included.
    inference : "vb" or "em", default="vb"
        Variational Bayes (posterior weights, evidence bound) or variational EM (point weights).
    alpha, beta : float, default=0.5
        Of the Beta prior: alpha weighs the ones, beta the zeros. 0.5 each is uninformative; at least 0.05.
    gamma : float, default=1.0
        Of the Dirichlet prior of a row's weights ("vb" only); below 1 rows prefer few components, and the evidence
        peaks more sharply at the true number of them.
    inner_max_iter : int, default=1
        1 updates components and weights together in every pass. More alternates each of them with the
        responsibilities up to this many times, as the paper does (10).
    inner_tol : float, default=1e-3
        An inner loop ends when the bound rises by less.
    n_init, max_iter, tol, binarize, phantom_threshold, random_state, n_jobs, verbose :
        As in `AspectBernoulli`; with inner loops, `max_iter` counts the outer steps.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior mean probability of a 1, in the order of the components' share of the data.
    weights_ : ndarray of shape (n_rows, n_components)
        Posterior mean ("vb") or estimated ("em") mixing weights of the training rows.
    alpha_, beta_ : ndarray of shape (n_components, n_features)
        Parameters of the components' Beta posteriors.
    objective_ : float
        The bound on the log evidence ("vb"), or on the log likelihood of the weights ("em").
    extinct_ : ndarray of int
        Components that died, their posterior back at the prior: they cause less than half a cell per attribute and
        less than a tenth of an equal share of the cells.
    n_effective_components_ : int
        The others.
    phantoms_, objective_history_, restarts_, n_iter_, converged_, n_features_in_, feature_names_in_ :
        As in `AspectBernoulli`.

    References
    ----------
    Kaban and Bingham, Factorisation and denoising of 0-1 data: a variational approach.

    Examples
    --------
    >>> from latentbits import BetaICA, simulate
    >>> truth = simulate.aspect_bernoulli(200, 30, 3, white_phantom=True, random_state=0)
    >>> model = BetaICA(3, n_init=5, random_state=0).fit(truth.X)
    >>> low, high = model.components_interval(0.9)
    >>> bool(((low <= model.components_) & (model.components_ <= high)).mean() > 0.95)
    True
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        inference: Literal["vb", "em"] = "vb",
        alpha: float = 0.5,
        beta: float = 0.5,
        gamma: float = 1.0,
        inner_max_iter: int = 1,
        inner_tol: float = 1e-3,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-6,
        binarize: float | None = None,
        phantom_threshold: float = 0.2,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.inference = inference
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.inner_max_iter = inner_max_iter
        self.inner_tol = inner_tol
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.phantom_threshold = phantom_threshold
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.inference not in tuple(LEARNERS):
            raise ValueError(f'inference={self.inference!r} is unknown; use "vb" or "em"')
        for name, least in LEAST_PRIOR.items():
            check_number(name, getattr(self, name), least=least)
        check_number("inner_max_iter", self.inner_max_iter, least=1, integer=True)
        check_number("inner_tol", self.inner_tol, least=0)

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> VariationalEM | VariationalBayes:
        prior = Prior(self.alpha, self.beta, self.gamma)
        learner = LEARNERS[self.inference]
        return learner(data, row_weight, self.n_components, prior, workers, self.inner_max_iter, self.inner_tol)

    def _components_of(self, state: EMState | BayesState, share: np.ndarray) -> Components:
        mean = state.alpha / (state.alpha + state.beta)
        return Components(mean, *pass_components(state.alpha, state.beta), share, state.alpha, state.beta)

    def _weights_of(self, data: BinaryData, components: Components, workers: Workers) -> np.ndarray:
        if self.inference == "em":
            return solve_weights(data, components.H1, components.H0, workers=workers).W
        gamma = solve_gamma(data, components.H1, components.H0, self.gamma, workers=workers)
        return gamma / gamma.sum(axis=1, keepdims=True)

    def _cause_weights(self, data: BinaryData) -> np.ndarray:
        """Responsibilities go by exp E[log a] under variational Bayes (eq. 9)."""
        if self.inference == "em":
            return super()._cause_weights(data)
        return np.exp(expected_log_dirichlet(self._gamma_of(data)))

    def _gamma_of(self, data: BinaryData) -> np.ndarray:
        """The Dirichlet posterior of rows: its mean is known, and its sum is the prior's plus the observed cells."""
        mean = self._solve(data)
        return mean * (data.observed_per_row() + mean.shape[1] * self.gamma)[:, None]

    @property
    def alpha_(self) -> np.ndarray:
        """First parameters of the components' Beta posteriors."""
        return self._components.alpha

    @property
    def beta_(self) -> np.ndarray:
        """Second parameters of the components' Beta posteriors."""
        return self._components.beta

    @property
    def extinct_(self) -> np.ndarray:
        """Components whose posterior is back at the prior: half a cell per attribute, a tenth of an equal share."""
        caused = (self.alpha_ - self.alpha + self.beta_ - self.beta).sum(axis=1)
        return np.flatnonzero(caused < min(0.5 * self.n_features_in_, 0.1 * caused.sum() / len(caused)))

    @property
    def n_effective_components_(self) -> int:
        """Components that are not extinct."""
        return len(self.components_) - len(self.extinct_)

    def components_interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the components' central credible intervals, each n_components x n_features."""
        check_is_fitted(self)
        return _beta_interval(self.alpha_, self.beta_, level)

    def weights_interval(self, X: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the credible intervals of the rows' weights, each n_rows x n_components ("vb").

        The weights of a row have a Dirichlet posterior; these are the intervals of its margins, which are Beta.
        """
        check_is_fitted(self)
        if self.inference == "em":
            raise ValueError('variational EM estimates weights without a posterior; fit with inference="vb"')
        gamma = self._gamma_of(self._data(X))
        return _beta_interval(gamma, gamma.sum(axis=1, keepdims=True) - gamma, level)

    @available_if(lambda model: model.inference == "vb")
    def log_evidence(self) -> float:
        """The bound on the log evidence of the training data (`objective_`), by which orders can be compared ("vb")."""
        check_is_fitted(self)
        return float(self.objective_)

    def prune(self) -> Self:
        """This model without its extinct components, as a new fitted model; the others stay as they are.

        The training rows' weights are normalised again; `transform` solves anew with the prior of fewer components,
        which may differ from them in the third digit.
        """
        check_is_fitted(self)
        kept = np.setdiff1d(np.arange(len(self.components_)), self.extinct_)
        pruned = copy.deepcopy(self)
        pruned._components = self._components.take(kept)
        pruned.components_ = self.components_[kept]
        pruned.phantoms_ = self.phantoms_[kept]
        pruned.weights_, _ = answers.reweight(self.weights_[:, kept], np.ones(len(kept)), pruned._components.share)
        pruned.n_components = len(kept)
        return pruned


LEAST_PRIOR = {"alpha": 0.05, "beta": 0.05, "gamma": 0.001}
"""Below these the exponentiated expected logarithms of the prior underflow, and unseen values become impossible."""

LEARNERS: dict[str, type[VariationalEM] | type[VariationalBayes]] = {"vb": VariationalBayes, "em": VariationalEM}


def _beta_interval(alpha: np.ndarray, beta: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    check_number("level", level, least=0, below=1, above=True)
    tail = (1 - level) / 2
    # A single component has all the weight, for sure.
    sure = beta <= 0
    beta = np.where(sure, 1.0, beta)
    low, high = betaincinv(alpha, beta, tail), betaincinv(alpha, beta, 1 - tail)
    return np.where(sure, 1.0, low), np.where(sure, 1.0, high)
