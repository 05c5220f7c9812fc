"""BinaryICA, the estimator."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.restarts import Restart, Schedule, best_of
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models.base import BinaryModel, RestartedModel
from latentbits.models.binary_ica import blica, ivae, mle
from latentbits.models.binary_ica.identifiability import identifiability
from latentbits.models.binary_ica.parameters import LINK, PairwiseStatistics, Parameters, canonical
from latentbits.models.binary_ica.posterior import RowPosterior, adapted_nodes, posterior, posterior_of_mixture
from latentbits.models.binary_ica.rows import count_rows
from latentbits.models.binary_ica.segments import encode_labels, known_codes, segments_by_length, take_out
from latentbits.models.binary_ica.tetrachoric import regularise, tetrachoric
from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["BinaryICA"]

Method = Literal["blica", "mle", "ivae"]
FEW_ROWS = 5


class BinaryICA(BinaryModel, RestartedModel):
    """Independent components of binary data whose sources change from segment to segment.

    In segment u, the sources z of a row are independent and normal, with means and scales of that segment. They are
    mixed linearly, in the same way in all segments, and cell i is 1 with probability ``Phi(c * (mixing_ @ z)[i])``,
    c = sqrt(pi / 8), which is nearly the logistic function. That the sources' scales change is what makes the mixing
    identifiable; see `identifiability` for how many columns and segments that takes.

    Parameters
    ----------
    n_components : int, optional
        K, the number of sources; by default as many as there are columns.
    method : "blica", "mle" or "ivae", default="blica"
        "blica" fits the tetrachoric correlations of all segments: fast, and the best choice in most cases. "mle"
        climbs the full likelihood from BLICA's answer, with the entries of the mixing kept within 8 in size (where
        the data separate, they would grow for ever); for few columns (cost and error of the integrals grow with them;
        with three sources or more, up to about 20). "ivae" is a linear variational autoencoder, which
        does well only with fewer sources than columns.
    condition_number : float, optional
        Of each segment's correlation matrix, at most: where it is larger, the correlations are shrunk towards 0. By
        default from 10 for as many sources as columns, where noise in the smallest eigenvalues misleads most, to 20
        for half as many or fewer. With fewer sources than columns and thousands of rows, 100 or more is nearer to the
        truth; with few rows it may mislead badly.
    n_segments : int, default=10
        Into how many runs of equal length the rows are cut, in their order, when `fit` is given no segments; at most
        one a row.
    n_init : int, default=5
        Random starts, the best of which is kept. With "mle" they are BLICA's, and the likelihood is climbed once.
    max_iter : int, default=2000
        Iterations of L-BFGS a start may make.
    tol : float, default=1e-6
        A start has converged when ten iterations raise the objective by less than this per observed cell.
    n_points : int, optional
        Points of the integrals over the sources: for one or two sources in each dimension (default 256 and 80 in
        "mle"'s fit, 400 and 40 in answers, which adapt to each row), beyond that in all (256 and 512; rounded up to a
        power of 2).
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
    mixing_ : ndarray of shape (n_features, n_components)
        Scale, sign and order of sources can't be seen in data. By convention, the mean over rows of a source's variance
        within segments is 1, the entry of a column that is largest in size is positive, and columns go from the longest
        to the shortest.
    source_means_, source_scales_ : ndarray of shape (n_segments, n_components)
        Mean and standard deviation of each source in each segment.
    segments_ : ndarray of shape (n_segments,)
        The labels of the segments, in order (numbers by size, texts as people count); dates have become text.
    segment_share_ : ndarray of shape (n_segments,)
        Their shares of the training rows.
    objective_ : float
        Of the best start: the Gaussian likelihood of the correlations ("blica"), the log likelihood ("mle"), its lower
        bound ("ivae").
    objective_history_ : ndarray
        The best start's objective after each iteration; it never falls.
    restarts_ : DataFrame
        Seed, objective, n_iter and converged of every start.
    n_iter_, converged_ : int, bool
        Of the best start.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Hyttinen, Barin-Pacela and Hyvärinen, Binary independent component analysis: a non-stationarity-based approach.

    Examples
    --------
    >>> from latentbits import BinaryICA, mean_cosine_similarity, simulate
    >>> truth = simulate.binary_ica(200, 6, 2, 20, random_state=0)
    >>> model = BinaryICA(2, random_state=0).fit(truth.X, segments=truth.segments)
    >>> bool(mean_cosine_similarity(truth.mixing, model.mixing_) > 0.95)
    True
    >>> model.transform(truth.X, segments=truth.segments).shape
    (4000, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        method: Method = "blica",
        condition_number: float | None = None,
        n_segments: int = 10,
        n_init: int = 5,
        max_iter: int = 2000,
        tol: float = 1e-6,
        n_points: int | None = None,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.condition_number = condition_number
        self.n_segments = n_segments
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_points = n_points
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None, segments: ArrayLike | str | None = None) -> Self:
        """Find the mixing, and the sources' means and scales in each segment.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set.
        y : ignored
        segments : array-like of shape (N,), or str, optional
            A label for each row (numbers, texts or dates), or the name of a column of the frame X that holds the
            labels (which is then no variable). Segments may differ in size. By default the rows are taken as a series
            and cut into `n_segments` runs of equal length, as `segments_by_length` does.
        """
        self._check_parameters()
        X, labels = take_out(X, segments)
        data = self._data(X, reset=True)
        N, D = data.shape
        if labels is None:
            labels = segments_by_length(N, min(self.n_segments, N))
        names, codes = encode_labels(labels, N)
        if FEW_ROWS * len(names) > N:
            warnings.warn(
                f"{len(names)} segments of {N} rows have {N / len(names):.1f} rows each on average, which says little "
                "about their correlations; use fewer segments",
                stacklevel=2,
            )
        K = D if self.n_components is None else int(self.n_components)
        self._warn_unidentifiable(D, K, len(names))
        counts = np.bincount(codes)
        best, runs, parameters = self._learn(data, names, codes, K)
        self._adopt_run(best, runs)
        self.mixing_, self.source_means_, self.source_scales_ = parameters
        self.segments_ = names
        self.segment_share_ = counts / N
        return self

    def _learn(
        self, data: BinaryData, names: np.ndarray, codes: np.ndarray, K: int
    ) -> tuple[Restart[Any], list[Restart[Any]], Parameters]:
        n_cells = float(data.n_observed)
        share = np.bincount(codes) / len(codes)
        if self.method == "ivae":
            rows = count_rows(data, codes, len(names))
            best, runs = self._best_run(lambda workers: ivae.runner(rows, K), n_cells)
            return best, runs, canonical(Parameters(best.state.A, best.state.mu, np.exp(best.state.log_s)), share)
        statistics = self._statistics(data, names, codes, K)
        best, runs = self._best_run(lambda workers: blica.runner(statistics, K), n_cells)
        parameters = blica.parameters_of(best.state, statistics)
        if self.method == "blica":
            return best, runs, parameters
        rows = count_rows(data, codes, len(names))
        points = mle.integrator(data.shape[1], K, self.n_points)
        best, runs = best_of(
            lambda workers: mle.runner(parameters, rows, points, workers),
            Schedule(1, self.max_iter, self.tol, n_cells, verbose=bool(self.verbose)),
            as_generator(self.random_state),
            n_workers(self.n_jobs),
            keep=lambda state: None,
        )
        return best, runs, canonical(Parameters(best.state.A, best.state.mu, np.exp(best.state.log_s)), share)

    def _statistics(self, data: BinaryData, names: np.ndarray, codes: np.ndarray, K: int) -> PairwiseStatistics:
        with warnings.catch_warnings():
            # Empty cells are usual in short segments, and the bound on the condition number is there for them.
            warnings.filterwarnings("ignore", message=".*empty cell")
            found = tetrachoric(data, segments=names[codes], n_jobs=self.n_jobs)
        largest = self.condition_number or 10 * float(np.clip(3 - 2 * K / data.shape[1], 1, 2))
        correlations = regularise(found.correlations, largest)
        return PairwiseStatistics(correlations, found.thresholds, np.bincount(codes).astype(float))

    @staticmethod
    def _warn_unidentifiable(n: int, m: int, U: int) -> None:
        if n == 2:
            reason = "two columns don't tell which row of the mixing is whose; use more columns"
        elif U == 1 and m > 1:
            reason = "one segment leaves the sources free to rotate; give segments between which they change"
        elif identifiability(n, m, U) < 0:
            reason = f"{n} columns in {U} segments are few for {m} components; use more of either, or fewer components"
        else:
            return
        warnings.warn(f"mixing_ may be one of many that fit equally well: {reason}", stacklevel=3)

    # ---- rows ----------------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return int(self.mixing_.shape[1])

    def fit_transform(self, X: Any, y: None = None, segments: ArrayLike | str | None = None) -> np.ndarray:
        """Fit, and return the sources of the training rows, as `transform` with the same arguments does."""
        return self.fit(X, segments=segments).transform(X, segments=segments)

    def transform(self, X: Any, segments: ArrayLike | str | None = None) -> np.ndarray:
        """The posterior means of the rows' sources (n_rows x n_components).

        Parameters
        ----------
        X : 0-1 data
            Missing cells are left out.
        segments : array-like of shape (N,), or str, optional
            As in `fit`, of labels that were there at the fit. By default the rows' segments count as unknown, and the
            answer averages over them: each with its share of the training rows and its likelihood for the row.
        """
        return self._posterior(X, segments).mean

    def posterior_sd(self, X: Any, segments: ArrayLike | str | None = None) -> np.ndarray:
        """The posterior standard deviations of the rows' sources; arguments as in `transform`."""
        return np.sqrt(self._posterior(X, segments).variance)

    def score_samples(self, X: Any, segments: ArrayLike | str | None = None) -> np.ndarray:
        """The log likelihood of each row; arguments as in `transform`."""
        return self._posterior(X, segments).log_likelihood

    def score(self, X: Any, y: None = None, segments: ArrayLike | str | None = None) -> float:
        """Mean of `score_samples`."""
        return float(np.mean(self.score_samples(X, segments)))

    def _posterior(self, X: Any, segments: ArrayLike | str | None) -> RowPosterior:
        check_is_fitted(self)
        X, labels = take_out(X, segments)
        data = self._data(X)
        parameters = Parameters(self.mixing_, self.source_means_, self.source_scales_)
        nodes = adapted_nodes(self._n_features_out, self.n_points)
        with Workers(n_workers(self.n_jobs)) as workers:
            if labels is None:
                return posterior_of_mixture(data.dense(), self.segment_share_, parameters, nodes, workers)
            codes = known_codes(labels, data.shape[0], self.segments_)
            return posterior(data.dense(), codes, parameters, nodes, workers)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of a 1 (n_rows x n_columns) for given sources."""
        check_is_fitted(self)
        Z = np.asarray(X, dtype=float)
        if Z.ndim != 2 or Z.shape[1] != self._n_features_out or not np.isfinite(Z).all():
            raise DataError(
                f"sources have the shape {Z.shape}; give finite numbers, n_rows x {self._n_features_out}, as transform "
                "returns them"
            )
        return np.asarray(ndtr(LINK * Z @ self.mixing_.T))

    def sample(
        self, n_samples: int = 1, segments: ArrayLike | None = None, random_state: RandomSource = None
    ) -> np.ndarray:
        """New rows (int8): of the segments given (one label for each row), or of segments drawn by their share."""
        check_is_fitted(self)
        check_number("n_samples", n_samples, least=1, integer=True)
        rng = as_generator(random_state)
        if segments is None:
            codes = rng.choice(len(self.segments_), size=n_samples, p=self.segment_share_)
        else:
            labels = np.asarray(segments)
            codes = known_codes(np.full(n_samples, labels) if labels.ndim == 0 else labels, n_samples, self.segments_)
        Z = self.source_means_[codes] + self.source_scales_[codes] * rng.standard_normal(
            (n_samples, self._n_features_out)
        )
        return (rng.random((n_samples, self.n_features_in_)) < self.inverse_transform(Z)).astype(np.int8)
