"""BinaryData: counts, selections and fingerprints are the same for dense and sparse data."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

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
