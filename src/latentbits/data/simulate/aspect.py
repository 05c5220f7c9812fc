"""Binary data whose causes are known: draws from the aspect model.

Nothing here imports a model, so a recovery test compares a learner with an independent ground truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latentbits.numerics import RandomSource, as_generator

__all__ = ["AspectTruth", "aspect_bernoulli"]


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
