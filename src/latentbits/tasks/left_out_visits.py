"""Is the next visit predicted? Each visit is left out in turn, and predicted from the others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from latentbits.data.histories import Histories
from latentbits.metrics import calibration_table, expected_calibration_error

LEAST = 10
"""Sightings of species unseen by the others that a left-out visit must have to say anything."""


class LeftOutVisits(NamedTuple):
    """How the cells that no other visit saw were predicted, visit by visit.

    Attributes
    ----------
    table : DataFrame
        For each visit the cells, how many were seen, how many were predicted to be, the area under the ROC curve, that
        by the species' frequencies, average precision, and calibration error.
    calibration : DataFrame
        Of all visits together: bins of predicted probabilities, with the share that was seen.
    """

    table: pd.DataFrame
    calibration: pd.DataFrame

    @property
    def level(self) -> str:
        """How much better than by frequencies visits are ranked: all of them "clear", on average "weak", or "none"."""
        gain = (self.table["auc"] - self.table["auc_of_frequencies"]).dropna()
        return "clear" if len(gain) and (gain > 0).all() else "weak" if gain.mean() > 0 else "none"


def leave_out_visits(model: Any, histories: Any, effort: Any = None, rows: Any = None) -> LeftOutVisits:
    """Leave out one visit in turn, and compare what it saw with what the others predict.

    Parameters
    ----------
    model : RepeatedSurvey
        Not changed; clones of it are fitted.
    histories : Histories or array-like of shape (n_sites, n_visits, n_species)
        With two visits at least; two leave a model one visit, which says nothing about detection unless it is given.
    effort : array-like of shape (n_sites, n_visits), optional
        As `fit` takes it.
    rows : data frame, optional
        As `fit` takes it.

    Returns
    -------
    LeftOutVisits
        Table and calibration.
    """
    survey = Histories.of(histories)
    lines, all_seen, all_said = [], [], []
    names = survey.visit_names or [str(v + 1) for v in range(survey.shape[1])]
    for v in range(survey.shape[1]):
        others = [w for w in range(survey.shape[1]) if w != v]
        part = survey.visits(others)
        kept = {} if effort is None else {"effort": np.asarray(effort, float)[:, others]}
        if rows is not None:
            kept["rows"] = rows
        fitted = clone(model).fit(part, **kept)
        outcome = survey.cells[:, v]
        judged = (part.detections == 0) & (part.n_visits > 0) & (outcome >= 0)
        later = 1.0 if effort is None else _relative_effort(np.asarray(effort, float), v, others, survey, fitted)
        seen, said = outcome[judged] == 1, fitted.predict_proba(later_visits=later)[judged]
        share = (part.detections > 0).sum(axis=0) / np.maximum((part.n_visits > 0).sum(axis=0), 1)
        lines.append(_line(names[v], seen, said, np.broadcast_to(share, judged.shape)[judged]))
        all_seen.append(seen)
        all_said.append(said)
    calibration = calibration_table(np.concatenate(all_seen), np.concatenate(all_said))
    return LeftOutVisits(pd.DataFrame(lines), calibration)


def _relative_effort(effort: Any, v: int, others: list[int], survey: Histories, fitted: Any) -> Any:
    """How many average visits the visit is worth at each site."""
    made = survey.surveyed[:, others]
    usual = np.exp(np.log(effort[:, others][made]).mean())
    return np.where(survey.surveyed[:, v], np.nan_to_num(effort[:, v], nan=usual) / usual, 1.0) ** (fitted.effort_ or 0)


def _line(name: str, seen: np.ndarray, said: np.ndarray, share: np.ndarray) -> dict[str, Any]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    enough = LEAST <= seen.sum() < len(seen)
    return {
        "visit": name,
        "cells": len(seen),
        "seen": int(seen.sum()),
        "predicted": float(said.sum()),
        "auc": roc_auc_score(seen, said) if enough else np.nan,
        "auc_of_frequencies": roc_auc_score(seen, share) if enough else np.nan,
        "average_precision": average_precision_score(seen, said) if enough else np.nan,
        "calibration_error": expected_calibration_error(seen, said) if len(seen) else np.nan,
    }
