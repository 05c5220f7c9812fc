"""Findings of binary factor analysis: the factors found, what they change, and where they are on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots, sentences
from latentbits.data.numbers import NumberTable
from latentbits.findings.account import DataSummary, Fact, Figure, Parts, Subject, Unit, attributes, from_one, labelled
from latentbits.models.binary_factors.binary_model import EXACT_LIMIT
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis, Nature
from latentbits.notes import Code, Level, Note, Role

N_NAMED = 3
"""Variables that a sentence names, at most."""

CLEAR = 0.95
"""A factor whose state in a row is less probable than this is unclear there."""

CLEARLY_BETTER = 10
"""Difference in BIC that is called clear."""

N_DRAWS, MOST_WORK = 20, 1_000_000
"""Refits for intervals; and cells times codes up to which there are any: some seconds."""


def find(subject: Subject, about: DataSummary) -> Parts:
    """What a model fitted to the data has to say."""
    model, data = subject.model, subject.data
    X, names = data.to_frame(), _names(model)
    probabilities = model.predict_proba(X)
    sure = _intervals(model, data, about)
    nature = model.nature(X) if about.is_fitted and model.n_components_ <= EXACT_LIMIT else None
    factors = _factors(model, data, probabilities, sure)
    mixing = pd.DataFrame(model.mixing_, columns=names)
    mixing.insert(0, "variable", attributes(data))
    mixing.insert(1, "mean_", model.intercepts_)
    tables = {
        "causes": pd.DataFrame(
            [
                {**factor, "factor": factor["factor"] + 1, "changes": sentences.changed(factor["changes"])}
                for factor in factors
            ],
            columns=["factor", "probability", "rows_on", "rows_unclear", "strength", "changes"],
        ),
        "mixing": mixing,
        "codes": labelled(model.transform(X), names, data),
        "probabilities": labelled(probabilities, names, data),
        **({} if sure is None else {"intervals": from_one(sure)}),
        **({"discards": model.discards_} if len(model.discards_) else {}),
        **({"sizes": model.sizes_} if len(model.sizes_) else {}),
        "restarts": model.restarts_,
    }
    facts = {
        "factors": Fact(model.n_components_, Unit.COUNT),
        "factor_probabilities": Fact(model.factor_probabilities_.tolist(), Unit.SHARE),
        "noise_precision": Fact(model.noise_precision_.tolist(), Unit.PRECISION),
        **({} if nature is None else {"nature": Fact(_as_fact(nature), Unit.NONE), "level": Fact(_level(nature))}),
    }
    kind = None if nature is None else nature.kind
    counts = {"factors": model.n_components_, "discarded": len(model.discards_), "nature": kind}
    fitted = Note(Code.FACTORS_FITTED, {**counts, "data": about}, Role.LEAD)
    notes = [*_about_nature(nature), *_notes(model, factors, kind)]
    return Parts(fitted, facts, tables, tuple(_figures(model, X)), tuple(notes))


def _figures(model: BinaryFactorAnalysis, X: pd.DataFrame) -> Iterator[Figure]:
    if model.n_components_:
        yield Figure("mixing", partial(plots.plot_mixing, model), Code.FACTOR)
        yield Figure("projections", partial(plots.plot_projections, model, X), Code.FACTOR_NATURE)
        yield Figure("causes", partial(plots.plot_causes, model, X), Code.FACTOR)
    if len(model.sizes_):
        yield Figure("sizes", partial(plots.plot_sizes, model), Code.BIC_PREFERS)
    yield Figure("objective", partial(plots.plot_objective, model), Code.RESTARTS)


def _intervals(model: BinaryFactorAnalysis, data: NumberTable, about: DataSummary) -> pd.DataFrame | None:
    """Intervals of the rows of the fit, where they take no minutes."""
    if not about.is_fitted or model.n_components_ > EXACT_LIMIT or len(data.values) < 2:
        return None
    if len(data.values) * data.shape[1] * 2**model.n_components_ > MOST_WORK:
        return None
    table = model.interval(data.to_frame(), n_draws=N_DRAWS, random_state=0)
    names = dict(
        zip(dict.fromkeys(table.loc[table["quantity"] == "constant", "variable"]), attributes(data), strict=True)
    )
    return table.assign(variable=table["variable"].map(names).fillna(""))


def _as_fact(nature: Nature) -> dict[str, Any]:
    return {
        "kind": nature.kind,
        "advantage": nature.advantage,
        "gaussian_factors": nature.n_gaussian,
        "looks": list(nature.looks),
    }


def _level(nature: Nature) -> Level:
    """Whether there are on-off causes: clear if BIC prefers them to continuous ones by more than 10.

    Weak where too few of them were tried to say, and where rows gather at no two states.
    """
    if nature.kind in ("continuous", "none"):
        return Level.NONE
    return Level.CLEAR if nature.kind == "binary" and nature.advantage > CLEARLY_BETTER else Level.WEAK


def _about_nature(nature: Nature | None) -> Iterator[Note]:
    if nature is not None:
        bic = dict(zip(nature.sizes["n_components"], nature.sizes["bic"], strict=True))
        behind = float(bic[1] - bic[0]) if {0, 1} <= bic.keys() else None
        yield Note(Code.FACTOR_NATURE, {**_as_fact(nature), "one_behind_none": behind}, Role.LEAD)


def rows_table(model: BinaryFactorAnalysis, data: NumberTable) -> pd.DataFrame:
    """Of each row which factors are on (1, else -1), the probabilities of being on, and the log likelihood."""
    X = data.to_frame()
    table = labelled(model.transform(X), _names(model), data)
    for k, column in enumerate(model.predict_proba(X).T):
        table[f"probability_{k + 1}"] = column
    if model.n_components_ <= EXACT_LIMIT:
        table["log_likelihood"] = model.score_samples(X)
    return table


def _names(model: BinaryFactorAnalysis) -> list[str]:
    return [f"factor_{k + 1}" for k in range(model.n_components_)]


def _factors(
    model: BinaryFactorAnalysis, data: NumberTable, probabilities: np.ndarray, sure: pd.DataFrame | None
) -> list[dict[str, Any]]:
    """Of each factor in which rows it is on, its strength, and the variables that it changes most."""
    names, n = attributes(data), model.n_components_
    margins = np.full((len(names), n), np.nan)
    if sure is not None:
        effects = sure[sure["quantity"] == "effect"]
        margins = (effects["high"] - effects["value"]).to_numpy().reshape(margins.shape)
    on = (model.transform(data.to_frame()) > 0).sum(axis=0)
    factors = []
    for k, column in enumerate(model.mixing_.T):
        most = np.argsort(-np.abs(column), kind="stable")[:N_NAMED]
        p = probabilities[:, k]
        factors.append(
            {
                "factor": k,
                "probability": float(model.factor_probabilities_[k]),
                "rows_on": int(on[k]),
                "rows_unclear": int(np.sum((p > 1 - CLEAR) & (p < CLEAR))),
                "rows": len(p),
                "strength": float(model.factor_strengths_[k]),
                # On against off: both the state that adds the column and the one that subtracts it.
                "changes": [
                    (names[j], 2 * float(column[j]), None if sure is None else float(margins[j, k])) for j in most
                ],
            }
        )
    return factors


def _notes(model: BinaryFactorAnalysis, factors: Sequence[dict[str, Any]], kind: str | None) -> Iterator[Note]:
    yield Note(Code.FACTOR_STATES if factors else Code.NO_FACTOR, role=Role.LEAD)
    if model.reached_limit_ and kind != "continuous":
        yield Note(Code.ALL_FACTORS_KEPT, {"factors": model.n_components_})
    for factor in factors:
        told = ("factor", "rows_on", "rows_unclear", "rows", "changes", "strength")
        yield Note(Code.FACTOR, {name: factor[name] for name in told})
    yield from _about_the_number(model)


def _about_the_number(model: BinaryFactorAnalysis) -> Iterator[Note]:
    """How clear the choice of the number is: the BIC of its neighbours."""
    sizes, n = model.sizes_, model.n_components_
    if len(sizes):
        bic = dict(zip(sizes["n_components"], sizes["bic"], strict=True))
        others = [(m, float(bic[m] - bic[n])) for m in (n - 1, n + 1) if m in bic]
        if others:
            yield Note(Code.BIC_PREFERS, {"factors": n, "others": others})
