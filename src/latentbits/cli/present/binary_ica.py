"""Results of binary ICA: the mixing, the sources of the rows, and how the sources change from segment to segment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.cli.present.results import Figures, Results, attributes, common_summary, labelled, restart_line, size
from latentbits.data.binary_data import BinaryData, quoted
from latentbits.models.binary_ica.estimator import BinaryICA

__all__ = ["gather"]

N_TOLD = 4


def gather(model: BinaryICA, data: BinaryData, segments: Any = None) -> Results:
    """Ask a model fitted to the data, cut into these segments, everything that goes into the folder."""
    names = [f"source_{k}" for k in range(model.mixing_.shape[1])]
    mixing = pd.DataFrame(model.mixing_, columns=names)
    mixing.insert(0, "variable", attributes(data))
    tables = {
        "mixing": mixing,
        "sources": labelled(model.transform(data, segments=segments), names, data),
        "segments": _segments_table(model, names),
        "restarts": model.restarts_,
    }
    summary = {**common_summary(model, data), "segments": len(model.segments_)}
    figures: Figures = {
        "source_scales": partial(plots.plot_source_scales, model),
        "mixing": partial(plots.plot_mixing, model),
        "objective": partial(plots.plot_objective, model),
    }
    return Results(model, data, tables, summary, figures, list(_lines(model, summary, attributes(data))))


def _segments_table(model: BinaryICA, names: list[str]) -> pd.DataFrame:
    parts = {"segment": model.segments_, "share": model.segment_share_}
    for what, values in (("mean", model.source_means_), ("scale", model.source_scales_)):
        parts |= {f"{what}_{name}": column for name, column in zip(names, values.T, strict=True)}
    return pd.DataFrame(parts)


def _lines(model: BinaryICA, summary: dict[str, Any], variables: list[str]) -> Iterator[str]:
    n = model.mixing_.shape[1]
    yield f"{n} source{'s' * (n > 1)} in {len(model.segments_)} segments of {size(summary['data'])}."
    for k, column in enumerate(model.mixing_.T[:N_TOLD]):
        strongest = np.argsort(-np.abs(column), kind="stable")[:N_TOLD]
        told = ", ".join(f"{quoted(variables[i])} {column[i]:+.2f}" for i in strongest)
        yield f"Source {k} moves most: {told}."
    yield restart_line(summary)
