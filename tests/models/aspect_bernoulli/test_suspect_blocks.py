"""Suspects are looked for in blocks of rows: the same list, and nothing of size N x D is made."""

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BinaryData
from latentbits.data import codes

N_COLUMNS = 12


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    patterns = rng.random((6, N_COLUMNS)) < 0.3
    return np.repeat(patterns, 10, axis=0).astype(np.int8)[rng.permutation(60)]  # equal rows have equal scores


@pytest.fixture(scope="module")
def model(X):
    return AspectBernoulli(3, n_init=2, random_state=0).fit(X)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(codes, "BLOCK_CELLS", 7 * N_COLUMNS)


@pytest.mark.parametrize("kind", ["absence", "presence"])
@pytest.mark.parametrize("top", [0, 1, 7, 100, None])
def test_the_list_is_that_of_all_scores_sorted(model, X, small_blocks, kind, top):
    score = np.where((kind == "presence") == X, model.suspicion(X, kind=kind), -1.0).ravel()
    first = np.argsort(-score, kind="stable")[: np.sum(score >= 0)][:top]
    assert len(np.unique(score[first])) < max(len(first), 2), "there are ties"
    found = model.suspects(X, kind=kind, top=top)
    np.testing.assert_array_equal(found["row"] * N_COLUMNS + found["column"], first)
    np.testing.assert_array_equal(found["score"], score[first])


def test_marked_cells_are_left_out_in_any_block(model, X, small_blocks):
    first = model.suspects(X, top=20)
    places = list(zip(first["row"].tolist(), first["column"].tolist(), strict=True))
    marks = [{"row": row, "column": column, "mark": "reject"} for row, column in places]
    after = model.suspects(X, top=20, marks=marks)
    assert len(after) == 20
    assert not set(places) & set(zip(after["row"], after["column"], strict=True))


def test_sparse_rows_are_made_dense_a_block_at_a_time(model, X, small_blocks, monkeypatch):
    expected = model.suspects(X)
    made = []
    dense = BinaryData.dense
    monkeypatch.setattr(BinaryData, "dense", lambda data: made.append(data.shape[0]) or dense(data))
    found = model.suspects(sp.csr_array(X))
    assert found.equals(expected)
    assert max(made) == 7
