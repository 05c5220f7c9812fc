"""Full maximum likelihood of the binary ICA model (Hyttinen, Barin-Pacela and Hyvärinen, eq. 7).

Given the sources z the cells of a row are independent, so P(x | u) = E_z[prod_i Phi(+-c a_i . z)] is a Gaussian
expectation in as many dimensions as there are sources. Phi(c a_i . z) may be nearly a step function, which the
polynomials of Gauss-Hermite approximate badly; the trapezoidal rule on evenly spaced nodes converges faster than any
power here, and is accurate to many digits while c |a_i| s is below about 10, as the limits of the fit ensure.

All rows of all segments have the same nodes (`SourceNodes`). At each of them the probabilities of all possible rows add
up to 1, so their averages do, and what is maximised is the likelihood of a model. Nodes placed for each row where its
own sources must be are far more accurate at a given state (`source_posterior` has them), but a climb on them finds
states at which their errors are large and all on one side.

For more sources than a grid can cover, each row's posterior is approximated by a normal distribution (expectation
propagation), and its probability by that of the approximation. At the strengths of the paper the logarithm is too low
by about 0.03 per row, much the same for all rows and at all states near each other, so that it hardly moves the
maximum; and it costs as much as the cells times the squared number of sources. The errors of quasi-random points are
smaller on average, but differ from state to state, and a climb with many sources ends where they are large and all on
one side.

The paper itself has each row's probability as that of an orthant (eq. 5-7): x_i = 1 where a normal variable with the
covariance I + c^2 A diag(s_u^2) A^T is below c A mu_u, for which it takes the multivariate normal distribution
function. `OrthantProbabilities` is that, at the cost of some (columns choose 2) such functions for each distinct row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri
from scipy.stats import multivariate_normal, qmc

from latentbits.fitting.climb import Climbed, Monitor, ascend
from latentbits.fitting.restarts import Runner
from latentbits.fitting.workers import Workers
from latentbits.kernels.probit_ep import probit_ep_likelihood
from latentbits.models.binary_ica import Likelihood
from latentbits.models.binary_ica.parameters import FINEST_GRID, LINK, CountedRows, Parameters, Prior
from latentbits.numerics import LOG_ROOT_2PI, normalised

REACH = 6.0
"""Standard deviations from the centre that the grid covers; in two dimensions a mass of 2e-8 is outside."""

SMALLEST = 2.0**-32
"""Points of the unit cube stay this far from 0, whose quantile is infinite."""

BLOCK = 1 << 19
"""Numbers that a temporary array may hold; blocks of rows are sized by it, to stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class SourceNodes:
    """Nodes (P, m) for standard normal sources, and the logarithms of their weights (P,)."""

    nodes: np.ndarray
    log_weight: np.ndarray

    @classmethod
    def grid(cls, n_components: int, n_points: int) -> SourceNodes:
        """`n_points` nodes in each dimension."""
        line = np.linspace(-REACH, REACH, n_points)
        nodes = np.array(list(product(line, repeat=n_components)))
        nodes = nodes[(nodes**2).sum(axis=1) <= REACH**2]  # the corners of the square have no mass
        log_density = -0.5 * (nodes**2).sum(axis=1)
        return cls(nodes, log_density - logsumexp(log_density))

    @classmethod
    def sobol(cls, n_components: int, n_points: int) -> SourceNodes:
        """Scrambled Sobol points, rounded up to a power of 2 of them; the same ones in every call."""
        cube = qmc.Sobol(n_components, seed=0).random_base2(int(np.ceil(np.log2(n_points))))
        return cls(ndtri(np.maximum(cube, SMALLEST)), np.full(len(cube), -np.log(len(cube))))

    def gradient(
        self, cells: np.ndarray, counts: np.ndarray, A: np.ndarray, mu: np.ndarray, s: np.ndarray, b: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """sum over rows of count * log P(x), and its derivatives by A, mu, log s and the intercepts b."""
        z = mu + s * self.nodes
        Y = LINK * z @ A.T + b
        log_one, log_zero = log_ndtr(Y), log_ndtr(-Y)
        value, by_one, by_zero = 0.0, np.zeros_like(Y), np.zeros_like(Y)
        step = max(1, BLOCK // len(z))
        for start in range(0, len(cells), step):
            block, count = cells[start : start + step], counts[start : start + step]
            ones, zeros = (block == 1).astype(float), (block == 0).astype(float)  # a missing cell is neither
            log_p, posterior = normalised(ones @ log_one.T + zeros @ log_zero.T + self.log_weight)
            value += float(count @ log_p)
            posterior *= count[:, None]
            by_one += posterior.T @ ones
            by_zero += posterior.T @ zeros
        log_density = -0.5 * Y**2 - LOG_ROOT_2PI
        dY = by_one * np.exp(log_density - log_one) - by_zero * np.exp(log_density - log_zero)
        dz = LINK * dY @ A
        by_log_s = np.einsum("pk,pk->k", dz, s * self.nodes)
        return value, LINK * dY.T @ z, dz.sum(axis=0), by_log_s, dY.sum(axis=0)


MAX_SWEEPS = 100
SWEEP_TOL = 1e-6
"""The gradient holds at the fixed point: an ascent needs it nearer than the placing of nodes does."""


class Propagation:
    """Likelihood and gradient of rows, with the interface of `SourceNodes`."""

    def gradient(
        self, cells: np.ndarray, counts: np.ndarray, A: np.ndarray, mu: np.ndarray, s: np.ndarray, b: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """sum over rows of count * log P(x), and its derivatives by A, mu, log s and the intercepts b."""
        B = np.ascontiguousarray(LINK * A * s)
        value, dB, dh = probit_ep_likelihood(cells, counts, B, LINK * A @ mu + b, MAX_SWEEPS, SWEEP_TOL)
        return value, LINK * (dB * s + np.outer(dh, mu)), LINK * A.T @ dh, (dB * B).sum(axis=0), dh


GRID_POINTS = {1: 256, 2: 80}  # by the number of sources, per dimension

CDF_POINTS, CDF_ERROR = 1000, 1e-5
"""Points per dimension of the multivariate normal distribution function, and the error at which it is content."""

SMALLEST_PROBABILITY = 1e-12
"""Rows of smaller probabilities count as of this one: errors would be larger than what is left."""

MOST_ORTHANT_COLUMNS = 10
"""Columns up to which orthant probabilities are computed: a row takes 0.1 to 0.5 seconds then."""

STRONGER = 2.0
"""The precision of the mixing's entries is that of matched shrinkage times this: chosen among 1/2, 1, 2 and 4 on
simulations of 5 to 10 columns, where it gained 0.001 in mean cosine similarity with as many sources as columns."""

STRONGEST = 8.0
"""Entries of the mixing stay within this: a cell is then almost a deterministic function of its source. Larger ones
would hardly change the likelihood, and make the integrand too steep for the points of the integrals."""

WEAKEST, WIDEST = 1e-3, 2.5
"""Limits of the scales: near 0 the gradient in log s vanishes."""

FARTHEST = 100.0
"""Means and intercepts stay within this."""


class OrthantProbabilities:
    """Likelihood and gradient of rows by the multivariate normal distribution function (Genz), as SciPy has it.

    With g and R the standardised limits and correlations of a row's seen cells, turned so that all are upper limits,
    P(x) = Phi_k(g; R), whose derivative by g_i is phi(g_i) Phi_(k-1) of the others given the i-th, and by R_ij the
    bivariate density times Phi_(k-2) of the others given both (Plackett). Errors are SciPy's, some 1e-4 of P(x).
    """

    def gradient(
        self, cells: np.ndarray, counts: np.ndarray, A: np.ndarray, mu: np.ndarray, s: np.ndarray, b: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """sum over rows of count * log P(x), and its derivatives by A, mu, log s and the intercepts b."""
        B, h = LINK * A * s, LINK * A @ mu + b
        S = np.eye(len(B)) + B @ B.T
        value, dB, dh = 0.0, np.zeros_like(B), np.zeros_like(h)
        for row, count in zip(cells, counts, strict=True):
            seen = np.flatnonzero((row == 0) | (row == 1))
            if len(seen) == 0:
                continue
            log_p, by_h, by_S = _orthant(np.where(row[seen] == 1, 1.0, -1.0), h[seen], S[np.ix_(seen, seen)])
            value += count * log_p
            dh[seen] += count * by_h
            dB[seen] += count * (by_S + by_S.T) @ B[seen]
        return value, LINK * (dB * s + np.outer(dh, mu)), LINK * A.T @ dh, (dB * B).sum(axis=0), dh


def _orthant(sign: np.ndarray, h: np.ndarray, S: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """log P, and its derivatives by h and by S, the latter above the diagonal and on it."""
    sd = np.sqrt(np.diagonal(S))
    g, R = sign * h / sd, np.outer(sign, sign) * S / np.outer(sd, sd)
    P = max(normal_cdf(g, R), SMALLEST_PROBABILITY)
    by_g, by_R = np.empty(len(g)), np.zeros_like(R)
    for i in range(len(g)):
        by_g[i] = np.exp(-0.5 * g[i] ** 2 - LOG_ROOT_2PI) * _given(g, R, i) / P
        for j in range(i + 1, len(g)):
            rest = 1 - R[i, j] ** 2
            square = (g[i] ** 2 - 2 * R[i, j] * g[i] * g[j] + g[j] ** 2) / rest
            by_R[i, j] = np.exp(-0.5 * square - 2 * LOG_ROOT_2PI) / np.sqrt(rest) * _given(g, R, i, j) / P
    both = (by_R + by_R.T) * R
    by_S = by_R * np.outer(sign, sign) / np.outer(sd, sd)
    by_S[np.diag_indices(len(g))] = -(by_g * g + both.sum(axis=1)) / (2 * sd**2)
    return float(np.log(P)), by_g * sign / sd, by_S


def _given(g: np.ndarray, R: np.ndarray, *where: int) -> float:
    """Phi of all other variables, given that these are at their limits."""
    at = np.array(where)
    others = np.setdiff1d(np.arange(len(g)), at)
    if len(others) == 0:
        return 1.0
    slope = np.linalg.solve(R[np.ix_(at, at)], R[np.ix_(at, others)])
    V = R[np.ix_(others, others)] - R[np.ix_(others, at)] @ slope
    sd = np.sqrt(np.diagonal(V))
    return normal_cdf((g[others] - g[at] @ slope) / sd, V / np.outer(sd, sd))


def normal_cdf(g: np.ndarray, R: np.ndarray) -> float:
    """Phi_k(g; R) of a correlation matrix; the same numbers in every call."""
    if len(g) == 1:
        return float(ndtr(g[0]))
    precise = {"maxpts": CDF_POINTS * len(g), "abseps": CDF_ERROR, "releps": CDF_ERROR}
    return float(multivariate_normal.cdf(g, cov=R, allow_singular=True, rng=np.random.default_rng(0), **precise))


RowLikelihood = SourceNodes | Propagation | OrthantProbabilities
"""How the probabilities of rows are computed."""


class State(NamedTuple):
    """A: (n, m). mu, log_s: (U, m). b: (n,), the intercepts."""

    A: np.ndarray
    mu: np.ndarray
    log_s: np.ndarray
    b: np.ndarray


def likelihood_for(
    n_components: int, n_points: int | None = None, likelihood: Likelihood = "integrated"
) -> RowLikelihood:
    """A grid over one or two sources (`n_points` in each dimension). Over more, expectation propagation, or Sobol
    points if a number of them is given. If "exact", orthant probabilities for any number."""
    if likelihood == "exact":
        return OrthantProbabilities()
    if n_components <= 2:
        return SourceNodes.grid(n_components, min(n_points or GRID_POINTS[n_components], FINEST_GRID))
    return Propagation() if n_points is None else SourceNodes.sobol(n_components, n_points)


def objective(
    state: State, rows: CountedRows, likelihood: RowLikelihood, workers: Workers, prior: Prior | None = None
) -> tuple[float, State]:
    """sum over rows of log P(x | u), with the log prior if there is one, and its gradient."""
    A, mu, log_s, b = state
    s = np.exp(log_s)
    parts = workers.map(lambda u: likelihood.gradient(*rows.segment(u), A, mu[u], s[u], b), range(len(mu)))
    values, dA, d_mu, d_log_s, db = zip(*parts, strict=True)
    gradient = State(np.sum(dA, axis=0), np.stack(d_mu), np.stack(d_log_s), np.sum(db, axis=0))
    if prior is None:
        return float(np.sum(values)), gradient
    log_prior, prior_A, prior_s = prior(LINK * A, log_s)
    gradient = gradient._replace(A=gradient.A + LINK * prior_A, log_s=gradient.log_s + prior_s)
    return float(np.sum(values)) + log_prior, gradient


def start(parameters: Parameters) -> State:
    """The state of given parameters, the mean of log s moved into A as the prior wants it, clipped to the limits."""
    log_s = np.log(np.clip(parameters.scales, WEAKEST, WIDEST))
    middle = log_s.mean(axis=0)
    return State(
        np.clip(parameters.mixing * np.exp(middle), -STRONGEST, STRONGEST),
        np.clip(parameters.means / np.exp(middle), -FARTHEST, FARTHEST),
        np.clip(log_s - middle, np.log(WEAKEST), np.log(WIDEST)),
        np.clip(np.broadcast_to(parameters.intercepts, len(parameters.mixing)), -FARTHEST, FARTHEST),
    )


def prior_of(prior: Prior) -> Prior:
    """The prior of a fit by maximum likelihood: that of matched shrinkage, with a stronger one of the mixing."""
    return prior._replace(mixing=STRONGER * prior.mixing)


def parameters_of(state: State) -> Parameters:
    """The parameters of a state."""
    return Parameters(state.A, state.mu, np.exp(state.log_s), state.b)


def limits(state: State) -> tuple[State, State]:
    """The lower and the upper limit of each entry."""
    low, high = (STRONGEST, FARTHEST, -np.log(WEAKEST), FARTHEST), (STRONGEST, FARTHEST, np.log(WIDEST), FARTHEST)
    lower = State(*(np.full(part.shape, -limit) for part, limit in zip(state, low, strict=True)))
    return lower, State(*(np.full(part.shape, limit) for part, limit in zip(state, high, strict=True)))


def runner(
    parameters: Parameters, rows: CountedRows, likelihood: RowLikelihood, workers: Workers, prior: Prior
) -> Runner[State]:
    """One climb from the given model; nothing in it is random."""
    stronger = prior_of(prior)

    def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
        first = start(parameters)
        return ascend(
            lambda state: objective(state, rows, likelihood, workers, stronger), first, monitor, limits(first)
        )

    return run
