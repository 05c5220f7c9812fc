"""What is known of rows beside their cells: covariates, coordinates and effort."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np

from latentbits.data.roles import LATITUDE, LONGITUDE
from latentbits.errors import DataError, warn_user
from latentbits.wording import counted

__all__ = ["RowFacts", "without_copies"]

KM_PER_DEGREE = 111.2

NEARLY_THE_SAME = 0.95
"""Correlation with a column of the table from which on a covariate counts as a copy of it."""

FEWEST_ONES = 5
"""Ones, and zeros, of a column that a covariate can be told a copy of: fewer may agree by chance."""


@dataclass(frozen=True, eq=False)
class RowFacts:
    """Covariates, coordinates and effort of rows, validated; `RowFacts.of` makes one from a data frame.

    Attributes
    ----------
    numbers : dict of str to ndarray of shape (n_rows,)
        Numeric covariates; NaN where missing.
    categories : dict of str to ndarray of str, shape (n_rows,)
        Other covariates; empty where missing.
    coordinates : ndarray of shape (n_rows, 2), or None
        Where the rows are.
    coordinate_names : tuple of str
        The columns that these came from. With names such as lon and lat they are degrees, otherwise a plane's.
    effort : ndarray of shape (n_rows,), or None
        How much each row was looked at, above 0.
    effort_name : str or None
        The column that it came from.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbits import RowFacts
    >>> sites = pd.DataFrame({"lon": [8.1, 8.2], "lat": [47.0, 47.1], "elevation": [400, 900], "minutes": [30, 60]})
    >>> RowFacts.of(sites, coordinates=("lon", "lat"), effort="minutes")
    RowFacts(2 rows, covariates: elevation, coordinates: lon and lat, effort: minutes)
    """

    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    categories: dict[str, np.ndarray] = field(default_factory=dict)
    coordinates: np.ndarray | None = None
    coordinate_names: tuple[str, ...] = ()
    effort: np.ndarray | None = None
    effort_name: str | None = None

    @classmethod
    def of(
        cls,
        frame: Any,
        *,
        covariates: Sequence[str] | None = None,
        coordinates: Sequence[str] | None = None,
        effort: str | None = None,
    ) -> RowFacts:
        """Validate what is known of rows.

        Parameters
        ----------
        frame : data frame, dict of columns, or RowFacts
            A line for each row, in the same order. RowFacts come back as they are.
        covariates : sequence of str, optional
            Columns that may say something about the cells: numbers, or categories. Texts that are all numbers count as
            numbers. None takes all columns but those of coordinates and effort.
        coordinates : two names, optional
            The columns that say where a row is, such as ("lon", "lat") in degrees or ("x", "y") in a plane.
        effort : str, optional
            The column that says how much a row was looked at, such as minutes; above 0.

        Returns
        -------
        RowFacts
            What is known.
        """
        if isinstance(frame, RowFacts):
            if covariates is not None or coordinates is not None or effort is not None:
                raise DataError("RowFacts have their roles already; give a data frame to choose others")
            return frame
        columns = _columns_of(frame)
        places = _checked_pair(coordinates)
        special = {*places, *([] if effort is None else [effort])}
        chosen = [name for name in columns if name not in special] if covariates is None else list(covariates)
        for name in [*chosen, *special]:
            if name not in columns:
                raise DataError(f'"{name}" is no column of rows; it has {", ".join(map(str, columns))}')
        numbers, categories = _split(chosen, columns)
        return cls(
            numbers,
            categories,
            _place(columns, places) if places else None,
            places,
            None if effort is None else _effort(columns[effort], effort),
            effort,
        )

    def __len__(self) -> int:
        return next((len(values) for values in self._arrays()), 0)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.names)

    def __repr__(self) -> str:
        roles = {
            "covariates": ", ".join([*self.numbers, *self.categories]),
            "coordinates": " and ".join(self.coordinate_names),
            "effort": self.effort_name or "",
        }
        shown = "".join(f", {role}: {names}" for role, names in roles.items() if names)
        return f"RowFacts({len(self)} rows{shown})"

    def __getitem__(self, index: Any) -> RowFacts:
        if isinstance(index, tuple):  # scikit-learn says facts[rows, ...]
            index = index[0]
        return replace(
            self,
            numbers={name: values[index] for name, values in self.numbers.items()},
            categories={name: values[index] for name, values in self.categories.items()},
            coordinates=None if self.coordinates is None else self.coordinates[index],
            effort=None if self.effort is None else self.effort[index],
        )

    def only(self, covariates: Iterable[str]) -> RowFacts:
        """Leave out all covariates but some; coordinates and effort stay.

        Parameters
        ----------
        covariates : iterable of str
            Names; those that aren't there are ignored.

        Returns
        -------
        RowFacts
            What is left.
        """
        kept = set(covariates)
        return replace(
            self,
            numbers={name: values for name, values in self.numbers.items() if name in kept},
            categories={name: values for name, values in self.categories.items() if name in kept},
        )

    @property
    def names(self) -> list[str]:
        """Of all columns, by their roles."""
        return [
            *self.numbers,
            *self.categories,
            *self.coordinate_names,
            *([self.effort_name] if self.effort_name else []),
        ]

    @property
    def is_geographic(self) -> bool:
        """Whether the coordinates are longitude and latitude."""
        names = tuple(name.lower() for name in self.coordinate_names)
        return len(names) == 2 and names[0] in LONGITUDE and names[1] in LATITUDE

    def text(self, name: str, row: int) -> str:
        """What a covariate, or effort, is in a row.

        Parameters
        ----------
        name : str
            Of the column.
        row : int
            The position of the row.

        Returns
        -------
        str
            Numbers with four digits; "missing" where nothing is known.
        """
        value = {**self.numbers, **self.categories, str(self.effort_name): self.effort}[name]
        assert value is not None
        cell = value[row]
        shown = str(cell) if isinstance(cell, str) else "" if np.isnan(cell) else f"{cell:.4g}"
        return shown or "missing"

    def distance(self, length: float) -> str:
        """A distance in words; between longitudes and latitudes in km.

        Parameters
        ----------
        length : float
            In units of the coordinates, or degrees of latitude.

        Returns
        -------
        str
            With three digits.
        """
        return f"{length * KM_PER_DEGREE:.3g} km" if self.is_geographic else f"{length:.3g} away"

    def checksum(self) -> str:
        """Identifies names, roles and values.

        Returns
        -------
        str
            16 hex digits.
        """
        made = hashlib.sha256("\x1f".join([*self.names, *self.coordinate_names, str(self.effort_name)]).encode())
        for values in self._arrays():
            parts = "\x1f".join(values).encode() if values.dtype == object else np.ascontiguousarray(values).tobytes()
            made.update(parts)
        return made.hexdigest()[:16]

    def _arrays(self) -> Iterable[np.ndarray]:
        yield from self.numbers.values()
        yield from self.categories.values()
        yield from (values for values in (self.coordinates, self.effort) if values is not None)

    def _stored(self) -> dict[str, Any]:
        """As plain arrays, for a file; `RowFacts(**stored)` is the same again."""
        return {
            "numbers": self.numbers,
            "categories": self.categories,
            "coordinates": self.coordinates,
            "coordinate_names": tuple(self.coordinate_names),
            "effort": self.effort,
            "effort_name": self.effort_name,
        }


def without_copies(facts: RowFacts, cells: np.ndarray, names: Sequence[str] | None) -> RowFacts | None:
    """Leave out, with a warning, covariates that are nearly a column of the table: they'd tell its held-out cells.

    cells: N x D, of 0, 1 and missing (below 0); names: of the columns, if they have any. None if nothing is left.
    """
    kept = set(facts.numbers) | set(facts.categories)
    for name, values in [*facts.numbers.items(), *((name, _two_valued(v)) for name, v in facts.categories.items())]:
        column = _copied(values, cells)
        if column is not None:
            kept.remove(name)
            own = column if names is None else f'"{names[column]}"'
            warn_user(f'covariate "{name}" is nearly a copy of the column {own} of X, so it is left out')
    left = facts.only(kept)
    return left if left.names else None


def _two_valued(texts: np.ndarray) -> np.ndarray:
    """A category of two levels as 0 and 1, NaN where missing; others are all missing."""
    levels = sorted({text for text in texts if text})
    if len(levels) != 2:
        return np.full(len(texts), np.nan)
    return np.where(texts == "", np.nan, (texts == levels[1]).astype(np.float64))


def _copied(values: np.ndarray, cells: np.ndarray) -> int | None:
    """The first column of the table that a covariate is nearly a copy of, either way round."""
    known = ~np.isnan(values)
    both = known[:, None] & (cells >= 0)
    ones = (both & (cells == 1)).astype(np.float64)
    spread = np.nanstd(values) if known.any() else 0.0
    if spread == 0:
        return None
    z = np.where(known, (values - np.nanmean(values)) / spread, 0.0)
    n, n_ones = both.sum(axis=0), ones.sum(axis=0)
    fit = np.minimum(n_ones, n - n_ones) >= FEWEST_ONES
    share = n_ones / np.maximum(n, 1)
    mean = z @ both / np.maximum(n, 1)
    shared = z @ ones - n * mean * share
    squares = (z**2) @ both - n * mean**2
    size = np.sqrt(np.maximum(squares * n * share * (1 - share), 0.0))
    found = fit & (np.abs(shared) >= NEARLY_THE_SAME * size) & (size > 0)
    return int(found.argmax()) if found.any() else None


def _columns_of(frame: Any) -> dict[str, np.ndarray]:
    if isinstance(frame, Mapping):
        found = {str(name): np.asarray(values) for name, values in frame.items()}
    else:
        try:
            table = nw.from_native(frame, eager_only=True)
        except TypeError:
            raise DataError(
                f"rows must be a data frame with a line for each row of X, not {type(frame).__name__}"
            ) from None
        found = {str(name): table[name].to_numpy() for name in table.columns}
    lengths = {len(values) for values in found.values()}
    if len(lengths) > 1:
        raise DataError(f"the columns of rows have {' and '.join(map(str, sorted(lengths)))} entries; give one per row")
    return found


def _checked_pair(coordinates: Sequence[str] | None) -> tuple[str, ...]:
    pair = () if coordinates is None else tuple(coordinates)
    if pair and (isinstance(coordinates, str) or len(pair) != 2):
        raise DataError(f'coordinates={coordinates!r} must name two columns, such as ("lon", "lat")')
    return pair


def _as_numbers(values: np.ndarray) -> np.ndarray | None:
    """float64 with NaN where missing; None if some aren't numbers."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    texts = _as_texts(values)
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return None


