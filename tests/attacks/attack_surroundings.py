"""Terminals, pipes, homes, forks, workers and threads of many kinds: the same answer as in a plain process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from latentbits import AspectBernoulli, simulate

SMALL = 2
LARGE = 40
SECONDS = 60

REPOSITORY = Path(__file__).parents[2]


def case(rng: np.random.Generator) -> None:
    kinds: dict[Callable[[np.random.Generator, Path], None], float] = {
        fork_after_use: 0.2,
        eight_threads: 0.2,
        other_thread: 0.15,
        loky_workers: 0.05,
        odd_terminal: 0.2,
        closed_pipe: 0.1,
        odd_home: 0.07,
        first_processes: 0.03,
    }
    chosen = list(kinds)[rng.choice(len(kinds), p=list(kinds.values()))]
    with tempfile.TemporaryDirectory() as folder:
        chosen(rng, Path(folder))


# ---- within Python -----------------------------------------------------------------------------------------------


@cache
def rows() -> np.ndarray:
    return simulate.aspect_bernoulli(50, 10, 2, random_state=0).X


def answer(_: object = None) -> np.ndarray:
    """A fit and what it says; the same wherever it is made."""
    model = AspectBernoulli(2, n_init=2, max_iter=50, random_state=0, n_jobs=2).fit(rows())
    return model.reconstruct(rows())


@cache
def expected() -> np.ndarray:
    return answer()


def fork_after_use(rng: np.random.Generator, folder: Path) -> None:
    """Threads, compiled code and BLAS have been used; children by fork can use them too."""
    before = expected()
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        for found in pool.map_async(answer, range(2)).get():
            np.testing.assert_array_equal(found, before)


def loky_workers(rng: np.random.Generator, folder: Path) -> None:
    for found in joblib.Parallel(2)(joblib.delayed(answer)(i) for i in range(2)):
        np.testing.assert_array_equal(found, expected())


def eight_threads(rng: np.random.Generator, folder: Path) -> None:
    """Questions of several kinds to one model at once."""
    model = AspectBernoulli(2, n_init=2, max_iter=50, random_state=0).fit(rows())
    ask: list[Callable[[Any], Any]] = [model.reconstruct, model.transform, model.denoise, model.score]
    parts = [rows()[rng.permutation(50)[: rng.integers(1, 51)]] for _ in range(16)]
    questions = [(ask[rng.integers(len(ask))], part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda question: question[0](question[1]), questions))
    for (method, part), at_once in zip(questions, found, strict=True):
        np.testing.assert_array_equal(at_once, method(part))


def other_thread(rng: np.random.Generator, folder: Path) -> None:
    """Where no signal handler can be set."""
    found: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: found.append(answer()), daemon=True)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], expected())


# ---- as a program ------------------------------------------------------------------------------------------------


def table(folder: Path) -> str:
    file = folder / "sites.csv"
    np.savetxt(file, rows(), fmt="%d", delimiter=",", header=",".join("abcdéfghij"), comments="", encoding="utf-8")
    return str(file)


def fit_line(folder: Path, *more: str) -> list[str]:
    command = [sys.executable, "-m", "latentbits", "fit", table(folder), "--components", "2", "--restarts", "2"]
    return [*command, "--no-verdict", "--no-report", "--out", str(folder / f"run{''.join(more)}")]


def environment(**changes: str | None) -> dict[str, str]:
    env = {**os.environ, "PYTHONPATH": f"{REPOSITORY / 'src'}", "PYTHONWARNINGS": "ignore"}
    return {name: value for name, value in {**env, **changes}.items() if value is not None}


def check(run: subprocess.CompletedProcess[bytes], folder: Path) -> None:
    said = run.stderr.decode(errors="replace")
    assert run.returncode == 0, said
    assert "Traceback" not in said, said
    assert (folder / "run" / "summary.json").exists()


def odd_terminal(rng: np.random.Generator, folder: Path) -> None:
    """No terminal, a narrow one, one that can do nothing, and no UTF-8."""
    changes = [{"TERM": "dumb"}, {"TERM": None}, {"COLUMNS": "1"}, {"COLUMNS": "12", "LINES": "2"}]
    changes += [
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ]
    env = environment(**changes[rng.integers(len(changes))])
    detached = bool(rng.integers(2))
    streams = {"stdin": subprocess.DEVNULL} if detached else {}
    check(subprocess.run(fit_line(folder), env=env, capture_output=True, start_new_session=detached, **streams), folder)


def closed_pipe(rng: np.random.Generator, folder: Path) -> None:
    """The reader has seen enough before anything, or after a line."""
    command = rng.choice(["--help", "rows", "simulate"])
    lines = {
        "--help": ["--help"],
        "rows": ["fit", "--help"],
        "simulate": ["simulate", "--rows", "20000", "--columns", "20"],
    }[str(command)]
    process = subprocess.Popen(
        [sys.executable, "-m", "latentbits", *lines], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    if rng.integers(2):
        process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    process.wait()
    assert "Traceback" not in said, said
    assert process.returncode in (0, 1, 2, -signal.SIGPIPE), process.returncode


def odd_home(rng: np.random.Generator, folder: Path) -> None:
    """No home, one that isn't there, and one in which nothing can be written (a file stands in its place)."""
    (folder / "file").touch()
    homes = [None, str(folder / "nowhere"), str(folder / "file"), "/proc/nothing"]
    home = homes[rng.integers(len(homes))]
    env = environment(HOME=home, XDG_CACHE_HOME=home, MPLCONFIGDIR=None)
    check(subprocess.run(fit_line(folder), env=env, capture_output=True), folder)


def first_processes(rng: np.random.Generator, folder: Path) -> None:
    """Four at once, none of which finds compiled code."""
    env = environment(NUMBA_CACHE_DIR=str(folder / "numba"))
    parts = [folder / str(i) for i in range(4)]
    for part in parts:
        part.mkdir()
    started = [
        subprocess.Popen(fit_line(part), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for part in parts
    ]
    for process, part in zip(started, parts, strict=True):
        out, said = process.communicate()
        check(subprocess.CompletedProcess([], process.returncode, out, said), part)
    files = [(part / "run" / "components.csv").read_bytes() for part in parts]
    assert len(set(files)) == 1
