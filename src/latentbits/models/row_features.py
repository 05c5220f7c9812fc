"""What is known of rows as features of a model, and where they are as functions of the places.

Everything is a function of the training rows' facts: how numbers are standardised, which categories there are, where
the knots are. New rows are encoded in the same way.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from latentbits.data.row_facts import RowFacts
from latentbits.errors import DataError, warn_user
from latentbits.fitting.workers import one_blas_thread
from latentbits.wording import counted

__all__ = ["Basis", "RowFeatures"]

SCALES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Of exp(-distance / scale), in standard deviations of the coordinates."""

MOST_KNOTS = 400
"""Places that the functions of space are made from: all of them up to this number, then some."""

MOST_FUNCTIONS, LEAST_VARIANCE = 100, 0.01
"""Of a scale: so many, and none that neighbours hardly share."""


class Number(NamedTuple):
    """A numeric covariate as a line and, orthogonal to it over the training rows, a curve (its square)."""

    name: str
    median: float
    centre: float
    spread: float
    low: float
    high: float
    curve: tuple[float, float, float] | None

    @classmethod
    def of(cls, name: str, values: np.ndarray, curved: bool = True) -> Number:
        """By the training rows."""
        median = float(np.nanmedian(values))
        full = np.where(np.isnan(values), median, values)
        centre, spread = float(full.mean()), float(full.std())
        z = (full - centre) / spread
        curve = None
        if curved and len(np.unique(full)) > 2:
            slope = float((z**3).mean())
            rest = z**2 - 1 - slope * z
            size = float(rest.std())
            curve = (1.0, slope, size) if size > 1e-6 else None
        return cls(name, median, centre, spread, float(full.min()), float(full.max()), curve)

    @property
    def width(self) -> int:
        """Number of features."""
        return 1 if self.curve is None else 2

    def encode(self, values: np.ndarray) -> list[np.ndarray]:
        """Outside the range of the training rows as at its end: a parabola would run away."""
        full = np.clip(np.where(np.isnan(values), self.median, values), self.low, self.high)
        z = (full - self.centre) / self.spread
        if self.curve is None:
            return [z]
        level, slope, size = self.curve
        return [z, (z**2 - level - slope * z) / size]


class Category(NamedTuple):
    """A covariate of few values as effects of all but the commonest one."""

    name: str
    levels: tuple[str, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, name: str, texts: np.ndarray) -> Category:
        """By the training rows; the commonest first."""
        levels, counts = np.unique(texts[texts != ""].astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        n = counts.sum()
        return cls(name, tuple(levels[order].tolist()), tuple(float(counts[i] / n) for i in order))

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.levels) - 1

    def encode(self, texts: np.ndarray) -> list[np.ndarray]:
        """Missing ones count as the commonest; unknown ones are refused."""
        unknown = sorted({str(text) for text in texts if text and text not in self.levels})
        if unknown:
            raise DataError(
                f'covariate "{self.name}" has the category "{unknown[0]}", which the fit has not seen; it knows '
                f"{', '.join(sorted(self.levels))}"
            )
        return [
            (texts == level).astype(np.float64) - share
            for level, share in zip(self.levels[1:], self.shares[1:], strict=True)
        ]


class Basis(NamedTuple):
    """Functions of places: exp(-distance / scale) to the knots, combined to be orthonormal over the training rows.

    knots: (m, 2); maps: (L, m, R), one for each scale; variances: (L, R), 0 where a scale has fewer functions.
    """

    knots: np.ndarray
    unit: float
    maps: np.ndarray
    variances: np.ndarray

    def at(self, places: np.ndarray) -> np.ndarray:
        """The functions at places of a plane, L x n x R."""
        return np.stack(
            [_kernel(places, self.knots, self.unit * s) @ M for s, M in zip(SCALES, self.maps, strict=True)]
        )


