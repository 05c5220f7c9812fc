"""BetaICA: mistakes get a sentence, and strange data finite answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from latentbits import BetaICA
from tests.models.beta_ica.tools import NAN, ROWS, X, each_inference, posterior_of_rows
from tests.models.strange import some, warns_if_degenerate
from tests.reference import beta_ica as twin


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"inference": "bayes"}, 'inference=\'bayes\' is unknown; use "vb", "em" or "gibbs"'),
        ({"inference": None}, "inference=None is unknown"),
        ({"inference": ["vb"]}, "inference=.* is unknown"),
        ({"alpha": 0}, "alpha=0 must be a number of at least 0.05"),
        ({"alpha": None}, "alpha=None must be a number"),
        ({"alpha": np.inf}, "alpha=inf must be a"),
        ({"beta": -0.5}, "beta=-0.5 must be a number of at least 0.05"),
        ({"beta": "half"}, "beta='half' must be a number"),
        ({"gamma": NAN}, "gamma=nan must be a number of at least 0.001"),
        ({"gamma": np.inf}, "gamma=inf must be a"),
        ({"gamma": [1, 1]}, "gamma=.* must be a number"),
        ({"inner_max_iter": 0}, "inner_max_iter"),
        ({"inner_max_iter": 1.5}, "inner_max_iter"),
        ({"inner_max_iter": None}, "inner_max_iter"),
        ({"inner_tol": -1}, "inner_tol"),
        ({"inner_tol": NAN}, "inner_tol"),
        ({"inner_tol": None}, "inner_tol"),
        ({"n_components": 0}, "n_components=0 must be a whole number of at least 1"),
    ],
    ids=str,
)
def test_one_sentence_for_each_mistake(parameters, message):
    with pytest.raises(ValueError, match=message) as error:
        BetaICA(**{"n_components": 2, "n_init": 1, **parameters}).fit(X)
    assert "\n" not in str(error.value)


def test_running_out_is_warned_about():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        assert not BetaICA(3, n_init=1, max_iter=3, random_state=0).fit(X).converged_


STRANGE = {
    "all zero": (np.zeros((12, 6)), 3),
    "all one": (np.ones((12, 6)), 3),
    "one cell": (np.ones((1, 1)), 2),
    "one row": (some(1, 8), 3),
    "one column": (some(15, 1), 2),
    "one component": (some(20, 7), 1),
    "more components than rows": (some(4, 10), 7),
    "rows and columns entirely missing": (np.pad(some(10, 6), 2, constant_values=NAN), 3),
    "all but one cell missing": (np.where(np.eye(5, 4, k=3), 1.0, NAN), 2),
    "10 rows, 2000 columns": (some(10, 2000, 0.1), 2),
}


@each_inference
@pytest.mark.parametrize("name", STRANGE)
def test_strange_data_give_finite_answers_and_no_needless_warning(name, inference):
    cells, K = STRANGE[name]
    with warns_if_degenerate(cells, K):
        model = BetaICA(K, inference=inference, n_init=2, random_state=0).fit(cells)
        same = BetaICA(K, inference=inference, n_init=2, random_state=0).fit(sp.csr_array(cells))
    assert model.converged_
    np.testing.assert_array_equal(model.components_, same.components_)
    extreme = np.vstack([np.zeros(cells.shape[1]), np.ones(cells.shape[1]), np.full(cells.shape[1], NAN)])
    W, P = model.transform(extreme), model.reconstruct(cells)
    for values in (model.components_, model.weights_, W, P, *model.components_interval()):
        assert np.isfinite(values).all()
        assert ((values >= 0) & (values <= 1)).all()
    np.testing.assert_array_equal(model.transform(cells), model.weights_)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_allclose(W[2], 1 / K)
    scores = [model.objective_, *model.score_samples(cells), model.aic(cells), model.log_likelihood(cells)]
    assert np.isfinite(scores).all()
    assert model.objective_ <= 1e-9
    if inference == "vb":
        assert np.isfinite(model.weights_interval(cells)).all()
    assert len(model.prune().components_) == model.n_components_ >= 1
    for kind, value in (("absence", 0), ("presence", 1)):
        table = model.suspects(cells, kind=kind, top=None)
        assert len(table) == np.sum(cells == value)
        assert np.isfinite(table["score"]).all()


@each_inference
@pytest.mark.parametrize("prior", [0.5, 0.1, 0.05])
def test_a_faint_prior_gives_no_nan(inference, prior):
    """A 1 in a column where training had none: exp<log b> is about exp(-1/alpha), 1e-9 at the least alpha."""
    cells = some(10, 5)
    cells[:, 0] = 0
    new = np.array([[1, 1, 0, 1, 0], [1, NAN, NAN, NAN, NAN]], dtype=float)
    model = BetaICA(2, inference=inference, alpha=prior, beta=prior, n_init=2, random_state=0).fit(cells)
    W = model.transform(new)
    assert np.isfinite(W).all()
    np.testing.assert_allclose(W.sum(axis=1), 1)
    q = model.explain(new, row=0)["probability"].to_numpy().reshape(5, 2)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    assert np.isfinite(model.suspects(new, kind="presence")["phantom"]).all()
    assert np.isfinite(model.score_samples(new)).all()


@pytest.mark.parametrize("prior", [0.5, 0.1, 0.05])
def test_with_a_faint_prior_every_cell_still_counts(prior):
    """exp<log b> is about exp(-1/alpha) for a 1 that training never saw: 1e-10 is shared out like any other."""
    cells = some(10, 5)
    cells[:, 0] = 0
    model = BetaICA(2, alpha=prior, beta=prior, n_init=2, random_state=0).fit(cells)
    new = np.array([[1, 1, 0, 1, 0]])
    gamma = posterior_of_rows(model, new)
    Q = twin.responsibilities(new, twin.log_dirichlet_means(gamma), model.alpha_, model.beta_)
    np.testing.assert_allclose(gamma, 1 + twin.caused(new, Q, 2, [1])[0], atol=1e-5)


@each_inference
def test_rows_of_weight_0_change_nothing(inference):
    weight = np.resize([1.0, 0.0, 2.0], ROWS)
    changed = np.where((weight == 0)[:, None], 1 - X, X)
    a, b = (
        BetaICA(3, inference=inference, n_init=2, random_state=0).fit(cells, sample_weight=weight)
        for cells in (X, changed)
    )
    np.testing.assert_allclose(a.alpha_, b.alpha_, atol=1e-6)
    assert np.isfinite(a.weights_).all()
    assert np.abs(BetaICA(3, inference=inference, n_init=2, random_state=0).fit(X).alpha_ - a.alpha_).max() > 0.1
