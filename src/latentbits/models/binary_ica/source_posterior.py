"""The posterior of a row's sources, and its likelihood, by numerical integration with nodes adapted to each row.

The posterior of the sources is a normal prior times one Phi(+-c a_i . z) for each observed cell. Expectation
propagation approximates it by a normal distribution, and nodes placed by that distribution (a grid for one or two
sources, quasi-random points beyond) integrate the exact product. So the result is as accurate for a hundred columns,
which give a narrow posterior, as for two. (Where a mixing is so strong that the factors are nearly step functions,
beyond c |a_i| s of about 10, digits are lost.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from latentbits.fitting.workers import Workers
from latentbits.kernels.probit_ep import log_probit_products, probit_ep
from latentbits.models.binary_ica.parameters import FINEST_GRID, LINK, Parameters
from latentbits.numerics import LOG_ROOT_2PI, normalised

REACH = 8.0
"""Standard deviations that a grid covers on either side; the posterior's tails are lighter than the prior's."""

GRID_POINTS = {1: 400, 2: 40}
SOBOL_POINTS = 512
WIDENED = 1.15
"""Quasi-random points are spread wider than the approximating normal by this factor: importance sampling needs
proposals with tails that are heavy enough."""

MAX_SWEEPS = 30
SWEEP_TOL = 1e-3
"""Of expectation propagation, which need not be accurate: it only places the nodes."""

BLOCK = 1 << 18
"""Numbers that a temporary array may hold; blocks of rows are sized by it."""


class RowPosterior(NamedTuple):
    """log_likelihood: (N,). mean, variance: (N, m) of the sources."""

    log_likelihood: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class Nodes(NamedTuple):
    """Points (P, m) in units of the distribution that places them, and log (weight / its density) there (P,)."""

    points: np.ndarray
    log_weight: np.ndarray


def adapted_nodes(n_components: int, n_points: int | None = None) -> Nodes:
    """A grid (`n_points` in each dimension) for one or two sources, else Sobol points; the same ones in every call."""
    if n_components == 0:  # independent columns: nothing to integrate over
        return Nodes(np.zeros((1, 0)), np.zeros(1))
    if n_components <= 2:
        n_points = min(n_points or GRID_POINTS[n_components], FINEST_GRID)
        line, step = np.linspace(-REACH, REACH, n_points, retstep=True)
        points = np.array(list(product(line, repeat=n_components)))
        return Nodes(points, np.full(len(points), n_components * np.log(step)))
    power = int(np.ceil(np.log2(n_points or SOBOL_POINTS)))
    points = WIDENED * ndtri(np.maximum(qmc.Sobol(n_components, seed=0).random_base2(power), 2.0**-32))
    log_density = -0.5 * ((points / WIDENED) ** 2).sum(axis=1) - n_components * (LOG_ROOT_2PI + np.log(WIDENED))
    return Nodes(points, -log_density - power * np.log(2))


def posterior(
    cells: np.ndarray, codes: np.ndarray, parameters: Parameters, nodes: Nodes, workers: Workers
) -> RowPosterior:
    """Posterior of rows (N, n) with known segments (N,); each row on its own."""
    return _by_segment(cells, codes, parameters, workers, partial(_one_segment, nodes=nodes))


def normal_posterior(cells: np.ndarray, codes: np.ndarray, parameters: Parameters, workers: Workers) -> RowPosterior:
    """Means and variances by expectation propagation alone; the log likelihood is left at 0."""
    return _by_segment(cells, codes, parameters, workers, _normal_segment)


def _by_segment(
    cells: np.ndarray,
    codes: np.ndarray,
    parameters: Parameters,
    workers: Workers,
    solve_rows: Callable[[np.ndarray, Parameters, int], tuple[np.ndarray, ...]],
) -> RowPosterior:
    m = parameters.mixing.shape[1]
    answer = RowPosterior(np.zeros(len(cells)), np.zeros((len(cells), m)), np.zeros((len(cells), m)))

    def solve(u: int) -> None:
        rows = np.flatnonzero(codes == u)
        # Equal rows of a segment have the same posterior, which is computed once.
        distinct, place = np.unique(cells[rows], axis=0, return_inverse=True)
        found = solve_rows(distinct, parameters, u)
        for target, part in zip(answer, found, strict=True):
            target[rows] = part[place.ravel()]

    workers.map(solve, np.unique(codes).tolist())
    return answer


def posterior_of_mixture(
    cells: np.ndarray, share: np.ndarray, parameters: Parameters, nodes: Nodes, workers: Workers
) -> RowPosterior:
    """Posterior of rows with unknown segments: u has the prior probability share_u."""
    distinct, place = np.unique(cells, axis=0, return_inverse=True)
    each = [
        posterior(distinct, np.full(len(distinct), u), parameters, nodes, workers) for u in np.flatnonzero(share > 0)
    ]
    joint = np.stack([part.log_likelihood for part in each]) + np.log(share[share > 0])[:, None]
    log_p, weight = normalised(joint.T)
    mean = np.einsum("ru,urk->rk", weight, np.stack([part.mean for part in each]))
    square = np.einsum("ru,urk->rk", weight, np.stack([part.variance + part.mean**2 for part in each]))
    place = place.ravel()
    return RowPosterior(log_p[place], mean[place], np.maximum(square - mean**2, 0.0)[place])


def _one_segment(
    cells: np.ndarray, parameters: Parameters, u: int, nodes: Nodes
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log P(x), posterior means and variances; computed in units of the prior, eps = (z - mu) / s."""
    mu, s, h = parameters.means[u], parameters.scales[u], parameters.centre(u)
    B = np.ascontiguousarray(LINK * parameters.mixing * s)
    step = max(1, BLOCK // (len(nodes.points) * len(B)))
    blocks = [_block(cells[start : start + step], B, h, nodes) for start in range(0, len(cells), step)]
    log_p, mean, variance = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return log_p, mu + s * mean, s**2 * variance


def _normal_segment(cells: np.ndarray, parameters: Parameters, u: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mu, s = parameters.means[u], parameters.scales[u]
    B = np.ascontiguousarray(LINK * parameters.mixing * s)
    mean, covariance = probit_ep(np.ascontiguousarray(cells), B, parameters.centre(u), MAX_SWEEPS, SWEEP_TOL)
    return np.zeros(len(cells)), mu + s * mean, s**2 * np.diagonal(covariance, axis1=1, axis2=2)


def _block(cells: np.ndarray, B: np.ndarray, h: np.ndarray, nodes: Nodes) -> tuple[np.ndarray, ...]:
    m = B.shape[1]
    centre, covariance = probit_ep(np.ascontiguousarray(cells), B, h, MAX_SWEEPS, SWEEP_TOL)
    L = np.linalg.cholesky(covariance)
    eps = centre[:, None, :] + nodes.points @ L.transpose(0, 2, 1)
    Y = eps @ B.T + h
    cell_log = np.empty(Y.shape[:2])
    log_probit_products(Y, np.ascontiguousarray(cells), cell_log)
    log_prior = -0.5 * (eps**2).sum(axis=2) - m * LOG_ROOT_2PI
    log_det = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
    joint = cell_log + log_prior + nodes.log_weight + log_det[:, None]
    log_p, weight = normalised(joint)
    # Moments about the centre, so that a small variance isn't the difference of two large numbers.
    away = eps - centre[:, None, :]
    mean = np.einsum("rp,rpk->rk", weight, away)
    square = np.einsum("rp,rpk->rk", weight, away**2)
    return log_p, centre + mean, square - mean**2
