"""Findings of a mixture of independent component analysers: clusters, what sets them apart, and their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.numbers import NumberTable
from latentbits.findings.account import DataSummary, Fact, Figure, Parts, Subject, Unit, attributes, from_one, labelled
from latentbits.models.ica_mixture.estimator import ICAMixture
from latentbits.notes import Code, Level, Note, Role

N_NAMED = 3
"""Variables that a sentence names at most; and clusters whose sources are described in sentences."""

N_DRAWS, MOST_WORK = 20, 50_000
"""Refits for intervals; and cells times clusters times sources up to which there are any: some seconds."""

CLEAR = 0.95
"""A row whose likeliest cluster has this probability clearly belongs to it."""

NOTABLE = 0.5
"""A cluster's mean is named if it lies this many standard deviations from the mean of all rows."""


def find(subject: Subject, about: DataSummary) -> Parts:
    """What a model fitted to the data has to say."""
    model, data = subject.model, subject.data
    X = data.to_frame()
    apart = _separation(model, data)
    sure = _intervals(model, data, about)
    overlaps = model.overlaps(X).assign(along=lambda table: table["along"].map(_names(model, data)))
    tables = {
        "clusters": _clusters_table(model, data),
        "separation": apart,
        "mixing": _mixing_table(model, data),
        "rows": rows_table(model, data),
        **({"overlaps": from_one(overlaps)} if len(overlaps) else {}),
        **({} if sure is None else {"intervals": from_one(sure)}),
        "history": model.history_,
        "restarts": model.restarts_,
    }
    rows = np.bincount(model.predict(X), minlength=model.n_clusters_)
    clusters = [
        {"cluster": c, "share": float(share), "rows": int(rows[c]), "sources": int(n)}
        for c, (share, n) in enumerate(zip(model.proportions_, model.n_sources_, strict=True))
    ]
    humps = [{"cluster": c, "source": m, "share": share} for c, m, share in model.humps_]
    facts = {"clusters": Fact(clusters, Unit.SHARE), "humps": Fact(humps, Unit.SHARE)}
    facts |= {"assigned": Fact(_assigned(model, X), Unit.SHARE), "level": Fact(_level(clusters, overlaps))}
    telling = [attributes(data)[j] for j in _telling_columns(apart)] if len(clusters) > 1 else []
    found = {"clusters": len(clusters), "rows": sorted(rows.tolist(), reverse=True), "telling": telling, "data": about}
    fitted = Note(Code.CLUSTERS_FOUND, found, Role.LEAD)
    notes = _notes(model, data, facts, overlaps, sure)
    return Parts(fitted, facts, tables, tuple(_figures(model, X, apart)), tuple(notes))


def _assigned(model: ICAMixture, X: pd.DataFrame) -> float:
    """The share of rows that clearly belong to one cluster."""
    return float((model.predict_proba(X).max(axis=1) >= CLEAR).mean())


def _level(clusters: list[dict[str, Any]], overlaps: pd.DataFrame) -> Level:
    """Whether there are groups: none if all is one cluster, weak if clusters go on into each other."""
    if len(clusters) == 1:
        return Level.NONE
    return Level.WEAK if len(overlaps) and overlaps["adjacent"].any() else Level.CLEAR


def _figures(model: ICAMixture, X: pd.DataFrame, apart: pd.DataFrame) -> Iterator[Figure]:
    if X.shape[1] > 1:
        draw = partial(plots.plot_clusters, model, X, columns=_telling_columns(apart))
        yield Figure("clusters", draw, Code.CLUSTERS_FOUND)
    yield Figure("cluster_means", partial(plots.plot_cluster_means, model, X), Code.CLUSTER)
    if model.n_sources_.any():
        yield Figure("source_effects", partial(plots.plot_source_effects, model), Code.CLUSTER_SOURCE)
    yield Figure("source_densities", partial(plots.plot_source_densities, model, X), Code.TWO_HUMPS)
    yield Figure("strengths", partial(plots.plot_strengths, model), Code.CLUSTER)
    yield Figure("bound", partial(plots.plot_bound, model), Code.RESTARTS)


def rows_table(model: ICAMixture, data: NumberTable) -> pd.DataFrame:
    """Of each row its cluster, the clusters' probabilities, its sources in both ways, and its log density."""
    X = data.to_frame()
    clusters, sources = range(model.n_clusters_), range(model.mixing_.shape[2])
    names = [f"cluster_{c + 1}" for c in clusters]
    names += [f"{way}_{m + 1}" for way in ("source", "unmixed") for m in sources]
    values = [model.predict_proba(X), model.transform(X), model.transform(X, kind="unmixed")]
    table = labelled(np.hstack(values), names, data)
    table.insert(1, "cluster", model.predict(X) + 1)
    table["log_density"] = model.score_samples(X)
    return table


