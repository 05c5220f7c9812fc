"""Independent Beta sources, convexly mixed (Kaban and Bingham, binary ICA by factorial Beta sources).

Our weights W and components H are the paper's mixing a_tk and sources b_kn; our rows are its t, our columns its n.
Variational EM (section 2.1) has q(b) = Beta(alpha, beta) and point weights; variational Bayes (section 2.2) has
q(a) = Dirichlet(gamma) too. Both feed the family's pass with exponentiated expected logarithms (eq. 9).

The papers give the parameter gamma0 of the weights' prior. Where it is learned, it maximises the bound. As q(a) is
Dirichlet(gamma0 + M), a state has M and gamma0, and both follow from the q(a) of the state before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.rows import Chunk, RowLearner, Rows, Sums, column_counts, rows_of
from latentbits.fitting.workers import Workers
from latentbits.kernels.gamma_functions import gamma_functions
from latentbits.models.aspect.maximum_likelihood import Evaluated, em_weights, equal_weights, onto_simplex
from latentbits.models.aspect.noise_components import NO_NOISE, NoiseComponents
from latentbits.models.aspect.statistics import collect, pass_arrays, pass_over
from latentbits.models.factor_model import shifted_components
from latentbits.models.solved_rows import Solution
from latentbits.numerics import kernel_array, kl_beta, kl_dirichlet

SMALL = 1e-10  # least weight after an extrapolation: from 0 it could never rise again
ROWS = 1024  # rows whose special functions are computed at a time
MAX_STEPS = 2000  # of fold-in, per row
LEAST_WEIGHT = 1e-300  # rows may all have the weight 0


FIRST_GAMMA = 1.0
"""Where a learned gamma0 starts: all weights of a row are equally likely."""

LEAST_GAMMA, MOST_GAMMA = 0.001, 1.0
"""Where it ends if every row has a single component, or mixes them evenly. The bound is the looser the more evenly rows
mix: above 1 it rises until all rows are alike, also where the evidence itself falls (a toy of 150 x 30 with three
components at 1: by 120 nats)."""


LONGEST_MOVE = 0.02
"""Of log gamma0 in a step of a climb. Where gamma0 is small the bound has many optima; after components have formed at
larger ones, different starts lead to the same optimum. (The bound has one peak in gamma0, so a part of the way to it
raises the bound too.)"""


class Prior(NamedTuple):
    """alpha, beta: of every b_kj (Beta). gamma: of every row's weights (Dirichlet, not of "em"); None learns it."""

    alpha: float
    beta: float
    gamma: float | None


class EMState(NamedTuple):
    """W: (N, K) weights. alpha, beta: (K, D) parameters of q(b)."""

    W: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray

    @property
    def H(self) -> np.ndarray:
        """Posterior mean components."""
        return self.alpha / (self.alpha + self.beta)


class BayesState(NamedTuple):
    """M: (N, K) cells that each component has caused of each row. alpha, beta: (K, D) parameters of q(b).

    log_gamma0: (1,) of the prior of weights. Its logarithm, because it is extrapolated.
    """

    M: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    log_gamma0: np.ndarray

    @property
    def gamma0(self) -> float:
        """The parameter of the prior of weights."""
        return float(np.exp(self.log_gamma0[0]))

    @property
    def gamma(self) -> np.ndarray:
        """(N, K) parameters of q(a)."""
        return self.gamma0 + self.M

    @property
    def H(self) -> np.ndarray:
        """Posterior mean components."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def W(self) -> np.ndarray:
        """Posterior mean weights."""
        gamma = self.gamma
        return gamma / gamma.sum(axis=1, keepdims=True)


State = TypeVar("State", EMState, BayesState)


def pass_components(
    alpha: np.ndarray, beta: np.ndarray, noise: NoiseComponents = NO_NOISE
) -> tuple[np.ndarray, np.ndarray]:
    """H1~ = exp E[log b] and H0~ = exp E[log(1 - b)]."""
    log_b, log_not_b, _ = _expected_logs(alpha, beta, noise)
    return np.exp(log_b), np.exp(log_not_b)


def _expected_logs(
    alpha: np.ndarray, beta: np.ndarray, noise: NoiseComponents
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[log b], E[log(1 - b)] and log B(alpha, beta), the norm of q(b).

    Of noise components, the last, b is known: it is alpha, and beta is 1 - b.
    """
    (psi, log_gamma), (psi_not, log_gamma_not) = _gamma_functions(alpha), _gamma_functions(beta)
    psi_sum, log_gamma_sum = _gamma_functions(alpha + beta)
    log_b, log_not_b = psi - psi_sum, psi_not - psi_sum
    known = slice(len(alpha) - len(noise), None)
    log_b[known], log_not_b[known] = np.log(alpha[known]), np.log(beta[known])
    return log_b, log_not_b, log_gamma + log_gamma_not - log_gamma_sum


