"""Results of binary ICA: the mixing, the sources of the rows, and how the sources change from segment to segment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import quoted
from latentbits.findings.results import (
    Figures,
    Results,
    attributes,
    common_summary,
    labelled,
    restart_lines,
    size,
    unused,
)
from latentbits.models.binary_ica.estimator import BinaryICA
from latentbits.wording import counted

__all__ = ["gather"]

N_LISTED = 4


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
    if segments is not None:
        tables["sources"].insert(1, unused("segment", list(tables["sources"].columns)), segments)
    summary = {**common_summary(model, data), "segments": len(model.segments_)}
    figures: Figures = {
        "source_scales": partial(plots.plot_source_scales, model),
        "mixing": partial(plots.plot_mixing, model),
        "objective": partial(plots.plot_objective, model),
    }
    lines = list(_lines(model, summary, attributes(data), segments is not None))
    return Results(model, data, tables, summary, figures, lines)


def _segments_table(model: BinaryICA, names: list[str]) -> pd.DataFrame:
    parts = {"segment": model.segments_, "share": model.segment_share_}
    for what, values in (("mean", model.source_means_), ("scale", model.source_scales_)):
        parts |= {f"{what}_{name}": column for name, column in zip(names, values.T, strict=True)}
    return pd.DataFrame(parts)


def _lines(model: BinaryICA, summary: dict[str, Any], variables: list[str], given: bool) -> Iterator[str]:
    n = model.mixing_.shape[1]
    U = len(model.segments_)
    yield f"{counted(n, 'source')} in {counted(U, 'segment')} of {size(summary['data'])}."
    if not given:
        runs = counted(U, "run")
        yield f"No --segments were given, so the rows were cut, in their order, into {runs} of equal length."
    for k, column in enumerate(model.mixing_.T[:N_LISTED]):
        order = np.argsort(-column, kind="stable")
        up = [i for i in order if column[i] > 0][:N_LISTED]
        down = [i for i in order[::-1] if column[i] < 0][:N_LISTED]
        against = f"; against {_named(variables, down)}" if down else ""
        yield f"Source {k}: {_named(variables, up)}{against}."
    if n > N_LISTED:
        yield f"{counted(n - N_LISTED, 'more source')} in mixing.csv."
    yield from restart_lines(summary)


def _named(variables: list[str], which: list[int]) -> str:
    return ", ".join(quoted(variables[i]) for i in which)
