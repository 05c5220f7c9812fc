"""Contracts of every estimator: weights of rows, and symmetries."""

import numpy as np
import pytest

from latentbits.metrics import match_components
from tests.contracts.assertions import assert_same_fit
from tests.contracts.registry import Contract


def one_round(contract, **parameters):
    """A model that makes a single round of three passes: it runs out at once, with the warning for that."""
    return contract.make(n_init=1, max_iter=3, **parameters)


@pytest.mark.needs("sample_weight")
class TestWeightsOfRows:
    """A row of weight w counts like w equal rows."""

    @pytest.fixture
    def weight(self):
        return np.random.default_rng(1).integers(0, 4, 60)

    @pytest.mark.needs("restarts")
    @pytest.mark.usefixtures("ignore_convergence")
    def test_round_by_round_they_equal_replicated_rows(self, contract, with_gaps, weight):
        weighted = one_round(contract).fit(with_gaps, sample_weight=weight)
        repeated = one_round(contract).fit(np.repeat(with_gaps, weight, axis=0))
        np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)
        np.testing.assert_allclose(weighted.objective_history_, repeated.objective_history_, rtol=1e-6)
        np.testing.assert_allclose(np.repeat(weighted.weights_, weight, axis=0), repeated.weights_, atol=1e-5)
        plain = one_round(contract).fit(with_gaps)
        assert np.abs(plain.components_ - weighted.components_).max() > 0.01, "the weights matter"

    @pytest.mark.needs("one optimum")
    def test_at_the_end_they_equal_replicated_rows(self, contract, with_gaps, weight):
        weighted = contract.make(tol=1e-8).fit(with_gaps, sample_weight=weight)
        X = np.repeat(with_gaps, weight, axis=0)
        repeated = contract.make(tol=1e-8).fit(X)
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
        np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-3)
        assert weighted.score(with_gaps) == pytest.approx(repeated.score(with_gaps), rel=1e-4)

    def test_rows_of_weight_0_do_not_count_but_get_answers(self, contract, truth, weight):
        weight[0] = 0
        changed = truth.X.copy()
        changed[weight == 0] ^= 1
        a, b = (contract.make().fit(X, sample_weight=weight) for X in (truth.X, changed))
        np.testing.assert_allclose(contract.learned(a), contract.learned(b), atol=1e-6)
        assert np.isfinite(contract.answer(a, truth.X)).all()
        assert np.isfinite(getattr(a, "weights_", 0.0)).all()

    def test_all_ones_is_no_weight(self, contract, truth):
        assert_same_fit(contract.make().fit(truth.X), contract.make().fit(truth.X, sample_weight=np.ones(60)))

    @pytest.mark.parametrize("bad", [np.zeros(60), -np.ones(60), np.full(60, np.nan), np.ones(7), np.ones((60, 2))])
    def test_impossible_weights_are_refused(self, contract, truth, bad):
        with pytest.raises(ValueError, match=r"sample.weight"):
            contract.make().fit(truth.X, sample_weight=bad)


