"""Rows of an Ising model, drawn exactly: columns whose couplings are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["IsingTruth", "ising"]

MOST_COLUMNS = 16
"""All 2^16 rows are listed with their probabilities."""


@dataclass(frozen=True, eq=False)
class IsingTruth:
    """Rows drawn from an Ising model, with everything that made them.

    Attributes
    ----------
    X : ndarray of int8, shape (n_rows, n_columns)
        The rows, 0 and 1.
    couplings : ndarray of shape (n_columns, n_columns)
        What a 1 in one column adds to the log odds of a 1 in another; symmetric, 0 on the diagonal.
    bias : ndarray of shape (n_columns,)
        The log odds of a 1 in a row whose other cells are 0.
    means : ndarray of shape (n_columns,)
        The columns' probabilities of a 1.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import ising
    >>> truth = ising(50_000, 4, random_state=0)
    >>> bool(np.abs(truth.X.mean(axis=0) - truth.means).max() < 0.01)
    True
    """

    X: NDArray[np.int8]
    couplings: NDArray[np.float64]
    bias: NDArray[np.float64]
    means: NDArray[np.float64]


def ising(
    n_rows: int,
    n_columns: int,
    *,
    density: float = 0.4,
    strength: float = 1.5,
    couplings: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    random_state: RandomSource = None,
) -> IsingTruth:
    """Draw independent rows with log P(x) = sum_j bias_j x_j + sum_{j<k} couplings_jk x_j x_k + constant, exactly.

    All rows that there can be are listed with their probabilities, so there is no chain that may not have mixed.

    Parameters
    ----------
    n_rows, n_columns : int
        At most 16 columns.
    density : float from 0 to 1, default=0.4
        The probability that two columns are coupled, if no couplings are given.
    strength : float, default=1.5
        The largest size of a coupling; sizes are uniform from a third of it, with random signs.
    couplings : array-like of shape (n_columns, n_columns) or None, default=None
        Symmetric, with 0 on the diagonal; None draws them.
    bias : array-like of shape (n_columns,) or None, default=None
        None balances the columns: each has as many ones as zeros in the mean.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    IsingTruth
        The rows with what made them.

    Examples
    --------
    >>> from latentbits.simulate import ising
    >>> truth = ising(100, 5, random_state=0)
    >>> truth.X.shape, truth.couplings.shape
    ((100, 5), (5, 5))
    >>> ising(3, 2, couplings=[[0, 50], [50, 0]], random_state=1).X.tolist()
    [[1, 1], [1, 1], [0, 0]]
    """
    check_number("n_rows", n_rows, least=1, integer=True)
    check_number("n_columns", n_columns, least=1, integer=True)
    if n_columns > MOST_COLUMNS:
        raise ValueError(f"n_columns={n_columns} has too many rows to list them all; use at most {MOST_COLUMNS}")
    if not 0 <= density <= 1:
        raise ValueError(f"density={density} is a probability; give a number from 0 to 1")
    check_number("strength", strength, least=0)
    rng = as_generator(random_state)
    J = _drawn(n_columns, density, strength, rng) if couplings is None else _checked(couplings, n_columns)
    b = -J.sum(axis=0) / 2 if bias is None else np.broadcast_to(np.asarray(bias, dtype=float), (n_columns,)).copy()
    states = (np.arange(2**n_columns)[:, None] >> np.arange(n_columns) & 1).astype(np.int8)
    p = softmax(states @ b + np.einsum("ij,ij->i", states @ J, states) / 2)
    return IsingTruth(states[rng.choice(len(states), size=n_rows, p=p)], J, b, p @ states)


def _drawn(n_columns: int, density: float, strength: float, rng: np.random.Generator) -> NDArray[np.float64]:
    shape = (n_columns, n_columns)
    size = rng.uniform(strength / 3, strength, shape) * rng.choice([-1.0, 1.0], shape)
    upper = np.triu(np.where(rng.random(shape) < density, size, 0.0), 1)
    return upper + upper.T


def _checked(couplings: ArrayLike, n_columns: int) -> NDArray[np.float64]:
    J = np.array(couplings, dtype=float)
    if J.shape != (n_columns, n_columns) or not np.array_equal(J, J.T) or np.diag(J).any():
        raise ValueError(f"couplings must be {n_columns} x {n_columns}, symmetric, with 0 on the diagonal")
    if not np.isfinite(J).all():
        raise ValueError("couplings must be finite, without NaN")
    return J
