import numpy as np
import pandas as pd
import pytest

from latentbits import (
    AspectBernoulli,
    BernoulliMixture,
    BetaICA,
    BinaryFactorAnalysis,
    ICAMixture,
    select_order,
    simulate,
)
from latentbits.tasks.select import paired_summary


@pytest.fixture(scope="module")
def truth():
    return simulate.aspect_bernoulli(150, 30, 3, concentration=0.3, sharpness=0.2, random_state=1)


@pytest.fixture(scope="module")
def found(truth):
    criteria = ["aic", "cells", "cv", "bic"]
    return select_order(AspectBernoulli(n_init=3), truth.X, [2, 3, 4], criterion=criteria, n_folds=4, random_state=0)


def test_the_true_number_is_found_by_every_criterion_but_the_strict_one(found):
    best = found.choices.set_index("criterion")["best"]
    assert best["aic"] == 3
    assert best["cells"] == 3
    assert best["cv"] in (3, 4)
    assert found.best_order == 3
    assert len(found.best_model.components_) == 3
    assert sorted(found.models) == [1, 2, 3, 4]


def test_criteria_of_the_full_fit_are_those_of_a_direct_one(found, truth):
    for k, model in found.models.items():
        line = found.table.set_index("n_components").loc[k]
        assert line["aic"] == pytest.approx(model.aic(truth.X))
        assert line["bic"] == pytest.approx(model.bic(truth.X))


def test_held_out_scores_are_summed_up_from_the_folds(found):
    for name in ("cv", "cells"):
        scores = found.folds[found.folds["criterion"] == name]
        assert len(scores) == 4 * 4
        for k, group in scores.groupby("n_components"):
            line = found.table.set_index("n_components").loc[k]
            assert line[name] == pytest.approx(group["score"].mean())
            assert line[f"{name}_se"] == pytest.approx(group["score"].sem())


def test_the_rival_is_the_smallest_within_one_standard_error_of_the_difference(found):
    for choice in found.choices.itertuples():
        if choice.criterion not in ("cv", "cells"):
            assert choice.rival == choice.best
            continue
        near = found.table[f"{choice.criterion}_behind"] <= found.table[f"{choice.criterion}_behind_se"]
        assert choice.rival == found.table.loc[near, "n_components"].min()


def test_paired_summary_takes_the_folds_together():
    scores = np.array([[1.0, 2.0], [11.0, 12.5], [21.0, 22.0]])  # folds differ far more than candidates
    summary = paired_summary(scores)
    np.testing.assert_allclose(summary[""], scores.mean(axis=0))
    np.testing.assert_allclose(summary["_behind"], [7 / 6, 0])
    assert summary["_behind_se"][0] < 0.2 < 5 < summary["_se"][0]
    assert summary["_behind_se"][1] == 0


def test_the_same_seed_gives_the_same_table_on_any_number_of_jobs(truth):
    tables = [
        select_order(
            BernoulliMixture(n_init=2), truth.X, [2], criterion=["cells", "cv"], n_folds=3, random_state=5, n_jobs=n
        ).table.drop(columns="seconds")
        for n in (1, 2)
    ]
    pd.testing.assert_frame_equal(*tables)


def test_evidence_is_the_bound_of_beta_ica(truth):
    found = select_order(BetaICA(n_init=2), truth.X, [3], criterion="evidence", random_state=0)
    assert found.table["evidence"].tolist() == [model.objective_ for model in found.models.values()]


@pytest.mark.parametrize(
    ("estimator", "arguments", "message"),
    [
        (AspectBernoulli(), {"criterion": "dic"}, "'dic' is unknown; use any of aic"),
        (AspectBernoulli(), {"criterion": []}, "names none"),
        (AspectBernoulli(), {"criterion": ["aic", "aic"]}, "repeats"),
        (
            AspectBernoulli(),
            {"criterion": "evidence"},
            "has no evidence; use any of aic, bic, cv, cells",
        ),
        (BetaICA(inference="em"), {"criterion": "evidence"}, "BetaICA has no evidence"),
        ("mixture", {}, "'mixture' is not an estimator; give one such as"),
        (AspectBernoulli(), {"orders": []}, "orders is empty"),
        (AspectBernoulli(), {"orders": [0, 2]}, "an order=0 must be a whole number of at least 1"),
        (AspectBernoulli(), {"criterion": "cv", "n_folds": 1}, "n_folds=1"),
    ],
)
def test_wrong_questions_get_a_sentence(truth, estimator, arguments, message):
    with pytest.raises(ValueError, match=message):
        select_order(estimator, truth.X, **{"orders": [2], **arguments})


