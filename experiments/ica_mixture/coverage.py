"""Do intervals of ICAMixture hold the truth? By bootstrap and by the variational posterior.

Rules: one cluster of two sources, 300 rows, mixing standard normal, noise at -20 dB, sources drawn from a pool of
20,000 so that their mean and spread vary as samples do; seeds from 70,000 on, on which nothing was chosen. Six columns,
and four, where two sources leave three numbers from which to tell four noises apart. 95 % intervals, 25 draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FIRST_SEED, ROWS, POOL, NOISE_DB = 70_000, 300, 20_000, -20.0
NEAR = 0.9
NOTES = {
    4: "Two sources leave three numbers from which to tell four noises apart, and bootstrap tables inherit the fit's "
    "answer to that.",
    6: "The standard errors of the shares are 0.03 to 0.06.",
}


def jobs(full: bool) -> list[dict[str, Any]]:
    seeds = range(FIRST_SEED, FIRST_SEED + (20 if full else 1))
    return [{"n_columns": n, "seed": seed} for seed in seeds for n in (6, 4)]


def run(n_columns: int, seed: int) -> list[dict[str, Any]]:
    import numpy as np

    from latentbits import ICAMixture
    from latentbits.simulate import ica_mixture

    A = np.random.default_rng(seed).normal(size=(n_columns, 2))
    centre = np.zeros(n_columns)
    X = ica_mixture([A], n_points=POOL, noise_db=NOISE_DB, means=[centre], random_state=seed).X[:ROWS]
    model = ICAMixture(1, 2, 3, n_init=1, random_state=seed).fit(X)
    rows = []
    for method in ("bootstrap", "posterior"):
        table = model.interval(X, method=method, n_draws=25, random_state=seed)
        of = dict(iter(table.groupby("quantity")))
        noise = np.full(n_columns, np.sqrt(10 ** (NOISE_DB / 10) * np.mean((A**2).sum(axis=1))))
        truth = {"effect": _matched(A, of["effect"]["value"].to_numpy().reshape(A.shape)), "centre": centre}
        for quantity, values in {**truth, "noise": noise}.items():
            held = of[quantity]["low"].to_numpy() <= values
            held &= values <= of[quantity]["high"].to_numpy()
            rows.append({"method": method, "quantity": quantity, "held": held.mean()})
    return rows


def _matched(A: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The true effects in the order and with the signs of those found, in one column."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    cosines = A.T @ found / np.outer(np.linalg.norm(A, axis=0), np.linalg.norm(found, axis=0) + 1e-12)
    sought, place = linear_sum_assignment(-np.abs(cosines))
    truth = np.empty_like(found)
    truth[:, place] = A[:, sought] * np.sign(cosines[sought, place])
    return truth.ravel()


def judge(table: pd.DataFrame) -> list[Claim]:
    share = table.pivot_table("held", ["n_columns", "method"], "quantity")
    words = f"{table['seed'].nunique()} data sets"
    claims = []
    for n, of in share.groupby(level="n_columns"):
        lines = [
            f"{method} " + ", ".join(f"{name} {value:.2f}" for name, value in of.loc[n, method].items())
            for method in ("bootstrap", "posterior")
        ]
        claims.append(
            Claim(
                statement=f"ICA mixture: 95% intervals by bootstrap hold the truth in at least {NEAR:.0%} ({n} columns,"
                f" {words})",
                ours="; ".join(lines),
                holds=bool((of.loc[n, "bootstrap"] >= NEAR).all()),
                note=NOTES.get(int(n), ""),
            )
        )
    return claims


EXPERIMENT = Experiment(title="Coverage of the intervals of ICA mixtures", results=(), jobs=jobs, run=run, judge=judge)
