"""Data and small states for the tests of ICA mixtures."""

from typing import NamedTuple

import numpy as np

from latentbits.models.ica_mixture.cluster_posterior import PRIOR, Clusters
from latentbits.models.ica_mixture.cluster_updates import infer_hidden
from latentbits.models.ica_mixture.run import start_state
from latentbits.simulate.mixed_sources import ica_mixture

C, T, N, M, K = 2, 7, 3, 2, 2
TRUTH = ica_mixture(
    [[[2.0, 1.0], [0.0, 1.0]], [[1.0], [2.0]]],
    means=[[0, 0], [9, -3]],
    n_points=150,
    noise_db=-20,
    kinds=["uniform", "laplace"],
    random_state=0,
)
X = TRUTH.X


def small_state(seed=0, n_points=T, n_gaussians=K):
    """A state away from any optimum, with points."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, N)) * [1.0, 0.5, 2.0]
    share = rng.dirichlet(np.ones(C), size=n_points).T
    state = start_state(points, share, M, n_gaussians, PRIOR, rng)
    labels = rng.dirichlet(np.ones(n_gaussians), size=(C, n_points, M))
    noisy = {name: array * rng.uniform(0.7, 1.4, array.shape) for name, array in state.clusters._asdict().items()}
    noisy["A_cov"] = state.clusters.A_cov * 1.3
    noisy["psi_rate"] = noisy["psi_rate"] * 100
    return points, state._replace(clusters=Clusters(**noisy), labels=labels)


class Dense(NamedTuple):
    """The posterior of the hidden variables, one array element for each cluster and point."""

    mean: np.ndarray
    cov: np.ndarray
    labels: np.ndarray
    log_joint: np.ndarray


def inferred(points, state, wanted=None):
    """The hidden variables of all points in all clusters, or where they are wanted."""
    return infer_hidden(
        points, state.clusters, state.labels, np.ones(state.share.shape, bool) if wanted is None else wanted
    )


def dense(hidden):
    """Means, covariances, labels and parts of the bound of hidden variables that are there for all pairs."""
    n_clusters = hidden.owner[-1] + 1
    n_sources = hidden.labels.shape[1]
    mean = hidden.moments[:, 1 : 1 + n_sources]
    second = np.zeros((len(mean), n_sources, n_sources))
    rows, columns = np.tril_indices(n_sources)
    second[:, rows, columns] = second[:, columns, rows] = hidden.moments[:, 1 + n_sources :]
    cov = second - mean[:, :, None] * mean[:, None]
    return Dense(*(a.reshape(n_clusters, -1, *a.shape[1:]) for a in (mean, cov, hidden.labels, hidden.log_joint)))


def packed(hidden, mean, cov):
    """Hidden variables with other means and covariances (C x T x ...)."""
    second = cov + mean[..., :, None] * mean[..., None, :]
    rows, columns = np.tril_indices(mean.shape[2])
    moments = np.concatenate([np.ones((*mean.shape[:2], 1)), mean, second[..., rows, columns]], axis=2)
    return hidden._replace(moments=moments.reshape(hidden.moments.shape))


def structural(history):
    return history[~history["move"].isin(["rescale", "rotate"])]
