"""The folder that a fit leaves behind: model, data, tables, plots and summary; written, told, opened again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from latentbits.cli.console import say
from latentbits.cli.output import DATA_FILE, MODEL_FILE, PLOTS_FOLDER, SUMMARY_FILE, write_csv, write_json

if TYPE_CHECKING:
    from latentbits.findings.results import Figures, Results

__all__ = ["Stopwatch", "model_file", "tell", "write"]


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


def write(results: Results, folder: Path) -> None:
    """Write everything into a folder; the summary lists the files."""
    from latentbits.data.stored import save_data
    from latentbits.persistence import save_model

    save_model(results.model, folder / MODEL_FILE)
    save_data(results.data, folder / DATA_FILE, **results.more)
    for name, table in results.tables.items():
        write_csv(table, folder / f"{name}.csv")
    write_plots(results.figures, folder / PLOTS_FOLDER)
    files = [MODEL_FILE, DATA_FILE, SUMMARY_FILE, PLOTS_FOLDER, *(f"{name}.csv" for name in results.tables)]
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


def model_file(fitted: Path) -> Path:
    """The model of a folder made by a fit, or the model file itself."""
    if not fitted.exists():
        raise FileNotFoundError(f'{fitted}: no such folder; give one made by "latentbits fit", or a model file')
    if not fitted.is_dir():
        return fitted
    if not (fitted / MODEL_FILE).is_file():
        raise FileNotFoundError(f'{fitted} holds no {MODEL_FILE}; give a folder made by "latentbits fit"')
    return fitted / MODEL_FILE
