"""NMF and FastICA of scikit-learn, adapted: their factors, our questions.

Neither knows what a 0-1 cell or a missing one is. A missing cell is filled with its column's share of ones, sparse data
are made dense, and reconstructions are clipped to [0, 1]; so both can be compared with models of cells, but what they
give are no probabilities, and what can only be asked of a distribution (`sample`, `aic`, `bic`) isn't there.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from scipy.optimize import nnls
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.fitting.climb import Climbed
from latentbits.fitting.monitor import Monitor
from latentbits.fitting.restarts import Restart, Runner
from latentbits.fitting.workers import Workers
from latentbits.models.base import FactorModel
from latentbits.numerics import RandomSource

__all__ = ["NMF", "FastICA"]

EDGE = 1e-3
"""Reconstructions count as probabilities from here to 1 - EDGE when a likelihood is asked for."""

GAUSSIAN_LOG_COSH = 0.3745672075
"""E[log cosh z] of a standard normal z."""


class _Fit(NamedTuple):
    """One fit of scikit-learn's: components (K x D), the map to coordinates (K x D, FastICA only), its iterations."""

    components: np.ndarray
    unmixing: np.ndarray
    n_iter: int


class _NotGenerative:
    """Stands where a subclass must not have what its base has: `hasattr` is False, and asking says why."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(
            f"{owner.__name__} has no {self._name}: its reconstruction is no probability distribution; "
            "compare models by score or by held-out cells"
        )


class _Adapted(FactorModel):
    """A factorisation of scikit-learn's as a FactorModel."""

    sample = _NotGenerative()
    aic = _NotGenerative()
    bic = _NotGenerative()
    _n_parameters = _NotGenerative()
    # `fit` below runs scikit-learn's own loop in their place.
    _learner = _keep = None  # type: ignore[assignment]

    @abstractmethod
    def _fit_once(self, prepared: Any, seed: int) -> tuple[_Fit, float]:
        """Components in their final form and order, and how good they are (higher is better)."""

    @abstractmethod
    def _linear(self, W: np.ndarray) -> np.ndarray:
        """The reconstruction before it is clipped."""

    def fit(self, X: Any, y: None = None) -> Self:  # type: ignore[override]
        """Find the components, and the weights of the rows. All rows count alike: weights are not taken.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set.
        y : ignored
        """
        self._check_parameters()
        data = self._data(X, reset=True)
        self.column_share_ = _column_share(data)
        V = self._filled(data)
        prepared = self._prepare(V)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of every start; that of the best one is given below
            best, runs = self._best_run(self._make_runner(prepared), n_cells=1.0, keep=lambda fit: fit.components)
        self._adopt_run(_with_iterations(best), [_with_iterations(run) for run in runs])
        self._adopt(best, runs)
        self.row_weight_ = np.ones(len(V))
        self.weights_ = self._solve(data)
        return self

    def fit_transform(self, X: Any, y: None = None) -> np.ndarray:  # type: ignore[override]
        """Fit, and return the weights of the training rows."""
        return self.fit(X).weights_

    def _prepare(self, V: np.ndarray) -> Any:
        """What all starts need of the data."""
        return V

    def _make_runner(self, prepared: Any) -> Callable[[Workers], Runner[Any]]:
        def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[Any]:
            fit, objective = self._fit_once(prepared, int(rng.integers(2**31)))
            monitor.record(objective)
            monitor.converged = fit.n_iter < self.max_iter
            return Climbed(fit, objective)

        return lambda workers: run

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.components_ = best.state.components
        self._unmixing = best.state.unmixing
        self.restart_components_ = [run.kept for run in runs]

    def _filled(self, data: BinaryData) -> np.ndarray:
        """The cells as float64, the missing ones filled with the share of ones in their column of the training data."""
        codes = data.dense()
        return np.where(codes == MISSING, self.column_share_, codes)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return np.clip(self._linear(W), 0.0, 1.0)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = np.clip(self._linear(W), EDGE, 1 - EDGE)
        return np.log(p), np.log1p(-p)


