"""ICA mixtures: structural moves, and the switches that turn them off."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentbits.models.ica_mixture import moves
from latentbits.models.ica_mixture.cluster_posterior import PRIOR, Clusters
from latentbits.models.ica_mixture.estimator import ICAMixture
from latentbits.models.ica_mixture.passes import Switches, sweep
from latentbits.models.ica_mixture.run import start_state
from tests.models.ica_mixture.tools import TRUTH, X, small_state, structural
from tests.reference.assertions import assert_nondecreasing


class TestMoves:
    def state(self):
        """One cluster that holds two, far apart along one source."""
        rng = np.random.default_rng(0)
        rows = np.vstack(
            [rng.uniform(-1, 1, (80, 2)) - [5, 0], rng.uniform(-1, 1, (120, 2)) @ [[1, 1], [-1, 1]] + [5, 0]]
        )
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        state = start_state(rows, np.ones((1, 200)), 2, 3, PRIOR, rng)
        for _ in range(30):
            state, _, _ = sweep(rows, state, PRIOR, Switches())
        return rows, state

    def test_a_gap_is_found_and_split(self):
        _, state = self.state()
        cuts = moves.find_cuts(state.clusters)
        assert len(cuts) == 1
        new = moves.split(state, cuts[0], PRIOR)
        np.testing.assert_allclose(new.share.sum(axis=0), 1)
        assert sorted(new.share.sum(axis=1).round()) == [80, 120]
        truth = np.repeat([0, 1], [80, 120])
        assert adjusted_rand_score(truth, new.share.argmax(axis=0)) == 1

    def test_narrow_sides_of_a_gap_keep_their_variance(self):
        """phi^2 + 1 / beta - mean^2 is 0 by rounding where the Gaussians of a side are that narrow."""
        _, state = self.state()
        clusters = state.clusters
        narrow = clusters._replace(phi=np.where(clusters.phi > 0, 1.0, -1.0), beta_shape=clusters.beta_rate * 1e18)
        new = moves.split(state._replace(clusters=narrow), moves.find_cuts(clusters)[0], PRIOR)
        assert all(np.isfinite(part).all() for part in new.clusters)
        assert (new.clusters.beta_rate > 0).all()

    @pytest.mark.parametrize(
        ("pi", "phi", "beta", "found"),
        [
            ([0.5, 0.5], [-1.0, 1.0], [10.0, 10.0], True),  # J = 2 sqrt(10) > 5
            ([0.5, 0.5], [-1.0, 1.0], [5.0, 5.0], True),  # J < 5, but a deep valley
            ([0.5, 0.5], [-1.0, 1.0], [1.0, 1.0], False),
            ([0.995, 0.005], [-1.0, 1.0], [1.0, 100.0], False),  # the second is dead
        ],
    )
    def test_what_a_gap_is(self, pi, phi, beta, found):
        _, state = small_state()
        one = Clusters(*(array[:1] for array in state.clusters))._replace(
            pi=1000 * np.array([[pi, [1.0, 0.0]]]),
            phi=np.array([[phi, [0.0, 0.0]]]),
            beta_shape=np.array([[beta, [1.0, 1.0]]]),
            beta_rate=np.ones((1, 2, 2)),
        )
        cuts = moves.find_cuts(one)
        assert len(cuts) == found
        if found:
            assert cuts[0].upper.tolist() == [False, True]

    def test_a_deleted_clusters_points_go_to_the_others(self):
        rows, state = self.state()
        three = moves.split(state, moves.find_cuts(state.clusters)[0], PRIOR)
        for _ in range(10):
            three, _, _ = sweep(rows, three, PRIOR, Switches())
        left = moves.delete(three, [0], PRIOR)
        np.testing.assert_allclose(left.share, 1)
        assert left.tag.tolist() == three.tag[1:].tolist()
        assert sorted(moves.deletion_order(three, PRIOR)) == [0, 1]

    def test_a_collapsed_source_is_spread_again_and_A_stays(self):
        _, state = small_state()
        pi = state.clusters.pi.copy()
        pi[1, 0] = [100.0, 0.001]
        state = state._replace(clusters=state.clusters._replace(pi=pi))
        assert moves.collapsed_sources(state.clusters) == [(1, 0)]
        new = moves.reinitialise(state, 1, 0)
        np.testing.assert_allclose(new.clusters.pi_mean[1, 0], 0.5)
        np.testing.assert_array_equal(new.clusters.A, state.clusters.A)
        for before, after in zip(state.clusters.source_moments(), new.clusters.source_moments(), strict=True):
            assert after[1, 0] == pytest.approx(before[1, 0], rel=0.1)
        assert moves.collapsed_sources(new.clusters) == []

    def test_a_dead_source_is_revived_from_noise(self):
        _, state = small_state()
        A = state.clusters.A.copy()
        A[0, :, 1] = 0
        state = state._replace(clusters=state.clusters._replace(A=A))
        assert moves.dead_sources(state.clusters) == [(0, 1)]
        new = moves.revive(state, 0, 1)
        assert moves.dead_sources(new.clusters) == []
        noise, kept = 1 / state.clusters.psi[0], 1 / new.clusters.psi[0] + new.clusters.A[0, :, 1] ** 2
        np.testing.assert_allclose(kept, noise)


class TestAbsentSources:
    def with_and_without(self, *, holes=False):
        """Points, and a state whose cluster 0 lacks source 1: marked as absent, and with arrays that don't have it."""
        points, state = small_state()
        if holes:
            points[0, 0] = points[3, 2] = np.nan
        only = state._replace(
            **{name: getattr(state, name)[:1] for name in ("pace", "labels", "heights", "tag")},
            log_joint=state.log_joint[:1],
            share=np.ones((1, len(points))),
            rho=state.rho[:1],
            clusters=Clusters(*(array[:1] for array in state.clusters)),
        )
        A = only.clusters.A.copy()
        A[0, :, 1] = 0
        marked = moves.drop_sources(only._replace(clusters=only.clusters._replace(A=A)), [0])
        names = ("alpha_shape", "alpha_rate", *moves.OF_GAUSSIANS)
        fewer = only.clusters._replace(
            A=A[..., :1],
            A_cov=only.clusters.A_cov[..., :1, :1],
            **{name: getattr(only.clusters, name)[:, :1] for name in names},
        )
        return points, marked, only._replace(clusters=fewer, earlier=fewer, labels=only.labels[:, :, :1])

    @pytest.mark.parametrize("holes", [False, True])
    def test_an_absent_source_is_as_if_there_were_none(self, holes):
        points, marked, fewer = self.with_and_without(holes=holes)
        marked = marked._replace(clusters=marked.clusters._replace(nu=fewer.clusters.nu))  # its mean was moved there
        for number in range(6):
            marked, bound, _ = sweep(points, marked, PRIOR, Switches(), free=number % 2 == 0)
            fewer, expected, _ = sweep(points, fewer, PRIOR, Switches(), free=number % 2 == 0)
            assert bound == pytest.approx(expected, rel=1e-7)
        assert marked.clusters.absent.tolist() == [[False, True]]
        np.testing.assert_allclose(marked.clusters.A[..., 0], fewer.clusters.A[..., 0], rtol=1e-4)
        assert not marked.clusters.A[..., 1].any()

    def test_an_absent_source_is_revived(self):
        _, marked, _ = self.with_and_without()
        revived = moves.revive(marked, 0, 1)
        assert not revived.clusters.absent.any()
        assert all(np.isfinite(part).all() for part in revived.clusters)

    def test_more_sources_than_needed_leave_the_bound_as_it_is(self):
        """Two clusters of at most two sources: with four allowed the answer and its bound are the same."""
        few, many = (ICAMixture(2, n, 3, n_init=3, random_state=0).fit(X) for n in (2, 4))
        assert sorted(few.n_sources_) == sorted(many.n_sources_) == [1, 2]
        assert many.objective_ == pytest.approx(few.objective_, abs=5)
        assert many._clusters.absent.sum() == 5


