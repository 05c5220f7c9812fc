"""Rows on a Dask cluster: a shard of the table on each worker, with what a state knows of its rows.

Components go out and sums come back; rows and their weights stay. The shards are made of whole chunks, whose sums are
added in the order of the rows, so the answer is the same to the last bit on any number of workers, and as on threads.
A worker that dies takes its shard with it: all shards are then placed anew, and the climb goes back to its last
position (`RowsLost`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from itertools import cycle, pairwise
from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.data.encoding import encoded_block, stacked
from latentbits.errors import DataError
from latentbits.fitting.climb import RowsLost
from latentbits.fitting.rows import Rows, Sums, ThreadRows, added, column_counts
from latentbits.fitting.workers import Workers, one_blas_thread

PATIENCE = 10.0
"""Seconds to wait for a worker that died to be started again, before its rows are given to the others."""

MOST_LOSSES, WAIT_FOR_COUNTS = 20, 5.0
"""How often data are placed before a cluster is given up, and seconds after which its workers are looked for."""

WAIT_FOR_ANY = 300.0
"""Seconds to wait for a worker if there is none left."""


class ClusterData:
    """A table on the workers of a cluster, in blocks of rows; it has what fits need to know.

    Make one with `of_array` (a Dask array, whose blocks never come here) or `of_data` (a table of this process).

    Parameters
    ----------
    client : distributed.Client
    make_blocks : callable
        Makes futures of consecutive blocks of rows (`BinaryData`); again after a worker is gone.
    column_names : list of str or None
    reading : dict or None
        How the file was read, if there was one.
    fingerprint : str or None
        Of the table, if it is known; otherwise made from those of the blocks.
    """

    row_names = None

    def __init__(
        self,
        client: Any,
        make_blocks: Callable[[], list[Any]],
        column_names: list[str] | None = None,
        reading: dict[str, Any] | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.client, self.make_blocks = client, make_blocks
        self.column_names, self.reading = column_names, reading
        self._blocks = make_blocks()
        counts = self._counted()
        self._edges = np.cumsum([0, *(len(count.ones_per_row) for count in counts)])
        self.shape = int(self._edges[-1]), counts[0].n_columns
        self._ones_per_row = np.concatenate([count.ones_per_row for count in counts])
        self._observed_per_row = np.concatenate([count.observed_per_row for count in counts])
        parts = [str(self.shape), *(count.fingerprint for count in counts)]
        self._fingerprint = fingerprint or hashlib.sha256("".join(parts).encode()).hexdigest()[:16]
        stored = [count.n_stored for count in counts if count.n_stored is not None]
        self.n_stored = sum(stored) if len(stored) == len(counts) else None
        self._rows: tuple[Any, ClusterRows] | None = None

    def _counted(self) -> list[_Count]:
        from distributed import wait

        for _ in range(MOST_LOSSES):
            counts = self.client.map(_count, self._blocks, pure=False)
            try:
                while True:
                    try:
                        with self.client.as_current():
                            wait(counts, timeout=WAIT_FOR_COUNTS)
                        break
                    except TimeoutError:
                        _addresses(self.client)  # which ends it if there has been no worker for long
                found: list[_Count] = self.client.gather(counts)
                return found
            except CancelledError:  # blocks that were sent to a worker are gone with it
                self.place_anew()
        raise DataError("workers of the cluster die before the data are there; look at their logs, and fit again")

    @classmethod
    def of_array(cls, X: Any, client: Any, *, binarize: float | None = None) -> ClusterData:
        """The blocks of a Dask array, validated where they are.

        Parameters
        ----------
        X : dask.array.Array
            N x D, of 0, 1 and missing (NaN).
        client : distributed.Client
        binarize : float, optional
            As in `BinaryData.of`.

        Returns
        -------
        ClusterData
        """
        if X.ndim != 2 or 0 in X.shape:
            raise DataError(f"a Dask array of the shape {X.shape} is no table; give one with rows and columns")
        from dask import delayed

        parts = X.rechunk({1: -1}).to_delayed().ravel()
        firsts = np.cumsum([0, *X.chunks[0][:-1]]).tolist()
        encoded = [delayed(_encoded)(part, first, binarize) for part, first in zip(parts, firsts, strict=True)]
        futures: list[Any] = client.compute(encoded)  # if one is lost with its worker, Dask computes it again
        return cls(client, lambda: futures)

    @classmethod
    def of_data(cls, data: BinaryData, client: Any) -> ClusterData:
        """A table of this process, sent to the workers as bits (or sparse), and once more if one of them dies.

        Parameters
        ----------
        data : BinaryData
        client : distributed.Client

        Returns
        -------
        ClusterData
        """
        plain = data.without_names()
        plain = plain if plain.is_sparse else plain.to_packed()
        n = max(1, min(len(_addresses(client)), data.shape[0]))
        edges = [data.shape[0] * part // n for part in range(n + 1)]

        def make_blocks() -> list[Any]:
            futures: list[Any] = client.scatter([plain.rows(slice(a, b)) for a, b in pairwise(edges)], hash=False)
            return futures

        return cls(client, make_blocks, data.column_names, data.reading, data.fingerprint())

    # ---- what fits ask of a table --------------------------------------------------------------------------------

    @property
    def n_ones(self) -> int:
        """Number of ones."""
        return int(self._ones_per_row.sum())

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        return int(self._observed_per_row.sum())

    def ones_per_row(self) -> np.ndarray:
        """Count the ones in each row."""
        return self._ones_per_row

    def observed_per_row(self) -> np.ndarray:
        """Count the cells in each row that are not missing."""
        return self._observed_per_row

    def ones_per_column(self, row_weight: np.ndarray | None = None) -> np.ndarray:
        """Count the ones in each column."""
        return self._per_column(row_weight)[0]

    def observed_per_column(self, row_weight: np.ndarray | None = None) -> np.ndarray:
        """Count the cells in each column that are not missing."""
        return self._per_column(row_weight)[1]

    def fingerprint(self) -> str:
        """Identify shape and cells."""
        return self._fingerprint

    def _per_column(self, row_weight: np.ndarray | None) -> Sums:
        weight = np.ones(self.shape[0]) if row_weight is None else row_weight
        rows = self.as_rows(weight, [slice(a, b) for a, b in pairwise(self._edges.tolist())])
        while True:
            try:
                return rows.total(column_counts, ())
            except RowsLost:
                continue

    def as_rows(self, row_weight: np.ndarray, chunks: Sequence[slice]) -> ClusterRows:
        """The rows in these chunks; the latest are kept, as one question usually follows another.

        Parameters
        ----------
        row_weight : ndarray of shape (N,)
        chunks : sequence of slice

        Returns
        -------
        ClusterRows
        """
        key = [(rows.start, rows.stop) for rows in chunks], row_weight.tobytes()
        if self._rows is None or self._rows[0] != key:
            self._rows = key, ClusterRows(self, row_weight, chunks)
        return self._rows[1]

    def blocks_of(self, rows: slice) -> tuple[list[Any], slice]:
        """The blocks in which these rows are, and their place in them."""
        first = int(np.searchsorted(self._edges, rows.start, side="right")) - 1
        last = int(np.searchsorted(self._edges, rows.stop, side="left"))
        start = int(self._edges[first])
        return self._blocks[first:last], slice(rows.start - start, rows.stop - start)

    def place_anew(self) -> None:
        """After a worker is gone: its blocks are made again."""
        self._blocks = self.make_blocks()


class _Count(NamedTuple):
    ones_per_row: np.ndarray
    observed_per_row: np.ndarray
    n_columns: int
    n_stored: int | None
    fingerprint: str


def _count(block: BinaryData) -> _Count:
    by_row = block.ones_per_row(), block.observed_per_row()
    return _Count(*by_row, block.shape[1], block.n_stored, block.fingerprint())


def _encoded(array: Any, first: int, binarize: float | None) -> BinaryData:
    block = encoded_block(array, first, BinaryData.of, binarize)
    return block if block.is_sparse else block.to_packed()


# ---- shards ------------------------------------------------------------------------------------------------


class RowHandle:
    """Stands for an array of rows that is on the workers; they forget it when it is no longer used here."""

    def __init__(self, number: int, forget: Callable[[int], None]) -> None:
        self.number, self._forget = number, forget

    def __del__(self) -> None:
        self._forget(self.number)


class Failed(NamedTuple):
    """An error of the work itself, which is no loss of the worker."""

    error: Exception


class Shard:
    """Consecutive chunks on one worker, and arrays of their rows by number. Lives there as an actor."""

    def __init__(
        self, blocks: Sequence[BinaryData], rows: slice, chunks: Sequence[slice], row_weight: np.ndarray
    ) -> None:
        from distributed import get_worker

        n_threads = get_worker().state.nthreads
        self.rows = ThreadRows(stacked(blocks).rows(rows), np.array(row_weight), chunks, Workers(n_threads))
        self.arrays: dict[int, np.ndarray] = {}

    def parts(
        self, work: Callable[..., Sums], new: int | None, width: int, numbers: Sequence[int], *shared: Any
    ) -> list[Sums] | Failed:
        """The sums of each chunk; with `new`, what the work has made is kept under that number."""
        try:
            arrays = [self.arrays[number] for number in numbers]
            if new is not None:
                self.arrays[new] = np.empty((self.rows.shape[0], width))
                arrays.insert(0, self.arrays[new])
            # Arrays come here unaligned, of which NumPy makes sums in another order: so they are copied. BLAS' threads
            # would add up in another order too.
            own = [np.array(part) if isinstance(part, np.ndarray) else part for part in shared]
            with one_blas_thread():
                return self.rows.parts(work, arrays, own)
        except Exception as error:
            return Failed(error)

    def put(self, number: int, array: np.ndarray) -> None:
        """Keep an array under a number."""
        self.arrays[number] = np.array(array)

    def get(self, number: int) -> np.ndarray:
        """The array of that number."""
        return self.arrays[number]

    def forget(self, numbers: Sequence[int]) -> int:
        """Drop arrays that are no longer used; the number of those left."""
        for number in numbers:
            self.arrays.pop(number, None)
        return len(self.arrays)


class ClusterRows(Rows):
    """Rows on a cluster; see `Rows`."""

    may_be_lost = True

    def __init__(self, data: ClusterData, row_weight: np.ndarray, chunks: Sequence[slice]) -> None:
        self.data, self.row_weight, self.shape = data, row_weight, data.shape
        self._chunks, self._client = list(chunks), data.client
        self._last_number = 0
        self._unused: list[int] = []
        self._shards: list[Any] = []
        self._addresses: list[str] = []
        self._n_workers = 0

    def update(self, work: Callable[..., Sums], width: int, arrays: Sequence[Any], *shared: Any) -> tuple[Any, Sums]:
        new = self._handle()
        return new, self._sums(work, new.number, width, arrays, shared)

    def total(self, work: Callable[..., Sums], arrays: Sequence[Any], *shared: Any) -> Sums:
        return self._sums(work, None, 0, arrays, shared)

    def whole(self, array: Any) -> np.ndarray:
        return np.concatenate(self._all("get", array.number))

    def placed(self, array: np.ndarray) -> Any:
        self._place()
        new = self._handle()
        self._call([("put", new.number, array[rows]) for rows in self._ranges])
        return new

    def _sums(
        self, work: Callable[..., Sums], new: int | None, width: int, arrays: Sequence[Any], shared: Sequence[Any]
    ) -> Sums:
        numbers = [array.number for array in arrays]
        found = self._all("parts", work, new, width, numbers, *shared)
        for parts in found:
            if isinstance(parts, Failed):
                raise parts.error
        return added([part for parts in found for part in parts])

    def _handle(self) -> RowHandle:
        self._last_number += 1
        return RowHandle(self._last_number, self._unused.append)

    # ---- calls, and losses ---------------------------------------------------------------------------------------

    def _all(self, method: str, *args: Any) -> list[Any]:
        """The same call on every shard: their answers, in the order of the rows."""
        self._place()
        return self._call([(method, *args)] * len(self._shards))

    def _call(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        unused, self._unused[:] = list(self._unused), []
        try:
            if unused:
                calls = [*[("forget", unused)] * len(self._shards), *calls]
            with self._client.as_current():  # actors ask for it, and threads of restarts have another or none
                asked = [getattr(shard, method)(*args) for shard, (method, *args) in zip(cycle(self._shards), calls)]
                return [answer.result() for answer in asked][-len(self._shards) :]
        except Exception as error:
            # Errors of the work come back as `Failed`; what the actor of a lost worker ends with depends on the moment.
            if not self._has_lost_a_worker():
                raise
            self._shards = []
            self.data.place_anew()
            raise RowsLost("a worker is gone") from error

    def _has_lost_a_worker(self) -> bool:
        """Whether one that holds a shard is gone; the scheduler needs a moment to notice."""
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE:
            if not set(self._addresses) <= set(self._client.nthreads()):
                return True
            time.sleep(0.05)
        return False

    def _place(self) -> None:
        """Shards on the workers that there are, of as many chunks each."""
        while not self._shards:
            addresses = _addresses(self._client, at_least=self._n_workers)
            self._n_workers = max(self._n_workers, len(addresses))
            try:
                self._shards = self._new_shards(addresses)
            except _WorkerGone:
                self.data.place_anew()

    def _new_shards(self, addresses: list[str]) -> list[Any]:
        n = min(len(addresses), len(self._chunks))
        self._addresses = addresses[:n]
        edges = [len(self._chunks) * part // n for part in range(n + 1)]
        groups = [self._chunks[a:b] for a, b in pairwise(edges)]
        self._ranges = [slice(group[0].start, group[-1].stop) for group in groups]
        shards = []
        for rows, group, address in zip(self._ranges, groups, self._addresses, strict=True):
            blocks, inside = self.data.blocks_of(rows)
            local = [slice(chunk.start - rows.start, chunk.stop - rows.start) for chunk in group]
            arguments = blocks, inside, local, self.row_weight[rows]
            shards.append(self._client.submit(Shard, *arguments, workers=[address], actor=True, pure=False))
        return [self._made(shard, address) for shard, address in zip(shards, self._addresses, strict=True)]

    def _made(self, shard: Any, address: str) -> Any:
        """The shard, when it is there; a worker that dies meanwhile would be waited for without end."""
        while True:
            try:
                with self._client.as_current():
                    return shard.result(timeout=1.0)
            except TimeoutError:
                if address not in self._client.nthreads():
                    raise _WorkerGone from None
            except DataError:
                raise
            except Exception as error:
                if address in self._client.nthreads() and not isinstance(error, CancelledError):
                    raise
                raise _WorkerGone from None


class _WorkerGone(Exception):
    """A worker died while its shard was made."""


def _addresses(client: Any, at_least: int = 0) -> list[str]:
    """The workers that there are; those that died are waited for a while."""
    begun = time.monotonic()
    while True:
        found = sorted(client.nthreads())
        waited = time.monotonic() - begun
        if len(found) >= max(at_least, 1) or (found and waited > PATIENCE):
            return found
        if waited > WAIT_FOR_ANY:
            raise DataError(f"the cluster has had no worker for {WAIT_FOR_ANY:.0f} seconds; start some, and fit again")
        time.sleep(0.05)
