"""The Royle-Nichols model of repeat visits, as functions of arrays; and numbers of visits, validated.

A species has K individuals at a site, K ~ Poisson(lam), and a visit sees each of them with probability r, independently
(Royle and Nichols, Ecology 84, 777-790, 2003). With q = 1 - r a visit misses all of them with probability q^K, so

- seen on any of n visits:                      u = 1 - E[q^(nK)] = 1 - exp(-lam (1 - q^n))
- K, given that n visits saw nothing:           Poisson(lam q^n), as each individual was missed with probability q^n
- present, given that:                          1 - exp(-lam q^n)                  = 1 - (1-u)^[q^n / (1-q^n)]
- seen on any of m more visits, given that:     1 - exp(-lam q^n (1 - q^m))        = 1 - (1-u)^[q^n (1-q^m) / (1-q^n)]

A model of what was ever seen predicts u at each row's own number of visits; lam doesn't depend on it, so it is the
common scale. All arguments broadcast: visits and rates may differ by row, column or cell, and visits needn't be whole
numbers where nothing but u is asked for (effort).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp, xlog1py

from latentbits.errors import DataError
from latentbits.wording import counted

CEILING = 1 - 1e-6
"""No species is more certain to be seen than this: the abundance behind a probability of 1 would be infinite."""

_BLOCK_TERMS = 1 << 18

Floats = NDArray[np.float64]


def visits_of_rows(
    visits: ArrayLike, n_rows: int, name: str, *, least: float = 0, n_columns: int | None = None
) -> Floats:
    """Numbers of visits that a user gave, validated: as a column, or as a table where each cell has its own.

    Parameters
    ----------
    visits : array-like
        One number for all rows, one for each, or (if `n_columns` is given) one for each cell.
    n_rows : int
        How many rows there are.
    name : str
        What errors call them.
    least : float, default=0
        The lowest number that is allowed.
    n_columns : int, optional
        How many columns there are, where cells may have numbers of their own.

    Returns
    -------
    float array of shape (n_rows, 1) or (n_rows, n_columns)
        The numbers.
    """
    try:
        values = np.asarray(visits, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers of visits, and some of it is no number; correct it") from None
    if values.shape not in [(), (n_rows,), (n_rows, 1), (n_rows, n_columns)]:
        raise DataError(
            f"{name} has the shape {values.shape}; give a number, or one for each of {counted(n_rows, 'row')}"
        )
    if not np.isfinite(values).all() or (values < least).any():
        raise DataError(f"{name} must be finite numbers of visits of at least {least:g}; correct the others")
    result: Floats = np.full((n_rows, 1), values) if values.ndim == 0 else values.reshape(n_rows, -1)
    return result


def missed_by_all(n_visits: ArrayLike, rate: ArrayLike) -> Floats:
    """q^n: the probability that n visits miss an individual."""
    result: Floats = np.power(1.0 - np.asarray(rate, float), n_visits)
    return result


def met_by_any(n_visits: ArrayLike, rate: ArrayLike) -> Floats:
    """1 - q^n, exact for small rates too."""
    result: Floats = -np.expm1(xlog1py(n_visits, -np.asarray(rate, float)))
    return result


def abundance_of(u: ArrayLike, n_visits: ArrayLike, rate: ArrayLike) -> Floats:
    """lam, the expected number of individuals behind the probability `u` of being seen on any of n visits.

    Parameters
    ----------
    u : array-like
        Probabilities; those above `CEILING` count as that.
    n_visits : array-like
        Above 0.
    rate : array-like
        Probability that a visit sees an individual, above 0.

    Returns
    -------
    float array
        Finite and not negative.
    """
    result: Floats = -np.log1p(-np.clip(u, 0.0, CEILING)) / met_by_any(n_visits, rate)
    return result


def present_if_never_seen(abundance: ArrayLike, n_visits: ArrayLike, rate: ArrayLike) -> Floats:
    """P(K > 0 | n visits saw nothing) = 1 - exp(-lam q^n).

    Parameters
    ----------
    abundance, n_visits, rate : array-like
        lam, the visits made (0 is allowed) and r.

    Returns
    -------
    float array
        Probabilities.
    """
    result: Floats = -np.expm1(-np.asarray(abundance) * missed_by_all(n_visits, rate))
    return result


def seen_later_if_never_seen(abundance: ArrayLike, n_visits: ArrayLike, n_later: ArrayLike, rate: ArrayLike) -> Floats:
    """P(seen on any of m more visits | n visits saw nothing) = 1 - exp(-lam q^n (1 - q^m)).

    Parameters
    ----------
    abundance, n_visits, n_later, rate : array-like
        lam, the visits made (0 is allowed), those to come, and r.

    Returns
    -------
    float array
        Probabilities.
    """
    left = np.asarray(abundance) * missed_by_all(n_visits, rate)
    result: Floats = -np.expm1(-left * met_by_any(n_later, rate))
    return result


def seen_later(
    abundance: ArrayLike, n_seen: ArrayLike, n_visits: ArrayLike, n_later: ArrayLike, rate: ArrayLike
) -> Floats:
    """P(seen on any of m more visits | seen on y of n visits): one minus the share of histories that go on with zeros.

    Parameters
    ----------
    abundance, n_seen, n_visits, n_later, rate : array-like
        lam, y, n, m and r; of cells with y > 0, lam must be above 0.

    Returns
    -------
    float array
        Probabilities.
    """
    lam, y, n, m, r = np.broadcast_arrays(*(np.asarray(a, float) for a in (abundance, n_seen, n_visits, n_later, rate)))
    result: Floats = np.array(seen_later_if_never_seen(lam, n, m, r))
    seen = y > 0
    lam, y, n, m, r = (a[seen] for a in (lam, y, n, m, r))
    result[seen] = -np.expm1(history_log_likelihood(lam, y, n + m, r) - history_log_likelihood(lam, y, n, r))
    return result


def history_log_likelihood(abundance: ArrayLike, n_seen: ArrayLike, n_visits: ArrayLike, rate: ArrayLike) -> Floats:
    """Log probability of one history with y sightings in n visits, in any order.

    It is log E[(1 - q^K)^y q^(K (n-y))]. Expanding the first power leaves sums of alternating sign, which lose all
    digits when n is large; instead the second power is taken into the Poisson weights, whose mean becomes
    mu = lam q^(n-y), and a sum of positive terms over K remains:

        exp(-lam (1 - q^(n-y))) * sum_k Poisson(k; mu) (1 - q^k)^y.

    As (1 - q^(k+1)) / (1 - q^k) is between 1 and 1 + 1/k, its terms rise up to k = mu, at least as steeply as those of
    Poisson(mu), and fall from k = mu + y on, at least as steeply as those of Poisson(mu + y). So what is beyond both by
    `_reach` can be left out. Without a sighting the sum is 1.

    Parameters
    ----------
    abundance, n_seen, n_visits, rate : array-like
        lam, y, n and r.

    Returns
    -------
    float array
        -inf where a history is impossible.
    """
    arrays = np.broadcast_arrays(*(np.asarray(a, float) for a in (abundance, n_seen, n_visits, rate)))
    lam, y, n, r = (a.ravel() for a in arrays)
    result = -lam * met_by_any(n - y, r)
    seen = np.flatnonzero(y > 0)
    mu = lam * missed_by_all(n - y, r)
    first = np.floor(np.maximum(mu - _reach(mu), 1.0)).astype(int)
    width = np.ceil(mu + y + _reach(mu + y)).astype(int) - first + 1
    for block in _blocks_of_like_width(width[seen]):
        cells = seen[block]
        k = first[cells, None] + np.arange(width[cells].max())
        with np.errstate(divide="ignore"):  # a species that isn't there
            terms = k * np.log(mu[cells, None]) - _of_whole_numbers(k, lambda k: gammaln(k + 1))
        terms += y[cells, None] * _log_met(k, r[cells])
        result[cells] += logsumexp(terms, axis=1) - mu[cells]
    return result.reshape(arrays[0].shape)


def _reach(mean: Floats) -> Floats:
    """How far from the mean j the terms of Poisson(mean) are below exp(-36) of the largest: j^2 = 72 (mean + j/3)."""
    result: Floats = 12 + np.sqrt(144 + 72 * mean)
    return result


def _log_met(k: NDArray[np.int_], rate: Floats) -> Floats:
    """log(1 - q^k), for one rate per row."""
    if np.ptp(rate) == 0:
        return _of_whole_numbers(k, lambda k: np.log(met_by_any(k, rate[0])))
    result: Floats = np.log(met_by_any(k, rate[:, None]))
    return result


def _of_whole_numbers(k: NDArray[np.int_], function: Callable[[NDArray[np.int_]], Floats]) -> Floats:
    """A function of many equal numbers, from 1 on, computed once for each."""
    return function(np.arange(1, k.max() + 1))[k - 1]


def _blocks_of_like_width(width: NDArray[np.int_]) -> Iterator[NDArray[np.intp]]:
    """Cells in groups of about `_BLOCK_TERMS` terms; like widths go together, so that little is computed in vain."""
    order = np.argsort(width, kind="stable")
    start = 0
    while start < order.size:
        # The widest cell of a block isn't known before its size: twice the first is allowed for.
        size = max(1, _BLOCK_TERMS // (2 * int(width[order[start]])))
        fitting = np.searchsorted(width[order], 2 * width[order[start]], side="right")
        stop = min(start + size, int(fitting))
        yield order[start:stop]
        start = stop
