"""Rows with different numbers of visits: the correction makes predictions agree with what was seen, and no more."""

import numpy as np
import pytest

from latentbits.models.survey_rates import PRIOR_SIGHTINGS, balanced, effort_of, effort_table


def test_many_cells_are_made_to_agree():
    rng = np.random.default_rng(0)
    n_visits = np.repeat([[1], [2], [5]], 2000, axis=0) * np.ones((1, 20), int)
    truth = (
        rng.uniform(0.05, 0.4, n_visits.shape) * np.array([0.5, 1, 1.6])[(n_visits > 1).astype(int) + (n_visits > 2)]
    )
    seen = rng.random(truth.shape) < truth
    ignorant = np.full(truth.shape, 0.225)
    table = effort_table(ignorant, seen, n_visits, np.ones(len(seen)))
    assert table["n_visits"].tolist() == [1, 2, 5]
    assert table["cells"].tolist() == [40_000] * 3
    assert table["seen"].tolist() == [seen[n_visits == n].sum() for n in (1, 2, 5)]
    assert table["predicted"].to_numpy() == pytest.approx(0.225 * 40_000)
    u = balanced(ignorant, n_visits, table)
    for n, line in table.set_index("n_visits").iterrows():
        # What the prior adds: ten sightings against thousands.
        slack = PRIOR_SIGHTINGS * abs(line["factor"] - 1)
        assert u[n_visits == n].sum() == pytest.approx(line["seen"], abs=slack + 1e-6)
    assert (table["factor"].diff().dropna() > 0.3).all()


def test_few_cells_say_little():
    u, seen = np.full((1, 4), 0.2), np.zeros((1, 4), bool)
    (factor,) = effort_table(u, seen, np.full((1, 4), 3), np.ones(1))["factor"]
    assert 0.9 < factor < 1
    (factor,) = effort_table(u, ~seen, np.full((1, 4), 3), np.ones(1))["factor"]
    assert 1 < factor < 1.5


def test_agreement_changes_nothing():
    u = np.array([[0.25, 0.75], [0.5, 0.5]])
    table = effort_table(u, np.eye(2, dtype=bool), np.full((2, 2), 2), np.ones(2))
    assert table["factor"].tolist() == pytest.approx([1])
    assert balanced(u, np.full((2, 2), 2.0), table) == pytest.approx(u)


@pytest.mark.parametrize("u", [0.0, 1.0])
@pytest.mark.parametrize("seen", [False, True])
def test_certain_predictions(u, seen):
    table = effort_table(np.full((3, 3), u), np.full((3, 3), seen), np.full((3, 3), 2), np.ones(3))
    assert np.isfinite(table.to_numpy()).all()
    assert ((balanced(np.full((3, 3), u), np.full((3, 3), 2.0), table) >= 0) & (table["factor"][0] >= 0)).all()


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(1)
    u, n_visits = rng.random((6, 5)), rng.integers(0, 3, (6, 5))
    seen, weight = (rng.random((6, 5)) < 0.3) & (n_visits > 0), np.array([0, 1, 2, 3, 1, 0])
    rows = np.repeat(np.arange(6), weight)
    weighted = effort_table(u, seen, n_visits, weight.astype(float))
    assert weighted.to_numpy() == pytest.approx(
        effort_table(u[rows], seen[rows], n_visits[rows], np.ones(7)).to_numpy()
    )


def test_cells_without_a_visit_are_like_those_of_their_row():
    effort = effort_of(np.array([[2, 0, 4], [0, 0, 0], [1, 1, 1]]), 2.5)
    assert effort.tolist() == [[2, 3, 4], [2.5, 2.5, 2.5], [1, 1, 1]]