class RowFeatures:
    """The encoder of rows, by the facts of the training rows.

    Parameters
    ----------
    facts : RowFacts
        Of the training rows.
    warn : bool
        Whether to say what is left out, and what is missing.
    """

    def __init__(self, facts: RowFacts, warn: bool = False) -> None:
        kept = _informative(facts, warn)
        self.numbers = [Number.of(name, facts.numbers[name]) for name in facts.numbers if name in kept]
        self.categories = [Category.of(name, facts.categories[name]) for name in facts.categories if name in kept]
        self.effort = None
        if facts.effort is not None and np.ptp(facts.effort) > 0:
            self.effort = Number.of(str(facts.effort_name), np.log(facts.effort), curved=False)._replace(
                low=-np.inf, high=np.inf
            )
        self._needed = [*kept, *facts.coordinate_names, *([facts.effort_name] if self.effort else [])]
        self._latitude = None
        if facts.coordinates is not None and facts.is_geographic:
            self._latitude = float(facts.coordinates[:, 1].mean())
        self.basis = None
        if facts.coordinates is not None and np.ptp(facts.coordinates, axis=0).any():
            places = np.ascontiguousarray(self.in_plane(facts.coordinates))
            self.basis = _basis(places.tobytes(), len(places))

    @property
    def width(self) -> int:
        """Number of features, without the constant."""
        return sum(term.width for term in self._terms)

    @property
    def _terms(self) -> list[Number | Category]:
        return [*self.numbers, *self.categories, *([self.effort] if self.effort else [])]

    def slices(self) -> dict[str, slice]:
        """Where the features of each covariate are, the constant being the first of all."""
        found, start = {}, 1
        for term in self._terms:
            found[term.name] = slice(start, start + term.width)
            start += term.width
        return found

    def encode(self, facts: RowFacts) -> np.ndarray:
        """Features of rows, n x (1 + width); the first is 1."""
        missing = [str(name) for name in self._needed if name not in facts.names]
        if missing:
            raise DataError(f"rows lack {', '.join(missing)}, which the fit had; give the same columns")
        columns = [np.ones(len(facts))]
        for number in self.numbers:
            columns += number.encode(facts.numbers[number.name]) if number.name in facts.numbers else _refuse(number)
        for category in self.categories:
            texts = facts.categories.get(category.name)
            columns += category.encode(_texts(facts.numbers[category.name]) if texts is None else texts)
        if self.effort is not None:
            assert facts.effort is not None
            columns += self.effort.encode(np.log(facts.effort))
        return np.column_stack(columns)

    def note_missing(self, facts: RowFacts) -> None:
        """Warn of covariates that some of these rows lack."""
        for name, values in {**facts.numbers, **facts.categories}.items():
            if name in self.slices():
                _note_missing(name, values)

    def note_outside(self, facts: RowFacts) -> None:
        """Warn of covariates outside of their range at the fit, and of places far from all that the fit had."""
        for number in self.numbers:
            values = facts.numbers[number.name]
            outside = int(((values < number.low) | (values > number.high)).sum())
            if outside:
                warn_user(
                    f"{number.name} of {counted(outside, 'row')} is outside of the range of the fit "
                    f"({number.low:,.6g} to {number.high:,.6g}) and is held at its ends"
                )
        if self.basis is None or facts.coordinates is None:
            return
        nearest, _ = cKDTree(self.basis.knots).query(self.in_plane(facts.coordinates))
        far = int((nearest > max(SCALES) * self.basis.unit).sum())
        if far:
            names = " and ".join(facts.coordinate_names)
            warn_user(
                f"{names} of {counted(far, 'row')} are far from all rows of the fit, so the place says little there"
            )

    def places(self, facts: RowFacts) -> np.ndarray | None:
        """The functions of space at rows, L x n x R; None without."""
        if self.basis is None or facts.coordinates is None:
            return None
        return self.basis.at(self.in_plane(facts.coordinates))

    def in_plane(self, coordinates: np.ndarray) -> np.ndarray:
        """Degrees so that distances are those of degrees of latitude; coordinates of a plane as they are."""
        if self._latitude is None:
            return coordinates
        return coordinates * [np.cos(np.radians(self._latitude)), 1.0]


