"""Files of arrays: what was written comes back, and nothing else is taken for it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from latentbits.storage import archives
from latentbits.storage.archives import DAMAGE, read_archive, write_archive

ARRAYS = {
    "numbers": np.linspace(0, 1, 12).reshape(3, 4),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3)),
    "nothing": np.zeros((0, 3), np.float32),
    "single": np.array(7),
    "texts": np.array(["a", "käfer"]),
    "truth": np.array([True, False]),
}


@pytest.fixture(params=[False, True], ids=["stored", "packed"])
def packed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def file(tmp_path: Path, packed: bool) -> Path:
    write_archive(tmp_path / "x.npz", ARRAYS, packed=packed)
    return tmp_path / "x.npz"


def test_arrays_come_back_and_numpy_reads_them_too(file: Path, packed: bool) -> None:
    found, has_checksum = read_archive(file, packed=packed)
    assert has_checksum
    assert found.keys() == ARRAYS.keys()
    with np.load(file) as by_numpy:
        for name, array in ARRAYS.items():
            assert found[name].dtype == array.dtype
            assert found[name].flags.f_contiguous == array.flags.f_contiguous
            assert found[name].flags.writeable
            assert_array_equal(found[name], array)
            assert_array_equal(by_numpy[name], array)


def test_every_flipped_bit_is_noticed(file: Path, packed: bool) -> None:
    content = file.read_bytes()
    for place in range(0, len(content), 3):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place % 8)
        file.write_bytes(flipped)
        try:
            _, has_checksum = read_archive(file, packed=packed)
        except DAMAGE:
            continue
        assert not has_checksum  # what says that there is one is damaged, and who needs one refuses the file


def test_files_of_earlier_versions_have_no_checksum(tmp_path: Path) -> None:
    np.savez(tmp_path / "old.npz", **ARRAYS)
    found, has_checksum = read_archive(tmp_path / "old.npz")
    assert not has_checksum
    assert_array_equal(found["numbers"], ARRAYS["numbers"])


def test_packed_arrays_are_refused_unless_expected(tmp_path: Path) -> None:
    write_archive(tmp_path / "x.npz", ARRAYS, packed=True)
    with pytest.raises(ValueError, match="packed by another program"):
        read_archive(tmp_path / "x.npz")


def test_a_bomb_is_refused_by_its_size_and_large_arrays_are_not_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeros = {"zeros": np.zeros(100_000)}
    write_archive(tmp_path / "bomb.npz", zeros, packed=True)
    assert (tmp_path / "bomb.npz").stat().st_size < 2000
    monkeypatch.setattr(archives, "LARGEST_UNPACKED", 500_000)
    with pytest.raises(ValueError, match="unpacks to 800,128 bytes, and at most 500,000 are allowed"):
        read_archive(tmp_path / "bomb.npz", packed=True)
    write_archive(tmp_path / "large.npz", zeros, packed=True)
    assert_array_equal(read_archive(tmp_path / "large.npz", packed=True).arrays["zeros"], 0)


def npy(descr: str, shape: str, content: bytes = bytes(8)) -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + content


def pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("x.npy", npy("'<f8'", "(1,)")), ("x.npy", npy("'<f8'", "(1,)"))], "two arrays of one name"),
        ([("../x.npy", npy("'<f8'", "(1,)"))], "which is no array"),
        ([("/x.npy", npy("'<f8'", "(1,)"))], "which is no array"),
        ([("x", npy("'<f8'", "(1,)"))], "which is no array"),
        ([("x.npy", npy("'<f8'", "(10000000000000,)"))], "another size than it claims"),
        ([("x.npy", npy("'<f8'", "(0, 10000000000000)"))], "another size than it claims"),
        ([("x.npy", npy("'<f8'", "(-1,)"))], "no array of numbers or text"),
        ([("x.npy", npy("'>f8'", "(1,)"))], "no array of numbers or text"),
        ([("x.npy", npy("'|O'", "(1,)"))], "no array of numbers or text"),
        ([("x.npy", npy("[('a', '<f8')]", "(1,)"))], "no array of numbers or text"),
        ([("x.npy", npy("'|b1'", "(1,)", b"\x02"))], "something else than true and false"),
        ([("x.npy", npy("'<U1'", "(1,)", b"\xff\xff\xff\x7f"))], "something else than text"),
        ([("x.npy", pickled())], "no array of numbers or text"),
        ([("x.npy", b"")], "no array of numbers or text"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_numpy_never_writes_is_refused(tmp_path: Path, members: list[tuple[str, bytes]], message: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=message):
        read_archive(tmp_path / "x.npz")
