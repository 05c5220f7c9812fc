"""Data beside a model come back as they were, and a file that somebody has tampered with is refused."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits.data.binary_data import BinaryData
from latentbits.data.marks import PlacedMarks
from latentbits.data.numbers import NumberTable
from latentbits.errors import DataError
from latentbits.storage.archives import write_archive
from latentbits.storage.stored_data import load_data, save_data

X = np.array([[0, 1, np.nan], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
NAMES = ["a", "b\0", "ü🦴", ""]


@pytest.mark.parametrize(
    "data",
    [
        BinaryData.of(X),
        BinaryData.of(X, row_names=NAMES, column_names=["x", "y ", "z"]),
        BinaryData.of(sp.csr_array(np.nan_to_num(X)), row_names=NAMES),
        NumberTable(np.arange(12.0).reshape(4, 3), NAMES, ["x", "y", "z"], "site"),
    ],
)
def test_data_come_back(tmp_path, data):
    save_data(data, tmp_path / "data.npz", segments=np.array(["s", "s", "t", "t"]))
    found, fit_params = load_data(tmp_path / "data.npz")
    assert type(found) is type(data)
    assert found.fingerprint() == data.fingerprint()
    assert (found.row_names, found.column_names, found.row_label) == (
        data.row_names,
        data.column_names,
        data.row_label,
    )
    assert getattr(found, "is_sparse", None) == getattr(data, "is_sparse", None)
    assert fit_params["segments"].tolist() == ["s", "s", "t", "t"]


def test_what_stands_beside_the_cells_comes_back(tmp_path):
    metadata = {"a/b": ["x", ""], "": ["NA", "é"]}
    data = BinaryData.of([[0, 1], [1, 1]])
    data = replace(data, metadata=metadata, notes=("the first", "the second"), marks=PlacedMarks.of([(1, 0, 0)]))
    save_data(data, tmp_path / "data.npz")
    again, _ = load_data(tmp_path / "data.npz")
    assert (again.metadata, again.notes) == (metadata, data.notes)
    assert again.marks.as_table().tolist() == [[1, 0, 0]]


CELLS = np.zeros((3, 2), np.int8)
TWO_TEXTS = np.frombuffer(np.array([2, 1, 2], "<i8").tobytes() + b"ab", np.uint8)
SPARSE = {
    "sparse_data": np.ones(3, np.int8),
    "sparse_indices": np.array([0, 1, 0]),
    "sparse_indptr": np.array([0, 1, 2, 3]),
    "sparse_shape": np.array([3, 2]),
}


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"cells": CELLS[0]},
        {"cells": CELLS[:0]},
        {"cells": CELLS + 7},
        {"cells": CELLS + 0.5},
        {"cells": CELLS, "more_segments": np.arange(2)},
        {"cells": CELLS, "row_names": np.zeros(3, np.uint8)},
        {"cells": CELLS, "metadata": TWO_TEXTS},
        {"cells": CELLS, "metadata": TWO_TEXTS, "metadata_0": TWO_TEXTS, "metadata_1": TWO_TEXTS},
        {"values": np.full((3, 2), np.nan)},
        {"cells": np.array([["a"]])},
        SPARSE | {"sparse_indices": np.array([0, 10**8, 0])},
        SPARSE | {"sparse_indices": np.array([0, -(10**6), 0])},
        SPARSE | {"sparse_indptr": np.array([0, 3, 1, 3])},
        SPARSE | {"sparse_data": np.array([1, 9, 1], np.int8)},
        SPARSE | {"sparse_shape": np.array([3])},
        SPARSE | {"sparse_indices": np.array([1, 1, 1]), "sparse_indptr": np.array([0, 3, 3, 3])},
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path, arrays):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(DataError, match=r"^data.npz is damaged \(.*\); fit the model again$"):
        load_data(tmp_path / "data.npz")


def test_a_good_sparse_file_is_taken(tmp_path):
    np.savez(tmp_path / "data.npz", **SPARSE)
    assert load_data(tmp_path / "data.npz")[0].n_ones == 3


def test_every_flipped_bit_is_noticed(tmp_path):
    file = tmp_path / "data.npz"
    save_data(BinaryData.of(X, row_names=NAMES), file)
    content = file.read_bytes()
    for place in range(0, len(content), 5):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place % 8)
        file.write_bytes(flipped)
        with pytest.raises(DataError, match=r"^data\.npz is damaged"):
            load_data(file)


def test_a_newer_file_says_so(tmp_path):
    write_archive(tmp_path / "data.npz", {"cells": np.zeros((1, 1), np.int8), "version": np.array(3)})
    with pytest.raises(DataError, match="a newer latentbits has written it, in version 3"):
        load_data(tmp_path / "data.npz")


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive"])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "data.npz").write_bytes(content)
    with pytest.raises(DataError, match="is damaged"):
        load_data(tmp_path / "data.npz")
