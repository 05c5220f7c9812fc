"""The mixture of Bernoulli products by EM ("MB" in the aspect Bernoulli paper).

A row has one component k, drawn with probability pi_k; its cells are then independent, 1 with probability H_kj.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.cell_sums import column_products, row_products
from latentbits.fitting.climb import ArrayLearner
from latentbits.fitting.workers import Workers
from latentbits.kernels.arrays import aligned_zeros, kernel_array
from latentbits.kernels.mixture_pass import LANES, mixture_pass
from latentbits.models.solved_rows import Solution
from latentbits.models.starts import random_components

__all__ = ["MixtureEM", "State", "joint_log_likelihood", "responsibilities"]

EDGE = 1e-10
"""H and pi stay this far from 0 (and H from 1): no row gets probability 0."""


FEW_STORED = 0.1
"""Of sparse data, the share of stored cells below which visiting only those costs less than all patterns."""

CHUNK_ROWS, MAX_CHUNKS = 2000, 16
"""Rows of a chunk of the compiled pass: so many that its own sums over patterns cost little beside them."""

REACHABLE = 1e-4
"""An extrapolation stays this far from 0 and 1; from the edge an entry needs hundreds of passes to come back."""


HALF_BYTES = np.unpackbits(np.arange(16, dtype=np.uint8)[:, None], axis=1)[:, 4:].astype(float)
"""The four cells of each pattern, in the order of `numpy.packbits`."""


class State(NamedTuple):
    """pi: (K,) on the simplex. H: (K, D) probabilities of a 1."""

    pi: np.ndarray
    H: np.ndarray


def joint_log_likelihood(data: BinaryData, pi: np.ndarray, H: np.ndarray, workers: Workers) -> np.ndarray:
    """log pi_k + sum_j [x_ij log H_kj + (1 - x_ij) log(1 - H_kj)] over the observed cells: N x K."""
    return row_products(data, np.log(H), np.log1p(-H), workers) + np.log(pi)


def responsibilities(data: BinaryData, pi: np.ndarray, H: np.ndarray, workers: Workers) -> Solution:
    """The probability that each row belongs to each component: N x K."""
    return Solution(softmax(joint_log_likelihood(data, pi, H, workers), axis=1))


@dataclass(frozen=True)
class MixtureEM(ArrayLearner[State]):
    """EM for sum_i log sum_k pi_k p(x_i | k) + eps sum_kj log[H_kj (1 - H_kj)], eps the `smoothing`."""

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    smoothing: float
    workers: Workers

    @cached_property
    def _bits(self) -> np.ndarray | None:
        """Which cells are ones and, if any, which are missing: one bit per cell; None if few cells are stored."""
        N, D = self.data.shape
        if self.data.sparse is not None and self.data.sparse.nnz < FEW_STORED * N * D:
            return None
        packed = self.data.to_packed().packed
        assert packed is not None
        return np.stack([packed.ones] if packed.missing is None else [packed.ones, packed.missing])

    def initialise(self, rng: np.random.Generator) -> State:
        """Random components of equal probability."""
        H = random_components(self.data, self.row_weight, self.n_components, rng)
        return State(np.full(self.n_components, 1 / self.n_components), H)

    def step(self, state: State) -> tuple[State, float]:
        """E step: r_ik, the probability that row i belongs to k. M step: shares of ones among the rows of k."""
        H = state.H
        ones, observed, size, row_log = self._sums(state) if self._bits is None else self._sums_by_patterns(state)
        eps = self.smoothing
        # A column without observed cells, or a component without rows, keeps its value: 0 / 0.
        new_H = np.divide(ones + eps, observed + 2 * eps, out=H.copy(), where=observed + 2 * eps > EDGE)
        objective = float(self.row_weight @ row_log + eps * np.sum(np.log(H) + np.log1p(-H)))
        return _bounded(State(size / self.row_weight.sum(), new_H), EDGE), objective

    def _sums(self, state: State) -> tuple[np.ndarray, ...]:
        """Sums of r over the ones and over the observed cells of each column (K x D), and over all rows; log p(x_i)."""
        joint = joint_log_likelihood(self.data, *state, self.workers)
        row_log = logsumexp(joint, axis=1)
        r = np.exp(joint - row_log[:, None]) * self.row_weight[:, None]
        return *column_products(self.data, r, self.workers), r.sum(axis=0), row_log

    def _sums_by_patterns(self, state: State) -> tuple[np.ndarray, ...]:
        """The same by the compiled pass."""
        bits = self._bits
        assert bits is not None
        K, D = state.H.shape
        log_H, log_not_H = np.log(state.H), np.log1p(-state.H)
        # As if all cells were 0, which ones and missing cells then correct.
        base = _padded(np.log(state.pi) + log_not_H.sum(axis=1), LANES)
        tables = np.stack([_tables(change) for change in (log_H - log_not_H, -log_not_H)[: len(bits)]])
        row_log, weight = np.empty(len(self.row_weight)), kernel_array(self.row_weight)

        def one(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            sums, size = aligned_zeros(tables.shape), np.zeros_like(base)
            mixture_pass(
                kernel_array(bits[:, rows], np.uint8), tables, base, K, weight[rows], sums, size, row_log[rows]
            )
            return sums, size

        parts = self.workers.map(one, _chunks(len(weight)))
        sums, size = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        ones, *missing = (_by_column(each, len(size))[:K, :D] for each in sums)
        size = size[:K]
        return ones, size[:, None] - sum(missing), size, row_log

    def project(self, state: State) -> State:
        """Back inside the bounds, at some distance from them (see `REACHABLE`)."""
        return _bounded(state, REACHABLE)

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """Equal weights for both arrays."""
        return 1.0, 1.0


def _bounded(state: State, edge: float) -> State:
    """H at least `edge` away from 0 and 1, and pi, on the simplex, away from 0."""
    pi = np.maximum(state.pi, edge)
    return State(pi / pi.sum(), np.clip(state.H, edge, 1 - edge))


def _chunks(n_rows: int) -> list[slice]:
    """Runs of rows, each with sums of its own over patterns: many rows each, and by their number alone."""
    n = int(np.clip(n_rows // CHUNK_ROWS, 1, MAX_CHUNKS))
    return [slice(n_rows * chunk // n, n_rows * (chunk + 1) // n) for chunk in range(n)]


def _tables(change: np.ndarray) -> np.ndarray:
    """For each four columns and each pattern of their cells the sum of `change` (K x D) over its ones."""
    columns = _padded(_padded(change, 8).T, LANES)
    tables = HALF_BYTES @ columns.reshape(-1, 4, columns.shape[1])
    return tables.ravel()


def _by_column(sums: np.ndarray, length: int) -> np.ndarray:
    """The other way round: K x D (and padding) sums over the patterns in which the column's cell is 1."""
    return (HALF_BYTES.T @ sums.reshape(-1, 16, length)).reshape(-1, length).T


def _padded(values: np.ndarray, multiple: int) -> np.ndarray:
    """The array with zeros after its last axis, up to a multiple."""
    n = values.shape[-1]
    padded = np.zeros((*values.shape[:-1], -(-n // multiple) * multiple))
    padded[..., :n] = values
    return padded