def _column_share(data: BinaryData) -> np.ndarray:
    """The share of ones among the observed cells of each column; of the whole table where there are none."""
    observed = data.observed_per_column()
    return np.divide(data.ones_per_column(), observed, out=np.full(len(observed), data.density), where=observed > 0)


def _with_iterations(run: Restart[Any]) -> Restart[Any]:
    """The run with scikit-learn's own count, of which only the end was recorded."""
    return replace(run, n_iter=run.state.n_iter)


class NMF(_Adapted):
    """Non-negative matrix factorisation of the cells, by scikit-learn: ``X ~ weights_ @ components_``, least squares.

    The reconstruction is clipped at 1, a missing cell counts as its column's share of ones, and sparse data are made
    dense. These are no probabilities: for `score` they are clipped to [0.001, 0.999], which makes held-out likelihoods
    comparable but rough, and there is no `sample`, `aic` or `bic`.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components.
    n_init : int, default=10
        Random starts; the one with the smallest squared error is kept, all are in `restarts_`.
    max_iter : int, default=1000
        Of scikit-learn's coordinate descent.
    tol : float, default=1e-4
        Of scikit-learn's coordinate descent.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.
    random_state : None, int, Generator or RandomState
        The same seed gives the same answer on any number of jobs.
    n_jobs : int, optional
        Threads; -1 for all cores.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Not negative, the largest entry of each being 1; in the order of their share of the reconstruction.
    weights_ : ndarray of shape (n_rows, n_components)
        Not negative: the least squares solution of each training row, the components fixed.
    column_share_ : ndarray of shape (n_features,)
        What a missing cell counts as.
    objective_ : float
        Minus the squared error of the best start.
    restarts_ : DataFrame
        Seed, objective, n_iter and converged of every start.
    n_iter_, converged_, objective_history_, n_features_in_, feature_names_in_ :
        As in `AspectBernoulli`; the history has the end alone.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import NMF
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
    >>> NMF(2, n_init=3, random_state=0).fit(X).reconstruct([[0, 0, 1, 1]]).round(2)
    array([[0., 0., 1., 1.]])
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-4,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_once(self, prepared: np.ndarray, seed: int) -> tuple[_Fit, float]:
        nmf = decomposition.NMF(
            self.n_components, init="random", tol=self.tol, max_iter=self.max_iter, random_state=seed
        )
        W = nmf.fit_transform(prepared)
        top = nmf.components_.max(axis=1, keepdims=True)
        H = np.divide(nmf.components_, top, out=np.zeros_like(nmf.components_), where=top > 0)
        order = np.argsort(-W.sum(axis=0) * nmf.components_.sum(axis=1), kind="stable")
        error = np.sum((prepared - W @ nmf.components_) ** 2)
        return _Fit(H[order], np.zeros((0, 0)), int(nmf.n_iter_)), -float(error)

    def _coordinates(self, data: BinaryData, workers: Workers) -> np.ndarray:
        """Least squares row by row and to the end: scikit-learn's own stops by the rows that come together."""
        A = np.ascontiguousarray(self.components_.T)
        return np.array([nnls(A, v, maxiter=100 * A.shape[1])[0] for v in self._filled(data)])

    def _linear(self, W: np.ndarray) -> np.ndarray:
        return W @ self.components_


