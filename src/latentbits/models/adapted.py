"""NMF and FastICA of scikit-learn, adapted to the interface of the models of 0-1 data.

Neither models 0-1 cells or missing ones. A missing cell is filled with its column's share of ones, sparse data are made
dense, and reconstructions are clipped to [0, 1]; so both can be compared with models of cells, but their
reconstructions are not probabilities, and methods that need a distribution (`sample`, `aic`, `bic`) are not available.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from scipy.optimize import nnls
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.fitting.climb import Climbed, Monitor
from latentbits.fitting.restarts import Restart, Runner
from latentbits.fitting.workers import Workers
from latentbits.models.base import RestartedModel
from latentbits.models.factor_model import FactorModel
from latentbits.models.solved_rows import RowSolver, Solution
from latentbits.numerics import RandomSource
from latentbits.wording import counted

EDGE = 1e-3
"""Reconstructions are clipped to [EDGE, 1 - EDGE] where a likelihood is computed from them."""

GAUSSIAN_LOG_COSH = 0.3745672075
"""E[log cosh z] of a standard normal z."""


class _Fit(NamedTuple):
    """One fit by scikit-learn: components (K x D), the map to coordinates (K x D, FastICA only), its iterations."""

    components: np.ndarray
    unmixing: np.ndarray
    n_iter: int


class _NotGenerative:
    """Removes an inherited method from a subclass: `hasattr` is False, and the AttributeError says why."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(
            f"{owner.__name__} has no {self._name}: its reconstruction is not a probability distribution; "
            "compare models by score or by held-out cells"
        )


class _Adapted(FactorModel, RestartedModel):
    """A factorisation by scikit-learn as a FactorModel."""

    sample = _NotGenerative()
    aic = _NotGenerative()
    bic = _NotGenerative()
    _n_parameters = _NotGenerative()

    @abstractmethod
    def _fit_once(self, prepared: Any, seed: int) -> tuple[_Fit, float]:
        """Components in their final form and order, and how good they are (higher is better)."""

    @abstractmethod
    def _linear(self, W: np.ndarray) -> np.ndarray:
        """The reconstruction before it is clipped."""

    def fit(self, X: Any, y: None = None) -> Self:
        """Estimate the components, and the weights of the rows.

        All rows count equally; there is no `sample_weight`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0, 1 and missing (NaN, None, pd.NA); other values are refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        data = self._data(X, reset=True)
        self.column_share_ = _column_share(data)
        V = _filled(data, self.column_share_)
        prepared = self._prepare(V)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of every start; that of the best one is given below
            # n_cells scales `tol` for the monitor, which doesn't decide here: scikit-learn stops its own iterations.
            best, runs = self._best_run(self._make_runner(prepared), n_cells=1.0, keep=lambda fit: fit.components)
        self._adopt_run(_with_iterations(best), [_with_iterations(run) for run in runs])
        self._adopt(best, runs)
        self._adopt_rows(data, np.ones(len(V)))
        return self

    def fit_transform(self, X: Any, y: None = None) -> np.ndarray:
        """Fit, and return the weights of the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0, 1 and missing (NaN, None, pd.NA); other values are refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            `weights_`.
        """
        return self.fit(X).weights_

    def _prepare(self, V: np.ndarray) -> Any:
        """What all restarts compute from the data alike, done once."""
        return V

    def _make_runner(self, prepared: Any) -> Callable[[Workers], Runner[Any]]:
        def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[Any]:
            fit, objective = self._fit_once(prepared, int(rng.integers(2**31)))  # scikit-learn takes no Generator
            monitor.record(objective)
            monitor.converged = fit.n_iter < self.max_iter
            return Climbed(fit, objective)

        return lambda workers: run

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.components_ = best.state.components
        self._unmixing = best.state.unmixing
        self.restart_components_ = [run.kept for run in runs]

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return np.clip(self._linear(W), 0.0, 1.0)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = np.clip(self._linear(W), EDGE, 1 - EDGE)
        return np.log(p), np.log1p(-p)


def _column_share(data: BinaryData) -> np.ndarray:
    """The share of ones among the observed cells of each column; of the whole table where there are none."""
    observed = data.observed_per_column()
    return np.divide(data.ones_per_column(), observed, out=np.full(len(observed), data.density), where=observed > 0)


def _filled(data: BinaryData, column_share: np.ndarray) -> np.ndarray:
    """The cells as float64, the missing ones filled with the share of ones in their column of the training data."""
    codes = data.dense()
    return np.where(codes == MISSING, column_share, codes)


def least_squares_rows(
    data: BinaryData, components: np.ndarray, column_share: np.ndarray, workers: Workers
) -> Solution:
    """Nonnegative weights of rows, row by row and to the end: scikit-learn's own stops by the rows that come together.

    SciPy's solver ends at the optimum or raises, so there is no gap to report.
    """
    A = np.ascontiguousarray(components.T)
    return Solution(np.array([nnls(A, v, maxiter=100 * A.shape[1])[0] for v in _filled(data, column_share)]))


def project_rows(data: BinaryData, unmixing: np.ndarray, column_share: np.ndarray, workers: Workers) -> Solution:
    """Sources of rows, one by one: the rounding of one matrix product would depend on the rows that come together."""
    return Solution(np.array([unmixing @ v for v in _filled(data, column_share) - column_share]))


def _with_iterations(run: Restart[Any]) -> Restart[Any]:
    """The run with scikit-learn's own number of iterations: only the last one was recorded."""
    return replace(run, n_iter=run.state.n_iter)


