"""Probit factor analysis: normal scores behind the cells, sampled with their uncertainty.

Chains of probit factor analysis, and the coordinates of rows given their samples; the kernel has the model.

Samples of all chains as one posterior: axes aligned, means, and whether the chains agree.

The likelihood is the same for factors turned in any way, if the rows' coordinates turn with them; so every sample is
turned to be as like the others as it can be (orthogonal Procrustes), and all together to the axes of their mean.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.fitting.chains import Length, by_chain, diagnosed, run_chain
from latentbits.fitting.climb import Climbed, Monitor
from latentbits.fitting.workers import Workers
from latentbits.kernels.probit_gibbs import probit_rows, probit_sweeps
from latentbits.models.row_features import RowFeatures
from latentbits.models.sampling import largest_r_hat, watched_cells
from latentbits.models.solved_rows import Solution
from latentbits.numerics import kernel_array

START = 0.3
"""Standard deviation of the loadings and coordinates that a chain starts from."""

SIZES = np.array([0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
"""Variances that what neighbours have in common may have, beside 1 for what is a row's own."""

STEPS = 20
"""Sweeps from one look at Ctrl-C to the next."""

ROW_BURN, ROW_SWEEPS = 20, 2
ROW_SEED = np.uint64(0x9B0B17)
ROWS = 64


class Draws(NamedTuple):
    """S samples of one chain.

    theta: (S, D, Q) biases, responses, loadings, size of row effects; log_likelihood: (S,); cells: (S, C) watched
    probabilities; scales: (S, n) and coefficients: (S, n, R) of what neighbours have in common, R = 0 without places.
    """

    theta: np.ndarray
    log_likelihood: np.ndarray
    cells: np.ndarray
    scales: np.ndarray
    coefficients: np.ndarray


class Known(NamedTuple):
    """What is known of rows: features (N x P, the first of them 1), and where they are, as functions of the places.

    vectors: (L, R, N) orthonormal for each of L spatial scales; variances: (L, R); L = 0 where no places are known.
    """

    features: np.ndarray
    vectors: np.ndarray
    variances: np.ndarray

    @classmethod
    def nothing(cls, n_rows: int) -> Known:
        """Of rows of which nothing is known."""
        return cls(np.ones((n_rows, 1)), np.empty((0, 0, n_rows)), np.empty((0, 0)))


class Chain:
    """Everything that is drawn, and a random stream.

    Parameters
    ----------
    cells : ndarray of int8, shape (N, D)
        Below 0 where missing.
    n_components : int
    row_effects : bool
    rng : Generator
        Makes the start, and seeds the stream.
    known : Known, optional
    rate : float
        Of the prior of the loadings' precisions: the smaller it is, the sooner a factor is taken for needless.
    """

    def __init__(
        self,
        cells: np.ndarray,
        n_components: int,
        row_effects: bool,
        rng: np.random.Generator,
        known: Known | None = None,
        rate: float = 1.0,
    ) -> None:
        N, D = cells.shape
        known = Known.nothing(N) if known is None else known
        P, n = known.features.shape[1], n_components + row_effects
        self.cells = kernel_array(cells, np.int8)
        self.g = START * rng.standard_normal((N, P + n))
        self.g[:, :P] = known.features
        self.theta = START * rng.standard_normal((D, P + n))
        self.theta[:, 1:P] = 0.0
        ones, seen = np.sum(cells == 1, axis=0), np.sum(cells >= 0, axis=0)
        self.theta[:, 0] = ndtri((ones + 0.5) / (seen + 1.0))
        if row_effects:
            self.theta[:, -1] = START
        self.tau = np.ones(n_components)
        self.rate = float(rate)
        self.means = np.zeros(P)
        self.means[0] = self.theta[:, 0].mean()
        self.precisions = np.ones(P)
        self.centres = np.zeros((N, n))
        bases = kernel_array(known.vectors), kernel_array(known.variances), SIZES
        self.space = *bases, np.zeros((n, known.variances.shape[1])), np.zeros((n, 2), np.int64)
        Q = P + n
        self._sums = np.zeros((Q, Q)), np.zeros((D, Q, Q)), np.zeros((D, Q)), np.zeros(D)
        self._state = rng.integers(2**64, size=4, dtype=np.uint64)

    def sweep(self, n: int) -> float:
        """Draw everything `n` times; log p(X | rows, columns) in the last sweep."""
        rows = self.cells, self.g, self.centres
        columns = self.theta, self.tau, self.rate, self.means, self.precisions
        return float(probit_sweeps(*rows, *columns, self.space, *self._sums, self._state, n))


