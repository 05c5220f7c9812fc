"""Random small problems: a model, parameters drawn from the ranges of its record, and data for it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from latentbits.constraints import Choice, Number
from latentbits.models.registry import MODELS, model_class
from latentbits.models.spec import ModelSpec

Rng = np.random.Generator

LONGEST = {"max_iter": 40, "n_burn": 15, "n_samples": 12, "n_points": 12, "n_gaussians": 4, "total_samples": 1000}
"""Largest values of parameters that are no matter of range but of time; 4 for other whole numbers."""

RARE = {"false-zeros": 0.1, "probit-factors": 0.5, "binary-ica": 0.5, "ica-mixture": 0.5}
"""How often models are tried, relative to the others: they take longer."""

NOT_DRAWN = ("random_state", "n_jobs", "verbose", "binarize", "checkpoint", "warm_start", "batch_size", "total_samples")


@dataclass
class Problem:
    """A model with its parameters, data, and what `fit` takes beside them."""

    spec: ModelSpec
    parameters: dict[str, Any]
    X: np.ndarray
    fit_parameters: dict[str, Any] = field(default_factory=dict)

    def fitted(self, X: np.ndarray | None = None, more: dict[str, Any] | None = None, **parameters: Any) -> Any:
        """The fitted model; of other data, other arguments of `fit`, or with other parameters."""
        kind = model_class(self.spec.name)
        known = kind().get_params()
        chosen = {name: value for name, value in {**self.parameters, **parameters}.items() if name in known}
        return kind(**chosen).fit(self.X if X is None else X, **{**self.fit_parameters, **(more or {})})

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.spec.class_name}({given}) on {self.X.shape[0]} x {self.X.shape[1]}"


def draw(rng: Rng, name: str | None = None) -> Problem:
    """A problem, of this model if one is named."""
    chances = np.array([RARE.get(known, 1.0) for known in MODELS])
    spec = MODELS[name or str(rng.choice(list(MODELS), p=chances / chances.sum()))]
    parameters = draw_parameters(rng, spec)
    if spec.data == "numbers":
        return Problem(spec, parameters, numbers(rng))
    if spec.data == "segments":
        X = table(rng, rows=(12, 40), columns=(2, 6), missing=False)
        labels = rng.integers(int(rng.integers(1, 4)), size=len(X))
        return Problem(spec, parameters, X, {"segments": labels})
    return Problem(spec, parameters, table(rng))


def draw_parameters(rng: Rng, spec: ModelSpec) -> dict[str, Any]:
    """Some parameters other than by default; whole numbers small, so that a fit is short."""
    known = inspect.signature(model_class(spec.name)).parameters
    chosen: dict[str, Any] = {"random_state": int(rng.integers(1000)), "n_jobs": 1}
    if spec.name == "false-zeros":
        members = np.array(["aspects_2", "ising", "linear_autoencoder", "probit_factors"])
        some = members[rng.random(4) < (0.6, 0.6, 0.6, 0.1)].tolist() or ["ising"]
        return {**chosen, "members": some, "n_folds": None if rng.random() < 0.3 else 2}
    for name, parameter in known.items():
        allowed = spec.parameters[name].allowed if name in spec.parameters else None
        if name in NOT_DRAWN or name not in known:
            continue
        if isinstance(parameter.default, bool):
            chosen[name] = bool(rng.random() < 0.5)
        elif isinstance(allowed, Number) and allowed.integer:
            chosen[name] = int(rng.integers(allowed.least, LONGEST.get(name, 4) + 1))
        elif isinstance(allowed, Number) and rng.random() < 0.5:
            chosen[name] = _number(rng, allowed)
        elif isinstance(allowed, Choice) and rng.random() < 0.7:
            chosen[name] = str(rng.choice(allowed.values))
    return {name: value for name, value in chosen.items() if name in known}


def _number(rng: Rng, allowed: Number) -> float | None:
    """Somewhere in the range, on a logarithmic scale, or at its ends."""
    if allowed.optional and rng.random() < 0.2:
        return None
    low, high = max(allowed.least, 0.0), min(allowed.below, 1e6)
    value = (low or 1e-6) * ((high / (low or 1e-6)) ** rng.random())
    if rng.random() < 0.3:
        value = low if not allowed.above else low * (1 + 1e-6) or 1e-30
    return float(min(value, np.nextafter(high, 0)))


def table(
    rng: Rng, rows: tuple[int, int] = (1, 14), columns: tuple[int, int] = (1, 9), missing: bool = True
) -> np.ndarray:
    """0-1 data as floats: of any density, with equal rows, constant columns and missing cells at times."""
    N, D = int(rng.integers(*rows)), int(rng.integers(*columns))
    X = (rng.random((N, D)) < rng.random((1, D)) ** rng.choice([0.3, 1, 3])).astype(float)
    if rng.random() < 0.3:
        X = X[rng.integers(N, size=N)]
    if rng.random() < 0.2:
        X[:, rng.integers(D)] = rng.integers(2)
    if missing and rng.random() < 0.5:
        X[rng.random((N, D)) < rng.choice([0.1, 0.5])] = np.nan
    if missing and rng.random() < 0.1:
        X[rng.integers(N)] = np.nan
    if np.isnan(X).all():
        X[0, 0] = 1.0
    return X


def numbers(rng: Rng) -> np.ndarray:
    """Continuous data: clusters, sums of switches or noise, of any scale; constant columns and equal rows at times."""
    N, D = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X = rng.standard_normal((N, D))
    if rng.random() < 0.5:
        X = rng.integers(0, 2, (N, 3)) @ rng.standard_normal((3, D)) + float(rng.choice([0, 1e-3, 0.3])) * X
    if rng.random() < 0.2:
        X = X[rng.integers(N, size=N)]
    if rng.random() < 0.2:
        X[:, rng.integers(D)] = float(rng.integers(3))
    return np.asarray(X * 10.0 ** rng.integers(-6, 7) + float(rng.choice([0, 0, 1, 1e3])))
