"""Linear mixtures whose sources are known: binary ICA, clusters of mixed sources, and binary factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from latentbits.numerics import RandomSource, as_generator, check_number

LARGEST_CONDITION = 20.0
"""What the condition number of a mixing of fewer than `MANY_VARIABLES` variables stays below."""

MANY_VARIABLES = 20
N_COMPARED = 1000
COMPARED_QUANTILE = 0.75


@dataclass(frozen=True, eq=False)
class BinaryICATruth:
    """Data drawn from the binary ICA model, with everything that generated them.

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
    uniform in (-3, 3) and the same in all segments, is resampled until its condition number is below 20; from 20
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
        The data and what generated them.

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


Floats = NDArray[np.float64]


def _exponential_power(q: float) -> Callable[[np.random.Generator, int], Floats]:
    """Draws with a density that falls like exp(-|x|^q)."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        return rng.gamma(1 / q, size=n) ** (1 / q) * rng.choice([-1.0, 1.0], size=n)

    return draw


SOURCES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "laplace": lambda rng, n: rng.laplace(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, size=n),
    "gamma": lambda rng, n: rng.gamma(1.2, size=n),
    "beta": lambda rng, n: rng.beta(0.6, 1.5, size=n),
    "generalised": _exponential_power(0.6),
    "rectified": lambda rng, n: np.abs(_exponential_power(0.8)(rng, n)),
    "gaussian": lambda rng, n: rng.normal(size=n),
}
"""Densities of sources, by name; draws are brought to mean 0 and variance 1 afterwards."""


@dataclass(frozen=True, eq=False)
class ICAMixtureTruth:
    """Clusters of mixed sources, with everything that generated them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The points, cluster after cluster.
    labels : ndarray of int, shape (n_rows,)
        The cluster of each row.
    sources : list of ndarray, one per cluster, each n_points x n_sources
        Of mean 0 and variance 1.
    mixing : list of ndarray, one per cluster, each n_columns x n_sources
        The matrices as given.
    means : ndarray of shape (n_clusters, n_columns)
        The centres of the clusters.

    Examples
    --------
    >>> from latentbits.simulate import ica_mixture
    >>> truth = ica_mixture([[[1.0, 0.0], [1.0, 2.0]], [[1.0], [3.0]]], n_points=50, random_state=0)
    >>> truth.X.shape, [s.shape for s in truth.sources]
    ((100, 2), [(50, 2), (50, 1)])
    """

    X: Floats
    labels: NDArray[np.intp]
    sources: list[Floats]
    mixing: list[Floats]
    means: Floats


def ica_mixture(
    mixing: Sequence[ArrayLike],
    *,
    n_points: int | tuple[int, int] = 250,
    kinds: Sequence[str] = ("laplace", "uniform", "gamma", "beta", "generalised"),
    means: ArrayLike | None = None,
    separation: float = 4.0,
    noise_db: float = -33.0,
    random_state: RandomSource = None,
) -> ICAMixtureTruth:
    """Draw clusters of points, each a linear mixture of independent sources with noise.

    The data of Chan, Lee and Sejnowski (2002), sections 3.1 and 3.2.

    Parameters
    ----------
    mixing : sequence of array-like, one a cluster, each n_columns x n_sources
        Clusters may have different numbers of sources.
    n_points : int or (int, int), default=250
        Points of a cluster; or the limits between which each cluster's own number is drawn.
    kinds : sequence of str, default=("laplace", "uniform", "gamma", "beta", "generalised")
        Densities, names of `SOURCES`; a cluster's sources get different ones as far as there are enough.
    means : array-like of shape (n_clusters, n_columns), optional
        Centres; by default they are drawn so that any two are `separation` times the largest cluster's spread apart.
    separation : float, default=4
        Least distance of two drawn centres, in spreads of the largest cluster.
    noise_db : float, default=-33
        Variance of the noise in each column, in decibels relative to the mean variance of the cluster's columns.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    ICAMixtureTruth
        The data and what generated them.

    Examples
    --------
    >>> from latentbits.simulate import ica_mixture
    >>> ica_mixture([[[1.0, 0.0], [1.0, 2.0]]], n_points=20, means=[[5.0, 0.0]], random_state=0).X.shape
    (20, 2)
    """
    rng = as_generator(random_state)
    matrices = [np.asarray(matrix, dtype=float) for matrix in mixing]
    if len({matrix.shape[0] for matrix in matrices if matrix.ndim == 2}) != 1 or any(m.ndim != 2 for m in matrices):
        raise ValueError("mixing has matrices of different numbers of rows; give each one n_columns x n_sources.")
    if unknown := set(kinds) - set(SOURCES):
        raise ValueError(f"kinds has {sorted(unknown)[0]!r}; the known ones are {', '.join(SOURCES)}.")
    centres = _draw_centres(matrices, separation, rng) if means is None else np.asarray(means, dtype=float)
    if centres.shape != (len(matrices), matrices[0].shape[0]):
        raise ValueError(f"means has shape {centres.shape}; give n_clusters x n_columns.")
    sources, rows = [], []
    for A, centre in zip(matrices, centres, strict=True):
        n = n_points if isinstance(n_points, int) else int(rng.integers(n_points[0], n_points[1] + 1))
        s = _draw_sources(A.shape[1], n, kinds, rng)
        noise = np.sqrt(10 ** (noise_db / 10) * np.mean((A**2).sum(axis=1)))
        sources.append(s)
        rows.append(centre + s @ A.T + noise * rng.normal(size=(n, len(A))))
    labels = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    return ICAMixtureTruth(np.vstack(rows), labels, sources, matrices, centres)


def _draw_sources(n_sources: int, n: int, kinds: Sequence[str], rng: np.random.Generator) -> Floats:
    chosen = [str(kind) for kind in rng.choice(list(kinds), size=n_sources, replace=n_sources > len(kinds))]
    s = np.column_stack([SOURCES[kind](rng, n) for kind in chosen])
    return (s - s.mean(axis=0)) / s.std(axis=0)


def _draw_centres(matrices: list[Floats], separation: float, rng: np.random.Generator) -> Floats:
    """Centres at random, resampled until any two are far enough apart, from a range that grows with each try."""
    least = separation * max(float(np.sqrt((A**2).sum(axis=1).max())) for A in matrices)
    half_range = least
    while True:
        centres = rng.uniform(-half_range, half_range, size=(len(matrices), matrices[0].shape[0]))
        distance = np.linalg.norm(centres[:, None] - centres, axis=2) + least * np.eye(len(centres))
        if distance.min() >= least:
            return centres
        half_range *= 1.05


@dataclass(frozen=True, eq=False)
class BinaryFactorsTruth:
    """Data drawn from binary factor analysis, with everything that generated them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_variables)
        The data.
    codes : ndarray of int8, shape (n_rows, n_components)
        -1 and 1: which factors are off and on in each row.
    mixing : ndarray of shape (n_variables, n_components)
        What each factor adds (and, when it is off, subtracts).
    mean : ndarray of shape (n_variables,)
        What is added to every row.
    noise : float
        Standard deviation of the noise.
    probabilities : ndarray of shape (n_components,)
        Probability of each factor being on.

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
        Probability of each factor being on.
    mean : float or array-like of shape (n_variables,), default=0
        The c that is added to every row.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    BinaryFactorsTruth
        The data and what generated them.

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
