"""Results of a mixture of independent component analysers: clusters, their sources, and where each row belongs."""

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

__all__ = ["gather"]


def gather(model: ICAMixture, data: NumberTable) -> Results:
    """Ask a model fitted to the data everything that goes into the folder."""
    X = data.to_frame()
    chances = labelled(model.predict_proba(X), [f"cluster_{c}" for c in range(model.n_clusters_)], data)
    chances.insert(1, "cluster", model.predict(X))
    tables = {
        "clusters": _clusters_table(model, data),
        "mixing": _mixing_table(model, data),
        "rows": chances,
        "sources": labelled(model.transform(X), [f"source_{m}" for m in range(model.mixing_.shape[2])], data),
        "history": model.history_,
        "restarts": model.restarts_,
    }
    clusters = [
        {"cluster": c, "share": float(share), "sources": int(n)}
        for c, (share, n) in enumerate(zip(model.proportions_, model.n_sources_, strict=True))
    ]
    summary = {**common_summary(model, data), "clusters": clusters}
    figures: Figures = {
        "source_densities": partial(plots.plot_source_densities, model, X),
        "strengths": partial(plots.plot_strengths, model),
        "bound": partial(plots.plot_bound, model),
    }
    if data.shape[1] > 1:
        figures["clusters"] = partial(plots.plot_clusters, model, X)
    return Results(model, data, tables, summary, figures, list(_lines(summary)))


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


def _lines(summary: dict[str, Any]) -> Iterator[str]:
    clusters = summary["clusters"]
    yield f"{counted(len(clusters), 'cluster')} found in {size(summary['data'])}."
    for part in clusters:
        sources = counted(part["sources"], "source")
        yield f"Cluster {part['cluster']} has {part['share']:.1%} of the rows and {sources}."
    yield from restart_lines(summary)
