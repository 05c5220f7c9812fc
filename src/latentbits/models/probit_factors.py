"""ProbitFactors: probit factor analysis as an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, logit, logsumexp, ndtr
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.row_facts import RowFacts
from latentbits.errors import DataError
from latentbits.fitting.chains import Length, quantile_interval
from latentbits.fitting.restarts import Restart, Runner
from latentbits.fitting.rows import safe_log
from latentbits.fitting.workers import Workers, stop_event
from latentbits.models.base import Renamed
from latentbits.models.factor_model import RestartedFactorModel
from latentbits.models.knows_rows import KnowsRows
from latentbits.models.probit_sampler import (
    Draws,
    FactorSamples,
    Known,
    Sampler,
    SpaceSamples,
    chain_loadings,
    known_of,
    pool,
    solve_rows,
)
from latentbits.models.row_features import SCALES, RowFeatures
from latentbits.models.sampling import chains_agree, repeated_cells
from latentbits.models.solved_rows import RowSolver, SolvedRows
from latentbits.numerics import RandomSource, as_generator

INSTEAD = "use a model that climbs, such as LogisticPCA"

KEPT_DRAWS = 40
"""Draws of each training row that are kept for `score_samples` and `sample`: their mean is near that of all."""


RATE, RATE_WITH_ROWS = 1.0, 0.1
"""Of the prior of the loadings' precisions. What covariates explain leaves less to factors: with the smaller rate eight
of them predict a survey of eleven species nearly as well as two."""

CURVE_POINTS = 25


class ProbitFactors(KnowsRows, RestartedFactorModel):
    """Bayesian probit factor analysis: a cell is 1 if a normal score behind it is above 0.

    The score of a cell is ``intercepts_[j] + row_effects_[i] + weights_[i] @ components_[:, j]`` plus standard normal
    noise.
    Every answer is a mean over samples from the posterior (Gibbs sampling, several chains), so the uncertainty of
    loadings and of rows is in the probabilities, which are less extreme than those of a best fit. Loadings have a
    normal prior whose scale is learned for each component (automatic relevance determination): a needless component
    shrinks, so `n_components` is an upper limit.

    **What is known of rows.** With `fit(X, rows=frame)`, or data made by ``BinaryData.of(X, rows=frame, ...)``, it is a
    joint species distribution model: to the score of a cell is added the column's response to covariates (of each
    number a line and a curve, of each category its effect, the logarithm of effort), shrunk to the mean response of all
    columns by as much as they tell; and rows near each other may have similar factors, by a Gaussian process whose
    scale and size are learned for each. Then `responses`, `variation`, `residual_correlations` and `predict_rows`
    (unvisited rows) answer too. Training rows are recognised; new rows must bring the same columns.

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
    _space: SpaceSamples | None = None
    _n_known = 0
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

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None, rows: Any = None) -> Self:
        """Find the components, and the weights of the rows.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData, or blocks of rows
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            A row of weight 2 counts like two equal rows.
        rows : data frame or RowFacts, optional
            What is known of the rows. The columns of a frame are all covariates; for coordinates and effort give
            ``RowFacts.of(frame, coordinates=("lon", "lat"), effort="minutes")``.

        Returns
        -------
        Self
            The fitted model.
        """
        return super().fit(self._with_rows(X, rows), y, sample_weight)

    def fit_transform(
        self, X: Any, y: None = None, sample_weight: ArrayLike | None = None, rows: Any = None
    ) -> np.ndarray:
        """Fit, and return the weights of the training rows.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            As in `fit`.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            A row of weight 2 counts like two equal rows.
        rows : data frame or RowFacts, optional
            What is known of the rows, as in `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The weights of the training rows.
        """
        return self.fit(X, y, sample_weight, rows).weights_

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
        sampler = self._sampler(data, row_weight)
        return lambda workers: sampler.run

    def _sampler(self, data: BinaryData, row_weight: np.ndarray) -> Sampler:
        length = Length(self.n_burn, self.n_samples, self.thin)
        cells = repeated_cells(data, row_weight, INSTEAD)
        known, rate = None, RATE
        self._n_known = 0
        if data.facts is not None:
            if np.any(row_weight != 1):
                raise DataError("rows with covariates can't have other weights than 1; leave out sample_weight or rows")
            known, rate = _known(RowFeatures(data.facts, warn=True), data.facts), RATE_WITH_ROWS
            self._n_known = known.features.shape[1] - 1
        return Sampler(cells, self.n_components, bool(self.row_effects), length, known, rate)

    def _completed(self, data: BinaryData, row_weight: np.ndarray) -> np.ndarray:
        """P(1) of every cell of the rows of a fit that is asked nothing else: no row is drawn a second time."""
        if np.any(row_weight != 1):
            return self.fit(data, sample_weight=row_weight).reconstruct(data)
        sampler, rng = self._sampler(data, row_weight), as_generator(self.random_state)
        seeds = rng.integers(2**31, size=self.n_init)
        return _mean_of(sampler.mean_table(np.random.default_rng(seed), stop_event()) for seed in seeds)

    def _keep(self, state: Draws, row_weight: np.ndarray) -> np.ndarray:
        return chain_loadings(state, self.n_components, self._first)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        number = next(n for n, run in enumerate(runs) if run is best)
        self._samples, self._space = pool([run.state for run in runs], number, self.n_components, self._first)
        loadings = self._loadings.astype(np.float64)
        self.components_ = loadings.mean(axis=0)
        self.relevance_ = (loadings**2).mean(axis=(0, 2))
        self.intercepts_ = self._samples.theta[:, :, 0].mean(axis=0, dtype=np.float64)
        self.restart_components_ = [run.kept for run in runs]
        self.converged_ = chains_agree(self._samples.largest_r_hat) and bool(best.converged)

    def _row_solver(self) -> RowSolver:
        return partial(solve_rows, theta=self._samples.theta, encoder=self._encoder(), space=self._space)

    def _adopt_coordinates(self, coordinates: np.ndarray) -> None:
        self.row_effects_ = self._effects(coordinates)
        n_samples = coordinates.shape[1]
        self._training_draws = coordinates[:, _spread(n_samples, min(KEPT_DRAWS, n_samples))].copy()

    # ---- answers -------------------------------------------------------------------------------------------------

    @property
    def _first(self) -> int:
        """Where the loadings begin in theta: behind the intercept and the responses to features of rows."""
        return 1 + self._n_known

    def _encoder(self) -> RowFeatures | None:
        facts = self._facts
        encoder = None if facts is None else RowFeatures(facts)
        if encoder is not None and encoder.width != self._n_known:
            raise DataError("the samples of the model don't fit its covariates; fit it again")
        return encoder

    @property
    def _loadings(self) -> np.ndarray:
        """Of all samples, S x K x D."""
        return self._samples.theta[:, :, self._first : self._first + self.n_components].transpose(0, 2, 1)

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
        return coordinates[:, :, self._scores].mean(axis=1, dtype=np.float64)

    @property
    def _scores(self) -> slice:
        """Where the factors are in the coordinates of rows."""
        return slice(self._n_known, self._n_known + self.n_components)

    @property
    def _training_coordinates(self) -> np.ndarray:
        return self._training_draws

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        """The mean of Phi(score) over samples.

        Coordinates are N x n x (K + 1) (K without row effects), for n of the samples spread evenly over all; or N x K:
        then the effects of rows are unknown, and integrated out; covariates are at their means.
        """
        theta = self._samples.theta
        if W.ndim == 2:
            return _mean_of(self._given_weights(W, each) for each in theta.astype(np.float64))
        chosen = theta[_spread(len(theta), W.shape[1])].astype(np.float64)
        return _mean_of(ndtr(W[:, s] @ each[:, 1:].T + each[:, 0]) for s, each in enumerate(chosen))

    def _given_weights(self, W: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Probabilities by one sample for weights without a row effect, which adds its variance to the noise's."""
        score = W @ theta[:, self._first : self._first + self.n_components].T + theta[:, 0]
        return np.asarray(ndtr(score / np.sqrt(1 + theta[0, -1] ** 2 if self.row_effects else 1.0)))

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        P = self._probabilities(W)
        return safe_log(P), safe_log(1 - P)

    def _n_parameters(self, n_rows: int) -> int:
        """Those of biases, row effects and a centred table of rank K (or of what rank the table can have)."""
        K, D = self.components_.shape
        rank = min(K, n_rows - 1, D)
        return D * self._first + bool(self.row_effects) * (n_rows - 1) + rank * (n_rows - 1) + rank * D - rank**2

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
        return quantile_interval(rows.coordinates[:, :, self._scores], level, axis=1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log likelihood of each row with the held-out meaning: its coordinates are not fitted to it.

        They are drawn from those of the training rows or, in a model with covariates, from what is known of the row.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log likelihoods.
        """
        check_is_fitted(self)
        if self._row_facts is None:
            return super().score_samples(X)
        data = self._data(X)
        unseen = data.hide(np.ones(data.shape, bool))
        cells, draws = data.dense(), SolvedRows(self, unseen).coordinates
        theta = self._samples.theta.astype(np.float64)
        totals = np.empty((len(theta), len(cells)))
        for s, each in enumerate(theta):
            score = draws[:, s] @ each[:, 1:].T + each[:, 0]
            totals[s] = np.where(cells == MISSING, 0.0, log_ndtr(np.where(cells == 1, score, -score))).sum(axis=1)
        return np.asarray(logsumexp(totals, axis=0) - np.log(len(theta)))

    # ---- what is known of rows -----------------------------------------------------------------------------------

    def predict_rows(self, rows: Any) -> pd.DataFrame:
        """The probability of a 1 in each column of rows of which no cell was seen, such as unvisited sites.

        Parameters
        ----------
        rows : data frame or RowFacts
            What is known of them, with the columns of the fit. A number outside of its range at the fit counts as that
            range's end, and a warning says so.

        Returns
        -------
        DataFrame
            A line for each row, a column for each column of the training data.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from latentbits import ProbitFactors
        >>> rng = np.random.default_rng(0)
        >>> sites = pd.DataFrame({"elevation": rng.uniform(200, 2000, 150)})
        >>> liking = np.array([1.5, 1.0, -1.0, -1.5])
        >>> X = (np.outer((sites["elevation"] - 1100) / 500, liking) + rng.normal(size=(150, 4)) > 0).astype(int)
        >>> model = ProbitFactors(1, n_init=2, random_state=0).fit(X, rows=sites)
        >>> low, high = model.predict_rows(pd.DataFrame({"elevation": [300, 1900]})).to_numpy()
        >>> (high > low).tolist()
        [True, True, False, False]
        """
        encoder = self._asked_of_rows("predict_rows")
        facts = self._roles_of(rows)
        encoder.encode(facts)  # so that what is refused is said of all rows at once
        encoder.note_missing(facts)
        encoder.note_outside(facts)
        P = np.concatenate([self._of_unseen(facts[part]) for part in _parts(len(facts))])
        return pd.DataFrame(P, columns=self._column_labels())

    def responses(self, level: float = 0.9) -> pd.DataFrame:
        """How the probability of a 1 changes with each covariate, the others at their means.

        Parameters
        ----------
        level : float, default=0.9
            Posterior probability of each band, between 0 and 1.

        Returns
        -------
        DataFrame
            With the columns covariate, value (a number, or a category), column, probability, lower and upper.
        """
        encoder = self._asked_of_rows("responses")
        theta = self._samples.theta.astype(np.float64)
        spread = np.sqrt(1 + self._drawn_variance())
        frames = []
        for name, values, features in _curves(encoder):
            where = encoder.slices()[name]
            score = theta[:, None, :, 0] + np.einsum("vp,sdp->svd", features, theta[:, :, where])
            p = ndtr(score / spread[:, None])
            lower, upper = quantile_interval(p, level, axis=0)
            frames.append(_long(name, values, self._column_labels(), p.mean(axis=0), lower, upper))
        return pd.concat(frames, ignore_index=True)

    def variation(self) -> pd.DataFrame:
        """Shares of the variance of each column's scores: by covariates, space, factors, and unexplained.

        Returns
        -------
        DataFrame
            A line for each column; the shares of a line sum to 1. "factors" are what columns have in common beside
            covariates and space, row effects included; "unexplained" is the noise of single cells.
        """
        encoder, facts = self._asked_of_rows("variation"), self._facts
        assert facts is not None
        features, theta = encoder.encode(facts)[:, 1:], self._samples.theta.astype(np.float64)
        apart = features - features.mean(axis=0)
        covariance = apart.T @ apart / len(apart)
        b = theta[:, :, 1 : self._first]
        known = np.einsum("sdp,pq,sdq->d", b, covariance, b) / len(theta)
        space = self._space_variance(facts, encoder)
        parts = np.column_stack([known, space, self._drawn_variance().mean(axis=0), np.ones(len(known))])
        shares = parts / parts.sum(axis=1, keepdims=True)
        names = ["covariates", "space", "factors", "unexplained"]
        return pd.DataFrame(shares, columns=names, index=self._column_labels())

    def residual_correlations(self) -> pd.DataFrame:
        """Correlations of the scores of columns that covariates and space leave.

        Returns
        -------
        DataFrame
            Columns by columns: posterior means, the noise of single cells included.
        """
        check_is_fitted(self)
        V, size = self._drawn_loadings(), 1 + self._drawn_variance()
        total = sum((v @ v.T + np.eye(len(v))) / np.sqrt(np.outer(s, s)) for v, s in zip(V, size, strict=True))
        names = self._column_labels()
        return pd.DataFrame(total / len(V), columns=names, index=names)

    def _spoken_by(self, facts: RowFacts, columns: np.ndarray) -> dict[str, np.ndarray]:
        """How much each covariate, and the place, adds to the log-odds of a 1 in unseen cells: by name, n x n_columns.

        Against a row in which the covariate is at its mean; "space" against a place of which nothing is known.
        """
        encoder = self._asked_of_rows("explain")
        theta = self._samples.theta[:, columns].astype(np.float64)
        features, centres = self._unseen(facts, encoder)
        known, loadings = theta[:, :, : self._first], theta[:, :, self._first :]
        parts = {
            name: np.einsum("np,sdp->nsd", features[:, at], known[:, :, at]) for name, at in encoder.slices().items()
        }
        if self._space is not None:
            parts["space"] = np.einsum("nsk,sdk->nsd", centres, loadings)
        total = theta[None, :, :, 0] + sum(parts.values())
        size = np.sqrt(1 + (loadings**2).sum(axis=2))
        whole = logit(_inside(ndtr(total / size).mean(axis=1)))
        return {name: whole - logit(_inside(ndtr((total - part) / size).mean(axis=1))) for name, part in parts.items()}

    def _nearest(self, facts: RowFacts, places: RowFacts, top: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each row the `top` nearest others: positions, distances, and nearness by the scales of the factors."""
        encoder = self._asked_of_rows("explain")
        assert facts.coordinates is not None
        assert places.coordinates is not None
        here, there = encoder.in_plane(facts.coordinates), encoder.in_plane(places.coordinates)
        distance = np.hypot(*(here[:, None] - there[None]).transpose(2, 0, 1))
        nearest = np.argsort(distance, axis=1, kind="stable")[:, : top + 1]
        far = np.take_along_axis(distance, nearest, axis=1)
        if self._space is None or encoder.basis is None:
            return nearest, far, np.exp(-far / max(float(np.median(distance)), 1e-12))
        scales = encoder.basis.unit * np.array(SCALES)[self._space.scales[:, : self.n_components]]
        return nearest, far, np.exp(-far[:, :, None] / scales.mean(axis=0)).mean(axis=2)

    def _unseen(self, facts: RowFacts, encoder: RowFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Features of rows of which no cell was seen, and where their factors are expected."""
        cells = np.full((len(facts), self.n_features_in_), MISSING, np.int8)
        n_drawn = self.n_components + bool(self.row_effects)
        return known_of(BinaryData(cells, facts=facts), encoder, self._space, len(self._samples.theta), n_drawn)

    def _asked_of_rows(self, question: str) -> RowFeatures:
        check_is_fitted(self)
        encoder = self._encoder()
        if encoder is None:
            raise DataError(f"{question} needs to know of the rows; fit with rows=frame")
        return encoder

    def _of_unseen(self, facts: RowFacts) -> np.ndarray:
        theta = self._samples.theta.astype(np.float64)
        features, centres = self._unseen(facts, self._asked_of_rows("predict_rows"))
        known, spread = theta[:, :, : self._first], np.sqrt(1 + self._drawn_variance())
        return _mean_of(
            ndtr((features @ known[s].T + centres[:, s] @ theta[s, :, self._first :].T) / spread[s])
            for s in range(len(theta))
        )

    def _drawn_loadings(self) -> np.ndarray:
        """S x D x (K + 1), the last of them the size of row effects (K without)."""
        return self._samples.theta[:, :, self._first :].astype(np.float64)

    def _drawn_variance(self) -> np.ndarray:
        """What a row's own coordinates add to the variance of scores, S x D."""
        return (self._drawn_loadings() ** 2).sum(axis=2)

    def _space_variance(self, facts: RowFacts, encoder: RowFeatures) -> np.ndarray:
        functions = encoder.places(facts)
        if self._space is None or functions is None:
            return np.zeros(self.n_features_in_)
        V, centres = self._drawn_loadings(), self._space.centres(functions)
        return np.mean([(centres[:, s] @ v.T).var(axis=0) for s, v in enumerate(V)], axis=0)

    def _column_labels(self) -> list[str]:
        return self._column_names() or [str(j) for j in range(self.n_features_in_)]


def _known(encoder: RowFeatures, facts: RowFacts) -> Known:
    """What the sampler is to know of the training rows."""
    features = encoder.encode(facts)
    functions = encoder.places(facts)
    if encoder.basis is None or functions is None:
        return Known.nothing(len(features))._replace(features=features)
    return Known(features, np.ascontiguousarray(functions.transpose(0, 2, 1)), encoder.basis.variances)


def _curves(encoder: RowFeatures) -> Iterable[tuple[str, list[Any], np.ndarray]]:
    """Of each covariate its name, some of its values, and the features of these."""
    for number in encoder.numbers:
        values = np.linspace(number.low, number.high, CURVE_POINTS)
        yield number.name, values.tolist(), np.column_stack(number.encode(values))
    for category in encoder.categories:
        levels = sorted(category.levels)
        yield category.name, levels, np.column_stack(category.encode(np.array(levels, object)))


def _long(name: str, values: list[Any], columns: list[str], *parts: np.ndarray) -> pd.DataFrame:
    probability, lower, upper = (part.ravel() for part in parts)
    return pd.DataFrame(
        {
            "covariate": name,
            "value": pd.Series(np.repeat(np.array(values, object), len(columns)), dtype=object),
            "column": columns * len(values),
            "probability": probability,
            "lower": lower,
            "upper": upper,
        }
    )


def _inside(p: np.ndarray) -> np.ndarray:
    return np.clip(p, 1e-6, 1 - 1e-6)


def _parts(n_rows: int, size: int = 256) -> Iterable[slice]:
    return (slice(start, start + size) for start in range(0, max(n_rows, 1), size))


def _spread(n: int, k: int) -> np.ndarray:
    """k of n places, evenly spread; all of them if k = n."""
    return np.linspace(0, n - 1, k).round().astype(np.intp)


def _mean_of(tables: Iterable[np.ndarray]) -> np.ndarray:
    """Without ever holding more than two of them."""
    total, n = np.zeros(()), 0
    for table in tables:
        total, n = total + table, n + 1
    return total / n
