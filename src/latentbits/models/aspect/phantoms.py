"""Which components carry content, and which only switch cells off (white) or on (black)."""

from __future__ import annotations

import numpy as np

__all__ = ["BLACK", "CONTENT", "WHITE", "find_phantoms", "phantom_levels"]

CONTENT, WHITE, BLACK = "content", "white", "black"

CONTRAST = 0.2
SHARE = 0.95


def phantom_levels(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How blank and how full each component is: (white, black) levels, 0 for a perfect phantom.

    Only *telling* attributes count, those on which some two components differ by at least 0.2. (A ubiquitous species
    is near 1 in every component, also in one that is blank otherwise; a species that nobody has says nothing either.)
    The white level is the probability of a 1 that a component stays below on 95 % of the telling attributes; the
    black level is the same of a 0. Where no attribute is telling, all levels are 1.
    """
    telling = H[:, H.max(axis=0) - H.min(axis=0) >= CONTRAST]
    if telling.shape[1] == 0:
        return np.ones(len(H)), np.ones(len(H))
    # method="higher": with few attributes all of them must be blank.
    white = np.quantile(telling, SHARE, axis=1, method="higher")
    black = np.quantile(1 - telling, SHARE, axis=1, method="higher")
    return white, black


def find_phantoms(H: np.ndarray, threshold: float = 0.1) -> np.ndarray:
    """Label each component "white", "black" or "content".

    A component is a white phantom when it hardly ever makes a 1 where others do: its level (see `phantom_levels`) is
    at most `threshold`. A rule on the mean alone would call every component of sparse data a phantom; this one asks
    that *nearly all* attributes be blank, and content components have some that are not. Black phantoms mirror it.
    At least one component stays content: if all qualify, none is a phantom.

    Examples
    --------
    >>> H = np.array([[0.9, 0.0, 0.8, 0.0], [0.01, 0.02, 0.0, 0.01], [0.0, 0.7, 0.0, 0.9]])
    >>> find_phantoms(H).tolist()
    ['content', 'white', 'content']
    """
    white, black = phantom_levels(H)
    kinds = np.full(len(H), CONTENT, dtype="<U7")
    kinds[white <= threshold] = WHITE
    kinds[black <= threshold] = BLACK
    if not np.any(kinds == CONTENT):
        kinds[:] = CONTENT
    return kinds
