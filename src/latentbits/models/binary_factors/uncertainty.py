"""How sure binary factors are: spreads of the parameters over refits to rows drawn again, from where the fit ended."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors.binary_model import Parameters
from latentbits.models.binary_factors.em import MaximumLikelihood, State
from latentbits.models.binary_factors.runs import Scaled

PASSES, TOL = 50, 1e-6


class Spreads(NamedTuple):
    """Standard deviations of A, of c, of log phi and of the log odds of beta, for scaled rows."""

    A: np.ndarray
    c: np.ndarray
    log_phi: np.ndarray
    gamma: np.ndarray


def bootstrap_spreads(rows: Scaled, theta: Parameters, n_draws: int, rng: np.random.Generator) -> Spreads:
    """Each refit is by maximum likelihood. It starts at theta, so that factors keep their places and signs."""
    found = [_refit(rows, rows.Z[rng.integers(len(rows.Z), size=len(rows.Z))], theta) for _ in range(n_draws)]
    return Spreads(*(np.std(draws, axis=0, ddof=1) for draws in zip(*found, strict=True)))


def _refit(rows: Scaled, drawn: np.ndarray, theta: Parameters) -> State:
    learner = MaximumLikelihood(drawn, theta.A.shape[1], Workers(), rows.limit)
    return climb(learner, State.of(theta), Monitor(TOL, PASSES, float(np.sum(~np.isnan(drawn))))).state