@dataclass(frozen=True)
class Sampler:
    """Runs chains; `run` is one of them, as `best_of` wants it."""

    cells: np.ndarray
    n_components: int
    row_effects: bool
    length: Length
    known: Known | None = None
    rate: float = 1.0

    def run(self, rng: np.random.Generator, monitor: Monitor) -> Climbed[Draws]:
        """A chain from its start to its last sample, or until it is interrupted; its objective is the mean trace."""
        chain = Chain(self.cells, self.n_components, self.row_effects, rng, self.known, self.rate)
        *_, coefficients, chosen = chain.space
        rows, columns = watched_cells(*self.cells.shape)

        def take(log_likelihood: float) -> tuple[np.ndarray, ...]:
            cells = ndtr(np.einsum("cq,cq->c", chain.g[rows], chain.theta[columns]))
            parts = chain.theta.astype(np.float32), np.array(log_likelihood), cells.astype(np.float32)
            return *parts, chosen[:, 0].copy(), coefficients.astype(np.float32)

        draws = Draws(*run_chain(self._stretches(chain), take, monitor))
        return Climbed(draws, float(draws.log_likelihood.mean()))

    def mean_table(self, rng: np.random.Generator, stop: threading.Event) -> np.ndarray:
        """The mean probability of a 1 in each cell (N x D) over a chain, by its own draws of the rows."""
        chain = Chain(self.cells, self.n_components, self.row_effects, rng, self.known, self.rate)
        total, n = np.zeros(self.cells.shape), 0
        for _, _, is_sample in self._stretches(chain):
            if is_sample:
                total += ndtr(chain.g @ chain.theta.T)
                n += 1
            if stop.is_set():
                break
        return total / max(n, 1)

    def _stretches(self, chain: Chain) -> Iterator[tuple[float, int, bool]]:
        burn, samples, thin = self.length
        for start in range(0, burn, STEPS):
            n = min(STEPS, burn - start)
            yield chain.sweep(n), n, False
        for _ in range(samples):
            yield chain.sweep(thin), thin, True


class SpaceSamples(NamedTuple):
    """What neighbours have in common in S samples: scales (S, n), coefficients (S, n, R), turns (S, K, K).

    The first K of the n kinds of coordinates are factors, drawn on the axes of the chain; `turns` bring them to the
    axes of all samples.
    """

    scales: np.ndarray
    coefficients: np.ndarray
    turns: np.ndarray

    def centres(self, functions: np.ndarray) -> np.ndarray:
        """What rows have in common with their neighbours, N x S x n, by the functions at their places (L x N x R)."""
        S, n, _ = self.coefficients.shape
        out = np.empty((functions.shape[1], S, n))
        for scale in np.unique(self.scales):
            chosen = self.scales == scale
            out[:, chosen] = functions[scale] @ self.coefficients[chosen].T.astype(np.float64)
        K = self.turns.shape[1]
        out[:, :, :K] = np.einsum("skl,nsl->nsk", self.turns, out[:, :, :K])
        return out


def solve_rows(
    data: BinaryData,
    theta: np.ndarray,
    encoder: RowFeatures | None = None,
    space: SpaceSamples | None = None,
    *,
    workers: Workers,
) -> Solution:
    """Coordinates of rows, one draw for each sample of the columns (S x D x Q): N x S x (Q - 1).

    The first of them are the features that are known of a row, the same in all samples, without the constant. A row's
    coordinates given the columns depend on no other row. So training rows and new ones are the same thing.
    """
    cells, samples = kernel_array(data.dense(), np.int8), kernel_array(theta)
    P = 1 if encoder is None else 1 + encoder.width
    W = np.empty((len(cells), len(theta), theta.shape[2] - 1), np.float32)

    def one(start: int) -> None:
        rows = slice(start, start + ROWS)
        features, centres = known_of(data.rows(rows), encoder, space, len(theta), theta.shape[2] - P)
        drawn = np.empty(centres.shape, np.float32)
        probit_rows(cells[rows], features, centres, samples, ROW_SEED, ROW_BURN, ROW_SWEEPS, drawn)
        W[rows, :, : P - 1] = features[:, None, 1:]
        W[rows, :, P - 1 :] = drawn

    workers.map(one, range(0, len(cells), ROWS))
    return Solution(W)


