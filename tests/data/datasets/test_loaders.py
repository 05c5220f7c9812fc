"""What all loaders share: public names, and what is said about files that aren't there, or aren't what they should
be."""

import re

import numpy as np
import pytest

import latentbits
from latentbits import DataError, datasets
from tests.data.datasets.files import DOWNLOADED, FILES, numerals, sentence


def test_public_names():
    assert sorted(datasets.__all__) == [
        "BinaryImages",
        "BirdSurvey",
        "Chat",
        "DNABands",
        "Fossils",
        "HouseholdSensors",
        "Monks",
        "Newsgroups",
        "RollCalls",
        "VisualFields",
        "data_folder",
        "load_aflp",
        "load_alphadigits",
        "load_birds",
        "load_chat",
        "load_digits",
        "load_fossils",
        "load_monks",
        "load_newsgroups",
        "load_numerals",
        "load_sensors",
        "load_visual_fields",
        "load_votes",
    ]
    assert latentbits.datasets is datasets
    assert all(callable(getattr(datasets, name)) for name in datasets.__all__)


def test_every_loader_of_a_file_is_tested():
    assert {name for name in datasets.__all__ if name.startswith("load_")} == {*FILES, "load_digits"}


@pytest.mark.parametrize("loader", FILES)
def test_a_missing_file_is_named_with_its_folder_and_its_source(loader, folder, offline):
    with pytest.raises(FileNotFoundError) as error:
        getattr(datasets, loader)()
    text = sentence(error)
    assert FILES[loader] in text
    assert str(folder) in text
    assert "LATENTBITS_DATA" in text
    assert re.search(r"; make it from .{10,}, and put it there\.$", text)
    assert ("its download failed (<urlopen error no route to host" in text) == (loader in DOWNLOADED)


@pytest.mark.parametrize("loader", FILES)
def test_without_a_folder_the_variable_is_named(loader, monkeypatch, offline):
    monkeypatch.delenv("LATENTBITS_DATA", raising=False)
    with pytest.raises(FileNotFoundError) as error:
        getattr(datasets, loader)()
    text = sentence(error)
    assert text.startswith(f"LATENTBITS_DATA is not set, so {FILES[loader]} can't be found")
    assert text.endswith("name that folder in LATENTBITS_DATA.")


@pytest.mark.parametrize("loader", FILES)
@pytest.mark.parametrize(
    "content", [b"", b"nonsense\n1\n", b"PK\x03\x04 cut off", b"\x93NUMPY\x01\x00 cut off", b"\x1f\x8b"]
)
def test_a_file_of_another_kind_is_refused(loader, content, folder, offline):
    (folder / FILES[loader]).write_bytes(content)
    with pytest.raises(DataError) as error:
        getattr(datasets, loader)()
    assert sentence(error).startswith(f"{FILES[loader]}: ")


@pytest.mark.parametrize("loader", [name for name, file in FILES.items() if file.endswith(".npz")])
def test_a_single_array_is_no_archive(loader, folder):
    with (folder / FILES[loader]).open("wb") as file:
        np.save(file, np.eye(3))
    with pytest.raises(DataError, match=r"can't be read as an \.npz file"):
        getattr(datasets, loader)()


class TestRefusedArrays:
    """Every check of an archive, on the numerals; the loaders share the code."""

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"y": None}, "there is no array 'y'"),
            ({"y": np.arange(3)}, r"'y' has the shape \(3,\), not \(images\)"),
            ({"y": np.zeros((2, 1))}, r"'y' has the shape \(2, 1\)"),
            ({"y": np.array(["1", "7"])}, "'y' holds no numbers"),
            ({"y": np.array([1, 10])}, "'y' holds numbers outside 0 to 9"),
            ({"X": np.full((2, 6), np.nan)}, "'X' holds numbers outside 0 to 6"),
            ({"X": np.zeros((0, 6)), "y": np.zeros(0)}, "'X' has the shape"),
            ({"X": np.array([[None] * 6] * 2)}, "can't be read as an .npz file"),
            ({"image_shape": np.array([2, 4])}, r"images of 6 pixels can't have the image_shape \(2, 4\)"),
            ({"image_shape": np.array([6])}, r"can't have the image_shape \(6,\)"),
        ],
    )
    def test_wrong_arrays(self, changed, said, folder):
        arrays = {name: array for name, array in (numerals() | changed).items() if array is not None}
        np.savez(folder / "mfeat_pix.npz", **arrays)
        with pytest.raises(DataError, match=said) as error:
            datasets.load_numerals()
        assert "make it again from mfeat-pix of UCI's Multiple Features" in sentence(error)

    @pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
    def test_truncated(self, share, folder):
        file = folder / "mfeat_pix.npz"
        np.savez_compressed(file, **numerals())
        file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
        with pytest.raises(DataError, match=r"mfeat_pix\.npz: this can't be read") as error:
            datasets.load_numerals()
        sentence(error)

    def test_damaged_inside(self, folder):
        file = folder / "mfeat_pix.npz"
        np.savez(file, **numerals())
        content = bytearray(file.read_bytes())
        content[content.index(b"\x93NUMPY") + 130] ^= 0xFF
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"can't be read as an \.npz file \(Bad CRC"):
            datasets.load_numerals()
