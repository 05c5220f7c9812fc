"""A fit from data to its folder, for `latentbits fit` and `demo`: timed, asked everything, saved."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbits.cli.model_selection import sentences_of_range
from latentbits.cli.options.click_helpers import Values
from latentbits.cli.options.reading import read, reader_arguments
from latentbits.errors import DataError
from latentbits.models.registry import MODELS, NUMBER_MODELS
from latentbits.storage.output_folder import PLOTS_FOLDER, SUMMARY_FILE
from latentbits.storage.run_folder import REPORT_FILE, RunFolder
from latentbits.wording import counted, place

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.marks import Marks
    from latentbits.findings.results import Data, Results
    from latentbits.tasks.select import OrderSelection

__all__ = [
    "Stopwatch",
    "add_verdict",
    "data_lines",
    "fit_and_gather",
    "read_for_fit",
    "save_run",
    "show_as_images",
    "tell_origin",
    "where_lines",
    "with_marks",
]


MOST_CELLS, PART_CELLS = 20_000_000, 2_000_000
"""Tables with more cells are asked about a part of their rows, of so many cells."""

PATIENCE = 20
"""Seconds to wait for the scheduler of a cluster."""


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


def read_for_fit(file: Path, reading: Values, marks: Marks | None) -> BinaryData:
    """The 0-1 data of a file, with the cells that were looked up set to what they are."""
    return with_marks(read(file, reading), marks)


def with_marks(data: BinaryData, marks: Marks | None) -> BinaryData:
    """The data with the cells that were looked up set to what they are."""
    if marks is None:
        return data
    from latentbits.data.marks import apply_marks

    return apply_marks(data, marks)


def fit_and_gather(
    name: str,
    parameters: Values,
    data: Data,
    watch: Stopwatch,
    *,
    progress: bool,
    question: Values | None = None,
    cluster: str | None = None,
    **fit_params: Any,
) -> Results:
    """Fit the model of that name and ask it everything, or a question that it takes; `fit_params` are for its `fit`.

    With the address of a cluster the rows are worked on there; questions are answered here.
    """
    from latentbits.findings import gather
    from latentbits.models.registry import model_class

    estimator = model_class(name)(**parameters)
    has_progress = hasattr(estimator, "verbose") and MODELS[name].data != "segments"
    if has_progress:
        estimator.set_params(verbose=int(progress))
    with watch.timed("fit"), _placed(data, cluster) as where:
        estimator.fit(data.to_frame() if name in NUMBER_MODELS else where, **fit_params)
    if has_progress:
        estimator.set_params(verbose=0)  # a colleague who opens the model file didn't ask for progress
    with watch.timed("answers"):
        if MODELS[name].on_cluster and data.shape[0] * data.shape[1] > MOST_CELLS:
            return _gather_from_part(estimator, data)
        return gather(estimator, data, **fit_params, **(question or {}))


def _gather_from_part(model: Any, data: Any) -> Results:
    """Weights and suspects of all rows; answers that need all cells at once are of a random part of the rows."""
    import numpy as np

    from latentbits.findings import gather
    from latentbits.findings.aspect import suspects_table
    from latentbits.findings.factors import weights_table
    from latentbits.models.aspect.aspect_rows import AspectRows

    n_rows, n_columns = data.shape
    n = min(n_rows, max(1, PART_CELLS // n_columns))
    chosen = np.sort(np.random.default_rng(0).choice(n_rows, n, replace=False))
    part = data.rows(chosen)
    if part.row_names is None:
        part = replace(part, row_names=[place("row", i) for i in chosen])  # by their place in the whole table
    results = gather(model, part)
    results.tables |= {
        "weights": weights_table(model.weights_, data),
        "suspects": suspects_table(AspectRows(model, data)),
    }
    results.summary["part"] = {"rows": n, "of": n_rows}
    results.lines[0] = (
        f"{counted(len(model.components_), 'component')} fitted to {n_rows:,} rows x {counted(n_columns, 'column')}; "
        f"weights.csv and suspects.csv are about all of them, all else here is about a random part of {n:,} rows."
    )
    return results


@contextmanager
def _placed(data: Any, cluster: str | None) -> Iterator[Any]:
    """The data, on a cluster if there is an address."""
    if cluster is None:
        yield data
        return
    try:
        from distributed import Client
    except ImportError:
        raise DataError('--cluster needs Dask; pip install "latentbits[cluster]"') from None
    from latentbits.fitting.cluster import ClusterData

    try:
        client = Client(cluster, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"--cluster {cluster}: no scheduler answers there ({reason}); check the address") from None
    with client:
        yield ClusterData.of_data(data, client)


def add_verdict(
    results: Results, found: OrderSelection | None, watch: Stopwatch, *, n_jobs: int | None, progress: bool
) -> None:
    """Ask whether the model predicts hidden cells, and let the results begin with the answer.

    Cells that were held out when a number of components was chosen (`found`) are not predicted again.
    """
    from latentbits.findings import lead_with_verdict
    from latentbits.tasks.verdict import verdict, verdicts_of_selection

    model = results.model
    with watch.timed("verdict"):
        try:
            known = {} if found is None else verdicts_of_selection(found, n_jobs=n_jobs, verbose=progress)
            if found is not None and known:
                answer = known[found.best_order].to_dict()
                answer["sentences"] = sentences_of_range(known, found.best_order)
            else:
                seed = getattr(model, "random_state", 0)
                answer = verdict(model, results.data, random_state=seed, n_jobs=n_jobs, verbose=progress).to_dict()
        except KeyboardInterrupt:
            warnings.warn("interrupted: there is no verdict; the fit itself was finished", stacklevel=2)
            return
    lead_with_verdict(results, answer)


def tell_origin(results: Results, file: Path, reading: Values, marks: Marks | None) -> None:
    """Put into the summary where the data came from and how they can be read again, and which cells were looked up."""
    record = getattr(results.data, "reading", None)
    about = results.summary["data"]
    about |= {"file": file.name, "reading": reader_arguments(reading) if record is None else record}
    if marks is None:
        return
    counts = results.data.marks.counts()  # type: ignore[union-attr]
    about["marks"] = {"file": marks.place.removesuffix(": "), **counts}
    known = f"{counts['confirmed']:,} confirmed as 1, {counts['rejected']:,} rejected as 0, {counts['unsure']:,} unsure"
    results.lines.append(f"Cells that were looked up: {known}; the first two kinds are no suspects.")


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


def save_run(results: Results, out: Path, *, force: bool, notes: list[str], watch: Stopwatch, report: bool) -> None:
    """Write the results to their folder, with the notes that were printed and the seconds it took."""
    results.summary |= {"notes": notes, "seconds": watch.seconds}
    RunFolder(out).save(results, force=force, report=report)


def data_lines(data: Data) -> Iterator[str]:
    """What the columns were taken for; the rest of `notes` is guesses, of which the reader has warned."""
    if "long" in (getattr(data, "reading", None) or {}):
        return
    if data.row_label:
        yield f'The column "{data.row_label}" names the rows (--no-row-labels if it is data).'
    elif data.row_names is not None:
        yield "The first column, which has no name, names the rows (--no-row-labels if it is data)."


def where_lines(results: Results, folder: Path) -> Iterator[str]:
    """What a run has left, and where."""
    tables = ", ".join(f"{name}.csv" for name in results.tables if name != "restarts")
    pictures = f", and pictures in {PLOTS_FOLDER}" if results.figures else ""
    yield f"Look at {folder}: {tables}, {SUMMARY_FILE}{pictures}."
    if REPORT_FILE in results.summary["files"]:
        yield f"Open {folder / REPORT_FILE}."
