"""The likelihood of rows by points in the space of the sources.

Given the sources z the cells of a row are independent, so P(x | u) = E_z[prod_i Phi(+-c a_i . z)] is a Gaussian
expectation in as many dimensions as there are sources. Phi(c a_i . z) may be nearly a step function, which the
polynomials of Gauss-Hermite approximate badly; the trapezoidal rule on evenly spaced nodes converges faster than any
power here, and is accurate to many digits while c |a_i| s is below about 10, as the limits of the fit ensure. Beyond
two sources the nodes are quasi-random.

All rows of all segments have the same nodes. At each of them the probabilities of all possible rows add up to 1, so
their averages do, and what is maximised is the likelihood of a model. Nodes placed for each row where its own sources
must be are far more accurate at a given state (`posterior` has them), but a climb on them finds states at which their
errors are large and all on one side.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri
from scipy.stats import qmc

from latentbits.models.binary_ica.parameters import LINK
from latentbits.numerics import LOG_ROOT_2PI, normalised

__all__ = ["SourceNodes"]

REACH = 6.0
"""Standard deviations from the centre that the grid covers; in two dimensions a mass of 2e-8 is outside."""

SMALLEST = 2.0**-32
"""Points of the unit cube stay this far from 0, whose quantile is infinite."""

BLOCK = 1 << 19
"""Numbers that a temporary array may hold; blocks of rows are sized by it, to stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class SourceNodes:
    """Nodes (P, m) for standard normal sources, and the logarithms of their weights (P,)."""

    nodes: np.ndarray
    log_weight: np.ndarray

    @classmethod
    def grid(cls, n_components: int, n_points: int) -> SourceNodes:
        """`n_points` nodes in each dimension."""
        line = np.linspace(-REACH, REACH, n_points)
        nodes = np.array(list(product(line, repeat=n_components)))
        nodes = nodes[(nodes**2).sum(axis=1) <= REACH**2]  # the corners of the square have no mass
        log_density = -0.5 * (nodes**2).sum(axis=1)
        return cls(nodes, log_density - logsumexp(log_density))

    @classmethod
    def sobol(cls, n_components: int, n_points: int) -> SourceNodes:
        """Scrambled Sobol points, rounded up to a power of 2 of them; the same ones in every call."""
        cube = qmc.Sobol(n_components, seed=0).random_base2(int(np.ceil(np.log2(n_points))))
        return cls(ndtri(np.maximum(cube, SMALLEST)), np.full(len(cube), -np.log(len(cube))))

    def gradient(
        self, cells: np.ndarray, counts: np.ndarray, A: np.ndarray, mu: np.ndarray, s: np.ndarray, b: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """sum over rows of count * log P(x), and its derivatives by A, mu, log s and the intercepts b."""
        z = mu + s * self.nodes
        Y = LINK * z @ A.T + b
        log_one, log_zero = log_ndtr(Y), log_ndtr(-Y)
        value, by_one, by_zero = 0.0, np.zeros_like(Y), np.zeros_like(Y)
        step = max(1, BLOCK // len(z))
        for start in range(0, len(cells), step):
            block, count = cells[start : start + step], counts[start : start + step]
            ones, zeros = (block == 1).astype(float), (block == 0).astype(float)  # a missing cell is neither
            log_p, posterior = normalised(ones @ log_one.T + zeros @ log_zero.T + self.log_weight)
            value += float(count @ log_p)
            posterior *= count[:, None]
            by_one += posterior.T @ ones
            by_zero += posterior.T @ zeros
        log_density = -0.5 * Y**2 - LOG_ROOT_2PI
        dY = by_one * np.exp(log_density - log_one) - by_zero * np.exp(log_density - log_zero)
        dz = LINK * dY @ A
        by_log_s = np.einsum("pk,pk->k", dz, s * self.nodes)
        return value, LINK * dY.T @ z, dz.sum(axis=0), by_log_s, dY.sum(axis=0)
