"""Chains of collapsed Gibbs sampling, and their samples as one posterior.

Sampling from the posterior of the Beta-source model: collapsed Gibbs chains over the causes of cells.

Weights and components are integrated out (the same priors as of variational Bayes, with no factorised posterior);
given the causes they are Dirichlet and Beta, from which they are drawn where they are asked for.

The parameter gamma of the weights' prior, if it isn't given, is drawn after every sweep: log gamma ~ N(0, SPREAD^2)
between the limits.

Labels of components over samples: a posterior is the same for every order of them, so samples are matched first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.fitting.chains import Length, by_chain, diagnosed, run_chain
from latentbits.fitting.climb import Climbed, Monitor
from latentbits.fitting.workers import Workers
from latentbits.kernels.gibbs import draw_gamma, gibbs_sweeps, sample_rows
from latentbits.models.aspect.aspect_model import Components
from latentbits.models.aspect.noise_components import KNOWN
from latentbits.models.aspect.variational import FIRST_GAMMA, Prior
from latentbits.models.sampling import largest_r_hat, watched_cells
from latentbits.models.solved_rows import Solution
from latentbits.numerics import kernel_array

COLDEST, STEPS = 0.2, 20
"""The first half of the burn-in climbs from this temperature to 1 in steps: chains of three toys in three forgot their
start five times as quickly as at 1 throughout."""

ROW_BURN, ROW_SWEEPS = 20, 5
"""Of a row's causes, before the first sample of the components and for each of them. With 2 the weights lag behind the
components, and their intervals at 150 x 30 are 2 % narrower than with 30; with 5, at most about 1 %."""

ROW_SEED = np.uint64(0x5EED)
ROWS = 64

SPREAD = 2.0
"""Standard deviation of log gamma in its prior: 95 % of it are between 0.02 and 50."""

LIMITS = 0.001, 1000.0
"""Of gamma: beyond the first every row has a single component, beyond the second all rows have the same weights."""

EDGE = 1e-7
"""Drawn probabilities are kept this far from 0 and 1, where no other component could cause a cell."""


class Draws(NamedTuple):
    """S samples of one chain, its own labels.

    ones, zeros: (S, K, D) cells that each component caused; H: (S, K, D) components drawn given these;
    share: (S, K) mean weights of the rows; log_likelihood: (S,) log p(X | z); cells: (S, C) watched probabilities;
    gamma: (S,) of the weights' prior.
    """

    ones: np.ndarray
    zeros: np.ndarray
    H: np.ndarray
    share: np.ndarray
    log_likelihood: np.ndarray
    cells: np.ndarray
    gamma: np.ndarray


class Chain:
    """The causes of all cells, their counts and a random stream.

    Parameters
    ----------
    cells : ndarray of int8, shape (N, D)
        Below 0 where missing.
    n_components : int
    prior : Prior
    rng : Generator
        Seeds the stream.
    fixed : ndarray of shape (K, D), optional
        Probabilities of a 1 that are known; NaN where they are not.
    """

    def __init__(
        self,
        cells: np.ndarray,
        n_components: int,
        prior: Prior,
        rng: np.random.Generator,
        fixed: np.ndarray | None = None,
    ) -> None:
        N, D = cells.shape
        K = n_components
        self.prior = prior
        self.learns_gamma = prior.gamma is None and K > 1  # a single component has all the weight whatever it is
        self.gamma = FIRST_GAMMA if prior.gamma is None else float(prior.gamma)
        self.cells = kernel_array(cells, np.int8)
        self.causes = np.full((N, D), -1, np.int16)
        self.of_rows = np.zeros((N, K), np.int32)
        self.ones, self.zeros = np.zeros((D, K), np.int32), np.zeros((D, K), np.int32)
        known = np.full((K, D), np.nan) if fixed is None else fixed
        self._fixed = kernel_array(np.where(np.isnan(known), -1.0, known).T)
        self._state = rng.integers(2**64, size=4, dtype=np.uint64)
        counts, sums = np.arange(N + 1.0), np.array([prior.alpha, prior.beta, prior.alpha + prior.beta])
        self._shifted = counts + sums[:, None]
        self._log_gammas = gammaln(self._shifted) - gammaln(sums)[:, None]

    def sweep(self, n: int, temperature: float = 1.0) -> np.ndarray:
        """Draw every cause `n` times; log p(X | z) after each sweep.

        At temperatures below 1 gamma stays: it would follow causes that the cells hardly decide.
        """
        if self.learns_gamma and temperature == 1.0:
            return np.concatenate([self._sweep_and_gamma() for _ in range(n)]) if n else np.empty(0)
        return self._sweep(n, temperature)

    def _sweep_and_gamma(self) -> np.ndarray:
        trace = self._sweep(1, 1.0)
        low, high = np.log(LIMITS)
        self.gamma = float(np.exp(draw_gamma(self.of_rows, np.log(self.gamma), low, high, SPREAD, self._state)))
        return trace

    def _sweep(self, n: int, temperature: float) -> np.ndarray:
        powers = self._shifted**temperature
        powers[2] = 1 / powers[2]
        trace = np.empty(n)
        gibbs_sweeps(
            self.cells,
            self.causes,
            self.of_rows,
            self.ones,
            self.zeros,
            self._fixed,
            powers,
            self._log_gammas,
            self.gamma,
            float(temperature),
            self._state,
            trace,
        )
        return trace

    def components(self, rng: np.random.Generator) -> np.ndarray:
        """Components drawn given the causes, K x D."""
        drawn = rng.beta(self.prior.alpha + self.ones.T, self.prior.beta + self.zeros.T)
        return np.where(self._fixed.T >= 0, self._fixed.T, np.clip(drawn, EDGE, 1 - EDGE))

    def mean_weights(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Mean weights of rows given the causes."""
        counts = self.of_rows[rows] + self.gamma
        return counts / counts.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Sampler:
    """Runs chains; `run` is one of them, as `best_of` wants it."""

    cells: np.ndarray
    n_components: int
    prior: Prior
    length: Length
    fixed: np.ndarray | None = None

    def run(self, rng: np.random.Generator, monitor: Monitor) -> Climbed[Draws]:
        """A chain from its start to its last sample, or until it is interrupted; its objective is mean log p(X | z)."""
        chain = Chain(self.cells, self.n_components, self.prior, rng, self.fixed)
        watched = watched_cells(*self.cells.shape)
        parts = run_chain(self._stretches(chain), partial(_sample, chain, watched, rng), monitor)
        draws = Draws(*parts)
        return Climbed(draws, float(draws.log_likelihood.mean()))

    def _stretches(self, chain: Chain) -> Iterator[tuple[np.ndarray, int, bool]]:
        """The chain bit by bit: log p(X | z) of some sweeps, and whether they end with a sample."""
        burn, samples, thin = self.length
        annealed = burn // 2
        steps = np.array_split(np.linspace(COLDEST, 1.0, annealed), min(STEPS, max(annealed, 1)))
        for part in steps:
            if len(part):
                yield chain.sweep(len(part), float(part[0])), len(part), False
        rest = burn - annealed
        while rest > 0:
            n = min(rest, STEPS)
            yield chain.sweep(n), n, False
            rest -= n
        for _ in range(samples):
            yield chain.sweep(thin), thin, True


