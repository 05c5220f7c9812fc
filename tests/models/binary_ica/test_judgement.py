"""Binary ICA judged: goodness of fit, held-out pairs, bootstrap."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr

from latentbits import BinaryICA, component_stability, select_order
from latentbits import simulate as simulated
from latentbits.correlations.tetrachoric import tetrachoric
from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.models.binary_ica.judgement import aligned, pair_score
from latentbits.models.binary_ica.parameters import Parameters, canonical, pairwise_from_model
from tests.models.binary_ica.tools import NAN, TRUTH, random_parameters
from tests.reference import tetrachoric as twin

THREE = simulated.binary_ica(300, 8, 3, 10, random_state=5)


@pytest.fixture(scope="module")
def three():
    return BinaryICA(3, n_init=2, random_state=0).fit(THREE.X, segments=THREE.segments)


class TestGoodnessOfFit:
    def test_z_is_that_of_a_single_pair(self, three):
        found = three.goodness_of_fit(THREE.X, THREE.segments)
        line = found.pairs.iloc[3]
        rows = THREE.X[THREE.segments == line["segment"]]
        i, j = (int(name.removeprefix("column ")) - 1 for name in (line["left"], line["right"]))
        exact = pairwise_from_model(three.mixing_, three.source_means_, three.source_scales_).correlations
        assert line["rho"] == pytest.approx(exact[line["segment"], i, j])
        alone = tetrachoric(rows[:, [i, j]])
        assert line["r"] == pytest.approx(alone.correlations[0, 1])
        se = twin.standard_error(*-alone.thresholds, line["rho"], len(rows))
        assert line["z"] == pytest.approx((line["r"] - line["rho"]) / se, rel=1e-3)

    def test_the_right_model_fits_and_one_source_too_few_does_not(self, three):
        right = three.goodness_of_fit(THREE.X, THREE.segments)
        assert 0.7 < right.rms_z < 1.1
        assert right.beyond_3 < 0.02
        assert right.n_pairs + right.n_thin == 10 * 28
        few = BinaryICA(2, n_init=2, random_state=0).fit(THREE.X, segments=THREE.segments)
        worse = few.goodness_of_fit(THREE.X, THREE.segments)
        assert worse.rms_z > 1.6
        assert worse.pairs["z"].abs().is_monotonic_decreasing
        assert len(worse.plot().axes) == 2

    @pytest.mark.filterwarnings("ignore:constant columns")
    def test_constant_columns_have_no_z(self):
        X = THREE.X.copy()
        X[THREE.segments < 5, 0] = 1
        model = BinaryICA(3, n_init=1, random_state=0).fit(X, segments=THREE.segments)
        pairs = model.goodness_of_fit(X, THREE.segments).pairs
        touched = pairs[(pairs["left"] == "column 1") | (pairs["right"] == "column 1")]
        assert touched["segment"].min() >= 5


class TestPairScore:
    def test_equals_the_sum_over_cells(self):
        given = random_parameters(3, 1, 2)
        C, t, _ = pairwise_from_model(*given)
        X = np.array([[1, 0, NAN], [1, 1, 0], [0, 0, 0], [NAN, 1, 1]])
        codes = np.array([0, 0, 1, 1])
        logs = []
        for x, u in zip(X, codes, strict=True):
            for i, j in combinations(range(3), 2):
                if not np.isnan([x[i], x[j]]).any():
                    h, k = -t[u, i], -t[u, j]
                    both = twin.cdf(h, k, C[u, i, j])
                    table = {(1, 1): both, (1, 0): ndtr(h) - both, (0, 1): ndtr(k) - both}
                    table[0, 0] = 1 - sum(table.values())
                    logs.append(np.log(table[int(x[i]), int(x[j])]))
        assert pair_score(BinaryData.of(X), codes, t, C) == pytest.approx(np.mean(logs))

    def test_select_order_chooses_the_number_and_has_baselines(self):
        found = select_order(
            BinaryICA(n_init=1, random_state=0), THREE.X, [2, 3, 4], segments=THREE.segments, n_folds=3, random_state=0
        )
        assert found.table["n_components"].tolist() == [0, 1, 2, 3, 4]
        assert found.best_order == 3
        assert found.best_model.mixing_.shape == (8, 3)
        assert found.table["pairs"].idxmin() == 0, "independent columns are the worst"
        assert found.plot().axes

    def test_select_order_gives_the_same_on_two_threads_and_with_windows(self):
        one, two = (
            select_order(BinaryICA(n_init=1), TRUTH.X, 2, segments=s, n_folds=2, random_state=0, n_jobs=jobs)
            for s, jobs in ((TRUTH.segments, 1), (10, 2))
        )
        np.testing.assert_array_equal(one.table["pairs"], two.table["pairs"])

    def test_select_order_refuses_what_makes_no_sense(self):
        from latentbits import BernoulliMixture

        with pytest.raises(DataError, match="BernoulliMixture knows no segments"):
            select_order(BernoulliMixture(), TRUTH.X, 2, segments=TRUTH.segments)
        with pytest.raises(DataError, match="BinaryICA has no aic"):
            select_order(BinaryICA(), TRUTH.X, 2, segments=TRUTH.segments, criterion="aic")
        with pytest.warns(UserWarning, match="numbers of sources above 6, the number of columns, were left out"):
            select_order(BinaryICA(n_init=1), TRUTH.X, [1, 20], segments=TRUTH.segments, n_folds=2)
        with pytest.raises(DataError, match="at most the number of rows of the smallest segment, 1"):
            select_order(BinaryICA(), TRUTH.X[:4], 2, segments=[0, 0, 0, 1], n_folds=2)

    def test_stability_of_sources(self):
        model = BinaryICA(3, n_init=3, random_state=0).fit(THREE.X, segments=THREE.segments)
        assert (component_stability(model) > 0.99).all()
        model.restart_components_[:] = np.random.default_rng(0).standard_normal(model.restart_components_.shape)
        assert component_stability(model).max() < 0.9


class TestBootstrap:
    def test_intervals_cover_the_truth_and_shrink_with_rows(self, three):
        found = three.bootstrap(THREE.X, THREE.segments, n_samples=20)
        fitted = Parameters(three.mixing_, three.source_means_, three.source_scales_)
        given = canonical(Parameters(THREE.mixing, THREE.means, THREE.scales), np.full(10, 0.1))
        truth = aligned(given, fitted)
        inside = (found.mixing.low <= truth.mixing) & (truth.mixing <= found.mixing.high)
        assert 0.7 < inside.mean() <= 1
        assert found.variances.se.shape == (10, 3)
        assert found.to_frame()["se"].tolist() == found.mixing.se.ravel().tolist()
        third = np.arange(len(THREE.X)) % 3 == 0
        part = BinaryICA(3, n_init=2, random_state=0).fit(THREE.X[third], segments=THREE.segments[third])
        wider = part.bootstrap(THREE.X[third], THREE.segments[third], n_samples=20)
        assert np.median(wider.mixing.se) > 1.3 * np.median(found.mixing.se)

    def test_the_same_on_two_threads(self, three):
        again = BinaryICA(3, n_init=2, random_state=0, n_jobs=2).fit(THREE.X, segments=THREE.segments)
        for a, b in zip(
            *(m.bootstrap(THREE.X, THREE.segments, n_samples=3).mixings for m in (three, again)), strict=True
        ):
            np.testing.assert_array_equal(a, b)

    @pytest.mark.parametrize(("spread", "confused"), [(0.0, [(0, 1)]), (0.4, [])])
    def test_sources_whose_scales_do_not_change_are_not_told_apart(self, spread, confused):
        rng = np.random.default_rng(7)
        scales = np.exp(spread * rng.standard_normal((12, 2)))[np.repeat(np.arange(12), 200)]
        X = rng.random((2400, 8)) < 1 / (
            1 + np.exp(-scales * rng.standard_normal((2400, 2)) @ rng.uniform(-2, 2, (2, 8)))
        )
        model = BinaryICA(2, n_init=2, random_state=0).fit(X.astype(int), segments=12)
        found = model.bootstrap(X.astype(int), 12, n_samples=20)
        assert found.confused() == confused
        assert (found.separation() == found.separation().T).all()

    def test_it_shrinks_as_the_fit_did(self):
        """Fits that shrink otherwise lie elsewhere: intervals around the fit would be of another model."""
        model = BinaryICA(3, condition_number=3, n_init=2, random_state=0).fit(THREE.X, segments=THREE.segments)
        found = model.bootstrap(THREE.X, THREE.segments, n_samples=20)
        gap = np.abs(found.mixings.mean(axis=0) - model.mixing_) / found.mixing.se
        assert np.median(gap) < 1

    def test_alignment_undoes_order_and_sign(self):
        given = random_parameters(5, 3, 2)
        turned = Parameters(-given.mixing[:, [2, 0, 1]], -given.means[:, [2, 0, 1]], given.scales[:, [2, 0, 1]])
        for a, b in zip(aligned(turned, given), given, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_other_forms_are_refused(self):
        model = BinaryICA(2, shrinkage="published", n_init=1, random_state=0).fit(TRUTH.X, segments=TRUTH.segments)
        with pytest.raises(DataError, match="fit that form"):
            model.bootstrap(TRUTH.X, TRUTH.segments)


@pytest.mark.filterwarnings("ignore:20 segments with 3.0 rows", "ignore:constant columns")
@pytest.mark.parametrize("n_rows", [3, 300])
def test_intervals_of_variances_cover_with_few_and_with_many_rows(n_rows):
    covered = []
    for seed in (21, 22):
        truth = simulated.binary_ica(n_rows, 6, 2, 20, random_state=seed)
        model = BinaryICA(2, n_init=2, random_state=0).fit(truth.X, segments=truth.segments)
        right = canonical(Parameters(truth.mixing, truth.means, truth.scales), np.full(20, 1 / 20))
        right = aligned(right, model._parameters()).scales ** 2
        found = model.bootstrap(truth.X, truth.segments, n_samples=20).variances
        assert (found.low > 0).all()
        np.testing.assert_allclose(found.high / found.estimate, found.estimate / found.low, rtol=1e-9)
        covered.append((found.low < right) & (right < found.high))
    assert 0.75 < np.mean(covered) < 0.99
