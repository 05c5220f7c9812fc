"""Files that hold a matrix or a typed table: NumPy, Matrix Market and Parquet."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from latentbits.data.binary_data import BinaryData
from latentbits.data.columns import ColumnChoice
from latentbits.data.encoding import encode
from latentbits.data.messages import Origin, quoted
from latentbits.data.names import check_column_names
from latentbits.errors import DataError

__all__ = ["read_matrix", "read_parquet"]


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


def read_parquet(file: Path, choice: ColumnChoice, threshold: float | None, origin: Origin) -> BinaryData:
    """Read a Parquet file; unless the caller says otherwise, a first column of text beside others holds the labels.

    Parameters
    ----------
    file : pathlib.Path
        The file.
    choice : ColumnChoice
        The columns asked for.
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
        If pyarrow is not installed, the file can't be read, or it holds something else than 0-1 data.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise origin.error('reading Parquet needs pyarrow; pip install "latentbits[parquet]"') from None
    import pandas as pd  # late: only this format needs it

    try:
        frame = pd.read_parquet(file, engine="pyarrow")
    except (ValueError, OSError) as error:
        raise origin.error(f"this can't be read as Parquet ({error}); save the table again") from None
    names = check_column_names(frame.columns, origin)
    label = choice.label(names, origin)
    if choice.row_labels is None and len(names) > 1 and pd.api.types.is_string_dtype(frame.iloc[:, 0]):
        label = 0
    rows = None if label is None else [str(name) for name in frame.iloc[:, label]]
    chosen = frame.iloc[:, choice.data(names, label, origin)]
    data = BinaryData(*encode(chosen, binarize=threshold, row_names=rows, origin=origin))
    return replace(data, row_label=None if label is None else names[label])
