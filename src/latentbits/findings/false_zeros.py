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
"""Bins of held-out cells with fewer are merged with the next one."""

FIRST = 100
"""Reliability is told for the range of probabilities that so many of the list's first cells come from."""


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
    if listed.probability is not None:
        likely = int((listed.probability > 0.5).sum())
        facts["likely"] = Fact({"kind": kind, "count": likely, "listed": len(listed)}, Unit.COUNT)
    if model.noise is not None:
        facts["row_noise"] = Fact(model.noise_model_ is not None)
    tables = {"suspects": suspects, "members": members}
    figures = [Figure("member_weights", partial(plots.plot_member_weights, model), Code.MEMBER_WEIGHTS)]
    if model.held_out_ is not None:
        tables["reliability"] = model.held_out_
        figures.insert(0, Figure("reliability", partial(plots.plot_reliability, model), Code.RELIABILITY))
    n = about.zeros if kind == "absence" else about.ones
    fitted = Note(Code.RANKED, {"kind": kind, "n": n, "data": about}, Role.LEAD)
    notes = (
        *_sure(model, listed),
        *_list_notes(listed),
        meaning,
        Note(Code.USE_COMPONENTS_TO_EXPLAIN, role=Role.ASIDE),
    )
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


def _sure(model: FalseZeros, listed: SuspectList) -> Iterator[Note]:
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
        yield Note(Code.RELIABILITY, _reliability(model.held_out_, listed), Role.SURE)
    if model.noise is not None:
        yield _about_noise(model)


def _reliability(table: pd.DataFrame, listed: SuspectList) -> dict[str, Any]:
    """How far predicted probabilities are from shares of ones, and both in the range that the list comes from."""
    cells = table[["predicted", "observed", "count"]].to_numpy()
    if listed.kind == "presence":
        cells = np.column_stack([1 - cells[:, :2], cells[:, 2]])
    merged = merged_bins(cells[np.argsort(-cells[:, 0])])
    gap = np.abs(merged[:, 0] - merged[:, 1])
    found = {"mean": float(gap @ merged[:, 2] / merged[:, 2].sum()), "worst": float(gap.max())}
    if listed.probability is None or not len(listed) or listed.meaning not in (GIVEN_THE_REST, PROBABILITIES[-1]):
        return found
    least = float(listed.probability[:FIRST].min())
    n_bins = max(1, int((merged[:, 0] >= least).sum()))
    n = merged[:n_bins, 2].sum()
    predicted, observed = merged[:n_bins, 2] @ merged[:n_bins, :2] / n
    low, high = share_interval(observed, n)
    return {**found, "top": {"predicted": predicted, "observed": observed, "low": low, "high": high, "cells": int(n)}}


def merged_bins(cells: np.ndarray) -> np.ndarray:
    """Bins (predicted, observed, count) of at least 100 cells each, merged from the first on, if there are as many."""
    merged: list[np.ndarray] = []
    for part in cells:
        if merged and (merged[-1][2] < ENOUGH_CELLS):
            merged[-1] = _joined(merged[-1], part)
        else:
            merged.append(part)
    if len(merged) > 1 and merged[-1][2] < ENOUGH_CELLS:
        last = merged.pop()
        merged[-1] = _joined(merged[-1], last)
    return np.array(merged)


def _joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    n = one[2] + other[2]
    return np.append((one[:2] * one[2] + other[:2] * other[2]) / n, n)


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n."""
    centre = (share + 1.92 / n) / (1 + 3.84 / n)
    half = 1.96 / (1 + 3.84 / n) * np.sqrt(share * (1 - share) / n + 0.96 / n**2)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _about_noise(model: FalseZeros) -> Note:
    kinds = set() if model.noise_model_ is None else set(model.noise_model_.phantoms_)
    return Note(Code.ROW_NOISE, {"kinds": [kind for kind in ("white", "black") if kind in kinds]}, Role.SURE)


def _list_notes(listed: SuspectList) -> Iterator[Note]:
    if len(listed):
        yield Note(Code.LISTED, {"probability": listed.meaning}, is_evidence=True)
        if listed.kind == "absence":
            yield Note(Code.CENSUS, is_evidence=True)
    else:
        yield Note(Code.NOTHING_TO_LIST, is_evidence=True)
