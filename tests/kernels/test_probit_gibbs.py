"""The probit sampler against draws from its prior, weighted draws and integrals; its random numbers against SciPy's."""

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr

from latentbits.kernels import probit_gibbs as kernel
from latentbits.kernels.random_stream import LAYERS, draw_signed, layers, normal, positive_normal
from latentbits.models.probit_sampler import SIZES, Chain, Known
from tests.reference import probit_factors as twin

NAN = np.nan


def stream(seed):
    return np.random.default_rng(seed).integers(2**64, size=4, dtype=np.uint64)


@numba.njit
def many(draw, state, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = draw(state)
    return out


def codes(X):
    return np.where(np.isnan(X), -1, X).astype(np.int8)


def standard_errors(found, expected, batches=50):
    """How many standard errors a chain's means are from what they should be; batches allow for its correlation."""
    means = found[: len(found) // batches * batches].reshape(batches, -1, *found.shape[1:]).mean(axis=1)
    return (means.mean(axis=0) - expected) / (means.std(axis=0, ddof=1) / np.sqrt(batches))


class TestNumbers:
    def test_normal_numbers(self):
        drawn = many(normal, stream(0), 10_000_000)
        assert stats.kstest(drawn, "norm").pvalue > 1e-3
        for power, expected in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
            error = np.sqrt((stats.norm.moment(2 * power) - expected**2) / len(drawn))
            assert abs(np.mean(drawn**power) - expected) < 4 * error

    @pytest.mark.parametrize("edge", [1.0, 2.5, 3.6541528853610088, 4.2])
    def test_as_many_normal_numbers_beyond_an_edge_as_there_should_be(self, edge):
        drawn = many(normal, stream(5), 10_000_000)
        for tail in (drawn[drawn > edge], -drawn[drawn < -edge]):
            assert stats.binomtest(len(tail), len(drawn), stats.norm.sf(edge)).pvalue > 1e-3
            assert stats.kstest(tail, lambda x: 1 - stats.norm.sf(x) / stats.norm.sf(edge)).pvalue > 1e-3

    def test_the_layers_have_one_area_and_close(self):
        width, inner = layers()
        height = np.exp(-0.5 * width[1:] ** 2)
        areas = width[1:LAYERS] * np.diff(height)
        tail = np.sqrt(2 * np.pi) * stats.norm.sf(width[1])
        np.testing.assert_allclose(areas, width[1] * height[0] + tail, rtol=1e-7)
        assert width[0] * height[0] == pytest.approx(width[1] * height[0] + tail, rel=1e-12)
        np.testing.assert_allclose(inner, width[1:] / width[:-1])

    def test_many_at_once_are_the_same_as_one_by_one(self):
        rng = np.random.default_rng(0)
        signs, means = rng.integers(-1, 2, 5_000).astype(np.int8), 3 * rng.normal(size=5_000)
        out, state, alone = np.empty(5_000), stream(6), stream(6)
        assert draw_signed(signs, means, state, out)
        for sign, mean, drawn in zip(signs, means, out, strict=True):
            if sign < 0:
                assert drawn == 0
            else:
                assert drawn == (positive_normal(mean, alone) if sign else -positive_normal(-mean, alone))
        np.testing.assert_array_equal(state, alone)
        assert not draw_signed(np.abs(signs), means, state, out), "none is left out"

    @pytest.mark.parametrize("mean", [40.0, 4.0, 0.5, 0.0, -0.4499, -0.4501, -1.0, -6.0, -40.0, -1e4])
    def test_positive_normal_numbers(self, mean):
        state = stream(1)
        drawn = np.array([positive_normal(mean, state) for _ in range(20_000)])
        assert (drawn > 0).all()
        if mean > -100:
            expected = stats.truncnorm(-mean, np.inf, loc=mean)
            assert stats.kstest(drawn, expected.cdf).pvalue > 1e-3
        else:  # beyond SciPy: an exponential number but for terms of the order mean^-2
            assert stats.kstest(-mean * drawn, "expon").pvalue > 1e-3

    @pytest.mark.parametrize("mean", [40.0, 0.0, -3.0, -40.0])
    def test_quantiles_far_out(self, mean):
        state = stream(2)
        drawn = np.array([positive_normal(mean, state) for _ in range(40_000)])
        for q in (0.001, 0.01, 0.5, 0.99, 0.999):
            limit = stats.truncnorm(-mean, np.inf, loc=mean).ppf(q)
            assert stats.binomtest(int(np.sum(drawn <= limit)), len(drawn), q).pvalue > 1e-4

    @pytest.mark.parametrize("mean", [1e8, -1e8, -1e160])
    def test_no_mean_is_too_far(self, mean):
        state = stream(3)
        assert np.isfinite([positive_normal(mean, state) for _ in range(100)]).all()

    @pytest.mark.parametrize(("n", "a", "b"), [(2, 1.0, 0.0), (5, 3.0, -4.0), (30, 25.0, 10.0), (3, 0.5, 6.0)])
    def test_scales(self, n, a, b):
        state = stream(4)
        drawn = [kernel._draw_scale(float(n), a, b, state) for _ in range(20_000)]
        grid = np.linspace(0, 30, 300_001)[1:]
        log_density = (n - 1) * np.log(grid) - 0.5 * a * grid**2 + b * grid
        cdf = np.cumsum(np.exp(log_density - log_density.max()))
        assert stats.kstest(drawn, lambda c: np.interp(c, grid, cdf / cdf[-1])).pvalue > 1e-3


class TestConditionals:
    def test_a_normal_draw_has_the_mean_and_covariance_of_its_precision(self):
        rng = np.random.default_rng(0)
        B = rng.normal(size=(4, 6))
        A, y, state = B @ B.T + np.eye(4), rng.normal(size=4), stream(0)
        C = A.copy()
        kernel._factorise(C)
        np.testing.assert_allclose(np.tril(C), np.linalg.cholesky(A), atol=1e-12)
        draws = np.empty((40_000, 4))
        for x in draws:
            x[:] = y
            kernel._halfway(C, x)
            kernel._draw_normal(C, x, state)
        covariance = np.linalg.inv(A)
        np.testing.assert_allclose(draws.mean(axis=0), covariance @ y, atol=4 * np.sqrt(covariance.max() / 40_000))
        np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.03 * covariance.max())

    def test_the_log_likelihood_far_in_the_tails_too(self):
        rng = np.random.default_rng(0)
        g, theta = 3 * rng.normal(size=(20, 3)), 3 * rng.normal(size=(15, 3))
        cells = rng.integers(-1, 2, (20, 15)).astype(np.int8)
        eta = g @ theta.T
        score = np.where(cells == 1, 1, -1) * eta
        assert score.min() < -37
        for i in range(20):
            expected = log_ndtr(score[i])[cells[i] >= 0].sum()
            assert kernel._log_likelihood(cells[i], eta[i]) == pytest.approx(expected, rel=1e-10)

    def test_a_sweep_tells_the_likelihood_of_its_last_rows_and_columns(self):
        cells = np.random.default_rng(0).integers(-1, 2, (20, 6)).astype(np.int8)
        chains = [Chain(cells, 2, True, np.random.default_rng(1)) for _ in range(2)]
        told = chains[0].sweep(3)
        before = [chains[1].sweep(1) for _ in range(3)]
        np.testing.assert_array_equal(chains[0].g, chains[1].g)
        assert told == before[-1] != before[0]

    @pytest.mark.parametrize("row", [[1, 0, 1, -1], [0, 0, 1, 1], [-1, -1, -1, -1]])
    @pytest.mark.parametrize("feature", [0.0, 1.5])
    def test_rows_given_the_columns_equal_the_integral(self, row, feature):
        b, V, s, S = np.array([0.3, -1.0, 0.2, 0.5]), np.array([1.2, -0.7, 0.4, 2.0]), 0.8, 60_000
        response = np.array([0.5, -0.2, 0.0, 1.0])
        theta = np.column_stack([b - feature * response, response, V, np.full(4, s)])  # the feature makes it b again
        W = np.empty((1, S, 2), np.float32)
        samples = np.ascontiguousarray(np.broadcast_to(theta, (S, 4, 4)))
        features, centres = np.array([[1.0, feature]]), np.zeros((1, S, 2))
        kernel.probit_rows(np.array([row], np.int8), features, centres, samples, np.uint64(7), 20, 1, W)
        u, e = W[0].T.astype(float)
        found = np.column_stack([u, e, u**2, e**2, u * e])
        assert np.abs(standard_errors(found, twin.row_posterior(row, b, V, s))).max() < 4

    def test_a_row_depends_on_no_other_row_and_not_on_its_place(self):
        rng = np.random.default_rng(0)
        cells, theta = rng.integers(-1, 2, (5, 6)).astype(np.int8), rng.normal(size=(30, 6, 4))
        together, alone = np.empty((5, 30, 3), np.float32), np.empty((1, 30, 3), np.float32)
        features, centres = np.ones((5, 1)), np.zeros((5, 30, 3))
        kernel.probit_rows(cells, features, centres, theta, np.uint64(7), 5, 2, together)
        for i in range(5):
            kernel.probit_rows(cells[i : i + 1].copy(), features[:1], centres[:1], theta, np.uint64(7), 5, 2, alone)
            np.testing.assert_array_equal(alone[0], together[i])
        assert len(np.unique(together[:, 0, 0])) == 5, "streams of their own"


def watched(chain, K, row_effects):
    """Bounded functions of everything that is drawn: some of it has no variance under the prior."""
    s, e = (chain.theta[0, -1], chain.g[:, -1]) if row_effects else (0.0, np.zeros(len(chain.g)))
    P = len(chain.means)
    return functions(
        {
            "u": chain.g[None, :, P : P + K],
            "c": chain.centres[None, :, :K],
            "e": e[None],
            "s": np.array([s]),
            "tau": chain.tau[None],
            "v": chain.theta[None, :, P : P + K],
            "m": chain.means[None],
            "t": chain.precisions[None],
            "b": chain.theta[None, :, :P],
        }
    )[0]


def functions(drawn):
    """n x F, the same for any sign or order of the factors; pairs see whether parts fit together."""
    n = len(drawn["m"])
    parts = [
        (np.tanh(drawn["u"]) ** 2).reshape(n, -1).mean(axis=1),
        (np.tanh(drawn["u"] - drawn["c"][:, :, : drawn["u"].shape[2]]) ** 2).mean(axis=2),
        (np.tanh(drawn["c"][:, :, : drawn["u"].shape[2]]) ** 2).mean(axis=2),
        np.tanh(drawn["e"]) ** 2,
        drawn["s"] ** 2,
        np.exp(-drawn["tau"]).mean(axis=1),
        np.tanh(np.abs(drawn["v"])).mean(axis=(1, 2)),
        np.tanh(drawn["m"]),
        drawn["m"] ** 2,
        np.exp(-drawn["t"]),
        np.tanh(drawn["b"]).reshape(n, -1),
        np.tanh(drawn["b"] - drawn["m"][:, None]).reshape(n, -1) ** 2,
        np.tanh(np.einsum("nik,njk->nij", drawn["u"], drawn["v"])).reshape(n, -1),
        np.tanh(drawn["s"][:, None] * drawn["e"]) * np.tanh(drawn["b"][:, :1, 0]),
    ]
    return np.column_stack(parts)


class TestDistribution:
    @pytest.mark.parametrize(
        ("K", "row_effects", "knows"), [(1, True, ""), (2, False, ""), (1, True, "features space")]
    )
    def test_data_drawn_anew_in_each_sweep_leave_the_prior(self, K, row_effects, knows):
        """Geweke (2004): parameters given data, data given parameters, and so on, is a walk through the prior."""
        N, D, n = 3, 3, 40_000
        rng = np.random.default_rng(0)
        features = np.column_stack([np.ones(N), [-1.0, 0.2, 1.1]]) if "features" in knows else np.ones((N, 1))
        space = None
        known = Known.nothing(N)._replace(features=features)
        if "space" in knows:
            vectors = np.array([stats.ortho_group.rvs(N, random_state=seed)[:2] for seed in range(2)])
            variances = np.array([[2.0, 0.5], [1.0, 0.0]])
            space, known = (vectors, variances, SIZES), Known(features, vectors, variances)
        truth = twin.prior(N, D, K, row_effects, 40_000, rng, features, space, rate=0.5)
        expected = functions(truth)
        chain = Chain(rng.integers(0, 2, (N, D)).astype(np.int8), K, row_effects, rng, known, rate=0.5)
        blank = rng.random((N, D)) < 0.2
        found = []
        for _ in range(n):
            p = stats.norm.cdf(chain.g @ chain.theta.T)
            chain.cells[:] = np.where(blank, -1, rng.random((N, D)) < p)
            chain._sums[0][:] = 0  # z belong to the old cells: begin with the rows
            chain.sweep(1)
            found.append(watched(chain, K, row_effects))
        varies = expected.std(axis=0) > 0
        errors = standard_errors(np.array(found)[:, varies], expected.mean(axis=0)[varies])
        # The means of the twin have errors too: 40,000 independent draws, against far fewer of the chain.
        assert np.abs(errors).max() < 4.5

    @pytest.mark.parametrize("row_effects", [True, False])
    def test_a_long_run_has_the_means_of_weighted_draws(self, row_effects):
        X = np.array([[1, 0], [1, NAN], [0, 0]])
        rng = np.random.default_rng(1)
        draws = twin.prior(3, 2, 1, row_effects, 200_000, rng)
        w = twin.weights(X, draws)
        assert 1 / np.sum(w**2) > 5_000
        values = functions(draws)
        chain = Chain(codes(X), 1, row_effects, rng)
        chain.sweep(500)
        found = np.empty((40_000, values.shape[1]))
        for line in found:
            chain.sweep(1)
            line[:] = watched(chain, 1, row_effects)
        mean = w @ values
        error = np.sqrt(w**2 @ (values - mean) ** 2)
        batches = found.reshape(50, -1, found.shape[1]).mean(axis=1)
        total = np.sqrt(error**2 + batches.var(axis=0, ddof=1) / 50)
        varies = values.std(axis=0) > 0
        assert np.abs((found.mean(axis=0) - mean)[varies] / total[varies]).max() < 4.5
        assert np.abs(mean - values.mean(axis=0)).max() > 0.05, "the data say something"


class TestOddTables:
    @pytest.mark.parametrize("cell", [0, 1])
    def test_a_constant_table_stays_finite(self, cell):
        chain = Chain(np.full((30, 8), cell, np.int8), 3, True, np.random.default_rng(0))
        assert np.isfinite(chain.sweep(300)).all()
        assert np.isfinite(chain.theta).all()

    def test_scores_of_forty_give_no_nan(self):
        chain = Chain(
            np.random.default_rng(0).integers(0, 2, (20, 6)).astype(np.int8), 2, True, np.random.default_rng(0)
        )
        chain.theta[:, 0] = [40, -40, 40, -40, 40, -40]
        chain._sums[0][:] = 0
        assert np.isfinite(chain.sweep(50)).all()
        assert np.isfinite(chain.g).all()

    @pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2)])
    def test_tiny_tables(self, shape):
        chain = Chain(np.ones(shape, np.int8), 3, True, np.random.default_rng(0))
        assert np.isfinite(chain.sweep(200)).all()

    def test_mostly_missing(self):
        cells = np.full((30, 10), -1, np.int8)
        cells[::3, 4], cells[5] = 1, 0
        chain = Chain(cells, 3, True, np.random.default_rng(0))
        assert np.isfinite(chain.sweep(200)).all()
