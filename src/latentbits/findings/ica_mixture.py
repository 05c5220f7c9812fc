"""Findings of a mixture of independent component analysers: clusters, what sets them apart, and their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.numbers import NumberTable
from latentbits.findings.account import DataSummary, Fact, Figure, Parts, Subject, Unit, attributes, labelled
from latentbits.models.ica_mixture.estimator import ICAMixture
from latentbits.notes import Code, Note, Role

N_NAMED = 3
"""Variables that a sentence names at most; and clusters whose sources are described in sentences."""

NOTABLE = 0.5
"""A cluster's mean is named if it lies this many standard deviations from the mean of all rows."""


def find(subject: Subject, about: DataSummary) -> Parts:
    """What a model fitted to the data has to say."""
    model, data = subject.model, subject.data
    X = data.to_frame()
    apart = _separation(model, data)
    tables = {
        "clusters": _clusters_table(model, data),
        "separation": apart,
        "mixing": _mixing_table(model, data),
        "rows": rows_table(model, data),
        "history": model.history_,
        "restarts": model.restarts_,
    }
    clusters = [
        {"cluster": c, "share": float(share), "sources": int(n)}
        for c, (share, n) in enumerate(zip(model.proportions_, model.n_sources_, strict=True))
    ]
    humps = [{"cluster": c, "source": m, "share": share} for c, m, share in model.humps_]
    facts = {"clusters": Fact(clusters, Unit.SHARE), "humps": Fact(humps, Unit.SHARE)}
    fitted = Note(Code.CLUSTERS_FOUND, {"clusters": len(clusters), "data": about}, Role.LEAD)
    return Parts(fitted, facts, tables, tuple(_figures(model, X, apart)), tuple(_notes(model, facts, apart)))


def _figures(model: ICAMixture, X: pd.DataFrame, apart: pd.DataFrame) -> Iterator[Figure]:
    yield Figure("cluster_means", partial(plots.plot_cluster_means, model, X), Code.CLUSTER)
    if X.shape[1] > 1:
        draw = partial(plots.plot_clusters, model, X, columns=_telling_columns(apart))
        yield Figure("clusters", draw, Code.CLUSTERS_FOUND)
    if model.n_sources_.any():
        yield Figure("source_effects", partial(plots.plot_source_effects, model), Code.CLUSTER_SOURCE)
    yield Figure("source_densities", partial(plots.plot_source_densities, model, X), Code.TWO_HUMPS)
    yield Figure("strengths", partial(plots.plot_strengths, model), Code.CLUSTER)
    yield Figure("bound", partial(plots.plot_bound, model), Code.RESTARTS)


def rows_table(model: ICAMixture, data: NumberTable) -> pd.DataFrame:
    """Of each row its cluster, the clusters' probabilities, its sources in both ways, and its log density."""
    X = data.to_frame()
    clusters, sources = range(model.n_clusters_), range(model.mixing_.shape[2])
    names = [f"cluster_{c}" for c in clusters]
    names += [f"{way}_{m}" for way in ("source", "unmixed") for m in sources]
    values = [model.predict_proba(X), model.transform(X), model.transform(X, kind="unmixed")]
    table = labelled(np.hstack(values), names, data)
    table.insert(1, "cluster", model.predict(X))
    table["log_density"] = model.score_samples(X)
    return table


def _separation(model: ICAMixture, data: NumberTable) -> pd.DataFrame:
    """How far the mean of each cluster's rows lies from that of all rows, in standard deviations of the variable."""
    X = data.values
    spread = X.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    labels = model.predict(data.to_frame())
    means = [
        (X[labels == c].mean(axis=0) - X.mean(axis=0)) / scale for c in range(model.n_clusters_) if (labels == c).any()
    ]
    table = pd.DataFrame(np.array(means).T, columns=[f"cluster_{c}" for c in np.unique(labels)])
    table.insert(0, "variable", attributes(data))
    return table


def _telling_columns(apart: pd.DataFrame) -> tuple[int, int]:
    """The two variables in which the clusters differ most."""
    spread = apart.drop(columns="variable").to_numpy().std(axis=1)
    first, second = np.argsort(-spread, kind="stable")[:2]
    return int(first), int(second)


def _clusters_table(model: ICAMixture, data: NumberTable) -> pd.DataFrame:
    table = pd.DataFrame(model.means_, columns=[f"mean_{name}" for name in attributes(data)])
    columns = {"cluster": np.arange(model.n_clusters_), "share": model.proportions_, "sources": model.n_sources_}
    for place, (name, values) in enumerate(columns.items()):
        table.insert(place, name, values)
    return table


def _mixing_table(model: ICAMixture, data: NumberTable) -> pd.DataFrame:
    C, D, M = model.mixing_.shape
    table = pd.DataFrame(model.mixing_.reshape(C * D, M), columns=[f"source_{m}" for m in range(M)])
    table.insert(0, "cluster", np.repeat(np.arange(C), D))
    table.insert(1, "variable", np.tile(attributes(data), C))
    return table


def _notes(model: ICAMixture, facts: Mapping[str, Fact], apart: pd.DataFrame) -> Iterator[Note]:
    clusters, humps = facts["clusters"].value, facts["humps"].value
    for part in clusters:
        far = _far(apart, f"cluster_{part['cluster']}") if len(clusters) > 1 else []
        yield Note(Code.CLUSTER, {**part, "apart": far})
    for part in clusters if len(clusters) <= N_NAMED else ():  # of more, the picture tells
        yield from _about_sources(model, part["cluster"], apart["variable"].to_list())
    for hump in humps:
        yield Note(Code.TWO_HUMPS, {**hump, "splits": model.criterion == "clusters"})
    if len(clusters) > 1 or humps:
        yield Note(Code.BOUND_CHARGES, {"clusters": len(clusters)})


def _about_sources(model: ICAMixture, cluster: int, names: list[str]) -> Iterator[Note]:
    """What the strongest sources of a cluster change: they are what varies inside of it."""
    for m in range(min(int(model.n_sources_[cluster]), N_NAMED)):
        effect = model.source_effects_[cluster, :, m]
        most = np.argsort(-np.abs(effect), kind="stable")[:N_NAMED]
        effects = [(names[j], float(effect[j])) for j in most]
        yield Note(Code.CLUSTER_SOURCE, {"cluster": cluster, "source": m, "effects": effects})


def _far(apart: pd.DataFrame, column: str) -> list[tuple[Any, float]]:
    """The variables in which a cluster is furthest from the others."""
    if column not in apart:
        return []
    values = apart.set_index("variable")[column]
    far = values[values.abs() >= NOTABLE].sort_values(key=lambda value: -value.abs())[:N_NAMED]
    return [(name, float(value)) for name, value in far.items()]
