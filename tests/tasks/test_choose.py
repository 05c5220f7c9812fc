"""`choose`: a model and its number of components, by held-out cells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import (
    BernoulliMixture,
    BetaICA,
    BinaryData,
    DataError,
    IndependentBernoulli,
    analyse,
    choose,
    compare,
    simulate,
)
from latentbits.models.view import n_agreeing
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


def scored(**behind: tuple[float, float]) -> Any:
    """What `compare` would have found: how far each is behind the best, and the standard error of that."""
    lines = [
        {"model": name, "cells": -away, "cells_behind": away, "cells_behind_se": error}
        for name, (away, error) in behind.items()
    ]
    return SimpleNamespace(table=pd.DataFrame(lines))


@pytest.mark.parametrize(
    ("behind", "chosen"),
    [
        ({"plain": (0.3, 0.1), "classes": (0.1, 0.2), "aspects": (0.05, 0.1), "more": (0.0, 0.0)}, "aspects"),
        ({"plain": (0.3, 0.1), "classes": (0.1, 0.2), "aspects": (0.15, 0.1), "more": (0.0, 0.0)}, "classes"),
        ({"plain": (0.3, 0.1), "classes": (0.3, 0.2), "aspects": (0.15, 0.1), "more": (0.0, 0.0)}, "more"),
        ({"plain": (0.1, 0.1), "classes": (0.1, 0.2), "aspects": (0.05, 0.1), "more": (0.0, 0.0)}, "plain"),
    ],
)
def test_of_those_within_a_standard_error_the_best_with_the_fewest_components(behind: Any, chosen: str) -> None:
    candidates = {
        "plain": IndependentBernoulli(),
        "classes": BernoulliMixture(2),
        "aspects": BetaICA(2),
        "more": BetaICA(3),
    }
    assert chosen_by._simplest(scored(**behind), candidates) == chosen


def test_an_answer_that_one_start_has_found_gets_more_of_them() -> None:
    """Ten seeds of a small table, with one start to begin with: it's found again, or 81 starts are made."""
    X = simulate.aspect_bernoulli(20, 30, 4, random_state=0).X
    made = []
    for seed in range(10):
        model = chosen_by._fitted(BernoulliMixture(4, n_init=1, random_state=seed), BinaryData.of(X))
        made.append(len(model.restarts_))
        assert n_agreeing(model) > 1 or made[-1] == 81
    assert min(made) < 81
    assert max(made) > 3


def test_a_large_table_is_fitted_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen_by, "STARTED_CELLS", TRUTH.size)
    assert len(chosen_by._fitted(BernoulliMixture(4, n_init=1, random_state=0), BinaryData.of(TRUTH)).restarts_) == 1


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
    assert "chosen among 4 models on 50 random rows: " in str(found)
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
