"""BinaryICA, the estimator."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.restarts import Restart, Schedule, best_of
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models.base import BinaryModel, RestartedModel
from latentbits.models.binary_ica import Method, blica, ivae, mle
from latentbits.models.binary_ica.identifiability import default_sources, identifiability, rows_needed
from latentbits.models.binary_ica.parameters import LINK, PairwiseStatistics, Parameters, canonical
from latentbits.models.binary_ica.posterior import RowPosterior, adapted_nodes, posterior, posterior_of_mixture
from latentbits.models.binary_ica.rows import count_rows
from latentbits.models.binary_ica.segments import encode_labels, known_codes, segments_by_length, take_out
from latentbits.models.binary_ica.tetrachoric import regularise, tetrachoric
from latentbits.models.degenerate import degeneracy
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.wording import counted

__all__ = ["BinaryICA"]


class BinaryICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BinaryModel, RestartedModel):
    """Independent components of binary data whose sources change from segment to segment.

    In segment u, the sources z of a row are independent and normal, with means and scales of that segment. They are
    mixed linearly, in the same way in all segments, and cell i is 1 with probability ``Phi(c * (mixing_ @ z)[i])``,
    c = sqrt(pi / 8), which is nearly the logistic function. The mixing is identifiable because the sources' scales
    change between segments; `identifiability` says how many columns and segments are needed.

    Parameters
    ----------
    n_components : int or None, default=None
        K, the number of sources. None means half as many as there are columns, or a third with fewer than 50 rows a
        segment (rounded down, at least 1, and no more than `identifiability` allows); a warning says how many. More
        must be asked for: in simulations, as many sources as columns were found only with 300 rows a segment, half as
        many with 50 and a third with 5, and with more sources than there are fewer of these were found.
    method : {"blica", "mle", "ivae"}, default="blica"
        "blica" fits the tetrachoric correlations of all segments: fast, and the best choice in most cases. "mle"
        maximises the full likelihood, starting from BLICA's solution, with the entries of the mixing kept within 8 in
        size (in separable data they would diverge); it is meant for few columns, as cost and error of the integrals
        grow with their number (about 20 with three sources or more). "ivae" is a linear variational autoencoder,
        which does well only with fewer sources than columns.
    condition_number : float or None, default=None
        Largest condition number of each segment's correlation matrix: where it is exceeded, the correlations are
        shrunk towards 0. None means from 10 for as many sources as columns, where noise in the smallest eigenvalues
        does most harm, to 20 for half as many or fewer. With fewer sources than columns and thousands of rows, 100 or
        more has less bias; with few rows it may give poor results.
    n_segments : int, default=10
        Number of runs of equal length into which the rows are cut, in their order, when `fit` is given no segments; at
        most one per row.
    n_init : int, default=5
        Number of random starts; the best is kept. With "mle" they are BLICA's, and the likelihood is maximised once.
    max_iter : int, default=2000
        Largest number of L-BFGS iterations per start.
    tol : float, default=1e-6
        A start has converged when ten iterations raise the objective by less than this per observed cell.
    n_points : int or None, default=None
        Number of points of the integrals over the sources: per dimension for one or two sources, in total (rounded up
        to a power of 2) for more. None means 256, 80 and 256 for one, two and more sources in the fit by "mle", and
        400, 40 and 512 in posteriors and scores, whose points adapt to each row.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    mixing_ : ndarray of shape (n_features, n_components)
        Scale, sign and order of sources are not identified. By convention, the mean over rows of a source's variance
        within segments is 1, the entry of a column that is largest in size is positive, and columns go from the longest
        to the shortest.
    source_means_ : ndarray of shape (n_segments, n_components)
        Mean of each source in each segment.
    source_scales_ : ndarray of shape (n_segments, n_components)
        Standard deviation of each source in each segment.
    segments_ : ndarray of shape (n_segments,)
        The labels of the segments: numbers by size, texts in natural order ("week 9" before "week 10"), dates as text.
    segment_share_ : ndarray of shape (n_segments,)
        Share of the training rows in each segment.
    objective_ : float
        Objective of the best start: the Gaussian likelihood of the correlations ("blica"), the log likelihood ("mle"),
        or its lower bound ("ivae").
    objective_history_ : ndarray of shape (n_iter_,)
        The best start's objective after each iteration; it never falls.
    restarts_ : DataFrame
        One line per start: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The objective after each iteration of every start, in the order of `restarts_`.
    n_iter_ : int
        Iterations made by the best start.
    converged_ : bool
        Whether the best start converged; False if it was stopped by `max_iter` or interrupted.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

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
        """Estimate the mixing, and the sources' means and scales in each segment.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0, 1 and missing (NaN, None, pd.NA); other values are refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        segments : array-like of shape (n_rows,), str or None, default=None
            A label for each row (numbers, texts or dates), or the name of a column of the frame X that holds the labels
            (and is then not a variable). Segments may differ in size. With None the rows are taken as a series and cut
            into `n_segments` runs of equal length, as `segments_by_length` does.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        X, labels = take_out(X, segments)
        data = self._data(X, reset=True)
        N = data.shape[0]
        if labels is None:
            labels = segments_by_length(N, min(self.n_segments, N))
        names, codes = encode_labels(labels, N)
        K = self._n_sources(data, len(names))
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
            # One run: it starts from BLICA's solution, and nothing in it is random.
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
            if degeneracy(data, None):  # constant columns are what has been warned about
                warnings.filterwarnings("ignore", message="constant columns")
            found = tetrachoric(data, segments=names[codes], n_jobs=self.n_jobs)
        # 10 for K = D to 20 for K <= D / 2: a balance of noise and bias, chosen by simulations over n, m and rows.
        largest = self.condition_number or 10 * float(np.clip(3 - 2 * K / data.shape[1], 1, 2))
        correlations = regularise(found.correlations, largest)
        return PairwiseStatistics(correlations, found.thresholds, np.bincount(codes).astype(float))

    def _n_sources(self, data: BinaryData, U: int) -> int:
        """The number of sources, with a warning if it was chosen here, or is more than the rows can tell."""
        n = data.shape[1]
        rows = data.n_observed / (n * U)
        K = default_sources(n, U, rows) if self.n_components is None else int(self.n_components)
        if degeneracy(data, self.n_components):  # which has been warned about, and is the reason of all the rest
            return K
        size = f"{counted(U, 'segment')} with {rows:.1f} rows each on average"
        if self.n_components is None and n > K:
            warnings.warn(
                f"n_components is not given, so {counted(K, 'source')} of {counted(n, 'column')} in {size} will be "
                f"sought; give a number (--components) to choose it yourself",
                stacklevel=3,
            )
        if rows < rows_needed(n, K):
            warnings.warn(
                f"{size} are too few for {counted(K, 'source')} of {counted(n, 'column')}, which take about "
                f"{rows_needed(n, K)} rows a segment; use fewer segments or sources",
                stacklevel=3,
            )
        self._warn_unidentifiable(n, K, U)
        return K

    @staticmethod
    def _warn_unidentifiable(n: int, m: int, U: int) -> None:
        if n == 2:
            reason = "with two columns the order of its rows is not identifiable; use more columns"
        elif U == 1 and m > 1:
            reason = "one segment does not identify the sources' rotation; give segments between which they change"
        elif identifiability(n, m, U) < 0:
            reason = (
                f"{n} columns in {U} segments are few for {counted(m, 'source')}; use more of these, or fewer sources"
            )
        else:
            return
        warnings.warn(f"mixing_ may be one of many that fit equally well: {reason}", stacklevel=4)

    # ---- rows ----------------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return int(self.mixing_.shape[1])

    def fit_transform(self, X: Any, y: None = None, segments: ArrayLike | str | None = None) -> np.ndarray:
        """Fit, and return the sources of the training rows, as `transform` with the same arguments does.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0, 1 and missing (NaN, None, pd.NA); other values are refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        segments : array-like of shape (n_rows,), str or None, default=None
            A label for each row, or the name of a column of the frame X that holds them. With None the fit cuts the
            rows into `n_segments` runs, and `transform` averages over the segments.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Posterior means of the sources.
        """
        return self.fit(X, segments=segments).transform(X, segments=segments)

    def transform(self, X: Any, segments: ArrayLike | str | None = None) -> np.ndarray:
        """Posterior means of the sources of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        segments : array-like of shape (n_rows,), str or None, default=None
            A label of the fit for each row, or the name of the column of the frame X that holds the labels. With None
            segments are unknown and averaged over, by their share of the training rows and their likelihood.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Posterior means; missing cells are left out.
        """
        return self._posterior(X, segments).mean

    def posterior_sd(self, X: Any, segments: ArrayLike | str | None = None) -> np.ndarray:
        """Posterior standard deviations of the sources of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        segments : array-like of shape (n_rows,), str or None, default=None
            A label of the fit for each row, or the name of the column of the frame X that holds the labels. With None
            segments are unknown and averaged over, by their share of the training rows and their likelihood.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Posterior standard deviations.
        """
        return np.sqrt(self._posterior(X, segments).variance)

    def score_samples(self, X: Any, segments: ArrayLike | str | None = None) -> np.ndarray:
        """Log likelihood of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        segments : array-like of shape (n_rows,), str or None, default=None
            A label of the fit for each row, or the name of the column of the frame X that holds the labels. With None
            segments are unknown and averaged over, by their share of the training rows and their likelihood.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log likelihood of the observed cells of each row.
        """
        return self._posterior(X, segments).log_likelihood

    def score(self, X: Any, y: None = None, segments: ArrayLike | str | None = None) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        segments : array-like of shape (n_rows,), str or None, default=None
            A label of the fit for each row, or the name of the column of the frame X that holds the labels. With None
            segments are unknown and averaged over, by their share of the training rows and their likelihood.

        Returns
        -------
        float
            Mean log likelihood of a row; higher is better.
        """
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
        """Probabilities of a 1 for given sources.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)
            Sources, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
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
        """Draw new rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        segments : array-like of shape (n_samples,), a single label or None, default=None
            Segments of the rows; None draws them by their share of the training rows.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        ndarray of int8, shape (n_samples, n_features)
            Rows of 0 and 1.
        """
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
