"""Every model that predicts cells ranks them, with the same words."""

import numpy as np
import pandas as pd
import pytest

from latentbits import BernoulliMixture, DataError, IsingModel, LogisticPCA, simulate

X = simulate.aspect_bernoulli(40, 8, 2, sharpness=0.1, random_state=0).X
MAKERS = [lambda: BernoulliMixture(2, random_state=0), lambda: LogisticPCA(2, random_state=0), lambda: IsingModel()]


@pytest.fixture(params=MAKERS, ids=["mixture", "logistic", "ising"])
def model(request):
    return request.param().fit(X)


def test_scores_are_the_reconstruction_of_the_cells_in_question(model):
    p = model.reconstruct(X)
    np.testing.assert_allclose(model.suspicion(X), np.where(X == 0, p, 0))
    np.testing.assert_allclose(model.suspicion(X, kind="presence"), np.where(X == 1, 1 - p, 0))


def test_suspects_are_the_highest_scores_in_order(model):
    scores = model.suspicion(X)
    table = model.suspects(X, top=7)
    assert table.columns.tolist() == ["row", "column", "score"]
    np.testing.assert_array_equal(table["score"], np.sort(scores[X == 0])[::-1][:7])
    np.testing.assert_array_equal(scores[table["row"], table["column"]], table["score"])
    assert len(model.suspects(X, top=None)) == (X == 0).sum()
    assert len(model.suspects(X, top=0)) == 0


def test_rows_and_columns_have_their_names():
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(40)]).add_prefix("c")
    table = IsingModel().fit(frame).suspects(frame, top=3)
    assert set(table["row"]) <= set(frame.index)
    assert set(table["column"]) <= set(frame.columns)


def test_missing_and_marked_cells_are_no_suspects(model):
    first = model.suspects(X, top=1).iloc[0]
    place = {"row": int(first["row"]), "column": int(first["column"])}
    others = model.suspects(X, top=None, marks=[{**place, "mark": "reject"}])
    assert len(others) == (X == 0).sum() - 1
    assert not ((others["row"] == place["row"]) & (others["column"] == place["column"])).any()
    holes = X.astype(float)
    holes[0] = np.nan
    assert 0 not in model.suspects(holes, top=None)["row"].to_numpy()


def test_wrong_questions_get_a_sentence(model):
    with pytest.raises(DataError, match="kind='other' is unknown"):
        model.suspicion(X, kind="other")
    with pytest.raises(DataError, match="top=-1 must be a whole number"):
        model.suspects(X, top=-1)
