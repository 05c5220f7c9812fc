"""Cells as bits, in memory or in a file, and tables that come in blocks of rows, which are packed into bits."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from latentbits.data.codes import MISSING, row_blocks, with_index_types
from latentbits.errors import DataError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

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
    """An array whose values are not set; a large one lies in a temporary file that vanishes with it."""
    if int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize <= MOST_BYTES:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(prefix="latentbits-") as file:  # the map keeps the unnamed file alive
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape).view(np.ndarray)


BLOCK_CELLS = 1 << 24
"""Cells that are read at a time: 16 MB of bytes, 128 MB of floats."""

Encode = Callable[..., "BinaryData"]


def comes_in_blocks(X: Any) -> bool:
    """Whether X is to be read block by block: a memory map, a chunked array, or row blocks one after the other."""
    if isinstance(X, np.memmap):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(getattr(block, "ndim", 0) == 2 for block in X)
    if isinstance(X, np.ndarray) or sp.issparse(X) or isinstance(X, str | bytes | dict):
        return False
    return _is_chunked(X) or (isinstance(X, Iterable) and not hasattr(X, "shape") and not hasattr(X, "columns"))


def _is_chunked(X: Any) -> bool:
    """Whether X is an array of zarr, h5py or Dask: rows can be asked for, and it says in which chunks it is kept."""
    return hasattr(X, "chunks") and hasattr(X, "dtype") and len(getattr(X, "shape", ())) == 2


def read_blocks(X: Any, encode: Encode, binarize: float | None) -> BinaryData:
    """All blocks as one table: bits, or sparse if all of them are."""
    if hasattr(X, "shape"):
        if len(X.shape) != 2 or 0 in X.shape:
            return encode(np.empty(X.shape), binarize=binarize)  # which refuses it in the usual words
        blocks = (encoded_block(part, first, encode, binarize) for first, part in _sliced(X))
        first = next(blocks)
        if not first.is_sparse:
            cells = (block.block(slice(0, block.shape[0])) for block in _with_first(first, blocks))
            return _new_data(packed=pack(cells, *X.shape))
        return stacked([first, *blocks])
    return stacked(_one_by_one(X, encode, binarize))


def _with_first(first: BinaryData, rest: Iterator[BinaryData]) -> Iterator[BinaryData]:
    yield first
    yield from rest


def _sliced(X: Any) -> Iterator[tuple[int, Any]]:
    """The rows of an array, as many at a time as memory allows, and the place of the first of them."""
    step = max(1, BLOCK_CELLS // X.shape[1])
    for first in range(0, X.shape[0], step):
        part = X[first : first + step]
        if isinstance(part, np.memmap):
            part = part.view(np.ndarray)
        yield first, part.compute() if hasattr(part, "compute") else part


def _one_by_one(X: Iterable[Any], encode: Encode, binarize: float | None) -> list[BinaryData]:
    blocks: list[BinaryData] = []
    first = 0
    for number, part in enumerate(X, start=1):
        if getattr(part, "shape", None) is None or len(part.shape) != 2:
            raise DataError(f"block {number} is no table; give an iterable of arrays, sparse matrices or frames")
        if part.shape[0] == 0:  # usual where a stream is filtered
            continue
        block = encoded_block(part, first, encode, binarize)
        blocks.append(block if block.is_sparse else block.to_packed())
        first += block.shape[0]
        _check_columns(number, block, blocks[0])
    if not blocks:
        raise DataError("there is no block of rows; give an iterable of tables, such as a list of arrays")
    return blocks


def _check_columns(number: int, block: BinaryData, like: BinaryData) -> None:
    """Refuse other columns than those of the first block."""
    if block.shape[1] != like.shape[1]:
        reason = f"has {block.shape[1]} columns, and the first has {like.shape[1]}"
    elif sorted(block.column_names or ()) == sorted(like.column_names or ()):
        reason = "has the columns of the first in another order" if block.column_names != like.column_names else ""
    else:
        other = next(
            name for name in block.column_names or ["columns without names"] if name not in (like.column_names or ())
        )
        reason = f"has other columns than the first, such as {other}"
    if reason:
        raise DataError(f"block {number} of rows {reason}; give all blocks the same columns")


def encoded_block(part: Any, first: int, encode: Encode, binarize: float | None) -> BinaryData:
    """A block as data; an error names the row of the whole table, of which the block's first is number `first`."""
    try:
        return encode(part, binarize=binarize)
    except DataError:
        return encode(part, binarize=binarize, row_names=[str(first + i + 1) for i in range(part.shape[0])])


def stacked(blocks: Sequence[BinaryData]) -> BinaryData:
    """Blocks below one another, without row names: sparse if all are, otherwise bits."""
    names = blocks[0].column_names
    if len(blocks) == 1:
        return _new_data(blocks[0].cells, blocks[0].sparse, packed=blocks[0].packed, column_names=names)
    if all(block.sparse is not None for block in blocks):
        # SciPy can't stack unequal index types, which `uniform` makes equal.
        csr = sp.csr_array(sp.vstack([_uniform(block.sparse) for block in blocks]))
        return _new_data(None, with_index_types(csr), column_names=names)
    packed = [part for block in blocks if (part := block.to_packed().packed) is not None]
    return _new_data(packed=_stacked_bits(packed), column_names=names)


def _uniform(csr: Any) -> sp.csr_array:
    return sp.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)


def _stacked_bits(parts: Sequence[PackedCells]) -> PackedCells:
    shape = sum(len(part.ones) for part in parts), parts[0].ones.shape[1]
    ones = np.concatenate([part.ones for part in parts], out=new_array(shape, np.uint8))
    missing = None
    if any(part.missing is not None for part in parts):
        filled = [np.zeros_like(part.ones) if part.missing is None else part.missing for part in parts]
        missing = np.concatenate(filled, out=new_array(shape, np.uint8))
    return PackedCells(ones, missing, parts[0].n_columns)


def _new_data(cells: Any = None, sparse: Any = None, **rest: Any) -> BinaryData:
    from latentbits.data.binary_data import BinaryData  # which reads blocks by this module

    return BinaryData(cells, sparse, **rest)
