"""Noise components: blank (white) or full (black) in all columns by construction, with weights that are free.

With a free white component the level of a black one is not identified: replace H_b by H_w + c (H_b - H_w) and its
weights W_b by W_b / c, the rest to W_w, and all probabilities stay. So maximum likelihood has no reason to make it
black, and its level has to be given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from latentbits.models.aspect.phantoms import BLACK, CONTENT, WHITE

__all__ = ["KNOWN", "NESTED", "NO_NOISE", "NoiseComponents", "gain_of", "needed_gain", "noise_trials"]

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

    A rate of None is learned, one for each component.
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
            noise = slice(-len(self), None)
            ones, zeros = N1[noise].sum(axis=1), N0[noise].sum(axis=1)
            false = np.where(self._is_white, ones, zeros)
            rates = np.divide(false, ones + zeros, out=np.full(len(self), START), where=ones + zeros > 0)
            H[noise] = self._levels(rates, H.shape[1])
        elif self.kinds:
            H[-len(self) :] = self._levels(np.zeros(len(self)), H.shape[1])

    def project(self, H: np.ndarray) -> None:
        """Bring the last rows of H, which an extrapolation has moved, back into their bounds."""
        if self.kinds:
            level = H[-len(self) :, 0]
            H[-len(self) :] = self._levels(np.where(self._is_white, level, 1 - level), H.shape[1])

    def kinds_of(self, n_components: int) -> np.ndarray:
        """The kind of each of n components, these the last."""
        return np.array([CONTENT] * (n_components - len(self)) + list(self.kinds), dtype="<U7")

    @property
    def _is_white(self) -> np.ndarray:
        return np.array(self.kinds) == WHITE

    def _levels(self, rates: np.ndarray, n_columns: int) -> np.ndarray:
        """Probabilities of a 1, n x D; `rates` count if they are learned."""
        rates = np.clip(rates, LEAST, MOST) if self.rate is None else np.full(len(self), self.rate)
        return np.repeat(np.where(self._is_white, rates, 1 - rates)[:, None], n_columns, axis=1)


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
