"""`choose`: a model and its number of components, by held-out cells."""

from __future__ import annotations

import numpy as np
import pytest

from latentbits import BernoulliMixture, BetaICA, DataError, IndependentBernoulli, analyse, choose, compare, simulate
from latentbits.notes import Code
from latentbits.tasks import choose as chosen_by

TRUTH = simulate.aspect_bernoulli(120, 20, 3, sharpness=0.1, random_state=0).X
FEW = {"components": [2, 3], "n_folds": 3, "random_state": 0}


def test_structure_is_found_and_permuted_columns_are_independent() -> None:
    shuffled = np.random.default_rng(1).permuted(TRUTH, axis=0)
    assert choose(TRUTH, **FEW).best_order == 3
    none = choose(shuffled, **FEW)
    assert isinstance(none.model, IndependentBernoulli)
    assert str(none) == (
        "None of 6 models predicts held-out cells better than independent columns by more than one standard error."
    )


def test_it_is_the_simplest_that_is_not_behind_by_more_than_a_standard_error() -> None:
    found = choose(TRUTH, **FEW)
    order = ["IndependentBernoulli", "RowColumnBernoulli"]
    order += [f"{name}({k})" for k in (2, 3) for name in ("BernoulliMixture", "BetaICA")]
    table = found.comparison.table.set_index("model").loc[order]
    assert found.name == next(
        name for name, line in table.iterrows() if line["cells_behind"] <= line["cells_behind_se"]
    )


def test_it_is_compare_and_a_fit() -> None:
    """One mechanism: the scores are those of `compare`, and the model is that of `fit`."""
    models = [BernoulliMixture(n_init=2, tol=1e-4, random_state=3), BetaICA(n_init=2, tol=1e-4, random_state=3)]
    found = choose(TRUTH, models, components=3, n_folds=3, random_state=0)
    seed = int(np.random.default_rng(0).integers(2**31, size=3)[0])
    named = {f"{type(model).__name__}(3)": model.set_params(n_components=3) for model in models}
    again = compare(named, TRUTH, criterion="cells", n_folds=3, random_state=seed)
    assert found.comparison.folds["score"].tolist() == again.folds["score"].tolist()
    kept = named[found.name].fit(TRUTH)
    np.testing.assert_array_equal(kept.components_, found.model.components_)


def test_the_same_on_any_number_of_jobs() -> None:
    one, two = (choose(TRUTH, components=2, n_folds=2, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    assert one.name == two.name
    np.testing.assert_array_equal(one.model.components_, two.model.components_)


def test_of_a_large_table_a_part_of_the_rows_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen_by, "MOST_CELLS", 50 * 20)
    found = choose(TRUTH, components=2, n_folds=2, random_state=0)
    assert found.n_rows == 50
    assert len(found.model.weights_) == 120


def test_the_findings_say_why() -> None:
    found = choose(TRUTH, **FEW)
    findings = analyse(found, TRUTH, verdict=False)
    assert findings.has(Code.MODEL_CHOSEN)
    assert str(found) in str(findings)
    assert "comparison" in {figure.key for figure in findings.figures}
    assert findings.tables["comparison"] is found.comparison.table


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="orders is empty"):
        choose(TRUTH, components=[])
    with pytest.raises(DataError, match="at least two models"):
        choose(TRUTH, [BetaICA()], components=3)
    with pytest.raises(DataError, match="names no model"):
        choose(TRUTH, [])
