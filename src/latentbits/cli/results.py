"""What a fit leaves behind: gathered from a fitted model, then written to a folder or told in a few lines."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbits.cli.console import say
from latentbits.cli.output import MODEL_FILE, PLOTS_FOLDER, SUMMARY_FILE, write_csv, write_json

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from latentbits.data.binary_data import BinaryData
    from latentbits.models.aspect.base import AspectModel, Kind
    from latentbits.models.aspect.estimator import BetaICA

__all__ = ["Results", "Stopwatch", "data_table", "gather", "tell", "write"]

N_SUSPECTS = 1000
N_TOLD = 5
SUSPECTED = 0.5
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
    """A fitted model, its data, and what is written about them. Tables are named as their files."""

    model: AspectModel
    data: BinaryData
    denoised: np.ndarray
    tables: dict[str, pd.DataFrame]
    summary: dict[str, Any]
    clean: np.ndarray | None = None
    image_shape: tuple[int, int] | None = None


# ---- gathering ---------------------------------------------------------------------------------------------


def gather(model: AspectModel, data: BinaryData) -> Results:
    """Ask a model fitted to the data everything that goes into the folder."""
    denoised = model.denoise(data)
    suspects, counts = _suspects(model, data)
    tables = {
        "components": _components_table(model, data),
        "weights": _weights_table(model, data),
        "denoised": data_table(denoised, data),
        "suspects": suspects,
        "restarts": model.restarts_,
    }
    if hasattr(model, "components_interval"):
        tables["components_interval"] = _interval_table(model, data)
    return Results(model, data, denoised, tables, _summary(model, data, counts))


def _suspects(model: AspectModel, data: BinaryData) -> tuple[pd.DataFrame, dict[str, int]]:
    """The most suspected zeros, and ones if there is a phantom that makes them; and how many there are."""
    import pandas as pd

    kinds: list[Kind] = ["absence"]
    if "black" in model.phantoms_:
        kinds.append("presence")
    parts: list[pd.DataFrame] = []
    counts: dict[str, int] = {}
    for kind in kinds:
        part = model.suspects(data, kind=kind, top=N_SUSPECTS)
        part.insert(2, "kind", kind)
        counts[kind] = _count_suspected(model, data, kind, part)
        parts.append(part)
    return pd.concat(parts, ignore_index=True), counts


def _count_suspected(model: AspectModel, data: BinaryData, kind: Kind, listed: pd.DataFrame) -> int:
    """How many cells score at least one half; all are scored anew only if the list doesn't reach so far."""
    if len(listed) < N_SUSPECTS or listed["score"].iloc[-1] < SUSPECTED:
        return int((listed["score"] >= SUSPECTED).sum())
    return int((model.suspicion(data, kind=kind) >= SUSPECTED).sum())


def _components_table(model: AspectModel, data: BinaryData) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    names = _attributes(data)
    table = pd.DataFrame(model.components_, columns=names)
    told = {"component": np.arange(len(table)), "kind": model.phantoms_, "share": _shares(model)}
    for place, (name, values) in enumerate(told.items()):
        table.insert(place, _unused(name, names), values)
    return table


