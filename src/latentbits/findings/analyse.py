"""`analyse`: everything that a model has to say about data, asked once and kept as `Findings`."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from latentbits import sentences
from latentbits.data.binary_data import BinaryData
from latentbits.data.histories import Histories
from latentbits.data.numbers import NumberTable
from latentbits.errors import DataError, InterruptedWarning, kept_warnings, warn_user
from latentbits.findings.account import (
    Data,
    DataSummary,
    Fact,
    Figure,
    Findings,
    ModelSummary,
    Parts,
    Provenance,
    Selection,
    Subject,
    Unit,
    from_one,
)
from latentbits.findings.repeated_survey import left_out_tables
from latentbits.findings.rows import with_rows
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.registry import model_name
from latentbits.models.spec import spec_of
from latentbits.models.view import n_agreeing
from latentbits.notes import Code, Level, Note, Role, frozen
from latentbits.numerics import RandomSource
from latentbits.tasks.choose import ModelChoice
from latentbits.tasks.select import OrderSelection
from latentbits.tasks.verdict import Verdict, check_applies, verdicts_of_selection
from latentbits.tasks.verdict import verdict as verdict_on
from latentbits.version import __version__
from latentbits.wording import place

MOST_CELLS, PART_CELLS = 20_000_000, 2_000_000
"""Tables with more cells are asked about a part of their rows, of so many cells."""

PATIENCE = 20
"""Seconds to wait for the scheduler of a cluster."""

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas")


class _Stopwatch:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[what] = round(time.perf_counter() - start, 3)


def analyse(
    model: Any,
    X: Any,
    *,
    verdict: bool | Verdict = True,
    groups: Any = None,
    blocks: int | None = None,
    question: Mapping[str, Any] | None = None,
    shape: tuple[int, int] | None = None,
    selection: Selection | None = None,
    cluster: str | None = None,
    provenance: Provenance | None = None,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **fit_params: Any,
) -> Findings:
    """Ask a model everything about data: what it has found, whether it predicts anything, and how sure that is.

    Of tables with more than 20 million cells the aspect models' weights and suspects are of all rows, and other answers
    of a random part of the rows.

    Parameters
    ----------
    model : estimator, OrderSelection or ModelChoice
        Any of the library's, fitted (also to other rows) or not: then it is fitted. What `select_order` or `choose`
        returns stands for its best model; held-out cells of `select_order` are not predicted again for the verdict.
    X : array-like, sparse matrix, data frame, BinaryData or NumberTable
        Rows with the model's columns.
    verdict : bool or Verdict, default=True
        Whether to ask first if the model predicts held-out cells (of segments: pairs) better than totals (models of 0-1
        tables only), or the verdict, if it is known.
    groups : array-like of shape (n_rows,) or None, default=None
        For the verdict: labels of rows that depend on each other, whose cells of a column are held out together.
    blocks : int or None, default=None
        For the verdict: how many successive rows are held out together.
    question : mapping or None, default=None
        For `FalseZeros`, arguments of its `suspects`, such as `kind` or `rate`.
    shape : tuple of int or None, default=None
        Rows and columns of the images that the columns are pixels of.
    selection : Selection or None, default=None
        How the number of components was chosen, if that is known from before.
    cluster : str or None, default=None
        The address of a Dask scheduler, on whose workers a model that isn't fitted yet is fitted.
    provenance : Provenance or None, default=None
        What is known of data and fit from before, such as the file.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the verdict's folds; None for the model's own.
    n_jobs : int or None, default=None
        Number of the verdict's fits at the same time (threads).
    verbose : int, default=0
        1 shows progress bars on the terminal.
    **fit_params
        What `fit` takes beside the data, such as `segments`.

    Returns
    -------
    Findings
        Verdict, facts, suspects, tables, figures and notes; printed it is what the command line shows, in a notebook
        a view, and `to_dict` is what summary.json holds.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, analyse, simulate
    >>> X = simulate.aspect_bernoulli(100, 20, 2, sharpness=0.1, random_state=0).X
    >>> found = analyse(AspectBernoulli(2, n_init=2, random_state=0), X)
    >>> found
    Findings(AspectBernoulli, 100 x 20 cells, weak)
    >>> found.tables["suspects"].columns.tolist()
    ['row', 'column', 'kind', 'score', 'phantom']
    """
    found = model if isinstance(model, OrderSelection) else None
    choice = model if isinstance(model, ModelChoice) else None
    estimator = model.best_model if isinstance(model, OrderSelection | ModelChoice) else model
    known = provenance or Provenance()
    watch = _Stopwatch()
    rows_are = {name: fit_params.get(name) for name in ("segments", "effort", "visit_facts")}
    rows_are |= {"groups": groups, "blocks": blocks}
    if verdict is True and _can_be_judged(estimator):
        check_applies(estimator, rows_are)
    with kept_warnings() as warned:
        data = _data_for(estimator, X)
        if not _is_fitted(estimator):
            with watch.timed("fit"):
                _fit(estimator, data, cluster, verbose, fit_params)
        with watch.timed("answers"):
            subject, about, parts, part = _ask(estimator, data, fit_params, question or {}, known)
            figures = tuple(_shaped(figure, shape) for figure in parts.figures)
            _check_shape(shape, data.shape[1])
        judged = verdict if isinstance(verdict, Verdict) else None
        stopped = any(isinstance(warning, InterruptedWarning) for warning in (*known.warnings, *warned))
        if verdict is True and _can_be_judged(estimator) and not stopped:
            with watch.timed("verdict"):
                judged = _verdict(estimator, found, subject.data, rows_are, random_state, n_jobs, verbose)
    left_out, of_visits = left_out_tables(judged) if judged is not None else ({}, ())
    figures = (*figures, *of_visits)
    if found is not None:
        selection = _selection_of(found)
        figures = (*figures, Figure("selection", found.plot, Code.CHOSEN))
    chosen_tables = {} if found is None else selection_tables(found)
    if choice is not None:
        figures = (*figures, Figure("comparison", choice.plot, Code.MODEL_CHOSEN))
        chosen_tables = {"comparison": choice.comparison.table, "folds": choice.comparison.folds}
    facts = {**_common_facts(subject, about), **parts.facts}
    if choice is not None and judged is None and not hasattr(estimator, "n_components"):  # only totals predict
        facts["level"] = Fact(str(Level.NONE))
    return Findings(
        model=_about_model(estimator),
        data=about,
        verdict=judged,
        facts=facts,
        suspects=parts.suspects,
        tables={**parts.tables, **left_out, **chosen_tables},
        figures=figures,
        notes=(
            *(() if choice is None else (choice.note,)),
            *_notes(estimator, subject, about, parts, facts, selection, found, judged, known, warned),
        ),
        subject=subject,
        selection=selection,
        part=part,
        shape=shape,
        seconds={**known.seconds, **watch.seconds, **known.seconds},  # in their order; those of before count
    )


def rows_table(model: Any, data: NumberTable) -> Any:
    """What a fitted model of numbers says about each row, which it need not have seen: a line for each row."""
    return _family(model).rows_table(model, data)


# ---- the model and its rows ------------------------------------------------------------------------------------------


def _data_for(model: Any, X: Any) -> Any:
    abilities = abilities_of(model)
    if Ability.VISITS in abilities:
        return X if isinstance(X, BinaryData) else Histories.of(X)  # of a run folder what was ever seen is left
    if Ability.READ_ZERO_ONE in abilities:
        return BinaryData.of(X, binarize=model.binarize)
    return X if isinstance(X, NumberTable) else NumberTable.of(X)


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _fit(model: Any, data: Data, cluster: str | None, verbose: int, fit_params: Mapping[str, Any]) -> None:
    """Fit with a progress bar, if one is asked for: whoever opens the model's file later didn't ask for it."""
    parameters = model.get_params(deep=False)
    shows = "verbose" in parameters and Ability.SEGMENTS not in abilities_of(model)
    if shows:
        model.set_params(verbose=int(verbose))
    with _placed(data, cluster) as where:
        model.fit(where, **fit_params)
    if shows:
        model.set_params(verbose=parameters["verbose"])


@contextmanager
def _placed(data: Any, cluster: str | None) -> Iterator[Any]:
    """The data as `fit` takes them, on a cluster if there is an address."""
    if cluster is None:
        yield data.to_frame() if isinstance(data, NumberTable) else data
        return
    try:
        from distributed import Client
    except ImportError:
        raise DataError('--cluster needs Dask; pip install "latentbits[cluster]"') from None
    from latentbits.fitting.cluster import ClusterData

    try:
        client = Client(cluster, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"--cluster {cluster}: no scheduler answers there ({reason}); check the address") from None
    with client:
        yield ClusterData.of_data(data, client)


def _family(model: Any) -> Any:
    return import_module(f"latentbits.findings.{_family_name(model)}")


def _family_name(model: Any) -> str:
    spec = spec_of(type(model))
    if spec is not None:
        return spec.findings
    return "cells" if Ability.PREDICT_HELD_OUT in abilities_of(model) else "factors"  # a class of the user's own


def _ask(
    model: Any, data: Any, fit_params: Mapping[str, Any], question: Mapping[str, Any], known: Provenance
) -> tuple[Subject, DataSummary, Parts, Mapping[str, int] | None]:
    """All that the model's family has to say about the rows; of a large table about a part of them."""
    family, spec = _family(model), spec_of(type(model))
    if Ability.VISITS in abilities_of(model):
        data, fit_params = family.ever_seen(model, data), {}  # what `fit` got beside the visits, the model has
    is_large = data.shape[0] * data.shape[1] > MOST_CELLS and spec is not None and spec.on_cluster
    chosen = _part(data) if is_large else None
    asked = data if chosen is None else _rows_by_place(data, chosen)
    solved = model._solved(asked) if Ability.ROW_WEIGHTS in abilities_of(model) else None
    subject = Subject(model, asked, frozen(fit_params), solved)
    about = _about_data(subject, known)
    asked_as = {"asked": known.asked} if known.asked is not None else {}
    parts: Parts = family.find(subject, about, **question, **asked_as)
    if chosen is None:
        return subject, about, with_rows(parts, subject), None
    n_rows, n_columns = data.shape
    arguments = {"components": len(model.components_), "rows": n_rows, "columns": n_columns, "part": len(chosen)}
    whole: Parts = family.of_all_rows(parts, model, data)
    part = {"rows": len(chosen), "of": n_rows}
    return subject, about, whole._replace(fitted=Note(Code.PART_OF_ROWS, arguments)), part


