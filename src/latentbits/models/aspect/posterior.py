"""Samples of all chains as one posterior: labels aligned, means, and whether the chains agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latentbits.fitting.chains import by_chain, diagnosed
from latentbits.models.aspect.alignment import align, posterior_means, reordered
from latentbits.models.aspect.base import Components
from latentbits.models.aspect.gibbs import Draws
from latentbits.models.aspect.noise import KNOWN
from latentbits.models.aspect.variational import Prior
from latentbits.models.sampling import largest_r_hat

__all__ = ["Posterior", "chain_components", "pool"]


class Posterior(NamedTuple):
    """S samples of all chains, the chains one after the other.

    H: (S, K, D) float32, labels aligned; chain: (S,) which chain; log_likelihood: (S,) log p(X | z);
    cells: (S, C) probabilities of the watched cells; r_hat, ess: of "log_likelihood", "cells" (C,) and
    "components" (K, D), None if a chain has too few draws to tell.
    """

    H: np.ndarray
    chain: np.ndarray
    log_likelihood: np.ndarray
    cells: np.ndarray
    r_hat: dict[str, np.ndarray] | None
    ess: dict[str, np.ndarray] | None

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
    posterior = Posterior(H, chain, draws.log_likelihood, draws.cells, r_hat, ess)
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
    return Components(mean, mean, 1 - mean, reordered(draws.share, order).mean(axis=0), alpha, beta)
