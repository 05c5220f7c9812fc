"""The factors of the variational posterior (Chan, Lee and Sejnowski, eq. 9), their moments and divergences.

The paper's symbols: x_t (of T points in N dimensions) is A s_t + nu + noise inside its cluster (of C). The noise has
the diagonal precision Psi; each of M sources is a mixture of K Gaussians with shares pi, means phi, precisions beta.
alpha are the precisions of the columns of A (automatic relevance determination); rho are the shares of the clusters.
A Gaussian is held by mean and precision (the rows of A by mean and covariance), a Gamma by shape and rate.

The first axis of every array is the cluster: all clusters are updated in one go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from latentbits.constraints import Choice, Number

Floats = NDArray[np.float64]
LOG_2PI = float(np.log(2 * np.pi))


NOTHING = 1e-3
"""Sources of smaller strength, in units of the standardised data, count as switched off."""

LIVE = 0.02
"""Sources below this part of the strength of their cluster's strongest source count as switched off."""


BETWEEN = 2 / 3
"""The part of a source's variance between its Gaussians at the start."""

ENDLESS = 1e80
"""The precision of the columns of A of sources that a cluster doesn't have."""

KNOWN = 1e15
"""The counts by which the density of such a source, the standard normal one, is known."""


class Prior(NamedTuple):
    """Hyper-parameters, for standardised data and sources of unit variance.

    Those of Appendix A but for two rates, which are smaller (see `ICAMixture`).
    """

    nu_precision: float = 0.001
    rho: float = 0.001
    pi: float = 0.001
    phi_precision: float = 1.0
    beta_shape: float = 1.2
    beta_rate: float = 0.01
    alpha_shape: float = 0.001
    alpha_rate: float = 0.001
    psi_shape: float = 0.001
    psi_rate: float = 1e-6


PRIOR = Prior()

PUBLISHED = Prior(beta_rate=0.1, psi_rate=0.001)
"""The numbers of Appendix A."""


def prior_of(given: Mapping[str, float] | str | None, usual: Prior) -> Prior:
    """The hyper-parameters that are asked for: "published", some by name with the rest as usual, or None."""
    if given is None:
        return usual
    if isinstance(given, str):
        Choice(("published",)).check("prior", given)
        return PUBLISHED
    if not isinstance(given, Mapping):
        raise ValueError(f'prior={given!r}: give a dict of hyper-parameters, "published" or None')
    for name, value in given.items():
        Choice(Prior._fields).check("a name in prior", name)
        Number(1e-9).check(f'prior["{name}"]', value)
    return usual._replace(**given)


def of_dimensions(clusters: Clusters, which: NDArray[np.bool_]) -> Clusters:
    """The clusters' posterior in some of the N dimensions."""
    fields = ("A", "A_cov", "nu", "nu_precision", "psi_shape", "psi_rate")
    return clusters._replace(**{name: getattr(clusters, name)[:, which] for name in fields})


class Clusters(NamedTuple):
    """The posterior of the clusters' parameters."""

    A: Floats  # C x N x M
    A_cov: Floats  # C x N x M x M: a covariance for each row of A
    alpha_shape: Floats  # C x M
    alpha_rate: Floats  # C x M
    nu: Floats  # C x N
    nu_precision: Floats  # C x N
    psi_shape: Floats  # C x N
    psi_rate: Floats  # C x N
    pi: Floats  # C x M x K, Dirichlet
    phi: Floats  # C x M x K
    phi_precision: Floats  # C x M x K
    beta_shape: Floats  # C x M x K
    beta_rate: Floats  # C x M x K

    @property
    def psi(self) -> Floats:
        """Mean precision of the noise, C x N."""
        return self.psi_shape / self.psi_rate

    @property
    def beta(self) -> Floats:
        """Mean precision of the Gaussians, C x M x K."""
        return self.beta_shape / self.beta_rate

    @property
    def alpha(self) -> Floats:
        """Mean precision of the columns of A, C x M."""
        return self.alpha_shape / self.alpha_rate

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Sources that a cluster doesn't have, C x M: the limit of relevance determination (`without_sources`)."""
        return np.asarray(self.alpha_shape >= ENDLESS)

    @property
    def A_square(self) -> Floats:
        """<A_n A_n'> for each row n of A, C x N x M x M."""
        return self.A[..., :, None] * self.A[..., None, :] + self.A_cov

    @property
    def pull(self) -> Floats:
        """<A' Psi>, C x M x N: the data's contribution to precision times mean of the sources is this times x - nu."""
        return np.swapaxes(self.psi[..., None] * self.A, -1, -2)

    @property
    def common_precision(self) -> Floats:
        """<A' Psi A>, C x M x M: the part of the sources' precision that all points share."""
        return np.einsum("cn,cnij->cij", self.psi, self.A_square)

    @property
    def pi_mean(self) -> Floats:
        """Mean shares of the Gaussians, C x M x K."""
        return self.pi / self.pi.sum(axis=-1, keepdims=True)

    def source_moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of each source's mixture of Gaussians, C x M each."""
        mean = (self.pi_mean * self.phi).sum(axis=-1)
        square = (self.pi_mean * (self.phi**2 + 1 / self.phi_precision + 1 / self.beta)).sum(axis=-1)
        return mean, np.maximum(square - mean**2, 0.0)  # below 0 by rounding only


