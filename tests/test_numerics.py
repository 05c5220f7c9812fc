"""Seeds, 0-1 cells and the matching of components."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from latentbits.numerics import as_cells, as_generator, match_components

METRICS = ["l1", "correlation", "cosine"]


class TestAsGenerator:
    def test_seed_fixes_the_stream(self):
        first, again, other = (as_generator(seed).random(5) for seed in (1, np.int64(1), 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).all()

    def test_generator_is_passed_through(self):
        generator = np.random.default_rng(0)
        assert as_generator(generator) is generator

    def test_random_state_seeds_and_advances(self):
        source, twin = np.random.RandomState(0), np.random.RandomState(0)
        first, second = as_generator(source).random(), as_generator(source).random()
        assert first != second
        assert as_generator(twin).random() == first

    def test_none_is_fresh(self):
        assert as_generator(None).random() != as_generator().random()

    @pytest.mark.parametrize("bad", ["0", 1.5, -1, [1, 2]])
    def test_anything_else_is_refused(self, bad):
        with pytest.raises(ValueError, match="random_state is"):
            as_generator(bad)


class TestAsCells:
    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float32])
    def test_keeps_dtype_and_values(self, dtype):
        cells = np.array([[0, 1], [1, 0]], dtype=dtype)
        assert as_cells(cells, "X") is cells

    def test_names_the_first_wrong_cell(self):
        with pytest.raises(ValueError, match=r"^clean\[1, 2\] is -1, but"):
            as_cells([[0, 1, 0], [1, 0, -1], [5, 0, 0]], "clean")

    @pytest.mark.parametrize("bad", [0.5, np.inf, -np.inf])
    def test_refuses_other_floats(self, bad):
        with pytest.raises(ValueError, match=r"X\[1\]"):
            as_cells([np.nan, bad], "X")

    @pytest.mark.parametrize("bad", [["0", "1"], [None, 1], [1j, 0]])
    def test_refuses_other_types(self, bad):
        with pytest.raises(ValueError, match="X has dtype"):
            as_cells(bad, "X")


class TestMatchComponents:
    @pytest.mark.parametrize("metric", METRICS)
    def test_recovers_a_known_permutation(self, metric):
        rng = np.random.default_rng(0)
        A = rng.beta(0.3, 0.3, size=(7, 40))
        permutation = rng.permutation(7)
        B = np.clip(A[permutation] + rng.normal(scale=0.02, size=A.shape), 0, 1)
        order, similarity = match_components(A, B, metric=metric)
        np.testing.assert_array_equal(permutation[order], np.arange(7))
        assert (similarity > 0.95).all()

    def test_optimal_where_greedy_is_not(self):
        # Greedy takes the closest pair, 0.4 with 0.5, and is left with 0.7 and 0.2: 0.9 + 0.5.
        order, similarity = match_components([[0.4], [0.7]], [[0.5], [0.2]])
        np.testing.assert_array_equal(order, [1, 0])
        np.testing.assert_allclose(similarity, [0.8, 0.8])

    @settings(max_examples=60, deadline=None)
    @given(
        A=arrays(float, (4, 3), elements=st.floats(0, 1, width=16)),
        B=arrays(float, (4, 3), elements=st.floats(0, 1, width=16)),
        metric=st.sampled_from(METRICS),
    )
    def test_no_permutation_is_better(self, A, B, metric):
        order, similarity = match_components(A, B, metric=metric)
        assert sorted(order) == [0, 1, 2, 3]
        # Matching one row with one row gives that pair's similarity.
        pair = [[match_components(a[None], b[None], metric=metric).similarity[0] for b in B] for a in A]
        best = max(sum(pair[i][p[i]] for i in range(4)) for p in permutations(range(4)))
        assert np.isfinite(similarity).all()
        assert similarity.sum() == pytest.approx(best)

    @pytest.mark.parametrize("metric", METRICS)
    def test_more_rows_on_either_side(self, metric):
        A = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        few = match_components(A, A[[2, 0]], metric=metric)
        np.testing.assert_array_equal(few.order, [1, -1, 0])
        np.testing.assert_allclose(few.similarity, [1, 0, 1])
        many = match_components(A[[2, 0]], A, metric=metric)
        np.testing.assert_array_equal(many.order, [2, 0])
        np.testing.assert_allclose(many.similarity, [1, 1])

    def test_values_by_hand(self):
        a, b = [[0.0, 0.5, 1.0]], [[0.2, 0.2, 0.8]]
        assert match_components(a, b).similarity[0] == pytest.approx(1 - 0.7 / 3)
        assert match_components(a, b, metric="cosine").similarity[0] == pytest.approx(
            0.9 / np.sqrt(1.25 * 0.72)
        )
        correlation = np.corrcoef(a[0], b[0])[0, 1]
        assert match_components(a, b, metric="correlation").similarity[0] == pytest.approx(correlation)
        assert match_components(a, [[1.0, 0.5, 0.0]], metric="correlation").similarity[0] == pytest.approx(-1)

    @pytest.mark.parametrize("metric", ["correlation", "cosine"])
    @pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e9])
    def test_constant_rows_give_no_nan(self, metric, constant):
        # 0.1 and 1/3 don't equal their mean exactly: rounding must not pass for a direction.
        A = np.vstack([np.full(7, constant), np.arange(7.0)])
        similarity = match_components(A, A[::-1], metric=metric).similarity
        assert np.isfinite(similarity).all()
        expected = 1.0 if metric == "cosine" and constant else 0.0
        assert match_components(A[:1], A[:1], metric=metric).similarity[0] == pytest.approx(
            expected, abs=1e-12
        )

    @pytest.mark.parametrize(
        ("A", "B", "message"),
        [
            ([[0, 1]], [[0, 1, 1]], "A has 2 columns and B has 3"),
            ([0, 1], [[0, 1]], r"A has shape \(2,\)"),
            ([[0, 1]], np.empty((0, 2)), r"B has shape \(0, 2\)"),
            ([[0, np.nan]], [[0, 1]], "A holds NaN"),
        ],
    )
    def test_bad_input(self, A, B, message):
        with pytest.raises(ValueError, match=message):
            match_components(A, B)

    def test_unknown_metric(self):
        with pytest.raises(ValueError, match="metric is 'l2'; choose one of l1, correlation, cosine"):
            match_components([[0, 1]], [[0, 1]], metric="l2")
