"""Whether components that look like noise are noise, and how probable the other value of a cell is: by held-out cells.

A component that hardly makes a 1 may be noise, which turns ones into zeros, or content that happens to be sparse. As
noise it predicts held-out cells as well as a free component in its place would; content that is made blank predicts
them worse. The probabilities are calibrated on the same cells, each predicted by a fit that didn't see it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.held_out import (
    SURE,
    Folds,
    Line,
    fit_line,
    log_likelihood,
    log_odds,
    mean_and_error,
    observed_cells,
)
from latentbits.fitting.workers import run_all
from latentbits.models.aspect.noise_components import BLACK, CONTENT, EXTINCT, NESTED, WHITE

if TYPE_CHECKING:
    from latentbits.models.aspect.aspect_model import AspectModel

N_FOLDS, STARTS, TOL = 5, 3, 1e-5
"""Of the fits that judge: parts of the cells, restarts, tolerance."""

MOST_CELLS = 200_000
"""Of a larger table the rows that judge are drawn at random."""

LEAST_CELLS = 100
"""Observed cells without which nothing can be calibrated."""


class NoiseEvidence(NamedTuple):
    """What held-out cells say.

    Attributes
    ----------
    kinds : ndarray of str, shape (n_components,)
        As `phantoms_`, but components that didn't earn it to be called noise are content.
    gain, gain_se : float or None
        Log-likelihood per held-out cell with noise components over free ones, and its standard error; None where that
        wasn't asked.
    lines : dict of int to Line
        For each value of an observed cell: its log odds of a 1, by a fit that saw it, to those calibrated by the rest.
    """

    kinds: np.ndarray
    gain: float | None
    gain_se: float | None
    lines: dict[int, Line]

    @property
    def is_earned(self) -> bool:
        """Whether anything is noise."""
        return bool(np.isin(self.kinds, (WHITE, BLACK)).any())

    def as_content(self) -> str:
        """How much better what looks like noise is as content, in words."""
        assert self.gain is not None
        assert self.gain_se is not None
        return (
            "what looks like noise predicts held-out cells better as free content (log-likelihood per cell "
            f"{-self.gain:+.2g}, standard error {self.gain_se:.1g})"
        )

    def other_value(self, cells: np.ndarray, probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """How probable it is of each observed cell that noise made it, and of the other value: the smaller of both.

        With white and black noise of weights w and b in a row, a cell is a 1 with probability p = b + (1 - w - b) t. So
        noise made a 0 that content would have made a 1 with probability w t / (1 - p), and a 1 with b (1 - t) / p.
        """
        p = np.full(cells.shape, 0.5)  # of missing cells, whose answer is 0
        for value, line in self.lines.items():
            p[cells == value] = expit(line(log_odds(probabilities[cells == value])))
        p = np.clip(p, SURE, 1 - SURE)  # of steep lines, or 0 / 0 would be the answer
        w, b = (weights[:, self.kinds == kind].sum(axis=1, keepdims=True) for kind in (WHITE, BLACK))
        content = np.maximum(1 - w - b, np.finfo(float).tiny)
        t = np.clip((p - b) / content, 0.0, 1.0)
        false = {0: np.minimum(w * t / (1 - p), p), 1: np.minimum(b * (1 - t) / p, 1 - p)}
        return np.select([cells == value for value in false], list(false.values()), 0.0)


def judge_noise(model: AspectModel, data: BinaryData) -> NoiseEvidence | None:
    """The evidence of these rows; None where the model has nothing that looks like noise, or cells are too few."""
    looks_like = [kind for kind in (WHITE, BLACK) if kind in model.phantoms_]
    part = _part(data)
    folds = Folds(part, N_FOLDS, seed=0)
    if not looks_like or part.n_observed < LEAST_CELLS:
        return None
    is_asked = model.noise is None
    free = _short(model, model.n_components, model.noise)
    rivals = [free]
    if is_asked:
        n_content = len(model.phantoms_) - int(np.isin(model.phantoms_, looks_like).sum())
        (name,) = (name for name, kinds in NESTED.items() if list(kinds) == looks_like)
        rivals.append(_short(model, max(n_content, 1), name))
    jobs = [partial(_predicted, rival, part, folds, fold) for rival in rivals for fold in range(N_FOLDS)]
    done = run_all(jobs, title="Noise", n_jobs=model.n_jobs, verbose=bool(model.verbose))
    predicted = [folds.together(done[N_FOLDS * i : N_FOLDS * (i + 1)]) for i in range(len(rivals))]
    seen = observed_cells(part)
    x, row = part.dense()[seen], np.nonzero(seen)[0]
    lines = _lines(x, log_odds(model.reconstruct(part)[seen]), log_odds(predicted[0]))
    if not is_asked:
        return NoiseEvidence(model.phantoms_, None, None, lines)
    gain, error = mean_and_error(
        row, log_likelihood(x, log_odds(predicted[1])) - log_likelihood(x, log_odds(predicted[0]))
    )
    kinds = model.phantoms_
    if gain < -error:  # the model with noise is simpler: it is to be as good within one standard error
        kinds = np.where(kinds == EXTINCT, EXTINCT, CONTENT)
    return NoiseEvidence(kinds, gain, error, lines)


def _part(data: BinaryData) -> BinaryData:
    n_rows, n_columns = data.shape
    most = max(1, MOST_CELLS // n_columns)
    return data if n_rows <= most else data.rows(np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False)))


def _short(model: AspectModel, n_components: int, noise: str | None) -> AspectModel:
    """A copy for short fits of its own; of a model that samples, by variational Bayes."""
    own = {
        "n_components": n_components,
        "noise": noise,
        "n_init": min(model.n_init, STARTS),
        "tol": max(model.tol, TOL),
    }
    own |= {"random_state": 0, "n_jobs": None, "verbose": 0, "checkpoint": None, "warm_start": False}
    if getattr(model, "inference", None) == "gibbs":
        own["inference"] = "vb"
    short: AspectModel = clone(model).set_params(**own)
    return short


def _predicted(model: AspectModel, data: BinaryData, folds: Folds, fold: int) -> np.ndarray:
    """The probabilities of the cells of one fold, row by row, by a fit to the others."""
    hidden = folds.cells(fold)
    seen = data.hide(hidden)
    probabilities: np.ndarray = clone(model).fit(seen).reconstruct(seen)[hidden & observed_cells(data)]
    return probabilities


def _lines(x: np.ndarray, seen_odds: np.ndarray, held_out_odds: np.ndarray) -> dict[int, Line]:
    """First held-out odds to what held-out cells are, then the odds of fits that saw a cell of each value to those."""
    calibrated = fit_line(held_out_odds, np.where(x == 1, np.inf, -np.inf), np.ones(len(x)))(held_out_odds)
    return {v: fit_line(seen_odds[x == v], calibrated[x == v], np.ones(int((x == v).sum()))) for v in (0, 1)}
