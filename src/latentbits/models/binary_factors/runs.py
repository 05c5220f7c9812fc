"""Runs of the three learners: how they are made, and what they have found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbits.fitting.restarts import Restart, Runner, climbing
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import Encoder, Update
from latentbits.models.binary_factors.auto import PathLearning, Stop
from latentbits.models.binary_factors.byy import HarmonyLearning
from latentbits.models.binary_factors.discarding import Discard, least_length
from latentbits.models.binary_factors.em import MaximumLikelihood
from latentbits.models.binary_factors.model import Parameters, Prior, log_odds
from latentbits.models.binary_factors.vb import VariationalBayes, expected_program

__all__ = ["Found", "discards_table", "found_by", "make_runner", "shifted", "sizes_table"]


class Found(NamedTuple):
    """The result of one run, for centred and scaled data.

    Q, offset : of the binary quadratic program of a row (eq. 13), f being phi A^T (x - c) + offset
    """

    theta: Parameters
    Q: np.ndarray
    offset: np.ndarray
    discards: list[Discard]


def make_runner(
    Z: np.ndarray, m: int, inference: str, encoder: Encoder, update: Update, priors: bool, delta: float | None
) -> Callable[[Workers], Runner[Any]]:
    """The learner of the estimator's parameters, started with m factors, for rows Z in units of their spread."""
    prior = Prior(tau=float(priors or inference == "vb"))
    least = least_length(*Z.shape) if delta is None else delta
    if inference == "em":
        return climbing(lambda workers: MaximumLikelihood(Z, m, workers))
    if inference == "vb":
        return lambda workers: VariationalBayes(Z, m, prior, least, workers).run
    if inference == "auto":
        return lambda workers: PathLearning(HarmonyLearning(Z, m, encoder, update, prior, least, workers)).run
    return lambda workers: HarmonyLearning(Z, m, encoder, update, prior, least, workers).run


def found_by(inference: str, outcome: Any) -> Found:
    """What the outcome of a learner's run says about parameters and codes."""
    if inference == "em":
        return _point(outcome.parameters, [])
    if inference == "auto":
        return _point(outcome.stops[outcome.best].theta, outcome.discards)
    if inference == "byy":
        return _point(outcome.state.theta, outcome.discards)
    Q, offset = expected_program(outcome.state)
    return Found(outcome.state.parameters, Q, offset, outcome.discards)


def _point(theta: Parameters, discards: list[Discard]) -> Found:
    return Found(theta, theta.phi * theta.A.T @ theta.A, log_odds(theta.beta) / 2, discards)


def shifted(run: Restart[Any], by: float) -> Restart[Any]:
    """The run with a constant added to its objective."""
    return replace(run, objective=run.objective + by, history=[value + by for value in run.history])


def sizes_table(paths: list[list[Stop]], shift: float) -> pd.DataFrame:
    """Of every number of factors, the most likely parameters of all paths; `shift` is added to log likelihoods."""
    stops: dict[int, Stop] = {}
    for stop in (stop for path in paths for stop in path):
        size = stop.theta.A.shape[1]
        stops[size] = max(stops.get(size, stop), stop, key=lambda one: one.log_likelihood)
    lines = [(m, stop.log_likelihood + shift, -2 * (stop.criterion + shift)) for m, stop in sorted(stops.items())]
    return pd.DataFrame(lines, columns=["n_components", "log_likelihood", "bic"])


def discards_table(discards: list[Discard], scale: float) -> pd.DataFrame:
    """One line a discard, with columns of the same types when there are none; norms multiplied by `scale`."""
    kinds = {"iteration": int, "factor": int, "reason": str, "norm": float, "probability": float}
    table = pd.DataFrame(discards, columns=list(kinds)).astype(kinds)
    table["norm"] *= scale
    return table
