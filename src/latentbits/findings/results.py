"""What has been found, whatever the model: tables, a summary, figures and a few lines."""

from __future__ import annotations

import hashlib
import platform
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Union

from latentbits.data.messages import quoted
from latentbits.wording import counted, place

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable
    from latentbits.models.solved_rows import SolvedRows

__all__ = [
    "Data",
    "Figures",
    "Results",
    "attributes",
    "common_summary",
    "components_fingerprint",
    "data_table",
    "has_restarts",
    "in_words",
    "labelled",
    "restart_lines",
    "size",
    "stability_clause",
    "unused",
    "with_names",
]

Data = Union["BinaryData", "NumberTable"]
Figures = dict[str, Callable[[], "Figure"]]
STABLE, UNSTABLE = 0.9, 0.6
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas")


@dataclass
class Results:
    """A fitted model, its data, and what is written and said about them.

    Attributes
    ----------
    model : fitted estimator
    data : BinaryData or NumberTable
    tables : dict of str to DataFrame
        By the names of their files.
    summary : dict
        What summary.json holds.
    figures : dict of str to callable
        Drawn when they are written.
    lines : list of str
        What the terminal shows.
    answer : list of str
        The two most important sentences of these.
    fit_params : dict
        What `fit` was given beside the data.
    evidence : list of str
        Those of the lines and of the answer that are left out when the model predicts nothing (`lead_with_verdict`).
    solved : SolvedRows, optional
        The model and the rows with all that has been solved for, where the model is a `FactorModel`.
    sure : list of str, optional
        How sure all this is; by default what random starts tell.
    """

    model: Any
    data: Data
    tables: dict[str, pd.DataFrame]
    summary: dict[str, Any]
    figures: Figures
    lines: list[str]
    answer: list[str] = field(default_factory=list)
    fit_params: dict[str, Any] = field(default_factory=dict)
    evidence: list[str] = field(default_factory=list)
    solved: Any = None
    sure: list[str] = field(default_factory=list)


# ---- tables ------------------------------------------------------------------------------------------------


def data_table(cells: np.ndarray, data: Data) -> pd.DataFrame:
    """Cells of the shape of the data, with their labels."""
    return labelled(cells, attributes(data), data)


def labelled(values: np.ndarray, names: list[str], data: Data) -> pd.DataFrame:
    """A table with the rows' labels, or what rows without one are called, in front."""
    import pandas as pd

    table = pd.DataFrame(values, columns=names)
    labels = data.row_names if data.row_names is not None else [place("row", i) for i in range(len(values))]
    table.insert(0, unused(data.row_label or "row", names), labels)
    return table


def attributes(data: Data) -> list[str]:
    """The columns' names, or what columns without one are called."""
    return data.column_names if data.column_names is not None else [place("column", j) for j in range(data.shape[1])]


def with_names(table: pd.DataFrame) -> pd.DataFrame:
    """A table of cells (suspects, explanations) for people: positions, which Python counts from 0, become "row 1"."""
    named = table.copy()
    for what in ("row", "column"):
        if table[what].dtype.kind == "i":
            named[what] = [place(what, position) for position in table[what]]
    return named


