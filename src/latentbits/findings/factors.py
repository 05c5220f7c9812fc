"""Results of any model whose rows have weights on components: mixture, logistic PCA, the factorisations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.findings.results import (
    Figures,
    Results,
    attributes,
    common_summary,
    data_table,
    has_restarts,
    labelled,
    restart_lines,
    size,
    stability_clause,
    unused,
)
from latentbits.findings.sampling import sampling_lines, sampling_summary
from latentbits.models.factor_model import FactorModel
from latentbits.models.solved_rows import SolvedRows
from latentbits.tasks.stability import component_stability
from latentbits.wording import counted

__all__ = ["components_table", "gather", "weights_table"]


def gather(solved: SolvedRows) -> Results:
    """Everything that goes into the folder about a model and rows."""
    model, data = solved.model, solved.data
    tables = {
        "components": components_table(model, data),
        "weights": weights_table(solved.weights, data),
        "reconstruction": data_table(solved.reconstruct(), data),
    }
    summary = common_summary(model, data, solved)
    samples = getattr(model, "_samples", None)
    if samples is not None:
        summary["sampling"] = sampling_summary(samples)
    figures: Figures = {}
    if has_restarts(model):
        tables["restarts"] = model.restarts_
        summary["stability"] = component_stability(model).tolist()
        figures["objective"] = partial(plots.plot_objective, model)
    if (model.components_ >= 0).all() and (model.components_ <= 1).all():
        figures["components"] = partial(plots.plot_components, model)
    n = len(model.components_)
    lines = [f"{counted(n, 'component')} fitted to {size(summary['data'])}."]
    if "aic" in summary:
        lines.append(f"AIC {summary['aic']:.1f}, BIC {summary['bic']:.1f} (lower is better, among fits of this model).")
    answer = [lines[0], f"How sure: {stability_clause(summary)}."] if has_restarts(model) else []
    lines += restart_lines(summary) if samples is None else sampling_lines(summary["sampling"])
    return Results(model, data, tables, summary, figures, lines, answer, solved=solved)


def components_table(model: FactorModel, data: BinaryData, **properties: Any) -> pd.DataFrame:
    """A line for each component, with its properties in front."""
    names = attributes(data)
    table = pd.DataFrame(model.components_, columns=names)
    for place, (name, values) in enumerate({"component": np.arange(len(table)), **properties}.items()):
        table.insert(place, unused(name, names), values)
    return table


def weights_table(weights: np.ndarray, data: BinaryData) -> pd.DataFrame:
    """The rows' weights with their labels, and what else is known of the rows behind them."""
    names = [f"component_{k}" for k in range(weights.shape[1])]
    table = labelled(weights, names, data)
    for name, values in (data.metadata or {}).items():
        table[unused(name, table.columns.tolist())] = values
    return table
