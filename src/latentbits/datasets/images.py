"""Black-and-white images: scikit-learn's digits, the numerals of UCI's Multiple Features, binary alphadigits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets

from latentbits.datasets.data_folder import DOWNLOAD_FAILURES, Numbers, Source, Words
from latentbits.errors import DataError

_NUMERALS = Source(
    "mfeat_pix.npz",
    "mfeat-pix of UCI's Multiple Features as the arrays X (2000 x 240, 0 to 6), y (digits) and image_shape (16, 15)",
)
_ALPHADIGITS = Source(
    "binaryalphadigs.npz",
    "Sam Roweis' binaryalphadigs as the arrays X (1404 x 320), y (characters) and image_shape (20, 16)",
)
_NUMERALS_SHAPE = (16, 15)
_PER_NUMERAL = 200


@dataclass(frozen=True, eq=False)
class BinaryImages:
    """Black-and-white images of one size, an image a row.

    Attributes
    ----------
    X : ndarray of int8, shape (n_images, n_pixels)
        1 where the pixel is on; pixels are in reading order.
    target : ndarray of int or str, shape (n_images,)
        What each image shows: a digit, or a character.
    image_shape : tuple of int
        Rows and columns of an image.
    feature_names : list of str
        Name of each pixel, "r0c0" for the one in the upper left corner.

    Examples
    --------
    >>> from latentbits.datasets import load_digits
    >>> digits = load_digits()
    >>> digits.X[0].reshape(digits.image_shape)[2]
    array([0, 0, 1, 0, 0, 1, 1, 0], dtype=int8)
    """

    X: NDArray[np.int8]
    target: NDArray[Any]
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
        An image a row; its `target` are digits.

    Examples
    --------
    >>> from latentbits.datasets import load_digits
    >>> digits = load_digits(digits=[0, 1, 2])
    >>> digits.X.shape, digits.image_shape, digits.feature_names[:2]
    ((537, 64), (8, 8), ['r0c0', 'r0c1'])
    >>> round(float(digits.X.mean()), 2)
    0.32
    """
    _check_threshold(threshold, brightest=16)
    bundled = sklearn_datasets.load_digits()
    n_high, n_wide = bundled.images.shape[1:]
    kept = _rows_of(bundled.target, digits)
    return _images(bundled.data[kept] >= threshold, bundled.target[kept], (n_high, n_wide))


def load_numerals(*, threshold: float = 4, digits: Sequence[int] | None = None) -> BinaryImages:
    """Return 2000 handwritten numerals (16 x 15 pixels), 200 of each digit, as 0-1 data.

    A row is one scan from Dutch utility maps. The file mfeat_pix.npz is read from the folder that LATENTBITS_DATA
    names; without it, scikit-learn downloads the same scans from OpenML (mfeat-pixel) once and keeps them.

    Parameters
    ----------
    threshold : float, default=4
        Pixels go from 0 to 6; those of at least `threshold` are 1. 4 makes 49 % of them ones, 3 makes 54 %.
    digits : sequence of int, optional
        Keep these digits only; all ten if not given. The order of the images is kept.

    Returns
    -------
    BinaryImages
        An image a row; its `target` are digits.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder and can't be downloaded.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: Multiple Features (R. P. W. Duin), UCI Machine Learning Repository, the set mfeat-pix. Licence: CC BY 4.0.

    Examples
    --------
    >>> from latentbits.datasets import load_numerals
    >>> numerals = load_numerals(digits=[1, 7])  # doctest: +SKIP
    >>> numerals.X.shape, numerals.image_shape  # doctest: +SKIP
    ((400, 240), (16, 15))
    """
    _check_threshold(threshold, brightest=6)
    if _NUMERALS.find() is None:
        pixels, target, shape = _download_numerals()
    else:
        pixels, target, shape = _read_images(_NUMERALS, Numbers(("images", "pixels"), 0, 6), Numbers(("images",), 0, 9))
    kept = _rows_of(target, digits)
    return _images(pixels[kept] >= threshold, target[kept].astype(np.int_), shape)


