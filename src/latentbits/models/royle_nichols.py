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

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py

from latentbits.errors import DataError
from latentbits.wording import counted

CEILING = 1 - 1e-6
"""No species is more certain to be seen than this: the abundance behind a probability of 1 would be infinite."""

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