def _sample(
    chain: Chain, watched: tuple[np.ndarray, np.ndarray], rng: np.random.Generator, log_likelihood: float
) -> tuple[np.ndarray, ...]:
    H = chain.components(rng).astype(np.float32)
    rows, columns = watched
    cells = np.einsum("ck,kc->c", chain.mean_weights(rows), H[:, columns]).astype(np.float32)
    ones, zeros = (np.ascontiguousarray(part.T) for part in (chain.ones, chain.zeros))
    return ones, zeros, H, chain.mean_weights().mean(axis=0), np.array(log_likelihood), cells, np.array(chain.gamma)


def solve_sampled_weights(data: BinaryData, H: np.ndarray, gamma: np.ndarray, *, workers: Workers) -> Solution:
    """Weights of rows, one draw for each sample of the components and of gamma: the coordinates are N x S x K.

    A row's weights given the components depend on no other row. So training rows and new ones are the same thing.
    """
    cells = kernel_array(data.dense(), np.int8)
    samples, gamma = kernel_array(H.transpose(0, 2, 1)), kernel_array(gamma)
    W = np.empty((len(cells), len(H), H.shape[1]), np.float32)

    def one(start: int) -> None:
        rows = slice(start, start + ROWS)
        sample_rows(cells[rows], samples, gamma, ROW_SEED, ROW_BURN, ROW_SWEEPS, W[rows])

    workers.map(one, range(0, len(cells), ROWS))
    return Solution(W)


assert MISSING < 0, "the kernels take any code below 0 as missing"


# ---- labels of components over samples ---------------------------------------------------------------------------

ROUNDS = 20


def align(ones: np.ndarray, zeros: np.ndarray, prior: Prior, reference: np.ndarray) -> np.ndarray:
    """The order of every sample's components by which they are most like those of all samples.

    As in Stephens (2000), in turns: each sample is ordered so that its cells are likeliest under the mean components
    (Hungarian method), and the means are taken of the samples as ordered, until no order changes.

    Parameters
    ----------
    ones, zeros : ndarray of shape (S, K, D)
        The cells that each component of each sample caused.
    prior : Prior
    reference : ndarray of shape (K, D)
        The first means.

    Returns
    -------
    ndarray of int, shape (S, K)
        ``sample[order]`` has its components in the common order.
    """
    S, K, _ = ones.shape
    order = np.tile(np.arange(K), (S, 1))
    for turn in range(ROUNDS):
        gain = ones @ np.log(reference).T + zeros @ np.log1p(-reference).T
        new = np.array([linear_sum_assignment(of_sample.T, maximize=True)[1] for of_sample in gain])
        if turn > 0 and np.array_equal(new, order):
            break
        order = new
        reference = posterior_means(reordered(ones, order), reordered(zeros, order), prior).mean(axis=0)
    return order


