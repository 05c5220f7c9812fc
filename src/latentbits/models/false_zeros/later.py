"""From P(1 | the rest), which one visit determines, to what was asked: present, or seen on a later visit.

One visit can't tell how many of the absences are real: that needs external information. It may be the rate at which a
visit finds an individual (`rate`, with the Royle-Nichols model), or a pilot: some rows that were visited again
(`revisits`), from which the exponent c of P(seen later) = 1 - (1 - m)^c, or that rate, is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.errors import DataError
from latentbits.models.royle_nichols import (
    abundance_of,
    met_by_any,
    missed_by_all,
    present_if_never_seen,
    seen_later_if_never_seen,
    visits_of_rows,
)

GIVEN_THE_REST = "P(1 | the rest)"
PRESENT = "P(present)"
SEEN_LATER = "P(seen later)"

ASSUMED_RATE = 0.5
"""For ranking alone, where visits to come are known and no rate is: rows with more of them show more."""

EXPONENTS = np.log([1e-3, 1e2])
RATES = (0.01, 0.99)


@dataclass(frozen=True)
class Scale:
    """How m = P(1 | the rest) of a zero becomes the probability that was asked for.

    Attributes
    ----------
    words : str
        What the probability is of: the name of its column in tables.
    exponent : float or None
        c of 1 - (1 - m)^c, from a pilot without numbers of visits.
    rate : float or None
        Of the Royle-Nichols model.
    n_visits : ndarray of shape (n_rows, 1)
        Visits that were made.
    later_visits : ndarray of shape (n_rows, 1) or None
        Visits to come; None to ask for presence.
    """

    words: str = GIVEN_THE_REST
    exponent: float | None = None
    rate: float | None = None
    n_visits: np.ndarray | None = None
    later_visits: np.ndarray | None = None

    @property
    def is_of_presence(self) -> bool:
        """Whether a 1 that was seen settles it."""
        return self.words != GIVEN_THE_REST

    def of_zeros(self, m: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The probability for zeros with these m; `rows` says which rows they are of."""
        return self._of(m, rows, 1.0)

    def of_missing(self, m: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The same for cells that nobody has looked at: no visit was made to them in vain.

        A pilot without numbers of visits tells nothing of them; m itself is the answer if its visits show as much as
        those of the data, and they show more if the exponent is above 1.
        """
        return self._of(m, rows, 0.0)

    def _of(self, m: np.ndarray, rows: np.ndarray | slice, in_vain: float) -> np.ndarray:
        """`in_vain` is the share of the visits that saw nothing: all, or none where a cell is missing."""
        if self.exponent is not None:
            return raised(m, self.exponent if in_vain else max(1.0, self.exponent))
        if self.rate is None:
            return m
        assert self.n_visits is not None
        n = self.n_visits[rows].reshape(-1, *[1] * (m.ndim - 1))
        abundance = abundance_of(m, n, self.rate)
        if self.later_visits is None:
            return present_if_never_seen(abundance, in_vain * n, self.rate)
        later = self.later_visits[rows].reshape(n.shape)
        return seen_later_if_never_seen(abundance, in_vain * n, later, self.rate)


def raised(m: np.ndarray, exponent: float) -> np.ndarray:
    """1 - (1 - m)^c."""
    return -np.expm1(exponent * np.log1p(-np.minimum(m, 1 - 1e-9)))


def left_to_see(
    n_rows: int, later_visits: ArrayLike | None, rate: float | None, n_visits: ArrayLike = 1
) -> np.ndarray | None:
    """How much more there is to be seen in each row than by one visit after one visit, as exponents of 1 - score.

    With n visits made, m to come and q = 1 - rate it is q^(n-1) (1 - q^m) / (1 - q^n), from the exponents of the
    Royle-Nichols model; without visits to come, (1 - q^m) / (1 - q) is left out. None where nothing is known of visits.
    """
    if later_visits is None and rate is None:
        return None
    rate = ASSUMED_RATE if rate is None else rate
    made = visits_of_rows(n_visits, n_rows, "n_visits", least=1)
    left = missed_by_all(made - 1, rate) * rate / met_by_any(made, rate)
    if later_visits is None:
        return left
    return left * met_by_any(visits_of_rows(later_visits, n_rows, "later_visits"), rate) / rate


def placed_revisits(revisits: Any, data: BinaryData) -> BinaryData:
    """What was seen later, as a table like the data: missing where nobody went again.

    A table with as many rows as the data stands beside them, missing where a row wasn't visited again; one with fewer
    rows, or with the same names in another order, is placed by the names of its rows.
    """
    seen = BinaryData.of(revisits)
    if seen.shape[1] != data.shape[1]:
        raise DataError(f"revisits has {seen.shape[1]} columns, the data have {data.shape[1]}; give the same columns")
    seen = _with_columns_of(data, seen)
    if data.row_names is None and seen.row_names is not None and _are_shuffled_positions(seen.row_names):
        raise DataError(
            "the index of revisits numbers its rows in another order, and the data have no names of rows to place them "
            "by; sort revisits by its index"
        )
    if seen.shape[0] == data.shape[0] and (
        None in (seen.row_names, data.row_names) or seen.row_names == data.row_names
    ):
        return seen
    if seen.row_names is None or data.row_names is None:
        raise DataError(
            f"revisits has {seen.shape[0]} rows, the data have {data.shape[0]}; give as many, NaN where nobody went "
            "again, or data frames whose index names the rows"
        )
    place = {name: i for i, name in enumerate(data.row_names)}
    unknown = [name for name in seen.row_names if name not in place]
    if unknown or len(set(seen.row_names)) < len(seen.row_names) or len(place) < len(data.row_names):
        wrong = f'"{unknown[0]}" is no row of the data' if unknown else "names of rows repeat"
        raise DataError(f"revisits can't be placed by the names of its rows: {wrong}; give rows as in the data")
    cells = np.full(data.shape, MISSING, np.int8)
    cells[[place[name] for name in seen.row_names]] = seen.dense()
    return BinaryData(cells, row_names=data.row_names, column_names=data.column_names)


def _with_columns_of(data: BinaryData, seen: BinaryData) -> BinaryData:
    """The pilot with its columns in the order of the data."""
    if seen.column_names is None or data.column_names is None or seen.column_names == data.column_names:
        return seen
    other = sorted(set(seen.column_names) ^ set(data.column_names))
    if other or len(set(data.column_names)) < len(data.column_names):
        wrong = f'"{other[0]}" is in one of them only' if other else "names repeat"
        raise DataError(f"revisits has other columns than the data: {wrong}; give the same columns")
    order = [seen.column_names.index(name) for name in data.column_names]
    cells = np.ascontiguousarray(seen.dense()[:, order])
    return BinaryData(cells, row_names=seen.row_names, column_names=data.column_names)


def _are_shuffled_positions(names: list[str]) -> bool:
    """Whether names are the numbers from 0 on of a frame's own index, out of order."""
    positions = [str(i) for i in range(len(names))]
    return names != positions and sorted(names) == sorted(positions)


def fit_exponent(m: np.ndarray, seen: np.ndarray) -> float:
    """The c that makes what was `seen` later in zeros likeliest: P(seen later) = 1 - (1 - m)^c."""

    def loss(log_c: float) -> float:
        return _log_loss(raised(m, float(np.exp(log_c))), seen)

    return float(np.exp(minimize_scalar(loss, bounds=tuple(EXPONENTS), method="bounded").x))


def fit_rate(m: np.ndarray, seen: np.ndarray, n_visits: np.ndarray, later_visits: np.ndarray) -> float:
    """The Royle-Nichols rate that makes what was `seen` later in zeros likeliest."""

    def loss(rate: float) -> float:
        abundance = abundance_of(m, n_visits, rate)
        return _log_loss(seen_later_if_never_seen(abundance, n_visits, later_visits, rate), seen)

    return float(minimize_scalar(loss, bounds=RATES, method="bounded").x)


def _log_loss(p: np.ndarray, seen: np.ndarray) -> float:
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return -float(np.sum(np.where(seen == 1, np.log(p), np.log1p(-p))))
