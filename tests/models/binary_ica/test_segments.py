"""Binary ICA: segments of rows, and how many of them the mixing takes."""

import warnings

import numpy as np
import pandas as pd
import pytest

from latentbits import load_model, parallel_analysis, plots, save_model
from latentbits import simulate as simulated
from latentbits.data.binary_data import BinaryData
from latentbits.data.segments import segments_by_length
from latentbits.errors import DataError
from latentbits.models.binary_ica.estimator import BinaryICA
from latentbits.models.binary_ica.identifiability import (
    Rank,
    correlation_jacobian,
    identifiability,
    identifiability_rank,
    mean_cosine_similarity,
    most_sources,
    rows_needed,
)
from latentbits.models.binary_ica.judgement import windows_differ
from latentbits.models.binary_ica.learners import segment_correlations
from latentbits.models.binary_ica.parameters import correlations
from latentbits.wording import counted
from tests.models.binary_ica.tools import NAN, TRUTH, random_parameters


class TestIdentifiability:
    TABLE_1 = """
        -6 -9 -12 -15 -18 -21 -24 -27 -30
        -7 -9 -10 -10 -9 -7 -4 0 5
        -8 -9 -8 -5 0 7 16 27 40
        -9 -9 -6 0 9 21 36 54 75
        -10 -9 -4 5 18 35 56 81 110"""

    def test_equals_table_1_of_the_paper(self):
        table = np.array(self.TABLE_1.split(), dtype=int).reshape(5, 9)
        ours = [[identifiability(n, n, U, published=True) for n in range(2, 11)] for U in range(2, 7)]
        np.testing.assert_array_equal(ours, table)

    @pytest.mark.parametrize(("n", "m", "U"), [(5, 5, 4), (7, 7, 3), (4, 4, 6), (3, 2, 3), (6, 2, 3), (4, 4, 5)])
    def test_the_count_is_negative_where_the_rank_falls_short(self, n, m, U):
        rank, unknowns = identifiability_rank(n, m, U)
        assert unknowns == n * m + U * m - m
        assert (rank == unknowns) == (identifiability(n, m, U) >= 0)

    @pytest.mark.parametrize(("n", "U"), [(4, 6), (5, 4), (7, 3), (8, 3)])
    def test_full_rank_where_the_papers_count_is_negative(self, n, U):
        """So the mixing is identifiable (locally) in cells of Table 1 that the paper deems not to be."""
        rank, unknowns = identifiability_rank(n, n, U)
        assert identifiability(n, n, U, published=True) < 0
        assert rank == unknowns

    def test_the_rank_sees_what_the_count_does_not(self):
        assert identifiability(10, 3, 1) > 0
        assert identifiability_rank(10, 3, 1) == Rank(27, 30), "a rotation of three sources has three angles"
        assert identifiability(3, 2, 3, published=True) == 0
        assert identifiability_rank(3, 2, 3) == Rank(9, 10)

    def test_the_jacobian_equals_finite_differences(self):
        given = random_parameters(4, 2, 3)
        A, log_s = given.mixing, np.log(given.scales)
        x = np.concatenate([A.ravel(), log_s.ravel()])

        def correlations_at(x):
            B = x[:8].reshape(4, 2) * np.exp(x[8:].reshape(3, 1, 2))
            return correlations(B)[:, *np.triu_indices(4, 1)].ravel()

        J = correlation_jacobian(A, log_s)
        step = 1e-6 * np.eye(len(x))
        numeric = np.stack([(correlations_at(x + e) - correlations_at(x - e)) / 2e-6 for e in step], axis=1)
        np.testing.assert_allclose(J, numeric, atol=1e-8)

    @pytest.mark.filterwarnings("ignore:constant columns")
    def test_fit_warns_of_what_cannot_be_identified(self):
        with (
            pytest.warns(UserWarning, match="4 columns in 4 segments are few for 4 sources"),
            pytest.warns(
                UserWarning, match="250.0 rows each on average are too few for 4 sources of 4 columns, .* 300"
            ),
        ):
            BinaryICA(4, n_init=1, random_state=0).fit(TRUTH.X[:, :4], segments=4)
        with pytest.warns(UserWarning, match="with two columns the order of its rows is not identifiable"):
            BinaryICA(1, n_init=1, random_state=0).fit(TRUTH.X[:, :2], segments=10)
        with pytest.warns(UserWarning, match="one segment does not identify the sources' rotation"):
            BinaryICA(2, n_init=1, n_segments=1, random_state=0).fit(TRUTH.X)
        with pytest.warns(UserWarning, match="30 segments with 2.0 rows each on average are too few for 1 source of"):
            BinaryICA(1, n_init=1, random_state=0).fit(TRUTH.X[:60], segments=30)

    @pytest.mark.parametrize(
        ("n", "U", "rows", "expected"),
        [
            (12, 10, 300, 6),
            (12, 10, 50, 6),
            (12, 10, 49.9, 4),
            (12, 10, 1, 4),
            (12, 1, 1000, 1),
            (3, 10, 10, 1),
            (2, 10, 10, 1),
            (1, 10, 1000, 1),
            (5, 2, 100, 2),
        ],
    )
    def test_the_largest_default_number_of_sources(self, n, U, rows, expected):
        K = most_sources(n, U, rows)
        assert expected == K
        assert K == 1 or identifiability(n, K, U) >= 0
        assert rows < 5 or rows >= rows_needed(n, K)

    @pytest.mark.parametrize("n_sources", [1, 2, 4])
    def test_the_default_is_what_parallel_analysis_finds(self, n_sources):
        truth = simulated.binary_ica(300, 10, n_sources, 10, random_state=1)
        text = f"parallel analysis finds {counted(n_sources, 'source')} behind 10 columns in 10 segments, so"
        with pytest.warns(UserWarning, match=text):
            model = BinaryICA(n_init=1, random_state=0).fit(truth.X, segments=truth.segments)
        assert model.mixing_.shape == (10, n_sources)

    @pytest.mark.parametrize("seed", [5, 9])
    def test_scales_that_change_between_segments_are_no_further_source(self, seed):
        truth = simulated.binary_ica(200, 8, 2, 20, random_state=seed)
        assert parallel_analysis(truth.X, truth.segments).n_factors == 3
        with pytest.warns(UserWarning, match="parallel analysis finds 2 sources"):
            BinaryICA(n_init=1, random_state=0).fit(truth.X, segments=truth.segments)

    def test_coin_flips_have_no_source(self):
        X = np.random.default_rng(0).integers(0, 2, (1000, 8))
        with pytest.warns(UserWarning, match="parallel analysis finds no source behind 8 columns in 5 segments"):
            model = BinaryICA(random_state=0).fit(X, segments=5)
        assert model.n_components_ == 0
        assert model.transform(X).shape == model.posterior_sd(X, 5).shape == (1000, 0)
        assert model.score(X) == pytest.approx(-8 * np.log(2), abs=0.02)
        assert model.score(X, segments=5) == pytest.approx(model.score(X))
        assert model.inverse_transform(np.zeros((2, 0))).shape == (2, 8)
        np.testing.assert_allclose(model.sample(4000, random_state=0).mean(axis=0), 0.5, atol=0.06)
        assert model.goodness_of_fit(X, 5).rms_z < 1.2
        assert model.bootstrap(X, 5, n_samples=2).mixing.low.shape == (8, 0)

    @pytest.mark.filterwarnings("ignore:parallel analysis finds no source")
    def test_a_model_without_sources_is_stored(self, tmp_path):
        X = np.random.default_rng(0).integers(0, 2, (200, 4))
        model = BinaryICA(random_state=0).fit(X, segments=2)
        save_model(model, tmp_path / "none.zip")
        assert load_model(tmp_path / "none.zip").score(X) == model.score(X)

    def test_a_number_that_is_given_is_taken_in_silence(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = BinaryICA(3, n_init=1, random_state=0).fit(TRUTH.X, segments=TRUTH.segments)
        assert model.mixing_.shape == (6, 3)

    def test_similarity_is_free_of_scale_sign_and_order(self):
        A = random_parameters(5, 3, 1).mixing
        assert mean_cosine_similarity(A, -2 * A[:, [2, 0, 1]]) == pytest.approx(1)
        assert mean_cosine_similarity(A, A[:, :2]) == pytest.approx(2 / 3)
        assert mean_cosine_similarity([[1, 0], [0, 1]], [[1, 0], [1, 0]]) == pytest.approx(0.5**0.5 / 2)
        with pytest.raises(ValueError, match="same variables"):
            mean_cosine_similarity(A, A[:3])


class TestSegments:
    def test_by_length(self):
        lengths = np.bincount(segments_by_length(103, 10))
        assert lengths.sum() == 103
        assert set(lengths.tolist()) == {10, 11}
        assert (np.diff(segments_by_length(103, 10)) >= 0).all()
        with pytest.raises(DataError, match="at most 3"):
            segments_by_length(3, 4)

    def test_none_cuts_the_series_into_n_segments_and_says_whether_they_differ(self, model):
        with pytest.warns(UserWarning, match="1,000 rows were cut, in their order, into 10 windows, between which"):
            cut = BinaryICA(2, n_init=2, random_state=0).fit(TRUTH.X)
        np.testing.assert_array_equal(cut.mixing_, model.mixing_)
        mixed = np.random.default_rng(0).permutation(TRUTH.X)
        with pytest.warns(UserWarning, match="no more than between random groups of rows .* rotation of the sources"):
            cut = BinaryICA(2, n_init=1, n_segments=4, random_state=0).fit(mixed)
        assert cut.segments_.tolist() == [0, 1, 2, 3]

    def test_windows_of_rows_in_random_order_rarely_differ(self):
        p = []
        for seed in range(20):
            data = BinaryData.of(np.random.default_rng(seed).permutation(TRUTH.X)[:400])
            codes = segments_by_length(400, 4)
            p.append(windows_differ(segment_correlations(data, codes), data, codes, n_draws=19))
        assert 0.25 < np.mean(p) < 0.8
        assert np.sum(np.array(p) <= 0.05) <= 4

    def test_epochs_are_segments(self, model):
        epochs = TRUTH.X.reshape(10, 100, -1)
        cut = BinaryICA(2, n_init=2, random_state=0).fit(epochs)
        np.testing.assert_array_equal(cut.mixing_, model.mixing_)
        np.testing.assert_array_equal(cut.transform(epochs), model.transform(TRUTH.X, segments=TRUTH.segments))
        named = BinaryICA(2, n_init=2, random_state=0).fit(epochs, segments=[f"day {u}" for u in range(10)])
        assert named.segments_.tolist() == [f"day {u}" for u in range(10)]
        np.testing.assert_array_equal(named.mixing_, model.mixing_)

    def test_a_number_cuts_the_series_into_so_many_windows(self, model):
        cut = BinaryICA(2, n_init=2, random_state=0).fit(TRUTH.X, segments=10)
        np.testing.assert_array_equal(cut.mixing_, model.mixing_)
        known = model.transform(TRUTH.X, segments=TRUTH.segments)
        np.testing.assert_array_equal(cut.transform(TRUTH.X, segments=10), known)
        with pytest.raises(DataError, match="at most 3"):
            BinaryICA(2).fit(TRUTH.X[:3], segments=4)

    def test_labels_of_any_type_give_the_same_model(self, model):
        names = np.array([f"year {u:02}" for u in TRUTH.segments])
        for labels in (names, names.astype(object), names.tolist(), pd.Series(names), TRUTH.segments * 0.5):
            again = BinaryICA(2, n_init=2, random_state=0).fit(TRUTH.X, segments=labels)
            np.testing.assert_array_equal(again.mixing_, model.mixing_)
        assert again.transform(TRUTH.X[:3], segments=[0.5, 0.5, 0.0]).shape == (3, 2)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_a_column_of_the_frame(self, model, library):
        frames = pytest.importorskip(library)
        columns = {f"c{j}": TRUTH.X[:, j] for j in range(6)}
        columns["year"] = np.array([f"y{u}" for u in TRUTH.segments])
        frame = frames.DataFrame(columns)
        again = BinaryICA(2, n_init=2, random_state=0).fit(frame, segments="year")
        np.testing.assert_array_equal(again.mixing_, model.mixing_)
        assert again.feature_names_in_.tolist() == [f"c{j}" for j in range(6)]
        np.testing.assert_array_equal(
            again.transform(frame, segments="year"), model.transform(TRUTH.X, segments=TRUTH.segments)
        )

    def test_refusals_name_the_way_out(self, model):
        estimator = BinaryICA(2)
        with pytest.raises(DataError, match="one label for each of 1,000 rows"):
            estimator.fit(TRUTH.X, segments=[1, 2])
        with pytest.raises(DataError, match="row 2 has no segment"):
            estimator.fit(TRUTH.X[:3], segments=["a", None, "b"])
        with pytest.raises(DataError, match="can't be sorted"):
            estimator.fit(TRUTH.X[:2], segments=np.array(["a", 1], dtype=object))
        with pytest.raises(DataError, match="X is not a data frame"):
            estimator.fit(TRUTH.X, segments="year")
        with pytest.raises(DataError, match='no column "year"'):
            estimator.fit(pd.DataFrame(TRUTH.X), segments="year")
        with pytest.raises(DataError, match="segment 77 was not in the training data"):
            model.transform(TRUTH.X[:2], segments=[0, 77])

    @pytest.mark.parametrize("method", ["blica", "mle", "ivae"])
    def test_a_table_without_an_observed_cell_is_refused(self, method):
        with pytest.raises(DataError, match="all 6 x 3 cells are missing"):
            BinaryICA(2, method=method).fit(np.full((6, 3), NAN), segments=[0, 1] * 3)


@pytest.mark.filterwarnings("ignore:parallel analysis finds no source")
def test_pictures_of_a_model_without_sources_say_so():
    model = BinaryICA(random_state=0).fit(np.random.default_rng(0).integers(0, 2, (200, 4)), segments=2)
    for draw in (plots.plot_mixing, plots.plot_source_scales):
        assert draw(model).axes[0].texts[0].get_text() == "no source was found"
