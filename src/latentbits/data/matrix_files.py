"""Files that hold a matrix without names: NumPy and Matrix Market."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from latentbits.data.binary_data import BinaryData
from latentbits.data.encoding import encode
from latentbits.data.messages import Origin, quoted
from latentbits.errors import DataError

__all__ = ["read_matrix"]


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
    try:
        if kind == "mtx":
            X = scipy.io.mmread(file)
        elif kind == "npy":
            X = np.load(file, allow_pickle=False)
        else:
            X = _load_npz(file, array, origin)
    except DataError:  # a ValueError too, but it already says what to do
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise origin.error(
            f"this can't be read as a .{kind} file of numbers ({error}); save the matrix again"
        ) from None
    return BinaryData(*encode(X, binarize=threshold, origin=origin))


def _load_npz(file: Path, array: str | None, origin: Origin) -> Any:
    """A sparse matrix saved by SciPy, or the array asked for, or the only one, or the one named X or data."""
    with np.load(file, allow_pickle=False) as archive:
        names = archive.files
        if array is None and {"format", "shape"} <= set(names):
            return sp.load_npz(file)
        usual = [name for name in ("X", "x", "data") if name in names]
        name = array or (usual or names or [""])[0]
        if name in names and (array or usual or len(names) == 1):
            return archive[name]
    listed = ", ".join(map(quoted, names)) or "none"
    raise origin.error(f"the arrays are {listed}; choose one with array=NAME (--array NAME)")
