"""Findings of models that predict each cell from the rest of its row: predictions, and which columns are coupled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.findings.account import DataSummary, Fact, Figure, Parts, Subject, Unit, attributes, data_table
from latentbits.models.abilities import Ability, abilities_of
from latentbits.notes import Code, Note, Role

N_PAIRS = 1000
N_LISTED = 5


def find(subject: Subject, about: DataSummary) -> Parts:
    """What such a model has to say about rows."""
    model, data = subject.model, subject.data
    tables = {"reconstruction": data_table(model.reconstruct(data), data)}
    facts = _search(model)
    if Ability.COUPLINGS not in abilities_of(model):
        return Parts(Note(Code.CELLS_PREDICTED, {"data": about}, Role.LEAD), facts, tables, (), ())
    pairs = strongest_pairs(model.couplings_, attributes(data))
    n_pairs = _n_pairs(data)
    facts["couplings"] = Fact({"pairs": n_pairs, "strongest": pairs.head(N_LISTED).to_dict("records")})
    drawn = (Figure("couplings", partial(plots.plot_couplings, model), Code.STRONGEST_COUPLING),) if len(pairs) else ()
    fitted = Note(Code.COUPLINGS_FITTED, {"pairs": n_pairs, "data": about}, Role.LEAD)
    return Parts(fitted, facts, {"couplings": pairs, **tables}, drawn, tuple(_notes(pairs, model._coupled)))


def _search(model: Any) -> dict[str, Fact]:
    """How the fit went, where there was a search."""
    if Ability.ITERATE not in abilities_of(model):
        return {}
    return {
        "iterations": Fact(model.n_iter_, Unit.COUNT),
        "converged": Fact(model.converged_),
        "gradient_norm": Fact(model.gradient_norm_),
    }


def _n_pairs(data: BinaryData) -> int:
    n_columns = data.shape[1]
    return n_columns * (n_columns - 1) // 2


def strongest_pairs(couplings: np.ndarray, names: list[str], top: int = N_PAIRS) -> pd.DataFrame:
    """The most strongly coupled pairs of columns, strongest first.

    Row j, column k of `couplings` is what column j says about column k. If the two directions differ, what the other
    says about the column stands in `coupling_back`, and the stronger of the two decides.
    """
    j, k = np.triu_indices(len(couplings), 1)
    there, back = couplings[j, k], couplings[k, j]
    strength = np.maximum(np.abs(there), np.abs(back))
    order = np.argsort(-strength, kind="stable")[:top]
    order = order[strength[order] > 0]
    table = pd.DataFrame(
        {
            "column": [names[place] for place in j[order]],
            "other": [names[place] for place in k[order]],
            "coupling": there[order],
        }
    )
    return table if np.array_equal(couplings, couplings.T) else table.assign(coupling_back=back[order])


def _notes(pairs: pd.DataFrame, unit: str) -> Iterator[Note]:
    if not len(pairs):
        yield Note(Code.UNCOUPLED, role=Role.LEAD, is_evidence=True)
        return
    first, *_ = pairs.to_dict("records")
    strongest = {name: first[name] for name in ("column", "other", "coupling")}
    yield Note(Code.STRONGEST_COUPLING, strongest, Role.ANSWER, is_evidence=True)
    yield Note(Code.COUPLINGS_LISTED, {"unit": unit}, is_evidence=True)
    for pair in pairs.head(N_LISTED).rename(columns={"coupling_back": "back"}).to_dict("records"):
        yield Note(Code.COUPLING, {str(name): value for name, value in pair.items()}, is_evidence=True)
