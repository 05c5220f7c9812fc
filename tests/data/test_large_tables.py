"""Tables that come in blocks of rows: the same cells as in one piece, and the same answers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BetaICA, BinaryData, DataError, read_table, simulate
from latentbits.data import encoding
from latentbits.data import typed_tables as large_parquet
from latentbits.fitting import rows

RNG = np.random.default_rng(0)
CELLS = np.where(RNG.random((700, 21)) < 0.05, np.nan, RNG.random((700, 21)) < 0.3)
CODES = np.where(np.isnan(CELLS), -1, CELLS).astype(np.int8)
WHOLE = (CODES == 1).astype(np.int8)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows, and files for everything above a kilobyte."""
    monkeypatch.setattr(encoding, "BLOCK_CELLS", 21 * 90)
    monkeypatch.setattr(large_parquet, "BATCH_CELLS", 21 * 90)
    monkeypatch.setattr(large_parquet, "LARGE", 0)
    monkeypatch.setattr(encoding, "MOST_BYTES", 1000)
    monkeypatch.setattr(rows, "BLOCK_CELLS", 1)


class TestPacked:
    def test_cells_come_back(self):
        data = BinaryData.of(CELLS).to_packed()
        np.testing.assert_array_equal(data.dense(), CODES)
        np.testing.assert_array_equal(data.block(slice(3, 9)), CODES[3:9])
        assert data.packed.ones.nbytes == 700 * 3
        assert BinaryData.of(WHOLE).to_packed().packed.missing is None

    @pytest.mark.parametrize("cells", [CELLS, WHOLE], ids=["holes", "whole"])
    def test_it_tells_of_itself_what_dense_data_tell(self, cells):
        dense = BinaryData.of(cells)
        bits = dense.to_packed()
        weight = RNG.random(700)
        assert bits.shape == dense.shape
        assert bits.fingerprint() == dense.fingerprint()
        assert (bits.n_ones, bits.n_missing, bits.density) == (dense.n_ones, dense.n_missing, dense.density)
        np.testing.assert_array_equal(bits.ones_per_column(weight), dense.ones_per_column(weight))
        np.testing.assert_array_equal(bits.observed_per_row(), dense.observed_per_row())

    def test_rows_and_hidden_cells(self):
        data = BinaryData(None, packed=BinaryData.of(CELLS).to_packed().packed, row_names=[str(i) for i in range(700)])
        some = data.rows([5, 2, 600])
        np.testing.assert_array_equal(some.dense(), CODES[[5, 2, 600]])
        assert some.row_names == ["5", "2", "600"]
        hidden = np.zeros(CODES.shape, bool)
        hidden[0] = True
        assert (data.hide(hidden).dense()[0] == -1).all()

    def test_sparse_data_pack_too(self):
        np.testing.assert_array_equal(BinaryData.of(sp.csr_array(WHOLE)).to_packed().dense(), WHOLE)
        np.testing.assert_array_equal(BinaryData.of(sp.csr_array(WHOLE)).block(slice(4, 80)), WHOLE[4:80])

    def test_large_arrays_lie_in_a_file(self, small_blocks):
        data = BinaryData.of(CELLS).to_packed()
        assert isinstance(data.packed.ones.base, np.memmap)
        np.testing.assert_array_equal(data.dense(), CODES)


