"""Findings of binary factor analysis: the factors found, what they change, and where they are on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots, sentences
from latentbits.data.numbers import NumberTable
from latentbits.findings.account import DataSummary, Fact, Figure, Parts, Subject, Unit, attributes, labelled
from latentbits.models.binary_factors.binary_model import EXACT_LIMIT
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
from latentbits.notes import Code, Note, Role

N_NAMED = 3
"""Variables that a sentence names, at most."""


def find(subject: Subject, about: DataSummary) -> Parts:
    """What a model fitted to the data has to say."""
    model, data = subject.model, subject.data
    names = _names(model)
    mixing = pd.DataFrame(model.mixing_, columns=names)
    mixing.insert(0, "variable", attributes(data))
    mixing.insert(1, "mean_", model.intercepts_)
    factors = _factors(model, data)
    tables = {
        "causes": pd.DataFrame(
            [{**factor, "changes": sentences.changed(factor["changes"])} for factor in factors],
            columns=["factor", "probability", "rows_on", "strength", "changes"],
        ),
        "mixing": mixing,
        "codes": labelled(model.transform(data.to_frame()), names, data),
        "probabilities": labelled(model.predict_proba(data.to_frame()), names, data),
        **({"discards": model.discards_} if len(model.discards_) else {}),
        **({"sizes": model.sizes_} if len(model.sizes_) else {}),
        "restarts": model.restarts_,
    }
    facts = {
        "factors": Fact(model.n_components_, Unit.COUNT),
        "factor_probabilities": Fact(model.factor_probabilities_.tolist(), Unit.SHARE),
        "noise_precision": Fact(model.noise_precision_.tolist(), Unit.PRECISION),
    }
    figures = []
    if model.n_components_:
        figures.append(Figure("mixing", partial(plots.plot_mixing, model), Code.FACTOR))
        figures.append(Figure("causes", partial(plots.plot_causes, model, data.to_frame()), Code.FACTOR))
    if len(model.sizes_):
        figures.append(Figure("sizes", partial(plots.plot_sizes, model), Code.BIC_PREFERS))
    figures.append(Figure("objective", partial(plots.plot_objective, model), Code.RESTARTS))
    counts = {"factors": model.n_components_, "discarded": len(model.discards_)}
    fitted = Note(Code.FACTORS_FITTED, {**counts, "data": about}, Role.LEAD)
    return Parts(fitted, facts, tables, tuple(figures), tuple(_notes(model, factors)))


def rows_table(model: BinaryFactorAnalysis, data: NumberTable) -> pd.DataFrame:
    """Of each row which factors are on (1, else -1), the probabilities of being on, and the log likelihood."""
    X = data.to_frame()
    table = labelled(model.transform(X), _names(model), data)
    for k, column in enumerate(model.predict_proba(X).T):
        table[f"probability_{k}"] = column
    if model.n_components_ <= EXACT_LIMIT:
        table["log_likelihood"] = model.score_samples(X)
    return table


def _names(model: BinaryFactorAnalysis) -> list[str]:
    return [f"factor_{k}" for k in range(model.n_components_)]


def _factors(model: BinaryFactorAnalysis, data: NumberTable) -> list[dict[str, Any]]:
    """Of each factor how often it is on, its strength, and the variables that it changes most."""
    on = (model.transform(data.to_frame()) > 0).sum(axis=0)
    names = attributes(data)
    factors = []
    for k, column in enumerate(model.mixing_.T):
        most = np.argsort(-np.abs(column), kind="stable")[:N_NAMED]
        factors.append(
            {
                "factor": k,
                "probability": float(model.factor_probabilities_[k]),
                "rows_on": int(on[k]),
                "strength": float(model.factor_strengths_[k]),
                # On against off: both the state that adds the column and the one that subtracts it.
                "changes": [(names[j], 2 * float(column[j])) for j in most],
            }
        )
    return factors


def _notes(model: BinaryFactorAnalysis, factors: Sequence[dict[str, Any]]) -> Iterator[Note]:
    yield Note(Code.FACTOR_STATES if factors else Code.NO_FACTOR, role=Role.LEAD)
    for factor in factors:
        told = ("factor", "probability", "changes", "strength")
        yield Note(Code.FACTOR, {name: factor[name] for name in told})
    yield from _about_the_number(model)


def _about_the_number(model: BinaryFactorAnalysis) -> Iterator[Note]:
    """How clear the choice of the number is: the BIC of its neighbours; and whether more should have been tried."""
    sizes, n = model.sizes_, model.n_components_
    if len(sizes):
        bic = dict(zip(sizes["n_components"], sizes["bic"], strict=True))
        others = [(m, float(bic[m] - bic[n])) for m in (n - 1, n + 1) if m in bic]
        if others:
            yield Note(Code.BIC_PREFERS, {"factors": n, "others": others})
    if n and n == model.n_components:
        yield Note(Code.ALL_FACTORS_KEPT, {"factors": n})
