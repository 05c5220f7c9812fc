"""One job: its place in the cache, and how a worker process does it."""

from __future__ import annotations

import hashlib
import json
import math
import signal
import time
import traceback
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from experiments.runner.experiment import Experiment, Job, Row, load
from experiments.runner.files import write

__all__ = ["Done", "Failed", "cache_file", "do_job", "plain", "read_record", "starts_worker"]

Record = dict[str, Any]
"""A finished job in the cache: job, rows, seconds, library (a digest of its code), warnings."""


class Done(NamedTuple):
    """A job whose rows are in the cache now."""

    seconds: float


class Failed(NamedTuple):
    """A job that raised; `missing` if what it raised says that data are not at hand."""

    reason: str
    missing: bool


def cache_file(folder: Path, job: Job, code: str) -> Path:
    """Where the rows of a job are kept: another argument, or other code, is another file."""
    key = json.dumps([job, code], sort_keys=True, allow_nan=False)
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def read_record(file: Path) -> Record | None:
    """The finished job of a cache file; None if there is none."""
    try:
        record: Record = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return record


def starts_worker() -> None:
    """Leave Ctrl-C to the parent, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def do_job(experiment_file: Path, job: Job, target: Path, library: str) -> Done | Failed:
    """Run a job and put its rows in the cache, as a whole or not at all."""
    from latentbits.errors import DataError

    story = target.with_suffix(".error.txt")
    story.unlink(missing_ok=True)
    began = time.perf_counter()
    try:
        experiment = _loaded(experiment_file)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            rows = [row_of(row) for row in experiment.run(**job)]
        record: Record = {
            "job": job,
            "seconds": round(time.perf_counter() - began, 3),
            "library": library,
            "warnings": sorted({" ".join(str(warning.message).split()) for warning in caught}),
            "rows": rows,
        }
        write(target, json.dumps(record, allow_nan=False) + "\n")
    except (DataError, OSError) as error:  # what loaders raise: a file isn't there, or a server doesn't answer
        return Failed(" ".join(str(error).split()), missing=True)
    except Exception as error:
        write(story, traceback.format_exc())
        return Failed(f"{type(error).__name__}: {error} (the whole story: {story})", missing=False)
    return Done(record["seconds"])


@lru_cache(maxsize=1)
def _loaded(file: Path) -> Experiment:
    return load(file)


def row_of(row: Row) -> Row:
    """A row as plain JSON values; an infinite number is refused, with the column's name."""
    try:
        return {str(name): plain(value) for name, value in row.items()}
    except ValueError as error:
        raise ValueError(f"{error} in the row {sorted(map(str, row))}") from error


def plain(value: Any) -> Any:
    """NumPy values and tuples as what JSON has; NaN, which it has not, as None.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.arange(2), "b": (np.float64(0.5), float("nan"))})
    {'a': [0, 1], 'b': [0.5, None]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        raise ValueError("an infinite number can't be stored")
    return value
