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
    labelled,
    restart_line,
    size,
    sureness,
    unused,
)
from latentbits.models.base import FactorModel
from latentbits.tasks.stability import component_stability

__all__ = ["components_table", "gather", "weights_table"]


def gather(model: FactorModel, data: BinaryData) -> Results:
    """Ask a model fitted to the data everything that goes into the folder."""
    tables = {
        "components": components_table(model, data),
        "weights": weights_table(model, data),
        "reconstruction": data_table(model.reconstruct(data), data),
        "restarts": model.restarts_,
    }
    summary = {**common_summary(model, data), "stability": component_stability(model).tolist()}
    figures: Figures = {"objective": partial(plots.plot_objective, model)}
    if (model.components_ >= 0).all() and (model.components_ <= 1).all():
        figures["components"] = partial(plots.plot_components, model)
    n = len(model.components_)
    lines = [f"{n} component{'s' * (n > 1)} fitted to {size(summary['data'])}."]
    if "aic" in summary:
        lines.append(f"AIC {summary['aic']:.1f}, BIC {summary['bic']:.1f} (lower is better, among fits of this model).")
    answer = [lines[0], f"How sure: {sureness(summary)}."]
    return Results(model, data, tables, summary, figures, [*lines, restart_line(summary)], answer)


def components_table(model: FactorModel, data: BinaryData, **told: Any) -> pd.DataFrame:
    """A line for each component, with what is told of it in front."""
    names = attributes(data)
    table = pd.DataFrame(model.components_, columns=names)
    for place, (name, values) in enumerate({"component": np.arange(len(table)), **told}.items()):
        table.insert(place, unused(name, names), values)
    return table


def weights_table(model: FactorModel, data: BinaryData) -> pd.DataFrame:
    """The rows' weights with their labels."""
    return labelled(model.weights_, [f"component_{k}" for k in range(len(model.components_))], data)
