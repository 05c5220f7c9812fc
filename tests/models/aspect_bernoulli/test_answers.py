"""AspectBernoulli: reconstruct, denoise and sample."""

import numpy as np
import pytest

from latentbits import AspectBernoulli, DataError, simulate
from latentbits.models.aspect.statistics import reweight
from tests.models.aspect_bernoulli.tools import FRAME, NAN, X


class TestReconstruct:
    def test_default_is_weights_times_components(self, model):
        np.testing.assert_allclose(model.reconstruct(X), model.weights_ @ model.components_)
        np.testing.assert_array_equal(model.reconstruct(X), model.inverse_transform(model.weights_))

    def test_reweighting_by_hand(self):
        W = np.array([[0.5, 0.3, 0.2], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        kept, lost = reweight(W, np.array([1.0, 0.5, 0.0]), share=np.array([0.2, 0.6, 0.2]))
        np.testing.assert_allclose(kept[0], [0.5 / 0.65, 0.15 / 0.65, 0])
        np.testing.assert_allclose(kept[2], [0, 1, 0])
        # Nothing is left of row 1: it gets the kept part of the training rows' average.
        np.testing.assert_allclose(kept[1], [0.2 / 0.5, 0.3 / 0.5, 0])
        np.testing.assert_array_equal(lost, [False, True, False])
        np.testing.assert_array_equal(W[1], [0, 0, 1])

    def test_reweighting_when_no_training_row_has_any_kept_weight(self):
        kept, lost = reweight(np.array([[0.0, 0.0, 1.0]]), np.array([1.0, 1.0, 0.0]), share=np.array([0.0, 0.0, 1.0]))
        np.testing.assert_allclose(kept, [[0.5, 0.5, 0]])
        assert lost.all()

    @pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-13])
    def test_only_the_proportion_of_ratings_counts(self, scale):
        kept, lost = reweight(np.array([[0.5, 0.3, 0.2]]), scale * np.array([1.0, 0.5, 0.0]), np.full(3, 1 / 3))
        np.testing.assert_allclose(kept, [[0.5 / 0.65, 0.15 / 0.65, 0]])
        assert not lost.any()

    @pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
    def test_ratings_for_each_component_or_each_row(self, model):
        r = np.array([1.0, 0.5, 0.0])
        W = model.weights_ * r
        some = W.sum(axis=1) > 1e-6
        expected = W[some] / W[some].sum(axis=1, keepdims=True) @ model.components_
        got = model.reconstruct(X, ratings=r)
        np.testing.assert_allclose(got[some], expected, rtol=1e-9)
        np.testing.assert_allclose(model.reconstruct(X, ratings=np.tile(r, (300, 1))), got)

    def test_all_rated_1_is_the_plain_reconstruction(self, model):
        np.testing.assert_allclose(model.reconstruct(X, ratings=[1, 1, 1]), model.reconstruct(X))

    def test_rows_without_kept_weight_are_counted_in_a_warning(self, model):
        k = int(np.flatnonzero(model.phantoms_ == "white")[0])
        ratings = np.ones(3)
        ratings[k] = 0
        n_lost = int((model.weights_ @ ratings <= 1e-12).sum())
        assert n_lost > 0
        with pytest.warns(UserWarning, match=f"^{n_lost} rows have no weight on any kept component"):
            P = model.reconstruct(X, ratings=ratings)
        assert np.isfinite(P).all()

    @pytest.mark.parametrize("bad", [[1, 1], [0, 0, 0], [1, 2, 1], [1, -0.1, 1], [1, NAN, 1], np.ones((3, 3))])
    def test_impossible_ratings_are_refused(self, model, bad):
        with pytest.raises(DataError, match="ratings must be 3 numbers from 0 to 1"):
            model.reconstruct(X, ratings=bad)

    @pytest.mark.parametrize("bad", [np.ones((4, 2)), np.ones(3), np.ones((2, 2, 3))])
    def test_inverse_transform_refuses_weights_of_another_shape(self, model, bad):
        with pytest.raises(DataError, match=r"n_rows x 3"):
            model.inverse_transform(bad)

    def test_inverse_transform_gives_no_nan(self, model):
        with pytest.raises(ValueError, match=r"NaN|finite|missing"):
            model.inverse_transform([[NAN, 0.5, 0.5]])


@pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
class TestDenoise:
    def test_is_the_reconstruction_without_phantoms_cut_at_the_threshold(self, model):
        P = model.reconstruct(X, ratings=(model.phantoms_ == "content").astype(float))
        for threshold in (0.3, 0.5):
            cells = model.denoise(X, threshold=threshold, change="both")
            np.testing.assert_array_equal(cells, np.greater_equal(P, threshold))
            assert cells.dtype == np.int8
        assert (model.denoise(X, threshold=0.5) != (model.reconstruct(X) >= 0.5)).any(), "the phantom matters"

    def test_only_what_the_phantoms_can_have_falsified_changes(self, model):
        both = model.denoise(X, change="both")
        fewer = model.denoise(X, change="absence")
        assert (both[X == 1] == 0).any(), "the reconstruction would take ones away"
        assert (fewer[X == 1] == 1).all()
        np.testing.assert_array_equal(fewer[X != 1], both[X != 1])
        assert (model.denoise(X, change="presence")[X == 0] == 0).all()
        np.testing.assert_array_equal(model.denoise(X, threshold=0.5), fewer)  # its phantom is white

    def test_without_a_phantom_nothing_observed_changes(self):
        cells = simulate.aspect_bernoulli(100, 20, 3, missing=0.1, random_state=1).X
        model = AspectBernoulli(3, n_init=2, random_state=0).fit(cells)
        assert (model.phantoms_ == "content").all()
        with pytest.warns(UserWarning, match="no phantom was found"):
            answer = model.denoise(cells)
        seen = ~np.isnan(cells)
        np.testing.assert_array_equal(answer[seen], cells[seen])
        assert set(np.unique(answer)) == {0, 1}
        with pytest.warns(UserWarning, match="no phantom was found"):
            rated = model.denoise(cells, ratings=[1, 0, 0])
        np.testing.assert_array_equal(rated[seen], cells[seen])
        assert (model.denoise(cells, ratings=[1, 0, 0], change="both")[seen] != cells[seen]).any()

    def test_unknown_change_is_refused(self, model):
        with pytest.raises(DataError, match=r'change=.all. is unknown; use "auto"'):
            model.denoise(X, change="all")

    def test_ratings_replace_the_default(self, model):
        np.testing.assert_array_equal(model.denoise(X, ratings=[1, 1, 1], change="both"), model.reconstruct(X) >= 0.5)

    def test_missing_cells_are_filled(self, model):
        assert np.isnan(X).any()
        assert set(np.unique(model.denoise(X))) == {0, 1}

    def test_frame_in_frame_out(self, named, model):
        out = named.denoise(FRAME)
        assert out.index.equals(FRAME.index)
        assert out.columns.equals(FRAME.columns)
        np.testing.assert_array_equal(out, model.denoise(X))


class TestSample:
    def test_moments_are_those_of_the_model(self, model):
        n = 20_000
        cells = model.sample(n, random_state=0)
        P = model.weights_ @ model.components_
        assert cells.shape == (n, 20)
        assert cells.dtype == np.int8
        share = P.mean(axis=0)
        error = np.sqrt(share * (1 - share) / n)
        assert (np.abs(cells.mean(axis=0) - share) < 5 * error).all()
        both = P.T @ P / len(P)  # columns are independent only given the row's weights
        off = ~np.eye(20, dtype=bool)
        found = cells.T.astype(float) @ cells / n
        assert (np.abs(found - both)[off] < 5 * np.sqrt(both * (1 - both) / n)[off]).all()
        assert (np.abs(np.outer(share, share) - both)[off] > 5 * np.sqrt(both * (1 - both) / n)[off]).any()

    def test_row_weights_are_followed(self):
        data = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 10, axis=0)
        weight = np.repeat([3.0, 1.0], 10)
        model = AspectBernoulli(2, n_init=2, random_state=0).fit(data, sample_weight=weight)
        assert model.sample(4000, random_state=0)[:, 0].mean() == pytest.approx(0.75, abs=5 * 0.007)

    def test_seeds(self, model):
        a, b, c = (model.sample(50, random_state=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()
        assert model.sample(random_state=0).shape == (1, 20)
