"""ProbitFactors: probit factor analysis as an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.chains import Length, quantile_interval
from latentbits.fitting.restarts import Restart, Runner
from latentbits.fitting.rows import safe_log
from latentbits.fitting.workers import Workers
from latentbits.models.base import Renamed
from latentbits.models.factor_model import RestartedFactorModel
from latentbits.models.probit_sampler import Draws, FactorSamples, Sampler, chain_loadings, pool, solve_rows
from latentbits.models.sampling import chains_agree, repeated_cells
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import RandomSource

INSTEAD = "use a model that climbs, such as LogisticPCA"

KEPT_DRAWS = 40
"""Draws of each training row that are kept for `score_samples` and `sample`: their mean is near that of all."""


class ProbitFactors(RestartedFactorModel):
    """Bayesian probit factor analysis: a cell is 1 if a normal score behind it is above 0.

    The score of a cell is ``intercepts_[j] + row_effects_[i] + weights_[i] @ components_[:, j]`` plus standard normal
    noise.
    Every answer is a mean over samples from the posterior (Gibbs sampling, several chains), so the uncertainty of
    loadings and of rows is in the probabilities, which are less extreme than those of a best fit. Loadings have a
    normal prior whose scale is learned for each component (automatic relevance determination): a needless component
    shrinks, so `n_components` is an upper limit.

    Parameters
    ----------
    n_components : int, default=8
        K, the largest number of components.
    row_effects : bool, default=True
        Whether rows have effects of their own, the same in all columns: rows with many ones need no component for it.
        Their size is learned, and may be 0.
    n_samples : int, default=100
        Posterior samples of each chain.
    n_burn : int, default=200
        Sweeps of each chain before its first sample.
    thin : int, default=10
        Sweeps from one sample to the next.
    n_init : int, default=4
        Number of chains, each from a random start; samples of all of them are used.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the chains. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior mean loadings, of either sign. Factors may be turned in any way, so samples are turned to agree and
        then to the axes of their mean: rows are orthogonal, in the order of `relevance_`; the entry of each that is
        largest in size is positive.
    weights_ : ndarray of shape (n_rows, n_components)
        Posterior mean coordinates of the training rows, of either sign; their prior is standard normal.
    weights_gap_ : None
        There is no certificate of samples.
    row_effects_ : ndarray of shape (n_rows,)
        Posterior mean effects of the training rows; 0 without `row_effects`.
    intercepts_ : ndarray of shape (n_features,)
        Posterior mean scores of the columns.
    relevance_ : ndarray of shape (n_components,)
        The variance that each component gives to the score of a column, on average over columns and samples. The
        noise of a score has the variance 1: a component far below it says little.
    r_hat_ : dict of str to ndarray, or None
        Rank-normalised split R-hat, 1 where chains agree, of "log_likelihood", of "cells" (probabilities of up to 100
        cells spread over the table), of "components" (axes aligned) and of "bias". None with fewer than 4 samples of a
        chain.
    ess_ : dict of str to ndarray, or None
        Bulk effective sample sizes of the same quantities.
    objective_ : float
        The highest mean of a chain's log likelihood over its samples, which is no evidence.
    objective_history_ : ndarray of shape (n_looks,)
        Log likelihood of that chain in every 20th sweep of its burn-in, and at every sample.
    restarts_ : DataFrame
        One line per chain: seed, objective, n_iter and converged (whether it came to its end).
    restart_histories_ : list of ndarray
        The same of every chain, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The mean loadings of every chain, in the order of `restarts_`.
    n_iter_ : int
        Sweeps of a chain.
    converged_ : bool
        Whether R-hat of the log likelihood and of three cells in four is at most 1.05.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: `sample_weight`, or all 1.
    data_checksum_ : str
        Identifies the training data (`BinaryData.fingerprint`).
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    References
    ----------
    Albert and Chib, Bayesian analysis of binary and polychotomous response data, JASA 1993.

    Examples
    --------
    >>> from latentbits import ProbitFactors, simulate
    >>> truth = simulate.probit_factors(200, 30, 2, random_state=0)
    >>> model = ProbitFactors(4, n_init=2, random_state=0).fit(truth.X)
    >>> bool((model.relevance_[:2] > 0.5).all() and (model.relevance_[2:] < 0.2).all())
    True
    >>> low, high = model.components_interval(0.9)
    >>> bool(((low <= model.components_) & (model.components_ <= high)).mean() > 0.95)
    True
    """

    similarity_ = "cosine"
    tol = 0.0
    _samples: FactorSamples
    bias_ = Renamed("intercepts_")

    def __init__(
        self,
        n_components: int = 8,
        *,
        row_effects: bool = True,
        n_samples: int = 100,
        n_burn: int = 200,
        thin: int = 10,
        n_init: int = 4,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.row_effects = row_effects
        self.n_samples = n_samples
        self.n_burn = n_burn
        self.thin = thin
        self.n_init = n_init
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------------------------------

    @property
    def max_iter(self) -> int:  # type: ignore[override]
        """Sweeps of a chain."""
        return self.n_burn + self.n_samples * self.thin

    @property
    def _if_interrupted(self) -> str:
        return "these are the samples of {} chains so far"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.row_effects, bool | np.bool_):
            raise DataError(f"row_effects={self.row_effects!r} must be True or False")

    def _runner_maker(self, data: BinaryData, row_weight: np.ndarray) -> Callable[[Workers], Runner[Any]]:
        length = Length(self.n_burn, self.n_samples, self.thin)
        cells = repeated_cells(data, row_weight, INSTEAD)
        sampler = Sampler(cells, self.n_components, bool(self.row_effects), length)
        return lambda workers: sampler.run

    def _keep(self, state: Draws, row_weight: np.ndarray) -> np.ndarray:
        return chain_loadings(state, self.n_components)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        number = next(n for n, run in enumerate(runs) if run is best)
        self._samples = pool([run.state for run in runs], number, self.n_components)
        loadings = self._loadings.astype(np.float64)
        self.components_ = loadings.mean(axis=0)
        self.relevance_ = (loadings**2).mean(axis=(0, 2))
        self.intercepts_ = self._samples.theta[:, :, 0].mean(axis=0, dtype=np.float64)
        self.restart_components_ = [run.kept for run in runs]
        self.converged_ = chains_agree(self._samples.largest_r_hat) and bool(best.converged)

    def _row_solver(self) -> RowSolver:
        return partial(solve_rows, theta=self._samples.theta)

    def _adopt_coordinates(self, coordinates: np.ndarray) -> None:
        self.row_effects_ = self._effects(coordinates)
        n_samples = coordinates.shape[1]
        self._training_draws = coordinates[:, _spread(n_samples, min(KEPT_DRAWS, n_samples))].copy()

    # ---- answers -------------------------------------------------------------------------------------------------

    @property
    def _loadings(self) -> np.ndarray:
        """Of all samples, S x K x D."""
        return self._samples.theta[:, :, 1 : self.n_components + 1].transpose(0, 2, 1)

    @property
    def r_hat_(self) -> dict[str, np.ndarray] | None:
        """Rank-normalised split R-hat of chains, by the name of the quantity."""
        return self._samples.r_hat

    @property
    def ess_(self) -> dict[str, np.ndarray] | None:
        """Bulk effective sample sizes, by the name of the quantity."""
        return self._samples.ess

    def _effects(self, coordinates: np.ndarray) -> np.ndarray:
        """Mean effects of rows."""
        if not self.row_effects:
            return np.zeros(len(coordinates))
        return coordinates[:, :, -1].astype(np.float64) @ self._samples.theta[:, 0, -1] / len(self._samples.theta)

    def _as_weights(self, coordinates: np.ndarray) -> np.ndarray:
        return coordinates[:, :, : self.n_components].mean(axis=1, dtype=np.float64)

    @property
    def _training_coordinates(self) -> np.ndarray:
        return self._training_draws

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        """The mean of Phi(score) over samples.

        Coordinates are N x n x (K + 1) (K without row effects), for n of the samples spread evenly over all; or N x K:
        then the effects of rows are unknown, and integrated out.
        """
        theta = self._samples.theta
        if W.ndim == 2:
            return _mean_of(self._given_weights(W, each) for each in theta.astype(np.float64))
        chosen = theta[_spread(len(theta), W.shape[1])].astype(np.float64)
        return _mean_of(ndtr(W[:, s] @ each[:, 1:].T + each[:, 0]) for s, each in enumerate(chosen))

    def _given_weights(self, W: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Probabilities by one sample for weights without a row effect, which adds its variance to the noise's."""
        score = W @ theta[:, 1 : self.n_components + 1].T + theta[:, 0]
        return np.asarray(ndtr(score / np.sqrt(1 + theta[0, -1] ** 2 if self.row_effects else 1.0)))

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        P = self._probabilities(W)
        return safe_log(P), safe_log(1 - P)

    def _n_parameters(self, n_rows: int) -> int:
        """Those of biases, row effects and a centred table of rank K (or of what rank the table can have)."""
        K, D = self.components_.shape
        rank = min(K, n_rows - 1, D)
        return D + bool(self.row_effects) * (n_rows - 1) + rank * (n_rows - 1) + rank * D - rank**2

    def components_interval(self, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Central credible intervals of the loadings, the axes aligned.

        Parameters
        ----------
        level : float, default=0.9
            Posterior probability of each interval, between 0 and 1.

        Returns
        -------
        lower : ndarray of shape (n_components, n_features)
            Lower ends.
        upper : ndarray of shape (n_components, n_features)
            Upper ends.
        """
        check_is_fitted(self)
        return quantile_interval(self._loadings, level, axis=0)

    def weights_interval(self, X: Any, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Central credible intervals of the coordinates of rows, the axes aligned.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        level : float, default=0.9
            Posterior probability of each interval, between 0 and 1.

        Returns
        -------
        lower : ndarray of shape (n_rows, n_components)
            Lower ends.
        upper : ndarray of shape (n_rows, n_components)
            Upper ends.
        """
        rows = self._solved(X)
        return quantile_interval(rows.coordinates[:, :, : self.n_components], level, axis=1)


def _spread(n: int, k: int) -> np.ndarray:
    """k of n places, evenly spread; all of them if k = n."""
    return np.linspace(0, n - 1, k).round().astype(np.intp)


def _mean_of(tables: Iterable[np.ndarray]) -> np.ndarray:
    """Without ever holding more than two of them."""
    total, n = np.zeros(()), 0
    for table in tables:
        total, n = total + table, n + 1
    return total / n
