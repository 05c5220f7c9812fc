"""The number of sources of data in segments, by pairs of cells of rows that were held out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.data.segments import encode_labels, windows
from latentbits.errors import DataError
from latentbits.models.binary_ica.judgement import pair_score
from latentbits.models.binary_ica.source_model import pairwise_from_model, rows_and_labels
from latentbits.tasks import trials
from latentbits.tasks.pair_gains import HeldOutRows


def labelled_rows(X: Any, segments: Any, estimator: Any) -> tuple[BinaryData, np.ndarray, np.ndarray]:
    """Rows, the distinct labels of their segments, and for each row the position of its own, as the estimator's fit."""
    X, labels = rows_and_labels(X, segments)
    data = BinaryData.of(X, binarize=estimator.binarize)
    N = data.shape[0]
    return data, *encode_labels(windows(min(estimator.n_segments, N) if labels is None else labels, N), N)


class SegmentedRows(NamedTuple):
    """Rows with the labels of their segments, and the fold in which each row is held out."""

    data: BinaryData
    labels: np.ndarray
    fold: np.ndarray

    @classmethod
    def of(cls, X: Any, segments: Any, estimator: Any, n_folds: int, seed: int) -> SegmentedRows:
        """Rows of every segment are spread evenly over the folds, at random."""
        data, names, codes = labelled_rows(X, segments, estimator)
        smallest = int(np.bincount(codes).min())
        if smallest < n_folds:
            raise DataError(
                f"n_folds={n_folds} (--folds) must be at most the number of rows of the smallest segment, {smallest}; "
                "use fewer folds, or longer segments"
            )
        rng = np.random.default_rng(seed)
        fold = np.empty(len(codes), dtype=int)
        for u in range(len(names)):
            rows = np.flatnonzero(codes == u)
            fold[rng.permutation(rows)] = np.arange(len(rows)) % n_folds
        return cls(data, names[codes], fold)

    def fit(self, estimator: Any) -> trials.Outcome:
        """A fit on all rows."""
        return trials.fit_all(_WithSegments(estimator, self.labels), self.data)

    def held_out(self, make: Callable[[], Any], fold: int) -> trials.Outcome:
        """A fit without a fold's rows, and how well it predicts the pairs of these."""
        train, test = np.flatnonzero(self.fold != fold), np.flatnonzero(self.fold == fold)
        fitted = trials.fit_all(_WithSegments(make(), self.labels[train]), self.data.rows(train))
        score = float(fitted.model.pair_score(self.data.rows(test), segments=self.labels[test]))
        return trials.Outcome(trials.summary_of(fitted.model), fitted.seconds, {"pairs": score})

    def predicted(self, make: Callable[[], Any], fold: int) -> HeldOutRows:
        """A fold's rows, with what a fit without them says of their pairs."""
        train, test = np.flatnonzero(self.fold != fold), np.flatnonzero(self.fold == fold)
        model = make().fit(self.data.rows(train), segments=self.labels[train])
        _, codes = encode_labels(self.labels[test], len(test))
        correlations = pairwise_from_model(model.mixing_, model.source_means_, model.source_scales_).correlations
        return HeldOutRows(self.data.rows(test), codes, model.thresholds_, correlations)

    def without_sources(self, fold: int) -> trials.Outcome:
        """The score of independent columns, whose shares of ones are those of each segment."""
        from latentbits.correlations.tetrachoric import estimate

        train, test = np.flatnonzero(self.fold != fold), np.flatnonzero(self.fold == fold)
        found, _ = estimate(self.data.rows(train), self.labels[train])
        _, codes = encode_labels(self.labels[test], len(test))
        independent = np.broadcast_to(np.eye(self.data.shape[1]), found.correlations.shape)
        score = pair_score(self.data.rows(test), codes, found.thresholds, independent)
        return trials.Outcome(None, 0.0, {"pairs": score})


class _WithSegments(NamedTuple):
    """An estimator whose `fit` knows the segments."""

    estimator: Any
    labels: np.ndarray

    def fit(self, data: BinaryData) -> Any:
        return self.estimator.fit(data, segments=self.labels)


def pair_jobs(
    rows: SegmentedRows, make: Callable[[int], Callable[[], Any]], numbers: list[int], n_folds: int
) -> dict[tuple[str, int, int], Callable[[], trials.Outcome]]:
    """All fits: of each number to all rows, and without each fold; number 0 is independent columns."""
    jobs: dict[tuple[str, int, int], Callable[[], trials.Outcome]] = {}
    for k in reversed(numbers):  # the longest first, so that no thread is left with it at the end
        if k:
            jobs["all", k, 0] = partial(_fit_all, rows, make(k))
        for fold in range(n_folds):
            jobs["pairs", k, fold] = partial(rows.held_out, make(k), fold) if k else partial(rows.without_sources, fold)
    return jobs


def _fit_all(rows: SegmentedRows, make: Callable[[], Any]) -> trials.Outcome:
    return rows.fit(make())  # created in the job, so that a waiting job costs no memory
