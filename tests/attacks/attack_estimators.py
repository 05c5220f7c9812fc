"""Estimators: random small problems over every model and the ranges of its parameters keep the contracts.

Everything is finite; what climbs never falls; one job or two give the same bits; a file gives the model back to the
last bit; a row of weight 2 is a row that is there twice; the order of rows and columns, and columns without any cell,
change nothing. Where a contract holds up to rounding, the bound is stated here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from latentbits import load_model, save_model
from latentbits.errors import DataError
from latentbits.models.registry import model_name
from tests.attacks.problems import Problem, draw

SMALL = 60
LARGE = 10_000
SECONDS = 60

FLOAT32 = 1e-7
"""Rounding of an objective, for each cell and each unit of it: passes work in float32."""

ROUNDING = 1e-5
"""Of probabilities, and of objectives in parts, between two ways to say the same."""

ONE_ANSWER = ("independent", "row-column", "ising", "linear-autoencoder")
"""Models that are a function of the table, whatever the order of rows and columns."""
CLIMBING = ("aspect-bernoulli", "beta-ica", "bernoulli-mixture", "logistic-pca", "bernoulli-nmf", "plsa")
"""Models of tables whose passes are a function of the table and the start."""
TO_THE_END = {"max_iter": 5000, "tol": 1e-14}
"""Fits that are stopped before are at points that rounding has a part in."""
ONE_ROUND = {"max_iter": 3, "n_init": 1}
"""After more rounds, equal fits may be at other optima, by rounding."""


def case(rng: np.random.Generator) -> None:
    problem = draw(rng)
    try:
        model = problem.fitted()
    except DataError as refusal:  # too few rows, or nothing to learn from, in a sentence
        if "\n" in str(refusal) or ";" not in str(refusal):
            raise
        return
    try:
        check_finite(model, problem)
        check_climb(model, problem)
        check_file(model, problem)
        extra = [check_jobs, check_weights, check_order_of_rows, check_order_of_columns, check_empty_column]
        extra[int(rng.integers(len(extra)))](model, problem, rng)
    except AssertionError as error:
        raise AssertionError(f"{problem}: {error}") from error


# ---- what always holds -------------------------------------------------------------------------------------


def check_finite(model: Any, problem: Problem) -> None:
    for name, value in vars(model).items():
        if (
            isinstance(value, np.ndarray | float)
            and np.asarray(value).dtype.kind == "f"
            and name not in problem.parameters
        ):
            assert np.isfinite(value).all(), f"{name} is not finite"
    for name in ("transform", "reconstruct", "score_samples", "log_likelihood", "score", "aic", "bic"):
        if hasattr(model, name):
            answer = np.asarray(getattr(model, name)(problem.X))
            assert np.isfinite(answer).all(), f"{name} is not finite"


def never_falls(model: Any, n_components: int | None) -> bool:
    """Whether a start that ended with so many components should have a history that never falls."""
    match type(model).__name__:
        case "ProbitFactors":
            return False  # samples rise and fall
        case "BetaICA":
            return bool(model.inference != "gibbs")
        case "ICAMixture":  # structural moves are trials, and may be kept though the bound falls
            return not (model.split or model.delete or model.reinitialise)
        case "BinaryFactorAnalysis" if model.inference in ("byy", "vb"):  # discarded factors, and approximate codes
            exact = model.inference == "vb" or model.encoder == "enum"
            return bool(exact and n_components == model.n_components)
    return True


def check_climb(model: Any, problem: Problem) -> None:
    weight = getattr(model, "row_weight_", np.ones(1)).max()
    for number, history in enumerate(getattr(model, "restart_histories_", [])):
        if not never_falls(model, model.restarts_.iloc[number].get("n_components")):
            continue
        slack = FLOAT32 * (problem.X.size * weight + np.abs(history).max(initial=0.0))
        fall = -np.diff(history).min(initial=0.0)
        assert fall <= slack, f"the objective falls by {fall:.3g}, and {slack:.3g} is rounding"


def check_file(model: Any, problem: Problem) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model.npz")
        check_same(model, load_model(Path(folder) / "model.npz"))


def check_same(a: Any, b: Any, leave_out: tuple[str, ...] = ()) -> None:
    """All attributes to the last bit."""
    assert vars(a).keys() == vars(b).keys()
    for name, value in vars(a).items():
        if name not in leave_out:
            assert same(value, vars(b)[name]), f"{name} differs"


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, pd.DataFrame):
        return a.equals(b) or (len(a) == 0 and len(b) == 0 and list(a) == list(b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "get_params"):
        return same(vars(a), vars(b))
    return bool(a == b or (a != a and b != b))


# ---- one of these ------------------------------------------------------------------------------------------


def check_jobs(model: Any, problem: Problem, rng: np.random.Generator) -> None:
    if "n_jobs" in model.get_params():
        other = problem.fitted(n_jobs=2)
        check_same(model, other, ("n_jobs", "members_", "noise_model_"))
        name = "transform" if hasattr(model, "transform") else "reconstruct"
        assert np.array_equal(getattr(model, name)(problem.X), getattr(other, name)(problem.X)), f"{name} differs"


def check_weights(model: Any, problem: Problem, rng: np.random.Generator) -> None:
    weight = rng.integers(0, 4, len(problem.X))
    weight[int(rng.integers(len(weight)))] = 2
    repeated = np.repeat(problem.X, weight, axis=0)
    if passes_are_told(model) and not np.isnan(repeated).all():
        weighted = problem.fitted(more={"sample_weight": weight}, **ONE_ROUND)
        check_same_answers(weighted, problem.fitted(repeated, **ONE_ROUND), problem.X, "weighted rows")


def check_order_of_rows(model: Any, problem: Problem, rng: np.random.Generator) -> None:
    if passes_are_told(model):
        other = problem.fitted(problem.X[rng.permutation(len(problem.X))], **ONE_ROUND)
        check_same_answers(problem.fitted(**ONE_ROUND), other, problem.X, "rows in another order")


def passes_are_told(model: Any) -> bool:
    """Whether the passes of a fit are a function of the table and the start."""
    return model_name(model) in (*ONE_ANSWER, *CLIMBING) and getattr(model, "inference", "") != "gibbs"


def check_same_answers(a: Any, b: Any, X: np.ndarray, what: str) -> None:
    """The same objective, and the same probabilities of observed cells: components without weight may be any."""
    close(a.objective_, b.objective_, ROUNDING * (1 + abs(b.objective_)), f"the objective of {what}")
    seen = ~np.isnan(X)
    close(a.reconstruct(X)[seen], b.reconstruct(X)[seen], ROUNDING, f"probabilities of {what}")


def check_order_of_columns(model: Any, problem: Problem, rng: np.random.Generator) -> None:
    if problem.spec.name in ONE_ANSWER:
        order = rng.permutation(problem.X.shape[1])
        model, other = problem.fitted(**TO_THE_END), problem.fitted(problem.X[:, order], **TO_THE_END)
        close(
            model.reconstruct(problem.X)[:, order],
            other.reconstruct(problem.X[:, order]),
            ROUNDING,
            "columns in another order",
        )


def check_empty_column(model: Any, problem: Problem, rng: np.random.Generator) -> None:
    if problem.spec.name in ONE_ANSWER:
        place = int(rng.integers(problem.X.shape[1] + 1))
        X = np.insert(problem.X, place, np.nan, axis=1)
        found = np.delete(problem.fitted(X, **TO_THE_END).reconstruct(X), place, axis=1)
        close(problem.fitted(**TO_THE_END).reconstruct(problem.X), found, ROUNDING, "a column without a cell")


def close(a: Any, b: Any, rounding: float, what: str) -> None:
    off = float(np.abs(np.asarray(a) - np.asarray(b)).max(initial=0.0))
    assert off <= rounding, f"{what}: off by {off:.3g}, and {rounding:.3g} is rounding"
