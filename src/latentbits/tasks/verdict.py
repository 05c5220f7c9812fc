"""The verdict on a model: does it predict held-out cells better than frequencies of columns, or rows and columns?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from latentbits import sentences, views
from latentbits.data.binary_data import BinaryData
from latentbits.data.segments import encode_labels, take_out
from latentbits.errors import DataError
from latentbits.fitting.held_out import Folds, Gain, HiddenCells, gain_over, mean_of_odds
from latentbits.fitting.workers import run_all
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.base import check_estimator, degeneracy
from latentbits.models.false_zeros.ensemble import FalseZeros
from latentbits.models.independent import IndependentBernoulli, RowColumnBernoulli
from latentbits.notes import Code, Level, Note
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.tasks import trials
from latentbits.tasks.order import Order, order_of
from latentbits.tasks.pair_gains import pair_gain
from latentbits.tasks.select import OrderSelection, check_criteria, held_out_jobs
from latentbits.tasks.source_selection import SegmentedRows, labelled_rows

N_FOLDS = 5
MOST_STARTS, MOST_STARTS_OF_LARGE = 10, 3
LARGE = 20_000
"""Cells of a table that has enough of them to need few starts, each of which takes long."""

ENOUGH_AUC = 0.01
"""By so much the area under the ROC curve has to exceed the baseline's for a clear verdict."""

_MODEL, _COLUMNS, _ROWS = "model", "columns", "rows and columns"
_BASELINES: dict[str, list[Callable[[], Any]]] = {_COLUMNS: [IndependentBernoulli], _ROWS: [RowColumnBernoulli]}


VISITS = {
    "table": {
        "visit",
        "cells",
        "seen",
        "predicted",
        "auc",
        "auc_of_frequencies",
        "average_precision",
        "calibration_error",
        "seen_before",
        "seen_again",
        "predicted_again",
    },
    "calibration": {"lower", "upper", "predicted", "observed", "count"},
}
"""The tables of a verdict on repeat visits, and their columns."""

About = Literal["suspects", "cells", "components", "totals", "pairs", "visits"]


class Rival(NamedTuple):
    """A number of components that wasn't chosen, but predicts: the chosen one, the other, and its z."""

    chosen: int
    other: int
    z: float