class FastICA(_Adapted):
    """Independent component analysis of the cells, by scikit-learn: ``X ~ mean + weights_ @ components_``.

    The reconstruction is clipped to [0, 1], a missing cell counts as its column's share of ones, and sparse data are
    made dense. These are no probabilities: for `score` they are clipped to [0.001, 0.999], which makes held-out
    likelihoods comparable but rough, and there is no `sample`, `aic` or `bic`.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components. If the rows vary in fewer directions, the rest are 0, with a warning.
    n_init : int, default=1
        Random starts; the one whose weights are farthest from a normal distribution is kept.
    max_iter : int, default=1000
        Of scikit-learn's fixed-point iteration.
    tol : float, default=1e-4
        Of scikit-learn's fixed-point iteration.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.
    random_state : None, int, Generator or RandomState
        The same seed gives the same answer on any number of jobs.
    n_jobs : int, optional
        Threads; -1 for all cores.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The columns of the mixing matrix, in the order of their variance; the entry farthest from 0 is positive.
    weights_ : ndarray of shape (n_rows, n_components)
        The sources: uncorrelated, with mean 0 and variance 1 over the training rows.
    column_share_ : ndarray of shape (n_features,)
        The mean, which is also what a missing cell counts as.
    objective_ : float
        The contrast, sum_k (mean log cosh of source k - that of a normal variable)^2.
    restarts_ : DataFrame
        Seed, objective, n_iter and converged of every start.
    n_iter_, converged_, objective_history_, n_features_in_, feature_names_in_ :
        As in `AspectBernoulli`; the history has the end alone.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import FastICA
    >>> X = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]] * 5)
    >>> FastICA(2, random_state=0).fit(X).reconstruct([[0, 0, 1, 1]]).round(2) + 0.0
    array([[0., 0., 1., 1.]])
    """

    similarity_ = "cosine"

    def __init__(
        self,
        n_components: int = 5,
        *,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-4,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _prepare(self, V: np.ndarray) -> _Whitened:
        whitened = _whiten(V - self.column_share_, self.n_components)
        found = len(whitened.back)
        if found < self.n_components:
            warnings.warn(
                f"the rows vary in {found} directions only; the other {self.n_components - found} of "
                f"n_components={self.n_components} are left at 0",
                stacklevel=3,
            )
        return whitened

    def _fit_once(self, prepared: _Whitened, seed: int) -> tuple[_Fit, float]:
        Z, to, back = prepared
        K, D = back.shape
        mixing, unmixing = np.zeros((2, self.n_components, D))
        if K == 0:  # all rows are alike
            return _Fit(mixing, unmixing, 0), 0.0
        ica = decomposition.FastICA(whiten=False, tol=self.tol, max_iter=self.max_iter, random_state=seed)
        S = ica.fit_transform(Z)
        A = ica.components_ @ back
        order = np.argsort(-np.sum(A**2, axis=1), kind="stable")
        sign = np.sign(A[np.arange(K), np.abs(A).argmax(axis=1)])[:, None]
        mixing[:K], unmixing[:K] = (sign * A)[order], (sign * (ica.components_ @ to))[order]
        return _Fit(mixing, unmixing, int(ica.n_iter_)), _contrast(S)

    def _coordinates(self, data: BinaryData, workers: Workers) -> np.ndarray:
        """Row by row: the rounding of one matrix product for all would depend on the rows that come together."""
        return np.array([self._unmixing @ v for v in self._filled(data) - self.column_share_])

    def _linear(self, W: np.ndarray) -> np.ndarray:
        return self.column_share_ + W @ self.components_


class _Whitened(NamedTuple):
    """Z: (N, K) uncorrelated, of variance 1. With X the centred data, Z = X to^T and X ~ Z back; both are K x D."""

    Z: np.ndarray
    to: np.ndarray
    back: np.ndarray


def _whiten(X: np.ndarray, K: int) -> _Whitened:
    """The first K principal directions, or as many as there are.

    Done here because scikit-learn multiplies each direction by the sign of its first entry: by 0, if the first column
    is constant.
    """
    U, d, Vt = np.linalg.svd(X, full_matrices=False)
    rank = int(np.sum(d > d.max(initial=0.0) * max(X.shape) * np.finfo(float).eps))
    K = min(K, rank)
    scale = d[:K, None] / np.sqrt(len(X))
    return _Whitened(U[:, :K] * np.sqrt(len(X)), Vt[:K] / scale, scale * Vt[:K])


def _contrast(S: np.ndarray) -> float:
    """sum_k (mean log cosh s_k - its value for a normal variable)^2, the measure that FastICA's logcosh maximises."""
    size = np.abs(S)
    log_cosh = size + np.log1p(np.exp(-2 * size)) - np.log(2.0)
    return float(np.sum((log_cosh.mean(axis=0) - GAUSSIAN_LOG_COSH) ** 2))
