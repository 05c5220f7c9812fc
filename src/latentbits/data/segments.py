"""Labels of segments."""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from latentbits.data.messages import quoted
from latentbits.errors import DataError
from latentbits.numerics import check_number
from latentbits.wording import counted, place


def segments_by_length(n_rows: int, n_segments: int) -> NDArray[np.intp]:
    """Labels that cut a series of rows, in their order, into runs of equal length (give or take one row).

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_segments : int
        Number of segments, at most `n_rows`.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        For each row the number of its segment, from 0.

    Examples
    --------
    >>> from latentbits import segments_by_length
    >>> segments_by_length(7, 3)
    array([0, 0, 0, 1, 1, 2, 2])
    """
    check_number("n_rows", n_rows, least=1, integer=True)
    check_number("n_segments", n_segments, least=1, integer=True)
    if n_segments > n_rows:
        raise DataError(f"{counted(n_rows, 'row')} can't be cut into {n_segments} segments; use at most {n_rows}")
    lengths = np.full(n_segments, n_rows // n_segments)
    lengths[: n_rows % n_segments] += 1
    return np.repeat(np.arange(n_segments), lengths)


def take_out(X: Any, segments: Any) -> tuple[Any, Any]:
    """X and the labels; if `segments` names a column of the frame X, that column taken out of it."""
    if not isinstance(segments, str):
        return X, segments
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise DataError(
            f"segments={quoted(segments)} names a column, but X is not a data frame; give an array of labels"
        )
    if segments not in frame.columns:
        raise DataError(f"X has no column {quoted(segments)}; give the name of a column of X, or an array of labels")
    return frame.drop(segments).to_native(), frame[segments].to_native()


def windows(labels: Any, n_rows: int) -> Any:
    """Labels as they are; a whole number as the labels of so many windows of equal length."""
    if not isinstance(labels, Integral) or isinstance(labels, bool):
        return labels
    return segments_by_length(n_rows, int(labels))


def encode_labels(labels: Any, n_rows: int) -> tuple[np.ndarray, NDArray[np.intp]]:
    """The distinct labels in order, and for each row the position of its own among them.

    Numbers by size, texts in natural order ("week 9" before "week 10"), an ordered categorical by its own order. Dates
    become text.
    """
    given = _checked(labels, n_rows)
    categories = getattr(getattr(labels, "dtype", None), "categories", None)
    if categories is not None and getattr(labels.dtype, "ordered", False):
        order = [label for label in _plain(list(categories)) if label in set(given)]
    else:
        order = sorted(set(given), key=_counting if isinstance(given[0], str) else None)
    position = {label: code for code, label in enumerate(order)}
    return np.array(order), np.array([position[label] for label in given], dtype=np.intp)


def known_codes(labels: Any, n_rows: int, known: np.ndarray) -> NDArray[np.intp]:
    """For each row the position of its label among the `known` ones, or an error for one that isn't there."""
    position = {label: code for code, label in enumerate(known.tolist())}
    given = _checked(labels, n_rows)
    unknown = next((label for label in given if label not in position), None)
    if unknown is not None:
        raise DataError(
            f"segment {unknown!r} was not in the training data; give one of segments_, or leave segments out to "
            "average over all of them"
        )
    return np.array([position[label] for label in given], dtype=np.intp)


def _checked(labels: Any, n_rows: int) -> list[Any]:
    """One plain label for each row, all of them numbers or all of them texts."""
    if np.ndim(labels) != 1 or len(labels) != n_rows:
        raise DataError(
            f"segments has the shape {np.shape(labels)}; give one label for each of {counted(n_rows, 'row')}"
        )
    values = list(labels)  # not as an array, which would turn NaN beside text into the text "nan"
    missing = np.flatnonzero(pd.isna(np.fromiter(values, dtype=object)))
    if len(missing):
        raise DataError(f"{place('row', int(missing[0]))} has no segment; give every row a label, or leave it out")
    plain = _plain(values)
    if len({isinstance(label, str) for label in plain}) > 1:
        raise DataError("segments mixes numbers and texts, which can't be sorted; give numbers only, or text only")
    return plain


def _plain(values: list[Any]) -> list[Any]:
    """Numbers as Python's own, everything else (texts, dates) as text."""
    own = [value.item() if isinstance(value, np.number | np.bool_) else value for value in values]
    return [value if isinstance(value, int | float) else str(value) for value in own]


def _counting(text: str) -> list[tuple[bool, Any]]:
    """The key of natural sorting: runs of digits compare as numbers."""
    parts = re.split(r"(\d+)", text)
    return [(part.isdecimal(), int(part) if part.isdecimal() else part) for part in parts if part]
