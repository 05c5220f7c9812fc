"""BetaICA: components that the data don't need, and models without them."""

import numpy as np
import pandas as pd
import pytest

from latentbits import BetaICA, simulate
from latentbits.storage.persistence import load_model, save_model
from tests.models.beta_ica.tools import FEW_ROWS, NAN, ignore_lost_rows
from tests.models.strange import some


class TestExtinct:
    def test_surplus_components_go_back_to_the_prior(self, with_dead):
        dead = with_dead.extinct_
        assert 1 <= len(dead) <= 4
        assert with_dead.n_components_ == 6 - len(dead)
        caused = (with_dead.alpha_ + with_dead.beta_ - 1).sum(axis=1)
        assert (caused[dead] < 0.01 * caused.sum()).all()
        np.testing.assert_allclose(with_dead.components_[dead], 0.5, atol=0.1)
        living = np.setdiff1d(np.arange(6), dead)
        assert caused[living].min() > 10 * caused[dead].max()
        share = with_dead.weights_.mean(axis=0)
        assert share[dead].max() < share[living].min()

    def test_needed_components_live(self):
        model = BetaICA(3, n_init=5, random_state=0).fit(
            simulate.aspect_bernoulli(300, 30, 3, concentration=0.3, sharpness=0.1, random_state=0).X
        )
        assert model.extinct_.size == 0
        assert model.n_components_ == 3

    def test_pruning_leaves_the_rest_untouched(self, with_dead):
        before = {name: np.array(value) for name, value in vars(with_dead).items() if isinstance(value, np.ndarray)}
        pruned = with_dead.prune()
        living = np.setdiff1d(np.arange(6), with_dead.extinct_)
        for name in ("components_", "alpha_", "beta_", "phantoms_"):
            np.testing.assert_array_equal(getattr(pruned, name), getattr(with_dead, name)[living], err_msg=name)
        W = with_dead.weights_[:, living]
        np.testing.assert_allclose(pruned.weights_, W / W.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(pruned.weights_.sum(axis=1), 1)
        assert pruned.objective_ == with_dead.objective_
        assert len(with_dead.components_) == with_dead.n_components == 6, "the model itself stays"
        for name, value in before.items():
            np.testing.assert_array_equal(getattr(with_dead, name), value, err_msg=name)
        assert pruned.n_components == len(living)

    def test_a_pruned_model_has_no_dead_and_pruning_again_changes_nothing(self, with_dead):
        pruned = with_dead.prune()
        assert pruned.extinct_.size == 0
        assert pruned.n_components_ == len(pruned.components_)
        again = pruned.prune()
        np.testing.assert_array_equal(again.components_, pruned.components_)
        np.testing.assert_allclose(again.weights_, pruned.weights_, rtol=1e-12)

    @ignore_lost_rows
    def test_a_pruned_model_answers_everything(self, with_dead):
        pruned = with_dead.prune()
        K, cells = len(pruned.components_), FEW_ROWS
        assert pruned.transform(cells).shape == (30, K)
        # What the dead had caused goes to the living: little.
        np.testing.assert_allclose(pruned.transform(cells), pruned.weights_, atol=2e-3)
        np.testing.assert_allclose(pruned.reconstruct(cells), with_dead.reconstruct(cells), atol=0.02)
        assert pruned.reconstruct(cells, ratings=np.ones(K)).shape == cells.shape
        np.testing.assert_array_equal(pruned.denoise(cells), with_dead.prune().denoise(cells))
        assert pruned.suspects(cells, top=9).shape == (9, 4)
        assert pruned.explain(cells, row=0)["component"].nunique() == K
        assert pruned.sample(3, random_state=0).shape == (3, 150)
        assert pruned.get_feature_names_out().shape == (K,)
        assert [end.shape for end in pruned.components_interval()] == [(K, 150)] * 2
        assert pruned.score(cells) == pytest.approx(with_dead.score(cells), rel=0.01)
        if pruned.inference == "vb":
            assert [end.shape for end in pruned.weights_interval(cells)] == [(30, K)] * 2

    def test_components_that_share_few_cells_equally_live(self):
        """Two rows for six components: each causes less than half a cell per attribute, and none of them is dead."""
        model = BetaICA(6, alpha=5, beta=5, gamma=100, n_init=1, random_state=0).fit(some(2, 10))
        assert (model.alpha_ + model.beta_ - 10).sum(axis=1).max() < 0.5 * 10
        assert model.extinct_.size == 0

    def test_of_one_observed_cell_not_all_is_said_to_be_dead(self):
        model = BetaICA(3, n_init=1, random_state=0).fit(np.where(np.eye(4, 5, k=4), 1.0, NAN))
        assert len(model.prune().components_) == model.n_components_ >= 1


@ignore_lost_rows
@pytest.mark.parametrize("prune", [False, True])
def test_model_files_keep_every_answer(with_dead, prune, tmp_path):
    model = with_dead.prune() if prune else with_dead
    save_model(model, tmp_path / "model.npz")
    same = load_model(tmp_path / "model.npz")
    assert type(same) is BetaICA
    assert same.get_params() == model.get_params()
    for name in ("components_", "weights_", "alpha_", "beta_", "extinct_", "phantoms_", "objective_history_"):
        np.testing.assert_array_equal(getattr(same, name), getattr(model, name), err_msg=name)
    np.testing.assert_array_equal(same.transform(FEW_ROWS), model.transform(FEW_ROWS))
    np.testing.assert_array_equal(same.denoise(FEW_ROWS), model.denoise(FEW_ROWS))
    np.testing.assert_array_equal(same.components_interval(), model.components_interval())
    pd.testing.assert_frame_equal(same.suspects(FEW_ROWS), model.suspects(FEW_ROWS))
    np.testing.assert_array_equal(same.prune().components_, model.prune().components_)
