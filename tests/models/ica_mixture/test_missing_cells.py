"""ICA mixtures of tables with missing cells: against plain loops over the cells that are there."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentbits.models.ica_mixture import densities
from latentbits.models.ica_mixture.cluster_posterior import PRIOR
from latentbits.models.ica_mixture.cluster_updates import (
    RULES,
    cluster_bounds,
    collect,
    map_statistics,
    update_clusters,
)
from latentbits.models.ica_mixture.estimator import ICAMixture
from latentbits.models.ica_mixture.passes import Switches, assignment_bound, responsibilities, sweep
from tests.models.ica_mixture.tools import TRUTH, C, M, X, dense, inferred, small_state
from tests.reference import ica_mixture as twin
from tests.reference.assertions import assert_nondecreasing


def with_holes(rows, share=0.25, seed=0):
    return np.where(np.random.default_rng(seed).random(rows.shape) < share, np.nan, rows)


def small_with_holes(**options):
    points, state = small_state(**options)
    return with_holes(points), state


@pytest.mark.parametrize("n_gaussians", [1, 3])
def test_bound_equals_plain_loops(n_gaussians):
    points, state = small_with_holes(n_gaussians=n_gaussians)
    hidden = inferred(points, state)
    q = dense(hidden)
    share = responsibilities(q.log_joint, state.rho)
    stats = collect(points, share, hidden, state.clusters)
    clusters = update_clusters(state.clusters, stats, PRIOR)
    fast = cluster_bounds(clusters, stats, PRIOR).sum() + assignment_bound(share, state.rho, PRIOR)
    slow = twin.bound(points, clusters, PRIOR, q.mean, q.cov, q.labels, share, state.rho)
    assert fast == pytest.approx(slow, rel=1e-10)
    inside = [
        [
            twin.point(x, state.clusters, c, *one)
            for x, *one in zip(points, q.mean[c], q.cov[c], q.labels[c], strict=True)
        ]
        for c in range(C)
    ]
    np.testing.assert_allclose(q.log_joint, inside, rtol=1e-9)


def test_hidden_variables_of_complete_points_are_those_of_the_kernel():
    points, state = small_state()
    plain = inferred(points, state)
    one_hole = points.copy()
    one_hole[0, 1] = np.nan
    ours = inferred(one_hole, state)
    whole = plain.rows != 0
    for name in ("moments", "labels", "log_joint", "free"):
        np.testing.assert_allclose(getattr(ours, name)[whole], getattr(plain, name)[whole], rtol=1e-9, err_msg=name)
    assert not np.allclose(ours.moments[~whole], plain.moments[~whole])


def test_no_rule_lowers_the_bound_and_maps_of_sums_are_maps_of_points():
    points, state = small_with_holes()
    stats = collect(points, state.share, inferred(points, state), state.clusters)
    clusters, trace = state.clusters, []
    for _ in range(3):
        for rule in RULES:
            clusters = rule(clusters, stats, PRIOR)
            trace.append(cluster_bounds(clusters, stats, PRIOR).sum())
    assert_nondecreasing(trace, slack=1e-9)
    rng = np.random.default_rng(0)
    R, shift = rng.normal(size=(C, M, M)), rng.normal(size=(C, M))
    mapped = map_statistics(stats, R, shift)
    mean = dense(inferred(points, state)).mean
    there = ~np.isnan(points)
    for c in range(C):
        moved = (mean[c] - shift[c]) @ R[c].T
        np.testing.assert_allclose(mapped.seen_s[c], (there * state.share[c][:, None]).T @ moved, rtol=1e-9)


def test_passes_never_lower_the_bound():
    points, state = small_with_holes(n_points=40)
    trace = []
    for number in range(40):
        state, bound, _ = sweep(points, state, PRIOR, Switches(), free=number % 2 == 0)
        trace.append(bound)
    assert_nondecreasing(trace, slack=1e-7)
    assert trace[-1] > trace[0] + 1


@pytest.fixture(scope="module")
def model():
    return ICAMixture(4, 2, 3, n_init=2, tol=1e-4, random_state=0).fit(with_holes(X, 0.2))


class TestFits:
    def test_clusters_are_found_from_a_part_of_the_cells(self, model):
        assert model.n_clusters_ == 2
        assert adjusted_rand_score(TRUTH.labels, model.labels_) > 0.9

    def test_density_equals_enumeration_and_the_bound_is_below(self, model):
        rows = with_holes(X[::60], 0.3, seed=1)
        rows[0] = np.nan
        p, scale = model._clusters, model._scale
        live = (np.arange(2) < model.n_sources_[:, None])[..., None]
        mean, variance = (moment[..., None] for moment in p.source_moments())
        expected = [
            twin.log_density(
                x,
                model.proportions_,
                model.means_,
                model.mixing_,
                1 / model.noise_precision_,
                p.pi_mean,
                np.where(live, p.phi, mean),
                np.where(live, 1 / p.beta, variance),
            )
            for x in rows[1:]
        ]
        np.testing.assert_allclose(model.score_samples(rows)[1:], expected, rtol=1e-8)
        assert model.score_samples(rows)[0] == pytest.approx(0, abs=1e-9)
        standard = (rows - model._centre) / scale
        bound = densities.bounded_log_density(standard, p)
        assert (bound <= densities.exact_log_density(standard, p) + 0.05).all()

    def test_answers_are_finite(self, model):
        rows = with_holes(X[:20], 0.4, seed=2)
        for answer in (model.predict_proba(rows), model.transform(rows), model.transform(rows, "unmixed")):
            assert np.isfinite(answer).all()
        assert np.isfinite(model.log_evidence())

    def test_an_empty_row_changes_no_parameter(self):
        holes = with_holes(X[::4], 0.1)
        one, other = (
            ICAMixture(2, 1, 2, n_init=1, tol=1e-2, random_state=0).fit(rows)
            for rows in (holes, np.vstack([holes, np.full(2, np.nan)]))
        )
        np.testing.assert_array_equal(one.mixing_, other.mixing_)
        assert len(other.labels_) == len(holes) + 1
