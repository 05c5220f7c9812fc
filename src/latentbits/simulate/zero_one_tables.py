"""0-1 tables whose causes are known: draws from the aspect model, from probit factors and from an Ising model.

Nothing in this package imports a model, so that recovery tests compare a learner with an independent truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, softmax

from latentbits.numerics import RandomSource, as_generator, check_number


@dataclass(frozen=True, eq=False)
class AspectTruth:
    """Data drawn from the aspect Bernoulli model, with everything that generated them.

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
    >>> from latentbits.simulate import aspect_bernoulli
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
        Expected share of 1s of a content component (one that isn't noise).
    sharpness : float, default=0.5
        The ``s`` of ``Beta(density * s, (1 - density) * s)``, from which content components are
        drawn: the *smaller*, the nearer their probabilities are to 0 and 1 and the better the
        components are separated; towards infinity all become equal to `density`.
    white_phantom : bool, default=False
        Make the last component all 0: the cause of false absences.
    black_phantom : bool, default=False
        Make the last component all 1: the cause of false presences. The white one, if any, is then the last but one.
        Both count within `n_components`.
    missing : float, default=0
        Probability that a cell is missing, at random. With the same seed, the cells that stay
        are the ones of the complete data.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    AspectTruth
        The data and what generated them.

    Examples
    --------
    >>> from latentbits.simulate import aspect_bernoulli
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
        raise ValueError(f"n_components is {n_components}, too few for {n_phantoms} noise components.")


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


@dataclass(frozen=True, eq=False)
class ProbitFactorsTruth:
    """Data drawn from probit factor analysis, with everything that generated them.

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
        The data and what generated them.

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


MOST_COLUMNS = 16
"""All 2^16 rows are listed with their probabilities."""


@dataclass(frozen=True, eq=False)
class IsingTruth:
    """Rows drawn from an Ising model, with everything that generated them.

    Attributes
    ----------
    X : ndarray of int8, shape (n_rows, n_columns)
        The rows, 0 and 1.
    couplings : ndarray of shape (n_columns, n_columns)
        What a 1 in one column adds to the log-odds of a 1 in another; symmetric, 0 on the diagonal.
    bias : ndarray of shape (n_columns,)
        The log-odds of a 1 in a row whose other cells are 0.
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
        The rows and what generated them.

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
