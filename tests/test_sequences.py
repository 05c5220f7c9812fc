"""Sequences to graphs: fast equals the twin, known lags come back, bad input is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from latentbits import AspectBernoulli, DataError
from latentbits.data.binary_data import MISSING
from latentbits.sequences import _Mixture, _State, _Steps, first_order_graph, mixture_transition
from tests.reference import sequences
from tests.reference.assertions import assert_nondecreasing

DAYS = [list("abcabdabca"), list("dab"), list("ccdbadbcda")]
IDS = [name for day in DAYS for name in day]
GROUPS = [n for n, day in enumerate(DAYS) for _ in day]


def as_dict(matrix, names):
    table = matrix.tocoo()
    return {
        (names[i], names[j]): value
        for i, j, value in zip(table.row, table.col, table.data.tolist(), strict=True)
        if value
    }


@pytest.fixture(scope="module")
def chain():
    """A long chain of 6 ids with known lags, each id having its own two likely followers."""
    rng = np.random.default_rng(0)
    T = 0.05 + 3 * np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), 3, axis=1)
    T /= T.sum(axis=1, keepdims=True)
    weights = np.array([0.15, 0.05, 0.6, 0.2])
    return weights, T, sequences.simulate(weights, T, 5000, rng)


class TestFirstOrder:
    @pytest.mark.parametrize(("groups", "parts"), [(None, [IDS]), (GROUPS, DAYS)], ids=["one", "days"])
    def test_counts_equal_the_twin(self, groups, parts):
        graph = first_order_graph(IDS, groups=groups)
        assert graph.names == list("abcd")
        expected = sequences.first_order_counts(parts)
        assert as_dict(graph.counts, graph.names) == expected
        edges = {pair for pair in expected if pair[0] != pair[1]}
        adjacency = graph.adjacency
        assert adjacency.row_names == adjacency.column_names == graph.names
        found = {(graph.names[i], graph.names[j]) for i, j in np.argwhere(adjacency.dense() == 1)}
        assert found == edges

    def test_the_groups_matter(self):
        assert first_order_graph(IDS).counts.sum() == len(IDS) - 1
        assert first_order_graph(IDS, groups=GROUPS).counts.sum() == len(IDS) - 3

    def test_interleaved_groups_are_put_apart(self):
        order = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [len(day) for day in DAYS]))
        waiting = [iter(day) for day in DAYS]
        mixed = [next(waiting[n]) for n in order]
        a, b = first_order_graph(mixed, groups=order), first_order_graph(IDS, groups=GROUPS)
        np.testing.assert_array_equal(a.counts.toarray(), b.counts.toarray())

    def test_min_count_and_self_loops(self):
        graph = first_order_graph(list("aabababcc"), min_count=2, self_loops=True)
        np.testing.assert_array_equal(graph.adjacency.dense(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
        loops = first_order_graph(list("aabababcc"), self_loops=True).adjacency.dense()
        np.testing.assert_array_equal(np.diag(loops), [1, 0, 1])
        without = first_order_graph(list("aabababcc")).adjacency.dense()
        np.testing.assert_array_equal(np.diag(without), MISSING, err_msg="what can't be is not absent")

    @pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, iter])
    def test_any_form_of_ids(self, form):
        graph = first_order_graph(form([30, 4, 30, 4, 100]))
        assert graph.names == [4, 30, 100]
        assert graph.adjacency.column_names == ["4", "30", "100"]

    def test_ids_of_several_kinds_keep_their_order(self):
        assert first_order_graph([("x", 1), "b", 2, "b"]).names == [("x", 1), "b", 2]

    def test_a_model_takes_the_graph_with_its_names(self):
        model = AspectBernoulli(2, n_init=1, random_state=0).fit(first_order_graph(IDS).adjacency)
        assert model.feature_names_in_.tolist() == list("abcd")
        assert first_order_graph(IDS).adjacency.to_frame().index.tolist() == list("abcd")


class TestMixture:
    @pytest.mark.parametrize(("groups", "parts"), [(None, [IDS]), (GROUPS, DAYS)], ids=["one", "days"])
    def test_steps_equal_the_twin(self, groups, parts):
        steps = _Steps.of(IDS, groups, 3)
        learner = _Mixture.of(steps)
        state = learner.initialise(np.random.default_rng(0))
        names = [(steps.names[i], steps.names[j]) for i, j in zip(learner.source, learner.target, strict=True)]
        for _ in range(5):
            T = dict(zip(names, state.T.tolist(), strict=True))
            weights, new_T, log_likelihood = sequences.em_step(parts, state.weights.tolist(), T)
            state, objective = learner.step(state)
            assert objective == pytest.approx(log_likelihood, rel=1e-12)
            np.testing.assert_allclose(state.weights, weights, rtol=1e-12)
            np.testing.assert_allclose(state.T, [new_T[pair] for pair in names], rtol=1e-10)

    def test_one_lag_is_the_first_order_chain(self):
        found, graph = mixture_transition(IDS, 1, groups=GROUPS, random_state=0), first_order_graph(IDS, groups=GROUPS)
        np.testing.assert_array_equal(found.counts.toarray(), graph.counts.toarray())
        np.testing.assert_array_equal(found.adjacency.dense(), graph.adjacency.dense())
        counts = graph.counts.toarray()
        np.testing.assert_allclose(found.transitions.toarray(), counts / counts.sum(axis=1, keepdims=True))
        np.testing.assert_array_equal(found.lag_weights, [1.0])
        np.testing.assert_array_equal(found.edges["probability"], 1.0)

    def test_known_lags_and_transitions_come_back(self, chain):
        weights, T, ids = chain
        found = mixture_transition(ids, 4, random_state=0)
        assert found.converged
        # Lags are hidden, so their shares are known less well than from 5000 labels (0.007 at most).
        np.testing.assert_allclose(found.lag_weights, weights, atol=0.04)
        np.testing.assert_allclose(found.transitions.toarray(), T, atol=0.08)
        assert found.transitions.toarray().std() > 0.1, "the transitions differ"

    def test_lags_beyond_the_true_ones_get_little(self, chain):
        weights, _, ids = chain
        found = mixture_transition(ids, 6, random_state=0).lag_weights
        np.testing.assert_allclose(found, [*weights, 0, 0], atol=0.05)

    def test_at_the_end_nothing_is_left_to_gain(self, chain):
        """The conditions of Karush, Kuhn and Tucker, from the definition of the likelihood."""
        ids = chain[2][:800]
        found = mixture_transition(ids, 4, random_state=0, tol=1e-10, max_iter=20_000)
        T, weights = found.transitions.toarray(), found.lag_weights
        parts = np.array([[T[ids[t - lag], ids[t]] for lag in (1, 2, 3, 4)] for t in range(4, len(ids))])
        d = parts @ weights
        slope = (parts / d[:, None]).mean(axis=0)
        assert slope.max() <= 1 + 1e-3
        np.testing.assert_allclose(weights * slope, weights, atol=1e-3)
        gradient, used = np.zeros_like(T), np.zeros(len(T))
        for t, likelihood in zip(range(4, len(ids)), d, strict=True):
            for lag in (1, 2, 3, 4):
                gradient[ids[t - lag], ids[t]] += weights[lag - 1] / likelihood
                used[ids[t - lag]] += weights[lag - 1] * T[ids[t - lag], ids[t]] / likelihood
        np.testing.assert_allclose(T * gradient / used[:, None], T, atol=1e-3)
        assert (gradient <= used[:, None] * (1 + 1e-2) + 1e-2).all()

    def test_likelihood_never_falls_and_is_that_of_the_answer(self, chain):
        ids = chain[2][:600]
        found = mixture_transition(ids, 4, random_state=0)
        assert_nondecreasing(found.log_likelihood_history, slack=1e-9 * len(ids))
        assert found.log_likelihood > found.log_likelihood_history[0] + 10
        T = as_dict(found.transitions, found.names)
        steps = sequences.posterior([ids], found.lag_weights.tolist(), T)
        assert found.log_likelihood == pytest.approx(sum(np.log(step[3]) for step in steps), rel=1e-10)
        edges = found.edges
        assert edges["step"].tolist() == list(range(4, 600))
        assert edges["lag"].tolist() == [int(np.argmax(step[0])) + 1 for step in steps]
        assert edges["source"].tolist() == [step[1][int(np.argmax(step[0]))] for step in steps]
        assert edges["target"].tolist() == ids[4:]
        counts = edges.groupby(["source", "target"]).size().to_dict()
        assert as_dict(found.counts, found.names) == counts
        assert edges["lag"].nunique() > 1

    def test_positions_are_those_of_the_ids_given(self):
        groups = np.tile([0, 1], 10)
        ids = np.where(groups == 0, "a", "b").tolist()
        found = mixture_transition(ids, 2, groups=groups, random_state=0, self_loops=True)
        assert found.edges["step"].tolist() == [*range(4, 20, 2), *range(5, 20, 2)]
        np.testing.assert_array_equal(found.adjacency.dense(), np.eye(2))

    def test_interleaved_talk_is_seen_through(self):
        """Two pairs talk at the same time: every step answers the one before the last."""
        rng = np.random.default_rng(3)
        two = [list(rng.choice(list(names), 300)) for names in ("abc", "xyz")]
        for talk in two:  # who follows is nearly certain
            for t in range(1, 300):
                if rng.random() < 0.9:
                    talk[t] = {"a": "b", "b": "c", "c": "a", "x": "y", "y": "z", "z": "x"}[talk[t - 1]]
        ids = [name for pair in zip(*two, strict=True) for name in pair]
        across = {(i, j) for i in "abc" for j in "xyz"} | {(j, i) for i in "abc" for j in "xyz"}
        first, found = first_order_graph(ids), mixture_transition(ids, 4, random_state=0)
        assert set(as_dict(first.counts, first.names)) <= across
        counts = as_dict(found.counts, found.names)
        assert sum(n for pair, n in counts.items() if pair not in across) > 0.95 * sum(counts.values())
        assert found.lag_weights.argmax() == 1

    def test_same_seed_same_answer_on_any_number_of_jobs(self):
        a, b = (mixture_transition(IDS, 3, random_state=1, n_jobs=n) for n in (1, 2))
        np.testing.assert_array_equal(a.lag_weights, b.lag_weights)
        np.testing.assert_array_equal(a.transitions.toarray(), b.transitions.toarray())
        pd.testing.assert_frame_equal(a.edges, b.edges)

    def test_ids_need_not_answer_themselves(self):
        """Runs of the same id: the model without self-answers is the twin's with T[i, i] = 0."""
        rng = np.random.default_rng(4)
        ids = np.repeat(rng.choice(list("abcd"), 150), rng.integers(1, 4, 150)).tolist()
        plain, others = (mixture_transition(ids, 3, self_answers=x, random_state=0) for x in (True, False))
        assert plain.counts.diagonal().sum() > 0.3 * plain.counts.sum(), "there is something to rule out"
        assert not others.counts.diagonal().any()
        assert not others.transitions.diagonal().any()
        np.testing.assert_allclose(others.transitions.sum(axis=1), 1)
        assert_nondecreasing(others.log_likelihood_history, slack=1e-9 * len(ids))
        in_reach = [t for t in range(3, len(ids)) if set(ids[t - 3 : t]) != {ids[t]}]
        assert others.edges["step"].tolist() == in_reach
        assert len(in_reach) < len(ids) - 3
        T = as_dict(others.transitions, others.names)
        for t, line in zip(in_reach, others.edges.itertuples(), strict=True):
            parts = [w * T.get((ids[t - n], ids[t]), 0) for n, w in enumerate(others.lag_weights, start=1)]
            assert line.lag == np.argmax(parts) + 1
            assert line.probability == pytest.approx(max(parts) / sum(parts))

    def test_projection_returns_to_the_simplices(self):
        learner = _Mixture.of(_Steps.of(IDS, None, 3))
        state = learner.initialise(np.random.default_rng(0))
        weights, T = learner.project(_State(state.weights - 0.4, state.T - 0.2))
        assert weights.sum() == pytest.approx(1)
        assert (weights > 0).all()
        assert (T > 0).all()
        np.testing.assert_allclose(np.bincount(learner.source, weights=T), 1)

    def test_running_out_is_warned_about(self):
        with pytest.warns(ConvergenceWarning, match="max_iter=3"):
            assert not mixture_transition(IDS, 3, random_state=0, max_iter=3, tol=0).converged


