"""Many climbs of a small table at once: states of `MaximumLikelihood` stacked, so that a pass's overhead is shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.climb import parabola, squared_moves, stack
from latentbits.fitting.rows import chunks_of
from latentbits.kernels.aspect_pass import aspect_pass
from latentbits.models.aspect.statistics import pass_arrays, row_arrays
from latentbits.numerics import kernel_array

if TYPE_CHECKING:
    from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood, State

MOST_NUMBERS = 1 << 17
"""In the stacked weights and components: a megabyte, as a round holds some ten such arrays."""


def can_be_stacked(data: Any, n_components: int) -> bool:
    """Whether a pass over the rows is one call of a kernel in this process."""
    return isinstance(data, BinaryData) and len(chunks_of(*data.shape, n_components, 2 * n_components)) == 1


@dataclass(frozen=True)
class StackedLikelihood:
    """The `StackedLearner` of `MaximumLikelihood`: to the last bit what that does with each of the states."""

    learner: MaximumLikelihood

    @property
    def most(self) -> int:
        """How many climbs are worth stacking."""
        n_rows, n_columns = self.learner.data.shape
        n_components = self.learner.n_components + len(self.learner.noise)
        return max(1, MOST_NUMBERS // ((n_rows + n_columns) * n_components))

    def initialise(self, rngs: Sequence[np.random.Generator]) -> State:
        """A random start for each."""
        return stack([self.learner.initialise(rng) for rng in rngs])

    @cached_property
    def _cells(self) -> tuple[Any, ...]:
        return row_arrays(self.learner.data, slice(0, self.learner.data.shape[0]))

    def step(self, states: State) -> tuple[State, np.ndarray]:
        """The E step of each, then the M steps together."""
        W, H = states
        h1, h0 = pass_arrays(self.learner.data.shape, H, 1 - H, precise=None)
        w, weight = kernel_array(W, h1.dtype), kernel_array(self.learner.row_weight, h1.dtype)
        M, row_log = np.zeros(W.shape), np.zeros(W.shape[:2])
        A1, A0 = np.zeros(H.shape), np.zeros(H.shape)
        for r in range(len(W)):
            aspect_pass(*self._cells, w[r], h1[r], h0[r], weight, M[r], A1[r], A0[r], row_log[r])
        log_likelihoods = np.array([self.learner.row_weight @ each for each in row_log])
        return self.learner.improved(states, M, A1, A0, log_likelihoods)

    def squared_moves(self, points: Sequence[State]) -> tuple[np.ndarray, np.ndarray]:
        """As `StackedLearner` says; a row of weight 2 counts like two rows."""
        scales = self.learner.row_weight[:, None], 1.0
        moves = [
            squared_moves(each, scales) for each in zip(*(zip(*point, strict=True) for point in points), strict=True)
        ]
        lengths, curvatures = np.array(moves).T
        return lengths, curvatures

    def extrapolate(self, points: Sequence[State], lengths: np.ndarray) -> State:
        """As `StackedLearner` says."""
        project, *args = self.learner._project_rows()
        W, H = (parabola(arrays, lengths[:, None, None]) for arrays in zip(*points, strict=True))
        project(W, *args)
        return self.learner._project_rest(type(points[0])(W, H))
