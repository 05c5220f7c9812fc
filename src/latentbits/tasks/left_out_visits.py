"""Is the next visit predicted? Each visit is left out in turn, and predicted from the others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import average_precision_score, roc_auc_score

from latentbits.data.histories import Histories
from latentbits.fitting.held_out import HiddenCells, gain_over
from latentbits.metrics import calibration_table, expected_calibration_error
from latentbits.notes import Code, Level, Note
from latentbits.tasks.verdict import Basis, Verdict

LEAST = 10
"""Sightings of species unseen by the others that a left-out visit must have to say anything."""

Floats = NDArray[np.float64]


class LeftOutVisits(NamedTuple):
    """How the cells that no other visit saw were predicted, visit by visit.

    Attributes
    ----------
    table : DataFrame
        For each visit the cells, how many were seen, how many were predicted to be, the area under the ROC curve, that
        by the species' frequencies, average precision, and calibration error; and of the cells that other visits have
        seen (`seen_before`) how many it saw again, and was predicted to.
    calibration : DataFrame
        Of all visits together: bins of predicted probabilities, with the share that was seen.
    verdict : Verdict
        Whether left-out visits are predicted better than by the frequencies of the species.
    """

    table: pd.DataFrame
    calibration: pd.DataFrame
    verdict: Verdict

    @property
    def level(self) -> Level:
        """That of the verdict."""
        return self.verdict.level


class _Predicted(NamedTuple):
    """Cells that the other visits saw nothing in: where they are, what was seen, and two predictions."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    visit: NDArray[np.int64]
    seen: NDArray[np.int8]
    said: Floats
    frequency: Floats


def leave_out_visits(model: Any, histories: Any, effort: Any = None, rows: Any = None) -> LeftOutVisits:
    """Leave out one visit in turn, and compare what it saw with what the others predict.

    Parameters
    ----------
    model : RepeatedSurvey
        Not changed; clones of it are fitted.
    histories : Histories or array-like of shape (n_sites, n_visits, n_species)
        With three visits, or two if the model is given what they detect.
    effort : array-like of shape (n_sites, n_visits), optional
        As `fit` takes it.
    rows : data frame or RowFacts, optional
        As `fit` takes it.

    Returns
    -------
    LeftOutVisits
        Table, calibration and verdict; without lines where too few visits were made.
    """
    survey = Histories.of(histories).with_facts(rows)
    known = model.detection is not None or model.rate is not None
    n_visits = survey.shape[1]
    if n_visits < (2 if known else 3):
        undecided = Verdict(None, None, None, {}, 0, n_visits, Basis("visits", reason=Note(Code.TWO_VISITS)))
        return LeftOutVisits(pd.DataFrame(), pd.DataFrame(), undecided)
    amount = None if effort is None else np.asarray(effort, float)
    names = survey.visit_names or [str(v + 1) for v in range(n_visits)]
    told = [_left_out(model, survey, amount, v) for v in range(n_visits)]
    lines = [_line(names[v], cells, again) for v, (cells, again) in enumerate(told)]
    cells = _Predicted(*map(np.concatenate, zip(*(cells for cells, _ in told), strict=True)))
    table = pd.DataFrame(lines)
    calibration = calibration_table(cells.seen, cells.said)
    return LeftOutVisits(table, calibration, _verdict(cells, table, calibration))


def _left_out(
    model: Any, survey: Histories, effort: Floats | None, v: int
) -> tuple[_Predicted, tuple[int, int, float]]:
    """What a visit saw of what the others hadn't seen; and how much of what they had."""
    others = [w for w in range(survey.shape[1]) if w != v]
    part, outcome = survey.visits(others), survey.cells[:, v]
    fitted = clone(model).fit(part, effort=None if effort is None else effort[:, others])
    later = 1.0 if effort is None else _relative_effort(effort, v, others, survey, fitted)
    said = fitted.predict_proba(later_visits=later)
    looked = (part.n_visits > 0) & (outcome >= 0)
    row, column = np.nonzero((part.detections == 0) & looked)
    before = (part.detections > 0) & looked
    again = int(before.sum()), int((outcome[before] == 1).sum()), float(said[before].sum())
    frequency = _first_sightings(part)[column]
    at = row, column
    seen = (outcome[at] == 1).astype(np.int8)
    return _Predicted(row, column, np.full(len(row), v), seen, said[at], frequency), again


def _first_sightings(part: Histories) -> Floats:
    """How often, by species, a visit saw what the others had not."""
    made = part.cells >= 0
    first = (part.cells == 1) & (part.detections == 1)[:, None]
    unseen = made & (part.detections[:, None] - (part.cells == 1) == 0)
    frequencies: Floats = (first.sum(axis=(0, 1)) + 0.5) / (unseen.sum(axis=(0, 1)) + 1)
    return frequencies


def _relative_effort(effort: Floats, v: int, others: list[int], survey: Histories, fitted: Any) -> Floats:
    """How many average visits the visit is worth at each site."""
    made = survey.surveyed[:, others]
    usual = np.exp(np.log(effort[:, others][made]).mean())
    relative = np.where(survey.surveyed[:, v], np.nan_to_num(effort[:, v], nan=usual) / usual, 1.0)
    worth: Floats = relative**fitted.effort_
    return worth


def _line(name: str, cells: _Predicted, again: tuple[int, int, float]) -> dict[str, Any]:
    seen, said = cells.seen, cells.said
    enough = LEAST <= seen.sum() < len(seen)
    return {
        "visit": name,
        "cells": len(seen),
        "seen": int(seen.sum()),
        "predicted": float(said.sum()),
        "auc": float(roc_auc_score(seen, said)) if enough else np.nan,
        "auc_of_frequencies": float(roc_auc_score(seen, cells.frequency)) if enough else np.nan,
        "average_precision": float(average_precision_score(seen, said)) if enough else np.nan,
        "calibration_error": float(expected_calibration_error(seen, said)) if len(seen) else np.nan,
        "seen_before": again[0],
        "seen_again": again[1],
        "predicted_again": again[2],
    }


def _verdict(cells: _Predicted, table: pd.DataFrame, calibration: pd.DataFrame) -> Verdict:
    visits = {
        name: tuple(
            {str(key): None if cell != cell else cell for key, cell in line.items()}
            for line in of_name.to_dict("records")
        )
        for name, of_name in (("table", table), ("calibration", calibration))
    }
    basis = Basis("visits")
    if not LEAST <= cells.seen.sum() < len(cells.seen):
        few = Note(Code.FEW_FIRST_SIGHTINGS, {"seen": int(cells.seen.sum())})
        return Verdict(None, None, None, {}, len(cells.seen), len(table), Basis("visits", reason=few), visits=visits)
    hidden = HiddenCells(cells.row, cells.column, cells.visit, cells.seen)
    gain = gain_over(hidden, cells.said, cells.frequency)
    auc = {
        "model": float(roc_auc_score(cells.seen, cells.said)),
        "columns": float(roc_auc_score(cells.seen, cells.frequency)),
    }
    return Verdict(gain.is_found, gain, None, auc, len(cells.seen), len(table), basis, visits=visits)
