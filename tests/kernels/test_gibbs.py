"""Collapsed Gibbs sampling against the enumeration of all causes of tiny tables."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from latentbits.kernels.gibbs import sample_rows
from latentbits.kernels.random_stream import log_gamma_draw, mix, uniform
from latentbits.models.aspect.gibbs import Chain
from latentbits.models.aspect.variational import Prior
from tests.reference import gibbs as twin

NAN = np.nan
PRIOR = Prior(0.5, 0.8, 0.6)
TABLE = np.array([[1.0, 0.0, 1.0], [1.0, NAN, 0.0], [0.0, 0.0, 1.0]])
FIXED = np.array([[NAN, NAN, NAN], [0.01, 0.3, NAN]])
"""A component whose probabilities are partly known."""


def chain_of(X, K, seed=0, prior=PRIOR, fixed=None):
    cells = np.where(np.isnan(X), -1, X).astype(np.int8)
    return Chain(cells, K, prior, np.random.default_rng(seed), fixed)


def stream(seed):
    return np.random.default_rng(seed).integers(2**64, size=4, dtype=np.uint64)


def set_causes(chain, causes, X, cells, K):
    """Put the chain where it has these causes."""
    M, ones, zeros = twin.counts(X, cells, causes, K)
    chain.of_rows[:], chain.ones[:], chain.zeros[:] = M, ones.T, zeros.T
    for (i, j), k in zip(cells, causes, strict=True):
        chain.causes[i, j] = k


class TestStream:
    def test_xoshiro_has_the_published_numbers(self):
        """State 1, 2, 3, 4: the first outputs of the authors' own code, here by Python's whole numbers."""
        words, state = [1, 2, 3, 4], np.array([1, 2, 3, 4], np.uint64)
        mask = 2**64 - 1

        def rotated(x, k):
            return ((x << k) | (x >> (64 - k))) & mask

        first = []
        for _ in range(20):
            out = (rotated((words[0] + words[3]) & mask, 23) + words[0]) & mask
            first.append(out)
            t = (words[1] << 17) & mask
            words[2] ^= words[0]
            words[3] ^= words[1]
            words[1] ^= words[2]
            words[0] ^= words[3]
            words[2] ^= t
            words[3] = rotated(words[3], 45)
            assert uniform(state) == (out >> 11) / 2**53
        assert first[:2] == [41943041, 58720359]

    def test_mixing_words_has_the_published_number(self):
        assert int(mix(np.uint64(0))) == 0xE220A8397B1DCDAF

    @pytest.mark.parametrize("shape", [0.05, 0.6, 1.0, 7.5])
    def test_gamma_numbers(self, shape):
        state = stream(1)
        drawn = np.exp([log_gamma_draw(shape, state) for _ in range(20_000)])
        assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > 1e-3

    def test_a_tiny_shape_is_finite_in_logarithms(self):
        state = stream(1)
        assert np.isfinite([log_gamma_draw(1e-3, state) for _ in range(1000)]).all()


class TestConditional:
    @pytest.mark.parametrize("fixed", [None, FIXED], ids=["free", "fixed"])
    @pytest.mark.parametrize("temperature", [1.0, 0.4, 0.0])
    def test_the_first_cell_is_drawn_from_the_enumerated_conditional(self, fixed, temperature):
        """From the same causes, many times; the chain visits cells in reading order, so the others are as they were."""
        K, X = 2, TABLE
        exact = twin.enumerated(X.tolist(), K, PRIOR, fixed, temperature)
        causes = exact.causes[137]
        expected = twin.conditional(exact, X, K, causes, 0)
        drawn = Counter()
        chain = chain_of(X, K, fixed=fixed)
        chain._state[:] = stream(5)
        n = 4000
        for _ in range(n):
            set_causes(chain, causes, X, exact.cells, K)
            chain.sweep(1, temperature)
            drawn[int(chain.causes[0, 0])] += 1
        assert stats.binomtest(drawn[0], n, expected[0]).pvalue > 1e-3

    def test_the_last_cell_too(self):
        """Given the others as they are after the sweep."""
        K, X = 2, TABLE
        exact = twin.enumerated(X.tolist(), K, PRIOR)
        chain = chain_of(X, K)
        chain.sweep(5)
        drawn, expected = 0, []
        for _ in range(4000):
            chain.sweep(1)
            causes = tuple(int(chain.causes[i, j]) for i, j in exact.cells)
            expected.append(twin.conditional(exact, X, K, causes, len(causes) - 1)[0])
            drawn += causes[-1] == 0
        expected = np.array(expected)
        assert abs(drawn - expected.sum()) < 4 * np.sqrt((expected * (1 - expected)).sum())


class TestDistribution:
    @pytest.mark.parametrize("fixed", [None, FIXED], ids=["free", "fixed"])
    @pytest.mark.parametrize("temperature", [1.0, 0.3])
    def test_a_long_run_has_the_enumerated_distribution(self, fixed, temperature):
        K, X, n = 2, TABLE, 40_000
        exact = twin.enumerated(X.tolist(), K, PRIOR, fixed, temperature)
        chain = chain_of(X, K, seed=3, fixed=fixed)
        chain.sweep(50, temperature)
        seen = Counter()
        fits = np.empty(n)
        for t in range(n):
            fits[t] = chain.sweep(1, temperature)[0]
            seen[tuple(int(chain.causes[i, j]) for i, j in exact.cells)] += 1
        found = np.array([seen[causes] for causes in exact.causes]) / n
        # Half the total variation of n independent draws would be about sqrt(256 / n) / 2.5 = 0.03.
        assert 0.5 * np.abs(found - exact.probability).sum() < 0.06
        for values in (exact.W, exact.H):
            mean = np.tensordot(exact.probability, values, 1)
            np.testing.assert_allclose(np.tensordot(found, values, 1), mean, atol=0.02)
        batches = fits.reshape(40, -1).mean(axis=1)
        error = batches.std(ddof=1) / np.sqrt(40)
        assert abs(fits.mean() - exact.probability @ exact.fit) < 4 * error

    def test_log_likelihood_and_counts_belong_to_the_causes(self):
        rng = np.random.default_rng(0)
        X = np.where(rng.random((7, 5)) < 0.2, NAN, rng.integers(0, 2, (7, 5)))
        fixed = np.full((3, 5), NAN)
        fixed[2] = 0.001
        chain = chain_of(X, 3, fixed=fixed)
        value = chain.sweep(4)[-1]
        cells = [(i, j) for i in range(7) for j in range(5) if not np.isnan(X[i, j])]
        M, ones, zeros = twin.counts(X, cells, [chain.causes[cell] for cell in cells], 3)
        np.testing.assert_array_equal(chain.of_rows, M)
        np.testing.assert_array_equal(chain.ones.T, ones)
        np.testing.assert_array_equal(chain.zeros.T, zeros)
        assert value == pytest.approx(twin.log_fit(ones, zeros, PRIOR, fixed), rel=1e-12)
        assert (chain.causes[np.isnan(X)] == -1).all()

    def test_components_of_a_known_probability_are_not_drawn(self):
        chain = chain_of(TABLE, 2, fixed=FIXED)
        chain.sweep(3)
        H = chain.components(np.random.default_rng(0))
        known = ~np.isnan(FIXED)
        np.testing.assert_array_equal(H[known], FIXED[known])
        assert (np.abs(H - np.nan_to_num(FIXED))[~known] > 0).all()


class TestRows:
    H = np.array([[0.9, 0.2, 0.4, 0.7], [0.1, 0.3, 0.8, 0.05]])
    ROWS = np.array([[1, 0, 1, -1], [0, 0, 1, 1], [-1, -1, -1, -1]], np.int8)

    def drawn(self, rows, S=40_000, sweeps=2, gamma=0.6, H=None):
        H = self.H if H is None else H
        samples = np.ascontiguousarray(np.broadcast_to(H.T, (S, *H.T.shape)))
        W = np.empty((len(rows), S, len(H)), np.float32)
        sample_rows(np.ascontiguousarray(rows), samples, np.full(S, gamma), np.uint64(7), 10, sweeps, W)
        return W

    def test_weights_given_components_equal_the_enumerated_posterior(self):
        """Components that are known everywhere leave the rows' weights alone to be found."""
        X = np.where(self.ROWS < 0, NAN, self.ROWS)
        W = self.drawn(self.ROWS)
        exact = twin.enumerated(X.tolist(), 2, PRIOR, self.H)
        mean = np.tensordot(exact.probability, exact.W, 1)
        np.testing.assert_allclose(W.mean(axis=1), mean, atol=0.012)
        # Second moments of a Dirichlet given the counts, mixed over all causes.
        total = np.sum(~np.isnan(X), axis=1) + 2 * PRIOR.gamma
        given = exact.W * (exact.W * total[:, None] + 1) / (total[:, None] + 1)
        np.testing.assert_allclose((W**2).mean(axis=1), np.tensordot(exact.probability, given, 1), atol=0.012)

    def test_a_row_depends_on_no_other_row_and_not_on_its_place(self):
        together = self.drawn(self.ROWS, S=50)
        for i in range(3):
            np.testing.assert_array_equal(self.drawn(self.ROWS[i : i + 1], S=50)[0], together[i])
        turned = self.drawn(self.ROWS[::-1], S=50)
        np.testing.assert_array_equal(turned[::-1], together)

    def test_rows_have_streams_of_their_own(self):
        flat = np.full((2, 4), 0.5)
        W = self.drawn(np.array([[0, 0, 0, 0], [0, 0, 0, 1]], np.int8), S=500, H=flat)
        assert abs(np.corrcoef(W[0, :, 0], W[1, :, 0])[0, 1]) < 0.2

    def test_one_component_has_all_the_weight(self):
        np.testing.assert_array_equal(self.drawn(self.ROWS, S=5, H=self.H[:1]), 1.0)

    def test_a_tiny_gamma_gives_numbers(self):
        W = self.drawn(self.ROWS, S=500, gamma=1e-3)
        assert np.isfinite(W).all()
        np.testing.assert_allclose(W.sum(axis=2), 1, rtol=1e-6)