class TestSwitches:
    def test_all_moves_are_in_the_history(self, model):
        history = model.history_
        assert history.columns.tolist() == ["iteration", "move", "cluster", "source", "before", "after", "kept"]
        assert {"rescale", "rotate", "delete"} <= set(history["move"])
        tried = history[history["move"].isin(["rescale", "rotate"])]
        assert (tried["kept"] == (tried["after"] >= tried["before"])).all()

    @pytest.mark.parametrize("name", ["rescale", "rotate", "split", "reinitialise", "delete"])
    def test_what_is_switched_off_isn_t_done(self, name):
        options = {"n_init": 1, "random_state": 0, "tol": 1e-3, name: False}
        model = ICAMixture(3, 2, **options).fit(X)
        assert name not in set(model.history_["move"])

    def test_with_nothing_on_the_clusters_stay(self):
        off = dict.fromkeys(["split", "reinitialise", "delete"], False)
        model = ICAMixture(3, 2, n_init=1, tol=1e-3, random_state=0, **off).fit(X)
        assert model.n_clusters_ == 3
        assert_nondecreasing(model.objective_history_, slack=1e-8 * abs(model.objective_))

    def test_one_cluster_is_split_into_two(self):
        model = ICAMixture(1, 2, n_init=1, random_state=0).fit(X)
        split = model.history_[model.history_["move"] == "split"]
        assert split["kept"].any()
        assert adjusted_rand_score(TRUTH.labels, model.labels_) == 1

    def test_by_the_bound_two_humps_may_be_one_cluster(self):
        by_bound, by_humps = (
            ICAMixture(2, 2, criterion=word, n_init=2, tol=1e-4, random_state=0).fit(X)
            for word in ("bound", "clusters")
        )
        tried = structural(by_bound.history_)
        tried = tried[tried["move"] != "undo"]
        assert not tried["kept"].all()
        assert (tried["kept"] <= (tried["after"] >= tried["before"])).all()
        assert (by_bound.n_clusters_, by_humps.n_clusters_) == (1, 2)
        assert moves.hidden_clusters(by_bound._clusters)
        assert not moves.hidden_clusters(by_humps._clusters)

    def test_a_small_second_hump_is_no_cluster(self):
        _, state = small_state()
        for few, found in ((0.03, 0), (0.2, 1)):
            one = Clusters(*(array[:1] for array in state.clusters))._replace(
                pi=1000 * np.array([[[1 - few, few], [1.0, 0.0]]]),
                phi=np.array([[[-2.0, 2.0], [0.0, 0.0]]]),
                beta_shape=np.full((1, 2, 2), 10.0),
                beta_rate=np.ones((1, 2, 2)),
            )
            assert len(moves.hidden_clusters(one)) == found
