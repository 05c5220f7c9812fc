"""Experiments from beginning to end: the jobs of all of them in one queue for all workers, so that no core waits."""

from __future__ import annotations

import json
import random
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import BrokenExecutor, Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from experiments.runner.experiment import Experiment, ExperimentError, Found, Job, load
from experiments.runner.fingerprint import fingerprint, library_digest
from experiments.runner.jobs import Done, Failed, cache_file, do_job, read_record, starts_worker
from experiments.runner.progress import Bar
from experiments.runner.store import FULL, QUICK, Result, cache_folder, save, stored

__all__ = ["Again", "Outcome", "run_experiments", "seconds_left"]

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB", "NUMBA", "NUMEXPR")}


class Again(Enum):
    """Which finished jobs are run again."""

    NOTHING = "nothing"
    OLDER = "what ran with older code of the library"
    ALL = "all"


class Outcome(NamedTuple):
    """How an experiment ended: with a result, or with the reason why there is none (`missing`: its data)."""

    name: str
    result: Result | None
    reason: str = ""
    missing: bool = False


@dataclass
class Work:
    """An experiment under way. left: the jobs that aren't in the cache. seconds: what the finished ones took."""

    found: Found
    experiment: Experiment
    files: list[Path]
    left: dict[Path, Job]
    seconds: list[float] = field(default_factory=list)
    futures: list[Future[Done | Failed]] = field(default_factory=list)
    failed: bool = False


def run_experiments(
    chosen: list[Found], *, full: bool, out: Path, n_jobs: int, again: Again = Again.NOTHING, progress: bool = False
) -> Iterator[Outcome]:
    """Run experiments, each ending as soon as its last job is done; what the cache has is not run again.

    Whatever ends this early (an error, Ctrl-C, a power cut), finished jobs stay in the cache.
    """
    from latentbits.version import __version__

    library, works = library_digest(), []
    for found in chosen:
        try:
            works.append(_prepare(found, full, out, again, library, __version__))
        except Exception as error:
            yield _refusal(found, error)
    for work in works:
        if not work.left:
            yield _finish(work, full, out, library)
    n_left = sum(len(work.left) for work in works)
    if not n_left:
        return
    with _workers(min(n_jobs, n_left)) as pool, Bar(n_left, _estimate(works, n_jobs), show=progress) as bar:
        owner = {}
        for work in works:
            for file, job in work.left.items():
                work.futures.append(pool.submit(do_job, work.found.file, job, file, library))
                owner[work.futures[-1]] = (work, file)
        for future in as_completed(owner):
            work, file = owner[future]
            if future.cancelled() or work.failed:
                continue
            answer = _answer(future, work.left[file])
            if isinstance(answer, Failed):
                work.failed = True
                n_dropped = sum(other.cancel() for other in work.futures)
                bar.advance(1 + n_dropped, _estimate(works, n_jobs))
                with bar.paused():
                    yield Outcome(work.found.name, None, answer.reason, answer.missing)
                continue
            del work.left[file]
            work.seconds.append(answer.seconds)
            bar.advance(1, _estimate(works, n_jobs))
            if not work.left:
                outcome = _finish(work, full, out, library)
                with bar.paused():
                    yield outcome


def seconds_left(seconds: Mapping[str, list[float]], jobs_left: Mapping[str, int], n_jobs: int) -> float | None:
    """An estimate from what finished jobs took; an experiment without any is taken for an average one.

    Examples
    --------
    >>> seconds_left({"a": [2.0, 4.0], "b": []}, {"a": 2, "b": 4}, n_jobs=2)
    9.0
    """
    known = {name: fmean(values) for name, values in seconds.items() if values}
    if not known:
        return None
    typical = fmean(known.values())
    return sum(n * known.get(name, typical) for name, n in jobs_left.items()) / n_jobs


