"""The folder of data sets that aren't shipped: where a file is looked for, and how it is opened or refused."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latentbits.errors import DataError

_DATA_VARIABLE = "LATENTBITS_DATA"
_UNREADABLE = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)

DOWNLOAD_FAILURES = (OSError, HTTPException, EOFError, ValueError, zlib.error)
"""What scikit-learn's fetchers raise without a network, for a damaged answer, and for a wrong check sum."""


def data_folder() -> Path | None:
    """Return the folder named by the environment variable LATENTBITS_DATA, or None if it isn't set.

    Data sets that can't be shipped with the library are looked for there.

    Returns
    -------
    pathlib.Path or None
        The folder.

    Raises
    ------
    FileNotFoundError
        If the variable is set but names no folder.

    Examples
    --------
    >>> from latentbits.datasets import data_folder
    >>> folder = data_folder()
    >>> folder is None or folder.is_dir()
    True
    """
    named = os.environ.get(_DATA_VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{_DATA_VARIABLE} names {named!r}, which is not a folder; correct or unset it.")
    return folder


class Numbers(NamedTuple):
    """What an array must be: numbers, none missing.

    Attributes
    ----------
    axes : tuple of str
        A name for each axis; equal names, also of different arrays, mean equal lengths.
    low, high : float, optional
        The limits of the numbers.
    """

    axes: tuple[str, ...]
    low: float = -inf
    high: float = inf

    def fault(self, array: NDArray[Any]) -> str | None:
        """Say what is wrong with an array."""
        if array.dtype.kind not in "biuf":
            return "holds no numbers"
        return None if ((array >= self.low) & (array <= self.high)).all() else f"holds numbers {self._outside()}"

    def _outside(self) -> str:
        return "that are missing" if self.low == -inf else f"outside {self.low:g} to {self.high:g}"


class Words(NamedTuple):
    """What an array must be: text.

    Attributes
    ----------
    axes : tuple of str
        A name for each axis; equal names, also of different arrays, mean equal lengths.
    """

    axes: tuple[str, ...]

    def fault(self, array: NDArray[Any]) -> str | None:
        """Say what is wrong with an array."""
        return None if array.dtype.kind == "U" else "holds no text"


@dataclass(frozen=True)
class Source:
    """One file of the data folder.

    Attributes
    ----------
    file : str
        Its name.
    recipe : str
        What it is made from, as error messages say it.
    """

    file: str
    recipe: str

    def find(self) -> Path | None:
        """Find the file."""
        folder = data_folder()
        file = folder and folder / self.file
        return file if file and file.is_file() else None

    def path(self) -> Path:
        """Find the file, which must be there."""
        file = self.find()
        if file is None:
            raise self.missing()
        return file

    def missing(self, download: Exception | None = None) -> FileNotFoundError:
        """Make the error for a file that isn't there."""
        folder = data_folder()
        tried = f", and its download failed ({_first_line(download)})" if download else ""
        if folder is None:
            place = f"{_DATA_VARIABLE} is not set, so {self.file} can't be found{tried}"
            put = f"put it into a folder of your choice and name that folder in {_DATA_VARIABLE}"
        else:
            place = f"{self.file} is not in {str(folder)!r}, the folder that {_DATA_VARIABLE} names{tried}"
            put = "and put it there"
        return FileNotFoundError(f"{place}; make it from {self.recipe}, {put}.")

    def error(self, fault: str) -> DataError:
        """Make the error for a file that isn't what it should be."""
        return DataError(f"{self.file}: {fault}; make it again from {self.recipe}")

    def arrays(self, expected: Mapping[str, Numbers | Words]) -> dict[str, NDArray[Any]]:
        """Read arrays of an .npz file."""
        file = self.path()
        try:
            with zipfile.ZipFile(file):  # np.load would take any file of NumPy's for an archive
                pass
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in expected if name in archive.files}
        except _UNREADABLE as error:
            raise self.error(f"this can't be read as an .npz file ({_first_line(error)})") from None
        lengths: dict[str, int] = {}
        for name, form in expected.items():
            if name not in arrays:
                raise self.error(f"there is no array {name!r}")
            array = arrays[name]
            wanted = tuple(lengths.setdefault(axis, n) for axis, n in zip(form.axes, array.shape, strict=False))
            if array.ndim != len(form.axes) or array.shape != wanted or array.size == 0:
                raise self.error(f"the array {name!r} has the shape {array.shape}, not ({', '.join(form.axes)})")
            fault = form.fault(array)
            if fault:
                raise self.error(f"the array {name!r} {fault}")
        return arrays

    def columns(self, types: Mapping[str, type]) -> dict[str, NDArray[Any]]:
        """Read columns of a .csv file, in which every cell must be filled."""
        import pandas as pd  # late: importing the library should not cost pandas' import time

        file = self.path()
        try:
            frame = pd.read_csv(file, usecols=list(types), dtype=dict(types), na_filter=False)
            columns = {name: frame[name].to_numpy(dtype=kind) for name, kind in types.items()}
        except _UNREADABLE as error:
            raise self.error(f"this can't be read as a table ({_first_line(error)})") from None
        for name, column in columns.items():
            filled = np.isfinite(column) if types[name] is float else column.astype(str) != ""
            if not filled.all():
                raise self.error(f"row {int(np.argmin(filled))} (from 0) of the column {name!r} is not filled in")
        if not len(frame):
            raise self.error("there is no row below the header")
        return columns


def _first_line(error: Exception) -> str:
    """An exception in a few words that fit into a sentence."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(" .") if lines else type(error).__name__
