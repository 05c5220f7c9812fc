"""False zeros and ones with their mask, and surveys with repeat visits of which it is known what was there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latentbits.numerics import RandomSource, as_cells, as_generator

By = Literal["row", "column", "both"]


class Noisy(NamedTuple):
    """A noisy copy of a table, and what the noise did.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The noisy copy, with the dtype of the original.
    changed : ndarray of bool, shape (n_rows, n_columns)
        The cells whose value differs from the original.
    share : ndarray of shape (n_rows,)
        The share ``u_i`` that each row drew.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import add_zeros
    >>> clean = np.ones((3, 8), dtype=np.int8)
    >>> noisy = add_zeros(clean, 0.5, random_state=0)
    >>> bool(((noisy.X != clean) == noisy.changed).all())
    True
    """

    X: NDArray[np.generic]
    changed: NDArray[np.bool_]
    share: NDArray[np.float64]


def add_zeros(X: ArrayLike, u: float, *, random_state: RandomSource = None) -> Noisy:
    """Set a random share of each row's cells to 0: false absences, anywhere in the row.

    Each row draws ``u_i`` from Uniform[0, u], and ``round(u_i * n_columns)`` of *all* its cells,
    chosen without replacement, become 0. A 0 put on a 0 or on a missing cell has no effect, so
    fewer cells change than are chosen (Bingham et al., section 3.4.2, footnote 8).

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        0, 1 and NaN for missing; missing cells stay missing. Never changed in place.
    u : float from 0 to 1
        Upper limit of the rows' shares.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    Noisy
        The noisy copy, and which cells changed.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import add_zeros
    >>> noisy = add_zeros(np.ones((3, 100), dtype=np.int8), 0.4, random_state=0)
    >>> noisy.share.round(2)
    array([0.25, 0.11, 0.02])
    >>> noisy.changed.sum(axis=1)
    array([25, 11,  2])
    """
    table = _as_table(X)
    return _set_share(table, np.ones(table.shape, dtype=bool), u, 0, random_state)


def add_ones(X: ArrayLike, u: float, *, random_state: RandomSource = None) -> Noisy:
    """Set a random share of each row's cells to 1: false presences, anywhere in the row.

    The mirror image of `add_zeros` (Bingham et al., section 3.4.1, footnote 7): with the same seed
    it does to ``X`` what `add_zeros` does to ``1 - X``.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        0, 1 and NaN for missing; missing cells stay missing. Never changed in place.
    u : float from 0 to 1
        Upper limit of the rows' shares.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    Noisy
        The noisy copy, and which cells changed.

    Examples
    --------
    >>> from latentbits.simulate import add_ones
    >>> noisy = add_ones([[0, 1, 0, 1], [0, 0, 0, 0]], 0.9, random_state=1)
    >>> noisy.X
    array([[1, 1, 1, 1],
           [0, 1, 1, 1]])
    >>> noisy.changed.sum(axis=1)
    array([2, 3])
    """
    table = _as_table(X)
    return _set_share(table, np.ones(table.shape, dtype=bool), u, 1, random_state)


def corrode(X: ArrayLike, u: float = 1.0, *, random_state: RandomSource = None) -> Noisy:
    """Turn a random share of each row's 1s off.

    Each row draws ``u_i`` from Uniform[0, u], and ``round(u_i * ones)`` of its 1s, chosen without
    replacement, become 0: the degradation of Kabán and Bingham, "Factorisation and denoising of
    0-1 data", section 4.2, which "turns off" a uniformly varying share of the pixels that were on.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        0, 1 and NaN for missing; missing cells stay missing. Never changed in place.
    u : float from 0 to 1, default=1
        Upper limit of the rows' shares.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    Noisy
        The noisy copy, and which cells changed.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import corrode
    >>> clean = np.eye(4, 6, dtype=np.int8) + np.eye(4, 6, k=1, dtype=np.int8)
    >>> noisy = corrode(clean, random_state=0)
    >>> bool((clean[noisy.changed] == 1).all() and (noisy.X[noisy.changed] == 0).all())
    True
    """
    table = _as_table(X)
    return _set_share(table, table == 1, u, 0, random_state)


def _as_table(X: ArrayLike) -> NDArray[np.generic]:
    table = as_cells(X, "X")
    if table.ndim != 2:
        raise ValueError(f"X has {table.ndim} dimensions; noise is added to a table of rows and columns.")
    return table


def _set_share(
    table: NDArray[np.generic],
    eligible: NDArray[np.bool_],
    u: float,
    value: int,
    random_state: RandomSource,
) -> Noisy:
    """Set ``round(u_i * eligible cells)`` of each row's eligible cells to `value`."""
    if not 0 <= u <= 1:
        raise ValueError(f"u is {u}; it is the largest share of a row, from 0 to 1.")
    rng = as_generator(random_state)
    share = rng.uniform(0.0, u, size=len(table))
    count = np.rint(share * eligible.sum(axis=1))
    # A random order of each row's eligible cells, the others behind them.
    rank = np.where(eligible, rng.random(table.shape), np.inf).argsort(axis=1).argsort(axis=1)
    changed = (rank < count[:, None]) & (table != value) & ~np.isnan(table)
    return Noisy(np.where(changed, np.array(value, dtype=table.dtype), table), changed, share)


