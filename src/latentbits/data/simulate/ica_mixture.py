"""Clusters of mixed independent sources, with everything that made them.

Nothing here imports a model, so a recovery test compares a learner with an independent ground truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latentbits.numerics import RandomSource, as_generator

__all__ = ["ICAMixtureTruth", "ica_mixture"]

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
    """Clusters of mixed sources, with everything that made them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The points, cluster after cluster.
    labels : ndarray of int, shape (n_rows,)
        The cluster of each row.
    sources : list of ndarray, one a cluster, each n_points x n_sources
        Of mean 0 and variance 1.
    mixing : list of ndarray, one a cluster, each n_columns x n_sources
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
        The data with what made them.

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
    """Centres at random, drawn again until any two are far enough apart, from a range that grows with each try."""
    least = separation * max(float(np.sqrt((A**2).sum(axis=1).max())) for A in matrices)
    half_range = least
    while True:
        centres = rng.uniform(-half_range, half_range, size=(len(matrices), matrices[0].shape[0]))
        distance = np.linalg.norm(centres[:, None] - centres, axis=2) + least * np.eye(len(centres))
        if distance.min() >= least:
            return centres
        half_range *= 1.05
