"""Time per pass against the number of components (section 2.2): AB, the mixture, and logistic PCA as printed.

Rules, written before the run: the power of the number of components, by the median slope between 10, 20, 40 and 80
components on the fossils (processor time of one core), is at most 1.3 for AB and the mixture, and at least 2 for
logistic PCA, whose cubic term can't yet be the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import pandas as pd

ORDERS = (10, 20, 40, 80)
PASSES = 20
LINEAR, STEEP = 1.3, 2.0


def jobs(full: bool) -> list[dict[str, Any]]:
    models = ("AB", "mixture", "logistic PCA")
    return [{"model": model, "seed": seed} for model in models for seed in range(3 if full else 1)]


def run(model: str, seed: int) -> list[dict[str, Any]]:
    import time

    import numpy as np

    from experiments.ab._shared import noisy_table

    X = noisy_table("fossils", "", seed).X.astype(float)
    rng, rows = np.random.default_rng(seed), []
    for k in ORDERS:
        one_pass = {"AB": _aspects, "mixture": _mixture, "logistic PCA": _logistic}[model](X, k, rng)
        one_pass()
        began = time.process_time()
        for _ in range(PASSES):
            one_pass()
        rows.append({"k": k, "seconds": (time.process_time() - began) / PASSES})
    return rows


def _aspects(X: Any, k: int, rng: Any) -> Any:
    """Equations 13 to 17."""
    S, A = rng.dirichlet([1.0] * k, len(X)), rng.uniform(0.1, 0.9, (k, X.shape[1]))

    def one_pass() -> None:
        ones, zeros = X / (S @ A), (1 - X) / (S @ (1 - A))
        weights = S * (ones @ A.T + zeros @ (1 - A).T)
        S[:] = weights / weights.sum(axis=1, keepdims=True)
        on, off = A * (S.T @ ones), (1 - A) * (S.T @ zeros)
        A[:] = (on / (on + off)).clip(1e-9, 1 - 1e-9)

    return one_pass


def _mixture(X: Any, k: int, rng: Any) -> Any:
    import numpy as np

    A = rng.uniform(0.1, 0.9, (k, X.shape[1]))

    def one_pass() -> None:
        given = X @ np.log(A).T + (1 - X) @ np.log(1 - A).T
        member = np.exp(given - given.max(axis=1, keepdims=True))
        member /= member.sum(axis=1, keepdims=True)
        A[:] = ((member.T @ X + 1e-6) / (member.sum(axis=0)[:, None] + 2e-6)).clip(1e-9, 1 - 1e-9)

    return one_pass


def _logistic(X: Any, k: int, rng: Any) -> Any:
    from experiments.ab.as_published import best_side

    U, V = 0.1 * rng.standard_normal((len(X), k)), 0.1 * rng.standard_normal((k, X.shape[1]))

    def one_pass() -> None:
        U[:] = best_side(X, U @ V, V)
        V[:] = best_side(X.T, (U @ V).T, U.T).T

    return one_pass


def judge(table: pd.DataFrame) -> list[Claim]:
    power = {model: _power(group) for model, group in table.groupby("model")}
    return [
        Claim(
            result="AB 5",
            statement="section 2.2: time per pass is linear in K for AB and the mixture, and steeper for logistic PCA",
            paper="K, K and the cube of K",
            ours=", ".join(f"{model} power {value:.1f}" for model, value in power.items())
            + f" ({ORDERS[0]} to {ORDERS[-1]} components)",
            holds=max(power["AB"], power["mixture"]) <= LINEAR and power["logistic PCA"] >= STEEP,
            why="at these sizes other terms than the one that grows fastest take their time",
        )
    ]


def _power(group: pd.DataFrame) -> float:
    import numpy as np
    from scipy.stats import theilslopes

    times = group.groupby("k")["seconds"].min()
    return float(theilslopes(np.log(times), np.log(times.index)).slope)


EXPERIMENT = Experiment(
    title="Time per pass against the number of components", results=("AB 5",), jobs=jobs, run=run, judge=judge
)
