"""Aspect Bernoulli by maximum likelihood (Bingham, Kaban and Fortelius, "The aspect Bernoulli model").

Our N x D data, weights W and components H are the paper's x_tn, s_kn and a_tk: rows are its observations n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.noise import NO_NOISE, NoiseComponents
from latentbits.models.aspect.statistics import collect
from latentbits.models.starts import random_components

__all__ = ["MaximumLikelihood", "State"]

EDGE = 1e-10
"""H stays this far from 0 and 1: small enough for phantoms, and no cell gets probability 0."""


class State(NamedTuple):
    """W: (N, K) rows on the simplex. H: (K, D) probabilities of a 1."""

    W: np.ndarray
    H: np.ndarray


@dataclass(frozen=True)
class MaximumLikelihood:
    """EM for the likelihood of eq. 8: prod_ij (W H)_ij^x_ij (1 - (W H)_ij)^(1 - x_ij) over observed cells.

    `n_components` have content; those of `noise` follow them.
    """

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    workers: Workers
    noise: NoiseComponents = NO_NOISE

    def initialise(self, rng: np.random.Generator) -> State:
        """Random components; equal weights for all rows, so equal rows stay equal and their order doesn't matter."""
        H = self.noise.after(random_components(self.data, self.row_weight, self.n_components, rng))
        return State(np.full((self.data.shape[0], len(H)), 1 / len(H)), H)

    def step(self, state: State) -> tuple[State, float]:
        """The E step is the pass (eq. 4), the M step a normalisation (eq. 5-6)."""
        W, H = state
        M, N1, N0, row_log = collect(self.data, W, H, 1 - H, self.row_weight, self.workers)
        observed = M.sum(axis=1, keepdims=True)
        caused = N1 + N0
        # A row without observed cells, or a component that causes nothing in a column, keeps its value: 0 / 0.
        W = np.divide(M, observed, out=W.copy(), where=observed > 0)
        H = np.divide(N1, caused, out=H.copy(), where=caused > 0)
        H = np.clip(H, EDGE, 1 - EDGE)
        self.noise.update(H, N1, N0)
        return State(W, H), float(self.row_weight @ row_log)

    def project(self, state: State) -> State:
        """Weights back on the simplex, none of them 0 (where EM would leave them); H inside its bounds."""
        W = np.maximum(state.W, EDGE)
        H = np.clip(state.H, EDGE, 1 - EDGE)
        self.noise.project(H)
        return State(W / W.sum(axis=1, keepdims=True), H)

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """A row of weight 2 counts like two rows."""
        return self.row_weight[:, None], 1.0
