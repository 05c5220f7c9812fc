"""The container of 0-1 data.

Models read `cells` (or `sparse`) and may rely on the stated dtypes and values without checking again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from latentbits.data.codes import MISSING, row_blocks, with_index_types
from latentbits.data.encoding import (
    MOST_BYTES,
    PackedCells,
    check_threshold,
    comes_in_blocks,
    encode,
    pack,
    read_blocks,
)
from latentbits.data.messages import choose_names
from latentbits.data.row_facts import RowFacts
from latentbits.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.data.marks import PlacedMarks


@dataclass(frozen=True, eq=False, repr=False)
class BinaryData:
    """An N x D table of 0, 1 and missing cells, dense, sparse or packed into bits, with its names.

    Make one with `BinaryData.of`, which checks the values; the constructor trusts its arguments.

    It can stand where scikit-learn and NumPy expect a table: `data[rows]` selects rows with their names, `data[i]` is
    one row as an array, and `len(data)` is the number of rows. `np.asarray(data)` is a new int8 array of 0 and 1 or, if
    any cell is missing, a new float64 array in which these are NaN. Sparse and packed data of which the array would
    take more than 1 GiB are refused.

    Attributes
    ----------
    cells : int8 array, C-contiguous, or None
        The values 0, 1 and `MISSING`; None when the data are sparse or packed.
    sparse : scipy.sparse.csr_array or None
        Stored values (int8) are 1 or `MISSING`, absent cells are 0. Indices are sorted int32 without
        duplicates, indptr is int64; select rows with `rows`, as SciPy's slicing wants equal types.
        None when the data are dense or packed.
    packed : PackedCells or None
        The cells as bits, an eighth of the memory: the form of large tables, which are read block by block. None when
        the data are dense or sparse.
    row_names : list of str or None
        One name for each row.
    column_names : list of str or None
        One name for each column.
    row_label : str or None
        What the row names are called: the name of the column that they came from.
    metadata : dict of str to list of str, or None
        What else is known of the rows, such as a party or a management type: for each name one text a row, empty
        where there is none. No model uses it.
    notes : tuple of str
        What was decided when the data were read: which column names the rows, and which are metadata.
    reading : dict or None
        How the file was read: the options of `read_table` that read another file in the same way. None for data that
        come from no file.
    marks : PlacedMarks or None
        Cells that somebody has checked (see `apply_marks`): models neither suspect nor change them.
    facts : RowFacts or None
        Covariates, coordinates and effort of the rows, for the models that use them.

    Examples
    --------
    >>> from latentbits import BinaryData
    >>> data = BinaryData.of([[0, 1, None], [1, 1, 0]], column_names=["Equus", "Sus", "Bos"])
    >>> data
    BinaryData(2 rows x 3 columns, 3 ones, 1 missing)
    >>> data.ones_per_column()
    array([1., 2., 0.])
    >>> data.density
    0.6
    >>> import numpy as np
    >>> np.asarray(data)
    array([[ 0.,  1., nan],
           [ 1.,  1.,  0.]])
    >>> data[1:]
    BinaryData(1 rows x 3 columns, 2 ones, 0 missing)
    >>> BinaryData.of([[0, 3], [1, 0]])
    Traceback (most recent call last):
    ...
    latentbits.errors.DataError: row 1, column 2: value 3 is neither 0 nor 1; use binarize=1 to call every \