def _separation(model: ICAMixture, data: NumberTable) -> pd.DataFrame:
    """How far the mean of each cluster's rows lies from that of all rows, in standard deviations of the variable."""
    X, labels = data.values, model.predict(data.to_frame())
    spread = np.nanstd(X, axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    found = np.unique(labels)
    means = [(_means(X[labels == c]) - _means(X)) / scale for c in found]
    table = pd.DataFrame(np.array(means).T, columns=[f"cluster_{c + 1}" for c in found])
    table.insert(0, "variable", attributes(data))
    return table


def _means(X: np.ndarray) -> np.ndarray:
    """Of the cells that are there; NaN in columns without any."""
    seen = ~np.isnan(X)
    return np.divide(np.nansum(X, axis=0), seen.sum(axis=0), out=np.full(X.shape[1], np.nan), where=seen.any(axis=0))


def _telling_columns(apart: pd.DataFrame) -> tuple[int, int]:
    """The two variables in which the clusters differ most."""
    spread = np.nanstd(apart.drop(columns="variable").to_numpy(), axis=1)
    first, second = np.argsort(-spread, kind="stable")[:2]
    return int(first), int(second)


def _clusters_table(model: ICAMixture, data: NumberTable) -> pd.DataFrame:
    table = pd.DataFrame(model.means_, columns=[f"mean_{name}" for name in attributes(data)])
    columns = {"cluster": np.arange(1, model.n_clusters_ + 1), "share": model.proportions_, "sources": model.n_sources_}
    for place, (name, values) in enumerate(columns.items()):
        table.insert(place, name, values)
    return table


def _mixing_table(model: ICAMixture, data: NumberTable) -> pd.DataFrame:
    C, D, M = model.mixing_.shape
    table = pd.DataFrame(model.mixing_.reshape(C * D, M), columns=[f"source_{m + 1}" for m in range(M)])
    table.insert(0, "cluster", np.repeat(np.arange(1, C + 1), D))
    table.insert(1, "variable", np.tile(attributes(data), C))
    return table


def _names(model: ICAMixture, data: NumberTable) -> dict[str, str]:
    """What the model's variables are called in the data."""
    return dict(zip(model._variables, attributes(data), strict=True))


def _intervals(model: ICAMixture, data: NumberTable, about: DataSummary) -> pd.DataFrame | None:
    """Intervals of the rows of the fit, where they take no minutes."""
    if not about.is_fitted or data.values.size * model.n_clusters_ * model.mixing_.shape[2] > MOST_WORK:
        return None
    table = model.interval(data.to_frame(), n_draws=N_DRAWS, random_state=0)
    return table.assign(variable=table["variable"].map(_names(model, data)))


def _notes(
    model: ICAMixture, data: NumberTable, facts: Mapping[str, Fact], overlaps: pd.DataFrame, sure: pd.DataFrame | None
) -> Iterator[Note]:
    clusters, humps = facts["clusters"].value, facts["humps"].value
    labels, X = model.predict(data.to_frame()), data.values
    for pair in overlaps.loc[overlaps["adjacent"], ["cluster", "other", "along"]].to_dict("records"):
        one, other, along = pair.values()
        yield Note(Code.ADJACENT_CLUSTERS, {"one": int(one), "other": int(other), "along": str(along)})
    for part in clusters:
        far = _far(X, labels == part["cluster"], attributes(data)) if len(clusters) > 1 else []
        yield Note(Code.CLUSTER, {**part, "apart": far})
    for part in clusters if len(clusters) <= N_NAMED else ():  # of more, the picture tells
        yield from _about_sources(model, part["cluster"], attributes(data), sure)
    for hump in humps:
        yield Note(Code.TWO_HUMPS, {**hump, "splits": model.criterion == "clusters"})
    if model.delete and len(clusters) >= model.n_clusters > 1:
        yield Note(Code.ALL_CLUSTERS_KEPT, {"clusters": model.n_clusters})
    if (full := model.n_sources_ == model.mixing_.shape[2]).any() and model.mixing_.shape[2] < X.shape[1]:
        limit = {"clusters": int(full.sum()), "sources": model.mixing_.shape[2]}
        yield Note(Code.ALL_SOURCES_KEPT, limit)
    if len(clusters) > 1 or humps:
        yield Note(Code.BOUND_CHARGES, {"clusters": len(clusters)})


def _about_sources(model: ICAMixture, cluster: int, names: list[str], sure: pd.DataFrame | None) -> Iterator[Note]:
    """What the strongest sources of a cluster change, in the columns' units: they are what varies inside of it."""
    effects = model.source_effects_[cluster]
    values, margins = effects * model._scale[:, None], np.full(effects.shape, np.nan)
    if sure is not None:
        own = sure[(sure["quantity"] == "effect") & (sure["cluster"] == cluster)]
        margins = (own["high"] - own["value"]).to_numpy().reshape(effects.shape)
    for m in range(min(int(model.n_sources_[cluster]), N_NAMED)):
        most = np.argsort(-np.abs(effects[:, m]), kind="stable")[:N_NAMED]
        changes = [(names[j], float(values[j, m]), None if sure is None else float(margins[j, m])) for j in most]
        yield Note(Code.CLUSTER_SOURCE, {"cluster": cluster, "source": m, "effects": changes})


def _far(X: np.ndarray, own: np.ndarray, names: list[str]) -> list[tuple[str, float, float]]:
    """The variables in which a cluster is furthest from all rows: their names, its mean, and that of all rows."""
    if not own.any():
        return []
    spread, ours, means = np.nanstd(X, axis=0), _means(X[own]), _means(X)
    away = np.abs(np.nan_to_num(ours - means)) / np.where(spread > 0, spread, 1.0)
    most = [j for j in np.argsort(-away, kind="stable")[:N_NAMED] if away[j] >= NOTABLE]
    return [(names[j], float(ours[j]), float(means[j])) for j in most]
