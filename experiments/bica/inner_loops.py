"""The inner loops of variational Bayes as printed (sections 2.1.1 and 4.1), on the paper's toy data.

Equations 10 and 11 are alternated within the E-step and those of appendix B.2 within the M-step, each at most 10 times
and until the bound changes by less than 1e-3. Rules, written before the run: the median inner loop of the E-step has 6
steps or fewer; the mean number of steps of the last quarter of the outer steps is below that of the first quarter. Each
holds if it does in most of the data sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.bica.toy import RISES
from experiments.runner import Claim, Experiment, count_of, median_range

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MOST, TOLERANCE, OUTER = 10, 1e-3, 200
CONCENTRATIONS = (1.0, 0.3, 0.1)
TYPICAL = 6


def jobs(full: bool) -> list[dict[str, Any]]:
    return [{"concentration": c, "seed": seed} for c in CONCENTRATIONS for seed in range(5 if full else 1)]


def run(concentration: float, seed: int) -> list[dict[str, Any]]:
    """T = 150 rows, N = 30 columns, K = 3, as printed."""
    import numpy as np

    rng = np.random.default_rng([seed, round(10 * concentration)])
    B = rng.beta(0.5, 0.5, (3, 30))
    A = rng.dirichlet(np.full(3, concentration), 150)
    X = (rng.random((150, 30)) < A @ B).astype(float)
    alpha, beta = 0.5 + rng.random(B.shape) * 5, 0.5 + rng.random(B.shape) * 5
    gamma = 1 + rng.random(A.shape) * 5
    bounds, e_steps, m_steps = [_bound(X, alpha, beta, gamma)], [], []
    for _ in range(OUTER):
        began = bounds[-1]
        for counts, which in ((e_steps, "E"), (m_steps, "M")):
            counts.append(0)
            while counts[-1] < MOST:
                counts[-1] += 1
                ones, zeros, (on, off, weight) = _parts(X, alpha, beta, gamma)
                if which == "E":
                    alpha, beta = 0.5 + on * (weight.T @ ones), 0.5 + off * (weight.T @ zeros)
                else:
                    gamma = 1 + weight * (ones @ on.T + zeros @ off.T)
                bounds.append(_bound(X, alpha, beta, gamma))
                if abs(bounds[-1] - bounds[-2]) < TOLERANCE:
                    break
        if bounds[-1] - began < TOLERANCE:
            break
    quarter = max(1, len(e_steps) // 4)
    inner = np.array(e_steps) + m_steps
    return [
        {
            "median_e": np.median(e_steps),
            "first": inner[:quarter].mean(),
            "last": inner[-quarter:].mean(),
            "outer": len(e_steps),
            "worst_step": np.diff(bounds).min(),
        }
    ]


def _expectations(alpha: np.ndarray, beta: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, ...]:
    """Expected logarithms of components, of their complements, and of weights."""
    from scipy.special import psi

    both = psi(alpha + beta)
    return psi(alpha) - both, psi(beta) - both, psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))


def _parts(X: np.ndarray, alpha: np.ndarray, beta: np.ndarray, gamma: np.ndarray) -> tuple[Any, Any, Any]:
    """The quotients of ones and zeros with their mixtures, and the exponentials that make these."""
    import numpy as np

    on, off, weight = (np.exp(part) for part in _expectations(alpha, beta, gamma))
    return X / (weight @ on), (1 - X) / (weight @ off), (on, off, weight)


def _bound(X: np.ndarray, alpha: np.ndarray, beta: np.ndarray, gamma: np.ndarray) -> float:
    """Equation B.1 at the best Q."""
    import numpy as np
    from scipy.special import betaln, gammaln

    log_on, log_off, log_a = _expectations(alpha, beta, gamma)
    on, off, weight = np.exp(log_on), np.exp(log_off), np.exp(log_a)
    data = (X * np.log(weight @ on) + (1 - X) * np.log(weight @ off)).sum()
    sources = ((0.5 - alpha) * log_on + (0.5 - beta) * log_off + betaln(alpha, beta) - betaln(0.5, 0.5)).sum()
    K = gamma.shape[1]
    mixing = ((1 - gamma) * log_a).sum() + (gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))).sum()
    return float(data + sources + mixing + len(X) * gammaln(K))


def judge(table: pd.DataFrame) -> list[Claim]:
    return [claim for c, group in table.groupby("concentration", sort=False) for claim in _judge(c, group)]


def _judge(concentration: float, group: pd.DataFrame) -> list[Claim]:
    about: dict[str, Any] = {"result": "BICA 1", "setting": f"weights drawn from Dirichlet({concentration:g})"}
    short, shorter = group["median_e"] <= TYPICAL, group["last"] < group["first"]
    return [
        Claim(
            **about,
            statement=RISES,
            paper="rises monotonically",
            ours=f"never falls in {count_of(group['worst_step'] >= 0)} data sets; smallest step "
            f"{group['worst_step'].min():.1e}",
            holds=(group["worst_step"] >= 0).all(),
            why="an update lowers the bound",
        ),
        Claim(
            **about,
            statement="section 2.1.1: the inner loop of the E-step converges within 5 to 6 steps",
            paper="5 to 6 or less, typically",
            ours=f"median {median_range(group['median_e'], 0)} steps; so in {count_of(short)} data sets",
            holds=short.mean() > 0.5,
            why="most inner loops use all the steps that they are given",
        ),
        Claim(
            **about,
            statement="figure 2: inner loops get shorter towards convergence",
            paper="so",
            ours=f"in {count_of(shorter)} data sets; from {median_range(group['first'], 1)} to "
            f"{median_range(group['last'], 1)} steps an outer step",
            holds=shorter.mean() > 0.5,
            why="inner loops are as long at the end",
        ),
    ]


EXPERIMENT = Experiment(
    title="Inner loops of variational Bayes as printed", results=("BICA 1",), jobs=jobs, run=run, judge=judge
)
