"""The rate comes back from simulated histories, with the standard error that it has, for all species or each."""

import numpy as np
import pytest
from scipy.stats import beta

from latentbits import simulate
from latentbits.models.royle_nichols import met_by_any
from latentbits.models.survey_rates import BOUNDS, SeenCells, common_rate, rates_of_species
from tests.reference import royle_nichols as slow


def seen_cells(truth, weight=None):
    """Of a survey, with the true probabilities of being seen."""
    n_visits = (~np.isnan(truth.histories)).sum(axis=1)
    u = -np.expm1(-truth.expected * met_by_any(n_visits, truth.rates))
    n_seen = np.nansum(truth.histories, axis=1).astype(int)
    return SeenCells.of(u, n_seen, n_visits, np.ones(len(u)) if weight is None else weight)


def test_the_likelihood_is_that_of_the_histories():
    truth = simulate.repeated_surveys(6, 4, 3, rate=0.5, unmade=0.2, random_state=2)
    cells = seen_cells(truth)
    assert cells.u.size
    for rate in (0.1, 0.5, 0.9):
        expected = []
        for u, y, n in zip(cells.u, cells.n_seen.astype(int), cells.n_visits.astype(int), strict=True):
            lam = -np.log(1 - u) / (1 - (1 - rate) ** n)
            expected.append(np.log(slow.history_probability([1] * y + [0] * (n - y), lam, rate)))
        assert cells.log_likelihoods(rate) == pytest.approx(expected, rel=1e-8)


def test_cells_that_say_nothing_are_left_out():
    u = np.full((3, 2), 0.5)
    cells = SeenCells.of(
        u, np.array([[1, 0], [1, 2], [1, 1]]), np.array([[1, 3], [2, 2], [2, 2]]), np.array([1.0, 1, 0])
    )
    assert cells.n_seen.tolist() == [1, 2]  # not the one with a single visit, the unseen one, or a weight of 0
    assert cells.column.tolist() == [0, 1]


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.8])
@pytest.mark.parametrize("n_visits", [2, 5])
def test_the_rate_comes_back(rate, n_visits):
    truths = [simulate.repeated_surveys(150, 30, n_visits, rate=rate, unmade=0.2, random_state=s) for s in range(8)]
    found = [common_rate(seen_cells(truth)) for truth in truths]
    values, errors = (np.array(part) for part in zip(*found, strict=True))
    z = (values - rate) / errors
    assert np.abs(z).max() < 4
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert errors.max() < 0.12  # so that the test says something


def test_the_rate_is_the_maximum():
    cells = seen_cells(simulate.repeated_surveys(100, 20, 3, random_state=5))
    found = common_rate(cells).value
    best = cells.log_likelihoods(found).sum()
    assert all(cells.log_likelihoods(r).sum() < best for r in (*BOUNDS, found - 1e-3, found + 1e-3))


def test_the_standard_error_is_the_spread_over_surveys():
    found = [common_rate(seen_cells(simulate.repeated_surveys(80, 20, 3, random_state=s))) for s in range(60)]
    spread = np.std([rate.value for rate in found], ddof=1)
    # The spread of 60 draws has a standard error of a tenth.
    assert spread == pytest.approx(np.mean([rate.standard_error for rate in found]), rel=0.3)


def test_weights_count_as_repeated_rows():
    truth = simulate.repeated_surveys(60, 10, 3, random_state=3)
    weight = np.arange(60) % 3
    cells = seen_cells(truth, weight.astype(float))
    rows = np.repeat(np.arange(60), weight)
    repeated = simulate.SurveyTruth(truth.histories[rows], truth.expected[rows], truth.abundance[rows], truth.rates)
    assert common_rate(cells).value == pytest.approx(common_rate(seen_cells(repeated)).value, abs=1e-6)
    assert common_rate(cells).standard_error == pytest.approx(
        common_rate(seen_cells(repeated)).standard_error, rel=1e-3
    )


def test_rates_of_species_come_back_nearer_than_a_common_one():
    rates = beta(6, 9).rvs(50, random_state=0)
    truth = simulate.repeated_surveys(300, 50, 3, rate=rates, random_state=0)
    cells = seen_cells(truth)
    common = common_rate(cells).value
    found = rates_of_species(cells, 50, common)
    assert np.abs(found.values - rates).mean() < 0.6 * np.abs(common - rates).mean()
    assert found.mean == pytest.approx(0.4, abs=0.06)
    assert 7 < found.strength < 35  # 15, by which they were drawn


def test_without_differences_species_have_the_common_rate():
    cells = seen_cells(simulate.repeated_surveys(300, 40, 3, rate=0.35, random_state=1))
    common = common_rate(cells).value
    found = rates_of_species(cells, 40, common)
    assert found.strength > 50
    assert np.abs(found.values - common).max() < 0.08


def test_a_species_that_was_never_seen_has_the_prior_mean():
    cells = seen_cells(simulate.repeated_surveys(200, 20, 3, rate=beta(4, 4).rvs(20, random_state=1), random_state=1))
    found = rates_of_species(cells, 21, 0.5)
    assert found.values[20] == pytest.approx(found.mean, abs=0.01)
    # Few sightings draw nearer to the mean than many: two of the seen species with the same share of sightings.
    few = SeenCells(*(part[:2] for part in cells))._replace(n_seen=np.full(2, 3.0), column=np.array([0, 0]))
    more = SeenCells(*(np.tile(part, 20) for part in few))
    both = SeenCells(*(np.concatenate([a, b]) for a, b in zip(few, more._replace(column=more.column + 1), strict=True)))
    values = rates_of_species(
        SeenCells(*(np.concatenate(p) for p in zip(cells, both._replace(column=both.column + 20), strict=True))),
        22,
        0.5,
    ).values
    assert found.mean < values[20] < values[21]
