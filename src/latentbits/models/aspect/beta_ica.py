"""Binary independent components with Beta sources."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from scipy.special import betaincinv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.chains import quantile_interval
from latentbits.fitting.workers import Workers
from latentbits.models.aspect import EvidenceMethod, Inference, Noise
from latentbits.models.aspect.aspect_bernoulli import AspectBernoulli
from latentbits.models.aspect.aspect_model import AspectModel, Components
from latentbits.models.aspect.aspect_rows import AspectRows
from latentbits.models.aspect.noise_components import CONTENT, KNOWN, NO_NOISE, NoiseComponents, at_prior
from latentbits.models.aspect.sampled import SampledModel
from latentbits.models.aspect.statistics import reweight, solve_weights
from latentbits.models.aspect.variational import (
    FIRST_GAMMA,
    BayesState,
    EMState,
    VariationalBayes,
    VariationalEM,
    expected_log_weight,
    pass_components,
    solve_mean_weights,
)
from latentbits.models.base import Renamed
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import RandomSource, check_number, expected_log_dirichlet, kl_beta


class BetaICA(SampledModel):
    """Binary independent components with Beta sources, by variational Bayes, variational EM or sampling.

    The aspect model (see `AspectBernoulli`) with a Beta prior on every component's probability of a 1 and, for
    variational Bayes, a Dirichlet prior on every row's weights. The result is a posterior: `components_` and `weights_`
    are its means, and `components_interval` and `weights_interval` give credible intervals.

    Two limitations of every factorised ("mean field") posterior apply. Its intervals are too narrow, because they
    ignore part of the uncertainty about the causes of cells (a nominal 90 % covered 25 to 55 % on data drawn from the
    prior, with the true `gamma` given). And its evidence bound is exact for one component and loose for more, so it
    tends to prefer too few, above all when rows mix many components evenly; compare it with AIC.

    Sampling (`inference="gibbs"`) has neither: it draws the causes of all cells from their posterior (collapsed Gibbs
    chains), so intervals have nominal coverage if the model is right, `reconstruct` and `suspicion` are means over the
    samples, and `log_evidence` integrates over temperatures. It takes some ten times as long, and memory for the cause
    of every cell, also of sparse data. Labels are aligned over samples, and `r_hat_` and `ess_` tell whether the chains
    agree.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components, phantoms included unless `noise` is given: noise components come in addition.
    inference : {"vb", "em", "gibbs"}, default="vb"
        Variational Bayes (posterior weights, evidence bound), variational EM (point estimates of the weights) or
        sampling from the posterior by collapsed Gibbs chains.
    alpha : float, default=0.5
        First parameter of the Beta prior of a component's probability of a 1, at least 0.05; it acts like that many
        ones in every column. 0.5 for both is Jeffreys' prior.
    beta : float, default=0.5
        Second parameter of the Beta prior, at least 0.05; it acts like that many zeros in every column.
    gamma : float or None, default=None
        Parameter of the symmetric Dirichlet prior of a row's weights, at least 0.001 (not "em", which has no such
        prior). Below 1, rows prefer few components. None learns it (`gamma_`). "vb" maximises the bound, up to 1:
        beyond that the bound is too loose to tell. "gibbs" samples it; a priori log gamma is normal with mean 0 and
        standard deviation 2. The papers give it, as 1.
    inner_max_iter : int, default=1
        With 1, components and weights are updated together in every pass. With more, each of the two is alternated
        with the responsibilities up to this many times, as in the paper (which uses 10).
    inner_tol : float, default=1e-3
        An inner loop ends when the bound rises by less than this.
    n_samples : int, default=100
        Posterior samples kept of each chain ("gibbs" only).
    n_burn : int, default=500
        Sweeps of a chain before its first sample ("gibbs" only); during the first half the temperature falls to 1.
    thin : int, default=10
        Sweeps from one sample to the next ("gibbs" only).
    n_init : int, default=10
        Number of random starts. The best is kept; `suspects` averages over all that end near it. Of "gibbs", the
        number of chains: the samples of all of them are pooled.
    max_iter : int, default=3000
        Largest number of passes over the data per start (not "gibbs", whose chains have a given length). They come in
        rounds of three, and a round is always finished. With inner loops (`inner_max_iter` above 1) an outer step
        counts as one pass.
    tol : float, default=1e-6
        A start has converged when three passes raise the bound by less than this per observed cell.
        A start that is better than all before it then goes on, until a hundredth of this.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    phantom_threshold : float, default=0.2
        A component with no column above 1/2 (1 % excepted) is a white phantom when its mean probability of a 1 is at
        most this share of the highest mean of any component. Black phantoms: the same rule with 0 and 1 exchanged.
    noise : {"white", "black", "both", "auto"} or None, default=None
        Components that are blank ("white") or full ("black") in all columns by construction, beside the K others,
        which are then content. "auto" keeps those that `AspectBernoulli` keeps with `noise="auto"` (`noise_trials_`):
        the bounds of this model say more about priors than about noise.
    noise_rate : float or None, default=0.001
        A white component's probability of a 1 and a black one's of a 0, 1e-9 to 0.1. None learns it, up to 0.05.
    batch_size : int or None, default=None
        A fit begins with steps on random batches of so many rows (stochastic variational inference), until 500 of them
        (or a round through all rows, if that is less) gain less than 1e-4 per cell, and goes on with passes over all
        rows as without. It pays where a table makes hundreds of batches. The order of the rows is shuffled by the
        seed. In `partial_fit`, rows of a step at most.
    learning_decay : float, default=0.5
        Step t on a batch moves the components by the rate ``(t + learning_offset) ** -learning_decay`` towards what the
        batch says of them; from 0 (the last batch alone counts) to below 1. Higher values forget more slowly.
    learning_offset : float, default=1.0
        Larger values make the first batches count less.
    total_samples : float or None, default=None
        Number of rows that the blocks given to `partial_fit` come from. The prior counts the less the larger it is, and
        intervals are the narrower; None is the number of rows seen so far.
    warm_start : bool, default=False
        Whether `fit` goes on from the components of the last fit (or `partial_fit`), with one start and without
        `batch_size`: for more rows, or a smaller `tol`. A large table is fitted in about half of the time by a fit to
        a tenth of its rows, drawn at random, and another to all of them.
    checkpoint : str, Path or None, default=None
        A folder to which the positions of the starts are written every minute. A fit that was interrupted or killed
        goes on from there when it is made again with the same data and parameters, and its answer is the same as
        without the interruption. Fits of other data or parameters may use the same folder; delete it when the model
        has been saved. Not for `inference="gibbs"`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior mean probability of a 1, by falling share of the data.
    weights_ : ndarray of shape (n_rows, n_components)
        Posterior mean ("vb", "gibbs") or estimated ("em") mixing weights of the training rows; each row sums to 1.
        After `partial_fit` those of the last batch.
    weights_gap_ : float or None
        Certificate of `weights_` ("em"): no row can gain more than this per observed cell by other weights.
        None for "vb", whose rows stop when they move by less than 1e-7, and for "gibbs".
    gamma_ : float or None
        The parameter of the prior of rows' weights, given or learned; of "gibbs" its posterior mean (see
        `gamma_interval`). None for "em".
    alpha_ : ndarray of shape (n_components, n_features)
        First parameters of the components' Beta posteriors; of "gibbs" their mean over the samples. (Noise components'
        probabilities are known; alpha and beta are as if they had been seen in 1e9 cells.)
    beta_ : ndarray of shape (n_components, n_features)
        Second parameters of the components' Beta posteriors; of "gibbs" their mean over the samples.
    shares_ : ndarray of shape (n_components,)
        Each component's share of the training data: the mean of its weights at the end of the fit.
    phantoms_ : ndarray of str, shape (n_components,)
        "content", "white", "black" or "extinct" (see `extinct_`) for each component.
    noise_trials_ : DataFrame or None
        With `noise="auto"` a line for each model that was tried: model, objective, gain_per_row (over the one
        without noise, in nats), needed (in nats a row) and kept. None otherwise.
    extinct_ : ndarray of int
        Indices of components whose posterior has returned to the prior: in no column is it farther from it than a
        fifth of the farthest of all (Kullback-Leibler divergence).
    n_components_ : int
        Number of components that are not extinct.
    r_hat_ : dict of str to ndarray, or None
        Rank-normalised split R-hat ("gibbs" only), 1 where chains agree, of "log_likelihood" (log p(X | causes)), of
        "cells" (probabilities of up to 100 cells spread over the table) and of "components" (labels aligned). None
        with fewer than 4 samples of a chain.
    ess_ : dict of str to ndarray, or None
        Bulk effective sample sizes of the same quantities ("gibbs" only).
    objective_ : float
        The lower bound of the log evidence ("vb"), or of the log likelihood of the weights ("em"), or the highest
        mean of a chain's log p(X | causes) over its samples ("gibbs"), which is no evidence (see `log_evidence`).
    objective_history_ : ndarray of shape (n_iter_,)
        The best start's bound after each pass; it never falls, except by rounding. Of "gibbs", log p(X | causes) after
        each sweep of the best chain, burn-in included.
    restarts_ : DataFrame
        One line per start: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The objective after each pass of every start, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every start, in the order of `restarts_`.
    n_iter_ : int
        Passes over the data made by the best start.
    converged_ : bool
        Whether the best start converged; False if it was stopped by `max_iter` or interrupted. Of "gibbs", whether
        R-hat of log p(X | causes) and of three cells in four is at most 1.05.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: `sample_weight`, or all 1.
    data_checksum_ : str or None
        Identifies the training data (`BinaryData.fingerprint`); None after a fit on a cluster.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

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
        inference: Inference = "vb",
        alpha: float = 0.5,
        beta: float = 0.5,
        gamma: float | None = None,
        inner_max_iter: int = 1,
        inner_tol: float = 1e-3,
        n_samples: int = 100,
        n_burn: int = 500,
        thin: int = 10,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-6,
        binarize: float | None = None,
        phantom_threshold: float = 0.2,
        noise: Noise | None = None,
        noise_rate: float | None = 0.001,
        batch_size: int | None = None,
        learning_decay: float = 0.5,
        learning_offset: float = 1.0,
        total_samples: float | None = None,
        warm_start: bool = False,
        checkpoint: str | Path | None = None,
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
        self.n_samples = n_samples
        self.n_burn = n_burn
        self.thin = thin
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.phantom_threshold = phantom_threshold
        self.noise = noise
        self.noise_rate = noise_rate
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.total_samples = total_samples
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(
        self, data: BinaryData, row_weight: np.ndarray, workers: Workers, noise: NoiseComponents = NO_NOISE
    ) -> VariationalEM | VariationalBayes:
        learner = LEARNERS[self.inference]
        return learner(
            data,
            row_weight,
            self.n_components,
            self._prior,
            workers,
            inner_iter=self.inner_max_iter,
            inner_tol=self.inner_tol,
            noise=noise,
        )

    def _components_of(self, state: EMState | BayesState, share: np.ndarray, noise: NoiseComponents) -> Components:
        mean = state.alpha / (state.alpha + state.beta)
        scale = np.where(noise.kinds_of(len(mean)) == CONTENT, 1.0, KNOWN)[:, None]
        H1, H0 = pass_components(state.alpha, state.beta, noise)
        gamma = state.gamma0 if isinstance(state, BayesState) else None
        return Components(mean, H1, H0, share, scale * state.alpha, scale * state.beta, gamma=gamma)

    def _arrays_of(self, components: Components) -> tuple[np.ndarray, ...]:
        """alpha and beta (of noise components b and 1 - b), and log gamma0 of variational Bayes: as in a state."""
        assert components.alpha is not None
        assert components.beta is not None
        scale = 1.0 if components.kinds is None else np.where(components.kinds == CONTENT, 1.0, KNOWN)[:, None]
        arrays = components.alpha / scale, components.beta / scale
        return arrays if self.inference == "em" else (*arrays, np.log([self._gamma_with(components)]))

    def _gamma_with(self, components: Components) -> float:
        """The parameter of the weights' prior: given, or learned with these components ("em" knows none)."""
        if self.gamma is not None:
            return self.gamma
        return FIRST_GAMMA if components.gamma is None else components.gamma

    def _sums_of_fit(self, order: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray, float | None]:
        """What the posterior has counted beside the prior; noise components, whose b is known, have counted nothing."""
        n1, n0, _ = super()._sums_of_fit(order, weight)
        kinds = self._components.kinds
        content = np.ones(len(order), dtype=bool) if kinds is None else kinds[order] == CONTENT
        n1[content] = np.maximum(self.alpha_[order][content] - self.alpha, 0.0) / weight
        n0[content] = np.maximum(self.beta_[order][content] - self.beta, 0.0) / weight
        return n1, n0, expected_log_weight(self._gamma_with(self._components), len(order))

    def _noise_judge(self) -> AspectModel:
        """Maximum likelihood: the evidence bound loosens, and a prior pays for blankness, by more than noise gains."""
        shared = ("n_components", "noise", "noise_rate", "n_init", "max_iter", "tol", "n_jobs", "verbose")
        return AspectBernoulli(smoothing=0.0, **{name: getattr(self, name) for name in shared})

    def _weights_solver(self, components: Components) -> RowSolver:
        if self.inference == "em":
            return partial(solve_weights, H1=components.H1, H0=components.H0)
        gamma = self._gamma_with(components)
        return partial(solve_mean_weights, H1=components.H1, H0=components.H0, gamma0=gamma)

    def _cause_weights(self, rows: AspectRows) -> np.ndarray:
        """Responsibilities go by exp E[log a] under variational Bayes (eq. 9)."""
        if self.inference != "vb":
            return super()._cause_weights(rows)
        return np.exp(expected_log_dirichlet(self._gamma_of(rows)))

    def _gamma_of(self, rows: AspectRows) -> np.ndarray:
        """The Dirichlet posterior of rows: its mean is known, and its sum is the prior's plus the observed cells."""
        mean = rows.weights
        return mean * (rows.data.observed_per_row() + mean.shape[1] * self._gamma_with(self._components))[:, None]

    @property
    def gamma_(self) -> float | None:
        """The parameter of the prior of rows' weights."""
        if self.inference == "em":
            return None
        return self._gamma_with(self._components)

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
        """Components whose posterior is back at the prior in every column."""
        return np.flatnonzero(self._are_extinct(self._components))

    def _are_extinct(self, components: Components) -> np.ndarray:
        """Which components have learned nothing; noise components had nothing to learn."""
        alpha, beta, kinds = components.alpha, components.beta, components.kinds
        assert alpha is not None
        assert beta is not None
        extinct = np.zeros(len(alpha), dtype=bool)
        learning = ~extinct if kinds is None else kinds == CONTENT
        extinct[learning] = at_prior(kl_beta(alpha[learning], beta[learning], self.alpha, self.beta))
        return extinct

    @property
    def n_components_(self) -> int:
        """Components that are not extinct."""
        return len(self.components_) - len(self.extinct_)

    n_effective_components_ = Renamed("n_components_")

    def components_interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Central credible intervals of the components' probabilities of a 1.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of each interval, between 0 and 1.

        Returns
        -------
        lower : ndarray of shape (n_components, n_features)
            Lower ends.
        upper : ndarray of shape (n_components, n_features)
            Upper ends.
        """
        check_is_fitted(self)
        if self._posterior is not None:
            return quantile_interval(self._posterior.H, level, axis=0)
        return _beta_interval(self.alpha_, self.beta_, level)

    def weights_interval(self, X: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Central credible intervals of the weights of rows (not `inference="em"`).

        By variational Bayes the weights of a row have a Dirichlet posterior, and these are the intervals of its
        margins, which are Beta. By sampling they are quantiles of the weights drawn by each sample of the components.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        level : float, default=0.95
            Posterior probability of each interval, between 0 and 1.

        Returns
        -------
        lower : ndarray of shape (n_rows, n_components)
            Lower ends.
        upper : ndarray of shape (n_rows, n_components)
            Upper ends.
        """
        if self.inference == "em":
            raise DataError('variational EM estimates weights without a posterior; fit with inference="vb" or "gibbs"')
        rows = self._solved(X)
        if self._posterior is not None:
            return quantile_interval(rows.coordinates, level, axis=1)
        gamma = self._gamma_of(rows)
        return _beta_interval(gamma, gamma.sum(axis=1, keepdims=True) - gamma, level)

    def gamma_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Central credible interval of the parameter of the weights' prior (`inference="gibbs"` only).

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of the interval, between 0 and 1.

        Returns
        -------
        lower : float
            Lower end.
        upper : float
            Upper end; the same where `gamma` was given.
        """
        check_is_fitted(self)
        if self._posterior is None:
            raise DataError('gamma has a posterior with inference="gibbs" alone; fit with that')
        low, high = quantile_interval(self._sampled_gamma(self._posterior), level, axis=0)
        return float(low), float(high)

    @available_if(lambda model: model.inference != "em")
    def log_evidence(self, X: Any = None, *, method: EvidenceMethod | None = None, n_sweeps: int = 200) -> float:
        """Log evidence of the training data, by which numbers of components can be compared; higher is better.

        "bound" is a lower bound, `objective_` of variational Bayes: exact for one component, and 170 to 280 nats too
        low for three at 150 x 30 (`gamma` given, the true one), so that it tends to choose too few; with a learned
        `gamma` it is the bound at the best one. "ti" is the evidence itself by thermodynamic integration: the mean of
        log p(X | causes), sampled at 25 temperatures from the prior to the posterior and back, is integrated over the
        temperature. It depends on data, prior and number of components alone. Where `gamma` is None, it is integrated
        over the prior of gamma (log gamma is normal with mean 0 and standard deviation 2).

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData, optional
            The training data; "ti" only, which needs them.
        method : "bound" or "ti", optional
            By default "bound" for `inference="vb"`, "ti" for `inference="gibbs"`, which has no bound.
        n_sweeps : int, default=200
            Sweeps at each temperature ("ti"), of which the first third isn't counted. More lower the error.

        Returns
        -------
        float
            The log evidence or its bound. With "ti" it has the attributes `error` (its standard error), `up` and
            `down` (from the prior to the posterior, and back; the error allows for their difference) and
            `batch_error` (of the sampling alone).
        """
        check_is_fitted(self)
        chosen = method or ("bound" if self.inference == "vb" else "ti")
        if chosen not in get_args(EvidenceMethod):
            raise DataError(f'method={method!r} is unknown; use "bound" or "ti"')
        if chosen == "ti":
            return self._integrated_evidence(X, n_sweeps)
        if self.inference != "vb":
            raise DataError('sampling has no bound of the evidence; use method="ti", or fit with inference="vb"')
        if self._sums is not None:
            raise DataError("partial_fit knows the bound of its last block alone; go on with fit and warm_start=True")
        return float(self.objective_)

    def prune(self) -> Self:
        """Return a copy of the fitted model without its extinct components.

        The weights of the training rows are normalised again. `transform` solves for weights under the prior of fewer
        components, so its result may differ from `weights_` in the third digit.

        Returns
        -------
        BetaICA
            The smaller model; `n_components` is the number of components left, but for noise components.
        """
        check_is_fitted(self)
        kept = np.setdiff1d(np.arange(len(self.components_)), self.extinct_)
        pruned = copy.deepcopy(self)
        pruned._components = self._components.take(kept)
        pruned._samples = None if self._posterior is None else self._posterior.take(kept)
        if self._sums is not None:
            log_weight = expected_log_weight(self._gamma_with(self._components), len(kept))
            sums = self._sums._replace(n1=self._sums.n1[kept], n0=self._sums.n0[kept], log_weight=log_weight)
            pruned._running_sums = sums
        pruned.components_ = self.components_[kept]
        pruned.phantoms_ = self.phantoms_[kept]
        pruned.weights_, _ = reweight(self.weights_[:, kept], np.ones(len(kept)), pruned._components.share)
        noise = pruned._components.kinds
        pruned.n_components = len(kept) if noise is None else int(np.sum(noise == CONTENT))
        return pruned


LEARNERS: dict[str, type[VariationalEM] | type[VariationalBayes]] = {"vb": VariationalBayes, "em": VariationalEM}


def _beta_interval(alpha: np.ndarray, beta: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    check_number("level", level, least=0, below=1, above=True)
    tail = (1 - level) / 2
    # A single component has weight 1 with certainty; its Beta margin is degenerate and betaincinv would give NaN.
    sure = beta <= 0
    beta = np.where(sure, 1.0, beta)
    low, high = betaincinv(alpha, beta, tail), betaincinv(alpha, beta, 1 - tail)
    return np.where(sure, 1.0, low), np.where(sure, 1.0, high)
