"""Results of a mixture of independent component analysers: clusters, what sets them apart, and their sources."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.numbers import NumberTable
from latentbits.findings.results import Figures, Results, attributes, common_summary, labelled, restart_lines, size
from latentbits.models.ica_mixture.estimator import ICAMixture
from latentbits.wording import counted

__all__ = ["gather", "rows_table"]

TOLD = 3
"""Variables that a sentence names at most; and clusters whose sources are told in sentences."""

NOTABLE = 0.5
"""A cluster's mean is told if it lies this many standard deviations from the mean of all rows."""


def gather(model: ICAMixture, data: NumberTable) -> Results:
    """Ask a model fitted to the data everything that goes into the folder."""
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
    summary = {**common_summary(model, data), "clusters": clusters, "humps": humps}
    figures: Figures = {"cluster_means": partial(plots.plot_cluster_means, model, X)}
    if data.shape[1] > 1:
        figures["clusters"] = partial(plots.plot_clusters, model, X, columns=_telling_columns(apart))
    if model.n_sources_.any():
        figures["source_effects"] = partial(plots.plot_source_effects, model)
    figures |= {
        "source_densities": partial(plots.plot_source_densities, model, X),
        "strengths": partial(plots.plot_strengths, model),
        "bound": partial(plots.plot_bound, model),
    }
    return Results(model, data, tables, summary, figures, list(_lines(model, summary, apart)))


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


def _lines(model: ICAMixture, summary: dict[str, Any], apart: pd.DataFrame) -> Iterator[str]:
    clusters = summary["clusters"]
    yield f"{counted(len(clusters), 'cluster')} found in {size(summary['data'])}."
    for part in clusters:
        sources = counted(part["sources"], "source")
        told = _told(apart, f"cluster_{part['cluster']}") if len(clusters) > 1 else ""
        yield f"Cluster {part['cluster']} has {part['share']:.1%} of the rows and {sources}{told}."
    for part in clusters if len(clusters) <= TOLD else []:  # of more, the picture tells
        yield from _about_sources(model, part["cluster"], apart["variable"].to_list())
    for hump in summary["humps"]:
        advice = "" if model.criterion == "clusters" else "; --cluster-criterion clusters makes clusters of them"
        yield (
            f"Source {hump['source']} of cluster {hump['cluster']} has two humps, {hump['share']:.0%} of its rows in "
            f"the smaller one: two groups that the bound takes for one cluster{advice}."
        )
    if len(clusters) > 1 or summary["humps"]:
        yield (
            "The bound charges every cluster for a mixing matrix of its own; latentbits select --model ica-mixture "
            f"--clusters 1:{len(clusters) + 3} asks held-out rows how many there are."
        )
    yield from restart_lines(summary)


def _about_sources(model: ICAMixture, cluster: int, names: list[str]) -> Iterator[str]:
    """What the strongest sources of a cluster change: they are what varies inside of it."""
    n = min(int(model.n_sources_[cluster]), TOLD)
    for m in range(n):
        effect = model.source_effects_[cluster, :, m]
        most = np.argsort(-np.abs(effect), kind="stable")[:TOLD]
        words = ", ".join(f"{names[j]} {effect[j]:+.1f}" for j in most)
        yield f"Inside cluster {cluster}, a standard deviation of source {m} adds {words} standard deviations."


def _told(apart: pd.DataFrame, column: str) -> str:
    """The variables in which a cluster is furthest from the others, as a clause."""
    if column not in apart:
        return ""
    values = apart.set_index("variable")[column]
    far = values[values.abs() >= NOTABLE].sort_values(key=lambda value: -value.abs())[:TOLD]
    words = [f"{name} {value:+.1f}" for name, value in far.items()]
    return f"; its mean is off by {', '.join(words)} standard deviations" if words else ""
