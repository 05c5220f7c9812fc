"""What a fitted `BinaryICA` says about rows (sources, likelihood, new rows) and about itself (fit, intervals)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import quoted
from latentbits.data.segments import known_codes, take_out, windows
from latentbits.errors import DataError
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models.base import BinaryModel
from latentbits.models.binary_ica import Method, Posterior, Shrinkage
from latentbits.models.binary_ica.judgement import (
    GoodnessOfFit,
    SourceIntervals,
    bootstrap_fits,
    compare_pairs,
    intervals_of,
    log_variance_sd,
    pair_score,
    variance_intervals,
)
from latentbits.models.binary_ica.learners import segment_correlations
from latentbits.models.binary_ica.parameters import LINK, Parameters, Prior, pairwise_from_model
from latentbits.models.binary_ica.source_posterior import (
    RowPosterior,
    adapted_nodes,
    normal_posterior,
    posterior,
    posterior_of_mixture,
)
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.wording import place


def column_names(data: BinaryData, *, quote: bool = True) -> list[str]:
    """The names of the columns, in quotes for a sentence; "column 3" if they have none."""
    if data.column_names is None:
        return [place("column", j) for j in range(data.shape[1])]
    return [quoted(name) for name in data.column_names] if quote else list(data.column_names)


def rows_and_labels(X: Any, segments: Any) -> tuple[Any, Any]:
    """Rows, and the labels of their segments or None; epochs (sessions x time x channels) become rows in segments."""
    if np.ndim(X) != 3:
        return take_out(X, segments)
    cells = np.asarray(X)
    n_epochs, length, _ = cells.shape
    labels = np.arange(n_epochs) if segments is None else np.asarray(segments)
    if labels.shape == (n_epochs,):
        labels = np.repeat(labels, length)
    return cells.reshape(n_epochs * length, -1), labels


class SourceModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BinaryModel):
    """A model with a mixing, and means and scales of sources in segments: the answers about rows."""

    n_points: int | None
    n_jobs: int | None
    verbose: int
    posterior: Posterior
    mixing_: np.ndarray
    source_means_: np.ndarray
    source_scales_: np.ndarray
    intercepts_: np.ndarray | float = 0.0  # of models that version 0.1 stored
    segments_: np.ndarray
    segment_share_: np.ndarray

    @property
    def n_components_(self) -> int:
        """Number of sources of the fit, given or found."""
        return int(self.mixing_.shape[1])

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: Any, segments: ArrayLike | str | int | None = None) -> np.ndarray:
        """Posterior means of the sources of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            As in `fit`, with labels of the fit. With None segments are unknown and averaged over, by their share of the
            training rows and their likelihood.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Posterior means; missing cells are left out.
        """
        return self._posterior(X, segments, sources=True).mean

    def posterior_sd(self, X: Any, segments: ArrayLike | str | int | None = None) -> np.ndarray:
        """Posterior standard deviations of the sources of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            As in `fit`, with labels of the fit. With None segments are unknown and averaged over, by their share of the
            training rows and their likelihood.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Posterior standard deviations.
        """
        return np.sqrt(self._posterior(X, segments, sources=True).variance)

    def score_samples(self, X: Any, segments: ArrayLike | str | int | None = None) -> np.ndarray:
        """Log likelihood of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            As in `fit`, with labels of the fit. With None segments are unknown and averaged over, by their share of the
            training rows and their likelihood.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log likelihood of the observed cells of each row.
        """
        return self._posterior(X, segments).log_likelihood

    def score(self, X: Any, y: None = None, segments: ArrayLike | str | int | None = None) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            As in `fit`, with labels of the fit. With None segments are unknown and averaged over, by their share of the
            training rows and their likelihood.

        Returns
        -------
        float
            Mean log likelihood of a row; higher is better.
        """
        return float(np.mean(self.score_samples(X, segments)))

    def _parameters(self) -> Parameters:
        return Parameters(self.mixing_, self.source_means_, self.source_scales_, self.intercepts_)

    def _posterior(self, X: Any, segments: ArrayLike | str | int | None, *, sources: bool = False) -> RowPosterior:
        """The posterior of rows; with `sources` only these are asked for, and may be approximated."""
        check_is_fitted(self)
        X, labels = rows_and_labels(X, segments)
        data = self._data(X)
        labels = windows(labels, data.shape[0])
        nodes = adapted_nodes(self._n_features_out, self.n_points)
        with Workers(n_workers(self.n_jobs)) as workers:
            if labels is None:
                return posterior_of_mixture(data.dense(), self.segment_share_, self._parameters(), nodes, workers)
            codes = known_codes(labels, data.shape[0], self.segments_)
            if sources and self.posterior == "normal":
                return normal_posterior(data.dense(), codes, self._parameters(), workers)
            return posterior(data.dense(), codes, self._parameters(), nodes, workers)

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
        return np.asarray(ndtr(LINK * Z @ self.mixing_.T + self.intercepts_))

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


