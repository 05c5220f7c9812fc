"""The mixture of Bernoulli products by EM ("MB" in the aspect Bernoulli paper).

A row has one component k, drawn with probability pi_k; its cells are then independent, 1 with probability H_kj.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.errors import DataError
from latentbits.fitting.climb import ArrayLearner
from latentbits.fitting.restarts import Restart
from latentbits.fitting.rows import column_products, row_products
from latentbits.fitting.workers import Workers, n_workers, run_all
from latentbits.kernels.em_passes import LANES, mixture_pass
from latentbits.models.factor_model import ClimbingFactorModel, random_components
from latentbits.models.latent_classes import LikelihoodRatio, class_figures, class_sizes
from latentbits.models.solved_rows import RowSolver, Solution, SolvedRows
from latentbits.numerics import RandomSource, aligned_zeros, as_generator, check_number, kernel_array

EDGE = 1e-10
"""H and pi stay this far from 0 (and H from 1): no row gets probability 0."""


FEW_STORED = 0.1
"""Of sparse data, the share of stored cells below which visiting only those costs less than all patterns."""

CHUNK_ROWS, MAX_CHUNKS = 2000, 16
"""Rows of a chunk of the compiled pass: so many that its own sums over patterns cost little beside them."""

REACHABLE = 1e-4
"""An extrapolation stays this far from 0 and 1; from the edge an entry needs hundreds of passes to come back."""


HALF_BYTES = np.unpackbits(np.arange(16, dtype=np.uint8)[:, None], axis=1)[:, 4:].astype(float)
"""The four cells of each pattern, in the order of `numpy.packbits`."""


class State(NamedTuple):
    """pi: (K,) on the simplex. H: (K, D) probabilities of a 1."""

    pi: np.ndarray
    H: np.ndarray


def joint_log_likelihood(data: BinaryData, pi: np.ndarray, H: np.ndarray, workers: Workers) -> np.ndarray:
    """log pi_k + sum_j [x_ij log H_kj + (1 - x_ij) log(1 - H_kj)] over the observed cells: N x K."""
    return row_products(data, np.log(H), np.log1p(-H), workers) + np.log(pi)


def responsibilities(data: BinaryData, pi: np.ndarray, H: np.ndarray, workers: Workers) -> Solution:
    """The probability that each row belongs to each component: N x K."""
    return Solution(softmax(joint_log_likelihood(data, pi, H, workers), axis=1))


@dataclass(frozen=True)
class MixtureEM(ArrayLearner[State]):
    """EM for sum_i log sum_k pi_k p(x_i | k) + eps sum_kj log[H_kj (1 - H_kj)], eps the `smoothing`."""

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    smoothing: float
    workers: Workers

    @cached_property
    def _bits(self) -> np.ndarray | None:
        """Which cells are ones and, if there are any, which are missing: a bit a cell; None if few cells are stored."""
        N, D = self.data.shape
        if self.data.sparse is not None and self.data.sparse.nnz < FEW_STORED * N * D:
            return None
        packed = self.data.to_packed().packed
        assert packed is not None
        return np.stack([packed.ones] if packed.missing is None else [packed.ones, packed.missing])

    def initialise(self, rng: np.random.Generator) -> State:
        """Random components of equal probability."""
        H = random_components(self.data, self.row_weight, self.n_components, rng)
        return State(np.full(self.n_components, 1 / self.n_components), H)

    def step(self, state: State) -> tuple[State, float]:
        """E step: r_ik, the probability that row i belongs to k. M step: shares of ones among the rows of k."""
        H = state.H
        ones, observed, size, row_log = self._sums(state) if self._bits is None else self._sums_by_patterns(state)
        eps = self.smoothing
        # A column without observed cells, or a component without rows, keeps its value: 0 / 0.
        new_H = np.divide(ones + eps, observed + 2 * eps, out=H.copy(), where=observed + 2 * eps > EDGE)
        objective = float(self.row_weight @ row_log + eps * np.sum(np.log(H) + np.log1p(-H)))
        return _bounded(State(size / self.row_weight.sum(), new_H), EDGE), objective

    def _sums(self, state: State) -> tuple[np.ndarray, ...]:
        """Sums of r over the ones and over the observed cells of each column (K x D), and over all rows; log p(x_i)."""
        joint = joint_log_likelihood(self.data, *state, self.workers)
        row_log = logsumexp(joint, axis=1)
        r = np.exp(joint - row_log[:, None]) * self.row_weight[:, None]
        return *column_products(self.data, r, self.workers), r.sum(axis=0), row_log

    def _sums_by_patterns(self, state: State) -> tuple[np.ndarray, ...]:
        """The same by the compiled pass."""
        bits = self._bits
        assert bits is not None
        K, D = state.H.shape
        log_H, log_not_H = np.log(state.H), np.log1p(-state.H)
        # As if all cells were 0, which ones and missing cells then correct.
        base = _padded(np.log(state.pi) + log_not_H.sum(axis=1), LANES)
        tables = np.stack([_tables(change) for change in (log_H - log_not_H, -log_not_H)[: len(bits)]])
        row_log, weight = np.empty(len(self.row_weight)), kernel_array(self.row_weight)

        def one(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            sums, size = aligned_zeros(tables.shape), np.zeros_like(base)
            mixture_pass(
                kernel_array(bits[:, rows], np.uint8), tables, base, K, weight[rows], sums, size, row_log[rows]
            )
            return sums, size

        parts = self.workers.map(one, _chunks(len(weight)))
        sums, size = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        ones, *missing = (_by_column(each, len(size))[:K, :D] for each in sums)
        size = size[:K]
        return ones, size[:, None] - sum(missing), size, row_log

    def project(self, state: State) -> State:
        """Back inside the bounds, at some distance from them (see `REACHABLE`)."""
        return _bounded(state, REACHABLE)

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """Equal weights for both arrays."""
        return 1.0, 1.0


def _bounded(state: State, edge: float) -> State:
    """H at least `edge` away from 0 and 1, and pi, on the simplex, away from 0."""
    pi = np.maximum(state.pi, edge)
    return State(pi / pi.sum(), np.clip(state.H, edge, 1 - edge))


def _chunks(n_rows: int) -> list[slice]:
    """Runs of rows, each with sums of its own over patterns: many rows each, and by their number alone."""
    n = int(np.clip(n_rows // CHUNK_ROWS, 1, MAX_CHUNKS))
    return [slice(n_rows * chunk // n, n_rows * (chunk + 1) // n) for chunk in range(n)]


def _tables(change: np.ndarray) -> np.ndarray:
    """For each four columns and each pattern of their cells the sum of `change` (K x D) over its ones."""
    columns = _padded(_padded(change, 8).T, LANES)
    tables = HALF_BYTES @ columns.reshape(-1, 4, columns.shape[1])
    return tables.ravel()


def _by_column(sums: np.ndarray, length: int) -> np.ndarray:
    """The other way round: K x D (and padding) sums over the patterns in which the column's cell is 1."""
    return (HALF_BYTES.T @ sums.reshape(-1, 16, length)).reshape(-1, length).T


