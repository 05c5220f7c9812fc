"""Samples of all chains as one posterior: axes aligned, means, and whether the chains agree.

The likelihood is the same for factors turned in any way, if the rows' coordinates turn with them; so every sample is
turned to be as like the others as it can be (orthogonal Procrustes), and all together to the axes of their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latentbits.fitting.chains import by_chain, diagnosed
from latentbits.models.probit_factors.sampler import Draws
from latentbits.models.sampling import largest_r_hat

__all__ = ["FactorSamples", "align", "chain_loadings", "pool"]

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


def chain_loadings(draws: Draws, n_components: int) -> np.ndarray:
    """What is kept of one chain: its mean loadings, K x D."""
    V = _loadings(draws.theta, n_components)
    return align(V, V[-1]).mean(axis=0)


def pool(chains: Sequence[Draws], best: int, n_components: int) -> FactorSamples:
    """The samples of all chains, on the axes of their mean, by falling strength."""
    draws = Draws(*(np.concatenate(parts) for parts in zip(*chains, strict=True)))
    V = align(_loadings(draws.theta, n_components), chain_loadings(chains[best], n_components))
    theta = draws.theta.copy()
    theta[:, :, 1 : n_components + 1] = V.transpose(0, 2, 1)
    chain = np.repeat(np.arange(len(chains)), [len(part.theta) for part in chains])
    parts = {
        "log_likelihood": draws.log_likelihood,
        "cells": draws.cells,
        "components": V,
        "bias": theta[:, :, 0],
    }
    r_hat, ess = diagnosed(by_chain(chain, parts))
    return FactorSamples(theta, chain, draws.log_likelihood, draws.cells, r_hat, ess)


def align(V: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Loadings of samples (S, K, D), each turned towards the mean of all, and the mean to its principal axes.

    In turns: each sample is turned to be nearest to the means, and the means are taken of the samples as turned. The
    axes are in the order of their strength over all samples, the largest mean loading of each positive.
    """
    V = V.astype(np.float64)
    for _ in range(ROUNDS):
        left, _, right = np.linalg.svd(V @ reference.T)
        turned = (left @ right).transpose(0, 2, 1) @ V
        mean = turned.mean(axis=0)
        moved = np.linalg.norm(mean - reference)
        reference = mean
        if moved <= SETTLED * np.linalg.norm(mean):
            break
    turned = np.linalg.eigh(reference @ reference.T)[1].T @ turned
    turned = turned[:, np.argsort(-(turned**2).mean(axis=(0, 2)), kind="stable")]
    mean = turned.mean(axis=0)
    largest = mean[np.arange(len(mean)), np.abs(mean).argmax(axis=1)]
    return turned * np.where(largest < 0, -1.0, 1.0)[:, None]


def _loadings(theta: np.ndarray, n_components: int) -> np.ndarray:
    """S x K x D."""
    return theta[:, :, 1 : n_components + 1].transpose(0, 2, 1)
