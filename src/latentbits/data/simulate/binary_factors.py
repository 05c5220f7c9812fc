"""Continuous data from binary causes that are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["BinaryFactorsTruth", "binary_factors"]


@dataclass(frozen=True, eq=False)
class BinaryFactorsTruth:
    """Data drawn from binary factor analysis, with everything that made them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_variables)
        The data.
    codes : ndarray of int8, shape (n_rows, n_components)
        -1 and 1: which causes are off and on in each row.
    mixing : ndarray of shape (n_variables, n_components)
        What each cause adds (and, when it is off, takes away).
    mean : ndarray of shape (n_variables,)
        What is added to every row.
    noise : float
        Standard deviation of the noise.
    probabilities : ndarray of shape (n_components,)
        Of each cause being on.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import binary_factors
    >>> truth = binary_factors(6, 4, 2, noise=0.0, random_state=0)
    >>> bool(np.allclose(truth.X, truth.codes @ truth.mixing.T + truth.mean))
    True
    """

    X: NDArray[np.float64]
    codes: NDArray[np.int8]
    mixing: NDArray[np.float64]
    mean: NDArray[np.float64]
    noise: float
    probabilities: NDArray[np.float64]


def binary_factors(
    n_rows: int,
    n_variables: int,
    n_components: int,
    noise: float = 0.25,
    *,
    norms: tuple[float, float] = (1.0, 2.0),
    probabilities: ArrayLike = 0.5,
    mean: ArrayLike = 0.0,
    random_state: RandomSource = None,
) -> BinaryFactorsTruth:
    """Draw x = A y + c + noise with y in {-1, 1}^m, the recipe of Tu and Xu's experiments.

    A = U Lambda: U has orthonormal columns in random directions, and the columns' lengths are uniform over `norms`.

    Parameters
    ----------
    n_rows, n_variables, n_components : int
        At most as many components as variables (the columns of U are orthogonal).
    noise : float, default=0.25
        Standard deviation of the noise, the same in every variable.
    norms : (float, float), default=(1, 2)
        Range of the lengths of the mixing matrix' columns.
    probabilities : float or array-like of shape (n_components,), default=0.5
        Probability of each cause being on.
    mean : float or array-like of shape (n_variables,), default=0
        The c that is added to every row.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    BinaryFactorsTruth
        The data with what made them.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import binary_factors
    >>> truth = binary_factors(100, 10, 3, random_state=0)
    >>> truth.X.shape, truth.codes.shape, truth.mixing.shape
    ((100, 10), (100, 3), (10, 3))
    >>> lengths = np.linalg.norm(truth.mixing, axis=0)
    >>> bool((lengths >= 1).all() and (lengths <= 2).all())
    True
    """
    for name, size in {"n_rows": n_rows, "n_variables": n_variables, "n_components": n_components}.items():
        check_number(name, size, least=1, integer=True)
    if n_components > n_variables:
        raise ValueError(
            f"n_components={n_components} orthogonal directions don't fit into {n_variables} variables; "
            "take at most as many components as variables"
        )
    check_number("noise", noise, least=0)
    low, high = norms
    if not 0 <= low <= high < np.inf:
        raise ValueError(f"norms={norms!r} must be two numbers, 0 <= lower <= upper")
    beta = np.broadcast_to(np.asarray(probabilities, dtype=float), (n_components,)).copy()
    if not np.all((beta >= 0) & (beta <= 1)):
        raise ValueError("probabilities must lie between 0 and 1")
    c = np.broadcast_to(np.asarray(mean, dtype=float), (n_variables,)).copy()
    rng = as_generator(random_state)
    U = np.linalg.qr(rng.standard_normal((n_variables, n_components)))[0]
    A = U * rng.uniform(low, high, size=n_components)
    Y = np.where(rng.random((n_rows, n_components)) < beta, 1, -1).astype(np.int8)
    X = Y @ A.T + c + noise * rng.standard_normal((n_rows, n_variables))
    return BinaryFactorsTruth(X, Y, A, c, float(noise), beta)
