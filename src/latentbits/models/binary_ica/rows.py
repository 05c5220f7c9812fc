"""The distinct rows of each segment with their counts: the likelihoods cost as much as there are distinct rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData

__all__ = ["CountedRows", "count_rows"]


class CountedRows(NamedTuple):
    """cells: (R, n) int8, distinct within a segment, segment after segment. counts: (R,). starts: (U + 1,) ends too."""

    cells: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    def segment(self, u: int) -> tuple[np.ndarray, np.ndarray]:
        """Cells and counts of one segment."""
        part = slice(self.starts[u], self.starts[u + 1])
        return self.cells[part], self.counts[part]


def count_rows(data: BinaryData, codes: np.ndarray, n_segments: int) -> CountedRows:
    """Every row with a segment code from 0 to n_segments - 1, each of which has a row at least."""
    cells = data.dense()
    found = [np.unique(cells[codes == u], axis=0, return_counts=True) for u in range(n_segments)]
    starts = np.concatenate([[0], np.cumsum([len(counts) for _, counts in found])])
    return CountedRows(
        np.ascontiguousarray(np.concatenate([distinct for distinct, _ in found])),
        np.concatenate([counts for _, counts in found]).astype(float),
        starts,
    )