class TestRefusals:
    @pytest.mark.parametrize("function", [first_order_graph, mixture_transition])
    @pytest.mark.parametrize(
        ("ids", "options", "words"),
        [
            ([], {}, "longest sequence has 0 ids"),
            (["a"], {}, "longest sequence has 1 ids"),
            (["a", None, "b"], {}, r"ids\[1\] is missing"),
            (["a", float("nan")], {}, r"ids\[1\] is missing"),
            (["a", "b"], {"groups": [1]}, "groups has 1 labels for 2 ids"),
            (["a", "b", "a"], {"groups": [1, None, 1]}, r"groups\[1\] is missing"),
            (["a", "b", "c"], {"groups": [1, 2, 3]}, "longest sequence has 1 ids"),
            (np.eye(3), {}, "single column"),
            (["a", ["b"]], {}, "hashable"),
            (["a", "b"], {"min_count": 0}, "min_count=0"),
            (["a", "b"], {"self_loops": 2}, "self_loops=2"),
        ],
    )
    def test_both(self, function, ids, options, words):
        with pytest.raises(ValueError, match=words):
            function(ids, **options)

    @pytest.mark.parametrize("options", [{"max_lag": 0}, {"max_lag": 1.5}, {"n_init": 0}, {"tol": -1}, {"max_iter": 0}])
    def test_mixture(self, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            mixture_transition(IDS, **options)

    def test_a_text_is_no_sequence_of_ids(self):
        with pytest.raises(DataError, match="ids is a single text; give a list"):
            first_order_graph("ann bob ann")

    def test_nobody_else_to_answer(self):
        with pytest.raises(DataError, match="no step has another id in reach"):
            mixture_transition(list("aaaa"), 2, self_answers=False)
        with pytest.raises(DataError, match="self_answers=1"):
            mixture_transition(IDS, 2, self_answers=1)

    def test_too_short_for_the_lag(self):
        with pytest.raises(DataError, match=r"longest sequence has 10 ids, but a lag of 10 needs at least 11"):
            mixture_transition(IDS, 10, groups=GROUPS)