def known_of(
    data: BinaryData, encoder: RowFeatures | None, space: SpaceSamples | None, n_samples: int, n_drawn: int
) -> tuple[np.ndarray, np.ndarray]:
    """Features of rows (N x P), and the prior means of what is drawn of them (N x S x n)."""
    n_rows = data.shape[0]
    nothing = np.zeros((n_rows, n_samples, n_drawn))
    if encoder is None or data.facts is None:
        return np.ones((n_rows, 1)), nothing
    functions = None if space is None else encoder.places(data.facts)
    centres = nothing if space is None or functions is None else space.centres(functions)
    return kernel_array(encoder.encode(data.facts)), kernel_array(centres)


assert MISSING < 0, "the kernels take any code below 0 as missing"


# ---- samples of all chains as one posterior ----------------------------------------------------------------------

ROUNDS = 20
SETTLED = 1e-6
"""The means have settled when they move by less than this share of their length."""


class FactorSamples(NamedTuple):
    """S samples of all chains, the chains one after the other.

    theta: (S, D, Q) float32: biases, loadings on aligned axes, size of the row effects if there are any; chain: (S,)
    which chain; log_likelihood: (S,); cells: (S, C) probabilities of the watched cells; r_hat, ess: of
    "log_likelihood", "cells" (C,), "components" (K, D) and "bias" (D,), None if a chain has too few draws to tell.
    """

    theta: np.ndarray
    chain: np.ndarray
    log_likelihood: np.ndarray
    cells: np.ndarray
    r_hat: dict[str, np.ndarray] | None
    ess: dict[str, np.ndarray] | None

    @property
    def largest_r_hat(self) -> float | None:
        """Of the quantities that don't depend on the axes."""
        return largest_r_hat(self.r_hat)


def chain_loadings(draws: Draws, n_components: int, first: int = 1) -> np.ndarray:
    """What is kept of one chain: its mean loadings, K x D; they begin at `first` in theta."""
    V = _loadings(draws.theta, n_components, first)
    return align(V, V[-1]).mean(axis=0)


def pool(
    chains: Sequence[Draws], best: int, n_components: int, first: int = 1
) -> tuple[FactorSamples, SpaceSamples | None]:
    """The samples of all chains, on the axes of their mean, by falling strength."""
    draws = Draws(*(np.concatenate(parts) for parts in zip(*chains, strict=True)))
    own = _loadings(draws.theta, n_components, first)
    turned = turns(own, chain_loadings(chains[best], n_components, first))
    V = turned @ own
    theta = draws.theta.copy()
    theta[:, :, first : first + n_components] = V.transpose(0, 2, 1)
    chain = np.repeat(np.arange(len(chains)), [len(part.theta) for part in chains])
    parts = {
        "log_likelihood": draws.log_likelihood,
        "cells": draws.cells,
        "components": V,
        "bias": theta[:, :, 0],
    }
    r_hat, ess = diagnosed(by_chain(chain, parts))
    has_space = draws.coefficients.shape[2] > 0
    space = SpaceSamples(draws.scales, draws.coefficients, turned.astype(np.float32)) if has_space else None
    return FactorSamples(theta, chain, draws.log_likelihood, draws.cells, r_hat, ess), space


def align(V: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Loadings of samples (S, K, D), each turned towards the mean of all, and the mean to its principal axes."""
    return turns(V, reference) @ V.astype(np.float64)


def turns(V: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The rotations (S, K, K) that align the loadings of samples.

    In turns: each sample is turned to be nearest to the means, and the means are taken of the samples as turned. The
    axes are in the order of their strength over all samples, the largest mean loading of each positive.
    """
    V = V.astype(np.float64)
    for _ in range(ROUNDS):
        left, _, right = np.linalg.svd(V @ reference.T)
        made = (left @ right).transpose(0, 2, 1)
        mean = (made @ V).mean(axis=0)
        moved = np.linalg.norm(mean - reference)
        reference = mean
        if moved <= SETTLED * np.linalg.norm(mean):
            break
    made = np.linalg.eigh(reference @ reference.T)[1].T @ made
    turned = made @ V
    order = np.argsort(-(turned**2).mean(axis=(0, 2)), kind="stable")
    made, mean = made[:, order], turned[:, order].mean(axis=0)
    largest = mean[np.arange(len(mean)), np.abs(mean).argmax(axis=1)]
    return made * np.where(largest < 0, -1.0, 1.0)[:, None]


def _loadings(theta: np.ndarray, n_components: int, first: int) -> np.ndarray:
    """S x K x D."""
    return theta[:, :, first : first + n_components].transpose(0, 2, 1)
