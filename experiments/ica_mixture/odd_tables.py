"""Small random tables that are hard to factorise: every fit must give finite numbers, and no bound may fall.

Each batch is tried as it is, and again with a fifth of the cells missing (one at least in every column is there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

KINDS = (
    "normal",
    "collinear",
    "constant",
    "integers",
    "few",
    "duplicates",
    "binary",
    "outlier",
    "heavy",
    "mostly zero",
)
TABLES, BATCH = 5000, 100
MISSING = 0.2
SLACK = 1e-8
"""A fall of the bound of this part of its size is rounding."""


def jobs(full: bool) -> list[dict[str, Any]]:
    seeds = range(TABLES // BATCH if full else 1)
    return [{"seed": seed, "missing": missing} for missing in (0.0, MISSING) for seed in seeds]


def run(seed: int, missing: float) -> list[dict[str, Any]]:
    return [{"table": number, **_tried(number, missing)} for number in range(BATCH * seed, BATCH * (seed + 1))]


def _tried(number: int, missing: float) -> dict[str, Any]:
    import warnings

    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    from latentbits import ICAMixture

    rng = np.random.default_rng(number)
    kind, X = _table(rng)
    holes = rng.random(X.shape) < missing
    holes[rng.integers(len(X), size=X.shape[1]), np.arange(X.shape[1])] = False
    X = np.where(holes, np.nan, X)
    sizes = {name: int(rng.integers(1, 6)) for name in ("n_clusters", "n_sources", "n_gaussians")}
    row = {"kind": kind, **sizes, "error": "", "finite": False, "fall": 0.0}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = ICAMixture(**sizes, n_init=1, max_iter=25, tol=1e-4, random_state=number).fit(X)
        answers = [model.transform(X), model.transform(X, kind="unmixed"), model.predict_proba(X)]
        answers += [model.score_samples(X), model.mixing_, model.means_, model.noise_precision_]
        row["finite"] = all(np.isfinite(answer).all() for answer in (*answers, model.objective_history_))
        row["fall"] = _largest_fall(model)
    except Exception as error:  # whatever it is, it is what is counted
        row["error"] = type(error).__name__
    return row


def _table(rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """A kind and a table of it, the columns in units of 1e-12 to 1e12, some far from zero."""
    import numpy as np

    T, N = int(rng.integers(1, 30)), int(rng.integers(1, 7))
    kind = str(rng.choice(KINDS))
    X = rng.normal(size=(T, N))
    if kind == "collinear":
        X = X[:, :1] @ rng.normal(size=(1, N))
    elif kind == "constant":
        X[:, rng.random(N) < 0.6] = 10 * rng.normal()
    elif kind == "integers":
        X = rng.integers(-3, 4, size=(T, N)).astype(float)
    elif kind == "few":
        X = rng.normal(size=(int(rng.integers(1, 4)), N))
    elif kind == "duplicates":
        X = X[rng.integers(0, max(1, T // 4), size=T)]
    elif kind == "binary":
        X = rng.integers(0, 2, size=(T, N)).astype(float)
    elif kind == "outlier":
        X[rng.integers(len(X))] *= 1e6
    elif kind == "heavy":
        X = rng.standard_cauchy(size=(T, N))
    elif kind == "mostly zero":
        X = np.where(rng.random((T, N)) < 0.9, 0.0, 1.0)
    X = X * 10.0 ** rng.uniform(-12, 12, size=X.shape[1])
    return kind, X + 10.0 ** rng.uniform(-12, 12) if rng.random() < 0.3 else X


def _largest_fall(model: Any) -> float:
    """Of the bound from a pass to the next, relative to its size, but where a structural move begins or is undone."""
    import numpy as np

    history, moves = model.objective_history_, model.history_
    structural = moves[~moves["move"].isin(["rescale", "rotate"])]
    pieces = np.split(history, np.unique(structural["iteration"].to_numpy(dtype=int)))
    falls = [float(-np.diff(piece).min()) for piece in pieces if len(piece) > 1]
    return max(0.0, *falls) / max(1.0, float(np.abs(history).max())) if falls else 0.0


def judge(table: pd.DataFrame) -> list[Claim]:
    return [_survived(part, share) for share, part in table.groupby("missing")]


def _survived(table: pd.DataFrame, missing: float) -> Claim:
    errors = table["error"].fillna("") != ""
    falls = table["fall"] > SLACK
    holes = f", {missing:.0%} of the cells missing" if missing else ""
    return Claim(
        statement="ICA mixtures of odd small tables (collinear, constant, integers, duplicates, fewer rows than "
        f"columns, units of 1e-12 to 1e12{holes}): no error, no NaN, and no bound that falls",
        ours=f"{len(table)} tables: {errors.sum()} errors, {(~table['finite'] & ~errors).sum()} with NaN or "
        f"infinity, {falls.sum()} falls of more than {SLACK:g} of the bound (largest {table['fall'].max():.1g})",
        holds=not errors.any() and table["finite"].all() and not falls.any(),
    )


EXPERIMENT = Experiment(
    title="Odd small tables: finite answers, bounds that never fall",
    results=(),
    jobs=jobs,
    run=run,
    judge=judge,
)
