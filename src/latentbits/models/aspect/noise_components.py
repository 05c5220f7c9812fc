"""Noise components: which components are noise, and components that are noise by construction.

Which components are content, and which are phantoms that only make zeros (white) or ones (black), or extinct.

With a free white component the level of a black one is not identified: replace H_b by H_w + c (H_b - H_w) and its
weights W_b by W_b / c, the rest to W_w, and all probabilities stay. So maximum likelihood has no reason to make it
black, and its level has to be given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

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


# ---- noise components --------------------------------------------------------------------------------------------

NESTED: dict[str, tuple[str, ...]] = {"none": (), "white": (WHITE,), "black": (BLACK,), "both": (WHITE, BLACK)}
"""The noise components of each model that `noise="auto"` tries, by its name."""

CHANCE, CHANCE_SD = 0.25, 0.56
"""What a weight that is truly 0 gains by chance, in nats: half the time nothing, else half of a chi square."""

STANDARD_ERRORS = 2.5
BLANKNESS = 0.3
"""How much more a blank component gains by chance where ones are rare (a full one where zeros are), per share of
ones; chosen with the line above on other tables than those of experiments/beyond/noise.py.

On sparse tables of 200 x 50 white noise by row and column gains 0.44 nats per row, clean tables of the same share of
ones whose components are faint (0.2 to 0.5) 0.43, and 4 of 10 of these keep white. So no threshold finds the one
without the other; neither do 10 starts, a start from the model without noise, a learned rate, or a parametric
bootstrap."""

KNOWN = 1e9
"""alpha + beta of a noise component, whose probability of a 1 is known: as if it had been seen in so many cells."""

START = 0.001
LEAST, MOST = 1e-6, 0.05
"""A learned rate starts there, and stays within these bounds: beyond them a component isn't blank any more."""


@dataclass(frozen=True)
class NoiseComponents:
    """Components that follow those with content: white ones make a 1 with probability `rate`, black ones a 0.

    A rate of None is learned, one for each component. Components may be those of several climbs, stacked.
    """

    kinds: tuple[str, ...] = ()
    rate: float | None = START

    def __len__(self) -> int:
        return len(self.kinds)

    def after(self, H: np.ndarray) -> np.ndarray:
        """The components H with content, and these as they start behind them."""
        if not self.kinds:
            return H
        return np.vstack([H, self._levels(np.full(len(self), START), H.shape[1])])

    def update(self, H: np.ndarray, N1: np.ndarray, N0: np.ndarray) -> None:
        """Set the last rows of H: the M step of a component that is the same in all columns pools their counts."""
        if self.kinds and self.rate is None:
            ones, zeros = (counts[..., -len(self) :, :].sum(axis=-1) for counts in (N1, N0))
            false = np.where(self._is_white, ones, zeros)
            rates = np.divide(false, ones + zeros, out=np.full(false.shape, START), where=ones + zeros > 0)
            H[..., -len(self) :, :] = self._levels(rates, H.shape[-1])
        elif self.kinds:
            H[..., -len(self) :, :] = self._levels(np.zeros(len(self)), H.shape[-1])

    def project(self, H: np.ndarray) -> None:
        """Bring the last rows of H, which an extrapolation has moved, back into their bounds."""
        if self.kinds:
            level = H[..., -len(self) :, 0]
            H[..., -len(self) :, :] = self._levels(np.where(self._is_white, level, 1 - level), H.shape[-1])

    def kinds_of(self, n_components: int) -> np.ndarray:
        """The kind of each of n components, these the last."""
        return np.array([CONTENT] * (n_components - len(self)) + list(self.kinds), dtype="<U7")

    @property
    def _is_white(self) -> np.ndarray:
        return np.array(self.kinds) == WHITE

    def _levels(self, rates: np.ndarray, n_columns: int) -> np.ndarray:
        """Probabilities of a 1, n x D; `rates` count if they are learned."""
        rates = np.clip(rates, LEAST, MOST) if self.rate is None else np.full(len(self), self.rate)
        return np.repeat(np.where(self._is_white, rates, 1 - rates)[..., None], n_columns, axis=-1)


NO_NOISE = NoiseComponents()


def needed_gain(kind: str, n_rows: float, density: float) -> float:
    """What a noise component must gain over the model without it, in nats per row, by the table's share of ones."""
    towards_kind = 0.5 - density if kind == WHITE else density - 0.5
    return CHANCE + STANDARD_ERRORS * CHANCE_SD / float(np.sqrt(n_rows)) + BLANKNESS * towards_kind


def noise_trials(objectives: dict[str, float], n_rows: float, density: float) -> pd.DataFrame:
    """The nested models that were fitted, what each gained per row, needed, and which one is kept.

    It is the one whose gain exceeds what it needed by most: each of its noise components gains more than it needs
    beside the others. Swapping 0 and 1 swaps white and black.

    Examples
    --------
    >>> noise_trials({"none": -900.0, "white": -880.0, "black": -820.0, "both": -810.0}, 100, 0.5)
       model  objective  gain_per_row  needed   kept
    0   none     -900.0           0.0    0.00  False
    1  white     -880.0           0.2    0.39  False
    2  black     -820.0           0.8    0.39   True
    3   both     -810.0           0.9    0.78  False
    """
    names = list(objectives)
    gain = (np.array([objectives[name] for name in names]) - objectives["none"]) / n_rows
    needed = np.array([sum(needed_gain(kind, n_rows, density) for kind in NESTED[name]) for name in names])
    kept = np.arange(len(names)) == np.argmax(gain - needed)
    columns = {"model": names, "objective": list(objectives.values()), "gain_per_row": gain}
    return pd.DataFrame({**columns, "needed": needed, "kept": kept})


def gain_of(kind: str, trials: pd.DataFrame) -> float | None:
    """What a noise component gains per row beside the others that are kept; None if a trial is missing."""
    gains = dict(zip(trials["model"], trials["gain_per_row"], strict=True))
    (kept,) = trials["model"][trials["kept"]]
    others = tuple(other for other in NESTED[kept] if other != kind)
    names = {kinds: name for name, kinds in NESTED.items()}
    with_it = names[tuple(other for other in (WHITE, BLACK) if other in (*others, kind))]
    if with_it not in gains or names[others] not in gains:
        return None
    return float(gains[with_it] - gains[names[others]])