def _padded(values: np.ndarray, multiple: int) -> np.ndarray:
    """The array with zeros after its last axis, up to a multiple."""
    n = values.shape[-1]
    padded = np.zeros((*values.shape[:-1], -(-n // multiple) * multiple))
    padded[..., :n] = values
    return padded


# ---- the estimator -----------------------------------------------------------------------------------------------


class BernoulliMixture(ClimbingFactorModel):
    """Mixture of Bernoulli products: every *row* has one cause (latent class analysis of yes-no items).

    The clustering counterpart of `AspectBernoulli`, in which every *cell* has a cause of its own. Fitted by accelerated
    EM from several random starts.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components (classes, clusters).
    smoothing : float, default=0.3
        Pseudocounts: that many ones and as many zeros are added to each count, which is the prior
        Beta(1 + smoothing, 1 + smoothing) on every probability, so that no new row has probability 0. 0 is plain
        maximum likelihood. 0.1 to 0.5 predicted held-out rows best on fossils, birds and digits.
    n_init : int, default=10
        Number of random starts; the best is kept.
    max_iter : int, default=3000
        Largest number of passes over the data per start. They come in rounds of three, and a round is always finished.
    tol : float, default=1e-7
        A start has converged when three passes raise the objective by less than this per observed cell.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Probability of a 1, the most frequent component first.
    proportions_ : ndarray of shape (n_components,)
        Mixing proportions: the prior probability of each component.
    weights_ : ndarray of shape (n_rows, n_components)
        Responsibilities: the probabilities that each training row belongs to each component.
    weights_gap_ : None
        Responsibilities are in closed form: there is nothing to certify.
    objective_ : float
        Log likelihood of the training rows plus the log prior, up to a constant.
    objective_history_ : ndarray of shape (n_iter_,)
        The best start's objective after each pass; it never falls, except by rounding.
    restarts_ : DataFrame
        One line per start: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The objective after each pass of every start, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every start, in the order of `restarts_`.
    n_iter_ : int
        Passes over the data made by the best start.
    converged_ : bool
        Whether the best start converged; False if it was stopped by `max_iter` or interrupted.
    labels_ : ndarray of int, shape (n_rows,)
        The most probable component of each training row.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: `sample_weight`, or all 1.
    data_checksum_ : str
        Identifies the training data (`BinaryData.fingerprint`).
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    Examples
    --------
    >>> from latentbits import BernoulliMixture
    >>> X = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, None]]
    >>> model = BernoulliMixture(2, random_state=0).fit(X)
    >>> bool(model.predict(X)[0] == model.predict(X)[1] != model.predict(X)[2])
    True
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        smoothing: float = 0.3,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-7,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.smoothing = smoothing
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> MixtureEM:
        return MixtureEM(data, row_weight, self.n_components, self.smoothing, workers)

    def _keep(self, state: State, row_weight: np.ndarray) -> np.ndarray:
        return state.H

    def _adopt(self, best: Restart[State], runs: list[Restart[State]]) -> None:
        order = np.argsort(-best.state.pi, kind="stable")
        self.proportions_ = best.state.pi[order]
        self.components_ = best.state.H[order]
        self.restart_components_ = [run.kept for run in runs]

    _solves_in_closed_form = True

    def _row_solver(self) -> RowSolver:
        return partial(responsibilities, pi=self.proportions_, H=self.components_)

    def _log_likelihood(self, rows: SolvedRows) -> float:
        return float(np.sum(self.score_samples(rows.data)))

    def _n_parameters(self, n_rows: int) -> int:
        K, D = self.components_.shape
        return K * D + K - 1

    def _n_observations(self, data: BinaryData) -> int:
        return data.shape[0]  # the parameters don't grow with the rows

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable component of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of int, shape (n_rows,)
            Index of the component; `predict_proba` gives the probabilities of all components.
        """
        return self._solved(X).weights.argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each component, given the row: what `transform` returns, always as an array.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Probabilities; those of a row sum to 1.
        """
        return self._solved(X).weights.copy()

    @property
    def labels_(self) -> np.ndarray:
        """The most probable component of each training row."""
        return self.weights_.argmax(axis=1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log likelihood of each row: log sum_k p(k) p(x | k).

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log likelihood of the observed cells of each row.
        """
        check_is_fitted(self)
        data = self._data(X)
        with Workers(n_workers(self.n_jobs)) as workers:
            return logsumexp(joint_log_likelihood(data, self.proportions_, self.components_, workers), axis=1)

    def class_figures(self, X: Any) -> pd.Series:
        """The figures that latent classes are compared by; every row counts once, and an observation is a row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.

        Returns
        -------
        Series
            `log_likelihood`, `n_parameters`, `aic`, `bic`, `adjusted_bic` (with (n + 2) / 24 rows), `caic` and
            `relative_entropy` (1 if every row's class is certain, 0 if nothing is known of any).

        Examples
        --------
        >>> from latentbits import BernoulliMixture, simulate
        >>> X = simulate.aspect_bernoulli(200, 8, 2, concentration=0.01, random_state=0).X
        >>> figures = BernoulliMixture(2, n_init=3, random_state=0).fit(X).class_figures(X)
        >>> figures.index.tolist()[-3:], bool(figures["caic"] > figures["bic"] > figures["adjusted_bic"])
        (['adjusted_bic', 'caic', 'relative_entropy'], True)
        """
        rows = self._solved(X)
        return class_figures(self._log_likelihood(rows), self._n_parameters(rows.data.shape[0]), rows.weights)

    def class_sizes(self, X: Any, *, level: float = 0.9) -> pd.DataFrame:
        """The shares of the classes with standard errors and intervals.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            The rows of the fit.
        level : float, default=0.9
            What the intervals should cover.

        Returns
        -------
        DataFrame
            A line per component: `share`, `se`, `low` and `high`.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, simulate
        >>> X = simulate.aspect_bernoulli(200, 8, 2, concentration=0.01, random_state=0).X
        >>> sizes = BernoulliMixture(2, n_init=3, random_state=0).fit(X).class_sizes(X)
        >>> bool((sizes["low"] < sizes["share"]).all() and (sizes["share"] < sizes["high"]).all())
        True
        """
        check_number("level", level, least=0, below=1, above=True)
        rows = self._solved(X)
        return class_sizes(rows.data.dense(), rows.weights, self.proportions_, self.components_, self.smoothing, level)

    def bootstrap_test(self, X: Any, *, n_samples: int = 99, random_state: RandomSource = 0) -> LikelihoodRatio:
        """Bootstrap likelihood-ratio test of K classes against K - 1 (McLachlan 1987).

        Tables of the size of X are drawn from the best model with one class less, with the missing cells of X, and
        both models are fitted to each, with the parameters of this one; p is the share, counting X itself, in which the
        last class gains at least as much as here.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            The rows of the fit.
        n_samples : int, default=99
            How many tables are drawn.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the draws and fits.

        Returns
        -------
        LikelihoodRatio
            `statistic`, `p_value` and `samples`.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, simulate
        >>> X = simulate.aspect_bernoulli(200, 8, 2, concentration=0.01, random_state=0).X
        >>> model = BernoulliMixture(3, n_init=3, random_state=0).fit(X)
        >>> model.bootstrap_test(X, n_samples=19, random_state=0).p_value > 0.05
        True
        """
        check_number("n_samples", n_samples, least=1, integer=True)
        data = self._solved(X).data
        K = len(self.proportions_)
        if K == 1:
            raise DataError("one class has none less to be compared with; fit two or more")
        rng = as_generator(random_state)
        fewer = _refitted(self, K - 1, data, int(rng.integers(2**31)))
        missing = data.dense() == MISSING

        def gain(table: BinaryData, less: BernoulliMixture, seed: int) -> float:
            more = self if table is data else _refitted(self, K, table, seed)
            return 2 * float(more.score_samples(table).sum() - less.score_samples(table).sum())

        def one(seed: int) -> float:
            cells = fewer.sample(data.shape[0], random_state=seed)
            cells[missing] = MISSING
            table = BinaryData(cells)
            return gain(table, _refitted(self, K - 1, table, seed), seed)

        seeds = rng.integers(2**31, size=n_samples).tolist()
        jobs = [partial(one, seed) for seed in seeds]
        samples = np.array(run_all(jobs, title="Bootstrap", n_jobs=self.n_jobs, verbose=bool(self.verbose)))
        found = gain(data, fewer, 0)
        return LikelihoodRatio(found, float((1 + np.sum(samples >= found)) / (1 + n_samples)), samples)

    def sample(self, n_samples: int = 1, random_state: RandomSource = None) -> np.ndarray:
        """Draw new rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        ndarray of int8, shape (n_samples, n_features)
            Rows of 0 and 1: a component is drawn for each row, then every cell from that component.
        """
        check_is_fitted(self)
        check_number("n_samples", n_samples, least=1, integer=True)
        rng = as_generator(random_state)
        k = rng.choice(len(self.proportions_), size=n_samples, p=self.proportions_)
        return (rng.random((n_samples, self.n_features_in_)) < self.components_[k]).astype(np.int8)


def _refitted(model: BernoulliMixture, n_components: int, data: BinaryData, seed: int) -> BernoulliMixture:
    """The same model with another number of classes, fitted to other rows on one thread."""
    other = clone(model).set_params(n_components=n_components, random_state=seed, n_jobs=None, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cast("BernoulliMixture", other.fit(data.without_names()))