def _refuse(number: Number) -> list[np.ndarray]:
    raise DataError(f'covariate "{number.name}" was a number at the fit, and is none in these rows')


def _texts(values: np.ndarray) -> np.ndarray:
    return np.array(["" if np.isnan(value) else f"{value:g}" for value in values], object)


def _informative(facts: RowFacts, warn: bool) -> list[str]:
    """Names of the covariates to be used; the others are constant, copies or names of rows."""
    kept: dict[str, np.ndarray] = {}
    for name, values in {**facts.numbers, **facts.categories}.items():
        reason = _useless(values, kept)
        if reason and warn:
            warn_user(f'covariate "{name}" {reason}, so it is left out')
        if not reason:
            kept[name] = values
            if warn:
                _note_missing(name, values)
    return list(kept)


def _note_missing(name: str, values: np.ndarray) -> None:
    missing = int(np.isnan(values).sum() if values.dtype != object else (values == "").sum())
    if missing:
        middle = "median" if values.dtype != object else "commonest category"
        warn_user(f'covariate "{name}" is missing in {counted(missing, "row")}, where the {middle} is used')


def _useless(values: np.ndarray, kept: dict[str, np.ndarray]) -> str:
    """Why a covariate can't say anything; empty if it can."""
    if values.dtype == object:
        levels = {text for text in values if text}
        if len(levels) < 2:
            return "has the same value in all rows"
        if len(levels) > max(2, len(values) / 2):
            return f"has {len(levels)} different values in {len(values)} rows, as a name of rows has"
    elif np.isnan(values).all() or np.nanmax(values) == np.nanmin(values):
        return "has the same value in all rows"
    same = [name for name, other in kept.items() if _alike(values, other)]
    return f'is a copy of "{same[0]}"' if same else ""


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two covariates are the same; numbers, up to their unit."""
    if (a.dtype == object) != (b.dtype == object):
        return False
    if a.dtype == object:
        return bool((a == b).all())
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < 3 or np.ptp(a[both]) == 0 or np.ptp(b[both]) == 0:
        return False
    return bool(abs(np.corrcoef(a[both], b[both])[0, 1]) > 1 - 1e-10)


def _kernel(a: np.ndarray, b: np.ndarray, scale: float) -> np.ndarray:
    distance = np.hypot(a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1])
    return np.asarray(np.exp(-distance / scale))


@lru_cache(maxsize=8)
def _basis(content: bytes, n_rows: int) -> Basis:
    """By the bytes of the places: the fits of an ensemble, each without other cells, have the same."""
    places = np.frombuffer(content).reshape(n_rows, 2)
    unit = float(places.std(axis=0).mean())
    knots = np.unique(places, axis=0)
    if len(knots) > MOST_KNOTS:
        knots = knots[np.sort(np.random.default_rng(0).choice(len(knots), MOST_KNOTS, replace=False))]
    with one_blas_thread():  # more of them round differently, and a chain goes another way
        made = [_functions(places, knots, unit * scale) for scale in SCALES]
    R = max(len(variances) for _, variances in made)
    maps, variances = np.zeros((len(made), len(knots), R)), np.zeros((len(made), R))
    for at, (M, own) in enumerate(made):
        maps[at, :, : len(own)], variances[at, : len(own)] = M, own
    return Basis(knots, unit, maps, variances)


def _functions(places: np.ndarray, knots: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """How the kernels to the knots are combined (m x R), and the variances of what that gives, the largest first.

    With all places as knots the functions are the eigenvectors of the kernel's matrix; with fewer, those of its best
    approximation from these (Nystrom).
    """
    w, E = np.linalg.eigh(_kernel(knots, knots, scale))
    kept = w > 1e-8
    root = E[:, kept] / np.sqrt(w[kept])
    F = _kernel(places, knots, scale) @ root
    variances, W = np.linalg.eigh(F.T @ F)
    chosen = np.argsort(-variances)[:MOST_FUNCTIONS]
    chosen = chosen[variances[chosen] > LEAST_VARIANCE]
    return root @ (W[:, chosen] / np.sqrt(variances[chosen])), variances[chosen]
