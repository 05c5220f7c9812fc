"""The fused pass against its slow twin.

How near float32 must come: W and H are rounded once (relative error u = 6e-8), d is a sum of K terms, and
M, N1, N0 are sums of c terms divided by d (c columns for M, rows for N). Nothing is ever subtracted and
nothing is negative, so relative errors only add up: at most (K + c + 6) u. For the cases here K <= 9 and
c <= 65, at most 5e-6, and we allow 1e-5. A logarithm turns the relative error of d, (K + 3) u, into an absolute
one, for each cell. The absolute slack covers weights below what float32 can hold at all.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from latentbits import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.kernels.aspect_pass import aspect_pass
from latentbits.models.aspect.statistics import collect
from tests.kernels.cases import arrays_of, cases, examples, kernel_pass, make_case
from tests.reference import aspect

RELATIVE = 1e-5
UNIT = 6e-8


def assert_agree(found, expected, case, relative=RELATIVE):
    K, D = case.H1.shape
    for name, got, wanted in zip(("M", "N1", "N0"), found, expected, strict=False):
        np.testing.assert_allclose(got, wanted, rtol=relative, atol=1e-25, err_msg=name)
    np.testing.assert_allclose(found[3], expected[3], rtol=1e-12, atol=D * (K + 3) * UNIT, err_msg="row_log")


def twin(case):
    return aspect.run_pass(case.X, case.W, case.H1, case.H0, case.weight)


def numpy_pass(case):
    """The docstring's NumPy equivalent, in float64; for cases too large for the twin."""
    one, zero = case.cells == 1, case.cells == 0
    d = np.where(one, case.W @ case.H1, case.W @ case.H0)
    r1, r0 = one / d, zero / d
    M = case.W * (r1 @ case.H1.T + r0 @ case.H0.T)
    weighted = (case.weight[:, None] * case.W).T
    row_log = np.log(d, where=one | zero, out=np.zeros_like(d)).sum(axis=1)
    return M, case.H1 * (weighted @ r1), case.H0 * (weighted @ r0), row_log


@examples(700)
@given(cases(missing=False, weighted=False))
def test_dense_equals_twin(case):
    assert_agree(kernel_pass(case), twin(case), case)


@examples(700)
@given(cases())
def test_dense_with_missing_cells_and_row_weights_equals_twin(case):
    assert_agree(kernel_pass(case), twin(case), case)


@examples(700)
@given(cases())
def test_sparse_equals_twin(case):
    assert_agree(kernel_pass(case, sparse=True), twin(case), case)


@examples(300)
@given(cases())
def test_in_float64_both_equal_twin_to_its_precision(case):
    for sparse in (False, True):
        for got, wanted in zip(kernel_pass(case, sparse, np.float64), twin(case), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@examples(300)
@given(cases())
def test_sparse_and_dense_are_the_same_to_the_last_bit(case):
    for sparse, dense in zip(kernel_pass(case, sparse=True), kernel_pass(case), strict=True):
        np.testing.assert_array_equal(sparse, dense)


@examples(300)
@given(cases())
def test_every_observed_cell_is_shared_out_whole(case):
    M, N1, N0, _ = kernel_pass(case)
    np.testing.assert_allclose(M.sum(axis=1), (case.cells >= 0).sum(axis=1), rtol=RELATIVE)
    np.testing.assert_allclose(N1.sum(axis=0), case.weight @ (case.cells == 1), rtol=RELATIVE)
    np.testing.assert_allclose(N0.sum(axis=0), case.weight @ (case.cells == 0), rtol=RELATIVE)


# (rows, columns, components): several strips of columns, several blocks of 256 rows, and both.
LARGE = [(6, 13_000, 1), (5, 3_001, 9), (519, 40, 3), (300, 1_400, 20)]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", LARGE)
def test_several_strips_and_blocks_equal_numpy(shape, sparse):
    # Up to 13,000 terms are summed in float32, in at least 8 interleaved sums; errors of random sign grow with
    # the square root of that number, so the tolerance of small cases nearly holds: allow twice.
    case = make_case(*shape, seed=1, missing=0.1, edges=0.05)
    assert_agree(kernel_pass(case, sparse), numpy_pass(case), case, relative=2 * RELATIVE)


def test_numpy_equivalent_is_the_twin():
    case = make_case(7, 9, 3, seed=0, missing=0.2)
    for fast, slow in zip(numpy_pass(case), twin(case), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-12)


def test_pass_adds_to_what_is_there():
    """Chunks of rows may share sums."""
    case = make_case(8, 33, 3, seed=2)
    W, H1, H0, weight = (np.float32(a) for a in (case.W, case.H1, case.H0, case.weight))
    M, A1, A0, row_log = np.zeros((8, 3)), np.zeros((3, 33)), np.zeros((3, 33)), np.zeros(8)
    for rows in (slice(0, 3), slice(3, 8)):
        arrays = arrays_of(case.cells[rows], sparse=False)
        aspect_pass(*arrays, W[rows], H1, H0, weight[rows], M[rows], A1, A0, row_log[rows])
    assert_agree((M, case.H1 * A1, case.H0 * A0, row_log), twin(case), case)


def test_an_impossible_cell_gives_no_nan():
    case = make_case(4, 5, 2, seed=0)
    case.H1[:], case.H0[:] = 0.0, 1.0
    for part in kernel_pass(case):
        assert np.isfinite(part).all()


class TestCollect:
    """The pass over all rows, cut into chunks."""

    # Four chunks, by which the rows can't be divided.
    case = make_case(4001, 400, 6, seed=3, missing=0.05)

    def collect(self, n_threads, sparse=False):
        data = BinaryData.of(self.case.X)
        if sparse:
            data = BinaryData(None, BinaryData.of(_as_sparse(self.case.cells)).sparse)
        with Workers(n_threads) as workers:
            return collect(data, self.case.W, self.case.H1, self.case.H0, self.case.weight, workers)

    def test_equals_numpy(self):
        # M sums 400 columns in float32, in interleaved sums: as for the large cases above.
        assert_agree(self.collect(1), numpy_pass(self.case), self.case, relative=2 * RELATIVE)

    @pytest.mark.parametrize("n_threads", [2, 3])
    def test_threads_change_no_bit(self, n_threads):
        for one, several in zip(self.collect(1), self.collect(n_threads), strict=True):
            np.testing.assert_array_equal(one, several)

    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_sparse_equals_dense_to_the_last_bit(self, n_threads):
        for dense, sparse in zip(self.collect(1), self.collect(n_threads, sparse=True), strict=True):
            np.testing.assert_array_equal(dense, sparse)

    def test_arguments_are_left_alone(self):
        before = self.case.W.copy(), self.case.H1.copy(), self.case.H0.copy(), self.case.weight.copy()
        self.collect(2)
        for old, new in zip(before, (self.case.W, self.case.H1, self.case.H0, self.case.weight), strict=True):
            np.testing.assert_array_equal(old, new)


def _as_sparse(cells):
    """CSR with stored NaN for missing cells, as a user would give them."""
    csr = sp.csr_array(cells.astype(float))
    csr.data[csr.data < 0] = np.nan
    return csr