def _as_texts(values: np.ndarray) -> np.ndarray:
    """Empty where missing."""
    missing = [value is None or value != value or str(value).strip() in ("", "NA", "<NA>", "nan") for value in values]
    return np.array(["" if gone else str(value).strip() for value, gone in zip(values, missing, strict=True)], object)


def _split(chosen: Sequence[str], columns: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], dict[str, Any]]:
    numbers, categories = {}, {}
    for name in chosen:
        values = _as_numbers(columns[name])
        if values is None:
            categories[name] = _as_texts(columns[name])
        elif np.isinf(values).any():
            raise DataError(f'covariate "{name}" is infinite in line {int(np.isinf(values).argmax()) + 1} of rows')
        else:
            numbers[name] = values
    return numbers, categories


def _place(columns: Mapping[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    pairs = [_as_numbers(columns[name]) for name in names]
    for name, values in zip(names, pairs, strict=True):
        if values is None or not np.isfinite(values).all():
            lost = "" if values is None else f" in {counted(int((~np.isfinite(values)).sum()), 'row')}"
            raise DataError(f'coordinate "{name}" is missing or no number{lost}; leave out these rows, or coordinates')
    places = np.column_stack([values for values in pairs if values is not None])
    if RowFacts(coordinate_names=names).is_geographic and (np.abs(places) > [360, 90]).any():
        raise DataError(f"{names[0]} and {names[1]} are not degrees; rename them, such as x and y, or exchange them")
    return places


def _effort(values: np.ndarray, name: str) -> np.ndarray:
    effort = _as_numbers(values)
    if effort is None or not (np.isfinite(effort) & (effort > 0)).all():
        raise DataError(f'effort "{name}" must be a number above 0 in every row')
    return effort
