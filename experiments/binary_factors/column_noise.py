"""A noise for each column, no factor at all, and factors that aren't binary: what the default answers.

Rules: data and fits are seeded by 30,000 and above, on which nothing was chosen (the margin of delta was on 600 to
609). Noise: standard deviations from 0.15 to 2, evenly on the log scale, in random order over 8 columns; factors by the
paper's recipe. The start has 5 factors for 3 true ones, and 8 for 5. No factor: standard normal columns, one of them
three times as wide. Gaussian factors: the same recipe with normal scores. A verdict is that of `nature`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FIRST_SEED = 30_000
COLUMNS = 8
CASES = (
    ("binary", 300, 3),
    ("binary", 1000, 3),
    ("binary", 300, 5),
    ("binary", 1000, 5),
    ("wide column", 300, 0),
    ("gaussian", 300, 3),
)
GOALS = {"binary": 0.80, "wide column": 0.95, "gaussian": 0.90}


def jobs(full: bool) -> list[dict[str, Any]]:
    seeds = range(FIRST_SEED, FIRST_SEED + (40 if full else 2))
    return [{"kind": kind, "n_rows": N, "true": m, "seed": seed} for seed in seeds for kind, N, m in CASES]


def rows_of(kind: str, n_rows: int, true: int, seed: int) -> np.ndarray:
    import numpy as np

    from latentbits.simulate import binary_factors

    rng = np.random.default_rng(seed)
    if kind == "wide column":
        X = rng.standard_normal((n_rows, COLUMNS))
        X[:, rng.integers(COLUMNS)] *= 3
        return X
    truth = binary_factors(n_rows, COLUMNS, true, 0.0, random_state=rng)
    signal = truth.X if kind == "binary" else rng.standard_normal(truth.codes.shape) @ truth.mixing.T
    return signal + rng.standard_normal(signal.shape) * rng.permutation(np.geomspace(0.15, 2.0, COLUMNS))


def run(kind: str, n_rows: int, true: int, seed: int) -> list[dict[str, Any]]:
    from latentbits import BinaryFactorAnalysis

    X = rows_of(kind, n_rows, true, seed)
    start = 8 if true == 5 else 5
    model = BinaryFactorAnalysis(start, random_state=seed).fit(X)
    equal = BinaryFactorAnalysis(start, noise="equal", random_state=seed).fit(X)
    verdict = model.nature(X)
    return [
        {
            "found": model.n_components_,
            "found_equal": equal.n_components_,
            "nature": verdict.kind,
            "advantage": verdict.advantage,
        }
    ]


def judge(table: pd.DataFrame) -> list[Claim]:
    claims = []
    for (kind, N, m), group in table.groupby(["kind", "n_rows", "true"], sort=False):
        words = f"{N} rows, {len(group)} data sets"
        right, before = (group["found"] == m).mean(), (group["found_equal"] == m).mean()
        if kind != "gaussian":
            name = f"{m} factors, column noise 0.15 to 2" if m else "no factor, one column three times as wide"
            claims.append(
                Claim(
                    statement=f"binary factors: {name}: the right number in at least {GOALS[kind]:.0%} ({words})",
                    ours=f"{right:.3f}; with equal noise {before:.3f}",
                    holds=right >= GOALS[kind],
                )
            )
        answer = {"binary": "binary", "gaussian": "continuous", "wide column": "none"}[kind]
        share = (group["nature"] == answer).mean()
        claims.append(
            Claim(
                statement=f'binary factors: {kind}, {m} true: "{answer}" in at least 90% ({words})',
                ours=f"{share:.3f}; BIC in favour of binary {group['advantage'].median():.0f} (median)",
                holds=share >= 0.9,
            )
        )
    return claims


EXPERIMENT = Experiment(
    title="Binary factors: a noise for each column, and whether they are binary at all",
    results=(),
    jobs=jobs,
    run=run,
    judge=judge,
)
