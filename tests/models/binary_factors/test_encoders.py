"""solve_bqp: exact by enumeration, never better by the others, and certified answers are optimal."""

from typing import get_args

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from latentbits.constraints import Choice
from latentbits.errors import DataError
from latentbits.models.binary_factors import Encoder
from latentbits.models.binary_factors.encoders import solve_bqp
from tests.reference import binary_factors as twin

METHODS = get_args(Encoder)


def program(m, n_rows, seed, size=1.0, rank=None):
    """Q = G G^T of trace 1, and rows of norm `size`."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, rank or m))
    F = rng.standard_normal((n_rows, m))
    return G @ G.T / np.sum(G * G), size * F / np.linalg.norm(F, axis=1, keepdims=True)


def indefinite(m, n_rows, seed):
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((m, m))
    return Q + Q.T, rng.standard_normal((n_rows, m))


PROGRAMS = {
    "positive definite": program(6, 12, 0),
    "weak f": program(6, 12, 1, size=0.05),
    "singular": program(6, 12, 2, rank=3),
    "indefinite": indefinite(6, 12, 3),
    "zero Q": (np.zeros((5, 5)), program(5, 12, 4)[1]),
    "one factor": program(1, 12, 5),
    "zero f": (program(4, 1, 6)[0], np.zeros((2, 4))),
    "more bits than a block": program(9, 4, 7),
}
each_program = pytest.mark.parametrize("case", PROGRAMS.values(), ids=PROGRAMS.keys())
each_method = pytest.mark.parametrize("method", METHODS)


@each_program
def test_enum_equals_brute_force(case):
    Q, F = case
    solution = solve_bqp(Q, F, method="enum")
    for f, y, value in zip(F, solution.codes, solution.values, strict=True):
        assert value == pytest.approx(twin.brute_force(Q, f)[0], abs=1e-12)
        assert value == pytest.approx(twin.bqp_value(Q, f, y.astype(float)), abs=1e-12)
    assert solution.certified.all()


@each_program
@each_method
def test_codes_are_signs_values_are_theirs_and_none_beats_enum(case, method):
    Q, F = case
    codes, values, certified = solve_bqp(Q, F, method=method)
    assert codes.shape == F.shape
    assert codes.dtype == np.int8
    assert np.isin(codes, [-1, 1]).all()
    np.testing.assert_allclose(
        values, [twin.bqp_value(Q, f, y.astype(float)) for f, y in zip(F, codes, strict=True)], atol=1e-12
    )
    best = solve_bqp(Q, F).values
    assert (values >= best - 1e-12).all()
    np.testing.assert_allclose(values[certified], best[certified], atol=1e-7)


def test_greedy_equals_twin():
    Q, F = program(7, 20, 8)
    codes = solve_bqp(Q, F, method="greedy").codes
    np.testing.assert_array_equal(codes, [twin.greedy(Q, f) for f in F])
    assert (codes != solve_bqp(Q, F, method="round").codes).any()


def test_round_takes_the_signs_of_the_unconstrained_optimum():
    Q, F = program(5, 30, 9)
    np.testing.assert_array_equal(solve_bqp(Q, F, method="round").codes, np.sign(np.linalg.solve(Q, F.T).T))


def test_round_of_a_singular_program_takes_the_shortest_optimum():
    Q = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(solve_bqp(Q, [[2.0, 2.0, -1.0]], method="round").codes, [[1, 1, -1]])


@pytest.mark.parametrize("size", [0.1, 0.3, 1.0])
def test_cdual_solves_the_dual(size):
    Q, F = program(5, 20, 10, size)
    codes, values, certified = solve_bqp(Q, F, method="cdual")
    for f, y, value, sure in zip(F, codes, values, certified, strict=True):
        bound, relaxed = twin.dual_solution(Q, f)
        clear = np.abs(relaxed) > 1e-3
        np.testing.assert_array_equal(y[clear], np.sign(relaxed[clear]))
        assert value >= bound - 1e-6
        if np.allclose(np.abs(relaxed), 1, atol=1e-6):  # the dual's stationary point is a code
            assert sure
            assert value == pytest.approx(bound, abs=1e-5)


def test_certificates_are_given_and_withheld():
    """A strong f certifies everything; with a weak one some codes of cdual are not even optimal."""
    Q, F = program(8, 50, 11, size=20.0)
    assert solve_bqp(Q, F, method="cdual").certified.all()
    Q, F = program(8, 50, 11, size=0.1)
    weak = solve_bqp(Q, F, method="cdual")
    wrong = weak.values > solve_bqp(Q, F).values + 1e-9
    assert wrong.any()
    assert not weak.certified[wrong].any()


@each_method
def test_only_the_symmetric_part_counts_and_one_row_may_be_a_vector(method):
    Q, F = program(5, 1, 12)
    skew = np.triu(np.ones((5, 5)), 1) - np.tril(np.ones((5, 5)), -1)
    expected = solve_bqp(Q, F, method=method)
    got = solve_bqp(Q + skew, F[0], method=method)
    np.testing.assert_array_equal(got.codes, expected.codes)
    np.testing.assert_allclose(got.values, expected.values)


@each_method
def test_the_answer_does_not_depend_on_jobs_or_on_other_rows(method):
    Q, F = program(6, 1100, 13)
    one, two = solve_bqp(Q, F, method, n_jobs=1), solve_bqp(Q, F, method, n_jobs=2)
    np.testing.assert_array_equal(one.codes, two.codes)
    np.testing.assert_array_equal(one.certified, two.certified)
    np.testing.assert_array_equal(solve_bqp(Q, F[700:710], method).codes, one.codes[700:710])


@each_method
def test_no_factors_and_no_rows(method):
    assert solve_bqp(np.zeros((0, 0)), np.zeros((3, 0)), method).codes.shape == (3, 0)
    assert solve_bqp(np.eye(2), np.zeros((0, 2)), method).codes.shape == (0, 2)


@pytest.mark.parametrize(
    ("Q", "F", "method", "message"),
    [
        (np.eye(21), np.ones((1, 21)), "enum", r"2\^21 codes .* at most 20 bits"),
        (np.eye(2), np.ones((1, 2)), "best", f"method='best' is unknown; use {Choice(METHODS)}"),
        (np.ones((2, 3)), np.ones((1, 2)), "enum", "square"),
        (np.eye(2), np.ones((4, 3)), "enum", r"rows of 2 numbers"),
        (np.eye(2), np.full((1, 2), np.nan), "enum", "F holds NaN"),
        (np.full((2, 2), np.inf), np.ones((1, 2)), "round", "Q holds NaN or infinity"),
    ],
)
def test_refusals_say_what_to_do(Q, F, method, message):
    with pytest.raises(ValueError, match=message):
        solve_bqp(Q, F, method=method)


def test_bad_input_is_a_data_error():
    with pytest.raises(DataError):
        solve_bqp(np.ones((2, 3)), np.ones((1, 2)))


@pytest.mark.parametrize("method", [method for method in METHODS if method != "enum"])
def test_the_others_take_many_factors(method):
    Q, F = program(60, 5, 14)
    assert np.isin(solve_bqp(Q, F, method=method).codes, [-1, 1]).all()


def test_a_large_entry_cannot_hide_that_a_code_is_not_optimal():
    Q = [[1e9, 0, 0], [0, 2, 1], [0, 1, 2]]
    F = [[3e9, 0.5, 0.4]]
    found, best = solve_bqp(Q, F, "cdual"), solve_bqp(Q, F, "enum")
    assert not found.certified[0] or found.values[0] <= best.values[0] + 1e-6


def test_the_box_is_solved_for_an_ill_conditioned_program():
    Q = 0.001 * np.eye(6) + 0.999
    F = np.random.default_rng(0).normal(size=(50, 6))
    codes = solve_bqp(Q, F, "cdual").codes
    root = np.linalg.cholesky(Q).T
    for f, code in zip(F, codes, strict=True):
        y = lsq_linear(root, np.linalg.solve(root.T, f), bounds=(-1, 1), tol=1e-12).x
        sure = np.abs(y) > 1e-3
        np.testing.assert_array_equal(code[sure], np.sign(y[sure]))
