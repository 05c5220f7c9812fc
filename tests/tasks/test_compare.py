import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel

from latentbits import (
    AspectBernoulli,
    BernoulliMixture,
    BetaICA,
    BinaryICA,
    DataError,
    ICAMixture,
    IndependentBernoulli,
    compare,
    select_order,
    simulate,
)
from latentbits.tasks.compare import _p_values


@pytest.fixture(scope="module")
def X():
    return simulate.aspect_bernoulli(120, 25, 3, concentration=0.3, sharpness=0.2, random_state=0).X


@pytest.fixture(scope="module")
def found(X):
    models = {"beta": BetaICA(3, n_init=3), "mixture": BernoulliMixture(3, n_init=3), "columns": BernoulliMixture(1)}
    return compare(models, X, n_folds=5, random_state=0)


def test_structure_beats_independent_columns(found):
    assert found.table["model"].tolist()[-1] == "columns"
    assert found.best == found.table["model"][0] != "columns"
    last = found.table.iloc[-1]
    assert last["cells_behind"] > 2 * last["cells_behind_se"]
    assert last["auc"] < found.table["auc"][0]


def test_p_values_are_those_of_the_corrected_resampled_t_test_against_the_best(found):
    scores = found.folds[found.folds["criterion"] == "cells"].pivot(index="fold", columns="model", values="score")
    by_model = found.table.set_index("model")
    best = scores.mean().idxmax()
    assert by_model.loc[best, "cells_p"] == 1
    for name in set(scores.columns) - {best}:
        paired = ttest_rel(scores[best], scores[name])
        corrected = paired.statistic / np.sqrt(1 + 5 * (1 / 4))  # 1/k + 1/(k - 1) in place of 1/k, with k = 5
        assert by_model.loc[name, "cells_p"] == pytest.approx(2 * student.sf(abs(corrected), 4))
        assert by_model.loc[name, "cells_p"] > paired.pvalue
    assert by_model.loc["columns", "cells_p"] < 0.05


def test_folds_that_all_differ_by_the_same_leave_no_doubt():
    first = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(_p_values(np.column_stack([first, first - 0.5, first])), [1, 0, 1])


def test_the_answer_says_which_test(found):
    assert "corrected resampled t-test (Nadeau and Bengio 2003)" in found._repr_html_()


def test_all_models_get_the_same_held_out_rows_and_cells(X):
    twice = compare({"a": BernoulliMixture(2), "b": BernoulliMixture(2)}, X, n_folds=3, random_state=0)
    assert twice.table["cells"].nunique() == twice.table["cv"].nunique() == 1
    np.testing.assert_array_equal(twice.table["cells_behind"], 0)


def test_models_in_a_list_are_named_by_what_tells_them_apart(X):
    def named(*models):
        return set(compare(models, X, criterion="cv", n_folds=2, random_state=0).table["model"])

    few = {"n_init": 1, "tol": 1e-3}
    assert named(AspectBernoulli(2, **few), BernoulliMixture(2)) == {"AspectBernoulli", "BernoulliMixture"}
    assert named(BernoulliMixture(1), BernoulliMixture(2)) == {"BernoulliMixture(1)", "BernoulliMixture(2)"}
    assert named(BernoulliMixture(2), BernoulliMixture(2)) == {"BernoulliMixture(2) #0", "BernoulliMixture(2) #1"}


@pytest.mark.parametrize(
    ("models", "criterion", "message"),
    [
        ([BernoulliMixture(1)], "cells", "at least two models"),
        (BernoulliMixture(1), "cells", "give a list of them"),
        (["mixture", "plsa"], "cells", "'mixture' is not an estimator"),
        ([BernoulliMixture(2), ICAMixture(2)], "cv", "of 0-1 data and of numbers can't be compared"),
        ([BernoulliMixture(2), BernoulliMixture(2, binarize=0.5)], "cv", "different values of binarize"),
        ([BernoulliMixture(1), BernoulliMixture(2)], "aic", "compared on held-out data; use cells, cv"),
        ([BernoulliMixture(1), BernoulliMixture(2)], "auc", "'auc' is unknown"),
    ],
)
def test_wrong_questions_get_a_sentence(X, models, criterion, message):
    with pytest.raises(ValueError, match=message):
        compare(models, X, criterion=criterion)


def test_the_plot_has_a_panel_for_each_score(found):
    figure = found.plot()
    assert len(figure.axes) == 3
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == found.table["model"].tolist()
    assert repr(found) == f"Comparison(3 models, best {found.best})"


def test_select_and_compare_hold_out_the_same(X):
    few = {"n_folds": 3, "random_state": 7}
    compared = compare([BernoulliMixture(1), BernoulliMixture(2)], X, **few).table.set_index("n_components")
    selected = select_order(BernoulliMixture(), X, [2], criterion=["cells", "cv"], **few).table
    for line in selected.itertuples():
        assert line.cells == compared.loc[line.n_components, "cells"]
        assert line.cv == compared.loc[line.n_components, "cv"]


class TestSegments:
    def test_sources_are_compared_with_independent_columns_by_pairs(self):
        truth = simulate.binary_ica(80, 6, 2, 6, random_state=0)
        models = {"one": BinaryICA(1, n_init=1, random_state=0), "two": BinaryICA(2, n_init=1, random_state=0)}
        found = compare(models, truth.X, segments=truth.segments, n_folds=3, random_state=0)
        assert found.table["model"].tolist() == ["two", "one", "independent columns"]
        assert found.table["n_components"].tolist() == [2, 1, 0]
        assert (found.folds["criterion"] == "pairs").all()
        assert len(found.folds) == 9

    def test_one_model_is_enough_and_other_criteria_are_refused(self):
        truth = simulate.binary_ica(40, 5, 1, 4, random_state=0)
        model = BinaryICA(1, n_init=1, random_state=0)
        found = compare([model], truth.X, segments=4, n_folds=2, random_state=0)
        assert found.best == "BinaryICA"
        with pytest.raises(DataError, match="BinaryICA has no cells"):
            compare([model], truth.X, segments=4, criterion="cells")
        with pytest.raises(DataError, match="has no pairs"):
            compare([IndependentBernoulli()], truth.X, segments=4)
