"""BetaICA: reconstructions, and what it shares with AspectBernoulli."""

import numpy as np
import pytest

from latentbits import AspectBernoulli, BetaICA, simulate
from latentbits.metrics import match_components
from tests.models.beta_ica.tools import COLUMNS, ROWS, X, ignore_lost_rows, posterior_of_rows
from tests.reference import beta_ica as twin


class TestReconstruct:
    def test_equation_14_by_hand(self, bayes):
        gamma = posterior_of_rows(bayes, X)
        for i, j in [(0, 0), (7, 3), (ROWS - 1, COLUMNS - 1)]:
            by_hand = sum(
                gamma[i, k] / gamma[i].sum() * bayes.alpha_[k, j] / (bayes.alpha_[k, j] + bayes.beta_[k, j])
                for k in range(3)
            )
            assert bayes.reconstruct(X)[i, j] == pytest.approx(by_hand)

    def test_equation_13_for_components_and_for_rows(self, model):
        rng = np.random.default_rng(0)
        for ratings in (np.array([1.0, 0.3, 0.6]), rng.uniform(0.1, 1, (ROWS, 3))):
            P = model.reconstruct(X, ratings=ratings)
            r = np.broadcast_to(ratings, (ROWS, 3))
            for i in (0, 13, ROWS - 1):
                kept = [model.weights_[i, k] * r[i, k] for k in range(3)]
                by_hand = sum(kept[k] / sum(kept) * model.components_[k] for k in range(3))
                np.testing.assert_allclose(P[i], by_hand)

    @ignore_lost_rows
    def test_denoise_removes_the_phantom(self, model):
        assert sorted(model.phantoms_) == ["content", "content", "white"]
        content = (model.phantoms_ == "content").astype(float)
        np.testing.assert_array_equal(model.denoise(X, change="both"), model.reconstruct(X, ratings=content) >= 0.5)
        assert (model.denoise(X, threshold=0.5) != (model.reconstruct(X) >= 0.5)).any(), "the phantom matters"

    def test_causes_are_the_responsibilities(self, model):
        """Eq. 9 and B.3; for variational Bayes exp<log a> goes in, so that a row's causes add up to gamma (B.5)."""
        table = model.explain(X, row=5)
        found = table["probability"].to_numpy().reshape(COLUMNS, 3)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        Q = twin.responsibilities(X[5:6], logs_of_weights(model, X[5:6]), model.alpha_, model.beta_)
        seen = [j for _, j in Q]
        np.testing.assert_allclose(found[seen], list(Q.values()), atol=1e-6)
        if model.inference == "vb":
            np.testing.assert_allclose(0.8 + found[seen].sum(axis=0), posterior_of_rows(model, X)[5], atol=1e-5)

    def test_a_missing_cell_is_explained_by_the_weights(self, model):
        i, j = np.argwhere(np.isnan(X))[0]
        table = model.explain(X, cells=[(i, j)])
        assert table["value"].isna().all()
        np.testing.assert_allclose(table["probability"], model.weights_[i])

    def test_suspects_name_the_posterior_of_the_phantom(self, model):
        table = model.suspects(X, top=10)
        Q = twin.responsibilities(X, logs_of_weights(model, X), model.alpha_, model.beta_)
        white = model.phantoms_ == "white"
        expected = [np.array(Q[i, j])[white].sum() for i, j in zip(table["row"], table["column"], strict=True)]
        np.testing.assert_allclose(table["phantom"], expected, atol=1e-6)


def logs_of_weights(model, cells):
    if model.inference == "vb":
        return twin.log_dirichlet_means(posterior_of_rows(model, cells))
    return np.log(np.maximum(model.transform(cells), 1e-300))


def test_with_much_data_em_finds_the_components_of_aspect_bernoulli():
    """Rows of weight w count w times; the prior's weight and the width of the posteriors fade as 1 / w."""
    cells = simulate.aspect_bernoulli(200, 20, 3, concentration=0.3, sharpness=0.3, random_state=1).X
    plain = AspectBernoulli(3, smoothing=0, n_init=3, tol=1e-8, random_state=0).fit(cells)

    def difference(weight):
        model = BetaICA(3, inference="em", n_init=3, tol=1e-8, random_state=0)
        model.fit(cells, sample_weight=np.full(200, weight))
        order = match_components(plain.components_, model.components_).order
        return np.abs(plain.components_ - model.components_[order]).max()

    assert difference(100.0) < 0.002  # half of an observation against some 6000 for each component and column
    assert difference(1.0) > 0.01, "few data feel the prior"
