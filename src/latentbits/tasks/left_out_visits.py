"""Is the next visit predicted? Each visit is left out in turn, and predicted from the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import average_precision_score, roc_auc_score

from latentbits.data.histories import Histories
from latentbits.errors import DataError
from latentbits.fitting.held_out import HiddenCells, gain_over
from latentbits.metrics import calibration_table, expected_calibration_error
from latentbits.models.independent import IndependentBernoulli
from latentbits.notes import Code, Level, Note
from latentbits.numerics import RandomSource, as_generator
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
        by the species' frequencies (and what visits detect), average precision, and calibration error; and of the cells
        that other visits have seen (`seen_before`) how many it saw again, and was predicted to.
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


class _Survey(NamedTuple):
    """Histories, and what `fit` takes beside them."""

    histories: Histories
    effort: Floats | None
    visit_facts: Mapping[str, Floats]
    weight: Floats | None

    def fitted(self, model: Any, visits: list[int]) -> Any:
        """A clone of a model, fitted to some of the visits."""
        return clone(model).fit(
            self.histories.visits(visits),
            sample_weight=self.weight,
            effort=None if self.effort is None else self.effort[:, visits],
            visit_facts={name: table[:, visits] for name, table in self.visit_facts.items()},
        )


class _Predicted(NamedTuple):
    """Cells that the other visits saw nothing in: where they are, what was seen, and two predictions."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    visit: NDArray[np.int64]
    seen: NDArray[np.int8]
    said: Floats
    frequency: Floats


def leave_out_visits(
    model: Any,
    histories: Any,
    effort: Any = None,
    rows: Any = None,
    visit_facts: Mapping[str, Any] | None = None,
    *,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
) -> LeftOutVisits:
    """Leave out one visit in turn, and compare what it saw with what the others predict.

    The baseline is the same model of visits with `IndependentBernoulli` as its estimator: each species by its frequency
    alone, fitted to the same visits. Frequencies of first sightings among the other visits would be too high, as one
    visit more than these has missed the cells that are judged.

    Parameters
    ----------
    model : RepeatedSurvey
        Not changed; clones of it are fitted. What it was fitted with to these histories (effort, facts of visits and
        sites, weights) they get as well, where nothing else is given.
    histories : Histories or array-like of shape (n_sites, n_visits, n_species)
        With three visits, or two if the model is given what they detect.
    effort : array-like of shape (n_sites, n_visits), optional
        As `fit` takes it.
    rows : data frame or RowFacts, optional
        As `fit` takes it.
    visit_facts : mapping of str to array-like of shape (n_sites, n_visits), optional
        As `fit` takes it. The left-out visit is predicted as one whose facts, other than effort, are average.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the fits, as far as model and estimator have none of their own.
    n_jobs : int or None, default=None
        Threads of the estimator; None for the model's own.

    Returns
    -------
    LeftOutVisits
        Table, calibration and verdict; without lines where too few visits were made.
    """
    told = _told(model, Histories.of(histories).with_facts(rows), effort, visit_facts)
    survey = told.histories
    known = model.detection is not None or model.rate is not None
    n_visits = survey.shape[1]
    if n_visits < (2 if known else 3):
        undecided = Verdict(None, None, None, {}, 0, n_visits, Basis("visits", reason=Note(Code.TWO_VISITS)))
        return LeftOutVisits(pd.DataFrame(), pd.DataFrame(), undecided)
    names = survey.visit_names or [str(v + 1) for v in range(n_visits)]
    model = _seeded(model, random_state, n_jobs)
    found = [_left_out(model, told, v) for v in range(n_visits)]
    lines = [_line(names[v], cells, again) for v, (cells, again) in enumerate(found)]
    cells = _Predicted(*map(np.concatenate, zip(*(cells for cells, _ in found), strict=True)))
    table = pd.DataFrame(lines)
    calibration = calibration_table(cells.seen, cells.said)
    return LeftOutVisits(table, calibration, _verdict(cells, table, calibration))


def _told(model: Any, survey: Histories, effort: Any, visit_facts: Mapping[str, Any] | None) -> _Survey:
    """All that the refits get; what isn't given is what the model was fitted with, if that was to these histories."""
    own: Mapping[str, Any] = {}
    if hasattr(model, "draws_"):
        own, fitted_to = model._told_at_fit(), model.survey_
        if not np.array_equal(survey.cells, fitted_to.cells):
            if effort is None and visit_facts is None and (own["effort"] is not None or own["visit_facts"]):
                raise DataError("the model was fitted with effort or facts of other visits; give those of these visits")
            own = {}
        elif survey.facts is None:
            survey = fitted_to
    amount = own.get("effort") if effort is None else np.asarray(effort, float)
    facts = own.get("visit_facts", {}) if visit_facts is None else visit_facts
    tables = {name: np.asarray(values, float) for name, values in facts.items()}
    for name, table in {**({} if amount is None else {"effort": amount}), **tables}.items():
        if table.shape != survey.surveyed.shape:
            raise DataError(f"{name} has the shape {table.shape}; give a number for each site and visit")
    return _Survey(survey, amount, tables, own.get("sample_weight"))


def _seeded(model: Any, random_state: RandomSource, n_jobs: int | None) -> Any:
    """An unfitted copy; a seed takes the place of those that it and its estimator lack."""
    copy, seed = clone(model), int(as_generator(random_state).integers(2**31))
    lacking = [name for name, value in copy.get_params().items() if value is None]
    given = {name: seed for name in lacking if name.rpartition("__")[2] == "random_state"}
    return copy.set_params(**given, **({} if n_jobs is None else {"n_jobs": n_jobs}))


def _left_out(model: Any, told: _Survey, v: int) -> tuple[_Predicted, tuple[int, int, float]]:
    """What a visit saw of what the others hadn't seen; and how much of what they had."""
    survey = told.histories
    others = [w for w in range(survey.shape[1]) if w != v]
    part, outcome = survey.visits(others), survey.cells[:, v]
    by_frequency = clone(model).set_params(estimator=IndependentBernoulli())
    said, frequency = (_predicted(told.fitted(asked, others), told, v, others) for asked in (model, by_frequency))
    looked = (part.n_visits > 0) & (outcome >= 0)
    at = row, column = np.nonzero((part.detections == 0) & looked)
    before = (part.detections > 0) & looked
    again = int(before.sum()), int((outcome[before] == 1).sum()), float(said[before].sum())
    seen = (outcome[at] == 1).astype(np.int8)
    return _Predicted(row, column, np.full(len(row), v), seen, said[at], frequency[at]), again


def _predicted(fitted: Any, told: _Survey, v: int, others: list[int]) -> Floats:
    """The probability that the left-out visit sees each species."""
    later = 1.0 if told.effort is None else _relative_effort(told.effort, v, others, told.histories, fitted)
    probabilities: Floats = fitted.predict_proba(later_visits=later)
    return probabilities


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
