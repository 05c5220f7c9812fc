"""Simulated truth has the distribution it claims; noise changes what it says and nothing else.

Statistical checks have fixed seeds and allow 5 standard errors.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from latentbits import simulate
from latentbits.simulate import add_noise, add_ones, add_zeros, aspect_bernoulli, corrode, repeated_surveys

NOISES = [add_zeros, add_ones, corrode]
TABLES = arrays(float, st.tuples(st.integers(0, 5), st.integers(1, 9)), elements=st.sampled_from([0, 1, np.nan]))


def assert_within_5_standard_errors(sample, mean):
    sample = np.asarray(sample, dtype=float)
    error = sample.std(ddof=1) / np.sqrt(len(sample))
    assert error > 0
    assert abs(sample.mean() - mean) < 5 * error


def test_public_names():
    assert sorted(simulate.__all__) == [
        "AspectTruth",
        "BinaryFactorsTruth",
        "BinaryICATruth",
        "FalseCells",
        "ICAMixtureTruth",
        "IsingTruth",
        "Noisy",
        "ProbitFactorsTruth",
        "SurveyTruth",
        "add_noise",
        "add_ones",
        "add_zeros",
        "aspect_bernoulli",
        "binary_factors",
        "binary_ica",
        "corrode",
        "ica_mixture",
        "ising",
        "probit_factors",
        "repeated_surveys",
    ]
    assert all(callable(getattr(simulate, name)) for name in simulate.__all__)


class TestAspectBernoulli:
    def test_shapes_types_and_ranges(self):
        truth = aspect_bernoulli(30, 12, 4, random_state=0)
        assert truth.X.shape == truth.causes.shape == (30, 12)
        assert truth.X.dtype == np.int8
        assert set(np.unique(truth.X)) == {0, 1}
        assert truth.weights.shape == (30, 4)
        assert truth.components.shape == (4, 12)
        np.testing.assert_allclose(truth.weights.sum(axis=1), 1)
        assert truth.components.min() >= 0
        assert truth.components.max() <= 1
        assert set(np.unique(truth.causes)) == {0, 1, 2, 3}
        np.testing.assert_array_equal(truth.probabilities, truth.weights @ truth.components)

    def test_same_seed_same_data(self):
        first, again, other = (aspect_bernoulli(20, 10, 3, random_state=seed) for seed in (4, 4, 5))
        for name in ("X", "weights", "components", "causes"):
            np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
            assert (getattr(first, name) != getattr(other, name)).any()

    def test_cells_follow_their_cause(self):
        truth = aspect_bernoulli(4000, 5, 3, sharpness=4.0, random_state=1)
        for k in range(3):
            for j in range(5):
                cells = truth.X[truth.causes[:, j] == k, j]
                assert_within_5_standard_errors(cells, truth.components[k, j])

    def test_causes_follow_the_weights(self):
        truth = aspect_bernoulli(40, 5000, 3, random_state=2)
        share = np.stack([(truth.causes == k).mean(axis=1) for k in range(3)], axis=1)
        error = np.sqrt(truth.weights * (1 - truth.weights) / 5000)
        # The last term is one cell's worth, for weights so small that the normal limit fails.
        assert (np.abs(share - truth.weights) < 5 * error + 1 / 5000).all()

    def test_cells_follow_the_probabilities(self):
        truth = aspect_bernoulli(300, 200, 4, random_state=3)
        assert_within_5_standard_errors((truth.X - truth.probabilities).ravel(), 0)

    def test_weights_are_dirichlet(self):
        weights = aspect_bernoulli(20000, 1, 4, concentration=2.0, random_state=4).weights
        assert_within_5_standard_errors(weights[:, 0], 1 / 4)
        # Var of a symmetric Dirichlet: (K - 1) / (K^2 (K a + 1)).
        assert_within_5_standard_errors((weights[:, 0] - 1 / 4) ** 2, 3 / (16 * 9))

    def test_components_are_beta(self):
        components = aspect_bernoulli(1, 20000, 1, density=0.2, sharpness=3.0, random_state=5).components
        assert_within_5_standard_errors(components[0], 0.2)
        # Var of Beta(m s, (1 - m) s): m (1 - m) / (s + 1).
        assert_within_5_standard_errors((components[0] - 0.2) ** 2, 0.2 * 0.8 / 4)

    def test_default_components_are_well_separated(self):
        components = aspect_bernoulli(1, 200, 6, random_state=6).components
        distance = np.abs(components[:, None] - components[None]).mean(axis=2)
        assert distance[~np.eye(6, dtype=bool)].min() > 0.25

    @pytest.mark.parametrize(
        ("white", "black", "constant"),
        [(True, False, {3: 0}), (False, True, {3: 1}), (True, True, {2: 0, 3: 1}), (False, False, {})],
    )
    def test_phantoms_are_the_last_components(self, white, black, constant):
        truth = aspect_bernoulli(50, 20, 4, white_phantom=white, black_phantom=black, random_state=0)
        for k in range(4):
            if k in constant:
                assert (truth.components[k] == constant[k]).all()
                assert (truth.X[truth.causes == k] == constant[k]).all()
                assert (truth.causes == k).any()
            else:
                assert 0.1 < truth.components[k].mean() < 0.9

    def test_missing_cells_hide_the_same_data(self):
        full = aspect_bernoulli(400, 50, 3, random_state=7)
        holed = aspect_bernoulli(400, 50, 3, missing=0.3, random_state=7)
        assert holed.X.dtype == np.float64
        hidden = np.isnan(holed.X)
        assert_within_5_standard_errors(hidden.ravel(), 0.3)
        np.testing.assert_array_equal(holed.X[~hidden], full.X[~hidden])
        np.testing.assert_array_equal(holed.causes, full.causes)

    def test_one_component(self):
        truth = aspect_bernoulli(3, 2, 1, random_state=0)
        assert (truth.causes == 0).all()
        np.testing.assert_array_equal(truth.weights, np.ones((3, 1)))

    @pytest.mark.parametrize(
        ("sizes", "options", "message"),
        [
            ((0, 5, 2), {}, "n_rows is 0"),
            ((5, 0, 2), {}, "n_columns is 0"),
            ((5, 5, 0), {}, "n_components is 0"),
            ((5, 5, 1), {"white_phantom": True, "black_phantom": True}, "too few for 2 noise components"),
            ((5, 5, 2), {"concentration": 0.0}, "concentration is 0.0"),
            ((5, 5, 2), {"sharpness": np.nan}, "sharpness is nan"),
            ((5, 5, 2), {"density": 1.0}, "density is 1.0"),
            ((5, 5, 2), {"missing": 1.0}, "missing is 1.0"),
            ((5, 5, 2), {"missing": -0.1}, "missing is -0.1"),
        ],
    )
    def test_bad_input(self, sizes, options, message):
        with pytest.raises(ValueError, match=message):
            aspect_bernoulli(*sizes, **options)


class TestNoise:
    @settings(max_examples=60, deadline=None)
    @given(table=TABLES, u=st.floats(0, 1), noise=st.sampled_from(NOISES), seed=st.integers(0, 99))
    def test_mask_says_exactly_what_changed(self, table, u, noise, seed):
        before = table.copy()
        noisy = noise(table, u, random_state=seed)
        np.testing.assert_array_equal(table, before)
        assert not np.shares_memory(noisy.X, table)
        missing = np.isnan(table)
        np.testing.assert_array_equal(np.isnan(noisy.X), missing)
        np.testing.assert_array_equal(noisy.changed, (table != noisy.X) & ~missing)
        assert (noisy.X[noisy.changed] == (noise is add_ones)).all()
        assert ((noisy.share >= 0) & (noisy.share <= u)).all()

    @pytest.mark.parametrize(("noise", "start"), [(add_zeros, 1), (add_ones, 0), (corrode, 1)])
    @pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32])
    def test_counts_and_dtype(self, noise, start, dtype):
        clean = np.full((200, 37), start, dtype=dtype)
        noisy = noise(clean, 0.6, random_state=0)
        assert noisy.X.dtype == dtype
        np.testing.assert_array_equal(noisy.changed.sum(axis=1), np.rint(noisy.share * 37))
        assert noisy.changed.any()

    def test_corrode_counts_the_ones_only(self):
        rng = np.random.default_rng(0)
        clean = (rng.random((200, 50)) < rng.random((200, 1))).astype(np.int8)
        noisy = corrode(clean, random_state=1)
        np.testing.assert_array_equal(noisy.changed.sum(axis=1), np.rint(noisy.share * clean.sum(axis=1)))

    def test_add_zeros_falls_on_all_cells(self):
        # With half of the cells 0, half of the chosen cells change, rather than all.
        clean = np.tile([0, 1], (2000, 50))
        noisy = add_zeros(clean, 0.8, random_state=2)
        assert_within_5_standard_errors(noisy.changed.mean(axis=1) - noisy.share / 2, 0)

    @pytest.mark.parametrize("noise", NOISES)
    def test_share_is_uniform(self, noise):
        share = noise(np.ones((5000, 2)), 0.4, random_state=3).share
        assert_within_5_standard_errors(share, 0.2)
        assert_within_5_standard_errors((share - 0.2) ** 2, 0.4**2 / 12)

    @pytest.mark.parametrize(("noise", "start"), [(add_zeros, 1), (add_ones, 0), (corrode, 1)])
    def test_no_column_is_preferred(self, noise, start):
        changed = noise(np.full((3000, 8), start), 1.0, random_state=4).changed
        for column in changed.T:
            assert_within_5_standard_errors(column, 0.5)

    def test_zeros_and_ones_mirror(self):
        clean = aspect_bernoulli(60, 30, 3, missing=0.1, random_state=0).X
        ones = add_ones(clean, 0.7, random_state=5)
        zeros = add_zeros(1 - clean, 0.7, random_state=5)
        np.testing.assert_array_equal(ones.X, 1 - zeros.X)
        np.testing.assert_array_equal(ones.changed, zeros.changed)
        assert ones.changed.any()

    @pytest.mark.parametrize("noise", NOISES)
    def test_no_noise_changes_nothing(self, noise):
        clean = aspect_bernoulli(20, 10, 3, random_state=0).X
        noisy = noise(clean, 0.0, random_state=0)
        np.testing.assert_array_equal(noisy.X, clean)
        assert not noisy.changed.any()

    @pytest.mark.parametrize("noise", NOISES)
    def test_seed_fixes_the_noise(self, noise):
        clean = aspect_bernoulli(40, 20, 3, random_state=0).X
        first, again, other = (noise(clean, 0.9, random_state=seed).X for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()

    @pytest.mark.parametrize("noise", NOISES)
    @pytest.mark.parametrize("u", [-0.1, 1.1, np.nan])
    def test_bad_share(self, noise, u):
        with pytest.raises(ValueError, match=f"u is {u}"):
            noise([[0, 1]], u)

    @pytest.mark.parametrize("noise", NOISES)
    @pytest.mark.parametrize(
        ("X", "message"), [([[0, 2]], r"X\[0, 1\] is 2"), ([0, 1], "1 dimensions"), ([["a"]], "dtype")]
    )
    def test_bad_table(self, noise, X, message):
        with pytest.raises(ValueError, match=message):
            noise(X, 0.5)


class TestNoiseByRowAndColumn:
    MIXED = np.random.default_rng(0).integers(0, 2, (400, 300)).astype(np.int8)

    @given(
        table=TABLES,
        white=st.sampled_from([0.0, 0.5, 1.0]),
        black=st.sampled_from([0.0, 0.7]),
        by=st.sampled_from(["row", "column", "both"]),
        noisy_rows=st.sampled_from([0.0, 0.5, 1.0]),
        seed=st.integers(0, 9),
    )
    @settings(deadline=None)
    def test_masks_say_exactly_what_changed(self, table, white, black, by, noisy_rows, seed):
        before = table.copy()
        noisy = add_noise(table, white=white, black=black, by=by, noisy_rows=noisy_rows, random_state=seed)
        np.testing.assert_array_equal(table, before)
        np.testing.assert_array_equal(noisy.lost, (table == 1) & (noisy.X == 0))
        np.testing.assert_array_equal(noisy.added, (table == 0) & (noisy.X == 1))
        np.testing.assert_array_equal(np.isnan(noisy.X), np.isnan(table))
        assert not noisy.lost.any() or (white > 0 and noisy_rows > 0)
        assert not noisy.added.any() or (black > 0 and noisy_rows > 0)

    @pytest.mark.parametrize(("by", "expected"), [("row", 0.2), ("column", 0.2), ("both", 1 - 0.8 * 0.8)])
    def test_mean_rates(self, by, expected):
        noisy = add_noise(self.MIXED, white=0.4, by=by, random_state=1)
        rates = noisy.lost.sum(axis=1) / self.MIXED.sum(axis=1)
        if by == "column":
            rates = noisy.lost.sum(axis=0) / self.MIXED.sum(axis=0)
        if by == "both":  # rows share the columns' rates, so columns are what varies
            rates = np.array(
                [
                    add_noise(self.MIXED[:50, :50], white=0.4, by=by, random_state=seed).lost.sum()
                    / self.MIXED[:50, :50].sum()
                    for seed in range(40)
                ]
            )
        assert_within_5_standard_errors(rates, expected)

    @pytest.mark.parametrize(("by", "varying", "steady"), [("row", 1, 0), ("column", 0, 1)])
    def test_rates_differ_where_it_says(self, by, varying, steady):
        hit = add_noise(np.ones((400, 400)), white=0.6, by=by, random_state=0).lost
        assert hit.mean(axis=varying).std() > 0.15
        assert hit.mean(axis=steady).std() < 0.03

    def test_a_share_of_the_rows(self):
        hit = add_noise(np.zeros((1000, 200)), black=0.5, noisy_rows=0.4, random_state=0).added.any(axis=1)
        assert_within_5_standard_errors(hit, 0.4)

    def test_ones_and_zeros_mirror(self):
        white = add_noise(self.MIXED, white=0.3, by="both", random_state=3)
        assert white.added.sum() == 0
        black = add_noise(self.MIXED, black=0.3, by="both", random_state=3)
        assert black.lost.sum() == 0
        assert black.X.dtype == self.MIXED.dtype

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"white": 1.5}, "white is 1.5; it is a probability from 0 to 1."),
            ({"black": -0.1}, "black is -0.1; it is a probability"),
            ({"noisy_rows": 2}, "noisy_rows is 2; it is a probability"),
            ({"by": "cell"}, 'by is \'cell\'; use "row", "column" or "both".'),
        ],
    )
    def test_bad_input(self, options, message):
        with pytest.raises(ValueError, match=message):
            add_noise([[0, 1]], **options)


class TestIsing:
    def test_rows_have_the_probabilities_of_the_model(self):
        truth = simulate.ising(40_000, 3, density=1.0, random_state=0)
        weight = {}
        for a in (0, 1):
            for b in (0, 1):
                for c in (0, 1):
                    x, J = np.array([a, b, c]), truth.couplings
                    energy = truth.bias @ x + J[0, 1] * a * b + J[0, 2] * a * c + J[1, 2] * b * c
                    weight[a, b, c] = np.exp(energy)
        total = sum(weight.values())
        for state, value in weight.items():
            assert_within_5_standard_errors((state == truth.X).all(axis=1), value / total)
        np.testing.assert_allclose(truth.means, sum(np.array(x) * w for x, w in weight.items()) / total)

    def test_balanced_by_default(self):
        truth = simulate.ising(10, 6, random_state=1)
        np.testing.assert_allclose(truth.means, 0.5)
        assert np.abs(truth.couplings).max() > 0.5
        np.testing.assert_array_equal(truth.couplings, truth.couplings.T)

    def test_same_seed_same_data(self):
        a, b, c = (simulate.ising(50, 5, random_state=seed).X for seed in (0, 0, 1))
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_columns": 17}, "use at most 16"),
            ({"n_columns": 0}, "n_columns=0"),
            ({"density": 2}, "from 0 to 1"),
            ({"strength": -1}, "strength=-1"),
            ({"couplings": np.ones((3, 3))}, "0 on the diagonal"),
            ({"couplings": [[0, 1, 0], [0, 0, 0], [0, 0, 0]]}, "symmetric"),
            ({"couplings": np.zeros((2, 2))}, "3 x 3"),
            ({"couplings": [[0, np.inf, 0], [np.inf, 0, 0], [0, 0, 0]]}, "finite"),
        ],
    )
    def test_impossible_arguments_are_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            simulate.ising(**{"n_rows": 5, "n_columns": 3, **arguments})


class TestRepeatedSurveys:
    def test_shapes_and_types(self):
        truth = repeated_surveys(30, 7, 4, random_state=0)
        assert truth.histories.shape == (30, 4, 7)
        assert truth.histories.dtype == np.int8
        assert truth.expected.shape == truth.abundance.shape == truth.presence.shape == (30, 7)
        assert truth.rates.tolist() == [0.4] * 7

    def test_only_what_is_there_is_seen(self):
        truth = repeated_surveys(200, 10, 3, random_state=1)
        assert not truth.histories.any(axis=1)[~truth.presence].any()
        assert truth.presence.any()
        assert np.array_equal(truth.presence, truth.abundance > 0)

    def test_individuals_and_sightings_have_the_stated_probabilities(self):
        rates = np.linspace(0.1, 0.9, 30)
        truth = repeated_surveys(2000, 30, 2, abundance=1.5, rate=rates, random_state=2)
        assert_within_5_standard_errors((truth.abundance - truth.expected).ravel(), 0)
        for number in (1, 3):
            cells = truth.abundance == number
            expected = np.broadcast_to(1 - (1 - rates) ** number, cells.shape)[cells]
            for visit in range(2):
                assert_within_5_standard_errors(truth.histories[:, visit][cells] - expected, 0)

    def test_unmade_visits_miss_all_species_and_change_nothing_else(self):
        complete = repeated_surveys(300, 5, 3, random_state=3).histories
        survey = repeated_surveys(300, 5, 3, unmade=0.3, random_state=3).histories
        unmade = np.isnan(survey)
        assert np.array_equal(unmade.any(axis=2), unmade.all(axis=2))
        assert_within_5_standard_errors(unmade[:, :, 0].ravel(), 0.3)
        assert np.array_equal(survey[~unmade], complete[~unmade])

    def test_same_seed_same_survey(self):
        first, second = (repeated_surveys(20, 5, 3, random_state=4).histories for _ in range(2))
        assert np.array_equal(first, second)
        assert not np.array_equal(first, repeated_surveys(20, 5, 3, random_state=5).histories)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_visits": 0}, "n_visits is 0; it must be at least 1."),
            ({"rate": 0.0}, "rate is 0.0; it must be above 0 and at most 1."),
            ({"abundance": -1}, "abundance is -1; it must be positive and finite."),
            ({"unmade": 1.0}, "unmade is 1.0; it is a probability from 0 to below 1."),
        ],
    )
    def test_bad_input(self, options, message):
        with pytest.raises(ValueError, match=message):
            repeated_surveys(**{"n_sites": 3, "n_species": 2, "n_visits": 2, **options})


class TestProbitFactors:
    def test_shapes_types_and_probabilities(self):
        truth = simulate.probit_factors(30, 12, 2, row_effect=0.5, random_state=0)
        assert truth.X.dtype == np.int8
        assert set(np.unique(truth.X)) == {0, 1}
        many = simulate.probit_factors(2000, 30, 2, row_effect=0.5, random_state=0)
        assert abs(np.mean(many.X - many.probabilities)) < 4 * 0.5 / np.sqrt(many.X.size)
        assert many.row_effects.std() == pytest.approx(0.5, rel=0.1)

    def test_missing_cells_and_no_row_effects(self):
        truth = simulate.probit_factors(200, 20, 1, missing=0.25, random_state=0)
        assert np.isnan(truth.X).mean() == pytest.approx(0.25, abs=0.03)
        np.testing.assert_array_equal(truth.row_effects, 0)

    @pytest.mark.parametrize("bad", [{"loading": -1.0}, {"missing": 1.0}, {"row_effect": -0.1}, {"bias": (0.0, -1.0)}])
    def test_impossible_sizes_are_refused(self, bad):
        with pytest.raises(ValueError, match=next(iter(bad))):
            simulate.probit_factors(5, 4, 2, **bad)