@pytest.mark.needs("one answer")
class TestOneAnswer:
    """Models that are a function of the table: what doesn't change the table's meaning doesn't change them."""

    ROUNDING = 1e-5  # of climbs to the top of one concave function

    def test_weights_equal_replicated_rows(self, contract, with_gaps):
        weight = np.random.default_rng(1).integers(0, 4, 60)
        weighted = contract.make().fit(with_gaps, sample_weight=weight)
        repeated = contract.make().fit(np.repeat(with_gaps, weight, axis=0))
        self.assert_same_answers(weighted, repeated, with_gaps)
        plain = contract.make().fit(with_gaps)
        assert np.abs(plain.reconstruct(with_gaps) - weighted.reconstruct(with_gaps)).max() > 0.01, "they matter"

    def test_fractions_of_rows_add_up(self, contract, with_gaps):
        weight = np.random.default_rng(2).uniform(0.1, 2, 60)
        whole = contract.make().fit(with_gaps, sample_weight=weight)
        parts = np.concatenate([0.3 * weight, 0.7 * weight])
        cut = contract.make().fit(np.concatenate([with_gaps, with_gaps]), sample_weight=parts)
        self.assert_same_answers(whole, cut, with_gaps)

    def test_permuted_rows(self, contract, with_gaps):
        order = np.random.default_rng(0).permutation(60)
        self.assert_same_answers(contract.make().fit(with_gaps), contract.make().fit(with_gaps[order]), with_gaps)

    def test_permuted_columns(self, contract, with_gaps):
        order = np.random.default_rng(0).permutation(40)
        a, b = contract.make().fit(with_gaps), contract.make().fit(with_gaps[:, order])
        found = a.reconstruct(with_gaps)
        np.testing.assert_allclose(found[:, order], b.reconstruct(with_gaps[:, order]), atol=self.ROUNDING)
        assert np.abs(found[:, order] - found).max() > 0.1, "the order matters"

    def test_swapping_0_and_1_mirrors_the_probabilities(self, contract, with_gaps):
        a, b = contract.make().fit(with_gaps), contract.make().fit(1 - with_gaps)
        found = a.reconstruct(with_gaps)
        np.testing.assert_allclose(found, 1 - b.reconstruct(1 - with_gaps), atol=self.ROUNDING)
        assert a.score(with_gaps) == pytest.approx(b.score(1 - with_gaps), rel=self.ROUNDING)
        assert found.std() > 0.05, "there is something to mirror"

    def assert_same_answers(self, a, b, X):
        np.testing.assert_allclose(a.reconstruct(X), b.reconstruct(X), atol=self.ROUNDING)
        np.testing.assert_allclose(Contract.learned(a), Contract.learned(b), atol=10 * self.ROUNDING)


class TestSymmetries:
    @pytest.mark.needs("climb")
    @pytest.mark.usefixtures("ignore_convergence")
    def test_permuted_rows_permute_the_weights(self, contract, truth):
        order = np.random.default_rng(0).permutation(60)
        a, b = one_round(contract).fit(truth.X), one_round(contract).fit(truth.X[order])
        np.testing.assert_allclose(a.components_, b.components_, atol=1e-6)
        np.testing.assert_allclose(a.weights_[order], b.weights_, atol=1e-5)
        assert a.weights_.std(axis=0).max() > 0.05, "the rows differ"

    @pytest.mark.needs("one optimum")
    def test_permuted_rows_lead_to_the_same_answer(self, contract, truth):
        order = np.random.default_rng(0).permutation(60)
        a, b = contract.make(tol=1e-8).fit(truth.X), contract.make(tol=1e-8).fit(truth.X[order])
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-6)
        np.testing.assert_allclose(a.weights_[order], b.weights_, atol=2e-3)

    @pytest.mark.needs("one optimum")
    def test_permuted_columns_permute_the_components(self, contract):
        truth = contract.simulate(300, 2)
        order = np.random.default_rng(0).permutation(40)
        a, b = contract.make().fit(truth.X), contract.make().fit(truth.X[:, order])
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-4)
        match = match_components(a.components_[:, order], b.components_)
        assert match.similarity.min() > 0.99
        assert match_components(a.components_, b.components_).similarity.min() < 0.9, "the order matters"

    @pytest.mark.needs("restarts")
    @pytest.mark.needs("mirror")
    def test_swapping_0_and_1_mirrors_the_components(self, contract):
        truth = contract.simulate(300, 2)
        # Two climbs from different starts: both must come near the top before their weights can be compared.
        a, b = (contract.make(tol=1e-9, max_iter=20_000).fit(X) for X in (truth.X, 1 - truth.X))
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-4)
        match = match_components(a.components_, 1 - b.components_)
        assert match.similarity.min() > 0.99
        np.testing.assert_allclose(a.weights_, b.weights_[:, match.order], atol=0.05)

    @pytest.mark.needs("components")
    @pytest.mark.needs("mirror")
    @pytest.mark.usefixtures("ignore_convergence")
    def test_swapping_0_and_1_from_a_mirrored_start_is_exact(self, contract):
        """One component starts from the shares of the columns, shifted: its closed form leaves no room."""
        truth = contract.simulate(50, 2)
        a, b = (contract.make(n_components=1).fit(X) for X in (truth.X, 1 - truth.X))
        np.testing.assert_allclose(a.components_, 1 - b.components_, atol=1e-6)
