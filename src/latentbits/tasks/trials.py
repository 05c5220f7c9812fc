"""Fits of many models (on all data, without some rows or cells), and the criteria by which they are compared."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_array, get_tags

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.errors import DataError
from latentbits.fitting.held_out import SURE, Data, observed_cells
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.base import check_estimator, check_learnable
from latentbits.wording import counted


def data_for(estimator: Any, X: Any, n_components: int | None = None) -> Data:
    """X validated for the estimator: BinaryData for models of 0-1 data, else an array of numbers.

    What a fit of `n_components` would refuse or warn about is said here, once: `run_all` silences the many fits.
    """
    if Ability.READ_ZERO_ONE not in abilities_of(estimator):
        holes = get_tags(estimator).input_tags.allow_nan
        return np.asarray(check_array(X, dtype=np.float64, ensure_all_finite="allow-nan" if holes else True))
    data = BinaryData.of(X, binarize=estimator.binarize)
    check_learnable(data, n_components)
    return data


@dataclass(frozen=True)
class Outcome:
    """Result of one fit; `scores` by the name of the criterion, `predicted`, probabilities of held-out cells."""

    model: Any
    seconds: float
    scores: dict[str, float]
    predicted: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))


def fit_all(estimator: Any, data: Data) -> Outcome:
    """A fit on all data."""
    model, seconds = _timed_fit(estimator, data)
    return Outcome(model, seconds, {})


def fit_without_rows(estimator: Any, data: Data, train: np.ndarray, test: np.ndarray) -> Outcome:
    """A fit on some rows; the mean log likelihood of the others (`score`)."""
    model, seconds = _timed_fit(estimator, _rows(data, train))
    return Outcome(summary_of(model), seconds, {"cv": float(model.score(_rows(data, test)))})


def fit_without_cells(estimator: Any, data: BinaryData, hidden: np.ndarray, *, keep: bool = False) -> Outcome:
    """A fit without some cells; their mean log likelihood, and the area under the ROC curve of their ranking.

    With `keep`, also the probabilities of a 1 in the held-out cells whose values are known, row by row.
    """
    seen = data.hide(hidden)
    model, seconds = _timed_fit(estimator, seen)
    # Reconstructed from `seen`: the row's weights must not be estimated from the held-out cells.
    probabilities = model.reconstruct(seen)
    score = CellScore.of(data, hidden, probabilities)
    outcome = Outcome(summary_of(model), seconds, {"cells": score.log_likelihood, "auc": score.auc})
    if not keep:
        return outcome
    return replace(outcome, predicted=probabilities[hidden & observed_cells(data)].astype(np.float32))


@dataclass(frozen=True)
class CellScore:
    """How well probabilities predict held-out cells: mean log likelihood, and the area under the ROC curve."""

    log_likelihood: float
    auc: float

    @classmethod
    def of(cls, data: BinaryData, hidden: np.ndarray, probabilities: np.ndarray) -> CellScore:
        """Scores on the held-out cells whose values are known."""
        truth = data.dense()
        asked = hidden & (truth != MISSING)
        x = truth[asked]
        if len(x) == 0:
            raise DataError("no observed cell was held out; use fewer folds, or more data")
        both = 0 < x.sum() < len(x)  # the curve is undefined for cells of one value: 0.5, like a random order
        auc = float(roc_auc_score(x, probabilities[asked])) if both else 0.5
        p = np.clip(probabilities[asked], SURE, 1 - SURE)
        return cls(float(np.mean(np.where(x == 1, np.log(p), np.log1p(-p)))), auc)


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


def summary_of(model: Any) -> _FitSummary:
    """What is kept of a fold's model."""
    return _FitSummary(bool(getattr(model, "converged_", True)), getattr(model, "r_hat_", None))


def _rows(data: Data, index: np.ndarray) -> Data:
    return data.rows(index) if isinstance(data, BinaryData) else data[index]


# ---- criteria ----------------------------------------------------------------------------------------------------

CRITERIA = {
    "aic": "Akaike's criterion of the fit on all data; lower is better",
    "bic": "Schwarz' criterion of the fit on all data; lower is better",
    "evidence": "log evidence (BetaICA, ICAMixture: a bound; BetaICA by sampling: integrated); higher is better",
    "cv": "mean log likelihood of held-out rows; higher is better",
    "cells": "mean log likelihood of held-out cells; higher is better",
    "pairs": "mean log likelihood of pairs of cells of held-out rows, in segments (BinaryICA); higher is better",
}
LOWER_IS_BETTER = ("aic", "bic")
HELD_OUT = ("cv", "cells", "pairs")


def default_criterion(estimator: Any) -> str:
    """What chooses if nothing is said: held-out cells for models of 0-1 data, BIC or the evidence for others."""
    usual = ("cells",) if Ability.READ_ZERO_ONE in abilities_of(estimator) else ("bic", "evidence")
    return next((name for name in usual if _NEEDS[name] in abilities_of(estimator)), "aic")


def check_criteria(criterion: str | Sequence[str], *estimators: Any) -> list[str]:
    """The criteria as a list, each of them known and defined for each estimator."""
    for estimator in estimators:
        check_estimator(estimator)
    wanted = [criterion] if isinstance(criterion, str) else list(criterion or ())
    unknown = [name for name in wanted if name not in CRITERIA]
    if unknown or not wanted or len(set(wanted)) < len(wanted):
        named = f"criterion {unknown[0]!r} is unknown" if unknown else f"criterion={criterion!r} repeats or names none"
        raise DataError(f"{named}; use any of {', '.join(CRITERIA)}, each once")
    for estimator in estimators:
        for name in wanted:
            if not _is_defined(name, estimator):
                fitting = [c for c in CRITERIA if _is_defined(c, estimator)]
                way_out = (
                    f"use any of {', '.join(fitting)} (--criterion)" if fitting else "give one of latentbits' models"
                )
                raise DataError(f"{type(estimator).__name__} has no {name}{_why_not(name, estimator)}; {way_out}")
    return wanted


def _is_defined(criterion: str, estimator: Any) -> bool:
    return _NEEDS[criterion] in abilities_of(estimator) and not _why_not(criterion, estimator)


def _why_not(criterion: str, estimator: Any) -> str:
    """Why a criterion makes no sense for a model that has the method behind it; empty if it does."""
    if criterion == "cv" and Ability.PAIR_SCORES in abilities_of(estimator):
        return ", as rows of segments are judged by their pairs"
    if criterion == "cv" and Ability.PREDICT_HELD_OUT in abilities_of(estimator):
        return ", as it predicts cells from the rest of their row, and no whole rows"
    return ""


_NEEDS = {
    "aic": Ability.INFORMATION_CRITERIA,
    "bic": Ability.INFORMATION_CRITERIA,
    "evidence": Ability.EVIDENCE,
    "cv": Ability.SCORE_ROWS,
    "cells": Ability.PREDICT_CELLS,
    "pairs": Ability.PAIR_SCORES,
}
"""The ability behind each criterion."""
