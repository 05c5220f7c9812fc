"""ICA mixtures: the kernels, the bound, its rules and maps against plain loops."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from latentbits.kernels.source_pass import _exp_all, source_pass
from latentbits.models.ica_mixture.cluster_posterior import PRIOR, Clusters
from latentbits.models.ica_mixture.cluster_updates import (
    RULES,
    cluster_bounds,
    collect,
    map_statistics,
    update_clusters,
)
from latentbits.models.ica_mixture.passes import (
    Switches,
    assignment_bound,
    best_directions,
    rescale,
    responsibilities,
    rotate,
    sweep,
)
from latentbits.models.ica_mixture.run import nearest_centres, start_state
from latentbits.simulate.mixed_sources import ica_mixture
from tests.models.ica_mixture.tools import C, M, X, dense, inferred, packed, small_state, structural
from tests.reference import ica_mixture as twin
from tests.reference.assertions import assert_nondecreasing


class TestKernels:
    def test_equals_numpy(self):
        rng = np.random.default_rng(1)
        N, M, K = 3, 4, 3
        A, nu, psi = rng.normal(size=(C, N, M)), rng.normal(size=(C, N)), rng.gamma(2.0, size=(C, N))
        root = rng.normal(size=(2, C, M, M))
        precision, slack = root @ np.swapaxes(root, 2, 3) + np.eye(M)
        beta = rng.gamma(2.0, size=(C, M, K))
        beta_phi, constant = rng.normal(size=(2, C, M, K))
        points, labels = rng.normal(size=(6, N)), rng.dirichlet(np.ones(K), size=(C, 6, M))
        owner, rows = np.nonzero(rng.random((C, 6)) < 0.7)
        found = source_pass(points, rows, owner, nu, A, psi, precision, slack, beta, beta_phi, constant, labels)
        for p, (t, c) in enumerate(zip(rows, owner, strict=True)):
            own, pull = (labels[c, t] * beta[c]).sum(axis=1), A[c].T @ (psi[c] * (points[t] - nu[c]))
            cov = np.linalg.inv(precision[c] + np.diag(own))
            mean = cov @ (pull + (labels[c, t] * beta_phi[c]).sum(axis=1))
            second = cov + np.outer(mean, mean)
            log = constant[c] + beta_phi[c] * mean[:, None] - beta[c] * np.diag(second)[:, None] / 2
            residual = points[t] - nu[c] - A[c] @ mean
            expected = (
                np.concatenate([[1], mean, second[np.tril_indices(M)]]),
                softmax(log, axis=1),
                psi[c] @ residual**2 + mean @ slack[c] @ mean + np.sum(precision[c] * cov),
                np.linalg.slogdet(cov)[1] / 2 + logsumexp(log, axis=1).sum(),
            )
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_allclose(ours[p], theirs, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("M", [1, 2, 5, 8])
    def test_a_pair_does_not_depend_on_its_neighbours(self, M):
        rng = np.random.default_rng(M)
        N, K, T = 3, 2, 19
        A, nu, psi = rng.normal(size=(C, N, M)), rng.normal(size=(C, N)), rng.gamma(2.0, size=(C, N))
        root = rng.normal(size=(2, C, M, M))
        precision, slack = root @ np.swapaxes(root, 2, 3) + np.eye(M)
        beta_phi, constant = rng.normal(size=(2, C, M, K))
        parts = nu, A, psi, precision, slack, rng.gamma(2.0, size=(C, M, K)), beta_phi, constant
        points, labels = rng.normal(size=(T, N)), rng.dirichlet(np.ones(K), size=(C, T, M))
        owner, rows = np.nonzero(np.ones((C, T)))
        together = source_pass(points, rows, owner, *parts, labels)
        for p in range(len(rows)):
            alone = source_pass(points, rows[[p]], owner[[p]], *parts, labels)
            for one, all_of_them in zip(alone, together, strict=True):
                np.testing.assert_array_equal(one[0], all_of_them[p])

    def test_exponentials(self):
        x = -np.concatenate([np.linspace(0, 3, 3001), np.logspace(-20, 2.84, 2000), [800.0, 1e300, np.inf]])
        ours = x.copy()
        _exp_all(ours)
        np.testing.assert_allclose(ours, np.exp(x), rtol=4e-16, atol=1e-300)

    def test_large_and_small_determinants(self):
        M = 40
        eye, one = np.eye(M)[None], np.ones((1, M, 1))
        for size in (1e-12, 1e12):
            parts = np.zeros((1, 2)), np.zeros((1, 2, M)), np.ones((1, 2)), size * eye, 0 * eye, 0 * one, 0 * one, one
            free = source_pass(np.zeros((1, 2)), np.zeros(1, int), np.zeros(1, int), *parts, np.ones((1, 1, M, 1)))[3]
            assert free[0] == pytest.approx(-0.5 * M * np.log(size) + M, rel=1e-12)


class TestBound:
    @pytest.mark.parametrize("n_gaussians", [1, 3])
    def test_equals_plain_loops(self, n_gaussians):
        points, state = small_state(n_gaussians=n_gaussians)
        hidden = inferred(points, state)
        q = dense(hidden)
        for share in (state.share, responsibilities(q.log_joint, state.rho)):
            clusters = update_clusters(state.clusters, collect(points, share, hidden, state.clusters), PRIOR)
            stats = collect(points, share, hidden, state.clusters)
            fast = cluster_bounds(clusters, stats, PRIOR).sum() + assignment_bound(share, state.rho, PRIOR)
            slow = twin.bound(points, clusters, PRIOR, q.mean, q.cov, q.labels, share, state.rho)
            assert fast == pytest.approx(slow, rel=1e-10)

    def test_points_without_a_share_may_be_left_out(self):
        points, state = small_state()
        share = state.share.copy()
        share[0, :3], share[1, :3] = 0, 1
        everything, some = inferred(points, state), inferred(points, state, share > 0)
        assert len(some.rows) == len(everything.rows) - 3
        for name, whole in collect(points, share, everything, state.clusters)._asdict().items():
            part = getattr(collect(points, share, some, state.clusters), name)
            np.testing.assert_allclose(part, whole, rtol=1e-10, atol=1e-12, err_msg=name)

    def test_from_sums_equals_from_points(self):
        points, state = small_state()
        hidden = inferred(points, state)
        q = dense(hidden)
        by_sums = cluster_bounds(state.clusters, collect(points, state.share, hidden, state.clusters), PRIOR)
        slow = [
            sum(
                weight * twin.point(x, state.clusters, c, *values)
                for weight, x, *values in zip(state.share[c], points, q.mean[c], q.cov[c], q.labels[c], strict=True)
            )
            - twin.kl_cluster(state.clusters, c, PRIOR)
            for c in range(C)
        ]
        np.testing.assert_allclose(by_sums, slow, rtol=1e-10)
        point = twin.point(points[3], state.clusters, 1, q.mean[1, 3], q.cov[1, 3], q.labels[1, 3])
        assert q.log_joint[1, 3] == pytest.approx(point, rel=1e-10)

    @pytest.mark.parametrize("rescaling", [True, False])
    @pytest.mark.parametrize("rotating", [True, False])
    @pytest.mark.parametrize("relaxing", [True, False])
    def test_never_falls(self, rescaling, rotating, relaxing):
        rng = np.random.default_rng(0)
        rows = (X - X.mean(axis=0)) / X.std(axis=0)
        state = start_state(rows, nearest_centres(rows, 4, rng), 2, 3, PRIOR, rng)
        trace = []
        for i in range(40):
            switches = Switches(rescaling, rotating, relaxing)
            state, value, _ = sweep(rows, state, PRIOR, switches, free=i > 3, complete=i % 4 == 0)
            trace.append(value)
        assert_nondecreasing(trace, slack=1e-8 * abs(trace[-1]))

    def test_never_falls_between_structural_moves(self, model):
        trace, starts = model.objective_history_, structural(model.history_)["iteration"].to_numpy()
        assert len(starts) > 0
        pieces = np.split(trace, np.unique(starts))
        for piece in (piece for piece in pieces if len(piece) > 1):
            ends = np.flatnonzero(np.diff(piece) < -1e-8 * abs(trace[-1]))
            # Points are free to move again after a structural change's first passes, which raises the bound too.
            assert len(ends) == 0


class TestRules:
    """After its rule, the bound is flat in every parameter of a factor and lower on both sides."""

    FACTORS = {
        "update_pi": ["pi"],
        "update_phi": ["phi", "phi_precision"],
        "update_beta": ["beta_shape", "beta_rate"],
        "update_A": ["A", "A_cov"],
        "update_nu": ["nu", "nu_precision"],
        "update_psi": ["psi_shape", "psi_rate"],
        "update_alpha": ["alpha_shape", "alpha_rate"],
    }

    def test_every_parameter_has_a_rule(self):
        assert sorted(itertools.chain(*self.FACTORS.values())) == sorted(Clusters._fields)
        assert [rule.__name__ for rule in RULES] == list(self.FACTORS)

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
    def test_is_at_the_optimum(self, rule):
        points, state = small_state()
        hidden = inferred(points, state)
        q = dense(hidden)
        new = rule(state.clusters, collect(points, state.share, hidden, state.clusters), PRIOR)

        def value(clusters):
            return twin.bound(points, clusters, PRIOR, q.mean, q.cov, q.labels, state.share, state.rho)

        assert value(new) > value(state.clusters), "the rule changed nothing"
        rng = np.random.default_rng(0)
        for name in self.FACTORS[rule.__name__]:
            array = getattr(new, name)
            for _ in range(4):
                change = 1e-3 * np.abs(array) * rng.normal(size=array.shape)
                if name == "A_cov":
                    change = 0.5 * (change + np.swapaxes(change, 2, 3))
                self.assert_peak(lambda step, n=name, a=array, d=change: value(new._replace(**{n: a + step * d})))

    def test_hidden_variables_are_at_the_optimum(self):
        points, state = small_state()
        labels = state.labels
        hidden = dense(inferred(points, state))

        def value(mean=hidden.mean, cov=hidden.cov, labels=labels, share=state.share, rho=state.rho):
            return twin.bound(points, state.clusters, PRIOR, mean, cov, labels, share, rho)

        rng = np.random.default_rng(0)
        for _ in range(4):
            d = 1e-3 * rng.normal(size=hidden.mean.shape)
            self.assert_peak(lambda step, d=d: value(mean=hidden.mean + step * d))
            d = 1e-3 * hidden.cov * rng.normal(size=hidden.cov.shape)
            d = d + np.swapaxes(d, 2, 3)
            self.assert_peak(lambda step, d=d: value(cov=hidden.cov + step * d))
            d = 1e-3 * rng.normal(size=labels.shape) * hidden.labels
            d -= hidden.labels * d.sum(axis=3, keepdims=True)
            self.assert_peak(lambda step, d=d: value(labels=hidden.labels + step * d))

    def test_clusters_of_points_are_at_the_optimum(self):
        points, state = small_state()
        hidden = dense(inferred(points, state))
        share = responsibilities(hidden.log_joint, state.rho)
        rho = PRIOR.rho + share.sum(axis=1)

        def value(share=share, rho=state.rho):
            return twin.bound(points, state.clusters, PRIOR, hidden.mean, hidden.cov, hidden.labels, share, rho)

        rng = np.random.default_rng(0)
        for _ in range(4):
            d = 1e-3 * rng.normal(size=share.shape) * share
            d -= share * d.sum(axis=0)
            self.assert_peak(lambda step, d=d: value(share=share + step * d))
            d = 1e-3 * rng.normal(size=C) * rho
            self.assert_peak(lambda step, d=d: value(rho=rho + step * d))

    @staticmethod
    def assert_peak(value):
        low, top, high = value(-1.0), value(0.0), value(1.0)
        assert low < top
        assert high < top
        assert abs(high - low) < 0.05 * (2 * top - high - low), "the slope is no more than the curvature's own error"


class TestMaps:
    def test_sums_follow_the_map(self):
        points, state = small_state(n_points=40)
        hidden = inferred(points, state)
        q = dense(hidden)
        rng = np.random.default_rng(4)
        R, shift = np.eye(M) + 0.3 * rng.normal(size=(C, M, M)), rng.normal(size=(C, M))
        moved = packed(
            hidden,
            np.einsum("cij,ctj->cti", R, q.mean - shift[:, None]),
            np.einsum("cij,ctjk,clk->ctil", R, q.cov, R),
        )
        before = collect(points, state.share, hidden, state.clusters)
        ours = map_statistics(before, R, shift)
        for name, expected in collect(points, state.share, moved, state.clusters)._asdict().items():
            if name != "entropy":
                np.testing.assert_allclose(getattr(ours, name), expected, rtol=1e-9, atol=1e-9, err_msg=name)
        log_det = np.log(np.abs(np.linalg.det(R)))
        np.testing.assert_allclose(ours.entropy, before.entropy + before.n * log_det)

    def test_rescaling_gives_sources_mean_0_and_variance_1(self):
        points, state = small_state(n_points=40)
        stats = collect(points, state.share, inferred(points, state), state.clusters)
        clusters = update_clusters(state.clusters, stats, PRIOR)
        mapped = rescale(clusters, stats, PRIOR)
        shift, variance = clusters.source_moments()
        np.testing.assert_allclose(mapped.shift, shift)
        np.testing.assert_allclose(np.einsum("cmm->cm", mapped.R), variance**-0.5)
        np.testing.assert_allclose(mapped.bounds, cluster_bounds(mapped.clusters, mapped.stats, PRIOR))

    def test_directions_are_stationary_row_by_row(self):
        points, state = small_state(n_points=40)
        stats = collect(points, state.share, inferred(points, state), state.clusters)
        clusters = update_clusters(state.clusters, stats, PRIOR)
        R = best_directions(clusters, stats)
        W = np.einsum("cmk,cmkij->cmij", clusters.beta, stats.kss)
        v = np.einsum("cmk,cmki->cmi", clusters.beta * clusters.phi, stats.ks)
        last = M - 1  # the row that was solved for last, the others fixed
        slope = stats.n[:, None] * np.linalg.inv(R)[:, :, last] - np.einsum("cij,cj->ci", W[:, last], R[:, last])
        np.testing.assert_allclose(slope + v[:, last], 0, atol=1e-6)
        assert np.isfinite(rotate(clusters, stats, PRIOR).bounds).all()

    def test_rotation_finds_the_sources_where_the_rules_alone_creep(self):
        truth = ica_mixture([[[3.0, 1.0], [1.0, 2.0]]], n_points=400, kinds=["uniform"], noise_db=-50, random_state=0)
        rows = (truth.X - truth.X.mean(axis=0)) / truth.X.std(axis=0)
        reached = {}
        for rotating in (True, False):
            state = start_state(rows, np.ones((1, 400)), 2, 3, PRIOR, np.random.default_rng(1))
            for _ in range(30):
                state, reached[rotating], _ = sweep(rows, state, PRIOR, Switches(rotate=rotating))
        assert reached[True] > reached[False] + 5
