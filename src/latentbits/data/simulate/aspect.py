"""Binary data whose causes are known: draws from the aspect model, and noise with its mask.

Nothing here imports a model, so a recovery test compares a learner with an independent ground truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latentbits.numerics import RandomSource, as_cells, as_generator

__all__ = ["AspectTruth", "Noisy", "add_ones", "add_zeros", "aspect_bernoulli", "corrode"]


@dataclass(frozen=True, eq=False)
class AspectTruth:
    """Data drawn from the aspect Bernoulli model, with everything that made them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Of 0 and 1, int8; float64 with NaN for missing cells if missing cells were asked for.
    weights : ndarray of shape (n_rows, n_components)
        Each row's mixing weights, on the simplex.
    components : ndarray of shape (n_components, n_columns)
        Each component's probability of a 1 in each column.
    causes : ndarray of int, shape (n_rows, n_columns)
        The component that made each cell, missing cells included.

    Examples
    --------
    >>> truth = aspect_bernoulli(6, 4, 2, random_state=0)
    >>> truth.X.shape, truth.weights.shape, truth.components.shape, truth.causes.shape
    ((6, 4), (6, 2), (2, 4), (6, 4))
    """

    X: NDArray[np.int8] | NDArray[np.float64]
    weights: NDArray[np.float64]
    components: NDArray[np.float64]
    causes: NDArray[np.intp]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of a 1 in each cell, the cause not known: ``weights @ components``."""
        return self.weights @ self.components


def aspect_bernoulli(
    n_rows: int,
    n_columns: int,
    n_components: int,
    *,
    concentration: float = 0.5,
    density: float = 0.5,
    sharpness: float = 0.5,
    white_phantom: bool = False,
    black_phantom: bool = False,
    missing: float = 0.0,
    random_state: RandomSource = None,
) -> AspectTruth:
    """Draw data from the aspect Bernoulli model.

    The generating process of Bingham, Kabán and Fortelius, "The aspect Bernoulli model", section
    2.1: each row has its own weights over the components, and *each cell* picks its cause anew from
    them; the cause then gives a 1 with its probability for that column (eq. 1). Weights and
    components themselves are drawn from a Dirichlet and a Beta distribution.

    Parameters
    ----------
    n_rows, n_columns, n_components : int
        Sizes, each at least 1.
    concentration : float, default=0.5
        Of the symmetric Dirichlet distribution of the weights. 1 is uniform over the simplex (the
        paper's assumption); below 1, most of a row comes from few components.
    density : float, default=0.5
        Expected share of 1s that a content component (one that isn't a phantom) makes.
    sharpness : float, default=0.5
        The ``s`` of ``Beta(density * s, (1 - density) * s)``, from which content components are
        drawn: the *smaller*, the nearer their probabilities are to 0 and 1 and the better the
        components are separated; towards infinity all become equal to `density`.
    white_phantom : bool, default=False
        Make the last component all 0: the cause of false absences.
    black_phantom : bool, default=False
        Make the last component all 1: the cause of false presences. The white phantom, if any, is
        then the last but one. Phantoms count within `n_components`.
    missing : float, default=0
        Probability that a cell is missing, at random. With the same seed, the cells that stay
        are the ones of the complete data.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    AspectTruth
        The data with what made them.

    Examples
    --------
    >>> truth = aspect_bernoulli(100, 20, 3, white_phantom=True, random_state=0)
    >>> truth.X.dtype
    dtype('int8')
    >>> bool(truth.components[-1].max() == 0 and truth.X[truth.causes == 2].max() == 0)
    True
    """
    _check_sizes(n_rows, n_columns, n_components, n_phantoms=white_phantom + black_phantom)
    _check_shape_parameters(concentration, density, sharpness)
    if not 0 <= missing < 1:
        raise ValueError(f"missing is {missing}; it is a probability from 0 to below 1.")
    rng = as_generator(random_state)
    weights = rng.dirichlet(np.full(n_components, concentration), size=n_rows)
    components = rng.beta(density * sharpness, (1 - density) * sharpness, size=(n_components, n_columns))
    if black_phantom:
        components[-1] = 1.0
    if white_phantom:
        components[-1 - black_phantom] = 0.0
    causes = _draw_causes(weights, n_columns, rng)
    ones = rng.random(causes.shape) < components[causes, np.arange(n_columns)]
    if missing == 0:
        return AspectTruth(ones.astype(np.int8), weights, components, causes)
    # Drawn last, so that asking for missing cells doesn't change the ones that are seen.
    X = np.where(rng.random(causes.shape) < missing, np.nan, ones)
    return AspectTruth(X, weights, components, causes)


def _check_sizes(n_rows: int, n_columns: int, n_components: int, n_phantoms: int) -> None:
    sizes = {"n_rows": n_rows, "n_columns": n_columns, "n_components": n_components}
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} is {size}; it must be at least 1.")
    if n_phantoms > n_components:
        raise ValueError(f"n_components is {n_components}, too few for {n_phantoms} phantoms.")


def _check_shape_parameters(concentration: float, density: float, sharpness: float) -> None:
    for name, value in {"concentration": concentration, "sharpness": sharpness}.items():
        if not 0 < value < np.inf:
            raise ValueError(f"{name} is {value}; it must be positive and finite.")
    if not 0 < density < 1:
        raise ValueError(f"density is {density}; it must lie strictly between 0 and 1.")


def _draw_causes(weights: NDArray[np.float64], n_columns: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw each cell's cause from its row's weights, without a rows x columns x components array."""
    uniform = rng.random((len(weights), n_columns))
    causes = np.zeros(uniform.shape, dtype=np.intp)
    for threshold in np.cumsum(weights[:, :-1], axis=1).T:
        causes += uniform >= threshold[:, None]
    return causes


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
