"""What has been found, whatever the model: tables, a summary, figures and a few lines."""

from __future__ import annotations

import contextlib
import hashlib
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable

__all__ = [
    "Data",
    "Figures",
    "Results",
    "attributes",
    "common_summary",
    "components_fingerprint",
    "data_table",
    "harmless",
    "labelled",
    "restart_line",
    "size",
    "sureness",
    "unused",
]

Data = Union["BinaryData", "NumberTable"]
Figures = dict[str, Callable[[], "Figure"]]
AGREEMENT = 1e-4
STABLE, UNSTABLE = 0.9, 0.6
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas")


@dataclass
class Results:
    """A fitted model, its data, and what is written and told about them.

    Tables are named as their files; figures are drawn when they are written; `lines` is what the terminal
    shows, `answer` its two most important sentences; `more` is what went into the fit beside the data.
    """

    model: Any
    data: Data
    tables: dict[str, pd.DataFrame]
    summary: dict[str, Any]
    figures: Figures
    lines: list[str]
    answer: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)


# ---- tables ------------------------------------------------------------------------------------------------


def data_table(cells: np.ndarray, data: Data) -> pd.DataFrame:
    """Cells of the shape of the data, with their labels."""
    return labelled(cells, attributes(data), data)


def labelled(values: np.ndarray, names: list[str], data: Data) -> pd.DataFrame:
    """A table with the rows' labels, or positions, in front."""
    import pandas as pd

    table = pd.DataFrame(values, columns=names)
    labels = data.row_names if data.row_names is not None else range(len(values))
    table.insert(0, unused(data.row_label or "row", names), labels)
    return table


def attributes(data: Data) -> list[str]:
    """The columns' names; without any, their positions, as in the table of suspects."""
    return data.column_names if data.column_names is not None else [str(j) for j in range(data.shape[1])]


def unused(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores behind it until no column is called so."""
    while name in taken:
        name += "_"
    return name


def harmless(label: object) -> object:
    """A label that would begin a formula, with an apostrophe in front; numbers stay as they are.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-0.5"), harmless("Equus")
    ("'=1+1", '-0.5', 'Equus')
    """
    if not isinstance(label, str) or not label.startswith(_FORMULA_STARTS):
        return label
    with contextlib.suppress(ValueError):
        float(label)
        return label
    return f"'{label}"


# ---- the summary -------------------------------------------------------------------------------------------


def common_summary(model: Any, data: Data) -> dict[str, Any]:
    """What the summary of every model begins with."""
    from latentbits.data.numbers import NumberTable
    from latentbits.models.registry import model_name

    rows = data.to_frame() if isinstance(data, NumberTable) else data
    return {
        "model": model_name(model),
        "versions": _versions(),
        "parameters": model.get_params(),
        "seed": model.random_state,
        "data": _about(data),
        "objective": float(model.objective_),
        "iterations": int(model.n_iter_),
        "converged": bool(model.converged_),
        **{name: getattr(model, name)(rows) for name in ("aic", "bic") if hasattr(model, name)},
        "restarts": {"made": len(model.restarts_), "agreeing": _n_agreeing(model)},
    }


def _about(data: Data) -> dict[str, Any]:
    from latentbits.data.numbers import NumberTable

    n_rows, n_columns = data.shape
    about: dict[str, Any] = {"fingerprint": data.fingerprint(), "rows": n_rows, "columns": n_columns}
    if isinstance(data, NumberTable):
        return about
    counts = {"ones": data.n_ones, "zeros": data.n_observed - data.n_ones, "missing": data.n_missing}
    return {**about, **counts, "density": data.density}


def _versions() -> dict[str, str]:
    from latentbits.version import __version__

    installed = {name: version(name) for name in _LIBRARIES}
    return {"latentbits": __version__, "python": platform.python_version(), **installed}


def _n_agreeing(model: Any) -> int:
    """How many restarts came as far as the best."""
    best = model.objective_
    return int((best - model.restarts_["objective"] <= AGREEMENT * abs(best)).sum())


def components_fingerprint(model: Any) -> str:
    """16 hex digits that identify the components of a fit: what ratings are about."""
    import numpy as np

    return hashlib.sha256(np.ascontiguousarray(model.components_, "<f8").tobytes()).hexdigest()[:16]


# ---- lines ---------------------------------------------------------------------------------------------------


def size(data: dict[str, Any]) -> str:
    """The size of the data in words."""
    table = f"{data['rows']:,} rows x {data['columns']:,} columns"
    if "ones" not in data:
        return table
    missing = f", {data['missing']:,} cell{'s' * (data['missing'] > 1)} missing" if data["missing"] else ""
    return f"{table} ({data['density']:.1%} ones{missing})"


def restart_line(summary: dict[str, Any]) -> str:
    """Whether the restarts agree, and what to do if they don't."""
    made, agreeing = summary["restarts"]["made"], summary["restarts"]["agreeing"]
    if made == 1:
        return "There was one restart only; more of them (--restarts 10) show whether the answer is stable."
    if agreeing > 1:
        return f"{agreeing} of {made} restarts came within 0.01 % of the best objective."
    return (
        f"No other of {made} restarts came within 0.01 % of the best objective; more of them "
        f"(--restarts {3 * made}) may find a better answer."
    )


def sureness(summary: dict[str, Any]) -> str:
    """How far the components can be trusted, as a clause: what other random starts find."""
    stability = summary["stability"]
    if summary["restarts"]["made"] == 1:
        return "there was one random start only, so nothing tells how stable this is"
    if len(stability) == 1:
        return "one component is the same from every start"
    median, worst = statistics.median(stability), min(stability)
    likeness = f"(likeness {median:.2f}, the least of a component {worst:.2f}; 1 is the same, 0 unlike)"
    if median >= STABLE and worst >= UNSTABLE:
        return f"the next best random starts find the same components again {likeness}"
    if median >= UNSTABLE:
        return (
            f"the next best random starts find most components again {likeness}, so trust the ranking more than single "
            "cells"
        )
    return f"the next best random starts find other components {likeness}, so this is one of several readings"