class JudgedSourceModel(SourceModel):
    """A model of sources that can be compared with rows, pair by pair."""

    method: Method
    shrinkage: Shrinkage
    prior: float
    condition_number: float | None
    thresholds_: np.ndarray

    def _rows_and_codes(self, X: Any, segments: ArrayLike | str | int | None) -> tuple[BinaryData, np.ndarray]:
        check_is_fitted(self)
        X, labels = rows_and_labels(X, segments)
        data = self._data(X)
        if labels is None:
            labels = len(self.segments_)  # as `fit` cuts a series
        return data, known_codes(windows(labels, data.shape[0]), data.shape[0], self.segments_)

    def _correlations(self) -> np.ndarray:
        return pairwise_from_model(self.mixing_, self.source_means_, self.source_scales_).correlations

    def goodness_of_fit(self, X: Any, segments: ArrayLike | str | int | None = None) -> GoodnessOfFit:
        """Compare the correlations of the model with those of rows, in standard errors.

        z = (r - rho) / SE for each pair of columns in each segment: r is the tetrachoric correlation of the rows, rho
        that of the model, and SE the standard error that r would have if the model were right.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit, as a rule the rows of the fit.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            As in `fit`, with labels of the fit; None cuts the rows into as many windows as the fit has segments.

        Returns
        -------
        GoodnessOfFit
            `rms_z`, `beyond_3`, the `pairs` from the worst on, and `plot()`.

        Examples
        --------
        >>> from latentbits import BinaryICA, simulate
        >>> truth = simulate.binary_ica(300, 8, 3, 10, random_state=0)
        >>> right, few = (BinaryICA(m, random_state=0).fit(truth.X, segments=10) for m in (3, 2))
        >>> right.goodness_of_fit(truth.X, 10).rms_z < 1.1 < 1.6 < few.goodness_of_fit(truth.X, 10).rms_z
        True
        """
        data, codes = self._rows_and_codes(X, segments)
        present = np.unique(codes)
        found = segment_correlations(data, self.segments_[codes], self.n_jobs)
        return compare_pairs(found, self._correlations()[present], column_names(data, quote=False))

    def pair_score(self, X: Any, segments: ArrayLike | str | int | None = None) -> float:
        """Mean log probability of two cells of a row, over rows and pairs of columns: higher is better.

        The shares of ones of columns are those of the fit's segments, so only correlations are judged.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit, as a rule rows that it hasn't seen.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            As in `fit`, with labels of the fit; None cuts the rows into as many windows as the fit has segments.

        Returns
        -------
        float
            Higher is better.
        """
        data, codes = self._rows_and_codes(X, segments)
        return pair_score(data, codes, self.thresholds_, self._correlations())

    def bootstrap(
        self,
        X: Any,
        segments: ArrayLike | str | int | None = None,
        *,
        n_samples: int = 50,
        level: float = 0.9,
        random_state: RandomSource = 0,
    ) -> SourceIntervals:
        """Intervals of the mixing and of the sources' variances, from fits to rows drawn again within segments.

        Each fit starts from this one, and its sources are put into the order and sign of these. A source that others
        resemble closely may be mixed up with them, which makes its intervals wide.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            The rows of the fit.
        segments : array-like of shape (n_rows,), str, int or None, default=None
            As in `fit`.
        n_samples : int, default=50
            How many fits.
        level : float, default=0.9
            What the intervals should cover.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the draws.

        Returns
        -------
        SourceIntervals
            `mixing` and `variances`, each with estimate, low, high and se.

        Examples
        --------
        >>> from latentbits import BinaryICA, simulate
        >>> truth = simulate.binary_ica(200, 6, 2, 10, random_state=0)
        >>> model = BinaryICA(2, n_init=2, random_state=0).fit(truth.X, segments=10)
        >>> model.bootstrap(truth.X, 10, n_samples=10).mixing.low.shape
        (6, 2)
        """
        if self.method != "blica" or self.shrinkage != "matched":
            raise DataError(
                f"intervals are those of method='blica' with shrinkage='matched', but this is {self.method!r} with "
                f"{self.shrinkage!r}; fit that form to ask for them"
            )
        check_number("n_samples", n_samples, least=2, integer=True)
        check_number("level", level, least=0, below=1, above=True)
        data, codes = self._rows_and_codes(X, segments)
        if len(np.unique(codes)) < len(self.segments_):
            raise DataError("a segment of the fit has no row here; give the rows of the fit")
        seeds = as_generator(random_state).integers(2**31, size=n_samples).tolist()
        fitted, prior = self._parameters(), Prior.of_strength(self.prior)
        fits = bootstrap_fits(
            data,
            self.segments_,
            codes,
            fitted,
            prior,
            self.condition_number,
            seeds,
            self.n_jobs,
            bool(self.verbose),
        )
        found = segment_correlations(data, self.segments_[codes], self.n_jobs)
        log_sd = log_variance_sd(found, np.bincount(codes).astype(float), fitted, prior, self.condition_number)
        mixings = np.stack([fit.mixing for fit in fits])
        variances = np.stack([fit.scales**2 for fit in fits])
        return SourceIntervals(
            intervals_of(self.mixing_, mixings, level),
            variance_intervals(self.source_scales_**2, variances, log_sd, level),
            level,
            n_samples,
            mixings,
            data.column_names,
        )
