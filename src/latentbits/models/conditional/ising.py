"""The Ising model by ridge pseudo-likelihood: each cell a logistic regression on the others, with symmetric couplings.

With z_ij = x_ij - mean_j (0 where missing), the log-odds of a 1 in cell ij are

    eta_ij = b_j + sum_k J_jk z_ik,    J symmetric, J_jj = 0,

and maximised is the penalised log pseudo-likelihood (Besag, 1975)

    sum of w_i log P(x_ij | rest of row i) over observed cells  -  ridge / 2 sum_{j<k} J_jk^2
        +  sum_j (s log p_j + (1 - s) log (1 - p_j))

with w_i the weight of row i, p_j = 1 / (1 + exp(-b_j)) and s the table's share of ones: every column gets the one cell
more that smooths its mean, in a row of means (z = 0), so that b_j is finite for a column of zeros. The function is
strictly concave, so there is one optimum. Without couplings it is at b_j = logit(mean_j), where the climb starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks
from latentbits.fitting.climb import Climbed, Monitor, ascend, flatten
from latentbits.models.conditional.centred import centred, share_of_ones, smoothed_means

__all__ = ["IsingState", "PseudoLikelihood", "log_odds", "symmetric"]


class IsingState(NamedTuple):
    """b, and J_jk of the pairs j < k, row by row."""

    bias: np.ndarray
    pairs: np.ndarray


@dataclass(frozen=True)
class PseudoLikelihood:
    """The penalised log pseudo-likelihood of a table, and its climb; w_i is `row_weight`, s is `share`."""

    data: BinaryData
    row_weight: np.ndarray
    ridge: float
    means: np.ndarray
    share: float

    @classmethod
    def of(cls, data: BinaryData, row_weight: np.ndarray, ridge: float) -> PseudoLikelihood:
        """With the means and the share of the table."""
        return cls(data, row_weight, ridge, smoothed_means(data, row_weight), share_of_ones(data, row_weight))

    def start(self) -> IsingState:
        """Independent columns."""
        D = len(self.means)
        return IsingState(logit(self.means), np.zeros(D * (D - 1) // 2))

    def climb(self, monitor: Monitor) -> Climbed[IsingState]:
        """By L-BFGS, from independent columns."""
        return ascend(self.value_and_gradient, self.start(), monitor)

    def value_and_gradient(self, state: IsingState) -> tuple[float, IsingState]:
        """The function and its derivatives by b and by J_jk."""
        b, J = state.bias, symmetric(state)
        value, by_b, by_J = self._added_cells(b), self.share - expit(b), np.zeros_like(J)
        for rows in row_blocks(*self.data.shape):
            cells, w = self.data.block(rows), self.row_weight[rows, None]
            z, seen = centred(cells, self.means), cells != MISSING
            eta = b + z @ J
            value += float(np.sum(w * log_expit(np.where(cells == 1, eta, -eta)), where=seen))
            residual = np.where(seen, w * ((cells == 1) - expit(eta)), 0.0)
            by_b += residual.sum(axis=0)
            by_J += z.T @ residual
        by_pairs = (by_J + by_J.T)[np.triu_indices(len(b), 1)] - self.ridge * state.pairs
        return value - self.ridge / 2 * float(state.pairs @ state.pairs), IsingState(by_b, by_pairs)

    def gradient_norm(self, state: IsingState) -> float:
        """The Euclidean norm of all derivatives: 0 at the optimum."""
        return float(np.linalg.norm(flatten(self.value_and_gradient(state)[1])))

    def _added_cells(self, b: np.ndarray) -> float:
        return float(np.sum(self.share * log_expit(b) + (1 - self.share) * log_expit(-b)))


def symmetric(state: IsingState) -> np.ndarray:
    """J as a matrix."""
    D = len(state.bias)
    upper = np.zeros((D, D))
    upper[np.triu_indices(D, 1)] = state.pairs
    return upper + upper.T


def log_odds(data: BinaryData, means: np.ndarray, bias: np.ndarray, couplings: np.ndarray) -> np.ndarray:
    """eta of every cell of these rows."""
    return bias + centred(data.dense(), means) @ couplings
