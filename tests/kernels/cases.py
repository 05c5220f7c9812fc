"""Generated inputs of the kernels, and the kernels' calls with their many arrays."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st

from latentbits.kernels.aspect_pass import aspect_pass
from latentbits.kernels.fold_in import fold_in
from latentbits.models.aspect.statistics import common_zeros

NO_CELLS = np.zeros((0, 0), np.int8)
NO_CSR = (np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8))

# Rows around multiples of 4 and columns around multiples of 32 are where the kernel changes its course.
ROWS = [1, 2, 3, 4, 5, 7, 8, 9]
COLUMNS = [1, 2, 5, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65]


def examples(n):
    return settings(max_examples=n, deadline=None, derandomize=True, database=None)


@dataclass
class Case:
    """cells: N x D int8 with -1 for missing; W, H1, H0: float64; weight: one for each row."""

    cells: np.ndarray
    W: np.ndarray
    H1: np.ndarray
    H0: np.ndarray
    weight: np.ndarray

    @property
    def X(self):
        return np.where(self.cells < 0, np.nan, self.cells)


@st.composite
def cases(draw, missing=True, weighted=True):
    """Small problems of every kind; hypothesis picks shape and kind, a seed fills the arrays."""
    shape = draw(st.sampled_from(ROWS)), draw(st.sampled_from(COLUMNS)), draw(st.integers(1, 9))
    return make_case(
        *shape,
        seed=draw(st.integers(0, 2**32 - 1)),
        density=draw(st.sampled_from([0.0, 0.05, 0.5, 1.0])),
        missing=draw(st.sampled_from([0.0, 0.3, 1.0])) if missing else 0.0,
        edges=draw(st.sampled_from([0.0, 0.2, 1.0])),
        normalised=draw(st.booleans()),
        weighted=weighted,
    )


def make_case(n, D, K, *, seed, density=0.3, missing=0.0, edges=0.0, normalised=True, weighted=True):
    rng = np.random.default_rng(seed)
    cells = (rng.random((n, D)) < density).astype(np.int8)
    cells[rng.random((n, D)) < missing] = -1
    H = rng.random((K, D))
    H[rng.random((K, D)) < edges / 2] = 1e-10
    H[rng.random((K, D)) < edges / 2] = 1 - 1e-10
    W = rng.dirichlet(np.full(K, rng.choice([0.1, 1.0])), size=n)
    shrink = 1.0 if normalised else 0.4  # expectations of logarithms, exponentiated, sum to less than 1
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=n) if weighted else np.ones(n)
    return Case(cells, shrink * W, shrink * H, shrink * (1 - H), weight)


def arrays_of(cells, sparse):
    if not sparse:
        return cells, *NO_CSR, False
    csr = sp.csr_array(cells)
    return NO_CELLS, csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data, True


def kernel_pass(case, sparse=False, kind=np.float32):
    """M, N1, N0, row_log as the kernel has them, in arithmetic of this kind."""
    M, row_log = np.zeros(case.W.shape), np.zeros(len(case.W))
    A1, A0 = np.zeros(case.H1.shape), np.zeros(case.H1.shape)
    numbers = (np.ascontiguousarray(a, kind) for a in (case.W, case.H1, case.H0, case.weight))
    aspect_pass(*arrays_of(case.cells, sparse), *numbers, M, A1, A0, row_log)
    return M, case.H1 * A1, case.H0 * A0, row_log


def kernel_fold_in(cells, H1, H0, sparse=False, tol=1e-6, max_iter=2000, start=None, common=True):
    """Weights, and the certified gap of each row per cell; with the shortcut for common zeros or without."""
    K = len(H1)
    W, gap = np.full((len(cells), K), np.nan), np.full(len(cells), np.nan)
    start = np.full(K, 1 / K) if start is None else start
    zeros = common_zeros(H0 if common else np.zeros_like(H0))
    fold_in(*arrays_of(cells, sparse), H1, H0, *zeros, start, tol, max_iter, W, gap)
    return W, gap
