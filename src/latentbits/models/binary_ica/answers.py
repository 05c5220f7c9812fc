"""What a fitted `BinaryICA` says about rows: their sources, their likelihood, and rows drawn from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from latentbits.data.segments import known_codes, take_out, windows
from latentbits.errors import DataError
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models.base import BinaryModel
from latentbits.models.binary_ica import Posterior
from latentbits.models.binary_ica.parameters import LINK, Parameters
from latentbits.models.binary_ica.posterior import (
    RowPosterior,
    adapted_nodes,
    normal_posterior,
    posterior,
    posterior_of_mixture,
)
from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["SourceModel"]


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
    def _n_features_out(self) -> int:
        return int(self.mixing_.shape[1])

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
        X, labels = take_out(X, segments)
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
