"""Log-likelihoods of the histories of repeat visits, cell by cell, under two ideas of why a species is missed."""

from math import exp, log

import numba
import numpy as np

__all__ = ["history_pass"]

_LOOP = {"nogil": True, "error_model": "numpy", "cache": True}
_TINY = 1e-300
_HIGHEST = 5.5  # log of the expected individuals; beyond this nothing changes
_MOST = 600  # individuals that are summed over at most


@numba.njit(**_LOOP)
def _met_individuals(lam, h, code, weight, missed, power):
    """sum_k Poisson(k; lam) * P(the history | k individuals), for a history with a sighting."""
    for v in range(len(code)):
        missed[v] = exp(-h * weight[v])
        power[v] = 1.0
    share, value = exp(-lam), 0.0
    for k in range(1, _MOST):
        share *= lam / k
        one = share
        for v in range(len(code)):
            power[v] *= missed[v]
            if code[v] >= 0:
                one *= 1.0 - power[v] if code[v] == 1 else power[v]
        value += one
        if k > lam and one <= 1e-10 * value:
            break
    return value


@numba.njit(**_LOOP)
def history_pass(eta, cells, kind, n_kinds, weight, hazard, abundance, result):
    """Write the log-likelihood of each cell's history to `result` (N x D); 0 where no visit was made.

    eta is N x D, the log of the expected number of individuals; cells is N x D x V of 0, 1 and -1; weight N x V and
    hazard D make the hazard of a visit, weight[i, v] * hazard[j]; kind (N x D, below n_kinds) is the same for cells of
    like histories and visits. A visit misses each of K individuals (with abundance), or a
    species that is there, with the probability exp(-hazard). In NumPy, with `seen` and `made` N x D x V:

        one(g) = where(seen, 1 - exp(-hazard * g), exp(-hazard * g))[made].prod()
        result = log(sum_{g > 0} exp(-lam) lam^g / g! * one(g) + exp(-lam) * (no visit saw it))       # abundance
        result = log((1 - exp(-lam)) * one(1) + exp(-lam) * (no visit saw it))                        # otherwise
    """
    n, d = eta.shape
    n_visits = weight.shape[1]
    missed, power = np.empty(n_visits), np.empty(n_visits)
    known, met = np.empty(n_kinds), np.empty(n_kinds, np.bool_)
    for j in range(d):
        for k in range(n_kinds):
            known[k] = -1.0
        for i in range(n):
            here = kind[i, j]
            lam = exp(min(eta[i, j], _HIGHEST))
            if known[here] < 0.0:  # P(the history | one is there)
                one, seen = 1.0, False
                for v in range(n_visits):
                    if cells[i, j, v] >= 0:
                        q = exp(-hazard[j] * weight[i, v])
                        one *= 1.0 - q if cells[i, j, v] == 1 else q
                        seen |= cells[i, j, v] == 1
                known[here], met[here] = one, seen
            if not abundance:
                absent = exp(-lam)
                value = (1.0 - absent) * known[here]
                result[i, j] = log(max(value if met[here] else value + absent, _TINY))
            elif met[here]:
                value = _met_individuals(lam, hazard[j], cells[i, j], weight[i], missed, power)
                result[i, j] = log(max(value, _TINY))
            else:
                result[i, j] = lam * (known[here] - 1.0)