def test_the_plot_has_a_panel_for_each_criterion_and_one_for_stability(found):
    figure = found.plot()
    assert len(figure.axes) == 5
    assert figure.axes[0].get_title(loc="left") == "best: 3"


def test_choosing_the_largest_number_is_marked(truth):
    found = select_order(AspectBernoulli(n_init=2), truth.X, [2], criterion=["aic", "bic"], random_state=0)
    assert found.choices["at_the_end"].tolist() == (found.choices["best"] == 2).tolist()
    assert repr(found) == f"OrderSelection(aic {found.best_order}, bic {found.choices['best'][1]})"


def test_models_of_numbers_are_selected_by_bic():
    X = simulate.binary_factors(150, 8, 2, noise=0.3, random_state=0).X
    found = select_order(BinaryFactorAnalysis(inference="em", n_init=3), X, [1, 2, 3], criterion="bic", random_state=0)
    assert found.best_order == 2
    assert "stability" not in found.table
    with pytest.raises(ValueError, match="BinaryFactorAnalysis has no cells; use any of aic, bic, cv"):
        select_order(BinaryFactorAnalysis(inference="em"), X, [1, 2], criterion="cells")


class TestModelsOfNumbers:
    def test_binary_factors_by_bic_and_held_out_rows(self):
        X = simulate.binary_factors(120, 8, 2, noise=0.3, random_state=0).X
        X[::7, 3] = np.nan
        found = select_order(
            BinaryFactorAnalysis(n_init=3), X, [1, 2, 3, 4], criterion=["bic", "cv"], n_folds=4, random_state=0
        )
        assert found.choices["best"].tolist() == [2, 2]
        assert [model.n_components_ for model in found.models.values()] == [1, 2, 3, 4], "no fit has changed its number"
        assert found.table["bic"][1] == pytest.approx(found.models[2].bic(X))
        assert (found.parameter, found.noun) == ("n_components", "component")

    def test_clusters_and_sources(self):
        mixing = [[[2.0], [0.1]], [[0.1], [2.0]]]
        truth = simulate.ica_mixture(mixing, n_points=40, means=[[0, 0], [4, 9]], noise_db=-20, random_state=0)
        few = ICAMixture(n_sources=1, n_gaussians=1, n_init=1, tol=1e-3)
        found = select_order(few, truth.X, [1, 2, 3], criterion=["cv", "evidence"], n_folds=3, random_state=0)
        assert found.best_order == 2
        assert [model.n_clusters_ for model in found.models.values()] == [1, 2, 3], "neither split nor deleted"
        assert list(found.table.columns[:3]) == ["n_clusters", "cv", "cv_se"]
        assert found.table["evidence"][1] == found.models[2].log_evidence()
        assert found.plot().axes[-1].get_xlabel() == "number of clusters"
        sources = select_order(few.set_params(n_clusters=2), truth.X, [2], parameter="n_sources", random_state=0)
        assert sources.choices["criterion"].tolist() == ["evidence"]
        assert [model.n_sources for model in sources.models.values()] == [1, 2]

    def test_the_bound_is_that_of_the_data_in_their_units(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        one, other = (ICAMixture(1, 1, 1, n_init=1, random_state=0).fit(rows) for rows in (X, 10 * X))
        assert other.log_evidence() == pytest.approx(one.log_evidence() - X.size * np.log(10), rel=1e-9)

    def test_a_learner_that_finds_the_number_itself_is_refused(self):
        with pytest.raises(ValueError, match="with inference='byy' a fit finds its number itself; leave it out"):
            select_order(BinaryFactorAnalysis(inference="byy"), np.eye(4), [2])


def test_models_of_numbers_know_the_names_of_columns():
    frame = pd.DataFrame(simulate.binary_factors(40, 3, 1, random_state=0).X, columns=["a", "b", "c"])
    found = select_order(BinaryFactorAnalysis(n_init=1), frame, [2], criterion=["bic", "cv"], n_folds=2, random_state=0)
    assert [list(model.feature_names_in_) for model in found.models.values()] == [["a", "b", "c"]] * 2