class TestBlocks:
    def forms(self, tmp_path):
        import dask.array
        import zarr

        np.save(tmp_path / "cells.npy", CELLS)
        yield np.load(tmp_path / "cells.npy", mmap_mode="r")
        stored = zarr.create_array(str(tmp_path / "cells.zarr"), shape=CELLS.shape, chunks=(100, 10), dtype=float)
        stored[:] = CELLS
        yield stored
        yield dask.array.from_array(CELLS, chunks=(130, 9))
        yield [CELLS[:1], CELLS[1:300], CELLS[300:]]
        yield (CELLS[start : start + 200] for start in range(0, 700, 200))

    def test_every_form_gives_the_same_cells(self, small_blocks, tmp_path):
        for form in self.forms(tmp_path):
            data = BinaryData.of(form)
            assert data.packed is not None
            np.testing.assert_array_equal(data.dense(), CODES)

    def test_sparse_blocks_stay_sparse(self):
        data = BinaryData.of([sp.csr_array(WHOLE[:99]), sp.csr_array(WHOLE[99:])])
        assert data.is_sparse
        np.testing.assert_array_equal(data.dense(), WHOLE)

    def test_frames_keep_their_column_names(self):
        frame = pd.DataFrame(CELLS, columns=[f"c{j}" for j in range(21)])
        assert BinaryData.of([frame[:300], frame[300:]]).column_names == list(frame.columns)
        with pytest.raises(DataError, match="block 2 of rows has other columns than the first, such as x"):
            BinaryData.of([frame[:300], frame[300:].rename(columns={"c3": "x"})])
        with pytest.raises(DataError, match="block 2 of rows has the columns of the first in another order"):
            BinaryData.of([frame[:300], frame[300:][list(frame.columns[::-1])]])
        with pytest.raises(DataError, match="block 2 of rows has 20 columns, and the first has 21"):
            BinaryData.of([CELLS[:300], CELLS[300:, 1:]])
        with pytest.raises(DataError, match="block 2 is no table"):
            BinaryData.of(iter([CELLS[:300], None]))

    def test_blocks_without_rows_are_passed_over(self):
        np.testing.assert_array_equal(BinaryData.of([CELLS[:300], CELLS[:0], CELLS[300:]]).dense(), CODES)

    def test_a_bad_cell_is_named_by_its_row_in_the_table(self, small_blocks, tmp_path):
        bad = CELLS.copy()
        bad[432, 7] = 5
        np.save(tmp_path / "bad.npy", bad)
        for form in (np.load(tmp_path / "bad.npy", mmap_mode="r"), [bad[:200], bad[200:]]):
            with pytest.raises(DataError, match='row "433", column 8: value 5 is neither 0 nor 1'):
                BinaryData.of(form)
        assert BinaryData.of([bad[:200], bad[200:]], binarize=1).n_ones == WHOLE.sum() + (WHOLE[432, 7] == 0)

    @pytest.mark.parametrize("empty", [[], iter([])])
    def test_no_block_at_all_is_refused(self, empty):
        with pytest.raises(DataError):
            BinaryData.of(empty)


class TestParquet:
    FRAME = pd.DataFrame(CELLS, columns=[f"c{j}" for j in range(21)]).astype("Int8")

    def assert_same(self, one, other):
        np.testing.assert_array_equal(one.dense(), other.dense())
        for name in ("row_names", "column_names", "row_label", "metadata", "notes"):
            assert getattr(one, name) == getattr(other, name), name

    @pytest.mark.filterwarnings("ignore:.*is metadata")
    @pytest.mark.parametrize(
        "change",
        [
            lambda frame: frame,
            lambda frame: frame.assign(site=[f"s{i}" for i in range(700)]),
            lambda frame: frame.assign(site=[f"s{i}" for i in range(700)], party=["a", "b"] * 350).set_index("site"),
            lambda frame: frame.set_axis([f"r{i}" for i in range(700)], axis=0),
            lambda frame: frame.fillna(0).astype(bool).assign(answer=["yes", "no"] * 350),
        ],
        ids=["plain", "label", "named index", "index", "bool and words"],
    )
    def test_blocks_are_read_as_a_frame_is(self, change, tmp_path, monkeypatch):
        change(self.FRAME).to_parquet(tmp_path / "table.parquet")
        at_once = read_table(tmp_path / "table.parquet")
        for name, value in (("LARGE", 0), ("BATCH_CELLS", 21 * 90)):
            monkeypatch.setattr(large_parquet, name, value)
        in_blocks = read_table(tmp_path / "table.parquet")
        assert at_once.packed is None
        assert in_blocks.packed is not None
        self.assert_same(in_blocks, at_once)

    def test_an_index_that_counts_otherwise_names_the_rows(self, tmp_path, monkeypatch):
        self.FRAME.set_axis(range(10, 710), axis=0).to_parquet(tmp_path / "table.parquet")
        monkeypatch.setattr(large_parquet, "LARGE", 0)
        assert read_table(tmp_path / "table.parquet").row_names[:2] == ["10", "11"]

    def test_a_folder_is_one_table(self, tmp_path):
        folder = tmp_path / "table"
        folder.mkdir()
        self.FRAME[:300].to_parquet(folder / "part-0.parquet")
        self.FRAME[300:].reset_index(drop=True).to_parquet(folder / "part-1.parquet")
        np.testing.assert_array_equal(read_table(folder).dense(), CODES)
        self.FRAME.rename(columns={"c2": "x"}).to_parquet(folder / "part-2.parquet")
        with pytest.raises(DataError, match=r"part-2\.parquet has other columns than part-0\.parquet"):
            read_table(folder)
        self.FRAME.astype(str).to_parquet(folder / "part-2.parquet")
        with pytest.raises(DataError, match=r'column "c0" is .*string in part-2\.parquet and int8 in part-0\.parquet'):
            read_table(folder)
        (folder / "part-2.parquet").write_bytes(b"PAR1")
        with pytest.raises(DataError, match=r"part-2\.parquet can't be read as Parquet"):
            read_table(folder)

    def test_a_bad_cell_is_named(self, small_blocks, tmp_path):
        bad = self.FRAME.copy()
        bad.iloc[432, 7] = 5
        bad.to_parquet(tmp_path / "bad.parquet")
        with pytest.raises(DataError, match=r'bad\.parquet, row 433, column "c7": value 5 is neither 0 nor 1'):
            read_table(tmp_path / "bad.parquet")
        assert read_table(tmp_path / "bad.parquet", threshold=1).n_ones >= WHOLE.sum()


