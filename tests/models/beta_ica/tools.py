"""Data, random states and slow bounds for the tests of BetaICA."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import betaln, digamma, gammaln

from latentbits import BinaryData, simulate
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.variational import BayesState, EMState, Prior, VariationalBayes, VariationalEM
from tests.reference import beta_ica as twin

NAN = np.nan
INFERENCES = ["vb", "em"]
LEARNERS = {"vb": VariationalBayes, "em": VariationalEM}
X = simulate.aspect_bernoulli(100, 20, 3, white_phantom=True, sharpness=0.1, missing=0.1, random_state=0).X
ROWS, COLUMNS = X.shape
FEW_ROWS = simulate.aspect_bernoulli(30, 150, 3, concentration=0.1, sharpness=1.0, random_state=0).X
each_inference = pytest.mark.parametrize("inference", INFERENCES)
ignore_lost_rows = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")


def make_learner(inference, cells, weight, K, prior, **inner):
    return LEARNERS[inference](BinaryData.of(cells), np.asarray(weight, float), K, prior, Workers(), **inner)


def random_state(learner, seed):
    """Any allowed state, far from what an update would make of it."""
    rng = np.random.default_rng(seed)
    N, D = learner.data.shape
    K, prior = learner.n_components, learner.prior
    alpha, beta = prior.alpha + rng.gamma(0.5, 4, (K, D)), prior.beta + rng.gamma(0.5, 4, (K, D))
    if isinstance(learner, VariationalBayes):
        log_gamma0 = np.log([prior.gamma or rng.uniform(0.001, 1)])
        return BayesState(rng.gamma(0.5, 4, (N, K)), alpha, beta, log_gamma0)
    return EMState(0.99 * rng.dirichlet(np.full(K, 0.5), N) + 0.01 / K, alpha, beta)


def log_weights(state):
    return np.log(state.W) if isinstance(state, EMState) else twin.log_dirichlet_means(state.gamma)


def slow_bound(cells, Q, state, prior, weight):
    if isinstance(state, EMState):
        return twin.em_bound(cells, Q, *state, prior, weight)
    prior = prior._replace(gamma=state.gamma0)
    return twin.vb_bound(cells, Q, state.gamma, state.alpha, state.beta, prior, weight)


def best_Q(cells, state):
    return twin.responsibilities(cells, log_weights(state), state.alpha, state.beta)


def rounding(learner, state):
    """How far float64 may be off in the bound of a state: eps times the size of all that is added and subtracted.

    Every KL is a sum of gamma functions and of digammas times parameters; every cell is the logarithm of K products
    of exponentials, whose relative errors are those of their digammas. SciPy's functions are good to a few eps: 8.
    """
    prior, K = learner.prior, learner.n_components
    a, b = state.alpha, state.beta
    psi = np.abs(digamma(a)) + np.abs(digamma(b)) + np.abs(digamma(a + b))
    size = np.sum((a + b) * psi + np.abs(betaln(a, b)) + abs(betaln(prior.alpha, prior.beta)))
    per_cell = 16 + K + psi.max()
    if isinstance(state, BayesState):
        g, total = state.gamma, state.gamma.sum(axis=1, keepdims=True)
        psi = np.abs(digamma(g)) + np.abs(digamma(total))
        row = np.sum(g * psi + np.abs(gammaln(g)) + abs(gammaln(state.gamma0)), axis=1)
        size += learner.row_weight @ (row + np.abs(gammaln(total[:, 0])) + abs(gammaln(K * state.gamma0)))
        per_cell += psi.max()
    size += learner.row_weight @ learner.data.observed_per_row() * per_cell
    return 8 * np.finfo(float).eps * size


@st.composite
def problems(draw, inner=(1,)):
    """A learner on generated data with missing cells and row weights, and a state to start from."""
    N, D, K = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    cells = draw(arrays(float, (N, D), elements=st.sampled_from([0.0, 1.0, NAN])))
    weight = draw(arrays(float, N, elements=st.sampled_from([1.0, 0.0, 0.5, 2.0])))
    prior = Prior(*(draw(st.sampled_from([0.5, 1.0, 0.1, 5.0])) for _ in range(3)))
    inference = draw(st.sampled_from(INFERENCES))
    if inference == "vb" and draw(st.booleans()):
        prior = prior._replace(gamma=None)
    learner = make_learner(
        inference,
        cells,
        weight,
        K,
        prior,
        inner_iter=draw(st.sampled_from(inner)),
        inner_tol=1e-3,
    )
    seed = draw(st.integers(0, 99))
    start = draw(st.sampled_from(["own", "any"]))
    state = learner.initialise(np.random.default_rng(seed)) if start == "own" else random_state(learner, seed)
    return cells, learner, state


def examples(n):
    return settings(max_examples=n, deadline=None)


def posterior_of_rows(model, cells):
    """gamma, from the mean weights and its known sum."""
    total = np.sum(~np.isnan(cells), axis=1) + len(model.components_) * model.gamma_
    return model.transform(cells) * total[:, None]
