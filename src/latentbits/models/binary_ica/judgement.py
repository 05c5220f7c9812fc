"""What a fitted `BinaryICA` says about itself: does it fit, how sure is it, what does it predict of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.data.segments import known_codes, take_out, windows
from latentbits.errors import DataError
from latentbits.models.binary_ica import Method, Shrinkage
from latentbits.models.binary_ica.advice import column_names
from latentbits.models.binary_ica.answers import SourceModel
from latentbits.models.binary_ica.bootstrap import SourceIntervals, bootstrap_fits, intervals_of
from latentbits.models.binary_ica.learning import segment_correlations
from latentbits.models.binary_ica.pair_fit import GoodnessOfFit, compare_pairs, pair_score
from latentbits.models.binary_ica.parameters import Prior, pairwise_from_model
from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["JudgedSourceModel"]


class JudgedSourceModel(SourceModel):
    """A model of sources that can be compared with rows, pair by pair."""

    method: Method
    shrinkage: Shrinkage
    prior: float
    condition_number: float | None
    thresholds_: np.ndarray

    def _rows_and_codes(self, X: Any, segments: ArrayLike | str | int | None) -> tuple[BinaryData, np.ndarray]:
        check_is_fitted(self)
        X, labels = take_out(X, segments)
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
        fits = bootstrap_fits(
            data,
            self.segments_,
            codes,
            self._parameters(),
            Prior.of_strength(self.prior),
            self.condition_number,
            seeds,
            self.n_jobs,
            bool(self.verbose),
        )
        mixings = np.stack([fit.mixing for fit in fits])
        variances = np.stack([fit.scales**2 for fit in fits])
        return SourceIntervals(
            intervals_of(self.mixing_, mixings, level),
            intervals_of(self.source_scales_**2, variances, level),
            level,
            n_samples,
            mixings,
        )
