"""From P(1 | the rest) to presence and later visits."""

import numpy as np
import pandas as pd
import pytest

from latentbits import BinaryData, DataError
from latentbits.models.false_zeros.later import (
    PRESENT,
    SEEN_LATER,
    Scale,
    fit_exponent,
    fit_rate,
    placed_revisits,
    raised,
)
from latentbits.models.royle_nichols import visits_of_rows

M = np.array([[0.1, 0.4], [0.7, 0.9]])


def column(*values):
    return np.array(values, dtype=float)[:, None]


def test_by_default_it_is_the_probability_itself():
    np.testing.assert_array_equal(Scale().of_zeros(M), M)
    assert not Scale().is_of_presence


def test_presence_and_later_sightings_have_their_closed_forms():
    """After one visit with rate r: exponents (1-r)/r, and (1-r)(1-(1-r)^k)/r for k visits to come."""
    r = 0.4
    present = Scale(PRESENT, None, r, column(1, 1)).of_zeros(M)
    np.testing.assert_allclose(present, 1 - (1 - M) ** ((1 - r) / r))
    later = Scale(SEEN_LATER, None, r, column(1, 1), column(1, 3)).of_zeros(M)
    exponent = (1 - r) * (1 - (1 - r) ** column(1, 3)) / r
    np.testing.assert_allclose(later, 1 - (1 - M) ** exponent)
    assert (later <= present).all()


def test_cells_of_chosen_rows_have_the_visits_of_their_rows():
    scale = Scale(SEEN_LATER, None, 0.3, column(1, 2), column(0, 5))
    table = scale.of_zeros(M)
    np.testing.assert_allclose(
        scale.of_zeros(M[[1, 0, 1], [0, 1, 1]], np.array([1, 0, 1])), table[[1, 0, 1], [0, 1, 1]]
    )
    np.testing.assert_array_equal(table[0], 0)  # nobody comes again


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("n", [1, 4])
def test_cells_that_nobody_looked_at_were_not_missed(rate, n):
    """They are present with 1 - exp(-lam), and as many visits to come as X sums up see them with m itself."""
    present = Scale(PRESENT, None, rate, column(n, n))
    np.testing.assert_allclose(present.of_missing(M), 1 - (1 - M) ** (1 / (1 - (1 - rate) ** n)))
    assert (present.of_missing(M) >= M).all()
    later = Scale(SEEN_LATER, None, rate, column(n, n), column(n, n))
    np.testing.assert_allclose(later.of_missing(M), M)
    assert (later.of_missing(M) > later.of_zeros(M)).all()


def test_a_pilot_takes_nothing_from_cells_that_nobody_looked_at():
    np.testing.assert_allclose(Scale(SEEN_LATER, 0.3).of_missing(M), M)
    np.testing.assert_allclose(Scale(SEEN_LATER, 2.0).of_missing(M), 1 - (1 - M) ** 2)


@pytest.fixture
def many():
    rng = np.random.default_rng(0)
    return rng.random(20_000) * 0.6, rng


@pytest.mark.parametrize("c", [0.2, 1.0, 2.5])
def test_the_exponent_of_a_pilot_comes_back(many, c):
    m, rng = many
    assert fit_exponent(m, (rng.random(len(m)) < raised(m, c)).astype(int)) == pytest.approx(c, rel=0.1)


@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_the_rate_of_a_pilot_comes_back(many, rate):
    m, rng = many
    later = rng.integers(1, 4, len(m)).astype(float)
    p = 1 - (1 - m) ** ((1 - rate) * (1 - (1 - rate) ** later) / rate)
    found = fit_rate(m, (rng.random(len(m)) < p).astype(int), np.ones(len(m)), later)
    assert found == pytest.approx(rate, abs=0.05)


class TestVisits:
    def test_one_number_or_one_for_each_row(self):
        np.testing.assert_array_equal(visits_of_rows(2, 3, "n_visits", least=1), [[2], [2], [2]])
        np.testing.assert_array_equal(visits_of_rows([1, 2, 3], 3, "n_visits", least=1), [[1], [2], [3]])

    @pytest.mark.parametrize("visits", [[1, 2], [[1, 2, 3]], -1, [1, np.nan, 2], np.inf, "two", ["a", "b", "c"]])
    def test_others_are_refused(self, visits):
        with pytest.raises(DataError, match="later_visits"):
            visits_of_rows(visits, 3, "later_visits")


class TestRevisits:
    DATA = BinaryData.of(pd.DataFrame([[0, 1], [1, 0], [0, 0]], index=["a", "b", "c"], columns=["x", "y"]))

    def test_rows_are_placed_by_name(self):
        again = pd.DataFrame([[1, 1], [0, 0]], index=["c", "a"], columns=["x", "y"])
        np.testing.assert_array_equal(placed_revisits(again, self.DATA).dense(), [[0, 0], [-1, -1], [1, 1]])

    def test_a_shuffled_frame_is_not_taken_for_rows_in_order(self):
        data, again = BinaryData.of(np.eye(3)), pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
        assert placed_revisits(again, data).shape == data.shape
        with pytest.raises(DataError, match="sort revisits by its index"):
            placed_revisits(again.iloc[[2, 0, 1]], data)

    def test_columns_are_placed_by_name(self):
        again = pd.DataFrame([[1, 0]], index=["b"], columns=["y", "x"])
        np.testing.assert_array_equal(placed_revisits(again, self.DATA).dense(), [[-1, -1], [0, 1], [-1, -1]])

    def test_a_table_of_all_rows_stands_beside_them(self):
        again = np.array([[np.nan, np.nan], [1, 0], [0, 1]])
        np.testing.assert_array_equal(placed_revisits(again, self.DATA).dense(), [[-1, -1], [1, 0], [0, 1]])

    @pytest.mark.parametrize(
        ("again", "message"),
        [
            (np.zeros((3, 5)), "5 columns"),
            (np.zeros((2, 2)), "NaN where nobody went again"),
            (pd.DataFrame(np.zeros((1, 2)), index=["z"], columns=["x", "y"]), '"z" is no row'),
            (pd.DataFrame(np.zeros((2, 2)), index=["a", "a"], columns=["x", "y"]), "repeat"),
            (pd.DataFrame(np.zeros((1, 2)), index=["a"], columns=["y", "z"]), '"x" is in one of them only'),
        ],
    )
    def test_what_does_not_fit_is_refused(self, again, message):
        with pytest.raises(DataError, match=message):
            placed_revisits(again, self.DATA)
