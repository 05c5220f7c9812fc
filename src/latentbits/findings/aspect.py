"""Results of the aspect models: components with their phantoms, cleaned data, suspects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.findings.factors import components_table, weights_table
from latentbits.findings.noise import noise_summary
from latentbits.findings.results import (
    Figures,
    Results,
    attributes,
    common_summary,
    data_table,
    in_words,
    restart_lines,
    size,
    stability_clause,
    with_names,
)
from latentbits.findings.sampling import sampling_lines, sampling_summary
from latentbits.fitting.chains import samples_needed
from latentbits.models.aspect.aspect_model import AspectModel
from latentbits.models.aspect.aspect_rows import AspectRows
from latentbits.models.aspect.noise_components import EXTINCT
from latentbits.models.cell_ranking import Kind
from latentbits.tasks.stability import component_stability
from latentbits.wording import counted

if TYPE_CHECKING:
    from latentbits.models.aspect.beta_ica import BetaICA

__all__ = ["gather", "suspects_table"]

N_SUSPECTS = 1000
N_LISTED = 5
SUSPECTED = 0.5
LEVEL = 0.95
EXPLAINS = {"white": "zeros that the content of a row", "black": "ones that the content of a row"}
"""What a phantom explains."""


def gather(solved: AspectRows) -> Results:
    """Everything that goes into the folder about a model and rows."""
    model, data = solved.model, solved.data
    denoised = solved.denoise()
    suspects, counts = _suspects(solved)
    shares = solved.weights.mean(axis=0)
    tables = {
        "components": components_table(model, data, kind=model.phantoms_, share=shares),
        "weights": weights_table(solved.weights, data),
        "denoised": data_table(denoised, data),
        "suspects": suspects,
        "restarts": model.restarts_,
    }
    posterior = getattr(model, "_posterior", None)
    if hasattr(model, "components_interval") and (posterior is None or len(posterior.H) >= samples_needed(LEVEL)):
        tables["components_interval"] = _interval_table(model, data)
    summary = {
        **common_summary(model, data, solved),
        "components": _components(model, shares),
        "stability": component_stability(model).tolist(),
        "suspected": counts,
    }
    if model.noise is not None:
        summary["noise"] = noise_summary(model)
    if posterior is not None:
        summary["sampling"] = sampling_summary(posterior)
    weights = None if solved.are_training_rows() else solved.weights
    figures: Figures = {
        "components": partial(plots.plot_components, model),
        "weights": partial(plots.plot_weights, model, ones=data.ones_per_row(), weights=weights),
        "objective": partial(plots.plot_objective, model),
        "denoising": partial(plots.plot_denoising, data, denoised),
    }
    lines, answer = list(_lines(summary, suspects)), _answer(summary)
    evidence = [*_suspect_lines(summary, suspects), *answer]
    return Results(model, data, tables, summary, figures, lines, answer, evidence=evidence, solved=solved)


def _suspects(solved: AspectRows) -> tuple[pd.DataFrame, dict[str, int]]:
    """The most suspected zeros, and ones if there is a phantom that makes them; and how many there are."""
    counts = {kind: int((solved.suspicion(kind=kind) >= SUSPECTED).sum()) for kind in _doubted(solved.model)}
    return suspects_table(solved), {str(kind): count for kind, count in counts.items()}


def suspects_table(solved: AspectRows) -> pd.DataFrame:
    """The most suspected zeros, and ones if there is a phantom that makes them."""
    parts: list[pd.DataFrame] = []
    for kind in _doubted(solved.model):
        part = with_names(solved.suspects(kind=kind, top=N_SUSPECTS))
        part.insert(2, "kind", kind)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _doubted(model: AspectModel) -> list[Kind]:
    return ["absence", "presence"] if "black" in model.phantoms_ else ["absence"]


def _interval_table(model: BetaICA, data: BinaryData) -> pd.DataFrame:
    """The components with their 95 % credible intervals, a line for each component and attribute."""
    low, high = model.components_interval(LEVEL)
    K, D = model.components_.shape
    return pd.DataFrame(
        {
            "component": np.repeat(np.arange(K), D),
            "attribute": np.tile(attributes(data), K),
            "mean": model.components_.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )


def _components(model: AspectModel, shares: np.ndarray) -> list[dict[str, Any]]:
    parts = zip(model.phantoms_, shares, strict=True)
    return [{"component": k, "kind": str(kind), "share": float(share)} for k, (kind, share) in enumerate(parts)]


# ---- sentences -----------------------------------------------------------------------------------------------


def _answer(summary: dict[str, Any]) -> list[str]:
    """How many causes, and which are phantoms; what was decided about noise; how many suspects, and how sure."""
    parts, suspected, data = summary["components"], summary["suspected"], summary["data"]
    phantoms = [part for part in parts if part["kind"] in EXPLAINS]
    living = [part for part in parts if part["kind"] != EXTINCT]
    n, n_content = len(living), len(living) - len(phantoms)
    rows = f"these {data['rows']:,} rows" if data["rows"] > 1 else "this row"
    first = f"{n} hidden cause{'s' * (n > 1)} make{'s' * (n == 1)} up {rows}"
    if phantoms:
        named = [f"component {p['component']}, a {p['kind']} phantom ({p['share']:.0%} of the data)" for p in phantoms]
        kinds = sorted({EXPLAINS[part["kind"]] for part in phantoms}, reverse=True)
        first += f": {n_content} with content, and {', '.join(named)}, for {' and '.join(kinds)} does not explain."
    else:
        first += ", all of them content: none stands for false zeros or ones alone."
    doubts = [f"{suspected['absence']:,} of {data['zeros']:,} zeros are suspected to hide a 1"]
    if "presence" in suspected:
        doubts.append(f"{suspected['presence']:,} of {data['ones']:,} ones to be false")
    noise = list(_noise_lines(summary))
    mean_of = "posterior samples" if "sampling" in summary else "random starts"
    by = f", by the mean of the {mean_of}" if summary["restarts"]["made"] > 1 else ""
    return [first, *noise, f"{' and '.join(doubts)}{by}; {stability_clause(summary)}."]


def _lines(summary: dict[str, Any], suspects: pd.DataFrame) -> Iterator[str]:
    n = len(summary["components"])
    yield f"{n} component{'s' * (n > 1)} fitted to {size(summary['data'])}."
    extinct = [part["component"] for part in summary["components"] if part["kind"] == EXTINCT]
    if extinct:
        yield f"{counted(len(extinct), 'component')} of them learned nothing and count as extinct: fewer are enough."
    yield from _phantom_lines(summary)
    yield from _noise_lines(summary)
    yield from _suspect_lines(summary, suspects)
    yield from sampling_lines(summary["sampling"]) if "sampling" in summary else restart_lines(summary)


def _phantom_lines(summary: dict[str, Any]) -> Iterator[str]:
    phantoms = [part for part in summary["components"] if part["kind"] in EXPLAINS]
    if len(phantoms) > N_LISTED:
        yield f"{len(phantoms)} components are phantoms; the largest:"
    for part in phantoms[:N_LISTED]:
        yield (
            f"Component {part['component']} is a {part['kind']} phantom: it explains {part['share']:.1%} "
            f"of the data, {EXPLAINS[part['kind']]} does not."
        )
    if not phantoms:
        yield "No component is a phantom: none makes false zeros or ones alone. Observed cells stay in denoised.csv."


def _noise_lines(summary: dict[str, Any]) -> Iterator[str]:
    if "noise" in summary:
        yield summary["noise"]["decision"]


def _suspect_lines(summary: dict[str, Any], table: pd.DataFrame) -> Iterator[str]:
    values = {"absence": ("zeros", "a 1"), "presence": ("ones", "a 0")}
    for kind, count in summary["suspected"].items():
        what, meaning = values[kind]
        end = ". The most suspected:" if count else "."
        of_all = f"{count:,} of {summary['data'][what]:,} {what}"
        yield f"{of_all} are suspected: by the content of its row, {meaning} is likelier there{end}"
        best = table[(table["kind"] == kind) & (table["score"] >= SUSPECTED)].head(N_LISTED)
        for suspect in best.itertuples():
            yield f"    {suspect.score:.2f}  {in_words('row', suspect.row)}, {in_words('column', suspect.column)}"