@dataclass(frozen=True)
class Basis:
    """How cells were held out and predicted, and what the verdict is about.

    Attributes
    ----------
    about : "suspects", "cells", "components", "totals", "pairs" or "visits"
        What would be taken as evidence; of models without components "totals", which are none; "pairs" of cells of
        models of segments, left-out "visits" of repeat visits.
    fits : "restarts", "best", "members" or ""
        What predicted together: restarts, the best of them, or members of an ensemble.
    n_fits : int
        How many of them.
    n_observed : int or None
        Observed cells; more than those that were held out, if not all were.
    reason : Note or None
        Why there is no verdict.
    rival : Rival or None
        A number of components that does predict.
    together : "groups", "blocks" or ""
        Which rows' cells of a column were held out together, if not each cell alone.
    """

    about: About = "suspects"
    fits: Literal["restarts", "best", "members", ""] = ""
    n_fits: int = 0
    n_observed: int | None = None
    reason: Note | None = None
    rival: Rival | None = None
    together: Literal["groups", "blocks", ""] = ""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Result of `verdict`.

    Attributes
    ----------
    predicts : bool or None
        Whether held-out cells are predicted better than by both baselines, and not by the neighbouring rows alone; None
        if these data can't show it.
    over_columns : Gain or None
        Against the frequencies of the columns; None without a verdict.
    over_rows_and_columns : Gain or None
        Against the frequencies of rows and columns together; None with segments.
    auc : dict of str to float
        Areas under the ROC curve of the held-out cells, by "model", "columns" and "rows and columns"; with segments,
        of cells that are each predicted from one other cell of their row.
    n_cells : int
        Number of cells that were held out and predicted: all observed ones, each once; with segments, of pairs.
    n_folds : int
        Number of parts that they were held out in.
    basis : Basis
        How they were held out, and what the verdict is about.
    order : Order or None
        Whether the order of the rows is all that predicts; None without a verdict, and where rows were held out by
        groups or blocks.
    told : tuple of str
        The sentences of an earlier version's verdict, which are repeated as they were.
    visits : mapping or None
        Of repeat visits "table", a line for each left-out visit, and "calibration", bins of predicted probabilities.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, simulate, verdict
    >>> X = simulate.aspect_bernoulli(100, 20, 2, sharpness=0.1, random_state=0).X
    >>> found = verdict(AspectBernoulli(2, n_init=1, random_state=0), X, random_state=0)
    >>> found.predicts, found.z > 2, str(found.level)
    (True, True, 'weak')
    >>> print(str(found).partition(" (")[0])
    Held-out cells are predicted better than by row and column totals, but only after shrinkage
    """

    predicts: bool | None
    over_columns: Gain | None
    over_rows_and_columns: Gain | None
    auc: Mapping[str, float]
    n_cells: int
    n_folds: int
    basis: Basis = Basis()
    order: Order | None = None
    told: tuple[str, ...] = ()
    visits: Mapping[str, Sequence[Mapping[str, Any]]] | None = None

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Verdict:
        """The verdict of a summary.json, which anybody may have written: what makes no sense is as good as absent.

        Parameters
        ----------
        stored : mapping
            With "predicts" and "sentences", and perhaps the other keys of `to_dict`.

        Returns
        -------
        Verdict
            It says what it said then.
        """
        auc = stored.get("auc")
        n_cells, n_folds = (stored.get(name) for name in ("n_cells", "n_folds"))
        return cls(
            stored["predicts"],
            _stored_gain(stored.get("over_columns")),
            _stored_gain(stored.get("over_rows_and_columns")),
            dict(auc) if isinstance(auc, Mapping) else {},
            n_cells if isinstance(n_cells, int) else 0,
            n_folds if isinstance(n_folds, int) else 0,
            order=_stored_order(stored.get("order")),
            told=tuple(stored["sentences"]),
            visits=_stored_visits(stored.get("visits")),
        )

    @property
    def z(self) -> float:
        """By how many standard errors held-out cells are predicted better, over the harder baseline; 0 if unknown."""
        return min((gain.z for gain in (self.over_columns, self.over_rows_and_columns) if gain), default=0.0)

    @property
    def level(self) -> Level:
        """CLEAR, WEAK (only after shrinkage, or by less than 0.01 in AUC), NEIGHBOURS, NONE, or UNKNOWN."""
        if self.predicts is None:
            return Level.UNKNOWN
        if self.order is not None and self.order.is_all:
            return Level.NEIGHBOURS
        if not self.predicts:
            return Level.NONE
        over = self.over_rows_and_columns or self.over_columns
        is_clear = over is not None and over.own_gain > 2 * over.own_gain_se and not self.is_slight
        return Level.CLEAR if is_clear else Level.WEAK

    @property
    def is_slight(self) -> bool:
        """Whether the area under the ROC curve is less than 0.01 above the better baseline's."""
        own = self.auc.get(_MODEL, 0.0)
        return own - max((area for name, area in self.auc.items() if name != _MODEL), default=1.0) < ENOUGH_AUC

    @property
    def sentences(self) -> list[str]:
        """The verdict in plain words, its numbers, and what follows."""
        return sentences.verdict(self)

    def beside(self, others: Mapping[int, Verdict], chosen: int) -> Verdict:
        """The same, with a number of components that predicts although the chosen one doesn't, if there is one.

        Parameters
        ----------
        others : mapping of int to Verdict
            By the number of components.
        chosen : int
            Whose verdict this is.

        Returns
        -------
        Verdict
            Another one.
        """
        best = max(others, key=lambda number: others[number].z)
        if self.predicts or not others[best].predicts:
            return self
        return replace(self, basis=replace(self.basis, rival=Rival(chosen, best, others[best].z)))

    def to_dict(self) -> dict[str, Any]:
        """All that is known, for JSON.

        Returns
        -------
        dict
            Of numbers, texts and None.
        """
        gains = (self.over_columns, self.over_rows_and_columns)
        over_columns, over_rows = (None if gain is None else asdict(gain) for gain in gains)
        visits = None if self.visits is None else {name: list(map(dict, table)) for name, table in self.visits.items()}
        return {
            "level": str(self.level),
            "predicts": self.predicts,
            "over_columns": over_columns,
            "over_rows_and_columns": over_rows,
            "auc": dict(self.auc),
            "order": None if self.order is None else asdict(self.order),
            "n_cells": self.n_cells,
            "n_folds": self.n_folds,
            "sentences": self.sentences,
            **({} if visits is None else {"visits": visits}),
        }

    def __repr__(self) -> str:
        return f"Verdict(predicts={self.predicts})"

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def _repr_html_(self) -> str:
        first, *others = self.sentences
        return views.block(first, others)


