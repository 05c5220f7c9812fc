"""Findings of any model whose rows have weights on components: mixture, logistic PCA, the factorisations."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.findings.account import (
    DataSummary,
    Fact,
    Figure,
    Parts,
    Subject,
    Unit,
    attributes,
    data_table,
    labelled,
    unused,
)
from latentbits.fitting.chains import LARGEST_R_HAT
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.factor_model import FactorModel
from latentbits.notes import Code, Note, Role
from latentbits.tasks.stability import component_stability


def find(subject: Subject, about: DataSummary) -> Parts:
    """What such a model has to say about rows."""
    model, data, solved = subject.model, subject.data, subject.solved
    abilities = abilities_of(model)
    tables = {
        "components": components_table(model, data),
        "weights": weights_table(solved.weights, data),
        "reconstruction": data_table(solved.reconstruct(), data),
    }
    parts = [{"component": k, "kind": "content"} for k in range(len(model.components_))]
    facts = {"components": Fact(parts, Unit.COUNT)}
    figures: list[Figure] = []
    notes: list[Note] = []
    has_restarts = Ability.RESTARTS in abilities
    if Ability.CHAINS in abilities:
        facts["sampling"] = sampling(model._samples)
    if Ability.INFORMATION_CRITERIA in abilities:
        criteria = {"aic": float(solved.aic()), "bic": float(solved.bic())}
        notes.append(Note(Code.INFORMATION_CRITERIA, criteria, Role.FOUND if has_restarts else Role.LEAD))
    if has_restarts:
        tables["restarts"] = model.restarts_
        facts["stability"] = Fact(component_stability(model).tolist(), Unit.STABILITY)
        figures.append(Figure("objective", partial(plots.plot_objective, model), Code.RESTARTS))
        notes.append(Note(Code.STABILITY, agreement(model, facts["stability"].value), Role.ANSWER))
    if (model.components_ >= 0).all() and (model.components_ <= 1).all():
        draw = partial(plots.plot_components, model)
        figures.append(Figure("components", draw, Code.COMPONENTS_FITTED, takes_shape=True))
    fitted = Note(Code.COMPONENTS_FITTED, {"components": len(model.components_), "data": about}, Role.LEAD)
    return Parts(fitted, facts, tables, tuple(figures), tuple(notes))


def components_table(model: FactorModel, data: BinaryData, **properties: Any) -> pd.DataFrame:
    """A line for each component, with its properties in front."""
    names = attributes(data)
    table = pd.DataFrame(model.components_, columns=names)
    for place, (name, values) in enumerate({"component": np.arange(1, len(table) + 1), **properties}.items()):
        table.insert(place, unused(name, names), values)
    return table


def weights_table(weights: np.ndarray, data: BinaryData) -> pd.DataFrame:
    """The rows' weights with their labels, and what else is known of the rows behind them."""
    names = [f"component_{k + 1}" for k in range(weights.shape[1])]
    table = labelled(weights, names, data)
    for name, values in (data.metadata or {}).items():
        table[unused(name, table.columns.tolist())] = values
    return table


def agreement(model: FactorModel, stability: tuple[float, ...]) -> dict[str, Any]:
    """How far restarts agree about the components: arguments of the notes about it."""
    return {
        "made": len(model.restarts_),
        "components": len(stability),
        "median": statistics.median(stability),
        "worst": min(stability),
    }


def sampling(samples: Any) -> Fact:
    """How many samples there are, and whether the chains agree; None where there are too few to say."""
    r_hat, ess = samples.largest_r_hat, samples.ess
    return Fact(
        {
            "chains": int(samples.chain.max()) + 1,
            "samples": len(samples.chain),
            "r_hat": r_hat,
            "effective_samples": None if ess is None else float(np.median(ess["cells"])),
            "agree": r_hat is not None and r_hat <= LARGEST_R_HAT,
        },
        Unit.COUNT,
    )
