"""Cells as bits: an eighth of a byte each, a quarter where some are missing, in memory or in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from latentbits.data.codes import MISSING, row_blocks

__all__ = ["PackedCells", "new_array", "pack"]

MOST_BYTES = 1 << 30
"""Larger arrays are kept in a temporary file, which the operating system pages in and out."""


class PackedCells(NamedTuple):
    """A table of 0, 1 and missing cells, eight of them in a byte; every row begins with a byte of its own.

    Attributes
    ----------
    ones : uint8 array of shape (N, ceil(D / 8))
        The bits of cells that are 1, the first column in the highest bit.
    missing : uint8 array of the same shape, or None
        The bits of missing cells; None if there are none.
    n_columns : int
        D.
    """

    ones: np.ndarray
    missing: np.ndarray | None
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.ones), self.n_columns

    def rows(self, index: slice | np.ndarray) -> PackedCells:
        """These rows, packed; a slice is not copied."""
        return PackedCells(self.ones[index], None if self.missing is None else self.missing[index], self.n_columns)

    def unpacked(self) -> np.ndarray:
        """The codes of all cells: int8, N x D."""
        cells = np.unpackbits(self.ones, axis=1, count=self.n_columns).view(np.int8)
        if self.missing is not None:
            # 0 - 1: a missing cell is no 1, so the subtraction makes it MISSING.
            cells -= np.unpackbits(self.missing, axis=1, count=self.n_columns).view(np.int8)
        return cells


def pack(blocks: Iterable[np.ndarray], n_rows: int, n_columns: int) -> PackedCells:
    """Pack codes that come in blocks of rows.

    Parameters
    ----------
    blocks : iterable of int8 array of shape (n, n_columns)
        Codes 0, 1 and `MISSING`; together `n_rows` rows.
    n_rows, n_columns : int
        The shape of the table.

    Returns
    -------
    PackedCells
        The same cells.

    Examples
    --------
    >>> table = pack([np.array([[0, 1, -1]], np.int8), np.array([[1, 1, 0]], np.int8)], 2, 3)
    >>> table.unpacked()
    array([[ 0,  1, -1],
           [ 1,  1,  0]], dtype=int8)
    """
    shape = (n_rows, -(-n_columns // 8))
    ones, missing, start = new_array(shape, np.uint8), None, 0
    for block in blocks:
        for part in row_blocks(*block.shape):
            cells = block[part]
            rows = slice(start, start + len(cells))
            ones[rows] = np.packbits(cells == 1, axis=1)
            if missing is None and (cells == MISSING).any():
                missing = new_array(shape, np.uint8)
                missing[:start] = 0
            if missing is not None:
                missing[rows] = np.packbits(cells == MISSING, axis=1)
            start = rows.stop
    return PackedCells(ones, missing, n_columns)


def new_array(shape: tuple[int, ...], dtype: type | np.dtype = np.float64) -> np.ndarray:
    """An array whose values are not set; a large one lies in a temporary file that vanishes with it.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype, default=float64
        Its type.

    Returns
    -------
    ndarray
        In memory up to `MOST_BYTES`, memory-mapped beyond.
    """
    if int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize <= MOST_BYTES:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(prefix="latentbits-") as file:  # the map keeps the unnamed file alive
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape).view(np.ndarray)
