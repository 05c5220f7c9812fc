"""Answers don't depend, to the last bit, on where arrays lie: beside others, a loop may take another path."""

import numpy as np
import pytest

from latentbits.kernels.aspect_pass import aspect_pass
from latentbits.kernels.em_passes import ones_pass
from latentbits.kernels.logistic_rows import logistic_bound
from latentbits.kernels.tanh_rows import tanh_bound, tanh_rows

TRIALS = 300
NO_POINTERS, NO_INDICES, NO_VALUES = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8)


def placed(rng, arrays):
    """Copies of the arrays, one after the other in one piece of memory, in any order and at most 8 numbers apart."""
    kind = arrays[0].dtype
    memory = np.full(sum(array.size for array in arrays) + 8 * len(arrays), np.nan, kind)
    copies, at = [None] * len(arrays), 0
    for place in rng.permutation(len(arrays)):
        at += int(rng.integers(9))
        copies[place] = memory[at : at + arrays[place].size].reshape(arrays[place].shape)
        copies[place][:] = arrays[place]
        at += arrays[place].size
    return copies


def run_aspect_pass(rng, cells, kind):
    (N, D), K = cells.shape, 3
    H = rng.uniform(0.1, 0.9, (K, D))
    given = [np.full((N, K), 1 / K), H, 1 - H, np.ones(N)]
    work = [np.zeros((N, K)), np.zeros((K, D)), np.zeros((K, D)), np.zeros(N)]

    def run():
        results = placed(rng, work)
        arrays = placed(rng, [array.astype(kind) for array in given])
        aspect_pass(cells, NO_POINTERS, NO_INDICES, NO_VALUES, False, *arrays, *results)
        return results

    return run


def run_ones_pass(rng, cells):
    (N, D), K = cells.shape, 3
    rows, columns = np.nonzero(cells == 1)
    indptr, indices = np.searchsorted(rows, np.arange(N + 1)), columns.astype(np.int32)
    given = [rng.random((N, K)), rng.random((D, K)), np.ones(N), np.zeros((N, K)), np.zeros((D, K)), np.zeros(N)]

    def run():
        arrays = placed(rng, given)
        ones_pass(indptr, indices, *arrays)
        return arrays[3:]

    return run


def run_bound(rng, cells, kernel, given):
    N, D = cells.shape
    given = [*given, np.zeros(N), *(np.zeros((N, D)) for _ in range(4 - len(given)))]

    def run():
        u, *others = placed(rng, given)
        kernel(u, cells, *others)
        return others

    return run


def run_tanh_rows(rng, cells):
    (N, D), K = cells.shape, 3
    given = [rng.random((K, D)), np.zeros((N, K)), np.zeros(N)]

    def run():
        H, W, gap = placed(rng, given)
        tanh_rows(cells, H, np.ones(K), 0.7, np.ones(K), 10.0, 1e-12, 100, W, gap)
        return W, gap

    return run


CASES = {
    "aspect_pass": lambda rng, cells: run_aspect_pass(rng, cells, np.float64),
    "aspect_pass-float32": lambda rng, cells: run_aspect_pass(rng, cells, np.float32),
    "ones_pass": run_ones_pass,
    "tanh_bound": lambda rng, cells: run_bound(rng, cells, tanh_bound, [rng.random(cells.shape)]),
    "tanh_rows": run_tanh_rows,
    "logistic_bound": lambda rng, cells: run_bound(
        rng, cells, logistic_bound, [rng.normal(size=cells.shape), rng.normal(size=cells.shape[1])]
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(2, 12), (5, 40), (1, 7)])
def test_the_last_bit_does_not_depend_on_where_arrays_lie(name, shape):
    rng = np.random.default_rng(0)
    run = CASES[name](rng, rng.integers(-1, 2, shape).astype(np.int8))
    found = {b"".join(array.tobytes() for array in run()) for _ in range(TRIALS)}
    assert len(found) == 1
