"""Chains of probit factor analysis, and the coordinates of rows given their samples; the kernel has the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.fitting.chains import Length, run_chain
from latentbits.fitting.climb import Climbed, Monitor
from latentbits.fitting.workers import Workers
from latentbits.kernels.arrays import kernel_array
from latentbits.kernels.probit_gibbs import probit_rows, probit_sweeps
from latentbits.models.sampling import watched_cells
from latentbits.models.solved_rows import Solution

__all__ = ["Chain", "Draws", "Sampler", "solve_rows"]

START = 0.3
"""Standard deviation of the loadings and coordinates that a chain starts from."""

SIZES = np.array([0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
"""Variances that what neighbours have in common may have, beside 1 for what is a row's own."""

STEPS = 20
"""Sweeps from one look at Ctrl-C to the next."""

ROW_BURN, ROW_SWEEPS = 20, 2
ROW_SEED = np.uint64(0x9B0B17)
ROWS = 64


class Draws(NamedTuple):
    """S samples of one chain.

    theta: (S, D, Q) biases, loadings, size of row effects; log_likelihood: (S,); cells: (S, C) watched probabilities.
    """

    theta: np.ndarray
    log_likelihood: np.ndarray
    cells: np.ndarray


class Known(NamedTuple):
    """What is known of rows: features (N x P, the first of them 1), and where they are, as functions of the places.

    vectors: (L, R, N) orthonormal for each of L spatial scales; variances: (L, R); L = 0 where no places are known.
    """

    features: np.ndarray
    vectors: np.ndarray
    variances: np.ndarray

    @classmethod
    def nothing(cls, n_rows: int) -> Known:
        """Of rows of which nothing is known."""
        return cls(np.ones((n_rows, 1)), np.empty((0, 0, n_rows)), np.empty((0, 0)))


class Chain:
    """Everything that is drawn, and a random stream.

    Parameters
    ----------
    cells : ndarray of int8, shape (N, D)
        Below 0 where missing.
    n_components : int
    row_effects : bool
    rng : Generator
        Makes the start, and seeds the stream.
    known : Known, optional
    rate : float
        Of the prior of the loadings' precisions: the smaller it is, the sooner a factor is taken for needless.
    """

    def __init__(
        self,
        cells: np.ndarray,
        n_components: int,
        row_effects: bool,
        rng: np.random.Generator,
        known: Known | None = None,
        rate: float = 1.0,
    ) -> None:
        N, D = cells.shape
        known = Known.nothing(N) if known is None else known
        P, n = known.features.shape[1], n_components + row_effects
        self.cells = kernel_array(cells, np.int8)
        self.g = START * rng.standard_normal((N, P + n))
        self.g[:, :P] = known.features
        self.theta = START * rng.standard_normal((D, P + n))
        self.theta[:, 1:P] = 0.0
        ones, seen = np.sum(cells == 1, axis=0), np.sum(cells >= 0, axis=0)
        self.theta[:, 0] = ndtri((ones + 0.5) / (seen + 1.0))
        if row_effects:
            self.theta[:, -1] = START
        self.tau = np.ones(n_components)
        self.rate = float(rate)
        self.means = np.zeros(P)
        self.means[0] = self.theta[:, 0].mean()
        self.precisions = np.ones(P)
        self.centres = np.zeros((N, n))
        bases = kernel_array(known.vectors), kernel_array(known.variances), SIZES
        self.space = *bases, np.zeros((n, known.variances.shape[1])), np.zeros((n, 2), np.int64)
        Q = P + n
        self._sums = np.zeros((Q, Q)), np.zeros((D, Q, Q)), np.zeros((D, Q)), np.zeros(D)
        self._state = rng.integers(2**64, size=4, dtype=np.uint64)

    def sweep(self, n: int) -> float:
        """Draw everything `n` times; log p(X | rows, columns) in the last sweep."""
        rows = self.cells, self.g, self.centres
        columns = self.theta, self.tau, self.rate, self.means, self.precisions
        return float(probit_sweeps(*rows, *columns, self.space, *self._sums, self._state, n))


@dataclass(frozen=True)
class Sampler:
    """Runs chains; `run` is one of them, as `best_of` wants it."""

    cells: np.ndarray
    n_components: int
    row_effects: bool
    length: Length

    def run(self, rng: np.random.Generator, monitor: Monitor) -> Climbed[Draws]:
        """A chain from its start to its last sample, or until it is interrupted; its objective is the mean trace."""
        chain = Chain(self.cells, self.n_components, self.row_effects, rng)
        rows, columns = watched_cells(*self.cells.shape)

        def take(log_likelihood: float) -> tuple[np.ndarray, ...]:
            cells = ndtr(np.einsum("cq,cq->c", chain.g[rows], chain.theta[columns]))
            return chain.theta.astype(np.float32), np.array(log_likelihood), cells.astype(np.float32)

        draws = Draws(*run_chain(self._stretches(chain), take, monitor))
        return Climbed(draws, float(draws.log_likelihood.mean()))

    def _stretches(self, chain: Chain) -> Iterator[tuple[float, int, bool]]:
        burn, samples, thin = self.length
        for start in range(0, burn, STEPS):
            n = min(STEPS, burn - start)
            yield chain.sweep(n), n, False
        for _ in range(samples):
            yield chain.sweep(thin), thin, True


def solve_rows(data: BinaryData, theta: np.ndarray, *, workers: Workers) -> Solution:
    """Coordinates of rows, one draw for each sample of the columns (S x D x Q): N x S x (Q - 1).

    A row's coordinates given the columns depend on no other row. So training rows and new ones are the same thing.
    """
    cells, samples = kernel_array(data.dense(), np.int8), kernel_array(theta)
    W = np.empty((len(cells), len(theta), theta.shape[2] - 1), np.float32)

    def one(start: int) -> None:
        rows = slice(start, start + ROWS)
        n = len(cells[rows])
        known = np.ones((n, 1)), np.zeros((n, *W.shape[1:]))
        probit_rows(cells[rows], *known, samples, ROW_SEED, ROW_BURN, ROW_SWEEPS, W[rows])

    workers.map(one, range(0, len(cells), ROWS))
    return Solution(W)


assert MISSING < 0, "the kernels take any code below 0 as missing"