class FalseCells(NamedTuple):
    """A table with false zeros and ones, and which they are.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The noisy copy, with the dtype of the original.
    lost : ndarray of bool, shape (n_rows, n_columns)
        The false zeros: cells that were 1 and are 0.
    added : ndarray of bool, shape (n_rows, n_columns)
        The false ones: cells that were 0 and are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import add_noise
    >>> clean = np.eye(3, 8, dtype=np.int8)
    >>> noisy = add_noise(clean, white=0.5, black=0.5, random_state=0)
    >>> bool(((noisy.X - clean == -1) == noisy.lost).all() and ((noisy.X - clean == 1) == noisy.added).all())
    True
    """

    X: NDArray[np.generic]
    lost: NDArray[np.bool_]
    added: NDArray[np.bool_]


def add_noise(
    X: ArrayLike,
    *,
    white: float = 0.0,
    black: float = 0.0,
    by: By = "row",
    noisy_rows: float = 1.0,
    random_state: RandomSource = None,
) -> FalseCells:
    """Lose ones and add ones, cell by cell, at rates that differ between rows, columns or both.

    Every 1 is lost with its cell's white rate, and every 0 becomes 1 with its cell's black rate. (`add_zeros`,
    `add_ones` and `corrode` are the papers' noise: a fixed number of cells in each row.)

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        0, 1 and NaN for missing; missing cells stay missing. Never changed in place.
    white : float from 0 to 1, default=0
        Upper limit of the rates at which ones are lost; each rate is drawn from Uniform[0, white].
    black : float from 0 to 1, default=0
        Upper limit of the rates at which zeros become 1; each rate is drawn from Uniform[0, black].
    by : {"row", "column", "both"}, default="row"
        What has a rate: each row, each column, or each of them; of "both" a cell escapes only if it escapes the noise
        of its row and that of its column. Noise by column looks like content: it only changes how often the components
        have the column.
    noisy_rows : float from 0 to 1, default=1
        Probability that a row is noisy at all; the others stay as they are.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    FalseCells
        The noisy copy, the lost ones and the added ones.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import add_noise
    >>> noisy = add_noise(np.zeros((4, 100), dtype=np.int8), black=0.4, noisy_rows=0.5, random_state=0)
    >>> noisy.added.sum(axis=1)
    array([ 0, 17, 36, 35])
    """
    table = _as_table(X)
    for name, value in {"white": white, "black": black, "noisy_rows": noisy_rows}.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}; it is a probability from 0 to 1.")
    if by not in get_args(By):
        raise ValueError(f'by is {by!r}; use "row", "column" or "both".')
    rng = as_generator(random_state)
    is_noisy = rng.random((len(table), 1)) < noisy_rows
    lost = _hit(table.shape, white, by, rng) & is_noisy & (table == 1)
    added = _hit(table.shape, black, by, rng) & is_noisy & (table == 0)
    cells = np.where(lost, np.array(0, dtype=table.dtype), np.where(added, np.array(1, dtype=table.dtype), table))
    return FalseCells(cells, lost, added)