def _part(data: Any) -> np.ndarray:
    n_rows, n_columns = data.shape
    n = min(n_rows, max(1, PART_CELLS // n_columns))
    return np.sort(np.random.default_rng(0).choice(n_rows, n, replace=False))


def _rows_by_place(data: Any, chosen: np.ndarray) -> Any:
    """Some rows, which are called by their place in the whole table if they have no names."""
    part = data.rows(chosen)
    return part if part.row_names is not None else replace(part, row_names=[place("row", i) for i in chosen])


# ---- summaries -------------------------------------------------------------------------------------------------------


def _about_model(model: Any) -> ModelSummary:
    installed = {name: version(name) for name in _LIBRARIES}
    versions = {"latentbits": __version__, "python": platform.python_version(), **installed}
    parameters = {name: _plain(value) for name, value in model.get_params().items()}
    return ModelSummary(
        model_name(model), type(model).__name__, _family_name(model), frozen(parameters), frozen(versions)
    )


def _about_data(subject: Subject, known: Provenance) -> DataSummary:
    data = subject.data
    own = getattr(data, "reading", None)
    reading = known.reading if own is None else own
    marks = None if known.marks is None else frozen({"file": known.marks, **data.marks.counts()})
    return replace(
        summary_of_data(data),
        is_fitted=_is_fitted_to(subject),
        file=known.file,
        reading=None if known.reading is None else frozen(reading),
        marks=marks,
    )


def summary_of_data(data: Data) -> DataSummary:
    """How large a table is, and what its cells are."""
    n_rows, n_columns = data.shape
    summary = DataSummary(data.fingerprint(), n_rows, n_columns, data.n_missing)
    if isinstance(data, NumberTable):
        return summary
    ones = data.ones_per_column()
    constant = int(((ones == 0) | (ones == data.observed_per_column())).sum())
    zeros = data.n_observed - data.n_ones
    return replace(summary, ones=data.n_ones, zeros=zeros, density=data.density, constant_columns=constant)


def _is_fitted_to(subject: Subject) -> bool:
    """Whether the model was fitted to these rows; models that don't keep that are asked about no others."""
    if subject.solved is not None:
        return bool(subject.solved.are_training_rows())
    if Ability.PREDICT_HELD_OUT in abilities_of(subject.model):
        return bool(subject.data.fingerprint() == subject.model.data_checksum_)
    return True


def _common_facts(subject: Subject, about: DataSummary) -> dict[str, Fact]:
    """What is known of every fit: the objective, criteria, and how the search went."""
    model, abilities = subject.model, abilities_of(subject.model)
    facts: dict[str, Fact] = {}
    if "objective_" in vars(model):
        facts["objective"] = Fact(float(model.objective_), Unit.NATS)
    if Ability.INFORMATION_CRITERIA in abilities:
        asked = model if subject.solved is None else subject.solved
        rows = () if subject.solved is not None else (_for_methods(subject.data),)
        facts |= {name: Fact(float(getattr(asked, name)(*rows)), Unit.NATS) for name in ("aic", "bic")}
    if Ability.RESTARTS in abilities:
        made, agreeing = len(model.restarts_), n_agreeing(model)
        facts |= {
            "seed": Fact(_plain(model.random_state)),
            "iterations": Fact(int(model.n_iter_), Unit.COUNT),
            "converged": Fact(bool(model.converged_)),
            "restarts": Fact({"made": made, "agreeing": agreeing}, Unit.COUNT),
        }
    return facts


def _for_methods(data: Data) -> Any:
    return data.to_frame() if isinstance(data, NumberTable) else data


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's own, which read better and which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def _selection_of(found: OrderSelection) -> Selection:
    seed = found.random_state if isinstance(found.random_state, int) else None
    choices = tuple(frozen(choice) for choice in found.choices.to_dict("records"))
    return Selection(tuple(found.models), found.best_order, seed, choices, found.table)


# ---- figures of images -----------------------------------------------------------------------------------------------


def _check_shape(shape: tuple[int, int] | None, n_columns: int) -> None:
    if shape is None:
        return
    high, wide = shape
    if min(shape) < 1 or high * wide != n_columns:
        raise DataError(
            f"--shape {high}x{wide} doesn't make {n_columns:,} pixels, one for each column; correct it, or leave it out"
        )


def _shaped(figure: Figure, shape: tuple[int, int] | None) -> Figure:
    return (
        figure if shape is None or not figure.takes_shape else figure._replace(draw=partial(figure.draw, shape=shape))
    )


# ---- the verdict -----------------------------------------------------------------------------------------------------


def _can_be_judged(model: Any) -> bool:
    abilities = abilities_of(model)
    if Ability.VISITS in abilities:
        return True
    return Ability.READ_ZERO_ONE in abilities and not abilities.isdisjoint({Ability.PREDICT_CELLS, Ability.PAIR_SCORES})


def _verdict(
    model: Any,
    found: OrderSelection | None,
    data: BinaryData,
    rows_are: Mapping[str, Any],
    random_state: RandomSource,
    n_jobs: int | None,
    verbose: int,
) -> Verdict | None:
    """Whether the model predicts held-out cells; those of a selection are not predicted again."""
    asked = model.survey_ if Ability.VISITS in abilities_of(model) else data
    seed = random_state if random_state is not None else model.get_params(deep=False).get("random_state", 0)
    try:
        alone = rows_are["groups"] is None and rows_are["blocks"] is None
        known = {} if found is None or not alone else verdicts_of_selection(found, n_jobs=n_jobs, verbose=verbose)
        if found is not None and known:
            return known[found.best_order].beside(known, found.best_order)
        return verdict_on(model, asked, **rows_are, random_state=seed, n_jobs=n_jobs, verbose=verbose)
    except KeyboardInterrupt:
        warn_user(sentences.no_verdict(), InterruptedWarning)
        return None


# ---- notes -----------------------------------------------------------------------------------------------------------


def _notes(
    model: Any,
    subject: Subject,
    about: DataSummary,
    parts: Parts,
    facts: Mapping[str, Fact],
    selection: Selection | None,
    found: OrderSelection | None,
    judged: Verdict | None,
    known: Provenance,
    warned: list[Warning],
) -> Iterator[Note]:
    """Everything that can be said, in the order in which it is."""
    yield parts.fitted
    of_visits = Ability.VISITS in abilities_of(model)
    if known.file is not None and not of_visits:
        yield from _row_labels(subject.data)
    yield from _known_of_rows(subject)
    if found is not None:
        yield Note(Code.CHOSEN_AMONG, {"tried": tuple(found.models)})
        yield from choice_notes(found, indent="    ")
        if found.best_order == 1:
            yield Note(Code.INDEPENDENT_CHOSEN)
    if selection is not None and selection.choices:
        yield _chosen(selection)
    yield from parts.notes
    if not any(note.role is Role.SURE for note in parts.notes):
        yield _search_note(model, facts)
    if about.marks is not None:
        counts = {kind: about.marks[kind] for kind in ("confirmed", "rejected", "unsure")}
        yield Note(Code.MARKS, counts)
    if judged is not None and not judged.predicts and "suspects" in parts.tables and not of_visits:
        yield Note(Code.RANKED_ALL_THE_SAME, {"tested": judged.predicts is not None})
    yield from _warning_notes((*known.warnings, *warned))


def _row_labels(data: Data) -> Iterator[Note]:
    """Which column of a file was taken for the names of rows."""
    if data.row_names is not None and "long" not in (getattr(data, "reading", None) or {}):
        yield Note(Code.ROW_LABELS, {"column": data.row_label or None}, Role.DATA)


def _known_of_rows(subject: Subject) -> Iterator[Note]:
    """Covariates, coordinates and effort, and whether the model uses them."""
    facts, abilities = getattr(subject.data, "facts", None), abilities_of(subject.model)
    if facts is None:
        return
    after = "after" if Ability.DENOISE in abilities else "shown"
    if Ability.VISITS in abilities:
        abilities = abilities_of(subject.model.estimator_)
    used = "model" if Ability.KNOW_ROWS in abilities else after
    names = {"covariates": (*facts.numbers, *facts.categories), "coordinates": facts.coordinate_names}
    yield Note(Code.KNOWN_OF_ROWS, {**names, "effort": facts.effort_name, "used": used}, Role.DATA)


def _search_note(model: Any, facts: Mapping[str, Fact]) -> Note:
    """Whether chains, or restarts, agree."""
    if "sampling" in facts:
        return Note(Code.CHAINS, facts["sampling"].value, Role.SURE)
    if "restarts" in facts:
        return Note(Code.RESTARTS, facts["restarts"].value, Role.SURE)
    converged = facts["converged"].value if "converged" in facts else True
    return Note(Code.NO_RESTARTS, {"converged": bool(converged)}, Role.SURE)


def selection_tables(found: OrderSelection) -> dict[str, pd.DataFrame]:
    """The tables of a selection that aren't empty, by the names of their files."""
    tables = {"selection": found.table, "choices": found.choices, "folds": found.folds}
    tables["stability"] = from_one(found.stability)
    return {name: table for name, table in tables.items() if len(table)}


def choice_notes(found: OrderSelection, indent: str = "") -> Iterator[Note]:
    """What each criterion chooses, and why they differ if they do."""
    for choice in found.choices.itertuples():
        arguments = {"criterion": choice.criterion, "best": choice.best, "rival": choice.rival}
        yield Note(Code.CHOICE, {**arguments, "at_the_end": choice.at_the_end, "noun": found.noun, "indent": indent})
    if found.choices["best"].nunique() > 1:
        by_cells = Ability.PREDICT_CELLS in abilities_of(found.estimator)
        yield Note(Code.CRITERIA_DIFFER, {"predicts_cells": by_cells, "indent": indent})


def _chosen(selection: Selection) -> Note:
    first, *others = selection.choices
    said = tuple((other["criterion"], other["best"]) for other in others)
    arguments = {"best": first["best"], "tried": selection.tried, "criterion": first["criterion"], "others": said}
    return Note(Code.CHOSEN, arguments, Role.ASIDE)


def _warning_notes(warnings: tuple[Warning, ...]) -> Iterator[Note]:
    """A note for each text; a warning that is known by its code goes before one that is text alone."""
    codes: dict[str, Code] = {}
    for warning in warnings:
        text = " ".join(str(warning).split())
        codes[text] = getattr(warning, "code", codes.get(text, Code.WARNING))
    for text, code in codes.items():
        yield Note(code, {"text": text}, Role.WARNING)