def spread_gaussians(n_gaussians: int) -> tuple[Floats, float]:
    """Means and precision of equal Gaussians, evenly spread, that together have mean 0 and variance 1."""
    if n_gaussians == 1:
        return np.zeros(1), 1.0
    phi = np.linspace(-1.0, 1.0, n_gaussians)
    return phi * np.sqrt(BETWEEN / np.mean(phi**2)), 1 / (1 - BETWEEN)


def strengths(clusters: Clusters) -> Floats:
    """The strength of each source, C x M: the length of its column of A times its standard deviation."""
    return np.sqrt((clusters.A**2).sum(axis=1) * clusters.source_moments()[1])


def live_sources(clusters: Clusters) -> NDArray[np.bool_]:
    """Which sources have not been switched off, C x M."""
    size = strengths(clusters)
    return size >= np.maximum(LIVE * size.max(axis=1, keepdims=True), NOTHING)


def without_sources(clusters: Clusters, which: NDArray[np.bool_]) -> Clusters:
    """The clusters without some sources (C x M): A is 0 for sure, and the source standard normal for sure.

    So it says nothing about any point and costs the bound nothing, unlike a source that is merely switched off.
    """
    mean = np.where(which, clusters.source_moments()[0], 0.0)
    by_row, by_column = which[:, None, :, None], which[:, None, None, :]
    eye = np.eye(which.shape[1])
    known = {"pi": KNOWN, "phi": 0.0, "phi_precision": KNOWN, "beta_shape": KNOWN, "beta_rate": KNOWN}
    return clusters._replace(
        A=np.where(which[:, None], 0.0, clusters.A),
        A_cov=np.where(by_row | by_column, eye / ENDLESS, clusters.A_cov),
        alpha_shape=np.where(which, ENDLESS, clusters.alpha_shape),
        alpha_rate=np.where(which, 1.0, clusters.alpha_rate),
        nu=clusters.nu + (clusters.A @ mean[..., None])[..., 0],
        **{name: np.where(which[..., None], value, getattr(clusters, name)) for name, value in known.items()},
    )


def take(arrays: Any, which: Any) -> Any:
    """A named tuple of the arrays' entries `which` of the first axis."""
    return type(arrays)(*(array[which] for array in arrays))


def combine(chosen: NDArray[np.bool_], ours: Any, others: Any) -> Any:
    """A named tuple with our entries of the first axis where `chosen`, else the others'."""
    return type(ours)(
        *(np.where(chosen.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in zip(ours, others, strict=True))
    )


def log_mean_gamma(shape: Floats, rate: Floats) -> Floats:
    """<log x> for x ~ Gamma(shape, rate)."""
    return digamma(shape) - np.log(rate)


def log_mean_dirichlet(d: Floats) -> Floats:
    """<log p> for p ~ Dirichlet(d), over the last axis."""
    return digamma(d) - digamma(d.sum(axis=-1, keepdims=True))


def kl_normal(mean: Floats, precision: Floats, precision0: float) -> Floats:
    """KL(N(mean, 1 / precision) || N(0, 1 / precision0)), element by element."""
    return 0.5 * (np.log(precision / precision0) + precision0 * (mean**2 + 1 / precision) - 1)


def kl_gamma(shape: Floats, rate: Floats, shape0: float, rate0: float) -> Floats:
    """KL(Gamma(shape, rate) || Gamma(shape0, rate0)), element by element."""
    return (
        (shape - shape0) * digamma(shape)
        - gammaln(shape)
        + gammaln(shape0)
        + shape0 * (np.log(rate) - np.log(rate0))
        + shape * (rate0 / rate - 1)
    )


def kl_dirichlet_rows(d: Floats, d0: float) -> Floats:
    """KL(Dirichlet(d) || Dirichlet(d0, ..., d0)) over the last axis."""
    K = d.shape[-1]
    norm = gammaln(d.sum(axis=-1)) - gammaln(d).sum(axis=-1) - gammaln(K * d0) + K * gammaln(d0)
    return norm + ((d - d0) * log_mean_dirichlet(d)).sum(axis=-1)


def divergences(clusters: Clusters, prior: Prior) -> Floats:
    """Divergence of each cluster's factors from their priors, C; that of A is an average over alpha."""
    N, M = clusters.A.shape[1:]
    log_alpha = log_mean_gamma(clusters.alpha_shape, clusters.alpha_rate)
    square = (clusters.A**2).sum(axis=1) + np.einsum("cnmm->cm", clusters.A_cov)
    log_det = np.linalg.slogdet(clusters.A_cov)[1].sum(axis=1)
    of_A = 0.5 * ((clusters.alpha * square - N * log_alpha).sum(axis=1) - N * M - log_det)
    of_alpha = kl_gamma(clusters.alpha_shape, clusters.alpha_rate, prior.alpha_shape, prior.alpha_rate)
    of_nu = kl_normal(clusters.nu, clusters.nu_precision, prior.nu_precision)
    of_psi = kl_gamma(clusters.psi_shape, clusters.psi_rate, prior.psi_shape, prior.psi_rate)
    of_pi = kl_dirichlet_rows(clusters.pi, prior.pi)
    of_phi = kl_normal(clusters.phi, clusters.phi_precision, prior.phi_precision)
    of_beta = kl_gamma(clusters.beta_shape, clusters.beta_rate, prior.beta_shape, prior.beta_rate)
    by_dimension = (of_nu + of_psi).sum(axis=1)
    by_source = of_alpha + of_pi + (of_phi + of_beta).sum(axis=2)
    return of_A + by_dimension + np.where(clusters.absent, 0.0, by_source).sum(axis=1)
