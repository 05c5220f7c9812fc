"""BinaryData: counts, selections and fingerprints are the same for dense and sparse data."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from latentbits import AspectBernoulli
from latentbits.data import MISSING, BinaryData, codes
from latentbits.errors import DataError
from tests.data.tables import BITS, HOLES, HOLES_CODES, NAMES

tables = hnp.arrays(
    np.int8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.sampled_from([0, 1, MISSING])
)


def as_floats(codes: np.ndarray) -> np.ndarray:
    return np.where(codes == MISSING, np.nan, codes)


def as_sparse(codes: np.ndarray) -> sp.csr_array:
    return sp.csr_array(as_floats(codes))


@given(tables)
def test_counts_agree_with_plain_loops_dense_and_sparse(codes: np.ndarray) -> None:
    ones, observed = codes == 1, codes != MISSING
    for data in (BinaryData.of(as_floats(codes)), BinaryData.of(as_sparse(codes))):
        np.testing.assert_array_equal(data.dense(), codes)
        for counted, cells, axis in [
            (data.ones_per_row(), ones, 1),
            (data.ones_per_column(), ones, 0),
            (data.observed_per_row(), observed, 1),
            (data.observed_per_column(), observed, 0),
        ]:
            assert counted.dtype == np.float64
            np.testing.assert_array_equal(counted, cells.sum(axis=axis))
        assert data.n_ones == ones.sum()
        assert data.n_observed == observed.sum()
        assert data.density == (ones.sum() / observed.sum() if observed.any() else 0.0)


@given(tables, st.data())
def test_rows_agree_dense_and_sparse(codes: np.ndarray, draw: st.DataObject) -> None:
    n_rows = len(codes)
    index = draw.draw(st.one_of(st.slices(n_rows), st.lists(st.integers(0, n_rows - 1), min_size=1)))
    names = [f"row {i}" for i in range(n_rows)]
    for X in (as_floats(codes), as_sparse(codes)):
        chosen = BinaryData.of(X, row_names=names).rows(index)
        np.testing.assert_array_equal(chosen.dense(), codes[index])
        assert chosen.row_names == np.array(names)[index].tolist()
        np.testing.assert_array_equal(chosen.ones_per_row(), (codes[index] == 1).sum(axis=1))
    assert chosen.sparse is not None
    assert (chosen.sparse.indices.dtype, chosen.sparse.indptr.dtype) == (np.int32, np.int64)


def test_rows_by_mask_stay_contiguous() -> None:
    chosen = BinaryData.of(BITS).rows(np.array([True, False, True, False]))
    assert chosen.dense().tolist() == BITS[[0, 2]].tolist()
    assert BinaryData.of(BITS).rows(slice(None, None, 2)).dense().flags.c_contiguous


@given(tables)
def test_frame_round_trip(codes: np.ndarray) -> None:
    data = BinaryData.of(as_floats(codes), column_names=[f"c{j}" for j in range(codes.shape[1])])
    frame = data.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert {str(dtype) for dtype in frame.dtypes} == {"Int8"}
    np.testing.assert_array_equal(frame.isna().to_numpy(), codes == MISSING)
    assert BinaryData.of(frame).fingerprint() == data.fingerprint()


def test_frame_has_names() -> None:
    frame = BinaryData.of(sp.csr_array(BITS), row_names=list("pqrs"), column_names=NAMES).to_frame()
    assert (list(frame.index), list(frame.columns)) == (list("pqrs"), NAMES)
    assert frame.loc["q", "Equus"] == 1


@given(tables, st.data())
def test_fingerprint_tells_any_change_and_no_container(codes: np.ndarray, draw: st.DataObject) -> None:
    data = BinaryData.of(as_floats(codes))
    assert data.fingerprint() == BinaryData.of(as_sparse(codes)).fingerprint()
    changed = codes.copy()
    i, j = draw.draw(st.tuples(*(st.integers(0, side - 1) for side in codes.shape)))
    changed[i, j] = draw.draw(st.sampled_from([value for value in (0, 1, MISSING) if value != codes[i, j]]))
    assert BinaryData.of(as_floats(changed)).fingerprint() != data.fingerprint()


def test_fingerprint_is_stable_and_knows_shape_and_names() -> None:
    prints = {
        BinaryData.of(np.zeros((2, 3), int)).fingerprint(),
        BinaryData.of(np.zeros((3, 2), int)).fingerprint(),
        BinaryData.of(np.zeros((2, 3), int), column_names=NAMES).fingerprint(),
    }
    assert len(prints) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", print_) for print_ in prints)
    assert BinaryData.of(BITS).fingerprint() == "ac489fcc74de684f"


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = BinaryData.of(HOLES)
    expected = (whole.fingerprint(), whole.ones_per_column().tolist(), whole.observed_per_row().tolist())
    monkeypatch.setattr(codes, "BLOCK_CELLS", 3)
    blocks = BinaryData.of(HOLES)
    assert blocks.dense().tolist() == HOLES_CODES
    assert expected == (
        blocks.fingerprint(),
        blocks.ones_per_column().tolist(),
        blocks.observed_per_row().tolist(),
    )
    bad = HOLES.copy()
    bad[2, 1] = 7  # in the last block
    with pytest.raises(DataError, match="row 3, column 2: value 7"):
        BinaryData.of(bad)


def test_constructor_wants_one_form() -> None:
    with pytest.raises(DataError, match=r"either cells, sparse or packed; use BinaryData\.of"):
        BinaryData(None)


def test_repr_is_short() -> None:
    assert repr(BinaryData.of(HOLES)) == "BinaryData(3 rows x 3 columns, 3 ones, 3 missing)"
    assert repr(BinaryData.of(sp.csr_array(BITS))).startswith("BinaryData(sparse, 4 rows x 3 columns")


# ---- in place of an array ----


@pytest.mark.parametrize(
    "form", [lambda data: data, BinaryData.to_packed, lambda data: BinaryData.of(as_sparse(data.dense()))]
)
def test_an_array_of_the_data(form) -> None:
    full, holes = form(BinaryData.of(BITS)), form(BinaryData.of(HOLES))
    assert np.asarray(full).dtype == np.int8
    np.testing.assert_array_equal(np.asarray(full), BITS)
    assert np.asarray(holes).dtype == np.float64
    np.testing.assert_array_equal(np.asarray(holes), HOLES)
    assert np.asarray(full, dtype=float).dtype == np.asarray(holes, dtype=float).dtype == np.float64
    np.testing.assert_array_equal(np.asarray(full).astype(int), BITS)
    for dtype in (int, bool, np.int8):
        with pytest.raises(DataError, match="can't hold missing cells, of which the data have 3; use dtype=float"):
            np.asarray(holes, dtype=dtype)
    with pytest.raises(ValueError, match="always copied"):
        np.array(full, copy=False)


def test_an_array_is_a_copy() -> None:
    data = BinaryData.of(BITS.astype(np.int8))
    np.asarray(data)[:] = 0
    np.testing.assert_array_equal(data.dense(), BITS)


def test_large_sparse_and_packed_data_are_no_array(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = BinaryData.of(sp.csr_array((10**6, 10**5)))
    with pytest.raises(DataError, match=r"the array would take 93\.1 GiB; give .* or take some rows at a time"):
        np.asarray(huge)
    assert np.asarray(huge[:3]).shape == (3, 10**5)
    monkeypatch.setattr("latentbits.data.binary_data.MOST_BYTES", 11)
    assert np.asarray(BinaryData.of(BITS)).nbytes == 12, "dense data are there already"
    with pytest.raises(DataError, match="the array would take"):
        np.asarray(BinaryData.of(BITS).to_packed())


def test_rows_by_index_carry_their_names() -> None:
    data = BinaryData.of(BITS, row_names="abcd", column_names=NAMES)
    assert (len(data), data.ndim) == (4, 2)
    for index, names in [
        (slice(0, 2), ["a", "b"]),
        ([3, 1], ["d", "b"]),
        (np.array([True, False, False, True]), ["a", "d"]),
        ([True, False, True, False], ["a", "c"]),
        ([], []),
        ((np.array([2]), ...), ["c"]),
        ((slice(1, 3), slice(None)), ["b", "c"]),
    ]:
        chosen = data[index]
        assert (chosen.row_names, chosen.column_names) == (names, NAMES)
        np.testing.assert_array_equal(chosen.dense(), BITS[["abcd".index(name) for name in names]])
    np.testing.assert_array_equal(data[-1], BITS[-1])
    assert [row.tolist() for row in data] == BITS.tolist()
    for index in (4, [4], (slice(None), 0), (slice(None), [True, False, True])):
        with pytest.raises(IndexError):
            data[index]


def test_scikit_learn_splits_scores_and_searches_data() -> None:
    data = BinaryData.of(np.random.default_rng(0).integers(0, 2, (30, 5)), row_names=range(30))
    train, test = train_test_split(data, test_size=10, random_state=0)
    assert (len(train), len(test)) == (20, 10)
    assert sorted(map(int, train.row_names + test.row_names)) == list(range(30))
    model = AspectBernoulli(2, n_init=1, random_state=0)
    np.testing.assert_array_equal(cross_val_score(model, data, cv=3), cross_val_score(model, data.dense(), cv=3))
    search = GridSearchCV(model, {"n_components": [1, 2]}, cv=3).fit(data)
    assert search.best_params_["n_components"] in (1, 2)
    assert LogisticRegression().fit(data, data.dense()[:, 0]).score(data, data.dense()[:, 0]) == 1