def _expected_log_weights(gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[log a] of rows a ~ Dirichlet(gamma), and log B(gamma), the norm of each row's q(a)."""
    psi, log_gamma = _gamma_functions(gamma)
    psi_sum, log_gamma_sum = _gamma_functions(gamma.sum(axis=1))
    return psi - psi_sum[:, None], log_gamma.sum(axis=1) - log_gamma_sum


def _gamma_functions(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """digamma and log gamma of an array."""
    psi, log_gamma = np.empty(x.size), np.empty(x.size)
    gamma_functions(kernel_array(x).ravel(), psi, log_gamma)
    return psi.reshape(x.shape), log_gamma.reshape(x.shape)


@dataclass(frozen=True)
class _BetaSources(RowLearner[State]):
    """Base class of both learners: q(b), the inner loops, the common part of the bound.

    With `inner_iter` = 1 a step updates q(b) and the weights from the same responsibilities: one pass, and still
    coordinate ascent, because the two are independent given the responsibilities. With more, a step is the paper's:
    q(b) is alternated with the responsibilities up to `inner_iter` times, then the weights likewise, each loop stopping
    when the bound rises by less than `inner_tol`.

    `n_components` have content. Those of `noise` follow them in the state, with known b as alpha and 1 - b as beta.
    """

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    prior: Prior
    workers: Workers
    inner_iter: int = 1
    inner_tol: float = 1e-3
    noise: NoiseComponents = NO_NOISE

    @cached_property
    def rows(self) -> Rows:
        """Where rows are worked on."""
        return rows_of(self.data, self.row_weight, self.n_all, self.workers, 2 * self.n_all)

    def step(self, state: State) -> tuple[State, float]:
        """One update of everything, and the bound of the state given."""
        first = None  # the bound of the state given: the first update evaluates it
        for after, bound in self.updates(state):
            first = bound if first is None else first
            state = after
        assert first is not None
        return state, first

    def updates(self, state: State) -> Iterator[tuple[State, float]]:
        """The updates that make up a step: each new state, with the bound of the one before it."""
        if self.inner_iter == 1:
            found = self.evaluate(state)
            yield self._next_weights(self.with_sources(state, found), found), found.objective
            return
        for update in (self.with_sources, self._next_weights):
            last = -np.inf
            for _ in range(self.inner_iter):
                found = self.evaluate(state)
                state = update(state, found)
                yield state, found.objective
                if found.objective - last < self.inner_tol:
                    break
                last = found.objective

    def bound(self, state: State) -> float:
        """The lower bound of the log evidence at one consistent set of posteriors."""
        return self.evaluate(state).objective

    def evaluate(self, state: State) -> Evaluated:
        """One pass."""
        log_b, log_not_b, log_norm = _expected_logs(state.alpha, state.beta, self.noise)
        H1, H0 = np.exp(log_b), np.exp(log_not_b)
        arrays = pass_arrays(self.data.shape, H1, H0)
        work, args = self._row_work, self._row_args(state)
        new, (A1, A0, *logs, bound) = self.rows.update(work, self.n_all, [state[0]], *arrays, *args)
        content = slice(self.n_components)
        known = log_b[content], log_not_b[content], log_norm[content]
        cost = kl_beta(state.alpha[content], state.beta[content], self.prior.alpha, self.prior.beta, known).sum()
        log_weight = logs[0] / (self.n_all * max(self.row_weight.sum(), LEAST_WEIGHT)) if logs else None
        return Evaluated(new, H1 * A1, H0 * A0, bound - float(cost), float(cost), log_weight)

    def row_work(self, state: State) -> tuple[Callable[..., Sums], tuple[Any, ...]]:
        """The pass on a chunk of rows with the components of a state, and what it needs of them."""
        H: tuple[np.ndarray, np.ndarray] = pass_components(state.alpha, state.beta, self.noise)
        return self._row_work, (*pass_arrays(self.data.shape, *H), *self._row_args(state))

    def with_sources(self, state: State, found: Evaluated) -> State:
        """Eq. 8 (10-11)."""
        alpha, beta = self.prior.alpha + found.N1, self.prior.beta + found.N0
        self.noise.update(alpha, found.N1, found.N0)
        return self._with_known(state._replace(alpha=alpha, beta=beta))

    def with_weights(self, state: State, found: Evaluated) -> State:
        """Eq. 12, and the variational M step of Appendix B.2."""
        return type(state)(found.rows, *state[1:])

    def _next_weights(self, state: State, found: Evaluated) -> State:
        """What a step of a climb makes of them."""
        return self.with_weights(state, found)

    def _start(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """alpha and beta as if each component had caused an equal share of every column's cells."""
        ones, observed = self.rows.total(column_counts, ())
        H = shifted_components(ones, observed, self.n_components, rng)
        cells = observed / self.n_all
        alpha, beta = self.prior.alpha + cells * H, self.prior.beta + cells * (1 - H)
        known = self.noise.after(H)[self.n_components :]
        return np.vstack([alpha, known]), np.vstack([beta, 1 - known])

    @property
    def n_all(self) -> int:
        """Components with content and noise components."""
        return self.n_components + len(self.noise)

    def _project_rest(self, state: State) -> State:
        """Posterior parameters are the prior's plus counts, which an extrapolation may have made negative."""
        alpha, beta = np.maximum(state.alpha, self.prior.alpha), np.maximum(state.beta, self.prior.beta)
        alpha[self.n_components :] = state.alpha[self.n_components :]
        self.noise.project(alpha)
        return self._with_known(state._replace(alpha=alpha, beta=beta))

    def _with_known(self, state: State) -> State:
        """The state with beta = 1 - alpha for noise components."""
        state.beta[self.n_components :] = 1 - state.alpha[self.n_components :]
        return state

    @property
    @abstractmethod
    def _row_work(self) -> Callable[..., Sums]:
        """The pass on a chunk of rows: what their array becomes, the sums A1 and A0, and their part of the bound."""

    def _row_args(self, state: State) -> tuple[Any, ...]:
        """What it needs beside the components."""
        return ()


class VariationalEM(_BetaSources[EMState]):
    """Point weights: the bound of eq. 6."""

    @property
    def _row_work(self) -> Callable[..., Sums]:
        return em_weights

    def initialise(self, rng: np.random.Generator) -> EMState:
        """Random sources; equal weights for all rows."""
        return EMState(self.start_rows(), *self._start(rng))

    def start_rows(self) -> Any:
        """Equal weights."""
        return self.rows.update(equal_weights, self.n_all, ())[0]

    def _project_rows(self) -> tuple[Any, ...]:
        return onto_simplex, SMALL


class VariationalBayes(_BetaSources[BayesState]):
    """Dirichlet weights: the evidence bound of Appendix B."""

    @property
    def _row_work(self) -> Callable[..., Sums]:
        return bayes_weights

    def _row_args(self, state: BayesState) -> tuple[Any, ...]:
        return (state.gamma0,)

    def initialise(self, rng: np.random.Generator) -> BayesState:
        """Random sources; equal weights for all rows."""
        gamma = FIRST_GAMMA if self.prior.gamma is None else self.prior.gamma
        return BayesState(self.start_rows(), *self._start(rng), np.log([gamma]))

    def start_rows(self) -> Any:
        """Rows whose cells are shared equally."""
        return self.rows.update(equal_shares, self.n_all, ())[0]

    def with_weights(self, state: BayesState, found: Evaluated) -> BayesState:
        """M and gamma0, which q(a) depends on, given the last q(a), on which both depend."""
        state = super().with_weights(state, found)
        if self.prior.gamma is not None or self.n_all == 1:
            return state
        assert found.log_weight is not None
        return state._replace(log_gamma0=np.log([fitted_gamma(found.log_weight, self.n_all)]))

    def _next_weights(self, state: BayesState, found: Evaluated) -> BayesState:
        """gamma0 goes a part of the way."""
        new, last = self.with_weights(state, found), state.log_gamma0
        return new._replace(log_gamma0=np.clip(new.log_gamma0, last - LONGEST_MOVE, last + LONGEST_MOVE))

    def _project_rows(self) -> tuple[Any, ...]:
        return _at_least, 0.0

    def _project_rest(self, state: BayesState) -> BayesState:
        least, most = (LEAST_GAMMA, MOST_GAMMA) if self.prior.gamma is None else (self.prior.gamma,) * 2
        log_gamma0 = np.clip(state.log_gamma0, np.log(least), np.log(most))
        return super()._project_rest(state)._replace(log_gamma0=log_gamma0)


def equal_shares(chunk: Chunk, M: np.ndarray) -> Sums:
    """Every component has caused an equal share of each row's cells."""
    M[:] = chunk.data.observed_per_row()[chunk.rows][:, None] / M.shape[1]
    return ()


def bayes_weights(chunk: Chunk, new: np.ndarray, M: np.ndarray, h1: np.ndarray, h0: np.ndarray, gamma0: float) -> Sums:
    """M by Appendix B.2; the sums A1 and A0 of the pass, of E[log a], and the rows' part of the bound."""
    W, log_weight, cost = pass_weights(M, gamma0)
    caused, row_log, A1, A0 = pass_over(chunk, W, h1, h0)
    new[:] = caused
    return A1, A0, float(chunk.row_weight @ log_weight), float(chunk.row_weight @ (row_log - cost))


def pass_weights(M: np.ndarray, gamma0: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of rows with q(a) = Dirichlet(gamma0 + M): exp E[log a], the sum of E[log a], and KL(q(a) || p(a)).

    A few rows at a time, so that what is between stays in the cache.
    """
    W, log_weight, cost = np.empty_like(M), np.empty(len(M)), np.empty(len(M))
    for start in range(0, len(M), ROWS):
        rows = slice(start, start + ROWS)
        gamma = gamma0 + M[rows]
        known = _expected_log_weights(gamma)
        log_weight[rows] = known[0].sum(axis=1)
        cost[rows] = kl_dirichlet(gamma, gamma0, known)
        np.exp(known[0], out=W[rows])
    return W, log_weight, cost


def fitted_gamma(log_weight: float, n_components: int) -> float:
    """The gamma0 that maximises the bound, q(a) given: log Gamma(K gamma0) - K log Gamma(gamma0) + gamma0 K log_weight.

    `log_weight` is the mean of E[log a_ik]. The function is concave, so its slope has one root at most.
    """

    def slope(log_gamma: float) -> float:
        return float(log_weight - expected_log_weight(np.exp(log_gamma), n_components))

    low, high = np.log(LEAST_GAMMA), np.log(MOST_GAMMA)
    if slope(low) <= 0:
        return LEAST_GAMMA
    return MOST_GAMMA if slope(high) >= 0 else float(np.exp(brentq(slope, low, high)))


def expected_log_weight(gamma: float, n_components: int) -> float:
    """E[log a_k] under the prior of weights."""
    return float(digamma(gamma) - digamma(n_components * gamma))


def _at_least(array: np.ndarray, least: float) -> None:
    np.maximum(array, least, out=array)


def solve_gamma(
    data: BinaryData, H1: np.ndarray, H0: np.ndarray, gamma0: float, *, workers: Workers, tol: float = 1e-7
) -> np.ndarray:
    """q(a) of rows, the sources fixed: gamma = gamma0 + M, iterated for each row until it moves by less than `tol`.

    A row stops by its own change (relative to its sum), so the result doesn't depend on the other rows.
    """
    N, K = data.shape[0], len(H1)
    gamma = np.repeat(gamma0 + data.observed_per_row()[:, None] / K, K, axis=1)
    active = np.arange(N)
    for _ in range(MAX_STEPS):
        rows = data.rows(active)
        W = np.exp(_expected_log_weights(gamma[active])[0])
        # float64 whatever the size: `collect` would choose by the number of rows, on which no row's result may depend.
        new = gamma0 + collect(rows, W, H1, H0, np.ones(len(active)), workers, precise=True).M
        moved = np.abs(new - gamma[active]).sum(axis=1) / new.sum(axis=1)
        gamma[active] = new
        active = active[moved > tol]
        if len(active) == 0:
            break
    return gamma


def solve_mean_weights(
    data: BinaryData, H1: np.ndarray, H0: np.ndarray, gamma0: float, *, workers: Workers
) -> Solution:
    """Posterior mean weights of rows, the sources fixed; they stop by their movement, so there is no gap to tell."""
    rows = rows_of(data, np.ones(data.shape[0]), len(H1), workers)
    gamma = rows.found(_solved_gamma, len(H1), (), H1, H0, gamma0)
    return Solution(gamma / gamma.sum(axis=1, keepdims=True))


def _solved_gamma(chunk: Chunk, new: np.ndarray, H1: np.ndarray, H0: np.ndarray, gamma0: float) -> Sums:
    part = chunk.data.without_names().rows(chunk.rows)
    new[:] = solve_gamma(part, H1, H0, gamma0, workers=Workers())
    return ()
