"""Which rows belong to which segment."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from latentbits.data.binary_data import quoted
from latentbits.errors import DataError
from latentbits.numerics import check_number

__all__ = ["encode_labels", "known_codes", "segments_by_length", "take_out"]


def segments_by_length(n_rows: int, n_segments: int) -> NDArray[np.intp]:
    """Labels that cut a series of rows, in their order, into runs of equal length (give or take one row).

    Parameters
    ----------
    n_rows, n_segments : int

    Returns
    -------
    ndarray of int
        For each row the number of its segment, from 0.

    Examples
    --------
    >>> segments_by_length(7, 3)
    array([0, 0, 0, 1, 1, 2, 2])
    """
    check_number("n_rows", n_rows, least=1, integer=True)
    check_number("n_segments", n_segments, least=1, integer=True)
    if n_segments > n_rows:
        raise DataError(f"{n_rows} rows can't be cut into {n_segments} segments; ask for at most {n_rows}")
    lengths = np.full(n_segments, n_rows // n_segments)
    lengths[: n_rows % n_segments] += 1
    return np.repeat(np.arange(n_segments), lengths)


def take_out(X: Any, segments: Any) -> tuple[Any, Any]:
    """X and the labels; if `segments` names a column of the frame X, that column taken out of it."""
    if not isinstance(segments, str):
        return X, segments
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise DataError(f"segments={quoted(segments)} names a column, but X is no data frame; give an array of labels")
    if segments not in frame.columns:
        raise DataError(f"X has no column {quoted(segments)}; give the name of a column of X, or an array of labels")
    return frame.drop(segments).to_native(), frame[segments].to_numpy()


def encode_labels(labels: ArrayLike, n_rows: int) -> tuple[np.ndarray, NDArray[np.intp]]:
    """The distinct labels, sorted, and for each row the position of its own among them."""
    given = _checked(labels, n_rows)
    try:
        distinct, codes = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError("segments mixes labels that can't be sorted; give numbers only, or text only") from None
    return distinct, codes


def known_codes(labels: ArrayLike, n_rows: int, known: np.ndarray) -> NDArray[np.intp]:
    """For each row the position of its label among the `known` ones (sorted), or an error for one that isn't there."""
    position = {label: code for code, label in enumerate(known.tolist())}
    given = _checked(labels, n_rows).tolist()
    unknown = next((label for label in given if label not in position), None)
    if unknown is not None:
        raise DataError(
            f"segment {unknown!r} was not there at the fit; give one of segments_, or leave segments out to "
            "average over all of them"
        )
    return np.array([position[label] for label in given], dtype=np.intp)


def _checked(labels: ArrayLike, n_rows: int) -> np.ndarray:
    given = np.asarray(labels)
    if given.shape != (n_rows,):
        raise DataError(f"segments has the shape {given.shape}; give one label for each of {n_rows} rows")
    missing = [label is None or label != label for label in given.tolist()]
    if any(missing):
        raise DataError(f"row {missing.index(True)} has no segment; give every row a label, or leave it out")
    return given