def posterior_means(ones: np.ndarray, zeros: np.ndarray, prior: Prior) -> np.ndarray:
    """Mean probabilities of a 1 given the cells that were caused."""
    return (ones + prior.alpha) / (ones + zeros + prior.alpha + prior.beta)


def reordered(samples: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Samples (S x K x ...) with their components in these orders (S x K)."""
    return samples[np.arange(len(samples))[:, None], order]


# ---- samples of all chains as one posterior ----------------------------------------------------------------------


class Posterior(NamedTuple):
    """S samples of all chains, the chains one after the other.

    H: (S, K, D) float32, labels aligned; chain: (S,) which chain; log_likelihood: (S,) log p(X | z);
    cells: (S, C) probabilities of the watched cells; gamma: (S,), None in models of earlier versions, which were given
    it; r_hat, ess: of "log_likelihood", "cells" (C,) and
    "components" (K, D), None if a chain has too few draws to tell.
    """

    H: np.ndarray
    chain: np.ndarray
    log_likelihood: np.ndarray
    cells: np.ndarray
    r_hat: dict[str, np.ndarray] | None
    ess: dict[str, np.ndarray] | None
    gamma: np.ndarray | None = None

    @property
    def largest_r_hat(self) -> float | None:
        """Of the quantities that have no labels."""
        return largest_r_hat(self.r_hat)

    def take(self, which: np.ndarray) -> Posterior:
        """These components, in this order."""
        parts = [
            None if part is None else {**part, "components": part["components"][which]}
            for part in (self.r_hat, self.ess)
        ]
        return self._replace(H=self.H[:, which], r_hat=parts[0], ess=parts[1])

    def by_chain(self) -> dict[str, np.ndarray]:
        """The draws as (chain, draw, ...), cut to the shortest chain."""
        return by_chain(self.chain, {"log_likelihood": self.log_likelihood, "cells": self.cells, "components": self.H})


def chain_components(draws: Draws, prior: Prior, n_known: int = 0) -> Components:
    """What is kept of one chain: its mean components, by its own labels; the last `n_known` are known throughout."""
    start = posterior_means(draws.ones[-1], draws.zeros[-1], prior)
    return _mean_components(draws, _order(draws, prior, start, n_known), prior, n_known)


def pool(chains: Sequence[Draws], best: int, prior: Prior, n_known: int = 0) -> tuple[Components, Posterior]:
    """The samples of all chains, with labels like those of the best chain."""
    draws = Draws(*(np.concatenate(parts) for parts in zip(*chains, strict=True)))
    reference = chain_components(chains[best], prior, n_known).mean
    order = _order(draws, prior, reference, n_known)
    H = reordered(draws.H, order)
    chain = np.repeat(np.arange(len(chains)), [len(part.H) for part in chains])
    named = by_chain(chain, {"log_likelihood": draws.log_likelihood, "cells": draws.cells, "components": H})
    r_hat, ess = diagnosed(named)
    posterior = Posterior(H, chain, draws.log_likelihood, draws.cells, r_hat, ess, draws.gamma)
    return _mean_components(draws, order, prior, n_known), posterior


def _order(draws: Draws, prior: Prior, reference: np.ndarray, n_known: int) -> np.ndarray:
    """The order of every sample's components; known ones stay where they are."""
    K = draws.ones.shape[1]
    free = slice(K - n_known)
    order = align(draws.ones[:, free], draws.zeros[:, free], prior, reference[free])
    return np.hstack([order, np.tile(np.arange(K - n_known, K), (len(order), 1))])


def _mean_components(draws: Draws, order: np.ndarray, prior: Prior, n_known: int) -> Components:
    ones, zeros = reordered(draws.ones, order), reordered(draws.zeros, order)
    mean = posterior_means(ones, zeros, prior).mean(axis=0)
    alpha, beta = prior.alpha + ones.mean(axis=0), prior.beta + zeros.mean(axis=0)
    known = slice(len(mean) - n_known, None)
    mean[known] = draws.H[0, known]
    alpha[known], beta[known] = KNOWN * mean[known], KNOWN * (1 - mean[known])
    share = reordered(draws.share, order).mean(axis=0)
    return Components(mean, mean, 1 - mean, share, alpha, beta, gamma=float(draws.gamma.mean()))
