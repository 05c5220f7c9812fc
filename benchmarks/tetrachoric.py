"""Time of tetrachoric correlations beside the peer, in one run.

    python benchmarks/tetrachoric.py [--quick]

Prints plain tables and writes them to benchmarks/results/tetrachoric.json and tetrachoric.md. Times are medians over
the turns, everything compiled and warmed up before. The peer does a pair at a time, so some of the pairs, drawn at
random, are enough to time it; each turn times all of ours and then a share of those. Needs the peer:
`pip install ordinalcorr`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from ordinalcorr import tetrachoric as peer
from result_tables import write
from scipy.stats import multivariate_normal, norm

from latentbits.correlations.tetrachoric import tetrachoric

PEER_PAIRS = 300
TURNS = 9
GOAL = 50
THREADS = (1, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller data, three turns: does it run?")
    quick = parser.parse_args().quick
    columns, rows, turns = (40, 500, 3) if quick else (240, 500, TURNS)
    tables = {
        "Beside ordinalcorr": beside_peer(columns, rows, turns, PEER_PAIRS // (10 if quick else 1)),
        "Many segments": many_segments(*((20, 4, 200) if quick else (100, 40, 1000)), turns),
    }
    for title, table in tables.items():
        print(f"\n{title}\n{table.to_string(index=False)}", flush=True)
    write("tetrachoric", "Tetrachoric correlations", tables, quick=quick)


def beside_peer(columns: int, rows: int, turns: int, n_peer: int) -> pd.DataFrame:
    """Time a pair of columns, ours (all pairs, standard errors included) and the peer's, and how the answers differ."""
    X = questionnaire(rows, columns)
    rng = np.random.default_rng(1)
    left, right = np.triu_indices(columns, 1)
    drawn = rng.choice(len(left), size=n_peer, replace=False)
    shares = np.array_split(drawn, turns)
    ours = {n_jobs: quietly(tetrachoric, X, n_jobs=n_jobs) for n_jobs in THREADS}
    quietly(peer, X[:, 0], X[:, 1])
    times: dict[str, list[float]] = {"ordinalcorr": [], **{ours_on(n): [] for n in THREADS}}
    theirs = np.empty(n_peer)
    for turn, share in enumerate(shares):
        for n_jobs in THREADS:
            seconds, ours[n_jobs] = clocked(tetrachoric, X, n_jobs=n_jobs)
            times[ours_on(n_jobs)].append(seconds / len(left))
        first = sum(len(earlier) for earlier in shares[:turn])
        for place, pair in enumerate(share, start=first):
            seconds, theirs[place] = clocked(peer, X[:, left[pair]], X[:, right[pair]])
            times["ordinalcorr"].append(seconds)
    i, j = left[drawn], right[drawn]
    full = ~ours[1].zero_cells[i, j]  # the peer doesn't correct empty cells
    mine = ours[1].correlations[i, j]
    assert np.array_equal(ours[1].correlations, ours[THREADS[-1]].correlations)
    microseconds = {name: 1e6 * float(np.median(values)) for name, values in times.items()}
    gain = [log_likelihood(X, *pair) - log_likelihood(X, *other) for pair, other in both(i, j, mine, theirs, full)]
    return pd.DataFrame(
        {
            "columns x rows": f"{columns} x {rows}",
            "who": list(microseconds),
            "us a pair": [round(value, 2) for value in microseconds.values()],
            "times faster": [round(microseconds["ordinalcorr"] / value) for value in microseconds.values()],
            f"at least {GOAL}": [
                "" if name == "ordinalcorr" else "yes" if microseconds["ordinalcorr"] >= GOAL * value else "no"
                for name, value in microseconds.items()
            ],
            "pairs compared": int(full.sum()),
            "largest difference": f"{np.abs(mine - theirs)[full].max():.1e}",
            "least gain in log likelihood over the peer": f"{min(gain):.1e}",
        }
    )


def ours_on(n_jobs: int) -> str:
    return f"latentbits, {n_jobs} thread{'s' * (n_jobs > 1)}"


def both(i: Any, j: Any, mine: Any, theirs: Any, full: Any) -> list[tuple[Any, Any]]:
    """(columns, our correlation) and (columns, the peer's) for each pair without empty cells."""
    found = zip(i[full], j[full], mine[full], theirs[full], strict=True)
    return [((a, b, rho), (a, b, other)) for a, b, rho, other in found]


def log_likelihood(X: np.ndarray, i: int, j: int, rho: float) -> float:
    """Of a pair's 2 x 2 table by SciPy, the thresholds at the columns' shares."""
    x, y = X[:, i].astype(float), X[:, j].astype(float)
    p, q = x.mean(), y.mean()
    P11 = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(norm.ppf([p, q]))
    counts = np.array([x @ y, x @ (1 - y), (1 - x) @ y, (1 - x) @ (1 - y)])
    return float(counts @ np.log([P11, p - P11, q - P11, 1 - p - q + P11]))


def many_segments(columns: int, segments: int, rows: int, turns: int) -> pd.DataFrame:
    """The use case of BinaryICA: all pairs in all segments."""
    X = questionnaire(segments * rows, columns)
    labels = np.repeat(np.arange(segments), rows)
    pairs = segments * columns * (columns - 1) // 2
    times: dict[int, list[float]] = {n_jobs: [] for n_jobs in THREADS}
    quietly(tetrachoric, X, labels)
    for _ in range(turns):
        for n_jobs in THREADS:
            times[n_jobs].append(clocked(tetrachoric, X, labels, n_jobs=n_jobs)[0])
    seconds = np.array([np.median(values) for values in times.values()])
    return pd.DataFrame(
        {
            "columns x segments x rows": f"{columns} x {segments} x {rows}",
            "threads": THREADS,
            "pairs": pairs,
            "seconds": seconds.round(3),
            "us a pair": (1e6 * seconds / pairs).round(2),
        }
    )


def questionnaire(rows: int, columns: int) -> np.ndarray:
    """Items correlated through five factors, with shares of ones from about 5 % to 95 %."""
    rng = np.random.default_rng(0)
    loadings = rng.uniform(-1, 1, size=(5, columns))
    latent = rng.normal(size=(rows, 5)) @ loadings + rng.normal(size=(rows, columns))
    return (latent > latent.std(axis=0) * rng.uniform(-1.6, 1.6, size=columns)).astype(np.int8)


def clocked(call: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = quietly(call, *arguments, **options)
    return time.perf_counter() - start, answer


def quietly(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Empty cells are expected here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **options)


if __name__ == "__main__":
    main()
