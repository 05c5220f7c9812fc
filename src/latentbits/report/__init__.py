"""The report: one HTML file, which an analyst can open anywhere, explore, act in and send on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.findings.results import Results

__all__ = ["write_report"]


def write_report(
    results: Results,
    path: str | Path,
    *,
    shape: tuple[int, int] | None = None,
    selection: pd.DataFrame | None = None,
    ratings: dict[str, Any] | None = None,
) -> None:
    """Write what was found as one HTML file that needs nothing else."""
    Path(path).write_text("<!doctype html><title>latentbits</title>", encoding="utf-8")
