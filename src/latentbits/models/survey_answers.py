"""What draws from the posterior say about cells, sites, species and the whole survey."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from latentbits.kernels.survey_pass import history_pass
from latentbits.models.detection import Draws, Visited, visit_weights

Floats = NDArray[np.float64]

INTERVAL = (0.05, 0.95)
"""Ends of the intervals: 90 %."""

ENOUGH = 0.95
"""The share of what is there that further visits should have seen."""

_FURTHER = np.array([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100])
"""Numbers of further visits that are tried; more are not planned."""


class Draw(NamedTuple):
    """One draw for the cells of a survey, N x D each, and D of the hazards."""

    abundance: bool
    eta: Floats
    hazard: Floats
    weight: Floats


def each(draws: Draws, survey: Visited, most: int | None = None, *, fitted: bool = True) -> Iterator[Draw]:
    """The draws one by one, or so many of them; of sites that weren't `fitted` nothing but their score is known."""
    n = len(draws.a)
    chosen = range(n) if most is None or most >= n else np.linspace(0, n - 1, most).astype(int)
    for s in chosen:
        b, c, *d = draws.common[s]
        of_sites = c * survey.site + (draws.g[s] if fitted else 0.0)
        eta = draws.a[s] + b * survey.score + of_sites[:, None]
        yield Draw(bool(draws.abundance[s]), eta, np.exp(draws.log_h[s]), visit_weights(np.array(d), survey))


def present_and_later(draw: Draw, survey: Visited, later: ArrayLike) -> tuple[Floats, Floats]:
    """P(present | history) and P(any of so many further visits sees it | history), N x D.

    Both are ratios of probabilities of histories: what was observed without being present is exp(-lam), and further
    visits in vain make one more visit, with as many times the hazard, that saw nothing.
    """
    seen = (survey.cells == 1).any(axis=2)
    ever = _log_likelihood(draw, survey, survey.cells, draw.weight)
    present = np.where(seen, 1.0, -np.expm1(-np.exp(draw.eta) - ever))
    vain = np.broadcast_to(np.asarray(later, float), seen.shape)
    in_vain = np.zeros((*seen.shape, 1), np.int8)
    not_later = np.empty(seen.shape)
    for m in np.unique(vain):
        weight = np.column_stack([draw.weight, np.full(len(seen), m)])
        more = _log_likelihood(draw, survey, np.concatenate([survey.cells, in_vain], axis=2), weight)
        not_later = np.where(vain == m, np.exp(more - ever), not_later)
    return np.clip(present, 0.0, 1.0), np.clip(1 - not_later, 0.0, 1.0)


def _log_likelihood(draw: Draw, survey: Visited, cells: NDArray[np.int8], weight: Floats) -> Floats:
    result = np.empty(cells.shape[:2])
    kinds = np.where(survey.kinds < 0, 0, survey.kinds)  # of cells without a visit too, whose last visit is to come
    history_pass(draw.eta, cells, kinds, survey.n_kinds, weight, draw.hazard, draw.abundance, result)
    return result


class Cells(NamedTuple):
    """Means and ends of the 90 % interval of a probability, N x D each."""

    mean: Floats
    lower: Floats
    upper: Floats


class Answers(NamedTuple):
    """Everything that is asked of the cells of a survey at once.

    Attributes
    ----------
    present, later : Cells
        Probabilities of presence, and of being seen by further visits.
    sites, species, total : array of shape (S, N), (S, D) and (S,)
        Simulated numbers of species at each site, of sites of each species, and of both together.
    after_next : array of shape (S, N)
        Simulated numbers of species that will have been seen at each site after those further visits.
    """

    present: Cells
    later: Cells
    sites: NDArray[np.int64]
    species: NDArray[np.int64]
    total: NDArray[np.int64]
    after_next: NDArray[np.int64]


def answers(
    draws: Draws, survey: Visited, later: ArrayLike, rng: np.random.Generator, *, fitted: bool = True
) -> Answers:
    """Ask every draw; presence is simulated, so that totals are as uncertain as rates and presence are together."""
    n, d, _ = survey.cells.shape
    visited, seen = (survey.cells >= 0).any(axis=2), (survey.cells == 1).any(axis=2)
    present, seen_later = (np.empty((len(draws.a), n, d), np.float32) for _ in range(2))
    there: list[tuple[NDArray[np.int64], ...]] = []
    for s, draw in enumerate(each(draws, survey, fitted=fitted)):
        present[s], seen_later[s] = present_and_later(draw, survey, later)
        simulated = (rng.random((n, d)) < present[s]) & visited
        found = (seen | (rng.random((n, d)) < seen_later[s])) & visited
        there.append((simulated.sum(axis=1), simulated.sum(axis=0), simulated.sum(), found.sum(axis=1)))
    sites, species, total, after_next = map(np.array, zip(*there, strict=True))
    return Answers(_summary(present), _summary(seen_later), sites, species, total, after_next)


def _summary(of_draws: NDArray[np.float32]) -> Cells:
    ordered = np.sort(of_draws, axis=0)
    lower, upper = (ordered[round(q * (len(ordered) - 1))].astype(float) for q in INTERVAL)
    return Cells(of_draws.mean(axis=0, dtype=float), lower, upper)


