"""What is no count among numbers that a threshold turns into 0 and 1: measurements, and sums of the other cells.

Both are told by the numbers themselves; names only add to it, as they may be in any language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latentbits.data.codes import MISSING_NUMBERS
from latentbits.data.messages import Origin, middle, option, quoted
from latentbits.data.roles import is_measure
from latentbits.errors import DataError

_FEW = 0.5
"""Fractions or numbers below 0 in so many columns are how all of them are measured, such as cover or expression."""
_LEAST = 3
"""In fewer rows numbers tell nothing; so many cells above 0 must agree for a sum to be no coincidence."""
_CLOSE = 1e-6
_MANY_ROWS = 10
"""In fewer rows a species may well be everywhere, ..."""
_LARGE = 100
"""... unless its smallest number is such as those of years, metres and map coordinates."""


def measured_columns(
    numbers: np.ndarray, names: Sequence[str], threshold: float, origin: Origin | None = None
) -> dict[int, str]:
    """The columns that are no counts, and why; numbers below 0 that may stand for missing cells are refused.

    Parameters
    ----------
    numbers : array of shape (N, D)
        The cells, NaN where there is no number.
    names : sequence of str
        Of the columns.
    threshold : float
        From which on a number is 1.
    origin : Origin, optional
        Where the data come from.

    Examples
    --------
    >>> numbers = np.array([[412.5, 0, 3, -1.2], [380.0, 2, 0, 0.4], [455.1, 1, 0, 3.0]])
    >>> measured_columns(numbers, ["Höhe", "Amsel", "Star", "x"], 1)
    {0: 'at least 1 in every row', 3: 'numbers below 0'}
    """
    if len(numbers) < _LEAST:
        return {}
    filled = np.isfinite(numbers)
    with np.errstate(invalid="ignore"):
        below = numbers < 0
        fraction = (numbers % 1 != 0) & filled
        full = ((numbers >= threshold) | ~filled).all(axis=0) & filled.any(axis=0)
        large = ((numbers >= _LARGE) | ~filled).all(axis=0)
    ones = ((numbers == 1) | ~filled).all(axis=0)  # 1 in every row without any threshold
    fractional = 2 * fraction.sum(axis=0) >= np.maximum(filled.sum(axis=0), 1)
    unlike = {"below": below.any(axis=0).mean() < _FEW, "fractions": fractional.mean() < _FEW}
    reasons: dict[int, str] = {}
    for j in range(len(names)):
        told = len(numbers) >= _MANY_ROWS or large[j] or fractional[j] or is_measure(names[j])
        if below[:, j].any() and unlike["below"]:
            _refuse_missing(numbers[below[:, j], j], names[j], origin or Origin())
            reasons[j] = "numbers below 0"
        elif full[j] and not ones[j] and told:
            reasons[j] = f"at least {threshold:g} in every row"
        elif fractional[j] and unlike["fractions"]:
            reasons[j] = "fractions beside columns of counts"
    return reasons


def _refuse_missing(below: np.ndarray, name: str, origin: Origin) -> None:
    """Refuse a number below 0, if it is the only one, by which missing cells are marked."""
    (first, *others) = np.unique(below)
    if not others and first in MISSING_NUMBERS:
        raise origin.error(
            f"the column {quoted(name)} holds {first:g}, which the threshold would make a 0; use "
            f"{option('missing', f'{first:g}')} if it stands for missing, or {option('exclude', [name])}"
        )


def no_counts_error(numbers: np.ndarray, threshold: float, origin: Origin) -> DataError:
    """The error for a table of which the threshold makes every column 1."""
    values = np.unique(numbers[np.isfinite(numbers)])
    larger = values[values > max(threshold, values[0])]
    way_out = ""
    if larger.size:
        cut = float(f"{max(middle(values.tolist()), larger[0]):g}")
        way_out = f"use a larger one, such as {option('threshold', int(cut) if cut.is_integer() else cut)}, or "
    return origin.error(
        f"threshold={threshold:g} makes every cell 1, as the numbers go from {values[0]:g} to {values[-1]:g}; {way_out}"
        "name the data by columns=[...] (--columns NAME) if it is meant"
    )


class Total(NamedTuple):
    """A row or column that tells nothing beside the others.

    Attributes
    ----------
    what : str
        "row" or "column".
    position : int
        Which one.
    of : str
        What it holds of the others: "the sum", "the mean" or "the number above 0".
    """

    what: str
    position: int
    of: str

    def error(self, columns: Sequence[str], rows: Sequence[str] | None, origin: Origin) -> DataError:
        """The error that says how to leave it out."""
        holds = f"holds {self.of} of the others in every"
        if self.what == "column":
            name = columns[self.position]
            return origin.error(f"the column {quoted(name)} {holds} row; use {option('exclude', [name])}")
        name = "" if rows is None else rows[self.position]
        called = f"the row {quoted(name)}" if name else f"row {self.position + 1} of the data"
        way_out = f"use {option('exclude_rows', [name])}" if name else "delete it"
        return origin.error(f"{called} {holds} column; {way_out}")


def total(numbers: np.ndarray) -> Total | None:
    """Find a last or first row, or a column, that is what the others add up to, their mean, or how many are above 0.

    Examples
    --------
    >>> counts = np.array([[3, 0, 1], [0, 1, 2], [1, 0, 0], [4, 1, 3.0]])
    >>> total(counts)
    Total(what='row', position=3, of='the sum')
    >>> total(np.c_[counts[:3], counts[:3].sum(axis=1)]), total(counts[:3])
    (Total(what='column', position=3, of='the sum'), None)
    """
    known = np.nan_to_num(numbers)
    if len(known) > _LEAST:
        for i in (len(known) - 1, 0):
            if of := _is_of_others(numbers[i], known.sum(axis=0) - known[i], known, i):
                return Total("row", i, of)
    if known.shape[1] > _LEAST:
        sums, above = known.sum(axis=1), (known > 0).sum(axis=1)
        ends_as = np.abs(known - (sums[:, None] - known)) <= _CLOSE * np.maximum(1, np.abs(known))
        counts = known == above[:, None] - (known > 0)
        means = (
            np.abs(known * (known.shape[1] - 1) - (sums[:, None] - known))
            <= _CLOSE * np.maximum(1, np.abs(sums))[:, None]
        )
        for agrees in (ends_as, counts, means):
            for j in np.flatnonzero(agrees.all(axis=0)):
                if of := _is_of_others(numbers[:, j], sums - known[:, j], known.T, int(j)):
                    return Total("column", int(j), of)
    return None


def _is_of_others(line: np.ndarray, sums: np.ndarray, lines: np.ndarray, own: int) -> str:
    """What a line of numbers holds of the other lines, "" if nothing."""
    filled = np.isfinite(line)
    if (line[filled] > 0).sum() < _LEAST:
        return ""
    others = np.delete(lines, own, axis=0)
    held = {
        "the sum": sums,
        "the number above 0": (others > 0).sum(axis=0),
        "the mean": sums / len(others),
    }
    for of, values in held.items():
        if np.allclose(line[filled], values[filled], rtol=_CLOSE, atol=_CLOSE):
            # Of like rows each is the mean of the others, and of rows with a single 1 each has their number.
            if of == "the mean" and not (line[filled] % 1).any():
                continue
            if of != "the mean" and len(np.unique(line[filled])) == 1 and line[filled][0] <= 1:
                continue
            return of
    return ""
