"""Binary data from independent non-stationary sources, mixed linearly, with everything that made them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["BinaryICATruth", "binary_ica"]

LARGEST_CONDITION = 20.0
"""What the condition number of a mixing of fewer than `MANY_VARIABLES` variables stays below."""

MANY_VARIABLES = 20
N_COMPARED = 1000
COMPARED_QUANTILE = 0.75


@dataclass(frozen=True, eq=False)
class BinaryICATruth:
    """Data drawn from the binary ICA model, with everything that made them.

    Attributes
    ----------
    X : int8 ndarray of shape (n_rows, n_variables)
        Segment after segment.
    segments : ndarray of int, shape (n_rows,)
        The segment of each row, from 0.
    mixing : ndarray of shape (n_variables, n_components)
        The same in all segments.
    means : ndarray of shape (n_segments, n_components)
        Mean of each source in each segment.
    scales : ndarray of shape (n_segments, n_components)
        Standard deviation of each source in each segment.
    sources : ndarray of shape (n_rows, n_components)
        The values of the sources in each row.

    Examples
    --------
    >>> from latentbits.simulate import binary_ica
    >>> truth = binary_ica(50, 6, 2, 4, random_state=0)
    >>> truth.X.shape, truth.mixing.shape, truth.scales.shape, truth.sources.shape
    ((200, 6), (6, 2), (4, 2), (200, 2))
    """

    X: NDArray[np.int8]
    segments: NDArray[np.intp]
    mixing: NDArray[np.float64]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]
    sources: NDArray[np.float64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of a 1 in each cell, the sources known."""
        return np.asarray(ndtr(np.sqrt(np.pi / 8) * self.sources @ self.mixing.T))


def binary_ica(
    n_rows_per_segment: int,
    n_variables: int,
    n_components: int,
    n_segments: int = 40,
    *,
    random_state: RandomSource = None,
) -> BinaryICATruth:
    """Draw data from the binary ICA model with the recipe of Hyttinen, Barin-Pacela and Hyvärinen, section 6.

    Source means are uniform in (-0.5, 0.5) and standard deviations in (0.5, 3), anew in each segment. The mixing,
    uniform in (-3, 3) and the same in all segments, is drawn again until its condition number is below 20; from 20
    variables on, until it is below the upper quartile of 1000 such draws.

    Parameters
    ----------
    n_rows_per_segment, n_variables, n_components : int
        Sizes, each at least 1.
    n_segments : int, default=40
        Number of segments, at least 1.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    BinaryICATruth
        The data with what made them.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import binary_ica
    >>> truth = binary_ica(100, 8, 8, 10, random_state=0)
    >>> bool(np.linalg.cond(truth.mixing) < 20)
    True
    >>> np.bincount(truth.segments).tolist()
    [100, 100, 100, 100, 100, 100, 100, 100, 100, 100]
    """
    for name, size in {
        "n_rows_per_segment": n_rows_per_segment,
        "n_variables": n_variables,
        "n_components": n_components,
        "n_segments": n_segments,
    }.items():
        check_number(name, size, least=1, integer=True)
    rng = as_generator(random_state)
    mixing = _well_conditioned(n_variables, n_components, rng)
    means = rng.uniform(-0.5, 0.5, (n_segments, n_components))
    scales = rng.uniform(0.5, 3.0, (n_segments, n_components))
    segments = np.repeat(np.arange(n_segments), n_rows_per_segment)
    sources = means[segments] + scales[segments] * rng.standard_normal((len(segments), n_components))
    ones = rng.random((len(segments), n_variables)) < ndtr(np.sqrt(np.pi / 8) * sources @ mixing.T)
    return BinaryICATruth(ones.astype(np.int8), segments, mixing, means, scales, sources)


def _well_conditioned(n_variables: int, n_components: int, rng: np.random.Generator) -> NDArray[np.float64]:
    shape = (n_variables, n_components)
    limit = LARGEST_CONDITION
    if n_variables >= MANY_VARIABLES:
        others = [np.linalg.cond(rng.uniform(-3.0, 3.0, shape)) for _ in range(N_COMPARED)]
        limit = float(np.quantile(others, COMPARED_QUANTILE))
    while True:
        mixing = rng.uniform(-3.0, 3.0, shape)
        if np.linalg.cond(mixing) < limit:
            return mixing
