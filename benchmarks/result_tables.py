"""Writes the tables of a benchmark to benchmarks/results, with the machine that they were measured on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).resolve().parent / "results"


def write(
    name: str,
    heading: str,
    tables: Mapping[str, pd.DataFrame],
    *,
    quick: bool,
    packages: tuple[str, ...] = ("numpy",),
    notes: Mapping[str, str] | None = None,
) -> None:
    """The tables as JSON and as Markdown; what a quick run measures is kept apart, in NAME_quick.

    `packages` are those whose versions matter; `notes` stand between the title of a table and the table.
    """
    RESULTS.mkdir(exist_ok=True)
    machine = _machine(packages)
    stem = RESULTS / (f"{name}_quick" if quick else name)
    records = {title: table.to_dict("records") for title, table in tables.items()}
    stem.with_suffix(".json").write_text(json.dumps({"machine": machine, **records}, indent=2) + "\n")
    sections = [f"# {heading}\n\n{machine}\n"]
    for title, table in tables.items():
        note = f"{notes[title]}\n\n" if notes else ""
        sections.append(f"## {title}\n\n{note}{_markdown(table)}\n")
    stem.with_suffix(".md").write_text("\n".join(sections))


def _machine(packages: tuple[str, ...]) -> str:
    busy = f"load {os.getloadavg()[0]:.1f} at the end of the run"
    software = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    return ", ".join([f"{os.cpu_count()} cores", platform.machine(), busy, *software])


def _markdown(table: pd.DataFrame) -> str:
    lines = [table.columns, ["---"] * table.shape[1], *table.to_numpy(dtype=object)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
