"""Results of binary factor analysis: the causes found, what they change, and where they are on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.numbers import NumberTable
from latentbits.findings.results import Figures, Results, attributes, common_summary, labelled, restart_lines, size
from latentbits.models.binary_factors.binary_model import EXACT_LIMIT
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
from latentbits.wording import counted

__all__ = ["gather", "rows_table"]

TOLD = 3
"""Variables that a sentence names, at most."""


def gather(model: BinaryFactorAnalysis, data: NumberTable) -> Results:
    """Ask a model fitted to the data everything that goes into the folder."""
    names = _names(model)
    mixing = pd.DataFrame(model.mixing_, columns=names)
    mixing.insert(0, "variable", attributes(data))
    mixing.insert(1, "mean_", model.intercepts_)
    tables = {
        "causes": _causes(model, data),
        "mixing": mixing,
        "codes": labelled(model.transform(data.to_frame()), names, data),
        "probabilities": labelled(model.predict_proba(data.to_frame()), names, data),
        **({"discards": model.discards_} if len(model.discards_) else {}),
        **({"sizes": model.sizes_} if len(model.sizes_) else {}),
        "restarts": model.restarts_,
    }
    summary = {
        **common_summary(model, data),
        "factors": model.n_components_,
        "factor_probabilities": model.factor_probabilities_.tolist(),
        "noise_precision": model.noise_precision_.tolist(),
    }
    figures: Figures = {}
    if model.n_components_:
        figures["mixing"] = partial(plots.plot_mixing, model)
        figures["causes"] = partial(plots.plot_causes, model, data.to_frame())
    if len(model.sizes_):
        figures["sizes"] = partial(plots.plot_sizes, model)
    figures["objective"] = partial(plots.plot_objective, model)
    return Results(model, data, tables, summary, figures, list(_lines(model, summary, tables["causes"])))


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


def _causes(model: BinaryFactorAnalysis, data: NumberTable) -> pd.DataFrame:
    """A line for each factor: how often it is on, its strength, and the variables that it changes most."""
    on = (model.transform(data.to_frame()) > 0).sum(axis=0)
    names = np.array(attributes(data), dtype=object)
    lines = []
    for k, column in enumerate(model.mixing_.T):
        strength = float(model.factor_strengths_[k])
        most = np.argsort(-np.abs(column), kind="stable")[:TOLD]
        # On against off: both the state that adds the column and the one that subtracts it.
        changes = ", ".join(f"{names[j]} {2 * column[j]:+.3g}" for j in most)
        lines.append((k, float(model.factor_probabilities_[k]), int(on[k]), strength, changes))
    return pd.DataFrame(lines, columns=["factor", "probability", "rows_on", "strength", "changes"])


def _lines(model: BinaryFactorAnalysis, summary: dict[str, Any], causes: pd.DataFrame) -> Iterator[str]:
    n, gone = model.n_components_, len(model.discards_)
    dropped = f"; {gone} of {n + gone} {'was' if gone == 1 else 'were'} discarded while learning" if gone else ""
    yield f"{counted(n, 'binary factor')} found in {size(summary['data'])}{dropped}."
    if n == 0:
        yield "Nothing in the data is stronger than the noise."
    else:
        yield "A factor is called on (1, not -1) in the rarer one of its two states."
    for cause in causes.itertuples():
        yield (
            f"Factor {cause.factor} is on in {cause.probability:.0%} of the rows; on against off it changes "
            f"{cause.changes}. It is {cause.strength:.1f} times as strong as the noise."
        )
    yield from _about_the_number(model)
    yield from restart_lines(summary)


def _about_the_number(model: BinaryFactorAnalysis) -> Iterator[str]:
    """How clear the choice of the number is: the BIC of its neighbours; and whether more should have been tried."""
    sizes, n = model.sizes_, model.n_components_
    if len(sizes):
        bic = dict(zip(sizes["n_components"], sizes["bic"], strict=True))
        others = [f"{m} by {bic[m] - bic[n]:.0f}" for m in (n - 1, n + 1) if m in bic]
        if others:
            yield f"BIC prefers {counted(n, 'factor')} to {' and to '.join(others)} (above 10 is clear)."
    if n and n == model.n_components:
        yield f"All {n} factors of the start were kept; there may be more (--components {2 * n})."
