import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from latentbits import BernoulliMixture, BinaryData, DataError
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.rows import column_products, row_products
from latentbits.fitting.workers import Workers
from latentbits.models.latent_classes import relative_entropy
from latentbits.models.mixture import MixtureEM, State
from tests.reference.assertions import assert_nondecreasing
from tests.reference.coming_from import line
from tests.reference.mixture import log_likelihoods


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    H = rng.beta(0.3, 0.3, size=(3, 9))
    X = (rng.random((40, 9)) < H[rng.integers(3, size=40)]).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


def learner(X, K=3, smoothing=0.3, row_weight=None):
    data = BinaryData.of(X)
    return MixtureEM(data, np.ones(data.shape[0]) if row_weight is None else row_weight, K, smoothing, Workers())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_products_are_sums_over_ones_and_zeros(X, form):
    rng = np.random.default_rng(1)
    A, B, R = rng.normal(size=(2, 9)), rng.normal(size=(2, 9)), rng.normal(size=(40, 2))
    data = BinaryData.of(form(X))
    ones, zeros = (X == 1).astype(float), (X == 0).astype(float)
    np.testing.assert_allclose(row_products(data, A, B, Workers()), ones @ A.T + zeros @ B.T, atol=1e-12)
    of_ones, of_seen = column_products(data, R, Workers())
    np.testing.assert_allclose(of_ones, R.T @ ones, atol=1e-12)
    np.testing.assert_allclose(of_seen, R.T @ (ones + zeros), atol=1e-12)


def test_a_step_is_the_textbook_em_step(X):
    weight = np.random.default_rng(2).integers(1, 4, 40).astype(float)
    em = learner(X, row_weight=weight, smoothing=0.2)
    state = em.initialise(np.random.default_rng(0))
    new, objective = em.step(state)
    r = np.zeros((40, 3))
    for i, row in enumerate(X):
        for k in range(3):
            seen = ~np.isnan(row)
            p = np.where(row[seen] == 1, state.H[k, seen], 1 - state.H[k, seen])
            r[i, k] = state.pi[k] * p.prod()
    likelihood = weight @ np.log(r.sum(axis=1)) + 0.2 * np.sum(np.log(state.H * (1 - state.H)))
    assert objective == pytest.approx(likelihood)
    r = weight[:, None] * r / r.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(new.pi, r.sum(axis=0) / weight.sum())
    for k in range(3):
        for j in range(9):
            ones, seen = r[X[:, j] == 1, k].sum(), r[~np.isnan(X[:, j]), k].sum()
            assert new.H[k, j] == pytest.approx((ones + 0.2) / (seen + 0.4))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(("N", "D", "K"), [(1, 1, 1), (30, 8, 2), (50, 71, 9), (4500, 130, 20)])
def test_tables_of_patterns_add_up_what_matrix_products_do(N, D, K, missing):
    rng = np.random.default_rng(N)
    X = (rng.random((N, D)) < 0.4).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    weight = rng.random(N)
    em = learner(X, K, row_weight=weight)
    state = State(rng.dirichlet(np.ones(K)), rng.uniform(0.01, 0.99, (K, D)))
    found = em._sums_by_patterns(state)
    for sums, expected in zip(found, em._sums(state), strict=True):
        np.testing.assert_allclose(np.broadcast_to(sums, expected.shape), expected, rtol=1e-10, atol=1e-12)
    with Workers(3) as workers:
        threaded = MixtureEM(em.data, weight, K, 0.3, workers)
        for sums, expected in zip(threaded._sums_by_patterns(state), found, strict=True):
            np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_climb_never_falls_and_ends_where_em_stands_still(X, smoothing):
    em = learner(X, smoothing=smoothing)
    monitor = Monitor(tol=1e-12, max_iter=5000, n_cells=X.size)
    end = climb(em, em.initialise(np.random.default_rng(1)), monitor)
    assert_nondecreasing(np.array(monitor.history), slack=1e-9)
    after, objective = em.step(end.state)
    assert objective == pytest.approx(end.objective)
    np.testing.assert_allclose(after.H, end.state.H, atol=1e-4)
    np.testing.assert_allclose(after.pi, end.state.pi, atol=1e-4)


