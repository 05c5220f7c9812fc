"""Findings of binary ICA: the mixing, the sources of the rows, and how the sources change from segment to segment."""

from __future__ import annotations

from collections.abc import Iterator
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
    from_one,
    labelled,
    unused,
)
from latentbits.models.binary_ica.estimator import BinaryICA
from latentbits.models.binary_ica.judgement import GoodnessOfFit, SourceIntervals
from latentbits.notes import Code, Note, Role

N_LISTED = 4
MOST_PAIRS = 1000
"""Lines of pairs.csv."""

N_SAMPLES = 30
MOST_WORK = 2_000_000
"""Columns cubed times segments, up to which findings have intervals: some seconds; beyond, ask `bootstrap` for them."""


def find(subject: Subject, about: DataSummary) -> Parts:
    """What a model fitted to data, cut into segments, has to say."""
    model, data, segments = subject.model, subject.data, subject.fit_params.get("segments")
    n = model.mixing_.shape[1]
    names = [f"source_{k + 1}" for k in range(n)]
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
    fit = model.goodness_of_fit(data, segments)
    tables["pairs"] = fit.pairs.head(MOST_PAIRS)
    sure = _intervals(model, data, segments)
    if sure is not None:
        tables["intervals"] = from_one(sure.to_frame(attributes(data)))
    n_segments = len(model.segments_)
    judged = {"rms_z": fit.rms_z, "beyond_3": fit.beyond_3, "pairs": fit.n_pairs, "thin": fit.n_thin}
    counts = {"sources": Fact(n, Unit.COUNT), "segments": Fact(n_segments, Unit.COUNT)}
    facts = {**counts, "fit": Fact(judged, Unit.STANDARD_ERRORS)}
    figures = (
        Figure("source_scales", partial(plots.plot_source_scales, model), Code.SOURCES_FITTED),
        Figure("mixing", partial(plots.plot_mixing, model), Code.SOURCE),
        Figure("pair_fit", fit.plot, Code.PAIR_FIT),
        Figure("objective", partial(plots.plot_objective, model), Code.RESTARTS),
    )
    notes = [*_fit_notes(fit), *([] if sure is None else _interval_notes(sure))]
    if segments is None:
        notes.append(Note(Code.SEGMENTS_CUT, {"segments": n_segments}))
    notes += _source_notes(model, attributes(data))
    fitted = Note(Code.SOURCES_FITTED, {"sources": n, "segments": n_segments, "data": about}, Role.LEAD)
    return Parts(fitted, facts, tables, figures, tuple(notes))


def _intervals(model: BinaryICA, data: BinaryData, segments: Any) -> SourceIntervals | None:
    """Intervals of the mixing where they are known and take no minutes."""
    cost = data.shape[1] ** 3 * len(model.segments_)
    if model.method != "blica" or model.shrinkage != "matched" or cost > MOST_WORK:
        return None
    return model.bootstrap(data, segments, n_samples=N_SAMPLES)


def _segments_table(model: BinaryICA, names: list[str]) -> pd.DataFrame:
    parts = {"segment": model.segments_, "share": model.segment_share_}
    for what, values in (("mean", model.source_means_), ("scale", model.source_scales_)):
        parts |= {f"{what}_{name}": column for name, column in zip(names, values.T, strict=True)}
    return pd.DataFrame(parts)


# ---- notes -----------------------------------------------------------------------------------------------------------


def _fit_notes(fit: GoodnessOfFit) -> Iterator[Note]:
    """Whether the model fits."""
    if fit.rms_z is None:
        yield Note(Code.PAIR_FIT_UNKNOWN, role=Role.LEAD)
        return
    worst = {name: fit.pairs[name].iloc[0] for name in ("segment", "left", "right", "r", "rho")}
    yield Note(Code.PAIR_FIT, {"rms_z": fit.rms_z, "beyond_3": fit.beyond_3, **worst}, Role.LEAD)


def _interval_notes(sure: SourceIntervals) -> Iterator[Note]:
    """How sure the mixing is, if there are sources."""
    if sure.mixing.low.size == 0:
        return
    for one, other in sure.confused()[:N_LISTED]:
        yield Note(Code.CONFUSED_SOURCES, {"one": one, "other": other})
    clear = int(((sure.mixing.low > 0) | (sure.mixing.high < 0)).sum())
    bounds = {"level": sure.level, "samples": sure.n_samples}
    yield Note(Code.CLEAR_ENTRIES, {"clear": clear, "of": sure.mixing.low.size, **bounds})


def _source_notes(model: BinaryICA, variables: list[str]) -> Iterator[Note]:
    for k, column in enumerate(model.mixing_.T[:N_LISTED]):
        order = np.argsort(-column, kind="stable")
        up = [variables[i] for i in order if column[i] > 0][:N_LISTED]
        down = [variables[i] for i in order[::-1] if column[i] < 0][:N_LISTED]
        yield Note(Code.SOURCE, {"source": k, "up": up, "down": down})
    n = model.mixing_.shape[1]
    if n > N_LISTED:
        yield Note(Code.MORE_SOURCES, {"n": n - N_LISTED})
