"""Labels of components over samples: a posterior is the same for every order of them, so samples are matched first."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from latentbits.models.aspect.variational import Prior

__all__ = ["align", "posterior_means", "reordered"]

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