def test_the_optimum_is_certified_by_the_gradient(X):
    """Along pi (on the simplex) and along each H the objective is flat at the end."""
    model = BernoulliMixture(2, n_init=2, tol=1e-13, random_state=0).fit(X)

    def objective(pi, H):
        joint = np.array(
            [[np.nansum(np.where(row == 1, np.log(h), np.log1p(-h))[~np.isnan(row)]) for h in H] for row in X]
        )
        return logsumexp(joint + np.log(pi), axis=1).sum() + 0.3 * np.sum(np.log(H) + np.log1p(-H))

    pi, H = model.proportions_, model.components_
    assert objective(pi, H) == pytest.approx(model.objective_)
    e = 1e-5
    for k, j in [(0, 0), (0, 5), (1, 3), (1, 8)]:
        step = np.zeros_like(H)
        step[k, j] = e
        slope = (objective(pi, H + step) - objective(pi, H - step)) / (2 * e)
        assert abs(slope * H[k, j] * (1 - H[k, j])) < 1e-3
    shift = np.array([e, -e])
    assert abs(objective(pi + shift, H) - objective(pi - shift, H)) / (2 * e) < 1e-2


def test_rows_are_put_where_they_belong():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    H = np.kron(np.eye(3), np.ones(8)) * 0.8 + 0.1
    X = (rng.random((100, 24)) < H[labels]).astype(int)
    model = BernoulliMixture(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), labels)  # the commonest component comes first
    np.testing.assert_allclose(model.proportions_, [0.6, 0.3, 0.1], atol=0.01)
    np.testing.assert_array_equal(model.predict(X), model.transform(X).argmax(axis=1))


def test_unseen_values_are_no_infinite_surprise():
    X = np.zeros((10, 3), dtype=int)
    new = [[1, 1, 1]]
    assert BernoulliMixture(1, random_state=0).fit(X).score(new) > -15
    assert -80 < BernoulliMixture(1, smoothing=0, random_state=0).fit(X).score(new) < -60  # at the edge of 1e-10


def test_likelihood_and_criteria(X):
    model = BernoulliMixture(2, random_state=0).fit(X)
    total = log_likelihoods(model, X).sum()
    assert model.log_likelihood(X) == pytest.approx(total)
    assert model.aic(X) == pytest.approx(2 * 19 - 2 * total)  # 2 x 9 probabilities and one proportion
    assert model.bic(X) == pytest.approx(19 * np.log(40) - 2 * total)


def test_samples_follow_the_model():
    model = BernoulliMixture(2, smoothing=0, random_state=0).fit([[1, 1, 0]] * 30 + [[0, 0, 1]] * 10)
    rows = model.sample(4000, random_state=0)
    assert rows.dtype == np.int8
    np.testing.assert_allclose(rows.mean(axis=0), [0.75, 0.75, 0.25], atol=0.03)
    np.testing.assert_array_equal(rows[:, 0], rows[:, 1])  # a row has one component


def test_a_component_without_rows_stays_where_it_was(X):
    em = learner(X, smoothing=0.0)
    start = em.initialise(np.random.default_rng(0))
    lost = State(np.array([0.5, 0.5 - 1e-10, 1e-10]), np.vstack([start.H[:2], np.full(9, 1e-10)]))
    new, _ = em.step(lost)
    assert np.isfinite(new.H).all()
    assert np.isfinite(new.pi).all()


def test_classes_by_the_words_of_scikit_learn(X):
    model = BernoulliMixture(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict_proba(X), model.weights_)
    np.testing.assert_array_equal(model.labels_, model.predict(X))


# By StepMix 3.0.0 (measurement="binary", 50 starts) on `classes(600)`: log likelihood, AIC, BIC, CAIC, relative entropy
# and the shares of 2 and 3 classes.
STEPMIX = {
    2: (-3005.28614949, 6044.57229898, 6119.32010312, 6136.32010312, 0.5715847, [0.64015278, 0.35984722]),
    3: (-2979.13976168, 6010.27952336, 6124.59969439, 6150.59969439, 0.63154048, [0.52076062, 0.24588998, 0.2333494]),
}


def classes(n_rows, seed=5, shares=(0.5, 0.3, 0.2)):
    rng = np.random.default_rng(seed)
    H = rng.uniform(0.1, 0.9, (len(shares), 8))
    k = rng.choice(len(shares), n_rows, p=shares)
    return (rng.random((n_rows, 8)) < H[k]).astype(int)


