"""Which components are content, and which are phantoms that only make zeros (white) or ones (black), or extinct."""

from __future__ import annotations

import numpy as np

__all__ = ["BLACK", "CONTENT", "EXTINCT", "WHITE", "at_prior", "find_phantoms", "phantom_levels"]

CONTENT, WHITE, BLACK = "content", "white", "black"
EXTINCT = "extinct"
"""A component that has returned to its prior; it explains nothing."""

HAD = 0.2  # a column is considered when some component makes a 1 there with at least this probability
ON = 0.5  # a component switches a column on when it makes a 1 there with more than this probability
UNLEARNED = 0.2  # largest move from the prior of a component that has learned nothing, relative to the largest of all
EXCEPTIONS = 0.01  # share of the considered columns that a phantom may switch on all the same


def phantom_levels(H: np.ndarray, reference: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Content levels of each component as a white and as a black phantom: 0 for a perfect phantom, at most 1.

    The white level is a component's mean relative to the highest mean of any component, so that it doesn't depend on
    the density of the data; but it is 1 for a component that switches anything on (above 1/2, in more than 1 % of the
    columns), because a few columns may be content too. Columns that no component switches on with at least `HAD` are
    left out, as they carry no information. The black level is the same for the zeros: 1 - H in place of H.
    `reference` are the components that others are compared with (bool, all by default).
    """
    reference = np.ones(len(H), dtype=bool) if reference is None else reference
    return _levels(H, reference), _levels(1 - H, reference)


def _levels(H: np.ndarray, reference: np.ndarray) -> np.ndarray:
    had = H[:, H[reference].max(axis=0) >= HAD]
    K, n = had.shape
    if n == 0:
        return np.ones(K)
    mean = had.mean(axis=1)
    switched_on = (had > ON).sum(axis=1) > int(EXCEPTIONS * n)
    return np.where(switched_on, 1.0, mean / mean[reference].max())


def find_phantoms(H: np.ndarray, threshold: float = 0.2, reference: np.ndarray | None = None) -> np.ndarray:
    """Label each component "white", "black" or "content".

    A component is a white phantom when its level (see `phantom_levels`) is at most `threshold`: it switches nothing on,
    and its mean is at most that share of the highest mean. A rule on the mean alone would call every component of
    sparse data a phantom. Black phantoms: the same with 0 and 1 exchanged. At least one component of `reference` (those
    that others are compared with: a dead component says nothing about how full content is) stays content: if all
    qualify, none is a phantom.

    Examples
    --------
    >>> H = np.array([[0.9, 0.0, 0.8, 0.0], [0.01, 0.02, 0.0, 0.01], [0.0, 0.7, 0.0, 0.9]])
    >>> find_phantoms(H).tolist()
    ['content', 'white', 'content']
    """
    reference = np.ones(len(H), dtype=bool) if reference is None else reference
    white, black = phantom_levels(H, reference)
    kinds = np.full(len(H), CONTENT, dtype="<U7")
    kinds[white <= threshold] = WHITE
    kinds[black <= threshold] = BLACK
    if not np.any(kinds[reference] == CONTENT):
        kinds[:] = CONTENT
    return kinds


def at_prior(moved: np.ndarray) -> np.ndarray:
    """Which components have learned nothing, by how far each column's posterior is from the prior (K x D, in nats).

    None of their columns has moved by more than a fifth of the farthest of all: a part of a cell, where others have
    seen many. A component of few rows or few columns has moved far in those, so it is not taken for dead; and where all
    have moved equally little, as in a table of two rows, none of them is.
    """
    farthest = np.maximum(moved.max(axis=1), 0.0)  # below 0 by rounding only
    return farthest < UNLEARNED * farthest.max()
