"""How near the pass of the aspect family comes to what one core can do: fused multiply-adds per second.

    python benchmarks/dense_pass.py [--quick]

A pass needs five multiply-adds for each cell and component: one for the mixture, two for each of the sums over columns
and over rows (one of each pair is times 0, as a cell is either 1 or 0). The core's own rate is that of a loop that does
nothing else, measured in turns with the pass, in CPU time; medians. float64 does half as many at a time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pandas as pd
from result_tables import write

from latentbits import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.statistics import collect

SIZES = [(500, 64, 20), (2000, 240, 10), (5000, 784, 5), (5000, 500, 10), (5000, 1000, 20), (2000, 1000, 50)]
TURNS, ROUNDS, AT_ONCE = 11, 200_000, 128


@numba.njit(nogil=True, fastmath={"contract"})
def multiply_adds(rounds: int) -> float:
    """Nothing but multiply-adds, on numbers that stay in registers."""
    sums = np.zeros(AT_ONCE, np.float32)
    for _ in range(rounds):
        for i in range(AT_ONCE):
            sums[i] = sums[i] * np.float32(0.5) + np.float32(0.1)
    return sums[0]


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sizes, three turns: does it run?")
    quick = parser.parse_args().quick
    sizes, turns = (SIZES[:2], 3) if quick else (SIZES, TURNS)
    table = pd.DataFrame([row(*size, precise, turns) for precise in (False, True) for size in sizes])
    print(table.to_string(index=False))
    write("dense_pass", "The dense pass beside the core's own rate", {"One thread": table}, quick=quick)


def row(N: int, D: int, K: int, precise: bool, turns: int) -> dict[str, Any]:
    """One size in one precision."""
    rng = np.random.default_rng(0)
    data = BinaryData.of((rng.random((N, D)) < 0.3).astype(np.int8))
    W, H = rng.dirichlet(np.ones(K), N), rng.uniform(0.05, 0.95, (K, D))
    workers, weight, H0 = Workers(), np.ones(N), 1 - H
    pass_s, loop_s = in_turns(
        [
            lambda: collect(data, W, H, H0, weight, workers, precise=precise),
            lambda: multiply_adds(ROUNDS),
        ],
        turns,
    )
    peak = ROUNDS * AT_ONCE / loop_s / (2 if precise else 1)
    rate = 5 * N * D * K / pass_s
    return {
        "N x D x K": f"{N} x {D} x {K}",
        "precision": "float64" if precise else "float32",
        "pass ms": round(1e3 * pass_s, 2),
        "ns per cell and component": round(1e9 * pass_s / (N * D * K), 3),
        "10^9 multiply-adds per s": round(rate / 1e9, 1),
        "the core's": round(peak / 1e9, 1),
        "share": f"{rate / peak:.0%}",
    }


def in_turns(calls: list[Callable[[], Any]], turns: int) -> list[float]:
    """Median CPU seconds of each, taking turns, everything compiled before."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(turns + 1):
        for call, seconds in zip(calls, times, strict=True):
            begin = time.thread_time()
            call()
            if turn:
                seconds.append(time.thread_time() - begin)
    return [statistics.median(seconds) for seconds in times]


if __name__ == "__main__":
    main()
