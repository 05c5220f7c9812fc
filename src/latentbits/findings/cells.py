"""Results of models that predict each cell from the rest of its row: the predictions, and which columns are coupled."""

from __future__ import annotations

from collections.abc import Iterator
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
    restart_lines,
    size,
)
from latentbits.models.cell_model import CellModel
from latentbits.wording import counted

__all__ = ["gather", "strongest_pairs"]

N_PAIRS = 1000
N_LISTED = 5


def gather(model: CellModel, data: BinaryData) -> Results:
    """Everything that goes into the folder about a model and rows."""
    tables = {"reconstruction": data_table(model.reconstruct(data), data)}
    summary = {**common_summary(model, data), **_search(model)}
    figures: Figures = {}
    if not hasattr(model, "couplings_"):
        lines = [f"Each cell predicted from the rest of its row, in {size(summary['data'])}.", *restart_lines(summary)]
        return Results(model, data, tables, summary, figures, lines)
    pairs = strongest_pairs(model.couplings_, attributes(data))
    tables = {"couplings": pairs, **tables}
    summary["couplings"] = {"pairs": _n_pairs(data), "strongest": pairs.head(N_LISTED).to_dict("records")}
    if len(pairs):
        figures["couplings"] = partial(plots.plot_couplings, model)
    first = f"{counted(_n_pairs(data), 'pair')} of columns, each with a coupling, fitted to {size(summary['data'])}."
    strongest = list(_lines_about(pairs, model))
    lines = [first, *strongest, *restart_lines(summary)]
    answer = [first, _strongest(pairs)]
    return Results(model, data, tables, summary, figures, lines, answer, evidence=[*strongest, *answer[1:]])


def _search(model: Any) -> dict[str, Any]:
    """How the fit went, where there was a search."""
    if not hasattr(model, "n_iter_"):
        return {}
    names = {"iterations": "n_iter_", "converged": "converged_", "gradient_norm": "gradient_norm_"}
    return {name: getattr(model, attribute) for name, attribute in names.items() if hasattr(model, attribute)}


def _n_pairs(data: BinaryData) -> int:
    n_columns = data.shape[1]
    return n_columns * (n_columns - 1) // 2


def strongest_pairs(couplings: np.ndarray, names: list[str], top: int = N_PAIRS) -> pd.DataFrame:
    """The most strongly coupled pairs of columns, strongest first.

    Parameters
    ----------
    couplings : ndarray of shape (n_features, n_features)
        Row j, column k: what column j says about column k.
    names : list of str
        Of the columns.
    top : int, default=1000
        How many at most.

    Returns
    -------
    DataFrame
        `column`, `other` and `coupling`; if the two directions differ, what the other says about the column stands in
        `coupling_back`, and the stronger of the two decides.
    """
    j, k = np.triu_indices(len(couplings), 1)
    there, back = couplings[j, k], couplings[k, j]
    strength = np.maximum(np.abs(there), np.abs(back))
    order = np.argsort(-strength, kind="stable")[:top]
    order = order[strength[order] > 0]
    table = pd.DataFrame(
        {
            "column": [names[place] for place in j[order]],
            "other": [names[place] for place in k[order]],
            "coupling": there[order],
        }
    )
    return table if np.array_equal(couplings, couplings.T) else table.assign(coupling_back=back[order])


def _strongest(pairs: pd.DataFrame) -> str:
    if not len(pairs):
        return "No two columns are coupled: no cell says anything about another."
    pair = next(pairs.itertuples())
    return f"The strongest coupling is that of {pair.column} and {pair.other} ({pair.coupling:+.2f})."


def _lines_about(pairs: pd.DataFrame, model: Any) -> Iterator[str]:
    if not len(pairs):
        yield _strongest(pairs)
        return
    yield f"The strongest couplings (what a 1 in one column adds to the {model._coupled} of a 1 in the other):"
    for pair in pairs.head(N_LISTED).itertuples():
        back = f", back {pair.coupling_back:+.2f}" if "coupling_back" in pairs else ""
        yield f"    {pair.coupling:+.2f}  {pair.column}, {pair.other}{back}"
