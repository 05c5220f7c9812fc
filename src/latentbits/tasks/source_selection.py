"""The number of sources of data in segments, by pairs of cells of rows that were held out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.data.segments import encode_labels, take_out, windows
from latentbits.errors import DataError
from latentbits.models.binary_ica.judgement import pair_score
from latentbits.tasks import trials


class SegmentedRows(NamedTuple):
    """Rows with the labels of their segments, and the fold in which each row is held out."""

    data: BinaryData
    labels: np.ndarray
    fold: np.ndarray

    @classmethod
    def of(cls, X: Any, segments: Any, binarize: float | None, n_folds: int, seed: int) -> SegmentedRows:
        """Rows of every segment are spread evenly over the folds, at random."""
        X, given = take_out(X, segments)
        data = BinaryData.of(X, binarize=binarize)
        names, codes = encode_labels(windows(given, data.shape[0]), data.shape[0])
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
        model = make().fit(self.data.rows(train), segments=self.labels[train])
        score = float(model.pair_score(self.data.rows(test), segments=self.labels[test]))
        return trials.Outcome(trials.summary_of(model), 0.0, {"pairs": score})

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