def _estimate(works: list[Work], n_jobs: int) -> float | None:
    alive = {work.found.name: work for work in works if not work.failed}
    seconds, jobs_left = {n: w.seconds for n, w in alive.items()}, {n: len(w.left) for n, w in alive.items()}
    return seconds_left(seconds, jobs_left, n_jobs)


def _prepare(found: Found, full: bool, out: Path, again: Again, library: str, version: str) -> Work:
    """The jobs of an experiment, and those of them that the cache hasn't."""
    experiment = load(found.file)
    code = f"{version} {fingerprint(found.file)}"
    folder = cache_folder(out, found)
    folder.mkdir(parents=True, exist_ok=True)
    # As JSON has them (a tuple is a list), so that a job is the same on its first run and out of the cache.
    jobs: list[Job] = json.loads(json.dumps(list(experiment.jobs(full)), allow_nan=False))
    files = [cache_file(folder, job, code) for job in jobs]
    if len(set(files)) < len(files):
        raise ExperimentError("two jobs have the same arguments; give them different seeds")
    records = {file: read_record(file) for file in files}
    for file, record in records.items():
        if again == Again.ALL or (again == Again.OLDER and record and record["library"] != library):
            file.unlink(missing_ok=True)
            records[file] = None
    todo = [(file, job) for file, job in zip(files, jobs, strict=True) if records[file] is None]
    # Grids are written from small to large; shuffled, the finished jobs predict how long the others will take.
    random.Random(0).shuffle(todo)
    seconds = [record["seconds"] for record in records.values() if record]
    return Work(found, experiment, files, dict(todo), seconds or _seconds_before(found, out))


def _seconds_before(found: Found, out: Path) -> list[float]:
    """What a job of an earlier run took on average; nothing if there was none."""
    result = stored(out).get(found.name)
    return [result["seconds"] / result["jobs"]] if result else []


def _finish(work: Work, full: bool, out: Path, library: str) -> Outcome:
    """Store an experiment whose jobs are all in the cache."""
    records = [record for file in work.files if (record := read_record(file)) is not None]
    scale = FULL if full else QUICK
    try:
        if len(records) < len(work.files):
            raise ExperimentError("finished jobs vanished from the cache meanwhile; run it again")
        result = save(work.found, work.experiment, records, scale=scale, out=out, library=library)
    except Exception as error:
        return _refusal(work.found, error)
    return Outcome(work.found.name, result)


def _refusal(found: Found, error: Exception) -> Outcome:
    """Why an experiment has no result; an unexpected error is given with its place."""
    from latentbits.errors import DataError

    reason = " ".join(str(error).split())
    if isinstance(error, DataError | OSError):
        return Outcome(found.name, None, reason, missing=True)
    if isinstance(error, ExperimentError):
        return Outcome(found.name, None, reason)
    return Outcome(found.name, None, f"{type(error).__name__}: {reason} ({_place(error, found.file)})")


def _place(error: Exception, file: Path) -> str:
    """File and line where an error was raised, or where the experiment called what raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    last = ([frame for frame in frames if Path(frame.filename) == file] or frames)[-1]
    return f"{last.filename}:{last.lineno}"


def _answer(future: Future[Done | Failed], job: Job) -> Done | Failed:
    """What a worker says about a job, which a failure names."""
    try:
        answer = future.result()
    except BrokenExecutor:  # the whole pool is lost, and the job that broke it is unknown
        reason = "a worker process died, perhaps of too little memory; finished jobs are kept, so run it again"
        return Failed(reason, missing=False)
    if isinstance(answer, Failed) and not answer.missing:
        return answer._replace(reason=f"the job {job} failed: {answer.reason}")
    return answer


@contextmanager
def _workers(n: int) -> Iterator[Any]:
    """Processes with one thread each for matrix products; ended at once when this is left."""
    from joblib.externals.loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(max_workers=n, initializer=starts_worker, env=ONE_THREAD)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, kill_workers=True)
