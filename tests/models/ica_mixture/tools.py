"""Data and small states for the tests of ICA mixtures."""

import numpy as np

from latentbits.data.simulate.ica_mixture import ica_mixture
from latentbits.models.ica_mixture.posterior import PRIOR, Clusters
from latentbits.models.ica_mixture.start import start_state

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


def identity(n_clusters=C, n_sources=M):
    return np.repeat(np.eye(n_sources)[None], n_clusters, axis=0), np.zeros((n_clusters, n_sources))


def structural(history):
    return history[~history["move"].isin(["rescale", "rotate"])]
