"""The criteria by which numbers of components and models are compared, and for which models they are defined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latentbits.errors import DataError
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.base import check_estimator

__all__ = ["CRITERIA", "HELD_OUT", "LOWER_IS_BETTER", "check_criteria", "default_criterion"]

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
    """What chooses if nothing is said: AIC for models of 0-1 data, BIC or the evidence for those of numbers."""
    usual = ("aic",) if Ability.READ_ZERO_ONE in abilities_of(estimator) else ("bic", "evidence", "aic")
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
