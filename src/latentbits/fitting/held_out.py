"""Rows and cells that are held out, each once, and what a model's predictions of them gain over a baseline's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.errors import DataError
from latentbits.wording import counted

# ---- folds -------------------------------------------------------------------------------------------------

SURE = 1e-3
"""Predicted probabilities are clipped this far from 0 and 1: one overconfident cell must not decide a comparison."""

Data = BinaryData | np.ndarray


class Folds:
    """Folds of held-out rows and cells, the same for all models.

    Rows: every row is held out once. Cells: every cell is assigned to one of the folds, with equal probabilities; with
    `groups` (a number for each row) the cells of a column in the rows of a group together.
    """

    def __init__(self, data: Data, n_folds: int, seed: int, groups: np.ndarray | None = None) -> None:
        self.data = data
        self.n = n_folds
        self.groups = groups
        self._seed = seed
        self._cell_fold: np.ndarray | None = None

    def rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and test rows of each fold."""
        n_rows = self.data.shape[0]
        if n_rows == 1:
            raise DataError('one row can\'t be held out ("cv"); give more rows, or use another criterion (--criterion)')
        if self.n > n_rows:
            raise DataError(f"n_folds={self.n} (--folds) must be at most the number of rows, {n_rows}")
        splitter = KFold(self.n, shuffle=True, random_state=self._seed)
        folds = list(splitter.split(np.zeros((n_rows, 1))))
        if isinstance(self.data, BinaryData):
            seen = self.data.observed_per_row()
            self._refuse_empty(np.array([seen[test].sum() for _, test in folds]), "held-out rows")
        return folds

    def cells(self, fold: int) -> np.ndarray:
        """Which cells a fold holds out (N x D)."""
        return self._folds_of_cells() == fold

    def _folds_of_cells(self) -> np.ndarray:
        # Drawn on first use; threads that do so at the same time draw the same folds from the seed.
        if self._cell_fold is None:
            rng = np.random.default_rng(self._seed)
            n_rows, n_columns = self.data.shape
            units = np.arange(n_rows) if self.groups is None else self.groups
            self._cell_fold = rng.integers(self.n, size=(units.max() + 1, n_columns), dtype=np.int16)[units]
        return self._cell_fold

    def check_cells(self) -> None:
        """Refuse folds that hide no observed cell, before anything is fitted."""
        if not isinstance(self.data, BinaryData):
            return
        seen = self.data.dense() != MISSING
        hidden = np.bincount(self._folds_of_cells()[seen], minlength=self.n)
        self._refuse_empty(hidden, "held-out cells")

    def _refuse_empty(self, observed: np.ndarray, what: str) -> None:
        """Refuse folds of which one has no observed cell to be predicted."""
        if not observed.all():
            raise DataError(
                f"n_folds={self.n} (--folds) leaves a fold without an observed cell among its {what}, as the table has "
                f"{counted(observed.sum(), 'observed cell')}; use fewer folds, or give more data"
            )

    def of_observed(self) -> np.ndarray:
        """The fold of each observed cell, row by row."""
        self.cells(0)
        assert self._cell_fold is not None
        return self._cell_fold[observed_cells(self.data)]

    def together(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Predictions of held-out cells, an array per fold, as one: a number for each observed cell, row by row."""
        fold = self.of_observed()
        joined = np.empty(len(fold), dtype=np.float32)
        for number, part in enumerate(parts):
            joined[fold == number] = part
        return joined


def observed_cells(data: Data) -> np.ndarray:
    """Which cells of 0-1 data are not missing (N x D)."""
    assert isinstance(data, BinaryData)
    return data.dense() != MISSING


# ---- gains -------------------------------------------------------------------------------------------------

ENOUGH = 2.0
"""How many standard errors are called a finding."""

DOUBLED = 2.0
"""By how much the variance over folds exceeds that of independent cells, at most; see `verdict`."""


@dataclass(frozen=True)
class Gain:
    """What a model's predictions gain over those of a baseline.

    Attributes
    ----------
    z : float
        How strongly the model's corrections to the baseline are associated with the held-out cells, in standard errors;
        a finding if above 2.
    gain : float
        Log-likelihood per held-out cell over the baseline's, with `trust` times the difference of the log-odds; never
        below `own_gain`.
    gain_se : float
        Its standard error, over rows, the cells of both the same.
    own_gain : float
        The same of the model's own probabilities, kept 0.001 away from 0 and 1.
    own_gain_se : float
        Its standard error.
    trust : float
        The factor, from 0 to 1, of the difference of the log-odds that is best for these cells: 1 for probabilities to
        be taken as they are, small for overconfident ones, 0 where nothing is to be gained.
    auc : float
        Area under the ROC curve of the held-out cells, with `trust` times that difference added to the baseline.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, simulate, verdict
    >>> X = simulate.aspect_bernoulli(100, 20, 2, sharpness=0.1, random_state=0).X
    >>> gain = verdict(AspectBernoulli(2, n_init=1, random_state=0), X, random_state=0).over_columns
    >>> gain.is_found, gain.gain > 2 * gain.gain_se, 0 < gain.trust <= 1
    (True, True, True)
    """

    z: float
    gain: float
    gain_se: float
    own_gain: float
    own_gain_se: float
    trust: float
    auc: float

    @property
    def is_found(self) -> bool:
        """Whether the model predicts better than the baseline."""
        return self.z > ENOUGH


class HiddenCells(NamedTuple):
    """All observed cells, row by row: where they are, the fold that held them out, and their values.

    `group` is that of the cell's row, if the cells of a column in the rows of a group depend on each other.
    """

    row: np.ndarray
    column: np.ndarray
    fold: np.ndarray
    x: np.ndarray
    group: np.ndarray | None = None

    @classmethod
    def of(cls, data: BinaryData, fold: np.ndarray, groups: np.ndarray | None = None) -> HiddenCells:
        """The cells of data, `fold` for each observed one."""
        cells = data.dense()
        row, column = np.nonzero(cells != MISSING)
        group = None if groups is None else groups[row]
        return cls(row, column, fold.astype(np.int64), cells[row, column], group)

    @property
    def unit(self) -> np.ndarray:
        """What is independent of each other: rows, or groups of them."""
        return self.row if self.group is None else self.group


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Log-odds, with probabilities kept 0.001 away from 0 and 1 so that no single prediction overrules all others."""
    return logit(np.clip(probabilities.astype(np.float64), SURE, 1 - SURE))


class Line(NamedTuple):
    """Log odds that are a linear function of others: intercept + slope x, slope >= 0."""

    intercept: float
    slope: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.intercept + self.slope * x


def fit_line(x: np.ndarray, target: np.ndarray, cell_weight: np.ndarray) -> Line:
    """The line of log odds over x whose probabilities are nearest to those of `target` in cross entropy.

    So the mean probability equals that of the target; without cells to tell it is x itself.
    """
    p = expit(target)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        eta = theta[0] + theta[1] * x
        residual = cell_weight * (p - expit(eta))
        value = cell_weight @ (np.logaddexp(0.0, eta) - p * eta)
        return float(value), -np.array([residual.sum(), residual @ x])

    if len(x) < 2 or np.ptp(x) == 0:
        return Line(0.0, 1.0)
    found = minimize(loss, [0.0, 1.0], jac=True, bounds=[(None, None), (0.0, None)], method="L-BFGS-B")
    return Line(float(found.x[0]), float(found.x[1]))


def mean_of_odds(predictions: Iterable[np.ndarray]) -> np.ndarray:
    """One prediction of several: the probabilities that have the mean of their log-odds."""
    return expit(np.mean([log_odds(p) for p in predictions], axis=0))


def gain_over(cells: HiddenCells, model: np.ndarray, baseline: np.ndarray) -> Gain:
    """Compare two predictions of held-out cells: probabilities of a 1, each by a fit that didn't see the cell."""
    base = log_odds(baseline)
    difference = log_odds(model) - base
    z = _z(cells, _added(cells, difference, expit(base)), expit(base))
    # Not of what is added within a column: with trust 1 it has to be the model's own probabilities.
    trust = _trust(cells.x, base, difference)
    trusted = base + trust * difference
    reference = log_likelihood(cells.x, base)
    gain, gain_se = mean_and_error(cells.unit, log_likelihood(cells.x, trusted) - reference)
    own, own_se = mean_and_error(cells.unit, log_likelihood(cells.x, base + difference) - reference)
    return Gain(z, gain, gain_se, own, own_se, trust, float(roc_auc_score(cells.x, trusted)))


def log_likelihood(x: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Of cells by their log odds of a 1: -log(1 + exp(-odds)) for a 1, with the sign of the odds turned for a 0."""
    return -np.logaddexp(0.0, np.where(x == 1, -odds, odds))


def _added(cells: HiddenCells, difference: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The difference of log-odds less its mean over the held-out cells of the column.

    The mean is over the cells of one fold: between folds the column's frequencies differ by the very cells that are
    held out, which would create a spurious finding.
    """
    place = cells.column * (cells.fold.max() + 1) + cells.fold
    weight = p * (1 - p)
    total = np.bincount(place, weight)
    mean = np.bincount(place, weight * difference) / np.maximum(total, np.finfo(float).tiny)
    return difference - mean[place]


def _z(cells: HiddenCells, added: np.ndarray, p: np.ndarray) -> float:
    moved = added * (cells.x - p)
    variance = DOUBLED * float(
        np.sum(p * (1 - p) * added**2) if cells.group is None else np.sum(_runs(cells, moved) ** 2)
    )
    # Differences of rounding alone, as between two fits of independent columns, are no difference.
    return float(moved.sum()) / math.sqrt(variance) if variance > 1e-9 * len(added) else 0.0


def _runs(cells: HiddenCells, values: np.ndarray) -> np.ndarray:
    """The sums of values over the cells of a column in the rows of a group."""
    return np.bincount(cells.unit * (cells.column.max() + 1) + cells.column, values)


def _trust(x: np.ndarray, base: np.ndarray, difference: np.ndarray) -> float:
    """The factor of `difference`, from 0 to 1, that makes the cells likeliest; the log-likelihood is concave in it."""

    def slope(factor: float) -> float:
        return float(difference @ (x - expit(base + factor * difference)))

    if slope(0.0) <= 0:
        return 0.0
    return 1.0 if slope(1.0) >= 0 else float(brentq(slope, 0.0, 1.0, xtol=1e-4))


def mean_and_error(unit: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The mean over cells, and its standard error with the rows (or groups) as units: their cells share weights."""
    mean = float(values.mean())
    per_unit = np.bincount(unit, values - mean)
    n = len(np.unique(unit))
    return mean, float(np.sqrt(per_unit @ per_unit * n / max(n - 1, 1))) / len(values)