value >= 1 present
    """

    cells: np.ndarray | None
    sparse: sp.csr_array | None = None
    packed: PackedCells | None = field(default=None, kw_only=True)
    row_names: list[str] | None = None
    column_names: list[str] | None = None
    row_label: str | None = None
    metadata: dict[str, list[str]] | None = None
    notes: tuple[str, ...] = ()
    reading: dict[str, Any] | None = None
    marks: PlacedMarks | None = None
    facts: RowFacts | None = None

    def __post_init__(self) -> None:
        if sum(form is not None for form in (self.cells, self.sparse, self.packed)) != 1:
            raise DataError("BinaryData takes either cells, sparse or packed; use BinaryData.of(X) to make one from X")

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        binarize: float | None = None,
        row_names: Sequence[object] | None = None,
        column_names: Sequence[object] | None = None,
        rows: Any = None,
        covariates: Sequence[str] | None = None,
        coordinates: Sequence[str] | None = None,
        effort: str | None = None,
    ) -> BinaryData:
        """Check `X` and encode it.

        Parameters
        ----------
        X : BinaryData, array, list of lists, SciPy sparse, a pandas, polars or Arrow frame, or blocks of rows
            Bool, integer, float or object values. NaN, None, pd.NA, nulls and masked entries are missing
            cells; in a sparse matrix only a stored NaN is missing, an absent entry is 0. A frame's column
            names are kept, and so is a pandas index other than the default one.
            `X` is never changed. A C-contiguous array of one-byte 0-1 values (bool, int8, uint8) is used
            without a copy, so changing it later changes the data; everything else is converted.
            BinaryData come back as they are. Memory maps, arrays of zarr, h5py and Dask, and iterables of row blocks
            (arrays, sparse matrices or frames with the same columns) are read block by block and packed into bits.
        binarize : float, optional
            Every value >= `binarize` counts as 1, every smaller one as 0. By default values are taken
            strictly: anything but 0, 1 and missing is an error.
        row_names, column_names : sequence, optional
            Names to use instead of those of `X`.
        rows : data frame or RowFacts, optional
            What is known of the rows, a line for each, in the same order.
        covariates : sequence of str, optional
            Columns of `rows` that are covariates; by default all but coordinates and effort.
        coordinates : two names, optional
            Columns of `rows` that say where a row is, such as ("lon", "lat").
        effort : str, optional
            The column of `rows` that says how much a row was looked at, such as minutes.

        Returns
        -------
        BinaryData
            The checked data; `X` itself if it already is BinaryData with these names.

        Raises
        ------
        DataError
            With the number of bad cells and the first three of them. Rows and columns without names are
            counted from 1. A cell that is no number or text at all raises its subclass `DataTypeError`.

        Examples
        --------
        >>> from latentbits import BinaryData
        >>> BinaryData.of([[0.2, 4.0], [1.0, float("nan")]], binarize=1).dense()
        array([[ 0,  1],
               [ 1, -1]], dtype=int8)
        """
        if rows is not None:
            data = cls.of(X, binarize=binarize, row_names=row_names, column_names=column_names)
            return data.with_facts(RowFacts.of(rows, covariates=covariates, coordinates=coordinates, effort=effort))
        if any(role is not None for role in (covariates, coordinates, effort)):
            raise DataError("covariates, coordinates and effort name columns of rows; give rows=frame too")
        if comes_in_blocks(X):
            X = read_blocks(X, cls.of, binarize)
        if not isinstance(X, BinaryData):
            return cls(*encode(X, binarize=binarize, row_names=row_names, column_names=column_names))
        check_threshold(binarize)
        rows, columns = choose_names(X.shape, row_names, column_names, own=(X.row_names, X.column_names))
        same = rows is X.row_names and columns is X.column_names
        return X if same else replace(X, row_names=rows, column_names=columns)

    def __repr__(self) -> str:
        n_rows, n_columns = self.shape
        form = "sparse, " if self.is_sparse else "packed, " if self.packed is not None else ""
        return f"BinaryData({form}{n_rows} rows x {n_columns} columns, {self.n_ones} ones, {self.n_missing} missing)"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        form = self.cells if self.cells is not None else self.sparse if self.sparse is not None else self.packed
        assert form is not None
        n_rows, n_columns = form.shape
        return int(n_rows), int(n_columns)

    @property
    def ndim(self) -> int:
        """Number of dimensions, always 2."""
        return 2

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("BinaryData are always copied to an array; leave out copy=False")
        wanted = np.dtype(dtype or (np.float64 if self.has_missing else np.int8))
        n_bytes = wanted.itemsize * self.shape[0] * self.shape[1]
        if self.cells is None and n_bytes > MOST_BYTES:
            raise DataError(
                f"the array would take {n_bytes / 2**30:.1f} GiB; give the BinaryData to a model of latentbits, or "
                "take some rows at a time, such as data[:1000]"
            )
        if not self.has_missing:
            return self.dense().astype(wanted)
        if wanted.kind not in "fcO":
            raise DataError(
                f"{wanted} can't hold missing cells, of which the data have {self.n_missing}; use dtype=float, where "
                "they are NaN"
            )
        cells = self.dense().astype(wanted)
        cells[cells == MISSING] = np.nan
        return cells

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            index, *others = index  # scikit-learn says data[rows, ...]
            if any(other is not ... and other != slice(None) for other in others):
                raise IndexError(
                    "BinaryData are indexed by rows; take columns from np.asarray(data) or data.to_frame()"
                )
        if isinstance(index, Integral):
            return np.asarray(self.rows([int(index)]))[0]
        return self.rows(index)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    @property
    def is_sparse(self) -> bool:
        """Whether the data are held as a sparse matrix."""
        return self.sparse is not None

    @property
    def n_stored(self) -> int | None:
        """Number of cells that sparse data store, the ones and the missing; None if the data aren't sparse."""
        return None if self.sparse is None else int(self.sparse.nnz)

    @cached_property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(self._count_per_row(MISSING).sum())

    @cached_property
    def n_ones(self) -> int:
        """Number of ones."""
        return int(self._count_per_row(1).sum())

    @property
    def has_missing(self) -> bool:
        """Whether any cell is missing."""
        return self.n_missing > 0

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        n_rows, n_columns = self.shape
        return n_rows * n_columns - self.n_missing

    @property
    def density(self) -> float:
        """Share of ones among the observed cells; 0.0 when nothing is observed."""
        return self.n_ones / self.n_observed if self.n_observed else 0.0

    def ones_per_row(self) -> np.ndarray:
        """Count the ones in each row.

        Returns
        -------
        float64 array of shape (N,)
            The counts.
        """
        return self._count_per_row(1)

    def ones_per_column(self, row_weight: np.ndarray | None = None) -> np.ndarray:
        """Count the ones in each column.

        Parameters
        ----------
        row_weight : array of shape (N,), optional
            How many times each row counts; once by default.

        Returns
        -------
        float64 array of shape (D,)
            The counts.

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BinaryData
        >>> BinaryData.of([[0, 1], [1, 1]]).ones_per_column(row_weight=np.array([1.0, 2.0]))
        array([2., 3.])
        """
        return self._count_per_column(1, row_weight)

    def observed_per_row(self) -> np.ndarray:
        """Count the cells in each row that are not missing.

        Returns
        -------
        float64 array of shape (N,)
            The counts.
        """
        return self.shape[1] - self._count_per_row(MISSING)

    def observed_per_column(self, row_weight: np.ndarray | None = None) -> np.ndarray:
        """Count the cells in each column that are not missing.

        Parameters
        ----------
        row_weight : array of shape (N,), optional
            How many times each row counts; once by default.

        Returns
        -------
        float64 array of shape (D,)
            The counts.
        """
        n_rows = self.shape[0] if row_weight is None else row_weight.sum()
        return n_rows - self._count_per_column(MISSING, row_weight)

    def _count_per_row(self, code: int) -> np.ndarray:
        if self.sparse is not None:
            # By cumulative sums, as np.add.reduceat doesn't give 0 for a row without stored cells.
            before = np.concatenate(([0], np.cumsum(self.sparse.data == code)))
            return np.diff(before[self.sparse.indptr]).astype(np.float64)
        counts = [np.count_nonzero(block == code, axis=1) for block in self._blocks()]
        return np.concatenate(counts, dtype=np.float64) if counts else np.zeros(0)

    def _count_per_column(self, code: int, row_weight: np.ndarray | None = None) -> np.ndarray:
        n_rows, n_columns = self.shape
        weight = np.ones(n_rows) if row_weight is None else np.asarray(row_weight, np.float64)
        if self.sparse is not None:
            chosen = self.sparse.data == code
            of_cell = np.repeat(weight, np.diff(self.sparse.indptr))[chosen]
            counts = np.bincount(self.sparse.indices[chosen], weights=of_cell, minlength=n_columns)
            return counts.astype(np.float64)  # without any cell NumPy counts in integers
        total = np.zeros(n_columns)
        for rows in row_blocks(n_rows, n_columns):
            total += weight[rows] @ (self.block(rows) == code)
        return total

    def _blocks(self) -> Iterator[np.ndarray]:
        """Consecutive row blocks, dense."""
        for rows in row_blocks(*self.shape):
            yield self.block(rows)

    def dense(self) -> np.ndarray:
        """Return the cells as a dense array.

        Returns
        -------
        int8 array of shape (N, D)
            `cells` itself; made anew on each call if the data are sparse or packed.
        """
        return self.block(slice(0, self.shape[0]))

    def block(self, rows: slice) -> np.ndarray:
        """Return consecutive rows as a dense array.

        Parameters
        ----------
        rows : slice
            From the first row to behind the last one.

        Returns
        -------
        int8 array of shape (n, D)
            A view of `cells`; made anew on each call if the data are sparse or packed.

        Examples
        --------
        >>> from latentbits import BinaryData
        >>> BinaryData.of([[0, 1], [1, 1], [0, 0]]).block(slice(1, 3))
        array([[1, 1],
               [0, 0]], dtype=int8)
        """
        if self.cells is not None:
            return self.cells[rows]
        if self.packed is not None:
            return self.packed.rows(rows).unpacked()
        csr = self.sparse
        assert csr is not None
        first, last = csr.indptr[rows.start], csr.indptr[rows.stop]
        cells = np.zeros((rows.stop - rows.start, self.shape[1]), np.int8)
        place = np.repeat(np.arange(len(cells)), np.diff(csr.indptr[rows.start : rows.stop + 1]))
        cells[place, csr.indices[first:last]] = csr.data[first:last]
        return cells

    def to_packed(self) -> BinaryData:
        """Pack the cells into bits.

        Returns
        -------
        BinaryData
            The same data with `packed` in place of the other form.

        Examples
        --------
        >>> from latentbits import BinaryData
        >>> BinaryData.of([[0, 1], [1, None]]).to_packed()
        BinaryData(packed, 2 rows x 2 columns, 2 ones, 1 missing)
        """
        if self.packed is not None:
            return self
        return replace(self, cells=None, sparse=None, packed=pack(self._blocks(), *self.shape))

    def rows(self, index: slice | Sequence[int] | np.ndarray) -> BinaryData:
        """Select rows.

        Parameters
        ----------
        index : slice, sequence of int, or array of int or bool
            As NumPy takes it.

        Returns
        -------
        BinaryData
            These rows, in this order; a contiguous slice of dense data is not copied.

        Examples
        --------
        >>> from latentbits import BinaryData
        >>> BinaryData.of([[0, 1], [1, 1]], row_names=["a", "b"]).rows([1]).row_names
        ['b']
        """
        chosen = index if isinstance(index, slice) else np.asarray(index, dtype=None if len(index) else int)
        beside = self._beside(chosen) if self._has_more_than_cells() else {}
        if self.sparse is not None:
            parts = (self.sparse.data, self.sparse.indices, self.sparse.indptr)
            uniform = sp.csr_array(parts, shape=self.shape)  # SciPy can't slice unequal index types
            return replace(self, sparse=with_index_types(uniform[chosen]), **beside)
        if self.packed is not None:
            return replace(self, packed=self.packed.rows(chosen), **beside)
        return replace(self, cells=np.ascontiguousarray(self.dense()[chosen]), **beside)

    def _has_more_than_cells(self) -> bool:
        return bool(self.row_names or self.metadata or self.marks) or self.facts is not None

    def _beside(self, chosen: slice | np.ndarray) -> dict[str, Any]:
        """What is known of these rows beside their cells."""
        kept = np.arange(self.shape[0])[chosen]
        return {
            "row_names": self.row_names and [self.row_names[i] for i in kept],
            "metadata": self.metadata and {name: [texts[i] for i in kept] for name, texts in self.metadata.items()},
            "marks": self.marks and self.marks.of_rows(kept),
            "facts": None if self.facts is None else self.facts[kept],
        }

    def with_facts(self, facts: RowFacts | None) -> BinaryData:
        """Set what is known of the rows.

        Parameters
        ----------
        facts : RowFacts or None
            A line for each row; None for nothing.

        Returns
        -------
        BinaryData
            The same cells, not copied.
        """
        if facts is not None and len(facts) != self.shape[0]:
            raise DataError(f"rows has {len(facts)} lines, the data {self.shape[0]} rows; give one line per row")
        return replace(self, facts=facts)

    def without_names(self) -> BinaryData:
        """Leave out everything but the cells.

        Returns
        -------
        BinaryData
            The same cells, not copied.
        """
        return BinaryData(self.cells, self.sparse, packed=self.packed)

    def hide(self, cells: np.ndarray) -> BinaryData:
        """Make more cells missing.

        Parameters
        ----------
        cells : bool array of shape (N, D)
            True where a cell becomes missing.

        Returns
        -------
        BinaryData
            A copy; these data are not changed.

        Raises
        ------
        DataError
            If `cells` has another shape.

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BinaryData
        >>> BinaryData.of([[0, 1], [1, 1]]).hide(np.array([[True, False], [False, True]])).dense()
        array([[-1,  1],
               [ 1, -1]], dtype=int8)
        """
        if cells.shape != self.shape:
            raise DataError(f"the cells to hide have the shape {cells.shape}, the data {self.shape}; give one of each")
        if self.sparse is None:
            return replace(self, cells=np.where(cells, np.int8(MISSING), self.dense()), packed=None)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.sparse.indptr))
        stored, hidden = (rows, self.sparse.indices), np.nonzero(cells)
        kept = ~cells[stored]
        codes = np.concatenate([self.sparse.data[kept], np.full(len(hidden[0]), MISSING, np.int8)])
        places = tuple(np.concatenate([a[kept], b]) for a, b in zip(stored, hidden, strict=True))
        return replace(self, sparse=with_index_types(sp.coo_array((codes, places), shape=self.shape).tocsr()))

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas frame with the names.

        Returns
        -------
        pandas.DataFrame
            Of nullable Int8 columns; missing cells are pd.NA.

        Examples
        --------
        >>> from latentbits import BinaryData
        >>> BinaryData.of([[0, 1], [None, 1]], column_names=["Equus", "Sus"]).to_frame()
           Equus  Sus
        0      0    1
        1   <NA>    1
        """
        import pandas as pd  # late: importing the library should not cost pandas' import time

        dense = self.dense()
        columns = {
            j: pd.arrays.IntegerArray(np.maximum(column, 0), column == MISSING) for j, column in enumerate(dense.T)
        }
        frame = pd.DataFrame(columns, index=self.row_names)
        if self.column_names is not None:
            frame.columns = self.column_names
        return frame

    def fingerprint(self) -> str:
        """Identify shape, cells, column names and what is known of the rows.

        Returns
        -------
        str
            16 hex digits, the same for dense and sparse data.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> from latentbits import BinaryData
        >>> BinaryData.of([[0, 1]]).fingerprint() == BinaryData.of(csr_array([[0, 1]])).fingerprint()
        True
        """
        # Of the cells that are not 0 only, which dense and sparse data list in the same order.
        places, codes = hashlib.sha256(), hashlib.sha256()
        for place, code in self._filled():
            places.update(place.astype("<i8").tobytes())
            codes.update(code.tobytes())
        known = [] if self.facts is None else [self.facts.checksum()]
        heading = json.dumps([self.shape, self.column_names, places.hexdigest(), codes.hexdigest(), *known])
        return hashlib.sha256(heading.encode()).hexdigest()[:16]

    def _filled(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Flat places (row-major, ascending) and codes of the cells that are not 0, block by block."""
        n_rows, n_columns = self.shape
        if self.sparse is not None:
            rows = np.repeat(np.arange(n_rows), np.diff(self.sparse.indptr))
            yield rows * n_columns + self.sparse.indices, self.sparse.data
            return
        start = 0
        for block in self._blocks():
            flat = block.ravel()
            filled = np.flatnonzero(flat)
            yield filled + start, flat[filled]
            start += flat.size
