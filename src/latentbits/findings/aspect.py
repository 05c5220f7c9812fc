"""Findings of the aspect models: components with their noise components, cleaned data, suspects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.findings.account import (
    N_SUSPECTS,
    DataSummary,
    Fact,
    Figure,
    Parts,
    Subject,
    SuspectList,
    Unit,
    attributes,
    data_table,
    with_names,
)
from latentbits.findings.factors import agreement, components_table, sampling, weights_table
from latentbits.fitting.chains import samples_needed
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.aspect.aspect_model import AspectModel
from latentbits.models.aspect.aspect_rows import AspectRows
from latentbits.models.aspect.noise_components import BLACK, EXTINCT, WHITE, gain_of
from latentbits.models.cell_ranking import Kind
from latentbits.notes import Code, Note, Role
from latentbits.tasks.stability import component_stability

N_LISTED = 5
SUSPECTED = 0.5
LEVEL = 0.95
NOISE = (WHITE, BLACK)


def find(subject: Subject, about: DataSummary) -> Parts:
    """What an aspect model has to say about rows."""
    model, data, solved = subject.model, subject.data, subject.solved
    denoised = solved.denoised
    kinds = model.phantoms_ if solved.evidence is None else solved.evidence.kinds
    shares = solved.weights.mean(axis=0)
    found = [_suspected(solved, kind) for kind in _doubted(model)]
    tables = {
        "components": components_table(model, data, kind=kinds, share=shares),
        "weights": weights_table(solved.weights, data),
        "denoised": data_table(denoised, data),
        "suspects": _suspects_table(solved),
        "restarts": model.restarts_,
    }
    chains = model._posterior if Ability.CHAINS in abilities_of(model) else None
    has_intervals = Ability.INTERVALS in abilities_of(model)
    if has_intervals and (chains is None or len(chains.H) >= samples_needed(LEVEL)):
        tables["components_interval"] = _interval_table(model, data)
    stability = component_stability(model).tolist()
    counts = {suspects.kind: int(solved.changed(suspects.kind).sum()) for suspects in found}
    facts = {
        "components": Fact(_components(kinds, shares), Unit.SHARE),
        "stability": Fact(stability, Unit.STABILITY),
        "suspected": Fact(counts, Unit.COUNT),
    }
    decided = _noise_note(model)
    if decided is not None:
        trials = model.noise_trials_
        tried = {} if trials is None else {"trials": trials.to_dict(orient="records")}
        facts["noise"] = Fact({"decision": decided, **tried}, Unit.NATS)
    if chains is not None:
        facts["sampling"] = sampling(chains)
    return Parts(
        Note(Code.COMPONENTS_FITTED, {"components": len(model.components_), "data": about}),
        facts,
        tables,
        _figures(subject, denoised),
        tuple(_notes(solved, facts, about, decided)),
        tuple(found),
    )


def of_all_rows(parts: Parts, model: AspectModel, data: BinaryData) -> Parts:
    """What was found in a part of a large table, with weights and suspects of all its rows."""
    solved = AspectRows(model, data)
    tables = {"weights": weights_table(model.weights_, data), "suspects": _suspects_table(solved)}
    suspects = tuple(_suspected(solved, kind) for kind in _doubted(model))
    return parts._replace(tables={**parts.tables, **tables}, suspects=suspects)


def _figures(subject: Subject, denoised: np.ndarray) -> tuple[Figure, ...]:
    model, data, solved = subject.model, subject.data, subject.solved
    weights = None if solved.are_training_rows() else solved.weights
    by_row = partial(plots.plot_weights, model, ones=data.ones_per_row(), weights=weights)
    pictures = partial(plots.plot_denoising, data, denoised)
    return (
        Figure("components", partial(plots.plot_components, model), Code.CAUSES, takes_shape=True),
        Figure("weights", by_row, Code.CAUSES),
        Figure("objective", partial(plots.plot_objective, model), Code.RESTARTS),
        Figure("denoising", pictures, Code.SUSPECTED_AND_STABLE, takes_shape=True),
    )


def _suspected(solved: AspectRows, kind: Kind) -> SuspectList:
    cells = solved.most_suspected(kind=kind, top=N_SUSPECTS)
    return SuspectList(kind, cells.rows, cells.columns, cells.score)


def _suspects_table(solved: AspectRows) -> pd.DataFrame:
    """The most suspected zeros, and ones if there is a noise component that makes them."""
    parts: list[pd.DataFrame] = []
    for kind in _doubted(solved.model):
        part = with_names(solved.suspects(kind=kind, top=N_SUSPECTS))
        part.insert(2, "kind", kind)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _doubted(model: AspectModel) -> list[Kind]:
    return ["absence", "presence"] if BLACK in model.phantoms_ else ["absence"]


def _interval_table(model: Any, data: BinaryData) -> pd.DataFrame:
    """The components with their 95 % credible intervals, a line for each component and attribute."""
    low, high = model.components_interval(LEVEL)
    K, D = model.components_.shape
    return pd.DataFrame(
        {
            "component": np.repeat(np.arange(1, K + 1), D),
            "attribute": np.tile(attributes(data), K),
            "mean": model.components_.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )


def _components(kinds: np.ndarray, shares: np.ndarray) -> list[dict[str, Any]]:
    parts = zip(kinds, shares, strict=True)
    return [{"component": k, "kind": str(kind), "share": float(share)} for k, (kind, share) in enumerate(parts)]


# ---- notes -----------------------------------------------------------------------------------------------------------


def _notes(solved: AspectRows, facts: Mapping[str, Fact], about: DataSummary, decided: Note | None) -> Iterator[Note]:
    parts, model, evidence = facts["components"].value, solved.model, solved.evidence
    noise = tuple(part for part in parts if part["kind"] in NOISE)
    n_extinct = sum(part["kind"] == EXTINCT for part in parts)
    content = len(parts) - len(noise) - n_extinct
    yield Note(Code.CAUSES, {"content": content, "noise": noise, "rows": about.rows}, Role.ANSWER, is_evidence=True)
    if n_extinct:
        yield Note(Code.EXTINCT, {"n": n_extinct})
    if evidence is not None and not evidence.is_earned:
        yield Note(Code.NOISE_NOT_EARNED, {"gain": evidence.gain, "gain_se": evidence.gain_se})
    else:
        yield from _phantom_notes(noise)
    if decided is not None:
        yield decided
    of = {"absence": about.zeros, "presence": about.ones}
    counts = {kind: (count, of[kind]) for kind, count in facts["suspected"].value.items()}
    for kind, (count, total) in counts.items():
        yield Note(Code.SUSPECTED, {"kind": kind, "count": count, "of": total}, is_evidence=True)
    agreed = agreement(model, facts["stability"].value)
    arguments = {"counts": counts, **agreed}
    yield Note(Code.SUSPECTED_AND_STABLE, arguments, Role.ANSWER, is_evidence=True)
    yield Note(Code.CENSUS, is_evidence=True)
    yield Note(Code.USE_ENSEMBLE_TO_RANK, role=Role.ASIDE)


def _phantom_notes(noise: tuple[Mapping[str, Any], ...]) -> Iterator[Note]:
    if not noise:
        yield Note(Code.NO_PHANTOM)
    if len(noise) > N_LISTED:
        yield Note(Code.MANY_PHANTOMS, {"n": len(noise)})
    for part in noise[:N_LISTED]:
        yield Note(Code.PHANTOM, part)


def _noise_note(model: AspectModel) -> Note | None:
    """What was decided about noise components, and why; None if nobody asked."""
    if model.noise is None:
        return None
    trials = model.noise_trials_
    if trials is None:
        return Note(Code.NOISE_GIVEN, {"noise": model.noise}, Role.LEAD, is_evidence=True)
    (kept,) = trials["model"][trials["kept"]]
    needed = dict(zip(trials["model"], trials["needed"], strict=True))
    tried = [
        {"kind": kind, "kept": kept in (kind, "both"), "gain": gain_of(kind, trials), "needed": needed.get(kind)}
        for kind in NOISE
    ]
    return Note(Code.NOISE_TRIED, {"trials": tried}, Role.LEAD, is_evidence=True)
