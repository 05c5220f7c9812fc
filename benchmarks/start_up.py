"""CPU seconds of fresh processes: help, a refused file, and first fits whose kernels have to be compiled.

Run: python benchmarks/start_up.py [--quick]. Each process is timed from its start to its end, with its imports, and
where it says "first" with an empty folder for Numba's cache; "again" is the same once more. Goals: help under 0.4 s, a
first fit under 12 s. Medians (first fits: of 3).
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import result_tables

PROGRAM = ["-m", "latentbits"]
SMALL, LARGE = (120, 60), (600, 300)
"""Sizes below and above the one at which the pass leaves float64 (with 4 components)."""


def main() -> None:
    """Measure, print and store."""
    quick = "--quick" in sys.argv
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = {size: _table(folder, size) for size in (SMALL, LARGE)}
        (folder / "bad.csv").write_text("site,a,b\nP,1,0\nQ,3,1\n")
        light = pd.DataFrame(
            [_light_row(what, words, folder, 3 if quick else 11) for what, words in _light_processes().items()]
        )
        heavy = pd.DataFrame([_fit_row(what, words, folder, 1 if quick else 3) for what, words in _fits(files).items()])
    tables = {"Before any fit": light, "Fits": heavy}
    for title, table in tables.items():
        print(f"{title}\n{table.to_string(index=False)}\n")
    result_tables.write("start_up", "Start-up", tables, quick=quick, packages=("numpy", "numba"))


def _light_processes() -> dict[str, list[str]]:
    return {
        "python, nothing": ["-c", ""],
        "import latentbits": ["-c", "import latentbits"],
        "latentbits --help": [*PROGRAM, "--help"],
        "latentbits fit --help": [*PROGRAM, "fit", "--help"],
        "latentbits fit, a refused file": [*PROGRAM, "fit", "bad.csv", "--components", "2", "--out", "run"],
        "latentbits false-zeros, a refused file": [*PROGRAM, "false-zeros", "bad.csv"],
    }


def _fits(files: dict[tuple[int, int], Path]) -> dict[str, list[str]]:
    def python(model: str, size: tuple[int, int]) -> list[str]:
        read = f"import numpy as np, latentbits as lb; X = np.loadtxt({str(files[size])!r}, delimiter=',', skiprows=1)"
        return ["-c", f"{read}; lb.{model}(4, n_init=1, max_iter=50, random_state=0).fit(X)"]

    fits = {f"{model}, {n} x {d}": python(model, (n, d)) for model in ("AspectBernoulli", "BetaICA") for n, d in files}
    words = ["fit", str(files[SMALL]), "--components", "4", "--force", "--out", "run"]
    return fits | {f"latentbits fit, {SMALL[0]} x {SMALL[1]}": [*PROGRAM, *words]}


def _table(folder: Path, size: tuple[int, int]) -> Path:
    rng = np.random.default_rng(0)
    W, H = rng.dirichlet(np.full(4, 0.3), size[0]), rng.beta(0.3, 0.5, (4, size[1]))
    cells = (rng.random(size) < W @ H).astype(int)
    file = folder / f"{size[0]}x{size[1]}.csv"
    np.savetxt(file, cells, "%d", ",", header=",".join(f"c{j}" for j in range(size[1])), comments="")
    return file


def _light_row(what: str, words: list[str], folder: Path, times: int) -> dict[str, object]:
    _cpu_seconds(words, folder, folder / "cache")  # writes compiled modules and fills the machine's file cache
    seconds = [_cpu_seconds(words, folder, folder / "cache") for _ in range(times)]
    return {"process": what, "CPU s": f"{statistics.median(seconds):.2f}", "worst": f"{max(seconds):.2f}"}


def _fit_row(what: str, words: list[str], folder: Path, times: int) -> dict[str, object]:
    pairs = []
    for _ in range(times):
        with TemporaryDirectory() as cache:
            pairs.append([_cpu_seconds(words, folder, Path(cache)) for _ in range(2)])
    first, again = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {"process": what, "first, CPU s": f"{first:.1f}", "again, CPU s": f"{again:.1f}"}


def _cpu_seconds(words: list[str], folder: Path, cache: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
