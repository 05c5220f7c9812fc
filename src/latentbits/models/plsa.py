"""PLSA, the aspect model of the ones: each one of row i falls on column j with probability p(j|i) = sum_k s_ik H_kj.

Fitted in its Poisson form. With W_ik = L_i s_ik, the objective is F = sum_ij m_ij [x_ij log (WH)_ij - (WH)_ij] over
the observed cells (m_ij = 1). Rows of H sum to 1, so with nothing missing the second term is -sum_k W_ik and the best
W sums to the row's number of ones L_i: what remains is the multinomial likelihood sum_ij x_ij log p(j|i), and a
constant. With missing cells it is likewise the multinomial of the row's ones on its observed columns, and
L_i = sum_k W_ik is the expected number of ones of the whole row. With pseudo-counts (`PseudoCounts`), each is a one
more for an entry, and its rate one more reason for fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.fitting.climb import ArrayLearner
from latentbits.fitting.restarts import Restart
from latentbits.fitting.workers import Workers
from latentbits.kernels.em_passes import ones_pass
from latentbits.kernels.fold_in import fold_in
from latentbits.kernels.smoothed_rows import smoothed_rows
from latentbits.models.factor_model import ClimbingFactorModel, PseudoCounts
from latentbits.models.solved_rows import RowSolver, Solution
from latentbits.numerics import RandomSource, kernel_array

EDGE = 1e-10
"""H stays at least this large: no one of a new row gets probability 0."""

NOTHING = 1e-12  # a row or column that shows less than this share of a component doesn't update it: rounding of 0 / 0

CHUNK_WORK = 500_000  # ones x components of a chunk of rows
MAX_CHUNKS = 16  # each chunk has its own D x K sums

GAP = 1e-12  # rows are solved for until at most this much log-likelihood per one can be gained
MAX_STEPS = 100
BLOCK_ROWS = 256  # rows solved for at a time

# Placeholders for the storage that is not used: compiled kernels take arrays of fixed types, not None.
_NO_POINTERS = np.zeros(1, np.int64)
_NO_INDICES = np.zeros(0, np.int32)
_NO_VALUES = np.zeros(0, np.int8)


class State(NamedTuple):
    """W: (N, K), its rows sum to the intensities L_i. H: (K, D), rows on the simplex."""

    W: np.ndarray
    H: np.ndarray


@dataclass(frozen=True)
class Ones:
    """Where the ones and the missing cells of N x D data are, row by row (CSR)."""

    shape: tuple[int, int]
    indptr: np.ndarray
    indices: np.ndarray
    missing: sp.csr_array | None

    @classmethod
    def of(cls, data: BinaryData) -> Ones:
        """The ones of dense or sparse data; equal data give equal arrays."""
        indptr, indices = _places(data, 1)
        missing = None
        if data.has_missing:
            before, columns = _places(data, MISSING)
            missing = sp.csr_array((np.ones(len(columns)), columns, before), shape=data.shape)
        return cls(data.shape, indptr, indices, missing)

    @cached_property
    def per_row(self) -> np.ndarray:
        """L_i, as float64."""
        return np.diff(self.indptr).astype(np.float64)

    def row(self, i: int) -> np.ndarray:
        """The columns in which row i has its ones."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def hidden(self, i: int) -> np.ndarray:
        """The columns in which row i is missing."""
        if self.missing is None:
            return _NO_INDICES
        return self.missing.indices[self.missing.indptr[i] : self.missing.indptr[i + 1]]

    def chunks(self, K: int) -> list[slice]:
        """Rows cut into chunks with about as many ones each, independent of the number of threads."""
        n = int(np.clip(len(self.indices) * K // CHUNK_WORK, 1, min(MAX_CHUNKS, self.shape[0])))
        inner = np.searchsorted(self.indptr, [len(self.indices) * c // n for c in range(1, n)])
        return [slice(int(a), int(b)) for a, b in pairwise([0, *inner, self.shape[0]])]


def _places(data: BinaryData, code: int) -> tuple[np.ndarray, np.ndarray]:
    """indptr (int64) and sorted column indices (int32) of the cells with this code."""
    if data.sparse is None:
        csr = sp.csr_array(data.dense() == code)
        return csr.indptr.astype(np.int64), csr.indices.astype(np.int32)
    chosen = data.sparse.data == code
    before = np.concatenate(([0], np.cumsum(chosen)))
    return before[data.sparse.indptr], data.sparse.indices[chosen]


@dataclass(frozen=True)
class PoissonEM(ArrayLearner[State]):
    """EM for F (see above), rows weighted: q_ijk = W_ik H_kj / (WH)_ij is the share of component k in a one."""

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    workers: Workers
    smoothing: float = 0.0

    @cached_property
    def prior(self) -> PseudoCounts:
        """What is counted beside the data."""
        return PseudoCounts.of(self.smoothing, self.data, self.row_weight)

    @cached_property
    def ones(self) -> Ones:
        """The data as the passes need them, made once."""
        return Ones.of(self.data)

    def initialise(self, rng: np.random.Generator) -> State:
        """The columns' shares of ones times random factors; all components alike in a row, so equal rows stay equal."""
        observed = self.data.observed_per_column(self.row_weight)
        found = self.data.ones_per_column(self.row_weight)
        # Smoothed by the average column: columns without ones or observed cells get a positive share.
        average = (found.sum() + 0.5) / (observed.sum() + 1.0)
        share = (found + average) / (observed + 1.0)
        K = self.n_components
        H = share * np.exp(rng.uniform(-2.0, 2.0, size=(K, len(share))))
        return self.project(State(np.repeat(self.ones.per_row[:, None] / K, K, axis=1), H))

    def step(self, state: State) -> tuple[State, float]:
        """q at the ones, then W given H, then H given the new W: both raise the same bound, also with missing cells."""
        W, H = state
        M, N1, row_log = self._pass(W, H)
        seen = self._seen_by_rows(H)
        objective = float(self.row_weight @ (row_log - np.einsum("ik,ik->i", W, seen)))
        objective += self.prior.gain(W, H, self.row_weight)
        count, rate = self.prior.of_rows(self._average(W))
        counts, rates = self.prior.of_components(H)
        seen = seen + rate
        # Where the observed cells of a row show nothing of a component, or a column has no row that uses it, the value
        # is kept.
        W = np.divide(M + count, seen, out=W.copy(), where=seen > NOTHING)
        weighted = self.row_weight[:, None] * W
        used = self._seen_by_columns(weighted) + rates
        new_H = np.divide(N1 + counts, used, out=H.copy(), where=used > NOTHING * weighted.sum(axis=0)[:, None])
        H = np.where(new_H.sum(axis=1, keepdims=True) > 0, new_H, H)  # a table without ones says nothing of H
        scale = H.sum(axis=1)  # moved to W, so that W H is unchanged
        return State(W * scale, _on_simplex(H)), objective

    def project(self, state: State) -> State:
        """H on the simplex; W positive where a row has counts, and scaled so that F is highest: these are expected."""
        H = _on_simplex(state.H)
        counts = self.ones.per_row + self.n_components * self.smoothing
        W = np.maximum(state.W, EDGE * counts[:, None])
        _, rate = self.prior.of_rows(self._average(W))
        expected = np.einsum("ik,ik->i", W, self._seen_by_rows(H) + rate)
        scale = np.divide(counts, expected, out=np.zeros_like(counts), where=expected > 0)
        return State(W * scale[:, None], H)

    def _average(self, W: np.ndarray) -> np.ndarray:
        return self.row_weight @ W / self.row_weight.sum()

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """Rows are measured as proportions, times their weight, and columns by their share: both are then about 1."""
        return (self.row_weight / np.maximum(self.ones.per_row, 1.0) ** 2)[:, None], float(self.ones.shape[1])

    def _pass(self, W: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """sum_j q_ijk (N x K), sum_i q_ijk (K x D, rows weighted), and sum_j log (WH)_ij (N), all over the ones."""
        ones, weight = self.ones, self.row_weight
        K = self.n_components
        M, row_log = np.empty_like(W), np.empty(len(W))
        Ht = np.ascontiguousarray(H.T)

        def one(rows: slice) -> np.ndarray:
            G = np.zeros_like(Ht)
            indptr = ones.indptr[rows.start : rows.stop + 1]
            ones_pass(indptr, ones.indices, W[rows], Ht, weight[rows], M[rows], G, row_log[rows])
            return G

        G = np.zeros_like(Ht)
        for part in self.workers.map(one, ones.chunks(K)):
            G += part
        return M, np.ascontiguousarray((Ht * G).T), row_log

    def _seen_by_rows(self, H: np.ndarray) -> np.ndarray:
        """sum_j m_ij H_kj: how much of each component the observed columns of row i show (N x K)."""
        total = H.sum(axis=1)
        if self.ones.missing is None:
            return np.broadcast_to(total, (self.ones.shape[0], len(H)))
        return np.maximum(total - self.ones.missing @ H.T, 0.0)

    def _seen_by_columns(self, W: np.ndarray) -> np.ndarray:
        """sum_i m_ij W_ik: how much of each component the observed rows of column j use (K x D)."""
        total = W.sum(axis=0)[:, None]
        if self.ones.missing is None:
            return np.broadcast_to(total, (W.shape[1], self.ones.shape[1]))
        return np.maximum(total - (self.ones.missing.T @ W).T, 0.0)


def _on_simplex(H: np.ndarray) -> np.ndarray:
    H = np.maximum(H / H.sum(axis=1, keepdims=True), EDGE)  # normalised before, so that EDGE is relative
    return H / H.sum(axis=1, keepdims=True)


def solve_rows(
    data: BinaryData, H: np.ndarray, blank: np.ndarray, smoothing: float = 0.0, *, workers: Workers
) -> Solution:
    """Each row's optimal W, H fixed: N x K. Rows without observed cells get `blank`, others without counts get 0.

    Let b_k = sum_j m_ij H_kj and v_k = b_k W_ik / L_i, L_i counting the ones seen. The best v is on the simplex and
    maximises the mean of log sum_k v_k H_kj / b_k over the row's ones: the problem that `fold_in` solves, with a
    certificate. Rows that miss the same cells have the same b and are solved for together. With pseudo-counts every row
    is solved for on its own.
    """
    ones = Ones.of(data)
    if smoothing:
        return _smoothed_rows(ones, H, blank, float(smoothing), workers)
    N, K = len(ones.per_row), len(H)
    W, gap = np.zeros((N, K)), np.zeros(N)
    W[data.observed_per_row() == 0] = blank
    start, gap = np.full(K, 1 / K), np.zeros(N)

    def one(rows: list[int]) -> None:
        shown = np.ones(H.shape[1], dtype=bool)
        shown[ones.hidden(rows[0])] = False
        b = H[:, shown].sum(axis=1)
        columns, place = np.unique(np.concatenate([ones.row(i) for i in rows]), return_inverse=True)
        L = ones.per_row[rows]
        cells = np.full((len(rows), len(columns)), MISSING, np.int8)  # to the solver only the ones exist
        cells[np.repeat(np.arange(len(rows)), L.astype(np.intp)), place] = 1
        h = np.ascontiguousarray(H[:, columns] / b[:, None])
        v, left = np.empty((len(rows), K)), np.empty(len(rows))
        none = np.zeros(len(columns), dtype=bool), np.zeros((K, 0)), np.zeros(K), np.zeros((K, K))  # no common zeros
        arrays = cells, _NO_POINTERS, _NO_INDICES, _NO_VALUES, False, h, h, *none
        fold_in(*arrays, start, GAP, MAX_STEPS, v, left)
        W[rows], gap[rows] = v * L[:, None] / b, left

    workers.map(one, _alike(ones))
    return Solution(W, gap)


def _smoothed_rows(ones: Ones, H: np.ndarray, blank: np.ndarray, smoothing: float, workers: Workers) -> Solution:
    """The same with pseudo-counts, of which the average row `blank` has as many as the others."""
    N, K = len(ones.per_row), len(H)
    W, gap, Ht = np.empty((N, K)), np.empty(N), kernel_array(H.T)
    start = kernel_array(np.maximum(blank, NOTHING))

    def one(rows: slice) -> None:
        seen = np.tile(H.sum(axis=1), (rows.stop - rows.start, 1))
        if ones.missing is not None:
            # One by one: the rounding of a product of matrices would depend on the rows that come together.
            for place, i in enumerate(range(rows.start, rows.stop)):
                seen[place] -= H[:, ones.hidden(i)].sum(axis=1)
        rate = kernel_array(np.maximum(seen, 0.0) + smoothing / start)
        indptr = ones.indptr[rows.start : rows.stop + 1]
        smoothed_rows(indptr, ones.indices, Ht, rate, smoothing, start, GAP, MAX_STEPS, W[rows], gap[rows])

    workers.map(one, [slice(first, min(first + BLOCK_ROWS, N)) for first in range(0, N, BLOCK_ROWS)])
    return Solution(W, gap)


def _alike(ones: Ones) -> Iterator[list[int]]:
    """Blocks of rows that have ones and miss the same cells."""
    groups: dict[bytes, list[int]] = {}
    for i in map(int, np.flatnonzero(ones.per_row)):
        groups.setdefault(ones.hidden(i).tobytes(), []).append(i)
    for rows in groups.values():
        for first in range(0, len(rows), BLOCK_ROWS):
            yield rows[first : first + BLOCK_ROWS]


def chance_of_one(W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """1 - (1 - p(j|i))^L_i, the probability that at least one of a row's L_i ones falls on a column (AB paper, eq. 28).

    The paper's p(t|n) and L_n; L_i is the sum of W_i, and p(j|i) = (W H)_ij / L_i.
    """
    return -np.expm1(_log_chance_of_zero(W, H))


def log_chances(W: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log P(1) and log P(0) of the cells, by the same equation; as low as -690, never infinite."""
    log_q = _log_chance_of_zero(W, H)
    return np.log(np.maximum(-np.expm1(log_q), 1e-300)), log_q


def _log_chance_of_zero(W: np.ndarray, H: np.ndarray) -> np.ndarray:
    L = np.maximum(W.sum(axis=1, keepdims=True), 0.0)
    p = np.divide(W @ H, L, out=np.zeros((len(W), H.shape[1])), where=L > 0)
    # p is kept below 1, where a zero is impossible: logarithms stay finite.
    return np.maximum(L * np.log1p(-np.clip(p, 0.0, 1 - 1e-16)), np.log(1e-300))


# ---- the estimator -----------------------------------------------------------------------------------------------


class _Kept(NamedTuple):
    """H, in the order of the components' share of the ones, and the average W of the rows that have ones."""

    H: np.ndarray
    average: np.ndarray


class PLSA(ClimbingFactorModel):
    """Probabilistic latent semantic analysis: the aspect model of the ones, in which zeros are not explained.

    Each of the L ones of a row is drawn on a column with probabilities ``weights_ @ components_``. The probability of a
    1 in cell ij is that at least one of the L falls there, ``1 - (1 - (weights_ @ components_)[i, j]) ** L``. Zeros
    have no cause of their own, so there are no noise components: a baseline for `AspectBernoulli`. Passes visit only
    the ones. Fitted by accelerated EM with several restarts, by a likelihood that is slightly smoothed; with
    ``smoothing=0`` by maximum likelihood, as published.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components.
    smoothing : float, default=0.7
        Pseudo-counts: how many ones each row has had of every component, in the proportions of the average row, and how
        many cells of every column each component has seen, as often 1 as the column is. Likelihood alone is too sure of
        rows with few ones, and often predicts held-out cells worse than the frequencies of the columns. 0 is maximum
        likelihood, the published model.
    n_init : int, default=10
        Number of restarts; the best is kept.
    max_iter : int, default=3000
        Largest number of passes over the ones per restart. They come in rounds of three, and a round is always
        finished.
    tol : float, default=1e-6
        A restart has converged when three passes raise the objective by less than this per observed cell.
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
        Distribution of each component's ones over the columns; each row sums to 1. By falling share of the ones.
    weights_ : ndarray of shape (n_rows, n_components)
        Proportions of the components in the training rows; each row sums to 1. Rows without ones get the average.
    weights_gap_ : float
        Certificate of `weights_`: no row can gain more than this log-likelihood per one by other weights.
    row_intensity_ : ndarray of shape (n_rows,)
        L: the number of ones of each training row or, if it has missing cells, the number expected in the whole row. A
        row without observed cells gets the average of those that have ones. With `smoothing` a row that has few is
        taken to have had more, and one that has many fewer.
    smoothing_ : float
        The `smoothing` of the fit.
    objective_ : float
        The Poisson log-likelihood of the best restart (for complete data the multinomial one plus a constant), with
        what the pseudo-counts add to it.
        (`log_likelihood`, `aic` and `bic` are those of the cells, for comparison with other models.)
    objective_history_ : ndarray of shape (n_iter_,)
        The best restart's objective after each pass; it never falls, except by rounding.
    restarts_ : DataFrame
        One line per restart: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The objective after each pass of every restart, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every restart, in the order of `restarts_`.
    n_iter_ : int
        Passes over the ones made by the best restart.
    converged_ : bool
        Whether the best restart converged; False if it was stopped by `max_iter` or interrupted.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: `sample_weight`, or all 1.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    References
    ----------
    Hofmann, Unsupervised learning by probabilistic latent semantic analysis. Reconstruction: eq. 28 of Bingham, Kaban
    and Fortelius, The aspect Bernoulli model: multiple causes of presences and absences.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import PLSA
    >>> X = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]])
    >>> model = PLSA(2, smoothing=0, n_init=5, random_state=0).fit(X)
    >>> model.transform([[0, 1, 1, 0, 0, 0]]).round(2).max().item()
    1.0
    >>> model.row_intensity_.round(6).tolist()
    [3.0, 2.0, 3.0, 2.0]
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        smoothing: float = 0.7,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-6,
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

    # ---- fitting: internally, the coordinates of a row are proportions times intensity -------------------------------

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> PoissonEM:
        return PoissonEM(data, row_weight, self.n_components, workers, self.smoothing)

    def _keep(self, state: State, row_weight: np.ndarray) -> _Kept:
        total = row_weight @ state.W
        order = np.argsort(-total, kind="stable")
        n_rows = row_weight[state.W.sum(axis=1) > 0].sum()
        return _Kept(state.H[order], total[order] / n_rows if n_rows > 0 else total)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.components_ = best.kept.H
        self.restart_components_ = [run.kept.H for run in runs]
        self._average = best.kept.average
        self.smoothing_ = float(self.smoothing)

    def _row_solver(self) -> RowSolver:
        smoothing = vars(self).get("smoothing_", 0.0)  # models stored by earlier versions have none
        return partial(solve_rows, H=self.components_, blank=self._average, smoothing=smoothing)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return chance_of_one(W, self.components_)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return log_chances(W, self.components_)

    def _n_parameters(self, n_rows: int) -> int:
        """K for each row, not K - 1: its intensity is fitted too, and the cells' probabilities depend on it."""
        K, D = self.components_.shape
        return K * (D - 1) + K * n_rows

    def _adopt_coordinates(self, coordinates: np.ndarray) -> None:
        self.row_intensity_ = coordinates.sum(axis=1)

    def _as_weights(self, coordinates: np.ndarray) -> np.ndarray:
        """Rows scaled to sum 1; those without ones get the average."""
        W = np.where(coordinates.sum(axis=1, keepdims=True) > 0, coordinates, self._average)
        W = np.where(W.sum(axis=1, keepdims=True) > 0, W, 1.0)  # no training row has a one
        return W / W.sum(axis=1, keepdims=True)

    @property
    def _training_coordinates(self) -> np.ndarray:
        return self.weights_ * self.row_intensity_[:, None]

    # ---- rows and cells ------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Proportions of the components in rows, the components fixed.

        Each row is solved for separately, so the result does not depend on the other rows, and for the training rows it
        is `weights_`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Proportions; each row sums to 1. Rows without ones get the average of the training rows.
        """
        return super().transform(X)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of a 1 for given proportions of the components.

        Proportions do not determine the number of ones of a row: every row is taken to have as many as the average
        training row that has any. `reconstruct` uses the number of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)
            Proportions, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
        check_is_fitted(self)
        return super().inverse_transform(np.asarray(X, dtype=float) * self._average.sum())
