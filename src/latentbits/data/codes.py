"""How cells are held: one byte each, sparse data with one pair of index types, worked on in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["BAD", "BLOCK_CELLS", "MISSING", "row_blocks", "with_index_types"]

MISSING = -1
"""The code of a missing cell in `BinaryData.cells` and among the stored values of `BinaryData.sparse`."""

BAD = -2
"""The code of a value that is neither 0, 1 nor missing; it never leaves this package."""

BLOCK_CELLS = 1 << 18
"""Cells converted or counted at a time: the temporaries of one block stay in the processor's cache."""


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cover the rows with consecutive slices of about `BLOCK_CELLS` cells.

    Parameters
    ----------
    n_rows, n_columns : int
        The shape of the table.

    Yields
    ------
    slice
        Of rows; at least one row, however many columns it has.

    Examples
    --------
    >>> list(row_blocks(5, BLOCK_CELLS // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, BLOCK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def with_index_types(csr: sp.csr_array) -> sp.csr_array:
    """Sort the indices in place, and make them int32 and indptr int64: the one pair of types that kernels compile for.

    Parameters
    ----------
    csr : scipy.sparse.csr_array
        Changed in place, so it must share no arrays with a caller's matrix.

    Returns
    -------
    scipy.sparse.csr_array
        The same object.
    """
    csr.sort_indices()
    csr.indices = csr.indices.astype("int32", copy=False)
    csr.indptr = csr.indptr.astype("int64", copy=False)
    return csr
