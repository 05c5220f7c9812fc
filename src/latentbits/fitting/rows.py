"""Where rows are worked on: chunks of a table with what a state knows of each row, on threads here or on a cluster.

A learner that touches rows only through `Rows` doesn't know where they are. Work on a chunk is a function of a module,
so that it can be sent to where the rows are; what it returns are sums, which are added in the order of the chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks
from latentbits.data.encoding import new_array
from latentbits.fitting.climb import RowsLost, parabola, squared_moves
from latentbits.fitting.workers import Workers

State = TypeVar("State", bound=tuple[Any, ...])
Sums = tuple[Any, ...]
"""What chunks add up to: arrays and floats."""

CHUNK_WORK = 2_000_000  # cells x components of a chunk of rows: about half a millisecond
MAX_CHUNKS = 16  # each chunk has its own sums of K x D
MOST_SUMS = 1 << 26  # numbers in the sums of all chunks together: half a gigabyte
GROUP = 256  # rows that kernels add up before they add to a chunk's sums: a chunk may be cut between two groups
BLOCK_CELLS = 1 << 22  # cells that are unpacked at a time


class Chunk(NamedTuple):
    """Consecutive rows of a table, and the weight of each."""

    data: BinaryData
    rows: slice
    row_weight: np.ndarray

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Rows that may be unpacked at a time: their place in the chunk, and in the table.

        A kernel's sums are the same, to the last bit, for a chunk and for its blocks one after the other.
        """
        n, n_columns = len(self), self.data.shape[1]
        step = max(GROUP, BLOCK_CELLS // n_columns // GROUP * GROUP) if self.data.packed is not None else n
        for start in range(0, n, max(step, 1)):
            stop = min(start + step, n)
            yield slice(start, stop), slice(self.rows.start + start, self.rows.start + stop)


class Rows(ABC):
    """The rows of a table in chunks that depend on its shape alone.

    What a state knows of rows is an array with a line for each row, or what stands for one: it is made by `update` or
    `placed`, and only these methods look into it.
    """

    shape: tuple[int, int]
    row_weight: np.ndarray
    may_be_lost = False
    """Whether any of these may end with `RowsLost`."""

    @abstractmethod
    def update(self, work: Callable[..., Sums], width: int, arrays: Sequence[Any], *shared: Any) -> tuple[Any, Sums]:
        """work(chunk, new, *arrays of the chunk, *shared) fills `new` (rows x width): the new array, and all sums."""

    @abstractmethod
    def total(self, work: Callable[..., Sums], arrays: Sequence[Any], *shared: Any) -> Sums:
        """The sums of work(chunk, *arrays of the chunk, *shared)."""

    def found(self, work: Callable[..., Sums], width: int, arrays: Sequence[Any], *shared: Any) -> np.ndarray:
        """What `update` makes of rows, here; work that depends on no state is simply done again if rows are lost."""
        while True:
            try:
                return self.whole(self.update(work, width, arrays, *shared)[0])
            except RowsLost:
                continue

    @abstractmethod
    def whole(self, array: Any) -> np.ndarray:
        """An array of rows as a NumPy array."""

    @abstractmethod
    def placed(self, array: np.ndarray) -> Any:
        """A NumPy array as an array of rows, where these are."""


class ThreadRows(Rows):
    """Rows of this process: its arrays are NumPy's, and chunks are worked on by threads."""

    def __init__(self, data: BinaryData, row_weight: np.ndarray, chunks: Sequence[slice], workers: Workers) -> None:
        self.data, self.row_weight, self.shape = data, row_weight, data.shape
        self._chunks, self._workers = chunks, workers

    def update(self, work: Callable[..., Sums], width: int, arrays: Sequence[Any], *shared: Any) -> tuple[Any, Sums]:
        new = new_array((self.shape[0], width))
        return new, added(self.parts(work, [new, *arrays], shared))

    def total(self, work: Callable[..., Sums], arrays: Sequence[Any], *shared: Any) -> Sums:
        return added(self.parts(work, arrays, shared))

    def parts(self, work: Callable[..., Sums], arrays: Sequence[np.ndarray], shared: Sequence[Any]) -> list[Sums]:
        """The sums of each chunk."""

        def one(rows: slice) -> Sums:
            chunk = Chunk(self.data, rows, self.row_weight[rows])
            return work(chunk, *(array[rows] for array in arrays), *shared)

        return self._workers.map(one, self._chunks)

    def whole(self, array: Any) -> np.ndarray:
        return array

    def placed(self, array: np.ndarray) -> Any:
        return array


def is_dask_array(X: Any) -> bool:
    """Whether X is one, without importing Dask."""
    return type(X).__module__.startswith("dask.array")


def active_client() -> Any:
    """The Dask client in whose context this is called; None if there is none."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:  # Dask's way to say that there is none
        return None


def rows_of(data: Any, row_weight: np.ndarray, n_components: int, workers: Workers, n_sums: int = 0) -> Rows:
    """The rows of a table: on threads, unless the data themselves are elsewhere and say how to be worked on.

    Parameters
    ----------
    data : BinaryData, or data on a cluster
    row_weight : ndarray of shape (N,)
    n_components : int
        What a cell costs, which decides about the number of chunks.
    workers : Workers
    n_sums : int, default=0
        How many sums there are of each column.

    Returns
    -------
    Rows
    """
    n_rows, n_columns = data.shape
    chunks = chunks_of(n_rows, n_columns, n_components, n_sums)
    if isinstance(data, BinaryData):
        return ThreadRows(data, row_weight, chunks, workers)
    elsewhere: Rows = data.as_rows(row_weight, chunks)
    return elsewhere


def chunks_of(n_rows: int, n_columns: int, n_components: int, n_sums: int = 0) -> list[slice]:
    """Consecutive rows that are worked on together: by the shape of the problem alone, so that sums are too."""
    most = min(MAX_CHUNKS, n_rows, MOST_SUMS // max(1, n_columns * n_sums))
    n = int(np.clip(n_rows * n_columns * n_components // CHUNK_WORK, 1, max(1, most)))
    edges = [n_rows * c // n for c in range(n + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def column_counts(chunk: Chunk) -> Sums:
    """The ones and the observed cells of each column, rows weighted: work for `total`."""
    part = chunk.data.without_names().rows(chunk.rows)
    return part.ones_per_column(chunk.row_weight), part.observed_per_column(chunk.row_weight)


def added(parts: Sequence[Sums]) -> Sums:
    """The sums of all chunks, added in their order."""
    return reduce(lambda total, part: tuple(a + b for a, b in zip(total, part, strict=True)), parts)


class PlacedLearner(ABC, Generic[State]):
    """Base class of learners whose state begins with an array of rows, wherever these are; other arrays are small."""

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """Where rows are worked on."""

    @property
    def may_lose_rows(self) -> bool:
        """As `Learner` says."""
        return self.rows.may_be_lost

    def stored(self, state: State) -> State:
        """The state as NumPy arrays of this process."""
        return type(state)(self.rows.whole(state[0]), *state[1:])

    def restored(self, state: State) -> State:
        """The state of such arrays, rows where they are worked on."""
        return type(state)(self.rows.placed(state[0]), *state[1:])


class RowLearner(PlacedLearner[State]):
    """Base class of those whose arrays may all be extrapolated."""

    @abstractmethod
    def _project_rows(self) -> tuple[Any, ...]:
        """A function of a module that brings an array of rows back into its domain, in place, and its arguments."""

    @abstractmethod
    def _project_rest(self, state: State) -> State:
        """The state with its other arrays back in their domain."""

    def squared_moves(self, points: Sequence[State]) -> tuple[float, float]:
        """As `Learner` says; a row of weight 2 counts like two rows."""
        of_rows = self.rows.total(_squares, [point[0] for point in points])
        rest = squared_moves([point[1:] for point in points], (1.0,) * (len(points[0]) - 1))
        return of_rows[0] + rest[0], of_rows[1] + rest[1]

    def extrapolate(self, points: Sequence[State], length: float) -> State:
        """As `Learner` says."""
        firsts = [point[0] for point in points]
        width = len(points[0][1])
        moved, _ = self.rows.update(_extrapolated, width, firsts, length, *self._project_rows())
        rest = (parabola(arrays, length) for arrays in zip(*(point[1:] for point in points), strict=True))
        return self._project_rest(type(points[0])(moved, *rest))


def _squares(chunk: Chunk, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Sums:
    return squared_moves([(a,), (b,), (c,)], (chunk.row_weight[:, None],))


def _extrapolated(
    chunk: Chunk, new: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, length: float, project: Any, *args: Any
) -> Sums:
    new[:] = parabola([a, b, c], length)
    project(new, *args)
    return ()


MAX_GROUPS = 8
"""Number of groups of row blocks, each with sums of its own: a constant, so that sums don't depend on the threads."""

LogProbabilities = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Coordinates of rows (n x K) -> log P(1) and log P(0) of their cells (n x D)."""


def indicator_blocks(data: BinaryData) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Row blocks with float indicators of the ones and of the zeros."""
    for rows in row_blocks(*data.shape):
        block = data.block(rows)
        yield rows, (block == 1).astype(float), ((block != 1) & (block != MISSING)).astype(float)


def log_likelihood(data: BinaryData, W: np.ndarray, log_probabilities: LogProbabilities) -> float:
    """sum over observed cells of log P(x_ij), row i having the coordinates W_i."""
    total = 0.0
    for rows, ones, zeros in indicator_blocks(data):
        log_p, log_q = log_probabilities(W[rows])
        total += float(np.vdot(ones, log_p) + np.vdot(zeros, log_q))
    return total


def empirical_bayes(
    data: BinaryData, W: np.ndarray, log_probabilities: LogProbabilities, prior: np.ndarray
) -> np.ndarray:
    """log sum_n prior_n p(x_i | W_n) for each row x_i (AB paper, eq. 22 and 24), W_n that of training row n."""
    total = np.full(data.shape[0], -np.inf)
    log_prior = np.log(np.maximum(prior, 1e-300))  # a training row may have weight 0
    for rows, ones, zeros in indicator_blocks(data):
        # Blocks of training rows too: a table of all pairs of rows could exceed the memory.
        for trained in row_blocks(len(W), data.shape[1]):
            log_p, log_q = log_probabilities(W[trained])
            joint = ones @ log_p.T + zeros @ log_q.T + log_prior[trained]
            total[rows] = np.logaddexp(total[rows], logsumexp(joint, axis=1))
    return total


def safe_log(probability: np.ndarray) -> np.ndarray:
    """The logarithm, finite also for 0 and never above 0."""
    return np.log(np.clip(probability, 1e-300, 1.0))


def row_products(data: BinaryData, ones: np.ndarray, zeros: np.ndarray, workers: Workers) -> np.ndarray:
    """For each row the sum of `ones` (K x D) over its ones and of `zeros` over its zeros: N x K."""
    out = np.empty((data.shape[0], len(ones)))
    # Every cell is first counted as 0, then ones and missing cells are corrected: sparse data visit only their ones.
    difference, all_zeros = (ones - zeros).T, zeros.sum(axis=1)

    def one(rows: slice) -> None:
        out[rows] = _where(data, rows, 1) @ difference + all_zeros
        if data.has_missing:
            out[rows] -= _where(data, rows, MISSING) @ zeros.T

    workers.map(one, _parts(data))
    return out


def column_products(data: BinaryData, R: np.ndarray, workers: Workers) -> tuple[np.ndarray, np.ndarray]:
    """The sums of R (N x K) over the ones and over the observed cells of each column: both K x D."""

    def one(rows: slice) -> tuple[np.ndarray, np.ndarray | float]:
        missing = _where(data, rows, MISSING).T @ R[rows] if data.has_missing else 0.0
        return _where(data, rows, 1).T @ R[rows], missing

    ones, missing = np.zeros((data.shape[1], R.shape[1])), np.zeros((data.shape[1], R.shape[1]))
    for part, unseen in workers.map(one, _parts(data)):  # added in order: the result doesn't depend on the threads
        ones += part
        missing += unseen
    return ones.T, R.sum(axis=0)[:, None] - missing.T


def _parts(data: BinaryData) -> list[slice]:
    """Row blocks; of sparse data, where a block costs little, fewer and longer ones."""
    n_rows, n_columns = data.shape
    if data.sparse is None:
        return list(row_blocks(n_rows, n_columns))
    return list(row_blocks(n_rows, max(1, data.sparse.nnz // max(1, n_rows))))


def _where(data: BinaryData, rows: slice, code: int) -> np.ndarray | sp.csr_array:
    """The float indicator of one value in these rows; of sparse data a sparse one."""
    if data.sparse is None:
        return (data.block(rows) == code).astype(float)
    csr = data.sparse
    first, last = csr.indptr[rows.start], csr.indptr[rows.stop]
    parts = ((csr.data[first:last] == code).astype(float), csr.indices[first:last])
    pointers = (csr.indptr[rows.start : rows.stop + 1] - first).astype(np.int32)
    return sp.csr_array((*parts, pointers), shape=(rows.stop - rows.start, data.shape[1]))


def block_groups(n_rows: int, n_columns: int) -> list[list[slice]]:
    """Row blocks in groups, one per thread task: by the shape alone, so that sums don't depend on the threads."""
    blocks = list(row_blocks(n_rows, n_columns))
    n = min(MAX_GROUPS, len(blocks))
    return [blocks[start::n] for start in range(n)]
