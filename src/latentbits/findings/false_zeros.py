"""Findings of the ensemble that ranks zeros: the list, what the members say, and how reliable that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import Places
from latentbits.findings.account import (
    N_SUSPECTS,
    DataSummary,
    Fact,
    Figure,
    Parts,
    Subject,
    SuspectList,
    Unit,
    with_names,
)
from latentbits.models.false_zeros.ensemble import FalseZeros
from latentbits.models.false_zeros.later import GIVEN_THE_REST, PRESENT, SEEN_LATER
from latentbits.notes import Code, Note, Role

PROBABILITIES = (GIVEN_THE_REST, PRESENT, SEEN_LATER, "P(0 | the rest)")
"""What the probability of a suspect can be of: the names of its column."""

LITTLE = 0.01
"""A member whose log odds count less than this has no say."""

ENOUGH_CELLS = 100
"""Bins of held-out cells with fewer are not looked at for the worst."""


def find(subject: Subject, about: DataSummary, *, asked: Mapping[str, Any] | None = None, **question: Any) -> Parts:
    """What an ensemble has to say about rows; `question` are arguments of its `suspects`, `asked` the same as typed."""
    model, data = subject.model, subject.data
    question = {"kind": "absence", "top": N_SUSPECTS, **question}
    kind = question["kind"]
    table = model.suspects(data, **question)
    listed = _by_position(table, model, data, kind)
    suspects = with_names(table)
    suspects.insert(2, "kind", kind)
    members = _members(model)
    meaning = Note(Code.PROBABILITY_MEANS, {"probability": listed.meaning})
    facts = {
        "members": Fact(members.to_dict("records"), Unit.SHARE),
        "hidden_cells": Fact(model.n_hidden_, Unit.COUNT),
        "suspects": Fact(
            {
                "kind": kind,
                "listed": len(suspects),
                "probability": listed.meaning,
                "meaning": meaning,
                "asked": {"kind": kind, **(asked or {})},
            }
        ),
    }
    if model.noise is not None:
        facts["row_noise"] = Fact(model.noise_model_ is not None)
    tables = {"suspects": suspects, "members": members}
    figures = [Figure("member_weights", partial(plots.plot_member_weights, model), Code.MEMBER_WEIGHTS)]
    if model.held_out_ is not None:
        tables["reliability"] = model.held_out_
        figures.insert(0, Figure("reliability", partial(plots.plot_reliability, model), Code.RELIABILITY))
    n = about.zeros if kind == "absence" else about.ones
    fitted = Note(Code.RANKED, {"kind": kind, "n": n, "data": about}, Role.LEAD)
    notes = (*_sure(model), *_list_notes(listed), meaning, Note(Code.USE_COMPONENTS_TO_EXPLAIN, role=Role.ASIDE))
    return Parts(fitted, facts, tables, tuple(figures), notes, (listed,))


def _by_position(table: pd.DataFrame, model: FalseZeros, data: BinaryData, kind: str) -> SuspectList:
    """The cells of the list; its probability is the column that has a meaning."""
    n_rows, n_columns = data.shape
    sides = {"row": Places(data.row_names, n_rows, "row"), "column": Places(model._column_names(), n_columns, "column")}
    rows, columns = (np.array([_found(places, name) for name in table[side]], int) for side, places in sides.items())
    (meaning,) = (name for name in table.columns if name in PROBABILITIES)
    score, probability = (table[name].to_numpy() for name in ("score", meaning))
    return SuspectList(kind, rows, columns, score, probability, meaning)


def _found(places: Places, name: Any) -> int:
    return places.find(name) if isinstance(name, str) else int(name)


def _members(model: FalseZeros) -> pd.DataFrame:
    """Each member with its weight and, where cells were held out, how well it predicts them alone."""
    if model.member_scores_ is not None:
        return model.member_scores_
    return pd.DataFrame({"member": list(model.members_), "weight": model.member_weights_})


# ---- notes -----------------------------------------------------------------------------------------------------------


def _sure(model: FalseZeros) -> Iterator[Note]:
    """Which members had a say, how reliable the probabilities are, and whether rows have lost ones."""
    weights = sorted(zip(model.members_, model.member_weights_, strict=True), key=lambda pair: -pair[1])
    if model.held_out_ is None:
        yield Note(Code.EQUAL_MEMBERS, {"members": [name for name, _ in weights]}, Role.SURE)
    else:
        yield Note(
            Code.MEMBER_WEIGHTS,
            {
                "held_out": model.n_hidden_,
                "weights": [(name, weight) for name, weight in weights if weight >= LITTLE],
                "without": [name for name, weight in weights if weight < LITTLE],
            },
            Role.SURE,
        )
        yield Note(Code.RELIABILITY, _reliability(model.held_out_), Role.SURE)
    if model.noise is not None:
        yield _about_noise(model)


def _reliability(table: pd.DataFrame) -> dict[str, float | None]:
    gap = (table["predicted"] - table["observed"]).abs()
    enough = table["count"] >= ENOUGH_CELLS
    mean = float((gap * table["count"]).sum() / table["count"].sum())
    return {"mean": mean, "worst": float(gap[enough].max()) if enough.any() else None}


def _about_noise(model: FalseZeros) -> Note:
    kinds = set() if model.noise_model_ is None else set(model.noise_model_.phantoms_)
    return Note(Code.ROW_NOISE, {"kinds": [kind for kind in ("white", "black") if kind in kinds]}, Role.SURE)


def _list_notes(listed: SuspectList) -> Iterator[Note]:
    if len(listed):
        yield Note(Code.LISTED, {"probability": listed.meaning}, is_evidence=True)
    else:
        yield Note(Code.NOTHING_TO_LIST, is_evidence=True)
