"""The report: one HTML file, which an analyst can open anywhere, explore, act in and send on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.findings.results import Results

__all__ = ["report_on", "write_report"]


def write_report(
    results: Results,
    path: str | Path,
    *,
    shape: tuple[int, int] | None = None,
    selection: pd.DataFrame | None = None,
    ratings: dict[str, Any] | None = None,
) -> None:
    """Write what was found as one HTML file that needs nothing else.

    Parameters
    ----------
    results : Results
        What `latentbits.findings.gather` returns.
    path : str or Path
        Where to write; an existing file is replaced, at once or not at all.
    shape : (int, int), optional
        Rows and columns of the image that the attributes form; found by itself if they are named r0c0, r0c1, ...
    selection : DataFrame, optional
        The table of an order selection, to be drawn.
    ratings : dict, optional
        What a page has saved as ratings.json: where the sliders begin, and which cells are marked.
    """
    from latentbits.files import atomic_file
    from latentbits.report.content import page_content
    from latentbits.report.page import render

    text = render(page_content(results, shape=shape, selection=selection, ratings=ratings))
    with atomic_file(Path(path)) as draft:
        draft.write_text(text, encoding="utf-8")


def report_on(model: Any, X: Any, path: str | Path, *, shape: tuple[int, int] | None = None, **fit_params: Any) -> None:
    """Gather what a fitted model says about X, and write it as a page; `fit_params` went into the fit beside X."""
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable
    from latentbits.findings import gather
    from latentbits.models.registry import NUMBER_MODELS, model_name

    numbers = model_name(model) in NUMBER_MODELS
    data = NumberTable.of(X) if numbers else BinaryData.of(X, binarize=model.binarize)
    write_report(gather(model, data, **fit_params), path, shape=shape)
