"""The folder that a fit leaves behind: model, data, tables, plots and summary; written, told, opened again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbits.cli.console import Voice
from latentbits.cli.output import (
    DATA_FILE,
    MODEL_FILE,
    PLOTS_FOLDER,
    REPORT_FILE,
    SUMMARY_FILE,
    new_folder,
    write_csv,
    write_json,
)
from latentbits.errors import DataError

if TYPE_CHECKING:
    from latentbits.findings.results import Figures, Results

__all__ = ["Stopwatch", "model_file", "save", "show_as_images", "tell", "write", "write_page"]


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


def show_as_images(results: Results, shape: tuple[int, int]) -> None:
    """Let plots and report show the columns as the pixels of images of this shape."""
    high, wide = shape
    n_columns = results.data.shape[1]
    if high * wide != n_columns:
        raise DataError(
            f"--shape {high}x{wide} makes {high * wide:,} pixels, but there are {n_columns:,} columns; correct it, or "
            "leave it out"
        )
    results.summary["shape"] = [high, wide]
    for name in results.figures.keys() & {"components", "denoising"}:
        draw: Any = results.figures[name]
        results.figures[name] = partial(draw, shape=shape)


def save(results: Results, out: Path, *, force: bool, notes: list[str], watch: Stopwatch, report: bool) -> None:
    """Write the results to their folder, with what was noted on the way, and a report if it is wanted."""
    results.summary |= {"notes": notes, "seconds": watch.seconds}
    with new_folder(out, force=force) as draft:
        write(results, draft, report=report)


def write(results: Results, folder: Path, *, report: bool) -> None:
    """Write everything into a folder; the summary lists the files."""
    from latentbits.data.stored import save_data
    from latentbits.persistence import save_model

    files = [MODEL_FILE, DATA_FILE, SUMMARY_FILE, PLOTS_FOLDER, *(f"{name}.csv" for name in results.tables)]
    results.summary["files"] = [*files, REPORT_FILE] if report else files
    save_model(results.model, folder / MODEL_FILE)
    save_data(results.data, folder / DATA_FILE, **results.fit_params)
    for name, table in results.tables.items():
        write_csv(table, folder / f"{name}.csv")
    write_plots(results.figures, folder / PLOTS_FOLDER)
    if report:
        write_page(results, folder / REPORT_FILE, selection=results.tables.get("selection"))
    write_json(results.summary, folder / SUMMARY_FILE)


def write_page(results: Results, file: Path, **more: Any) -> None:
    """Write the report; the summary knows the shape of images."""
    from latentbits.report import write_report

    high, wide = results.summary.get("shape", (0, 0))
    write_report(results, file, shape=(high, wide) if high else None, **more)


def write_plots(figures: Figures, folder: Path) -> None:
    """Draw the figures and write them as PNG."""
    folder.mkdir()
    for name, draw in figures.items():
        draw().savefig(folder / f"{name}.png")


def tell(results: Results, folder: Path, voice: Voice) -> None:
    """The short answer on the terminal, or the summary for a script."""
    voice.document(results.summary)
    first, *others = results.lines
    voice.say(first)
    if results.data.row_label:
        voice.say(f'The column "{results.data.row_label}" names the rows (--no-row-labels if it is data).')
    for line in others:
        voice.say(line)
    tables = ", ".join(f"{name}.csv" for name in results.tables if name != "restarts")
    voice.say(f"Look at {folder}: {tables}, {SUMMARY_FILE}, and pictures in {PLOTS_FOLDER}.")
    if REPORT_FILE in results.summary["files"]:
        voice.say(f"Open {folder / REPORT_FILE}.")


def model_file(fitted: Path) -> Path:
    """The model of a folder made by a fit, or the model file itself."""
    if not fitted.exists():
        raise FileNotFoundError(f'{fitted}: no such folder; give one made by "latentbits fit", or a model file')
    if not fitted.is_dir():
        return fitted
    if not (fitted / MODEL_FILE).is_file():
        raise FileNotFoundError(f'{fitted} holds no {MODEL_FILE}; give a folder made by "latentbits fit"')
    return fitted / MODEL_FILE
