"""What a fit leaves behind, whatever the model: tables, a summary, figures and a few lines; written, then told."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from latentbits.cli.console import say
from latentbits.cli.output import MODEL_FILE, PLOTS_FOLDER, SUMMARY_FILE, write_csv, write_json

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
    "Stopwatch",
    "attributes",
    "common_summary",
    "data_table",
    "labelled",
    "restart_line",
    "size",
    "tell",
    "unused",
    "write",
]

Data = Union["BinaryData", "NumberTable"]
Figures = dict[str, Callable[[], "Figure"]]
AGREEMENT = 1e-4
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas")


class Stopwatch:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Time what happens inside."""
        start = time.perf_counter()
        yield
        self.seconds[what] = round(time.perf_counter() - start, 3)


@dataclass
class Results:
    """A fitted model, its data, and what is written and told about them.

    Tables are named as their files; figures are drawn when they are written; `lines` is the short answer.
    """

    model: Any
    data: Data
    tables: dict[str, pd.DataFrame]
    summary: dict[str, Any]
    figures: Figures
    lines: list[str]


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


# ---- writing and telling -----------------------------------------------------------------------------------


def write(results: Results, folder: Path) -> None:
    """Write model, tables, plots and summary into a folder; the summary lists the files."""
    from latentbits.persistence import save_model

    save_model(results.model, folder / MODEL_FILE)
    for name, table in results.tables.items():
        write_csv(table, folder / f"{name}.csv")
    write_plots(results.figures, folder / PLOTS_FOLDER)
    files = [MODEL_FILE, SUMMARY_FILE, PLOTS_FOLDER, *(f"{name}.csv" for name in results.tables)]
    write_json({**results.summary, "files": files}, folder / SUMMARY_FILE)


def write_plots(figures: Figures, folder: Path) -> None:
    """Draw the figures and write them as PNG."""
    folder.mkdir()
    for name, draw in figures.items():
        draw().savefig(folder / f"{name}.png")


def tell(results: Results, folder: Path) -> None:
    """The short answer on the terminal."""
    first, *others = results.lines
    say(first)
    if results.data.row_label:
        say(f'The column "{results.data.row_label}" names the rows (--no-row-labels if it is data).')
    for line in others:
        say(line)
    tables = ", ".join(f"{name}.csv" for name in results.tables if name != "restarts")
    say(f"Look at {folder}: {tables}, {SUMMARY_FILE}, and pictures in {PLOTS_FOLDER}.")


def size(data: dict[str, Any]) -> str:
    """The size of the data in words."""
    table = f"{data['rows']:,} rows x {data['columns']:,} columns"
    if "ones" not in data:
        return table
    missing = f", {data['missing']:,} cells missing" if data["missing"] else ""
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