TABLE = simulate.aspect_bernoulli(900, 60, 4, random_state=0).X


@pytest.mark.parametrize("model", [AspectBernoulli(4, n_init=1, random_state=0), BetaICA(4, n_init=1, random_state=0)])
def test_a_fit_to_bits_equals_that_to_bytes(model, monkeypatch):
    monkeypatch.setattr(rows, "BLOCK_CELLS", 1)  # as short as blocks can be
    monkeypatch.setattr(rows, "CHUNK_WORK", 60_000)
    dense = type(model)(**model.get_params()).fit(TABLE)
    bits = model.fit(BinaryData.of(TABLE).to_packed())
    np.testing.assert_array_equal(bits.components_, dense.components_)
    np.testing.assert_array_equal(bits.weights_, dense.weights_)
    assert bits.objective_ == dense.objective_
    pd.testing.assert_frame_equal(
        bits.suspects(BinaryData.of(TABLE).to_packed(), top=30), dense.suspects(BinaryData.of(TABLE), top=30)
    )
    assert bits.log_likelihood(BinaryData.of(TABLE).to_packed()) == dense.log_likelihood(TABLE)


def test_weights_of_many_rows_may_lie_in_a_file(small_blocks):
    whole = AspectBernoulli(3, n_init=1, max_iter=30, random_state=0)
    with pytest.warns(Warning, match="without converging"):
        model = whole.fit([TABLE[:400], TABLE[400:]])
    assert model.weights_.shape == (900, 3)
    assert model.n_features_in_ == 60


def test_bits_are_stored_and_come_back(tmp_path):
    from latentbits.storage.archives import write_archive
    from latentbits.storage.stored_data import load_data, save_data

    for cells in (CELLS, WHOLE):
        data = BinaryData.of(cells, column_names=[f"c{j}" for j in range(21)]).to_packed()
        save_data(data, tmp_path / "data.npz")
        back, _ = load_data(tmp_path / "data.npz")
        assert back.packed is not None
        assert back.fingerprint() == data.fingerprint()
    with np.load(tmp_path / "data.npz") as stored:
        arrays = dict(stored)
    write_archive(tmp_path / "data.npz", {**arrays, "packed_columns": np.array(99)})
    with pytest.raises(DataError, match=r"data\.npz is damaged \(its packed cells are no table\)"):
        load_data(tmp_path / "data.npz")
