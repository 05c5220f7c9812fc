"""Aspect Bernoulli by maximum likelihood (Bingham, Kaban and Fortelius, "The aspect Bernoulli model").

Our N x D data, weights W and components H are the paper's x_tn, s_kn and a_tk: rows are its observations n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.rows import Chunk, RowLearner, Rows, Sums, column_counts, rows_of
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.noise import NO_NOISE, NoiseComponents
from latentbits.models.aspect.statistics import pass_arrays, pass_over
from latentbits.models.starts import shifted_components

__all__ = ["Evaluated", "MaximumLikelihood", "State", "em_weights", "equal_weights", "onto_simplex"]

EDGE = 1e-10
"""H stays this far from 0 and 1: small enough for phantoms, and no cell gets probability 0."""


class State(NamedTuple):
    """W: (N, K) rows on the simplex. H: (K, D) probabilities of a 1."""

    W: np.ndarray
    H: np.ndarray


class Evaluated(NamedTuple):
    """What a pass finds: what rows would become, the sums N1 and N0, and the objective of the state given.

    The objective is what rows add to it, minus the `cost` of components that a prior finds unlikely.
    """

    rows: Any
    N1: np.ndarray
    N0: np.ndarray
    objective: float
    cost: float = 0.0


@dataclass(frozen=True)
class MaximumLikelihood(RowLearner[State]):
    """EM for the likelihood of eq. 8: prod_ij (W H)_ij^x_ij (1 - (W H)_ij)^(1 - x_ij) over observed cells.

    `n_components` have content; those of `noise` follow them.
    """

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    workers: Workers
    noise: NoiseComponents = NO_NOISE

    @cached_property
    def rows(self) -> Rows:
        """Where rows are worked on."""
        return rows_of(self.data, self.row_weight, self._n_all, self.workers, 2 * self._n_all)

    @property
    def _n_all(self) -> int:
        return self.n_components + len(self.noise)

    def initialise(self, rng: np.random.Generator) -> State:
        """Random components; equal weights for all rows, so equal rows stay equal and their order doesn't matter."""
        ones, observed = self.rows.total(column_counts, ())
        H = self.noise.after(shifted_components(ones, observed, self.n_components, rng))
        return State(self.start_rows(), H)

    def start_rows(self) -> Any:
        """Equal weights."""
        return self.rows.update(equal_weights, self._n_all, ())[0]

    def step(self, state: State) -> tuple[State, float]:
        """The E step is the pass (eq. 4), the M step a normalisation (eq. 5-6)."""
        found = self.evaluate(state)
        return self.with_sources(state, found)._replace(W=found.rows), found.objective

    def evaluate(self, state: State) -> Evaluated:
        """The E step, and the weights of eq. 5."""
        W, H = state
        work, shared = self.row_work(state)
        W, (A1, A0, objective) = self.rows.update(work, len(H), [W], *shared)
        return Evaluated(W, H * A1, (1 - H) * A0, objective)

    def row_work(self, state: State) -> tuple[Callable[..., Sums], tuple[Any, ...]]:
        """The pass on a chunk of rows with the components of a state, and what it needs of them."""
        return em_weights, pass_arrays(self.data.shape, state.H, 1 - state.H)

    def with_sources(self, state: State, found: Evaluated) -> State:
        """Eq. 6."""
        N1, N0 = found.N1, found.N0
        caused = N1 + N0
        # A component that causes nothing in a column keeps its value there: 0 / 0.
        H = np.divide(N1, caused, out=state.H.copy(), where=caused > 0)
        H = np.clip(H, EDGE, 1 - EDGE)
        self.noise.update(H, N1, N0)
        return State(state.W, H)

    def _project_rows(self) -> tuple[Any, ...]:
        return onto_simplex, EDGE

    def _project_rest(self, state: State) -> State:
        """H inside its bounds."""
        H = np.clip(state.H, EDGE, 1 - EDGE)
        self.noise.project(H)
        return State(state.W, H)


def equal_weights(chunk: Chunk, W: np.ndarray) -> Sums:
    """Where all rows start."""
    W[:] = 1 / W.shape[1]
    return ()


def em_weights(chunk: Chunk, new: np.ndarray, W: np.ndarray, h1: np.ndarray, h0: np.ndarray) -> Sums:
    """Weights by eq. 5; the sums A1 and A0 of the pass, and the log likelihood."""
    M, row_log, A1, A0 = pass_over(chunk, W, h1, h0)
    observed = M.sum(axis=1, keepdims=True)
    new[:] = W  # a row without observed cells keeps its weights: 0 / 0
    np.divide(M, observed, out=new, where=observed > 0)
    return A1, A0, float(chunk.row_weight @ row_log)


def onto_simplex(W: np.ndarray, least: float) -> None:
    """Weights back on the simplex, in place, none of them 0 (where EM would leave them)."""
    np.maximum(W, least, out=W)
    W /= W.sum(axis=1, keepdims=True)
