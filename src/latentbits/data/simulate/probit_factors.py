"""0-1 data from normal causes that are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["ProbitFactorsTruth", "probit_factors"]


@dataclass(frozen=True, eq=False)
class ProbitFactorsTruth:
    """Data drawn from probit factor analysis, with everything that made them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        0 and 1; with missing cells floats and NaN, else int8.
    weights : ndarray of shape (n_rows, n_components)
        Coordinates of the rows, standard normal.
    components : ndarray of shape (n_components, n_columns)
        Loadings of the columns.
    bias : ndarray of shape (n_columns,)
        Scores of the columns.
    row_effects : ndarray of shape (n_rows,)
        What is added to the scores of a row.
    probabilities : ndarray of shape (n_rows, n_columns)
        Of a 1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import ndtr
    >>> from latentbits.simulate import probit_factors
    >>> truth = probit_factors(6, 4, 2, random_state=0)
    >>> score = truth.weights @ truth.components + truth.bias + truth.row_effects[:, None]
    >>> bool(np.allclose(truth.probabilities, ndtr(score)))
    True
    """

    X: NDArray[np.generic]
    weights: NDArray[np.float64]
    components: NDArray[np.float64]
    bias: NDArray[np.float64]
    row_effects: NDArray[np.float64]
    probabilities: NDArray[np.float64]


def probit_factors(
    n_rows: int,
    n_columns: int,
    n_components: int,
    *,
    loading: float = 1.0,
    bias: tuple[float, float] = (-0.5, 0.7),
    row_effect: float = 0.0,
    missing: float = 0.0,
    random_state: RandomSource = None,
) -> ProbitFactorsTruth:
    """Draw cells that are 1 where a normal score is above 0: P = Phi(u_i . v_j + b_j + a_i).

    Parameters
    ----------
    n_rows, n_columns, n_components : int
        The sizes.
    loading : float, default=1
        Standard deviation of the loadings v; the noise of a score has 1.
    bias : (float, float), default=(-0.5, 0.7)
        Mean and standard deviation of the columns' scores b.
    row_effect : float, default=0
        Standard deviation of the rows' effects a.
    missing : float, default=0
        Probability of each cell to be missing.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    ProbitFactorsTruth
        The data with what made them.

    Examples
    --------
    >>> from latentbits.simulate import probit_factors
    >>> truth = probit_factors(100, 10, 3, random_state=0)
    >>> truth.X.shape, truth.weights.shape, truth.components.shape
    ((100, 10), (100, 3), (3, 10))
    """
    for name, size in {"n_rows": n_rows, "n_columns": n_columns, "n_components": n_components}.items():
        check_number(name, size, least=1, integer=True)
    centre, spread = bias
    for name, scale in {"loading": loading, "bias[1]": spread, "row_effect": row_effect}.items():
        check_number(name, scale, least=0)
    check_number("bias[0]", centre, least=-np.inf)
    check_number("missing", missing, least=0, below=1)
    rng = as_generator(random_state)
    U = rng.standard_normal((n_rows, n_components))
    V = loading * rng.standard_normal((n_components, n_columns))
    b = centre + spread * rng.standard_normal(n_columns)
    a = row_effect * rng.standard_normal(n_rows)
    P = ndtr(U @ V + b + a[:, None])
    X: NDArray[np.generic] = (rng.random(P.shape) < P).astype(np.int8)
    if missing:
        X = np.where(rng.random(P.shape) < missing, np.nan, X)
    return ProbitFactorsTruth(X, U, V, b, a, P)