class NMF(_Adapted):
    """Non-negative matrix factorisation of the cells, by scikit-learn: ``X ~ weights_ @ components_``, least squares.

    The reconstruction is clipped at 1, a missing cell counts as its column's share of ones, and sparse data are made
    dense. Reconstructions are not probabilities: for `score` they are clipped to [0.001, 0.999], which makes held-out
    likelihoods comparable but rough, and there is no `sample`, `aic` or `bic`.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components.
    n_init : int, default=10
        Number of restarts; the one with the smallest squared error is kept.
    max_iter : int, default=1000
        Largest number of iterations of scikit-learn's coordinate descent.
    tol : float, default=1e-4
        Tolerance of scikit-learn's coordinate descent.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the restarts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Nonnegative, the largest entry of each component being 1; by falling share of the reconstruction.
    weights_ : ndarray of shape (n_rows, n_components)
        Nonnegative least squares solution of each training row, the components fixed.
    weights_gap_ : None
        The solution is exact: there is nothing to certify.
    column_share_ : ndarray of shape (n_features,)
        Share of ones among the observed cells of each column, which replaces missing cells.
    objective_ : float
        Minus the squared error of the best restart.
    objective_history_ : ndarray of shape (1,)
        `objective_` alone: scikit-learn does not report its iterations.
    restarts_ : DataFrame
        One line per restart: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The final objective of every restart, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every restart, in the order of `restarts_`.
    n_iter_ : int
        Iterations that scikit-learn made in the best restart.
    converged_ : bool
        Whether the best restart converged; False if it was stopped by `max_iter` or interrupted.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: all 1.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

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

    def _row_solver(self) -> RowSolver:
        return partial(least_squares_rows, components=self.components_, column_share=self.column_share_)

    def _linear(self, W: np.ndarray) -> np.ndarray:
        return W @ self.components_


class FastICA(_Adapted):
    """Independent component analysis of the cells, by scikit-learn: ``X ~ mean + weights_ @ components_``.

    The reconstruction is clipped to [0, 1], a missing cell counts as its column's share of ones, and sparse data are
    made dense. Reconstructions are not probabilities: for `score` they are clipped to [0.001, 0.999], which makes
    held-out likelihoods comparable but rough, and there is no `sample`, `aic` or `bic`.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components. If the centred data have a lower rank, the rest are 0, with a warning.
    n_init : int, default=1
        Number of restarts; the one with the largest contrast (`objective_`) is kept.
    max_iter : int, default=1000
        Largest number of iterations of scikit-learn's fixed-point algorithm.
    tol : float, default=1e-4
        Tolerance of scikit-learn's fixed-point algorithm.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the restarts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The columns of the mixing matrix, by falling variance; the entry of each that is largest in size is positive.
    weights_ : ndarray of shape (n_rows, n_components)
        The sources: uncorrelated, with mean 0 and variance 1 over the training rows.
    weights_gap_ : None
        The solution is exact: there is nothing to certify.
    column_share_ : ndarray of shape (n_features,)
        Share of ones among the observed cells of each column: the mean, which also replaces missing cells.
    objective_ : float
        The contrast, sum_k (mean log cosh of source k - that of a normal variable)^2.
    objective_history_ : ndarray of shape (1,)
        `objective_` alone: scikit-learn does not report its iterations.
    restarts_ : DataFrame
        One line per restart: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The final objective of every restart, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every restart, in the order of `restarts_`.
    n_iter_ : int
        Iterations that scikit-learn made in the best restart.
    converged_ : bool
        Whether the best restart converged; False if it was stopped by `max_iter` or interrupted.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: all 1.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

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
            left = self.n_components - found
            warnings.warn(
                f"the rows vary in {counted(found, 'direction')} only; the other {left} of "
                f"n_components={self.n_components} {'is' if left == 1 else 'are'} left at 0",
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
        # ICA leaves the sign of a source open; a convention makes fits comparable.
        sign = np.sign(A[np.arange(K), np.abs(A).argmax(axis=1)])[:, None]
        mixing[:K], unmixing[:K] = (sign * A)[order], (sign * (ica.components_ @ to))[order]
        return _Fit(mixing, unmixing, int(ica.n_iter_)), _contrast(S)

    _solves_in_closed_form = True

    def _row_solver(self) -> RowSolver:
        return partial(project_rows, unmixing=self._unmixing, column_share=self.column_share_)

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
    # The tolerance of np.linalg.matrix_rank.
    rank = int(np.sum(d > d.max(initial=0.0) * max(X.shape) * np.finfo(float).eps))
    K = min(K, rank)
    scale = d[:K, None] / np.sqrt(len(X))
    return _Whitened(U[:, :K] * np.sqrt(len(X)), Vt[:K] / scale, scale * Vt[:K])


def _contrast(S: np.ndarray) -> float:
    """sum_k (mean log cosh s_k - its value for a normal variable)^2, the measure that FastICA's logcosh maximises."""
    size = np.abs(S)
    log_cosh = size + np.log1p(np.exp(-2 * size)) - np.log(2.0)  # np.cosh would overflow
    return float(np.sum((log_cosh.mean(axis=0) - GAUSSIAN_LOG_COSH) ** 2))
