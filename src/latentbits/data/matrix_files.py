"""Files that hold a matrix without names: NumPy and Matrix Market."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from latentbits.data.binary_data import BinaryData
from latentbits.data.compressed import ARRAY_BYTES, check_archive, check_unpacked
from latentbits.data.encoding import encode
from latentbits.data.matrix_market import read_matrix_market
from latentbits.data.messages import Origin, quoted, refusing_damage

__all__ = ["read_matrix"]

_BYTES_A_LINE = 32
"""What each row and column of a sparse matrix costs, empty or not, while its form is changed."""


def read_matrix(file: Path, kind: str, array: str | None, threshold: float | None, origin: Origin) -> BinaryData:
    """Read a matrix without names.

    Parameters
    ----------
    file : pathlib.Path
        The file.
    kind : {"npy", "npz", "mtx"}
        Its format.
    array : str or None
        The array to read from an .npz file.
    threshold : float or None
        Every number >= `threshold` is 1 and every smaller one 0.
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    BinaryData
        The data, with the names that the file has.

    Raises
    ------
    DataError
        If the file can't be read, or holds something else than 0-1 data.
    """
    with refusing_damage(origin, f"this can't be read as a .{kind} file of numbers", "save the matrix again"):
        if kind == "mtx":
            X = read_matrix_market(file, origin)
        elif kind == "npy":
            # Mapped, because memory for what the header claims would be asked for before anything is read.
            X = np.array(_of_numbers(np.load(file, mmap_mode="r", allow_pickle=False)))
        else:
            X = _load_npz(file, array, origin)
        if sp.issparse(X):
            check_unpacked(file.stat().st_size, _BYTES_A_LINE * sum(X.shape), ARRAY_BYTES, origin)
    return BinaryData(*encode(X, binarize=threshold, origin=origin))


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
