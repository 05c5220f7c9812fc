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
from latentbits.models.binary_ica.judgement import GoodnessOfFit, SourceIntervals
from latentbits.wording import counted

__all__ = ["gather"]

N_LISTED = 4
MOST_PAIRS = 1000
"""Lines of pairs.csv."""

N_SAMPLES = 30
MOST_WORK = 2_000_000
"""Columns cubed times segments, up to which findings have intervals: some seconds; beyond, ask `bootstrap` for them."""

FITS = 1.3
"""An rms z up to this is called a fit: right models had 0.7 to 1.1, one source too few about 1.6 and more."""


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
    fit = model.goodness_of_fit(data, segments)
    tables["pairs"] = fit.pairs.head(MOST_PAIRS)
    sure = _intervals(model, data, segments)
    if sure is not None:
        tables["intervals"] = sure.to_frame(attributes(data))
    summary = {
        **common_summary(model, data),
        "segments": len(model.segments_),
        "fit": {"rms_z": fit.rms_z, "beyond_3": fit.beyond_3, "pairs": fit.n_pairs, "thin": fit.n_thin},
    }
    figures: Figures = {
        "source_scales": partial(plots.plot_source_scales, model),
        "mixing": partial(plots.plot_mixing, model),
        "pair_fit": fit.plot,
        "objective": partial(plots.plot_objective, model),
    }
    lines = list(_lines(model, summary, attributes(data), segments is not None))
    lines[1:1] = list(_fit_lines(fit, sure))
    return Results(model, data, tables, summary, figures, lines)


def _intervals(model: BinaryICA, data: BinaryData, segments: Any) -> SourceIntervals | None:
    """Intervals of the mixing where they are known and take no minutes."""
    cost = data.shape[1] ** 3 * len(model.segments_)
    if model.method != "blica" or model.shrinkage != "matched" or cost > MOST_WORK:
        return None
    return model.bootstrap(data, segments, n_samples=N_SAMPLES)


def _fit_lines(fit: GoodnessOfFit, sure: SourceIntervals | None) -> Iterator[str]:
    """Whether the model fits, and how sure its mixing is."""
    if fit.rms_z is not None:
        worst = fit.pairs.iloc[0]
        judged = "fits" if fit.rms_z <= FITS else "doesn't fit well; more sources may help (latentbits select)"
        yield (
            f"The model {judged}: correlations of pairs differ from it by {fit.rms_z:.2f} standard errors (rms; 1 if "
            f"it is right), {fit.beyond_3:.1%} of them by more than 3; most in segment {worst['segment']}: "
            f"{quoted(worst['left'])} and {quoted(worst['right'])}, {worst['r']:.2f} in the data and "
            f"{worst['rho']:.2f} in the model."
        )
    else:
        yield "Whether the model fits can't be told: no pair of columns has enough rows in a segment."
    if sure is not None:
        yield from (
            f"Sources {k} and {j} may be rotations of two others: their scales don't change differently from segment "
            "to segment, which is all that would tell them apart; take other segments, or one source less."
            for k, j in sure.confused()[:N_LISTED]
        )
        clear = int(((sure.mixing.low > 0) | (sure.mixing.high < 0)).sum())
        yield (
            f"{clear} of {sure.mixing.low.size} entries of the mixing "
            f"{'is' if clear == 1 else 'are'} clearly not 0 ({sure.level:.0%} intervals of {sure.n_samples} fits to "
            "rows drawn again, in intervals.csv)."
        )


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
