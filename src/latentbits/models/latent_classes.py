"""The figures that latent class analysis is reported with: criteria, relative entropy, class sizes, bootstrap test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtri, xlogy


@dataclass(frozen=True, eq=False)
class LikelihoodRatio:
    """Result of `BernoulliMixture.bootstrap_test`: is one class less enough?

    Attributes
    ----------
    statistic : float
        Twice the log likelihood that the last class gains.
    p_value : float
        Share of tables drawn from the model with one class less in which it gains as much.
    samples : array
        The gains in these tables.

    Examples
    --------
    >>> from latentbits import BernoulliMixture, simulate
    >>> X = simulate.aspect_bernoulli(200, 8, 2, concentration=0.01, random_state=0).X
    >>> model = BernoulliMixture(2, n_init=3, random_state=0).fit(X)
    >>> model.bootstrap_test(X, n_samples=19, random_state=0).p_value
    0.05
    """

    statistic: float
    p_value: float
    samples: np.ndarray

    def __repr__(self) -> str:
        return f"LikelihoodRatio({self.statistic:.1f}, p = {self.p_value:.3g} of {len(self.samples)} samples)"


def relative_entropy(r: np.ndarray) -> float:
    """1 - the mean entropy of the rows' class probabilities r (N, K) as a share of log K; 1 for a single class."""
    N, K = r.shape
    return 1.0 if K == 1 else float(1 + xlogy(r, r).sum() / (N * np.log(K)))


def class_figures(log_likelihood: float, n_parameters: int, r: np.ndarray) -> pd.Series:
    """The figures of K classes with the rows' class probabilities r (N, K)."""
    N, deviance = len(r), -2 * log_likelihood
    return pd.Series(
        {
            "log_likelihood": log_likelihood,
            "n_parameters": float(n_parameters),
            "aic": deviance + 2 * n_parameters,
            "bic": deviance + n_parameters * np.log(N),
            "adjusted_bic": deviance + n_parameters * np.log((N + 2) / 24),
            "caic": deviance + n_parameters * (np.log(N) + 1),
            "relative_entropy": relative_entropy(r),
        }
    )


def class_sizes(
    cells: np.ndarray, r: np.ndarray, pi: np.ndarray, H: np.ndarray, smoothing: float, level: float
) -> pd.DataFrame:
    """The shares pi of K classes with intervals, from rows of 0, 1 and other (missing) cells; r: their probabilities.

    The covariance is the inverse of the sum over rows of the squared scores (as in poLCA) of the logarithms of pi_k /
    pi_K and of the log odds of H, with the prior of `smoothing` ones and zeros; intervals are symmetric in the log odds
    of a share.
    """
    K, D = H.shape
    by_pi = r - pi  # of log pi_k, all K of them: redundant, which the pseudo-inverse takes care of
    seen = (cells == 0) | (cells == 1)
    away = np.where(seen[:, None, :], (cells == 1)[:, None, :] - H, 0.0)
    scores = np.hstack([by_pi, (r[:, :, None] * away).reshape(len(r), K * D)])
    information = scores.T @ scores
    information[np.diag_indices(len(information))] += np.r_[np.zeros(K), (2 * smoothing * H * (1 - H)).ravel()]
    covariance = np.linalg.pinv(information, rcond=1e-10, hermitian=True)[:K, :K]
    jacobian = np.diag(pi) - np.outer(pi, pi)
    se = np.sqrt(np.maximum(np.diagonal(jacobian @ covariance @ jacobian), 0.0))
    inside = np.clip(pi, 1e-12, 1 - 1e-12)
    width = float(ndtri(0.5 + level / 2)) * se / (inside * (1 - inside))
    low, high = (expit(logit(inside) + sign * width) for sign in (-1, 1))
    return pd.DataFrame({"share": pi, "se": se, "low": low, "high": high}, index=pd.RangeIndex(K, name="component"))
