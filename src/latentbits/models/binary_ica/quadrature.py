"""The likelihood of rows by a grid over the sources, for one or two of them.

Given the sources z the cells of a row are independent, so P(x | u) = E_z[prod_i Phi(+-c a_i . z)] is a Gaussian
expectation in as many dimensions as there are sources. Phi(c a_i . z) may be nearly a step function, which the
polynomials of Gauss-Hermite approximate badly; the trapezoidal rule on evenly spaced nodes converges faster than any
power here, and is accurate to many digits while c |a_i| s is below about 10, as the limits of the fit ensure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import log_ndtr, logsumexp

from latentbits.models.binary_ica.logs import LOG_ROOT_2PI, normalised
from latentbits.models.binary_ica.parameters import LINK

__all__ = ["Grid"]

REACH = 6.0
"""Standard deviations from the centre that the grid covers; in two dimensions a mass of 2e-8 is outside."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Nodes (P, m) for standard normal sources, and the logarithms of their weights (P,)."""

    nodes: np.ndarray
    log_weight: np.ndarray

    @classmethod
    def regular(cls, n_components: int, n_points: int) -> Grid:
        """`n_points` nodes in each dimension."""
        line = np.linspace(-REACH, REACH, n_points)
        nodes = np.array(list(product(line, repeat=n_components)))
        nodes = nodes[(nodes**2).sum(axis=1) <= REACH**2]  # the corners of the square have no mass
        log_density = -0.5 * (nodes**2).sum(axis=1)
        return cls(nodes, log_density - logsumexp(log_density))

    def gradient(
        self, cells: np.ndarray, counts: np.ndarray, A: np.ndarray, mu: np.ndarray, s: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """sum over rows of count * log P(x), and its derivatives by A, mu and log s."""
        z = mu + s * self.nodes
        Y = LINK * z @ A.T
        log_one, log_zero = log_ndtr(Y), log_ndtr(-Y)
        ones, zeros = (cells == 1).astype(float), (cells == 0).astype(float)  # a missing cell is neither
        log_p, posterior = normalised(ones @ log_one.T + zeros @ log_zero.T + self.log_weight)
        posterior *= counts[:, None]
        log_density = -0.5 * Y**2 - LOG_ROOT_2PI
        dY = (posterior.T @ ones) * np.exp(log_density - log_one) - (posterior.T @ zeros) * np.exp(
            log_density - log_zero
        )
        dz = LINK * dY @ A
        return float(counts @ log_p), LINK * dY.T @ z, dz.sum(axis=0), np.einsum("pk,pk->k", dz, s * self.nodes)