def _stored_gain(stored: Any) -> Gain | None:
    names = Gain.__dataclass_fields__
    if not isinstance(stored, Mapping) or stored.keys() != names.keys():
        return None
    return Gain(**stored) if all(isinstance(value, int | float) for value in stored.values()) else None


def _stored_order(stored: Any) -> Order | None:
    match stored:
        case {"z": int() | float() as z, "p": (int() | float() | None) as p}:
            return Order(z, p)
    return None


def _stored_visits(stored: Any) -> Mapping[str, Sequence[Mapping[str, Any]]] | None:
    """Tables of numbers and texts with the columns that they have."""
    if not isinstance(stored, Mapping) or stored.keys() != VISITS.keys():
        return None
    for name, columns in VISITS.items():
        lines = stored[name]
        if not isinstance(lines, list) or not all(isinstance(line, dict) and line.keys() == columns for line in lines):
            return None
        cells = [cell for line in lines for column, cell in line.items() if column != "visit"]
        if not lines or not all(cell is None or isinstance(cell, int | float) for cell in cells):
            return None
        if not all(isinstance(line.get("visit", ""), str) for line in lines):
            return None
    return dict(stored)


def verdict(
    model: Any,
    X: Any,
    *,
    segments: Any = None,
    groups: Any = None,
    blocks: int | None = None,
    effort: Any = None,
    visit_facts: Mapping[str, Any] | None = None,
    n_folds: int = N_FOLDS,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Verdict:
    """Answer whether a model predicts held-out cells better than frequencies do, and by how much.

    Each of `n_folds` parts of the observed cells is hidden in turn, the model is fitted to the rest (with its own
    parameters) and predicts the held-out cells; so do `IndependentBernoulli`, the frequencies of the columns, and
    `RowColumnBernoulli`, those of rows and columns. A model with random starts predicts by the mean of the log odds of
    all its starts, as `suspects` is a mean of starts: up to 10 of them, of large tables (above 20,000 cells) up to 3.
    `FalseZeros` has hidden the cells already, to weight its members: the verdict is made of what it keeps about them.

    **The rule.** What a model adds to a baseline in a cell is the difference of their log odds of a 1, less the mean
    difference in that column (a better estimate of the column's frequency alone is no finding). The model predicts if
    what it adds goes along with what is found: the sum of (added log odds) x (cell - the baseline's probability) over
    all cells is more than 2 standard errors above 0, against *both* baselines. Were the baseline true, the cells of a
    fold would be independent of what the model adds to them, and the variance of the sum that of independent cells.
    But each pair of cells in different folds counts twice, as either of them helps to predict the other; that can
    double the variance, so the standard error is made from the doubled one.

    The rule asks for direction, not for size: point estimates of a row's weights (`AspectBernoulli`, `LogisticPCA`) are
    overconfident where rows are short, and the log likelihood of their probabilities can be below that of frequencies
    while their order is far better. The gain in log likelihood is therefore given twice: of the model's own
    probabilities, and with their difference from the baseline multiplied by the best factor from 0 to 1 (`Gain.trust`).

    **Models of segments** (`BinaryICA`) predict pairs of cells: parts of each segment's rows are held out, and the
    probabilities of the two cells of all their pairs of columns are compared with those of independent columns, whose
    shares of ones are the segment's. What goes along is then (correlation of the model) x (product of the two cells'
    deviations), row by row, and shrinkage multiplies the model's correlations.
    **Rows that depend on each other**, as in a time series, along a transect or on a map, give away a held-out cell
    though columns share nothing. So the order of the rows is tested. Where successive rows resemble each other by more
    than 3 standard errors, windows of the columns are shifted, each by a random number of rows. That keeps the
    columns' autocorrelation, and breaks what they share. If they go together as much in more than 15 % of 199 trials,
    cells are predictable from neighbouring rows, not from other columns: the level is "neighbours", and `predicts` is
    False. With `groups` or `blocks` whole neighbourhoods are held out instead, and no order is tested. The test
    sees only neighbours: rows that repeat anywhere, as copies or visits of one site do, must be told by `groups`.

    Parameters
    ----------
    model : estimator
        A model of 0-1 tables, fitted or not; it isn't changed. A `FalseZeros` that isn't fitted to X is fitted. Of
        `RepeatedSurvey` (X are histories) each visit is left out in turn and predicted from the others; the baseline
        has `IndependentBernoulli()` as its estimator.
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
        The data that it is, or would be, fitted to.
    segments : array-like of shape (n_rows,), str, int or None, default=None
        Of models of segments, as in their `fit`: a label for each row, the name of a column of the frame X, or a number
        of windows; None cuts the rows into the model's `n_segments` windows.
    groups : array-like of shape (n_rows,), str or None, default=None
        Labels of rows that depend on each other, such as the plots of a site: the cells of a column are held out in all
        rows of a group together. A string names a column of the frame X, which is taken out of it.
    blocks : int or None, default=None
        The same for rows in an order: runs of so many successive rows are held out together. Take several times as many
        as rows resemble each other.
    effort : array-like of shape (n_sites, n_visits) or None, default=None
        Of repeat visits, as in the `fit` of `RepeatedSurvey`; by default what a model fitted to X was fitted with.
    visit_facts : mapping of str to array-like of shape (n_sites, n_visits) or None, default=None
        The same, of other facts of the visits.
    n_folds : int, default=5
        Number of parts of the cells; `FalseZeros` has its own.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds, and of the fits if the model has no `random_state` of its own.
    n_jobs : int or None, default=None
        Number of fits at the same time (threads): None means 1 unless a joblib context says otherwise, -1 means all
        cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Returns
    -------
    Verdict
        The verdict with its numbers and sentences. `predicts` is None, and a sentence says why, for data that can't
        show it: a single row or column, cells that are all the same, fewer cells than parts.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, simulate, verdict
    >>> model = AspectBernoulli(3, n_init=3, random_state=0)
    >>> structured = simulate.aspect_bernoulli(100, 30, 3, sharpness=0.1, random_state=0).X
    >>> verdict(model, structured, random_state=0).predicts
    True
    >>> noise = simulate.aspect_bernoulli(100, 30, 1, random_state=0).X
    >>> print(verdict(model, noise, random_state=0).sentences[0])
    Only column totals are predictable; the model's ranking of zeros is no evidence of false zeros.

    With segments:

    >>> from latentbits import BinaryICA
    >>> truth = simulate.binary_ica(60, 6, 2, 6, random_state=0)
    >>> found = verdict(BinaryICA(2, n_init=1), truth.X, segments=truth.segments, random_state=0)
    >>> print(found.sentences[0].partition(" (")[0])
    Held-out pairs of cells are predicted better than by independent columns
    """
    about_visits = {"effort": effort, "visit_facts": visit_facts}
    check_applies(model, {"segments": segments, "groups": groups, "blocks": blocks, **about_visits}, n_folds)
    if Ability.VISITS in abilities_of(model):
        from latentbits.tasks.left_out_visits import leave_out_visits  # late: it makes a verdict

        return leave_out_visits(model, X, **about_visits, random_state=random_state, n_jobs=n_jobs).verdict
    X, groups = take_out(X, groups)
    check_estimator(model)
    in_segments = segments is not None or Ability.PAIR_SCORES in abilities_of(model)
    check_criteria("pairs" if in_segments else "cells", model)
    check_number("n_folds", n_folds, least=2, integer=True)
    fold_seed, seed = as_generator(random_state).integers(2**31, size=2).tolist()
    if in_segments:
        if groups is not None or blocks is not None:
            raise DataError("groups and blocks are about held-out cells, and segments hold out rows; leave them out")
        return _of_pairs(model, X, segments, n_folds, fold_seed, seed, n_jobs=n_jobs, verbose=verbose)
    data = trials.data_for(model, X)
    assert isinstance(data, BinaryData)  # models without `reconstruct` have been refused
    together = _rows_together(groups, blocks, data.shape[0])
    if together is None and Ability.MEMBERS in abilities_of(model):
        return _of_ensemble(_fitted_to(data, model, seed, n_jobs=n_jobs, verbose=verbose), data)
    folds = Folds(data, n_folds, fold_seed, together)
    reason = _why_not(folds)
    if reason is not None:
        return _undecided(reason, folds.n, model)
    starts = _starts(model, data, seed)
    predicted = _predict({_MODEL: starts, **_BASELINES}, folds, n_jobs=n_jobs, verbose=verbose)
    basis = _basis(model, "restarts", len(starts))
    if together is not None:
        basis = replace(basis, together="blocks" if groups is None else "groups")
    return _judge(predicted, folds, basis)


def check_applies(model: Any, given: Mapping[str, Any], n_folds: int = N_FOLDS) -> None:
    """Refuse arguments of `verdict` that say nothing about such a model, rather than pass over them.

    Parameters
    ----------
    model : estimator
        Of repeat visits or not.
    given : mapping of str to object
        Arguments by name; those that are None weren't given.
    n_folds : int
        Which repeat visits can't choose.
    """
    names = [name for name, value in given.items() if value is not None]
    if Ability.VISITS not in abilities_of(model):
        for name in names:
            if name in ("effort", "visit_facts"):
                raise DataError(
                    f"{name} is about repeat visits, of which {type(model).__name__} is no model; leave it out"
                )
        return
    for name in [*names, *([] if n_folds == N_FOLDS else ["n_folds"])]:
        if name not in ("effort", "visit_facts"):
            raise DataError(f"{name} is about cells or rows that are held out; here whole visits are, so leave it out")


def _rows_together(groups: Any, blocks: int | None, n_rows: int) -> np.ndarray | None:
    """For each row the number of the group that is held out together; None if each is on its own."""
    if groups is not None and blocks is not None:
        raise DataError("give groups or blocks (--groups or --blocks), not both")
    if groups is None and blocks is None:
        return None
    if blocks is not None:
        check_number("blocks", blocks, least=2, integer=True)
        found = np.arange(n_rows) // blocks
    else:
        found = encode_labels(groups, n_rows)[1]
    if found.max() == 0:
        raise DataError("all rows are in one group, so no other is left to predict it from; use smaller groups")
    return found


def verdicts_of_selection(found: OrderSelection, *, n_jobs: int | None = None, verbose: int = 0) -> dict[int, Verdict]:
    """The verdicts on all models of a selection, from the cells that were held out there; empty if none were.

    Only the baselines are fitted, on the same folds.
    """
    if found.held_out is None:
        return {}
    folds = found.held_out.folds
    reason = _why_not(folds)
    if reason is not None:
        return {order: _undecided(reason, folds.n, model) for order, model in found.models.items()}
    baselines = _predict(_BASELINES, folds, n_jobs=n_jobs, verbose=verbose)
    assert isinstance(folds.data, BinaryData)
    order_of_rows = order_of(folds.data)
    return {
        order: _judge(
            {_MODEL: predicted, **baselines}, folds, _basis(model, "best", getattr(model, "n_init", 1)), order_of_rows
        )
        for (order, model), predicted in zip(found.models.items(), found.held_out.predicted.values(), strict=True)
    }


def _starts(model: Any, data: BinaryData, seed: int) -> list[Callable[[], Any]]:
    """What makes the fits of single random starts; of a model without any, the model."""
    if Ability.RESTARTS not in abilities_of(model):
        return [partial(trials.prepared, model, seed)]
    most = MOST_STARTS if data.n_observed <= LARGE else MOST_STARTS_OF_LARGE
    own = int(model.random_state) if isinstance(model.random_state, Integral) else seed
    seeds = np.random.default_rng(own).integers(2**31, size=min(most, model.n_init)).tolist()
    return [partial(trials.prepared, model, seed, n_init=1, random_state=start) for start in seeds]


def _predict(
    makers: Mapping[str, Sequence[Callable[[], Any]]], folds: Folds, *, n_jobs: int | None, verbose: int
) -> dict[str, np.ndarray]:
    """The probabilities of all observed cells by the fits of each list of makers, none of which saw the cell."""
    jobs = {
        (name, start, number): job
        for name, starts in makers.items()
        for start, make in enumerate(starts)
        for _, number, job in held_out_jobs(make, name, folds.data, folds, ["cells"], keep=True)
    }
    outcomes = run_all(list(jobs.values()), title="Verdict", n_jobs=n_jobs, verbose=bool(verbose))
    done = dict(zip(jobs, outcomes, strict=True))
    trials.sum_up_convergence([outcome.model for outcome in outcomes])
    return {
        name: mean_of_odds(
            folds.together([done[name, start, number].predicted for number in range(folds.n)])
            for start in range(len(starts))
        )
        for name, starts in makers.items()
    }


def _basis(model: Any, fits: Literal["restarts", "best"], n_fits: int) -> Basis:
    return Basis(_about(model), fits if Ability.RESTARTS in abilities_of(model) else "", n_fits)


def _judge(predicted: dict[str, np.ndarray], folds: Folds, basis: Basis, order: Order | None = None) -> Verdict:
    data = folds.data
    assert isinstance(data, BinaryData)
    cells = HiddenCells.of(data, folds.of_observed(), folds.groups)
    gains = {name: gain_over(cells, predicted[_MODEL], predicted[name]) for name in _BASELINES}
    auc = {name: float(roc_auc_score(cells.x, p)) for name, p in predicted.items()}
    if order is None and folds.groups is None:
        order = order_of(data)
    return _decided(gains, auc, order, n_cells=len(cells.x), n_folds=folds.n, basis=basis)


def _decided(
    gains: Mapping[str, Gain],
    auc: Mapping[str, float],
    order: Order | None,
    *,
    n_cells: int,
    n_folds: int,
    basis: Basis,
) -> Verdict:
    """The verdict that follows from what was gained."""
    predicts = all(gain.is_found for gain in gains.values()) and not (order is not None and order.is_all)
    return Verdict(predicts, gains[_COLUMNS], gains[_ROWS], dict(auc), n_cells, n_folds, basis, order)


def _about(model: Any) -> About:
    """What of the model would be taken as evidence."""
    abilities = abilities_of(model)
    if Ability.PAIR_SCORES in abilities:
        return "pairs"
    if Ability.EXPLAIN_CELLS in abilities:
        return "suspects"
    if Ability.PREDICT_HELD_OUT in abilities:
        return "cells"
    return "components" if "n_components" in model.get_params(deep=False) else "totals"


# ---- models of segments ----------------------------------------------------------------------------------------------


def _of_pairs(
    model: Any, X: Any, segments: Any, n_folds: int, fold_seed: int, seed: int, *, n_jobs: int | None, verbose: int
) -> Verdict:
    """By pairs of cells of rows that were held out within their segments."""
    data, names, codes = labelled_rows(X, segments, model)
    n_folds = min(n_folds, int(np.bincount(codes).min()))
    reason = Note(Code.SHORT_SEGMENT) if n_folds < 2 else _why_never(data)
    if reason is not None:
        return _undecided(reason, n_folds, model)
    rows = SegmentedRows.of(data, names[codes], model, n_folds, fold_seed)
    make = partial(trials.prepared, model, seed)
    jobs = [partial(rows.predicted, make, fold) for fold in range(n_folds)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is to be said of too few rows, the fit to all rows says
        parts = run_all(jobs, title="Verdict", n_jobs=n_jobs, verbose=bool(verbose))
    gain, auc, n_pairs = pair_gain(parts)
    return Verdict(gain.is_found, gain, None, auc, n_pairs, n_folds, Basis(_about(model)))


# ---- an ensemble, which has held out cells itself ------------------------------------------------------------------


def _fitted_to(data: BinaryData, model: FalseZeros, seed: int, *, n_jobs: int | None, verbose: int) -> FalseZeros:
    """The ensemble itself if these are the data of its fit; else another with its parameters, fitted to them."""
    if getattr(model, "data_checksum_", None) == model._as_fitted(data).fingerprint():
        return model
    fitted: FalseZeros = trials.prepared(model, seed)
    return fitted.set_params(n_jobs=model.n_jobs if n_jobs is None else n_jobs, verbose=verbose).fit(data)


def _of_ensemble(model: FalseZeros, data: BinaryData) -> Verdict:
    if model.n_folds is None:
        return _undecided(Note(Code.NOTHING_HELD_OUT), 0, model)
    if model.gains_ is None:
        text = degeneracy(data, None)
        degenerate = Note(Code.DEGENERATE, {"text": text}) if text else None
        return _undecided(_why_never(data) or degenerate or _too_few(data, model.n_folds), model.n_folds, model)
    assert model.auc_ is not None
    gains = {name: Gain(**gain) for name, gain in model.gains_.items()}
    basis = Basis(_about(model), "members", len(model.members_), data.n_observed)
    return _decided(gains, model.auc_, order_of(data), n_cells=model.n_hidden_, n_folds=model.n_folds, basis=basis)


# ---- data that can't show it ---------------------------------------------------------------------------------------


def _why_not(folds: Folds) -> Note | None:
    """Why nothing can be said about these data; None if something can."""
    data = folds.data
    assert isinstance(data, BinaryData)
    if reason := _why_never(data):
        return reason
    if min(np.bincount(folds.of_observed(), minlength=folds.n)) == 0:
        return _too_few(data, folds.n)
    return None


def _why_never(data: BinaryData) -> Note | None:
    """The same, whatever the folds."""
    for count, what in zip(data.shape, ("row", "column"), strict=True):
        if count < 2:
            return Note(Code.ONE_LINE, {"what": what})
    if data.n_ones in (0, data.n_observed):
        return Note(Code.SAME_CELLS, {"value": int(data.n_ones > 0)})
    return None


def _too_few(data: BinaryData, n_folds: int) -> Note:
    return Note(Code.TOO_FEW_CELLS, {"n_observed": data.n_observed, "n_folds": n_folds})


def _undecided(reason: Note, n_folds: int, model: Any) -> Verdict:
    return Verdict(None, None, None, {}, 0, n_folds, Basis(_about(model), reason=reason))
