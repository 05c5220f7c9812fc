"""Many fits of many models: on all data, without some rows, without some cells; on threads, with one progress bar."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.utils import check_array

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.errors import DataError, DegenerateDataWarning
from latentbits.fitting.progress import Progress
from latentbits.fitting.restarts import stopped_by
from latentbits.fitting.workers import n_workers, one_blas_thread
from latentbits.models.base import BinaryModel, check_learnable
from latentbits.wording import counted

__all__ = [
    "CellScore",
    "Folds",
    "Outcome",
    "all_predicted",
    "data_for",
    "fit_all",
    "fit_without_cells",
    "fit_without_rows",
    "run_all",
]

SURE = 1e-3
"""Predicted probabilities are clipped this far from 0 and 1: one overconfident cell must not decide a comparison."""

Result = TypeVar("Result")
Data = BinaryData | np.ndarray


def data_for(estimator: Any, X: Any, n_components: int | None = None) -> Data:
    """X validated for the estimator: BinaryData for models of 0-1 data, else an array of numbers.

    What a fit of `n_components` would refuse or warn about is said here, once: `run_all` silences the many fits.
    """
    if not isinstance(estimator, BinaryModel):
        return np.asarray(check_array(X, dtype=np.float64))
    data = BinaryData.of(X, binarize=estimator.binarize)
    check_learnable(data, n_components, stacklevel=4)
    return data


class Folds:
    """Folds of held-out rows and cells, the same for all models.

    Rows: every row is held out once. Cells: every cell is assigned to one of the folds, with equal probabilities.
    """

    def __init__(self, data: Data, n_folds: int, seed: int) -> None:
        self.data = data
        self.n = n_folds
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
        """Which cells a fold hides (N x D)."""
        return self._folds_of_cells() == fold

    def _folds_of_cells(self) -> np.ndarray:
        # Drawn on first use; threads that do so at the same time draw the same folds from the seed.
        if self._cell_fold is None:
            rng = np.random.default_rng(self._seed)
            self._cell_fold = rng.integers(self.n, size=self.data.shape, dtype=np.int16)
        return self._cell_fold

    def check_cells(self) -> None:
        """Refuse folds that hide no observed cell, before anything is fitted."""
        if not isinstance(self.data, BinaryData):
            return
        seen = self.data.dense() != MISSING
        hidden = np.bincount(self._folds_of_cells()[seen], minlength=self.n)
        self._refuse_empty(hidden, "hidden cells")

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
        return self._cell_fold[_observed(self.data)]


@dataclass(frozen=True)
class Outcome:
    """Result of one fit; `scores` by the name of the criterion, `predicted` the probabilities of hidden cells."""

    model: Any
    seconds: float
    scores: dict[str, float]
    predicted: np.ndarray | None = None


def fit_all(estimator: Any, data: Data) -> Outcome:
    """A fit on all data."""
    model, seconds = _timed_fit(estimator, data)
    return Outcome(model, seconds, {})


def fit_without_rows(estimator: Any, data: Data, train: np.ndarray, test: np.ndarray) -> Outcome:
    """A fit on some rows; the mean log likelihood of the others (`score`)."""
    model, seconds = _timed_fit(estimator, _rows(data, train))
    return Outcome(_summary_of(model), seconds, {"cv": float(model.score(_rows(data, test)))})


def fit_without_cells(estimator: Any, data: BinaryData, hidden: np.ndarray, *, keep: bool = False) -> Outcome:
    """A fit without some cells; their mean log likelihood, and the area under the ROC curve of their ranking.

    With `keep`, also the probabilities of a 1 in the hidden cells whose values are known, row by row.
    """
    seen = data.hide(hidden)
    model, seconds = _timed_fit(estimator, seen)
    # Reconstructed from `seen`: the row's weights must not be estimated from the hidden cells.
    probabilities = model.reconstruct(seen)
    score = CellScore.of(data, hidden, probabilities)
    predicted = probabilities[hidden & _observed(data)].astype(np.float32) if keep else None
    return Outcome(_summary_of(model), seconds, {"cells": score.log_likelihood, "auc": score.auc}, predicted)


def all_predicted(outcomes: Sequence[Outcome], fold: np.ndarray) -> np.ndarray:
    """The predictions of all folds as one array, a number for each observed cell; `fold` says which hid it."""
    together = np.empty(len(fold), dtype=np.float32)
    for number, outcome in enumerate(outcomes):
        together[fold == number] = outcome.predicted
    return together


@dataclass(frozen=True)
class CellScore:
    """How well probabilities predict hidden cells: mean log likelihood, and the area under the ROC curve."""

    log_likelihood: float
    auc: float

    @classmethod
    def of(cls, data: BinaryData, hidden: np.ndarray, probabilities: np.ndarray) -> CellScore:
        """Scores on the hidden cells whose values are known."""
        truth = data.dense()
        asked = hidden & (truth != MISSING)
        x = truth[asked]
        if len(x) == 0:
            raise DataError("no observed cell was held out; use fewer folds, or more data")
        both = 0 < x.sum() < len(x)  # the curve is undefined for cells of one value: 0.5, like a random order
        auc = float(roc_auc_score(x, probabilities[asked])) if both else 0.5
        p = np.clip(probabilities[asked], SURE, 1 - SURE)
        return cls(float(np.mean(np.where(x == 1, np.log(p), np.log1p(-p)))), auc)


def run_all(
    jobs: Sequence[Callable[[], Result]], *, title: str, n_jobs: int | None = None, verbose: bool = False
) -> list[Result]:
    """Results of all jobs in their order, on `n_jobs` threads; Ctrl-C ends the fits that are under way.

    Warnings of single fits are suppressed; callers give one for all (`data_for`, `sum_up_convergence`).
    """
    stop = threading.Event()
    results: list[Result] = []
    with (
        warnings.catch_warnings(),
        one_blas_thread(),
        Progress(title, len(jobs), show=verbose) as progress,
        ThreadPoolExecutor(n_workers(n_jobs), thread_name_prefix="latentbits-trial") as pool,
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DegenerateDataWarning)
        warnings.filterwarnings("ignore", message="interrupted")

        def run(job: Callable[[], Result]) -> Result:
            result = job()
            progress.finished_one()
            return result

        with stopped_by(stop):  # threads don't inherit context variables, so each job gets a copy of the context
            futures = [pool.submit(copy_context().run, run, job) for job in jobs]
        try:
            # Short waits in a loop: with other libraries' handlers of Ctrl-C, one long wait may not be interrupted.
            while wait(futures, timeout=0.1, return_when="FIRST_EXCEPTION").not_done and not _failed(futures):
                pass
            results = [future.result() for future in futures if future.done()]
        finally:  # after an error or Ctrl-C the remaining jobs are cancelled
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    return results


def _failed(futures: Sequence[Any]) -> bool:
    return any(future.done() and future.exception() is not None for future in futures)


def sum_up_convergence(models: Sequence[Any]) -> None:
    """One warning for all fits that ran out of iterations, or whose chains disagree."""
    short = [model for model in models if not getattr(model, "converged_", True)]
    if short:
        sampled = getattr(short[0], "r_hat_", None) is not None
        passes = "made all passes without converging; raise max_iter, or tol"
        chains = "have chains that disagree (R-hat); raise n_burn, n_samples or thin"
        warnings.warn(
            f"{len(short)} of {counted(len(models), 'fit')} {chains if sampled else passes}",
            ConvergenceWarning,
            stacklevel=3,
        )


def prepared(estimator: Any, seed: int, **parameters: Any) -> Any:
    """An unfitted copy for one of many threads, single-threaded and silent; `seed` replaces a missing random_state."""
    known = estimator.get_params(deep=False)
    common = {"n_jobs": None, "verbose": 0}
    if known.get("random_state") is None:
        common["random_state"] = seed
    return clone(estimator).set_params(**{k: v for k, v in common.items() if k in known} | parameters)


def _timed_fit(estimator: Any, data: Data) -> tuple[Any, float]:
    start = time.perf_counter()
    model = estimator.fit(data)
    return model, time.perf_counter() - start


@dataclass(frozen=True)
class _FitSummary:
    """What is needed of a fold's model; keeping the model would keep the weights of all its rows."""

    converged_: bool
    r_hat_: Any = None


def _summary_of(model: Any) -> _FitSummary:
    return _FitSummary(bool(getattr(model, "converged_", True)), getattr(model, "r_hat_", None))


def _observed(data: Data) -> np.ndarray:
    assert isinstance(data, BinaryData)
    return data.dense() != MISSING


def _rows(data: Data, index: np.ndarray) -> Data:
    return data.rows(index) if isinstance(data, BinaryData) else data[index]