def unused(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores behind it until no column is called so."""
    while name in taken:
        name += "_"
    return name


# ---- the summary -------------------------------------------------------------------------------------------


def common_summary(model: Any, data: Data, solved: SolvedRows | None = None) -> dict[str, Any]:
    """What the summary of every model begins with; from solved rows, where there are any."""
    from latentbits.data.numbers import NumberTable
    from latentbits.models.registry import model_name
    from latentbits.models.view import n_agreeing

    rows = data.to_frame() if isinstance(data, NumberTable) else data
    summary = {
        "model": model_name(model),
        "versions": _versions(),
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "data": _about(data),
        **({"objective": float(model.objective_)} if hasattr(model, "objective_") else {}),
        **{name: _criterion(name, model, rows, solved) for name in ("aic", "bic") if hasattr(model, name)},
    }
    if has_restarts(model):
        summary |= {
            "seed": _plain(model.random_state),
            "iterations": int(model.n_iter_),
            "converged": bool(model.converged_),
            "restarts": {"made": len(model.restarts_), "agreeing": n_agreeing(model)},
        }
    return summary


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's own, which read better and which JSON knows."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def _criterion(name: str, model: Any, rows: Any, solved: SolvedRows | None) -> float:
    return float(getattr(model, name)(rows) if solved is None else getattr(solved, name)())


def has_restarts(model: Any) -> bool:
    """Whether the model was fitted from random starts, which it then tells about."""
    return hasattr(model, "restarts_")


def _about(data: Data) -> dict[str, Any]:
    from latentbits.data.numbers import NumberTable

    n_rows, n_columns = data.shape
    about: dict[str, Any] = {"fingerprint": data.fingerprint(), "rows": n_rows, "columns": n_columns}
    if isinstance(data, NumberTable):
        return {**about, "missing": data.n_missing}
    counts = {"ones": data.n_ones, "zeros": data.n_observed - data.n_ones, "missing": data.n_missing}
    return {**about, **counts, "density": data.density, "constant_columns": _n_constant(data)}


def _n_constant(data: BinaryData) -> int:
    """How many columns don't have both a 0 and a 1: they say nothing about what goes together."""
    ones = data.ones_per_column()
    return int(((ones == 0) | (ones == data.observed_per_column())).sum())


def _versions() -> dict[str, str]:
    from latentbits.version import __version__

    installed = {name: version(name) for name in _LIBRARIES}
    return {"latentbits": __version__, "python": platform.python_version(), **installed}


def components_fingerprint(model: Any) -> str:
    """16 hex digits that identify the components of a fit: what ratings are about."""
    import numpy as np

    return hashlib.sha256(np.ascontiguousarray(model.components_, "<f8").tobytes()).hexdigest()[:16]


# ---- lines ---------------------------------------------------------------------------------------------------


def size(data: dict[str, Any]) -> str:
    """The size of the data in words."""
    table = f"{counted(data['rows'], 'row')} x {counted(data['columns'], 'column')}"
    missing = f", {counted(data['missing'], 'cell')} missing" if data["missing"] else ""
    if "ones" not in data:
        return table + missing
    constant = f", {counted(data['constant_columns'], 'constant column')}" if data.get("constant_columns") else ""
    return f"{table} ({data['density']:.1%} ones{missing}{constant})"


def in_words(what: str, name: str) -> str:
    """A row or column in a sentence; one without a name is called "row 3" already."""
    return name if name.startswith(f"{what} ") else f"{what} {quoted(name)}"


def restart_lines(summary: dict[str, Any]) -> Iterator[str]:
    """Whether the restarts agree, and what to do if they don't."""
    if "restarts" not in summary:
        found = "and it was found" if summary.get("converged", True) else "which was not reached; raise --max-iter"
        yield f"There are no random starts: this model has one best answer, {found}."
        return
    made, agreeing = summary["restarts"]["made"], summary["restarts"]["agreeing"]
    if made == 1:
        yield "There was one restart only; more of them (--restarts 10) show whether the answer is stable."
    elif agreeing > 1:
        yield f"{agreeing} of {counted(made, 'restart')} came within 0.01 % of the best objective."
    else:
        yield (
            f"No other of {made} restarts came within 0.01 % of the best objective; more of them "
            f"(--restarts {3 * made}) may find a better answer."
        )


def stability_clause(summary: dict[str, Any]) -> str:
    """How stable the components are, as a clause: what other random starts find."""
    stability = summary["stability"]
    if summary["restarts"]["made"] == 1:
        return "there was one random start only, so nothing tells how stable this is"
    if len(stability) == 1:
        return "one component is the same from every start"
    median, worst = statistics.median(stability), min(stability)
    likeness = f"(likeness {median:.2f}, the least of a component {worst:.2f}; 1 is the same, 0 as two different ones)"
    if median >= STABLE and worst >= UNSTABLE:
        return f"the next best random starts find the same components again {likeness}"
    if median >= UNSTABLE:
        return (
            f"the next best random starts find most components again {likeness}, so trust the ranking more than single "
            "cells"
        )
    return f"the next best random starts find other components {likeness}, so this is one of several readings"