def _interval_table(model: BetaICA, data: BinaryData) -> pd.DataFrame:
    """The components with their 95 % credible intervals, a line for each component and attribute."""
    import numpy as np
    import pandas as pd

    low, high = model.components_interval(0.95)
    K, D = model.components_.shape
    return pd.DataFrame(
        {
            "component": np.repeat(np.arange(K), D),
            "attribute": np.tile(_attributes(data), K),
            "mean": model.components_.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )


def _weights_table(model: AspectModel, data: BinaryData) -> pd.DataFrame:
    return _labelled(model.weights_, [f"component_{k}" for k in range(len(model.components_))], data)


def data_table(cells: np.ndarray, data: BinaryData) -> pd.DataFrame:
    """Cells of the shape of the data, with their labels."""
    return _labelled(cells, _attributes(data), data)


def _labelled(values: np.ndarray, names: list[str], data: BinaryData) -> pd.DataFrame:
    """A table with the rows' labels, or positions, in front."""
    import pandas as pd

    table = pd.DataFrame(values, columns=names)
    labels = data.row_names if data.row_names is not None else range(len(values))
    table.insert(0, _unused(data.row_label or "row", names), labels)
    return table


def _attributes(data: BinaryData) -> list[str]:
    """The columns' names; without any, their positions, as in the table of suspects."""
    return data.column_names if data.column_names is not None else [str(j) for j in range(data.shape[1])]


def _unused(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores behind it until no column is called so."""
    while name in taken:
        name += "_"
    return name


def _shares(model: AspectModel) -> np.ndarray:
    """Each component's share of the data: the mean of its weights."""
    return model.weights_.mean(axis=0)


# ---- the summary -------------------------------------------------------------------------------------------


def _summary(model: AspectModel, data: BinaryData, counts: dict[str, int]) -> dict[str, Any]:
    from latentbits.models.registry import model_name

    n_rows, n_columns = data.shape
    return {
        "model": model_name(model),
        "versions": _versions(),
        "parameters": model.get_params(),
        "seed": model.random_state,
        "data": {
            "fingerprint": data.fingerprint(),
            "rows": n_rows,
            "columns": n_columns,
            "ones": data.n_ones,
            "zeros": data.n_observed - data.n_ones,
            "missing": data.n_missing,
            "density": data.density,
        },
        "components": [
            {"component": k, "kind": str(kind), "share": float(share)}
            for k, (kind, share) in enumerate(zip(model.phantoms_, _shares(model), strict=True))
        ],
        "objective": float(model.objective_),
        "iterations": int(model.n_iter_),
        "converged": bool(model.converged_),
        "aic": model.aic(data),
        "bic": model.bic(data),
        "restarts": {"made": len(model.restarts_), "agreeing": _n_agreeing(model)},
        "suspected": counts,
    }


def _versions() -> dict[str, str]:
    from latentbits.version import __version__

    installed = {name: version(name) for name in _LIBRARIES}
    return {"latentbits": __version__, "python": platform.python_version(), **installed}


def _n_agreeing(model: AspectModel) -> int:
    """How many restarts came as far as the best."""
    best = model.objective_
    return int((best - model.restarts_["objective"] <= AGREEMENT * abs(best)).sum())


# ---- writing -----------------------------------------------------------------------------------------------


def write(results: Results, folder: Path) -> None:
    """Write model, tables, plots and summary into a folder."""
    from latentbits.persistence import save_model

    save_model(results.model, folder / MODEL_FILE)
    for name, table in results.tables.items():
        write_csv(table, folder / f"{name}.csv")
    _write_plots(results, folder / PLOTS_FOLDER)
    write_json(results.summary, folder / SUMMARY_FILE)


def _write_plots(results: Results, folder: Path) -> None:
    from latentbits import plots

    model, data = results.model, results.data
    figures = {
        "components": plots.plot_components(model, shape=results.image_shape),
        "weights": plots.plot_weights(model, ones=data.ones_per_row()),
        "objective": plots.plot_objective(model),
        "denoising": plots.plot_denoising(data, results.denoised, clean=results.clean, shape=results.image_shape),
    }
    folder.mkdir()
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png")


# ---- telling -----------------------------------------------------------------------------------------------


def tell(results: Results, folder: Path) -> None:
    """The short answer on the terminal."""
    n = len(results.model.components_)
    say(f"{n} component{'s' * (n > 1)} fitted to {_size(results.summary['data'])}.")
    if results.data.row_label:
        say(f'The column "{results.data.row_label}" names the rows (--no-row-labels if it is data).')
    for line in (*_phantom_lines(results), *_suspect_lines(results), _restart_line(results)):
        say(line)
    say(f"Look at {folder}: components.csv, suspects.csv, denoised.csv, summary.json, and pictures in plots.")


def _size(data: dict[str, Any]) -> str:
    missing = f", {data['missing']:,} cells missing" if data["missing"] else ""
    return f"{data['rows']:,} rows x {data['columns']:,} columns ({data['density']:.1%} ones{missing})"


def _phantom_lines(results: Results) -> Iterator[str]:
    does = {"white": "zeros that the content of the rows does not", "black": "ones that the content does not"}
    phantoms = [part for part in results.summary["components"] if part["kind"] in does]
    if len(phantoms) > N_TOLD:
        yield f"{len(phantoms)} components are phantoms; the largest:"
    for part in phantoms[:N_TOLD]:
        yield (
            f"Component {part['component']} is a {part['kind']} phantom: it explains {part['share']:.1%} "
            f"of the data, {does[part['kind']]}."
        )
    if not phantoms:
        yield "No component is a phantom: none stands for false zeros or ones alone, and denoised.csv is the data."


def _suspect_lines(results: Results) -> Iterator[str]:
    from latentbits.data.binary_data import quoted

    summary, table = results.summary, results.tables["suspects"]
    values = {"absence": ("zeros", "a 1"), "presence": ("ones", "a 0")}
    for kind, count in summary["suspected"].items():
        what, meaning = values[kind]
        end = ". The most suspected:" if count else "."
        of_all = f"{count:,} of {summary['data'][what]:,} {what}"
        yield f"{of_all} are suspected: by the content of its row, {meaning} is likelier there{end}"
        best = table[(table["kind"] == kind) & (table["score"] >= SUSPECTED)].head(N_TOLD)
        for suspect in best.itertuples():
            place = f"row {quoted(str(suspect.row))}, column {quoted(str(suspect.column))}"
            yield f"    {suspect.score:.2f}  {place}"


def _restart_line(results: Results) -> str:
    made, agreeing = results.summary["restarts"]["made"], results.summary["restarts"]["agreeing"]
    if made == 1:
        return "There was one restart only; more of them (--restarts 10) show whether the answer is stable."
    if agreeing > 1:
        return f"{agreeing} of {made} restarts came within 0.01 % of the best objective."
    return (
        f"No other of {made} restarts came within 0.01 % of the best objective; more of them "
        f"(--restarts {3 * made}) may find a better answer."
    )
