"""Data sets that come with the installed libraries, and the folder of those that don't."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets

__all__ = ["BinaryImages", "data_folder", "load_digits"]

_DATA_VARIABLE = "LATENTBITS_DATA"
_BRIGHTEST = 16


@dataclass(frozen=True, eq=False)
class BinaryImages:
    """Black-and-white images of one size, an image a row.

    Attributes
    ----------
    X : ndarray of int8, shape (n_images, n_pixels)
        1 where the pixel is on; pixels are in reading order.
    target : ndarray of int, shape (n_images,)
        What each image shows.
    image_shape : tuple of int
        Rows and columns of an image.
    feature_names : list of str
        Name of each pixel, "r0c0" for the one in the upper left corner.

    Examples
    --------
    >>> digits = load_digits()
    >>> digits.X[0].reshape(digits.image_shape)[2]
    array([0, 0, 1, 0, 0, 1, 1, 0], dtype=int8)
    """

    X: NDArray[np.int8]
    target: NDArray[np.int_]
    image_shape: tuple[int, int]
    feature_names: list[str]


def load_digits(*, threshold: float = 8, digits: Sequence[int] | None = None) -> BinaryImages:
    """Return scikit-learn's 1797 bundled handwritten digits (8 x 8 pixels) as 0-1 data.

    Parameters
    ----------
    threshold : float, default=8
        Pixels go from 0 to 16; those of at least `threshold` are 1.
    digits : sequence of int, optional
        Keep these digits only; all ten if not given. The order of the images is kept.

    Returns
    -------
    BinaryImages

    Examples
    --------
    >>> digits = load_digits(digits=[0, 1, 2])
    >>> digits.X.shape, digits.image_shape, digits.feature_names[:2]
    ((537, 64), (8, 8), ['r0c0', 'r0c1'])
    >>> round(float(digits.X.mean()), 2)
    0.32
    """
    if not 0 < threshold <= _BRIGHTEST:
        raise ValueError(
            f"threshold is {threshold}; pixels go from 0 to {_BRIGHTEST}, so take one above 0 and up to that."
        )
    bundled = sklearn_datasets.load_digits()
    n_high, n_wide = bundled.images.shape[1:]
    kept = _rows_of(bundled.target, digits)
    return BinaryImages(
        X=(bundled.data[kept] >= threshold).astype(np.int8),
        target=bundled.target[kept],
        image_shape=(n_high, n_wide),
        feature_names=[f"r{row}c{column}" for row in range(n_high) for column in range(n_wide)],
    )


def _rows_of(target: NDArray[np.int_], digits: Sequence[int] | None) -> NDArray[np.bool_]:
    if digits is None:
        return np.ones(len(target), dtype=bool)
    if len(digits) == 0 or not np.isin(digits, np.arange(10)).all():
        raise ValueError(f"digits is {digits!r}; name one or more digits from 0 to 9.")
    return np.isin(target, digits)


def data_folder() -> Path | None:
    """Return the folder named by the environment variable LATENTBITS_DATA, or None if it isn't set.

    Data sets that can't be shipped with the library are looked for there.

    Returns
    -------
    pathlib.Path or None

    Raises
    ------
    FileNotFoundError
        If the variable is set but names no folder.

    Examples
    --------
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
