"""Files that hold a matrix without names: NumPy and Matrix Market."""

from __future__ import annotations

import math
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from latentbits.data.binary_data import BinaryData
from latentbits.data.encoding import encode
from latentbits.data.messages import Origin, quoted, refusing_damage
from latentbits.data.read_options import ReadOptions
from latentbits.data.text_file import ARRAY_BYTES, check_archive, check_unpacked, open_bytes

_BYTES_A_LINE = 32
"""What each row and column of a sparse matrix costs, empty or not, while its form is changed."""


@dataclass(frozen=True)
class MatrixFile:
    """A file that holds a matrix, to be read; for `FORMATS`."""

    file: Path
    kind: str
    options: ReadOptions
    origin: Origin

    def read(self) -> BinaryData:
        """The data, with the names that the file has."""
        fault = f"this can't be read as a .{self.kind} file of numbers"
        with refusing_damage(self.origin, fault, "save the matrix again"):
            X = self._load()
            if sp.issparse(X):
                size = _BYTES_A_LINE * sum(X.shape)
                check_unpacked(self.file.stat().st_size, size, ARRAY_BYTES, self.origin)
        return BinaryData(*encode(X, binarize=self.options.threshold, origin=self.origin))

    def _load(self) -> Any:
        if self.kind == "mtx":
            return read_matrix_market(self.file, self.origin)
        if self.kind == "npz":
            return _load_npz(self.file, self.options.array, self.origin)
        # Mapped, because memory for what the header claims would be asked for before anything is read.
        return np.array(_of_numbers(np.load(self.file, mmap_mode="r", allow_pickle=False)))


def _load_npz(file: Path, array: str | None, origin: Origin) -> Any:
    """A sparse matrix saved by SciPy, or the array asked for, or the only one, or the one named X or data."""
    check_archive(file, ARRAY_BYTES, origin)
    with np.load(file, allow_pickle=False) as archive:
        for member in archive.zip.infolist():
            with archive.zip.open(member) as stream:
                _check_claim(stream, member.file_size)
        names = archive.files
        if array is None and {"format", "shape"} <= set(names):
            return sp.load_npz(file)
        usual = [name for name in ("X", "x", "data") if name in names]
        name = array or (usual or names or [""])[0]
        if name in names and (array or usual or len(names) == 1):
            return _of_numbers(archive[name])
    listed = ", ".join(map(quoted, names)) or "none"
    raise origin.error(f"the arrays are {listed}; choose one with array=NAME (--array NAME)")


def _of_numbers(array: np.ndarray) -> np.ndarray:
    """The array, unless it holds anything else: texts may be no Unicode, and records of no bytes may be any number."""
    if array.dtype.kind not in "biufc":
        raise ValueError(f"it holds {array.dtype}")
    return array


def _check_claim(stream: IO[bytes], size: int) -> None:
    """Refuse a member whose header claims more than it holds: NumPy would ask for that much memory first."""
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if math.prod(shape) * max(1, dtype.itemsize) > size:
        raise ValueError(f"an array of shape {shape} doesn't fit into {size} bytes")


_COMMENT = "%"
_LAYOUTS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = {"general": 0, "symmetric": 1, "hermitian": 1, "skew-symmetric": -1}
"""What an entry is multiplied by to get the one on the other side of the diagonal; 0 if that is an entry of its own."""


class _Head(NamedTuple):
    """What the first lines say: `n_entries` is None if there is one for each cell."""

    n_rows: int
    n_columns: int
    n_entries: int | None
    is_pattern: bool
    mirror: int


def read_matrix_market(file: Path, origin: Origin) -> Any:
    """Read a matrix from text in the Matrix Market exchange format, compressed or not."""
    with open_bytes(file, origin) as stream:
        text = TextIOWrapper(stream, encoding="latin-1")
        head = _read_head(text)
        width = 1 if head.n_entries is None else 2 if head.is_pattern else 3
        n_entries = _n_stored(head) if head.n_entries is None else head.n_entries
        entries = _read_entries(text, n_entries, width)
    return _dense(head, entries[:, 0]) if head.n_entries is None else _sparse(head, entries)


def _read_head(text: TextIOWrapper) -> _Head:
    banner = text.readline(1000).lower().split()
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError('it does not begin with "%%MatrixMarket matrix", a layout, a field and a symmetry')
    layout, field, symmetry = banner[2:]
    for word, known in ((layout, _LAYOUTS), (field, _FIELDS), (symmetry, tuple(_SYMMETRIES))):
        if word not in known:
            raise ValueError(f"{quoted(word)} is none of {', '.join(known)}")
    is_array = layout == "array"
    if is_array and field == "pattern":
        raise ValueError("an array needs values")
    sizes = next((line for line in text if line.strip() and not line.startswith(_COMMENT)), "").split()
    if len(sizes) != 3 - is_array or not all(size.isascii() and size.isdigit() for size in sizes):
        raise ValueError(f"the line of sizes has to be {'two' if is_array else 'three'} whole numbers")
    n_rows, n_columns = int(sizes[0]), int(sizes[1])
    if symmetry != "general" and n_rows != n_columns:
        raise ValueError(f"{n_rows} x {n_columns} is not {symmetry}")
    return _Head(n_rows, n_columns, None if is_array else int(sizes[2]), field == "pattern", _SYMMETRIES[symmetry])


def _n_stored(head: _Head) -> int:
    """How many cells of an array are in the file: of a symmetric one, those of the lower triangle."""
    if not head.mirror:
        return head.n_rows * head.n_columns
    return head.n_rows * (head.n_rows + head.mirror) // 2


def _read_entries(text: TextIOWrapper, n_entries: int, width: int) -> np.ndarray:
    """So many lines of so many numbers; comments and blank lines are skipped."""
    lines = (line for line in text if line.strip() and not line.startswith(_COMMENT))
    if not n_entries:
        entries = np.empty((sum(1 for _ in lines), width))
    else:
        entries = np.loadtxt(lines, dtype=np.float64, ndmin=2, comments=None, max_rows=n_entries + 1)
    if entries.shape != (n_entries, width):
        found = "more" if len(entries) > n_entries else len(entries)
        raise ValueError(f"there should be {n_entries} lines of {width}, but are {found} of {entries.shape[1]}")
    return entries


def _dense(head: _Head, values: np.ndarray) -> np.ndarray:
    """Cells are stored column by column."""
    if not head.mirror:
        return values.reshape(head.n_columns, head.n_rows).T
    cells = np.zeros((head.n_rows, head.n_rows))
    columns, rows = np.triu_indices(head.n_rows, k=int(head.mirror < 0))
    cells[columns, rows] = head.mirror * values
    cells[rows, columns] = values
    return cells


def _sparse(head: _Head, entries: np.ndarray) -> sp.coo_array:
    places = entries[:, :2] - 1
    inside = (places >= 0) & (places < (head.n_rows, head.n_columns)) & (places == np.floor(places))
    if not inside.all():
        first = int(np.flatnonzero(~inside.all(axis=1))[0])
        row, column = entries[first, :2]
        raise ValueError(f"entry {first + 1} is at {row:g}, {column:g}, outside of {head.n_rows} x {head.n_columns}")
    values = np.ones(len(entries)) if head.is_pattern else entries[:, 2]
    rows, columns = places.astype(np.int64).T
    if head.mirror:
        other = rows != columns
        values = np.concatenate([values, head.mirror * values[other]])
        rows, columns = np.concatenate([rows, columns[other]]), np.concatenate([columns, rows[other]])
    return sp.coo_array((values, (rows, columns)), shape=(head.n_rows, head.n_columns))
