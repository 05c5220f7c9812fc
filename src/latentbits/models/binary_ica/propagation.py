"""The likelihood of rows by expectation propagation, for more sources than a grid can cover.

Each row's posterior is approximated by a normal distribution, and its probability by that of the approximation. At the
strengths of the paper the logarithm is too low by about 0.02 a row, much the same for all rows and at all states near
each other, so that it hardly moves the maximum; and it costs as much as the cells times the squared number of sources.
The errors of quasi-random points (`quadrature`) are smaller on average, but differ from state to state, and a climb
with many sources ends where they are large and all on one side.
"""

from __future__ import annotations

import numpy as np

from latentbits.kernels.probit_ep import probit_ep_likelihood
from latentbits.models.binary_ica.parameters import LINK

__all__ = ["Propagation"]

MAX_SWEEPS = 100
SWEEP_TOL = 1e-6
"""The gradient holds at the fixed point: an ascent needs it nearer than the placing of nodes does."""


class Propagation:
    """Likelihood and gradient of rows, with the interface of `SourceNodes`."""

    def gradient(
        self, cells: np.ndarray, counts: np.ndarray, A: np.ndarray, mu: np.ndarray, s: np.ndarray, b: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """sum over rows of count * log P(x), and its derivatives by A, mu, log s and the intercepts b."""
        B = np.ascontiguousarray(LINK * A * s)
        value, dB, dh = probit_ep_likelihood(cells, counts, B, LINK * A @ mu + b, MAX_SWEEPS, SWEEP_TOL)
        return value, LINK * (dB * s + np.outer(dh, mu)), LINK * A.T @ dh, (dB * B).sum(axis=0), dh
