"""`check`: ones of the table that are knocked out, and what a list of suspects finds of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from latentbits import (
    BinaryData,
    DataError,
    FalseZeros,
    ICAMixture,
    IndependentBernoulli,
    IsingModel,
    RowColumnBernoulli,
    apply_marks,
    check,
    simulate,
)
from latentbits.tasks.check import _found, _lengths

X = simulate.aspect_bernoulli(50, 15, 2, sharpness=0.1, random_state=0).X


def test_the_model_sees_the_table_without_them_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[BinaryData] = []
    fit, suspicion = IsingModel.fit, IsingModel.suspicion

    def fit_seen(self: IsingModel, data: BinaryData) -> IsingModel:
        seen.append(data)
        return fit(self, data)

    def suspicion_seen(self: IsingModel, data: BinaryData, **asked: str) -> np.ndarray:
        seen.append(data)
        return suspicion(self, data, **asked)

    monkeypatch.setattr(IsingModel, "fit", fit_seen)
    monkeypatch.setattr(IsingModel, "suspicion", suspicion_seen)
    found = check(X, IsingModel(), n_knocked_out=30, n_repeats=2, random_state=0)
    assert len(seen) == 4
    for data in seen:
        assert data.n_ones == X.sum() - 30
        assert not (data.dense() > X).any()
        assert data.marks is None
        assert data.row_names is None
    assert not np.array_equal(seen[0].dense(), seen[2].dense())  # each repeat has other ones
    assert found.n_zeros == (X == 0).sum()


def test_an_oracle_finds_all_and_column_frequencies_what_column_frequencies_find(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    oracle = lambda self, data, kind: np.where(data.dense() == 0, X, 0).astype(float)  # noqa: E731
    plain = check(X, IndependentBernoulli(), n_knocked_out=50, random_state=1)
    np.testing.assert_allclose(plain.curves["found"], plain.curves["by_columns"])
    monkeypatch.setattr(IsingModel, "suspicion", oracle)
    found = check(X, IsingModel(), n_knocked_out=50, random_state=1)
    assert found.curves["found"].tolist() == found.curves["first"].tolist()
    assert found.table["precision"].tolist() == [1.0, 1.0]
    assert found.table["recall"].tolist() == [0.4, 1.0]
    assert found.table["found_sd"].tolist() == [0.0, 0.0]
    n_zeros = (X == 0).sum()
    np.testing.assert_allclose(found.table["by_chance"], found.table["first"] * 50 / (n_zeros + 50))


def test_equal_scores_count_as_in_a_random_order() -> None:
    rng = np.random.default_rng(0)
    scores, sought = rng.integers(3, size=40).astype(float), rng.random(40) < 0.4
    orders = [np.lexsort((rng.random(40), -scores)) for _ in range(4000)]
    simulated = np.mean([np.cumsum(sought[order]) for order in orders], axis=0)
    np.testing.assert_allclose(_found(scores, sought, np.arange(1, 41)), simulated, atol=0.1)


@pytest.mark.parametrize(("n", "first"), [(7, [7]), (20, [20]), (49, [20, 49]), (300, [20, 50, 100, 300])])
def test_precision_is_told_as_far_as_so_many_were_knocked_out(n: int, first: list[int]) -> None:
    table = (np.random.default_rng(0).random((60, 20)) < 0.5).astype(int)
    found = check(table, IndependentBernoulli(), n_knocked_out=n, n_repeats=1, random_state=0)
    assert found.table["first"].tolist() == first
    assert set(first) <= set(_lengths(n))


def test_structure_is_found_and_independent_columns_are_no_better_than_their_frequencies() -> None:
    ensemble = FalseZeros(n_folds=None, members=["aspects_2", "ising"])
    truth = simulate.aspect_bernoulli(80, 30, 3, sharpness=0.1, concentration=0.2, random_state=0).X
    found = check(truth, ensemble, random_state=0).table.iloc[-1]
    assert found["found"] > 1.4 * found["by_columns"] > 1.4 * found["by_chance"]
    shuffled = np.random.default_rng(0).permuted(truth, axis=0)
    none = check(shuffled, ensemble, random_state=0).table.iloc[-1]
    assert none["found"] < 1.4 * none["by_columns"]


def test_the_sentence_has_the_numbers_of_the_table() -> None:
    found = check(X, RowColumnBernoulli(), n_knocked_out=40, n_repeats=1, random_state=0)
    line = found.table.iloc[0]
    assert str(found).startswith(f"{line['found']:.3g} of the first 20 suspects are ones that had been knocked out (40")
    better = "better" if line["found"] > line["by_columns"] else "no better"
    assert f"RowColumnBernoulli ranks these zeros {better}" in str(found)
    assert len(found.plot().axes) == 1
    assert str(found) in found._repr_html_()
    json.dumps(dict(found.note.arguments))


def test_the_same_seed_gives_the_same_answer_on_any_number_of_jobs() -> None:
    one, two = (check(X, random_state=3, n_repeats=2, n_jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.curves, two.curves)


def test_missing_cells_and_marked_ones_are_left_alone() -> None:
    holes = X.astype(float)
    holes[::3, ::2] = np.nan
    found = check(holes, IsingModel(), random_state=0)
    assert found.n_zeros == (holes == 0).sum()
    assert np.isfinite(found.curves.to_numpy()).all()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    i, j = np.argwhere(X == 1)[0]
    marked = apply_marks(frame, [{"row": f"row {i + 1}", "column": f"c{j}", "mark": "confirm"}])
    pd.testing.assert_frame_equal(
        check(marked, IsingModel(), random_state=0).table, check(frame, IsingModel(), random_state=0).table
    )


def test_few_ones_are_halved() -> None:
    few = np.zeros((12, 6))
    few[np.arange(9), np.arange(9) % 6] = 1
    found = check(few, IndependentBernoulli(), n_repeats=1, random_state=0)
    assert found.n_knocked_out == 4
    assert found.table["first"].tolist() == [4]


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        (np.ones((5, 4)), {}, "every observed cell is a 1; check ranks zeros"),
        (np.zeros((5, 4)), {}, "there is no 1 in the table"),
        (np.eye(4)[:1], {}, "there is one 1 in the table"),
        (np.full((3, 3), np.nan), {}, "all 3 x 3 cells are missing"),
        (X, {"n_knocked_out": int(X.sum())}, "must be less than the number of ones"),
        (X, {"n_knocked_out": 0}, "must be a whole number of at least 1"),
        (X, {"n_repeats": 0}, "must be a whole number of at least 1"),
        ([[0, 2], [1, 0]], {}, "value 2 is neither 0 nor 1"),
    ],
)
def test_what_cannot_be_checked_is_refused(table: object, options: dict[str, int], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        check(table, IndependentBernoulli(), **options)


def test_models_that_rank_no_cells_are_refused() -> None:
    with pytest.raises(DataError, match="ICAMixture ranks no cells; give FalseZeros"):
        check(X, ICAMixture(2))
    with pytest.raises(DataError, match="is not an estimator"):
        check(X, "false-zeros")