def _hit(shape: tuple[int, ...], most: float, by: By, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which cells the noise falls on."""
    escape = np.ones(shape)
    if by in ("row", "both"):
        escape *= 1 - rng.uniform(0.0, most, (shape[0], 1))
    if by in ("column", "both"):
        escape *= 1 - rng.uniform(0.0, most, (1, shape[1]))
    return rng.random(shape) >= escape


@dataclass(frozen=True, eq=False)
class SurveyTruth:
    """Histories of sites and species, with everything that generated them.

    Attributes
    ----------
    histories : ndarray of shape (n_sites, n_visits, n_species)
        1 seen, 0 not seen, NaN where the visit wasn't made; int8 if all visits were made.
    expected : ndarray of shape (n_sites, n_species)
        Expected number of individuals.
    abundance : ndarray of int, shape (n_sites, n_species)
        Number of individuals.
    rates : ndarray of shape (n_species,)
        Probability that a visit sees an individual.

    Examples
    --------
    >>> from latentbits.simulate import repeated_surveys
    >>> truth = repeated_surveys(20, 5, 3, random_state=0)
    >>> truth.histories.shape, truth.abundance.shape, truth.rates
    ((20, 3, 5), (20, 5), array([0.4, 0.4, 0.4, 0.4, 0.4]))
    >>> bool(truth.histories[:, :, 0][~truth.presence[:, 0]].any())
    False
    """

    histories: NDArray[np.int8] | NDArray[np.float64]
    expected: NDArray[np.float64]
    abundance: NDArray[np.int_]
    rates: NDArray[np.float64]

    @property
    def presence(self) -> NDArray[np.bool_]:
        """Whether a species is there, seen or not: sites x species."""
        there: NDArray[np.bool_] = self.abundance > 0
        return there


def repeated_surveys(
    n_sites: int,
    n_species: int,
    n_visits: int,
    *,
    n_components: int = 3,
    abundance: float = 0.8,
    rate: ArrayLike = 0.4,
    unmade: float = 0.0,
    random_state: RandomSource = None,
) -> SurveyTruth:
    """Draw a survey with repeat visits.

    Each site mixes `n_components` kinds of habitat, each habitat has an expected number of individuals of each species,
    the number at a site is Poisson distributed about the mixture, and each visit sees each individual with the
    probability `rate`: the model of Royle and Nichols (2003).

    Parameters
    ----------
    n_sites, n_species, n_visits : int
        Sizes, each at least 1.
    n_components : int, default=3
        Kinds of habitat.
    abundance : float, default=0.8
        Expected number of individuals of a species at a site, on average.
    rate : float or array-like of shape (n_species,), default=0.4
        Probability that a visit sees an individual.
    unmade : float, default=0.0
        Probability that a visit to a site isn't made. With the same seed, those that stay are the ones of the complete
        survey.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    SurveyTruth
        The histories and what generated them.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import repeated_surveys
    >>> truth = repeated_surveys(100, 10, 3, rate=0.3, unmade=0.2, random_state=0)
    >>> bool(np.isnan(truth.histories).any())
    True
    """
    sizes = {"n_sites": n_sites, "n_species": n_species, "n_visits": n_visits, "n_components": n_components}
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} is {size}; it must be at least 1.")
    rates = np.array(np.broadcast_to(np.asarray(rate, float), (n_species,)))
    if not ((rates > 0) & (rates <= 1)).all():
        raise ValueError(f"rate is {rate!r}; it must be above 0 and at most 1.")
    if not 0 < abundance < np.inf:
        raise ValueError(f"abundance is {abundance}; it must be positive and finite.")
    if not 0 <= unmade < 1:
        raise ValueError(f"unmade is {unmade}; it is a probability from 0 to below 1.")
    rng = as_generator(random_state)
    habitats = rng.dirichlet(np.full(n_components, 0.5), size=n_sites)
    # A Gamma distribution of shape 1/4: most species live in few of the habitats.
    expected = habitats @ rng.gamma(0.25, 4 * abundance, (n_components, n_species))
    individuals = rng.poisson(expected)
    missed = (1 - rates) ** individuals
    seen = rng.random((n_sites, n_visits, n_species)) >= missed[:, None]
    if unmade == 0:
        return SurveyTruth(seen.astype(np.int8), expected, individuals, rates)
    # Drawn last, so that asking for visits that weren't made doesn't change the others.
    made = rng.random((n_sites, n_visits, 1)) >= unmade
    return SurveyTruth(np.where(made, seen, np.nan), expected, individuals, rates)