def load_alphadigits(*, characters: Sequence[str] | None = None) -> BinaryImages:
    """Return 1404 binary images (20 x 16 pixels) of the digits and capital letters, 39 of each.

    A row is one handwritten character. The file binaryalphadigs.npz is read from the folder that LATENTBITS_DATA names.

    Parameters
    ----------
    characters : sequence of str, optional
        Keep these characters only, such as "03" or ["A", "B"]; all 36 if not given. The order of the images is kept.

    Returns
    -------
    BinaryImages
        Its `target` are characters.

    Raises
    ------
    FileNotFoundError
        If the file isn't in the folder.
    DataError
        If the file isn't what it should be.

    Notes
    -----
    Source: Binary Alphadigits, Sam Roweis' collection of data for MATLAB. Licence: none stated.

    Examples
    --------
    >>> from latentbits.datasets import load_alphadigits
    >>> images = load_alphadigits(characters="03")  # doctest: +SKIP
    >>> images.X.shape, images.image_shape  # doctest: +SKIP
    ((78, 320), (20, 16))
    """
    pixels, target, shape = _read_images(_ALPHADIGITS, Numbers(("images", "pixels"), 0, 1), Words(("images",)))
    known = np.unique(target)
    if characters is not None and (len(characters) == 0 or not np.isin(list(characters), known).all()):
        raise ValueError(f"characters is {characters!r}; name one or more of {''.join(known)}.")
    kept = np.ones(len(target), dtype=bool) if characters is None else np.isin(target, list(characters))
    return _images(pixels[kept], target[kept], shape)


def _images(pixels: NDArray[Any], target: NDArray[Any], shape: tuple[int, int]) -> BinaryImages:
    names = [f"r{row}c{column}" for row in range(shape[0]) for column in range(shape[1])]
    return BinaryImages(pixels.astype(np.int8), target, shape, names)


def _check_threshold(threshold: float, brightest: int) -> None:
    if not 0 < threshold <= brightest:
        raise ValueError(
            f"threshold is {threshold}; pixels go from 0 to {brightest}, so take one above 0 and up to that."
        )


def _rows_of(target: NDArray[Any], digits: Sequence[int] | None) -> NDArray[np.bool_]:
    if digits is None:
        return np.ones(len(target), dtype=bool)
    if len(digits) == 0 or not np.isin(digits, np.arange(10)).all():
        raise ValueError(f"digits is {digits!r}; name one or more digits from 0 to 9.")
    return np.isin(target, digits)


def _read_images(
    source: Source, pixels: Numbers, target: Numbers | Words
) -> tuple[NDArray[Any], NDArray[Any], tuple[int, int]]:
    arrays = source.arrays({"X": pixels, "y": target, "image_shape": Numbers(("rows and columns",), low=1, high=1000)})
    shape = tuple(int(n) for n in arrays["image_shape"])
    n_pixels = arrays["X"].shape[1]
    if len(shape) != 2 or shape[0] * shape[1] != n_pixels:
        raise source.error(f"images of {n_pixels} pixels can't have the image_shape {shape}")
    return arrays["X"], arrays["y"], (shape[0], shape[1])


def _download_numerals() -> tuple[NDArray[Any], NDArray[Any], tuple[int, int]]:
    """The scans as OpenML has them: in UCI's order, but with names of its own for the ten classes."""
    try:
        found = sklearn_datasets.fetch_openml("mfeat-pixel", version=1, as_frame=True)
        pixels = found.data.astype(float).to_numpy()
        classes = found.target.astype(str).to_numpy().astype(str)
        if pixels.shape != (10 * _PER_NUMERAL, 240) or not np.isin(pixels, np.arange(7)).all():
            raise DataError(f"a table of shape {pixels.shape} that isn't UCI's came back")
        blocks = classes.reshape(10, _PER_NUMERAL)
        if not (blocks == blocks[:, :1]).all() or len(np.unique(blocks)) != 10:
            raise DataError("the scans that came back aren't in UCI's order")
    except DOWNLOAD_FAILURES as error:
        raise _NUMERALS.missing(download=error) from error
    return pixels, np.repeat(np.arange(10), _PER_NUMERAL), _NUMERALS_SHAPE