def interval(of_draws: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ends of the 90 % interval of counts, along the first axis.

    A few draws far from all others, as at a bound, can pull the mean out of it; then it reaches to the mean, as that is
    printed (with one decimal).

    Examples
    --------
    >>> interval(np.array([10] * 97 + [2] * 3))
    (np.int64(9), np.int64(10))
    """
    ordered = np.sort(of_draws, axis=0)
    last, mean = len(ordered) - 1, of_draws.mean(axis=0).round(1)
    lower = np.minimum(ordered[int(np.floor(INTERVAL[0] * last))], np.floor(mean).astype(np.int64))
    upper = np.maximum(ordered[int(np.ceil(INTERVAL[1] * last))], np.ceil(mean).astype(np.int64))
    return lower, upper


def further_visits(draws: Draws, survey: Visited) -> tuple[Floats, Floats]:
    """How many further visits of average effort find 95 % of what is there, by site and by species; inf above 100.

    Parameters
    ----------
    draws : Draws
        Of the fit.
    survey : Visited
        Its sites.

    Returns
    -------
    tuple of float arrays of shape (N,) and (D,)
        Whole numbers.
    """
    found, there = expected_finds(draws, survey, _FURTHER)
    by_site, by_species = (_first_enough(found.sum(axis=axis), there.sum(axis=axis - 1)) for axis in (2, 1))
    return by_site, by_species


def expected_finds(draws: Draws, survey: Visited, further: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """P(seen so far or by so many further visits), a table for each number of them, and P(present); by 20 draws."""
    visited = (survey.cells >= 0).any(axis=2)
    seen = (survey.cells == 1).any(axis=2)
    found, there, n_draws = np.zeros((len(further), *seen.shape)), np.zeros(seen.shape), 0
    for draw in each(draws, survey, most=20):
        for m, n_further in enumerate(further):
            present, later = present_and_later(draw, survey, n_further)
            found[m] += np.where(seen, 1.0, later) * visited
        there += present * visited
        n_draws += 1
    return found / n_draws, there / n_draws


def _first_enough(found: Floats, there: Floats) -> Floats:
    """The least number of visits, interpolated between those tried."""
    need = ENOUGH * there
    result = np.empty(len(there))
    for i, curve in enumerate(found.T):
        result[i] = np.ceil(np.interp(need[i], curve, _FURTHER) - 1e-9) if curve[-1] >= need[i] else np.inf
    return result


def on_both_scales(draws: Draws, survey: Visited) -> tuple[Floats, Floats]:
    """Detection of each species by an average visit, and the rate of each individual, S x D both.

    What the draw is about is exact. The other is what makes a visit see the same share of the sites where the species
    is: with 1 - exp(-lam r) for the share seen where lam individuals are expected, and 1 - exp(-lam) for presence.
    """
    detection, rate = np.empty_like(draws.a), np.empty_like(draws.a)
    for s, draw in enumerate(each(draws, survey)):
        lam, own = np.exp(np.minimum(draw.eta, 5.5)), -np.expm1(-draw.hazard)
        there = -np.expm1(-lam).sum(axis=0)

        def seen(r: Floats, lam: Floats = lam, there: Floats = there) -> Floats:
            return -np.expm1(-lam * r).sum(axis=0) / there

        detection[s], rate[s] = (seen(own), own) if draw.abundance else (own, _solved(seen, own))
    return detection, rate


def _solved(seen: Callable[[Floats], Floats], share: Floats) -> Floats:
    """By bisection the r at which `seen` is the share; it rises from 0 to 1."""
    low, high = np.zeros_like(share), np.ones_like(share)
    for _ in range(30):
        middle = (low + high) / 2
        above = seen(middle) > share
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


def chao2(seen: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Chao's lower bound of the number of species by those seen at one and at two sites, with its 95 % interval.

    A. Chao, "Estimating the population size for capture-recapture data with unequal catchability", Biometrics 43, 1987;
    the bias-corrected form, and a log-normal interval of the species that were not seen.

    Parameters
    ----------
    seen : bool array of shape (N, D)
        Whether each species was seen at each site.

    Returns
    -------
    tuple of float
        The bound, and the ends of its interval.
    """
    n_sites, at = len(seen), seen.sum(axis=0)
    observed, once, twice = float((at > 0).sum()), float((at == 1).sum()), float((at == 2).sum())
    share = (n_sites - 1) / n_sites
    unseen = share * once * (once - 1) / (2 * (twice + 1))
    if unseen == 0:
        return observed, observed, observed
    variance = (
        unseen
        + share**2 * once * (2 * once - 1) ** 2 / (4 * (twice + 1) ** 2)
        + share**2 * once**2 * twice * (once - 1) ** 2 / (4 * (twice + 1) ** 4)
    )
    factor = float(np.exp(1.96 * np.sqrt(np.log1p(variance / unseen**2))))
    return observed + unseen, observed + unseen / factor, observed + unseen * factor


def ranked(values: Floats, kept: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the cells that are kept, the largest value first."""
    rows, columns = np.nonzero(kept)
    order = np.argsort(-values[rows, columns], kind="stable")
    return rows[order], columns[order]


def rank_within(groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """The position of each entry among those of its group, from 0."""
    return np.asarray(pd.Series(groups).groupby(groups).cumcount())
