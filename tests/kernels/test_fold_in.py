"""Weights of single rows: the certificate is true, and a general solver agrees."""

import numpy as np
import pytest
from hypothesis import given

from latentbits import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.statistics import GAP, common_zeros, solve_weights
from latentbits.models.solved_rows import LARGEST_GAP
from tests.kernels.cases import cases, examples, kernel_fold_in, make_case
from tests.reference import aspect


def log_likelihoods(case, W):
    return aspect.run_pass(case.X, W, case.H1, case.H0, np.ones(len(W)))[3]


def best_known(case):
    return log_likelihoods(case, [aspect.fold_in(x, case.H1, case.H0) for x in case.X])


def with_interior(case):
    """Components away from 0 and 1, where the general solver is accurate to about 1e-9."""
    case.H1, case.H0 = (0.05 + 0.9 * H / (case.H1 + case.H0) for H in (case.H1, case.H0))
    return case


@examples(120)
@given(cases())
def test_certificate_is_true_and_twin_agrees(case):
    case = with_interior(case)
    W, gap = kernel_fold_in(case.cells, case.H1, case.H0)
    n_observed = (case.cells >= 0).sum(axis=1)
    found, best = log_likelihoods(case, W), best_known(case)
    assert (best - found <= gap * n_observed + 1e-7).all()
    assert (found - best <= 1e-6).all(), "the twin should be at the maximum too"
    assert (gap <= 1e-6).all()


@pytest.mark.parametrize("max_iter", [0, 1])
def test_certificate_is_true_when_stopped_early(max_iter):
    case = with_interior(make_case(20, 40, 4, seed=5))
    W, gap = kernel_fold_in(case.cells, case.H1, case.H0, tol=0.0, max_iter=max_iter)
    left = (best_known(case) - log_likelihoods(case, W)) / case.cells.shape[1]
    assert (left <= gap + 1e-9).all()
    assert left.max() > 1e-6, "stopped early indeed"


def test_weights_equal_twin_where_the_maximum_is_sharp():
    case = with_interior(make_case(10, 400, 3, seed=6))
    case.cells = (np.random.default_rng(0).random((10, 400)) < case.W @ case.H1).astype(np.int8)
    W, _ = kernel_fold_in(case.cells, case.H1, case.H0, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(W, [aspect.fold_in(x, case.H1, case.H0) for x in case.X], atol=1e-4)
    assert W.std() > 0.1, "the weights are not all alike"


@examples(300)
@given(cases())
def test_at_the_edges_and_for_any_shape_the_simplex_is_kept_and_the_gap_closed(case):
    W, gap = kernel_fold_in(case.cells, case.H1, case.H0)
    assert np.isfinite(W).all()
    assert (W >= 0).all()
    assert (gap <= 1e-6).all()
    np.testing.assert_allclose(W.sum(axis=1), 1)


@examples(200)
@given(cases())
def test_sparse_equals_dense_and_rows_are_independent(case):
    W, _ = kernel_fold_in(case.cells, case.H1, case.H0)
    np.testing.assert_array_equal(kernel_fold_in(case.cells, case.H1, case.H0, sparse=True)[0], W)
    alone = [kernel_fold_in(row[None], case.H1, case.H0)[0][0] for row in case.cells]
    np.testing.assert_array_equal(alone, W)


def test_rows_without_observed_cells_get_the_start():
    start = np.array([0.2, 0.5, 0.3])
    case = make_case(3, 6, 3, seed=0, missing=1.0)
    W, gap = kernel_fold_in(case.cells, case.H1, case.H0, start=start)
    np.testing.assert_array_equal(W, [start] * 3)
    np.testing.assert_array_equal(gap, 0)


def test_solve_weights_reaches_its_gap_and_ignores_threads():
    case = with_interior(make_case(300, 100, 5, seed=7, missing=0.1))  # several chunks
    data = BinaryData.of(case.X)
    answers = []
    for n in (1, 2, 3):
        with Workers(n) as workers:
            answers.append(solve_weights(data, case.H1, case.H0, workers=workers))
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0].coordinates, other.coordinates)
        np.testing.assert_array_equal(answers[0].gap, other.gap)
    one = np.where(np.isnan(case.X)[:, None], 1.0, np.where(case.X[:, None] == 1, case.H1, case.H0))
    d = np.einsum("ik,ikj->ij", answers[0].coordinates, one)
    observed = ~np.isnan(case.X)
    gradient = (np.where(observed[:, None], one, 0) / d[:, None]).sum(axis=2) / observed.sum(axis=1)[:, None]
    # Once rounding hides what is left to gain, a row may stop a little above.
    assert (gradient.max(axis=1) - 1 <= 3 * GAP).all()
    np.testing.assert_allclose(answers[0].gap, gradient.max(axis=1) - 1, atol=1e-14)


def sparse_case(seed, n=30, D=120, K=5, missing=0.0):
    """Components that are small in most columns and large in a few, and rows by them."""
    rng = np.random.default_rng(seed)
    H = np.clip(rng.gamma(0.3, 0.1, (K, D)), 1e-10, 0.095)
    H[:, :10] = rng.uniform(1e-10, 1 - 1e-10, (K, 10))
    cells = (rng.random((n, D)) < rng.dirichlet(np.full(K, 0.3), n) @ H).astype(np.int8)
    cells[rng.random((n, D)) < missing] = -1
    return cells, H


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("max_iter", [0, 1, 100])
def test_common_zeros_change_neither_the_weights_nor_the_gap(missing, max_iter):
    cells, H = sparse_case(3, missing=missing)
    assert common_zeros(1 - H)[0].sum() == 110
    W, gap = kernel_fold_in(cells, H, 1 - H, tol=1e-10, max_iter=max_iter)
    one = np.where(cells[:, None] == 1, H, 1 - H)
    observed = cells >= 0
    u = np.where(observed[:, None], one / np.einsum("ik,ikj->ij", W, one)[:, None], 0)
    np.testing.assert_allclose(gap, (u.sum(axis=2) / observed.sum(axis=1)[:, None]).max(axis=1) - 1, atol=1e-13)
    if max_iter == 100:
        plain, plain_gap = kernel_fold_in(cells, H, 1 - H, tol=1e-10, common=False)
        assert max(gap.max(), plain_gap.max()) <= 1e-10
        np.testing.assert_allclose(W, plain, atol=1e-6)
        assert W.std() > 0.2, "the weights are not all alike"
    np.testing.assert_array_equal(kernel_fold_in(cells, H, 1 - H, tol=1e-10, max_iter=max_iter, sparse=True)[0], W)


@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-7, 1e-5, 1e-3])
def test_components_that_are_nearly_alike_are_no_reason_to_warn(apart):
    rng = np.random.default_rng(0)
    H = np.clip(rng.random(20) + apart * rng.standard_normal((8, 20)), 1e-10, 1 - 1e-10)
    data = BinaryData.of((rng.random((200, 20)) < 0.5).astype(int))
    with Workers(1) as workers:
        assert solve_weights(data, H, 1 - H, workers=workers).gap.max() < LARGEST_GAP / 2
