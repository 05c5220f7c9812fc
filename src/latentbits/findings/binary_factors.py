"""Results of binary factor analysis: the factors found, and which of them are on in each row."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from latentbits import plots
from latentbits.data.numbers import NumberTable
from latentbits.findings.results import Figures, Results, attributes, common_summary, labelled, restart_lines, size
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
from latentbits.wording import counted

__all__ = ["gather"]


def gather(model: BinaryFactorAnalysis, data: NumberTable) -> Results:
    """Ask a model fitted to the data everything that goes into the folder."""
    names = [f"factor_{k}" for k in range(model.n_components_)]
    mixing = pd.DataFrame(model.mixing_, columns=names)
    mixing.insert(0, "variable", attributes(data))
    mixing.insert(1, "mean_", model.mean_)
    tables = {
        "mixing": mixing,
        "codes": labelled(model.transform(data.to_frame()), names, data),
        "probabilities": labelled(model.predict_proba(data.to_frame()), names, data),
        "discards": model.discards_,
        "restarts": model.restarts_,
    }
    summary = {
        **common_summary(model, data),
        "factors": model.n_components_,
        "factor_probabilities": model.factor_probabilities_.tolist(),
        "noise_precision": float(model.noise_precision_),
    }
    figures: Figures = {"objective": partial(plots.plot_objective, model)}
    if model.n_components_:
        figures["mixing"] = partial(plots.plot_mixing, model)
    return Results(model, data, tables, summary, figures, list(_lines(model, summary)))


def _lines(model: BinaryFactorAnalysis, summary: dict[str, Any]) -> Iterator[str]:
    n, gone = model.n_components_, len(model.discards_)
    dropped = f"; {gone} of {n + gone} {'was' if gone == 1 else 'were'} discarded while learning" if gone else ""
    yield f"{counted(n, 'binary factor')} found in {size(summary['data'])}{dropped}."
    if n == 0:
        yield "Nothing in the data is stronger than the noise."
    else:
        yield "Which state of a factor is called on (1, not -1) is a matter of convention: both signs fit alike."
    for k, (probability, column) in enumerate(zip(model.factor_probabilities_, model.mixing_.T, strict=True)):
        strength = float((column**2).sum() * model.noise_precision_) ** 0.5
        yield f"Factor {k} is on in {probability:.0%} of the rows; it is {strength:.1f} times as strong as the noise."
    yield from restart_lines(summary)
