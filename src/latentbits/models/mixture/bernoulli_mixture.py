"""The mixture of Bernoulli products by EM ("MB" in the aspect Bernoulli paper).

A row has one component k, drawn with probability pi_k; its cells are then independent, 1 with probability H_kj.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.climb import ArrayLearner
from latentbits.fitting.workers import Workers
from latentbits.models.cells import column_products, row_products
from latentbits.models.solved_rows import Solution
from latentbits.models.starts import random_components

__all__ = ["MixtureEM", "State", "joint_log_likelihood", "responsibilities"]

EDGE = 1e-10
"""H and pi stay this far from 0 (and H from 1): no row gets probability 0."""


REACHABLE = 1e-4
"""An extrapolation stays this far from 0 and 1; from the edge an entry needs hundreds of passes to come back."""


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

    def initialise(self, rng: np.random.Generator) -> State:
        """Random components of equal probability."""
        H = random_components(self.data, self.row_weight, self.n_components, rng)
        return State(np.full(self.n_components, 1 / self.n_components), H)

    def step(self, state: State) -> tuple[State, float]:
        """E step: r_ik, the probability that row i belongs to k. M step: shares of ones among the rows of k."""
        pi, H = state
        joint = joint_log_likelihood(self.data, pi, H, self.workers)
        row_log = logsumexp(joint, axis=1)
        r = np.exp(joint - row_log[:, None]) * self.row_weight[:, None]
        ones, observed = column_products(self.data, r, self.workers)
        eps = self.smoothing
        # A column without observed cells, or a component without rows, keeps its value: 0 / 0.
        new_H = np.divide(ones + eps, observed + 2 * eps, out=H.copy(), where=observed + 2 * eps > EDGE)
        objective = float(self.row_weight @ row_log + eps * np.sum(np.log(H) + np.log1p(-H)))
        return _bounded(State(r.sum(axis=0) / self.row_weight.sum(), new_H), EDGE), objective

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
