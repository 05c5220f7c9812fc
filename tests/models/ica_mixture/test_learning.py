"""ICA mixtures: the kernels, the bound, its rules and maps against plain loops."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from latentbits.data.simulate.ica_mixture import ica_mixture
from latentbits.kernels.source_pass import label_pass, source_pass
from latentbits.models.ica_mixture.learner import Switches, bound, responsibilities, sweep
from latentbits.models.ica_mixture.maps import best_directions, rescale, rotate
from latentbits.models.ica_mixture.posterior import PRIOR, Clusters
from latentbits.models.ica_mixture.start import nearest_centres, start_state
from latentbits.models.ica_mixture.statistics import collect, infer_hidden, map_statistics, settle
from latentbits.models.ica_mixture.updates import RULES, cluster_bounds, update_clusters
from tests.models.ica_mixture.tools import C, M, X, identity, small_state, structural
from tests.reference import ica_mixture as twin
from tests.reference.assertions import assert_nondecreasing


class TestKernels:
    def inputs(self):
        rng = np.random.default_rng(1)
        root = rng.normal(size=(C, 4, 4))
        precision = root @ np.swapaxes(root, 1, 2) + np.eye(4)
        beta = rng.gamma(2.0, size=(C, 4, 3))
        return rng.normal(size=(C, 6, 4)), precision, beta, rng.normal(size=beta.shape), rng.normal(size=beta.shape)

    def test_sources_equal_numpy(self):
        pull, precision, beta, beta_phi, constant = self.inputs()
        labels = np.random.default_rng(2).dirichlet(np.ones(3), size=(C, 6, 4))
        mean, cov, log_det, new = source_pass(pull, precision, beta, beta_phi, constant, labels)
        own = np.einsum("ctmk,cmk->ctm", labels, beta)
        expected = np.linalg.inv(precision[:, None] + own[..., None] * np.eye(4))
        total = pull + np.einsum("ctmk,cmk->ctm", labels, beta_phi)
        np.testing.assert_allclose(cov, expected, atol=1e-12)
        np.testing.assert_allclose(mean, np.einsum("ctij,ctj->cti", expected, total), atol=1e-12)
        np.testing.assert_allclose(log_det, np.linalg.slogdet(expected)[1], atol=1e-12)
        variance = np.ascontiguousarray(np.einsum("ctmm->ctm", cov))
        np.testing.assert_allclose(new, label_pass(mean, variance, beta, beta_phi, constant)[0], atol=1e-12)

    def test_labels_equal_numpy(self):
        mean, _, beta, beta_phi, constant = self.inputs()
        variance = np.random.default_rng(3).gamma(1.0, size=mean.shape)
        labels, log_z = label_pass(mean, variance, beta, beta_phi, constant)
        log = beta_phi[:, None] * mean[..., None] - 0.5 * beta[:, None] * (mean**2 + variance)[..., None]
        log += constant[:, None]
        np.testing.assert_allclose(labels, softmax(log, axis=-1), atol=1e-12)
        np.testing.assert_allclose(log_z, logsumexp(log, axis=-1).sum(axis=-1), atol=1e-12)


class TestBound:
    @pytest.mark.parametrize("n_gaussians", [1, 3])
    def test_equals_plain_loops(self, n_gaussians):
        points, state = small_state(n_gaussians=n_gaussians)
        hidden = infer_hidden(points, state.clusters, state.labels)
        clusters = update_clusters(state.clusters, collect(points, state.share, hidden), PRIOR)
        labels, log_joint = settle(points, clusters, hidden, *identity())
        state = state._replace(clusters=clusters, labels=labels, log_joint=log_joint)
        for share in (state.share, responsibilities(state)):
            fast = bound(state._replace(share=share), PRIOR)
            slow = twin.bound(points, clusters, PRIOR, hidden.mean, hidden.cov, labels, share, state.rho)
            assert fast == pytest.approx(slow, rel=1e-10)

    def test_from_sums_equals_from_points(self):
        points, state = small_state()
        hidden = infer_hidden(points, state.clusters, state.labels)
        stats = collect(points, state.share, hidden)
        by_sums = cluster_bounds(state.clusters, stats, PRIOR)
        slow = [
            sum(
                q * twin.point(x, state.clusters, c, *values)
                for q, x, *values in zip(
                    state.share[c], points, hidden.mean[c], hidden.cov[c], hidden.labels[c], strict=True
                )
            )
            - twin.kl_cluster(state.clusters, c, PRIOR)
            for c in range(C)
        ]
        np.testing.assert_allclose(by_sums, slow, rtol=1e-10)

    @pytest.mark.parametrize("rescaling", [True, False])
    @pytest.mark.parametrize("rotating", [True, False])
    @pytest.mark.parametrize("relaxing", [True, False])
    def test_never_falls(self, rescaling, rotating, relaxing):
        rng = np.random.default_rng(0)
        rows = (X - X.mean(axis=0)) / X.std(axis=0)
        state = start_state(rows, nearest_centres(rows, 4, rng), 2, 3, PRIOR, rng)
        trace = []
        for i in range(40):
            state, value, _ = sweep(rows, state, PRIOR, Switches(rescaling, rotating, relaxing), free=i > 3)
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
        hidden = infer_hidden(points, state.clusters, state.labels)
        new = rule(state.clusters, collect(points, state.share, hidden), PRIOR)

        def value(clusters):
            return twin.bound(points, clusters, PRIOR, hidden.mean, hidden.cov, hidden.labels, state.share, state.rho)

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
        hidden = infer_hidden(points, state.clusters, labels)

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
        hidden = infer_hidden(points, state.clusters, state.labels)
        labels, log_joint = settle(points, state.clusters, hidden, *identity())
        share = responsibilities(state._replace(log_joint=log_joint))
        rho = PRIOR.rho + share.sum(axis=1)

        def value(share=share, rho=state.rho):
            return twin.bound(points, state.clusters, PRIOR, hidden.mean, hidden.cov, labels, share, rho)

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
    def mapped(self):
        points, state = small_state(n_points=40)
        hidden = infer_hidden(points, state.clusters, state.labels)
        rng = np.random.default_rng(4)
        R = np.eye(M) + 0.3 * rng.normal(size=(C, M, M))
        return points, state, hidden, R, rng.normal(size=(C, M))

    def test_sums_follow_the_map(self):
        points, state, hidden, R, shift = self.mapped()
        moved = hidden._replace(
            mean=np.einsum("cij,ctj->cti", R, hidden.mean - shift[:, None]),
            cov=np.einsum("cij,ctjk,clk->ctil", R, hidden.cov, R),
            entropy=hidden.entropy + np.log(np.abs(np.linalg.det(R)))[:, None],
        )
        ours = map_statistics(collect(points, state.share, hidden), R, shift)
        for name, expected in collect(points, state.share, moved)._asdict().items():
            np.testing.assert_allclose(getattr(ours, name), expected, rtol=1e-9, atol=1e-9, err_msg=name)
        for new, expected in zip(
            settle(points, state.clusters, hidden, R, shift),
            settle(points, state.clusters, moved, *identity()),
            strict=True,
        ):
            np.testing.assert_allclose(new, expected, rtol=1e-9, atol=1e-9)

    def test_rescaling_gives_sources_mean_0_and_variance_1(self):
        points, state = small_state(n_points=40)
        hidden = infer_hidden(points, state.clusters, state.labels)
        stats = collect(points, state.share, hidden)
        clusters = update_clusters(state.clusters, stats, PRIOR)
        mapped = rescale(clusters, stats, PRIOR)
        shift, variance = clusters.source_moments()
        np.testing.assert_allclose(mapped.shift, shift)
        np.testing.assert_allclose(np.einsum("cmm->cm", mapped.R), variance**-0.5)
        np.testing.assert_allclose(mapped.bounds, cluster_bounds(mapped.clusters, mapped.stats, PRIOR))

    def test_directions_are_stationary_row_by_row(self):
        points, state = small_state(n_points=40)
        hidden = infer_hidden(points, state.clusters, state.labels)
        stats = collect(points, state.share, hidden)
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