class TestLatentClasses:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_figures_are_those_of_stepmix(self, n_classes):
        X = classes(600)
        model = BernoulliMixture(n_classes, smoothing=0, n_init=20, tol=1e-12, max_iter=20_000, random_state=0).fit(X)
        found = model.class_figures(X)
        log_likelihood, aic, bic, caic, entropy, shares = STEPMIX[n_classes]
        assert found["log_likelihood"] == pytest.approx(log_likelihood, abs=1e-5)
        assert (found["aic"], found["bic"], found["caic"]) == pytest.approx((aic, bic, caic), abs=1e-4)
        assert found["relative_entropy"] == pytest.approx(entropy, abs=1e-4)
        # Sclove's n* = (n + 2) / 24, as in Mplus; StepMix 3.0.0 takes the logarithm of n (n + 2) / 24.
        n_parameters = 9 * n_classes - 1
        assert found["adjusted_bic"] == pytest.approx(bic - n_parameters * np.log(600 * 24 / 602), abs=1e-4)
        np.testing.assert_allclose(model.class_sizes(X)["share"], shares, atol=1e-4)
        assert (found["aic"], found["bic"]) == pytest.approx((model.aic(X), model.bic(X)))

    def test_the_page_for_those_who_come_from_stepmix_and_polca_gives_these_figures(self):
        X = classes(600)
        model = line("poLCA(cbind(...) ~ 1", X=X)
        log_likelihood, aic, bic, caic, entropy, shares = STEPMIX[2]
        found = line("fit$aic`", X=X, model=model)
        assert (found["log_likelihood"], found["aic"], found["bic"]) == pytest.approx(
            (log_likelihood, aic, bic), abs=0.01
        )
        assert (found["caic"], found["relative_entropy"]) == pytest.approx((caic, entropy), abs=0.01)
        np.testing.assert_allclose(line("fit$P`", X=X, model=model)["share"], shares, atol=0.01)

    def test_intervals_of_sizes_cover(self):
        shares = (0.6, 0.4)
        covered = []
        for seed in range(40):
            X = classes(300, seed=seed, shares=shares)
            model = BernoulliMixture(2, n_init=3, random_state=0).fit(X)
            sizes = model.class_sizes(X)
            covered.append(any(sizes["low"][0] < share < sizes["high"][0] for share in shares if share >= 0.5))
        assert 0.7 < np.mean(covered) <= 1.0

    def test_standard_errors_of_sizes_are_the_scatter(self):
        rng = np.random.default_rng(0)
        H = np.array([[0.9] * 4 + [0.2] * 4, [0.2] * 4 + [0.8] * 4])
        found, errors = [], []
        for _ in range(60):
            k = rng.random(300) < 0.35
            X = (rng.random((300, 8)) < H[k.astype(int)]).astype(int)
            sizes = BernoulliMixture(2, n_init=2, random_state=0).fit(X).class_sizes(X)
            found.append(sizes["share"][0])
            errors.append(sizes["se"][0])
        assert np.mean(errors) == pytest.approx(np.std(found), rel=0.3)

    def test_the_bootstrap_finds_two_classes_and_no_third(self):
        rng = np.random.default_rng(0)
        H = np.array([[0.9] * 4 + [0.2] * 4, [0.2] * 4 + [0.8] * 4])
        X = (rng.random((200, 8)) < H[rng.integers(0, 2, 200)]).astype(float)
        X[rng.random(X.shape) < 0.1] = np.nan
        two, three = (BernoulliMixture(K, n_init=3, random_state=0).fit(X) for K in (2, 3))
        found = two.bootstrap_test(X, n_samples=19)
        assert found.p_value == pytest.approx(0.05)
        assert found.statistic > found.samples.max()
        assert three.bootstrap_test(X, n_samples=19).p_value > 0.05
        with pytest.raises(DataError, match="one class has none less"):
            BernoulliMixture(1, n_init=1).fit(X).bootstrap_test(X)

    def test_entropy_of_certain_and_of_unknown_classes(self):
        assert relative_entropy(np.eye(3)) == 1
        assert relative_entropy(np.full((5, 4), 0.25)) == pytest.approx(0)
        assert relative_entropy(np.ones((5, 1))) == 1
