"""The Ising model: the objective against plain loops, its gradient and optimum from outside, known couplings found."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from latentbits import DataError, IsingModel, LinearAutoencoder, simulate
from latentbits.data.binary_data import BinaryData
from latentbits.models import conditional as estimator
from latentbits.models.conditional import IsingState, PseudoLikelihood, symmetric
from tests.reference import conditional as twin
from tests.reference.assertions import assert_nondecreasing


def table(n_rows=40, n_columns=6, seed=0):
    """Rows with missing cells, a column of zeros and one of which nothing is observed; and weights."""
    rng = np.random.default_rng(seed)
    X = simulate.ising(n_rows, n_columns, random_state=seed).X.astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 0], X[:, -1] = np.where(np.isnan(X[:, 0]), np.nan, 0.0), np.nan
    return X, rng.uniform(0, 3, n_rows)


def random_state_of(n_columns, seed=0):
    rng = np.random.default_rng(seed)
    return IsingState(rng.normal(size=n_columns), rng.normal(size=n_columns * (n_columns - 1) // 2))


def likelihood_of(X, weight, ridge=2.0):
    return PseudoLikelihood.of(BinaryData.of(X), weight, ridge)


def test_the_objective_equals_the_twin():
    X, weight = table()
    for seed in range(3):
        state = random_state_of(6, seed)
        value, _ = likelihood_of(X, weight).value_and_gradient(state)
        expected = twin.penalised_pseudo_likelihood(X, weight, 2.0, state.bias, symmetric(state))
        assert value == pytest.approx(expected, rel=1e-12)


def test_the_gradient_equals_finite_differences_of_the_twin():
    X, weight = table(n_rows=15, n_columns=5)
    state = random_state_of(5)
    _, gradient = likelihood_of(X, weight).value_and_gradient(state)
    step = 1e-5
    for part, (values, slopes) in enumerate(zip(state, gradient, strict=True)):
        for place in range(len(values)):
            ends = []
            for sign in (-1, 1):
                moved = [np.array(a) for a in state]
                moved[part][place] += sign * step
                J = symmetric(IsingState(*moved))
                ends.append(twin.penalised_pseudo_likelihood(X, weight, 2.0, moved[0], J))
            assert slopes[place] == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-6, abs=1e-6)
    assert np.abs(gradient.pairs).min() > 1e-4, "a gradient of 0 would prove nothing"


@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_the_solution_is_the_optimum(ridge):
    X, weight = table()
    model = IsingModel(ridge, tol=0, max_iter=2000).fit(X, sample_weight=weight)
    best = twin.penalised_pseudo_likelihood(X, weight, ridge, model.intercepts_, model.couplings_)
    assert model.objective_ == pytest.approx(best, rel=1e-12)
    assert model.gradient_norm_ < 1e-4
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        for _ in range(20):
            by = random_state_of(6, rng)
            moved = model.intercepts_ + size * by.bias, model.couplings_ + size * symmetric(by)
            assert twin.penalised_pseudo_likelihood(X, weight, ridge, *moved) < best


def test_the_certificate_is_the_norm_of_the_gradient_there():
    X, weight = table()
    model = IsingModel(2.0, max_iter=500).fit(X, sample_weight=weight)
    state = IsingState(model.intercepts_, model.couplings_[np.triu_indices(6, 1)])
    _, gradient = likelihood_of(X, weight).value_and_gradient(state)
    assert model.gradient_norm_ == pytest.approx(np.sqrt(np.sum(gradient.bias**2) + np.sum(gradient.pairs**2)))
    start = likelihood_of(X, weight).gradient_norm(likelihood_of(X, weight).start())
    assert model.gradient_norm_ < 1e-3 * start


def test_the_objective_never_falls():
    X, weight = table(n_rows=100, n_columns=10)
    model = IsingModel(0.1).fit(X, sample_weight=weight)
    assert_nondecreasing(model.objective_history_)
    assert len(model.objective_history_) == model.n_iter_
    assert model.objective_history_[-1] == model.objective_
    assert model.converged_
    assert model.objective_ > model.objective_history_[0] + 1


def test_couplings_are_symmetric_with_a_zero_diagonal_and_0_where_nothing_is_known():
    X, weight = table()
    model = IsingModel(1.0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.couplings_, model.couplings_.T)
    np.testing.assert_array_equal(np.diag(model.couplings_), 0)
    np.testing.assert_array_equal(model.couplings_[-1], 0)
    assert np.abs(model.couplings_).max() > 0.1
    assert np.isfinite(model.intercepts_).all(), "also of a column of zeros"


def test_known_couplings_are_found():
    """Simulated exactly, by enumeration; the error is that of the estimate, and shrinks with the rows."""
    errors = []
    for n_rows in (2_000, 32_000):
        truth = simulate.ising(n_rows, 8, random_state=3)
        model = IsingModel(1.0).fit(truth.X)
        errors.append(np.abs(model.couplings_ - truth.couplings).max())
        # The model's bias is that of a row of means, the simulator's that of a row of zeros.
        np.testing.assert_allclose(model.intercepts_ - model.couplings_ @ model.means_, truth.bias, atol=2 * errors[-1])
    assert np.abs(truth.couplings).max() > 1
    assert errors[1] < 0.15
    assert errors[1] < 0.5 * errors[0]


def test_conditional_probabilities_are_those_of_the_truth():
    truth = simulate.ising(30_000, 7, random_state=5)
    p = IsingModel(1.0).fit(truth.X).reconstruct(truth.X[:500])
    odds = truth.bias + truth.X[:500] @ truth.couplings
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-odds)), atol=0.05)
    assert p.std() > 0.1


def test_a_larger_ridge_makes_smaller_couplings():
    X = simulate.ising(300, 8, random_state=0).X
    sizes = [np.abs(IsingModel(ridge).fit(X).couplings_).sum() for ridge in (0.1, 1, 10, 100, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    independent = IsingModel(1e9).fit(X)
    np.testing.assert_allclose(independent.reconstruct(X), np.tile(independent.means_, (300, 1)), atol=1e-5)


def test_one_column_has_the_smoothed_share():
    with pytest.warns(UserWarning, match="only column 1 has both"):
        model = IsingModel().fit([[1], [0], [1], [1]])
    np.testing.assert_allclose(model.reconstruct([[0]]), model.means_[None], rtol=1e-9)
    assert model.means_[0] == pytest.approx((3 + 3.5 / 5) / 5)


def test_running_out_is_warned_about():
    X = simulate.ising(100, 10, random_state=0).X
    with pytest.warns(ConvergenceWarning, match="max_iter=3 iterations without converging; raise max_iter, or tol"):
        model = IsingModel(0.01, max_iter=3).fit(X)
    assert not model.converged_


def test_too_many_columns_are_refused_before_anything_is_made(monkeypatch):
    monkeypatch.setattr(estimator, "MOST_COLUMNS", 5)
    X = simulate.ising(20, 6, random_state=0).X
    with pytest.raises(
        DataError, match=r"6 columns have 15 couplings, too many for IsingModel; give at most 5 columns"
    ):
        IsingModel().fit(X)


def test_what_takes_long_is_said_before(monkeypatch):
    monkeypatch.setattr(estimator, "LONG", 20 * 6**2 - 1)
    with pytest.warns(UserWarning, match=r"costs rows x columns\^2, 7e\+02 here.*LinearAutoencoder"):
        IsingModel().fit(simulate.ising(20, 6, random_state=0).X)


@pytest.mark.parametrize("ridge", [0, -1, np.nan, "much", None])
@pytest.mark.parametrize("kind", [IsingModel, LinearAutoencoder])
def test_a_bad_ridge_is_refused(kind, ridge):
    with pytest.raises(ValueError, match=r"ridge=.* must be a number of at least"):
        kind(ridge).fit([[0, 1], [1, 0]])


def test_findings_name_the_strongest_pair(tmp_path):
    couplings = np.zeros((4, 4))
    couplings[0, 2] = couplings[2, 0] = 3.0
    X = simulate.ising(400, 4, couplings=couplings, random_state=0).X
    frame = pd.DataFrame(X, columns=["elk", "bear", "wolf", "hare"])
    model = IsingModel(1.0).fit(frame)
    model.report(frame, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "6 pairs of columns, each with a coupling, fitted to 400 rows x 4 columns" in page
    assert f"The strongest coupling is that of elk and wolf ({model.couplings_[0, 2]:+.2f})." in page
