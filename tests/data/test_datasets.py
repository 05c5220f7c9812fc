"""The bundled digits, the folder of data sets that aren't bundled, and their loaders: on the real files, on tiny
made-up ones, and on what can be wrong with a file."""

import gzip
import os
import re
import subprocess
import sys
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as sklearn_datasets

import latentbits
from experiments import data as experiment_data
from latentbits import DataError
from latentbits.data import datasets
from latentbits.data.datasets import data_folder, load_digits
from tests.shared_data import FOLDER, needs_data

FILES = {
    "load_aflp": "aflp_aeut.csv",
    "load_alphadigits": "binaryalphadigs.npz",
    "load_birds": "mhb2014.npz",
    "load_chat": "irc_speakers.csv.gz",
    "load_fossils": "now_g10s2.csv",
    "load_monks": "sampson_monks.npz",
    "load_newsgroups": "news20_4groups.npz",
    "load_numerals": "mfeat_pix.npz",
    "load_sensors": "ordonezA_1min.npz",
    "load_visual_fields": "visual_fields_24d2.csv",
    "load_votes": "un_votes.npz",
}
DOWNLOADED = ("load_newsgroups", "load_numerals")


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty data folder."""
    monkeypatch.setenv("LATENTBITS_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def real(monkeypatch):
    """The folder of real files."""
    monkeypatch.setenv("LATENTBITS_DATA", str(FOLDER))


@pytest.fixture
def offline(monkeypatch):
    """Fetchers as they are without a network."""

    def fail(*_, **__):
        raise URLError("no route to host.\nsecond line")

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fail)
    monkeypatch.setattr(sklearn_datasets, "fetch_20newsgroups", fail)


def sentence(error):
    """The message, which must be one sentence."""
    text = str(error.value)
    assert "\n" not in text
    assert not re.search(r"\. [A-Z]", text)
    return text


class TestLoadDigits:
    def test_all_digits(self):
        digits = load_digits()
        bundled = sklearn_datasets.load_digits()
        assert digits.X.shape == (1797, 64)
        assert digits.X.dtype == np.int8
        assert digits.image_shape == (8, 8)
        np.testing.assert_array_equal(digits.X, bundled.data > 7)
        np.testing.assert_array_equal(digits.target, bundled.target)

    def test_names_are_in_reading_order(self):
        names = load_digits().feature_names
        assert len(set(names)) == 64
        assert (names[0], names[7], names[8], names[63]) == ("r0c0", "r0c7", "r1c0", "r7c7")

    @pytest.mark.parametrize("chosen", [[2, 0], (7,), range(5)])
    def test_chosen_digits_in_their_order(self, chosen):
        digits, everything = load_digits(digits=chosen), load_digits()
        kept = [i for i, label in enumerate(everything.target) if label in chosen]
        np.testing.assert_array_equal(digits.target, everything.target[kept])
        np.testing.assert_array_equal(digits.X, everything.X[kept])

    def test_threshold_is_the_first_value_that_is_on(self):
        bundled = sklearn_datasets.load_digits().data
        np.testing.assert_array_equal(load_digits(threshold=16).X, bundled == 16)
        np.testing.assert_array_equal(load_digits(threshold=1).X, bundled > 0)

    @pytest.mark.parametrize("threshold", [0, 17, float("nan")])
    def test_bad_threshold(self, threshold):
        with pytest.raises(ValueError, match="threshold is"):
            load_digits(threshold=threshold)

    @pytest.mark.parametrize("chosen", [[], [10], [0, -1]])
    def test_bad_digits(self, chosen):
        with pytest.raises(ValueError, match="digits is"):
            load_digits(digits=chosen)


class TestDataFolder:
    def test_not_set(self, monkeypatch):
        monkeypatch.delenv("LATENTBITS_DATA", raising=False)
        assert data_folder() is None

    def test_set(self, folder):
        assert data_folder() == folder

    def test_names_no_folder(self, monkeypatch, tmp_path):
        file = tmp_path / "file"
        file.touch()
        for path in (file, tmp_path / "nowhere"):
            monkeypatch.setenv("LATENTBITS_DATA", str(path))
            with pytest.raises(FileNotFoundError, match=r"LATENTBITS_DATA names .*not a folder"):
                data_folder()


def test_public_names_are_the_same_objects():
    assert latentbits.datasets.__all__ == datasets.__all__
    for name in latentbits.datasets.__all__:
        assert getattr(latentbits.datasets, name) is getattr(datasets, name)


def test_every_loader_of_a_file_is_tested():
    assert {name for name in datasets.__all__ if name.startswith("load_")} == {*FILES, "load_digits"}


# What is said about files that aren't there, or aren't what they should be


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


def numerals():
    return {"X": np.array([[0, 3, 4, 6, 0, 0]] * 2, np.uint8), "y": np.array([1, 7]), "image_shape": np.array([2, 3])}


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


# Tiny made-up files


class TestImages:
    def test_numerals(self, folder):
        np.savez(folder / "mfeat_pix.npz", **numerals())
        images = datasets.load_numerals()
        assert images.X.tolist() == [[0, 0, 1, 1, 0, 0]] * 2
        assert (images.X.dtype, images.image_shape, images.feature_names[3]) == (np.int8, (2, 3), "r1c0")
        assert datasets.load_numerals(threshold=3, digits=[7]).X.tolist() == [[0, 1, 1, 1, 0, 0]]
        assert datasets.load_numerals(digits=[7]).target.tolist() == [7]

    def test_bad_options_are_refused_before_anything_is_read(self, folder, offline):
        with pytest.raises(ValueError, match="threshold is 7; pixels go from 0 to 6"):
            datasets.load_numerals(threshold=7)

    def test_alphadigits(self, folder):
        X = np.array([[0, 1], [1, 1], [1, 0]], np.uint8)
        np.savez(folder / "binaryalphadigs.npz", X=X, y=np.array(["0", "A", "B"]), image_shape=np.array([1, 2]))
        assert datasets.load_alphadigits().X.tolist() == X.tolist()
        chosen = datasets.load_alphadigits(characters="B0")
        assert (chosen.X.tolist(), chosen.target.tolist()) == ([[0, 1], [1, 0]], ["0", "B"])
        for bad in ("", "a", ["AB"]):
            with pytest.raises(ValueError, match="name one or more of 0AB"):
                datasets.load_alphadigits(characters=bad)


class TestFossils:
    TEXT = "site,MN,age_Ma,known_age,Equus,Sus\nPikermi,12,7.65,1,1,1\nSamos,11,8.6,0,0,1\n"

    def test_sites_with_their_ages(self, folder):
        (folder / "now_g10s2.csv").write_text(self.TEXT)
        found = datasets.load_fossils(min_genera=1)
        assert (found.data.row_names, found.data.column_names) == (["Pikermi", "Samos"], ["Equus", "Sus"])
        assert found.data.dense().tolist() == [[1, 1], [0, 1]]
        assert (found.age.tolist(), found.unit.tolist(), found.dated.tolist()) == ([7.65, 8.6], [12, 11], [True, False])

    def test_fewest_genera(self, folder):
        (folder / "now_g10s2.csv").write_text(self.TEXT)
        found = datasets.load_fossils()
        assert (found.data.row_names, found.age.tolist(), found.unit.tolist()) == (["Pikermi"], [7.65], [12])
        with pytest.raises(ValueError, match="no site has more than 2 genera"):
            datasets.load_fossils(min_genera=3)

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ("age_Ma", "age", "can't be read as a table .*age_Ma"),
            ("8.6", "", "can't be read as a table"),
            ("8.6", "inf", r"row 1 \(from 0\) of the column 'age_Ma' is not filled in"),
            ("8.6", "old", "can't be read as a table"),
            ("0,0,1\n", "0,0,3\n", 'line 3, column "Sus": value 3 is neither 0 nor 1'),
            ("site,", "place,", "there is no column"),
        ],
    )
    def test_wrong_tables(self, old, new, said, folder):
        (folder / "now_g10s2.csv").write_text(self.TEXT.replace(old, new))
        with pytest.raises(DataError, match=said) as error:
            datasets.load_fossils()
        assert sentence(error).startswith("now_g10s2.csv")

    def test_only_a_header(self, folder):
        (folder / "now_g10s2.csv").write_text(self.TEXT.splitlines()[0] + "\n")
        with pytest.raises(DataError, match="no row below the header"):
            datasets.load_fossils()


class TestBirds:
    @pytest.fixture
    def survey(self, folder):
        detections = np.array([[[1, 0], [0, 1]], [[1, 1], [-1, -1]]], np.int8)
        about = {"species": np.array(["a", "b"]), "latin": np.array(["A", "B"]), "site_id": np.array(["s", "t"])}
        land = {"elev": np.array([450.0, 2000]), "forest": np.array([50.0, 0])}
        np.savez(folder / "mhb2014.npz", detections=detections, counts=3 * detections, **about, **land)
        return datasets.load_birds()

    def test_visits(self, survey):
        assert survey.surveyed.tolist() == [[True, True], [True, False]]
        assert survey.visit(0).dense().tolist() == [[1, 0], [1, 1]]
        assert survey.visit(1).dense().tolist() == [[0, 1], [-1, -1]]
        assert (survey.visit(1).row_names, survey.visit(1).column_names) == (["s", "t"], ["a", "b"])

    @pytest.mark.parametrize("number", [-1, 2])
    def test_no_such_visit(self, survey, number):
        with pytest.raises(ValueError, match="the visits are 0 to 1"):
            survey.visit(number)


def test_aflp(folder):
    (folder / "aflp_aeut.csv").write_text("isolate,pop,subpop,L01,L02\n001,Athena,1,1,0\n002,Mt. Vernon,10,0,1\n")
    found = datasets.load_aflp()
    assert (found.data.row_names, found.data.column_names) == (["001", "002"], ["L01", "L02"])
    assert found.data.dense().tolist() == [[1, 0], [0, 1]]
    assert (found.population.tolist(), found.subpopulation.tolist()) == (["Athena", "Mt. Vernon"], ["1", "10"])


class TestVisualFields:
    @pytest.fixture
    def table(self):
        about = pd.DataFrame(
            {
                "source": ["b", "a", "a", "a"],
                "group": ["glaucoma", "healthy", "healthy", "healthy"],
                "id": ["1", "2", "1", "1"],
                "eye": ["OD", "OS", "OD", "OD"],
                "date": ["2001-01-01", "2001-01-01", "2002-01-01", "2001-01-01"],
                "time": ["10:00:00"] * 4,
                "age": [70, 50, 61, 60],
            }
        )
        return about.join(pd.DataFrame(np.arange(4 * 54).reshape(4, 54), columns=[f"l{i}" for i in range(1, 55)]))

    def test_sorted_by_person_and_time(self, table, folder):
        table.to_csv(folder / "visual_fields_24d2.csv", index=False)
        fields = datasets.load_visual_fields()
        assert fields.age.tolist() == [60, 61, 50, 70]
        assert fields.person.tolist() == [0, 0, 1, 2]
        assert fields.glaucoma.tolist() == [False, False, False, True]
        np.testing.assert_array_equal(fields.X, table.loc[[3, 2, 1, 0], fields.feature_names])
        assert [name for name, blind in zip(fields.feature_names, fields.blind_spot, strict=True) if blind] == [
            "l26",
            "l35",
        ]

    def test_first_of_each_person(self, table, folder):
        table.to_csv(folder / "visual_fields_24d2.csv", index=False)
        fields = datasets.load_visual_fields(first_only=True)
        assert (fields.age.tolist(), fields.person.tolist()) == ([60, 50, 70], [0, 1, 2])
        assert (fields.eye.tolist(), fields.X[:, 0].tolist()) == (["OD", "OS", "OD"], [162, 54, 0])

    def test_unknown_group(self, table, folder):
        table.assign(group="unsure").to_csv(folder / "visual_fields_24d2.csv", index=False)
        with pytest.raises(DataError, match="the group 'unsure' is neither healthy nor glaucoma"):
            datasets.load_visual_fields()


class TestChat:
    def test_speakers(self, folder):
        text = "day,speaker\n2004-12-25,u1\n2004-12-25,NA\n2004-12-27,u1\n"
        (folder / "irc_speakers.csv.gz").write_bytes(gzip.compress(text.encode()))
        chat = datasets.load_chat()
        assert chat.speaker.tolist() == ["u1", "NA", "u1"]
        assert np.diff(chat.day).astype(int).tolist() == [0, 2]

    @pytest.mark.parametrize(
        ("text", "said"),
        [("day,speaker\nsoon,u1\n", "no date"), ("day,speaker\n2004-12-25,\n", "column 'speaker' is not filled in")],
    )
    def test_wrong_tables(self, text, said, folder):
        (folder / "irc_speakers.csv.gz").write_bytes(gzip.compress(text.encode()))
        with pytest.raises(DataError, match=said):
            datasets.load_chat()

    def test_cut_off(self, folder):
        whole = gzip.compress("".join(f"2004-12-25,u{i}\n" for i in range(5000)).encode())
        (folder / "irc_speakers.csv.gz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(DataError, match="can't be read as a table"):
            datasets.load_chat()


def test_monks(folder):
    like = np.array([[0, 3], [0, 0]], np.int8)
    liked = {"samplk1": 0 * like, "samplk2": like, "samplk3": like}
    dislike = {f"sampdlk{i}": -like.T for i in (1, 2, 3)}
    names = {name: np.array(["a", "b"]) for name in ("names", "group4", "group3")}
    np.savez(folder / "sampson_monks.npz", **liked, **dislike, **names)
    monks = datasets.load_monks()
    assert monks.data.dense().tolist() == [[0, 1], [0, 0]]
    assert monks.data.row_names == monks.data.column_names == ["a", "b"]
    assert monks.liking[:, 0, 1].tolist() == [0, 3, 3]
    assert monks.disliking[:, 1, 0].tolist() == [3, 3, 3]


class TestVotes:
    @pytest.fixture(autouse=True)
    def file(self, folder):
        votes = np.array([[1, 0, -1], [2, 1, -1], [1, -1, 0], [0, 1, 1]], np.int8)
        about = {
            "rcid": np.arange(3, 7),
            "session": np.ones(4, int),
            "year": np.full(4, 1946),
            "issues": np.array([""] * 4),
        }
        np.savez(folder / "un_votes.npz", votes=votes, country=np.array(["A", "B", "C"]), **about)

    def test_yes_is_one_and_absence_is_missing(self):
        calls = datasets.load_votes()
        assert calls.data.dense().tolist() == [[1, 0, -1], [0, 1, -1], [1, -1, 0], [0, 1, 1]]
        assert (calls.data.row_names, calls.data.column_names) == (["3", "4", "5", "6"], ["A", "B", "C"])
        assert calls.votes[1, 0] == 2

    def test_more_than_the_share_must_be_present(self):
        assert datasets.load_votes(min_present=0.5).data.column_names == ["A", "B"]
        assert datasets.load_votes(min_present=0.75).data.column_names == ["A"]
        assert datasets.load_votes(min_present=0.75).votes.shape == (4, 1)
        with pytest.raises(ValueError, match=r"the highest share is 1\.000"):
            datasets.load_votes(min_present=1)


class TestSensors:
    ARRAYS = {
        "X": np.array([[0], [1], [1]], np.uint8),
        "sensors": np.array(["bed"]),
        "activities": np.array(["Sleeping", "Snack"]),
        "activity": np.array([-1, 0, 1], np.int8),
        "t0": np.array("2011-11-28 23:59:00"),
    }

    def test_activities_and_times(self, folder):
        np.savez(folder / "ordonezA_1min.npz", **self.ARRAYS)
        home = datasets.load_sensors()
        assert (home.data.dense().tolist(), home.data.column_names) == ([[0], [1], [1]], ["bed"])
        assert home.activity.tolist() == ["", "Sleeping", "Snack"]
        assert home.time.astype(str).tolist() == ["2011-11-28T23:59", "2011-11-29T00:00", "2011-11-29T00:01"]

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"activity": np.array([0, 1, 2])}, "goes beyond the 2 activities"),
            ({"t0": np.array("noon")}, "'t0' is no time"),
            ({"t0": np.array(["2011-11-28"])}, "'t0' has the shape"),
        ],
    )
    def test_wrong_arrays(self, changed, said, folder):
        np.savez(folder / "ordonezA_1min.npz", **(self.ARRAYS | changed))
        with pytest.raises(DataError, match=said) as error:
            datasets.load_sensors()
        sentence(error)


class TestNewsgroups:
    X = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]], np.uint8)

    @pytest.fixture
    def arrays(self):
        names = np.array(["sci.crypt", "sci.med", "sci.space", "soc.religion.christian"])
        about = {"words": np.array(["a", "b", "c"]), "group_names": names, "doc_id": np.arange(5)}
        return {"X": self.X, "y": np.array([0, 1, 1, 2, 3]), "split": np.array(["train"] * 4 + ["test"]), **about}

    def test_posts(self, arrays, folder):
        np.savez(folder / "news20_4groups.npz", **arrays)
        posts = datasets.load_newsgroups()
        assert posts.data.dense().tolist() == self.X.tolist()
        assert posts.data.row_names[2] == "sci.med/2"
        assert posts.train.tolist() == [True] * 4 + [False]

    def test_first_posts_of_each_group_and_words_in_most_of_them(self, arrays, folder):
        np.savez(folder / "news20_4groups.npz", **arrays)
        posts = datasets.load_newsgroups(per_group=1, n_words=2)
        assert posts.data.row_names == ["sci.crypt/0", "sci.med/1", "sci.space/3", "soc.religion.christian/4"]
        assert posts.data.column_names == ["b", "c"]  # in 3 posts each, "a" in 1
        assert posts.data.dense().tolist() == [[1, 0], [1, 1], [0, 1], [1, 1]]
        assert (posts.target.tolist(), posts.train.tolist()) == ([0, 1, 2, 3], [True] * 3 + [False])

    @pytest.mark.parametrize("options", [{"per_group": 2}, {"per_group": 0}, {"n_words": 4}, {"n_words": 0}])
    def test_more_than_there_are(self, options, arrays, folder):
        np.savez(folder / "news20_4groups.npz", **arrays)
        with pytest.raises(ValueError, match=rf"{next(iter(options))} is \d; take 1 to"):
            datasets.load_newsgroups(**options)

    def test_too_few_names(self, arrays, folder):
        np.savez(folder / "news20_4groups.npz", **(arrays | {"group_names": np.array(["sci.crypt"])}))
        with pytest.raises(DataError, match="there are 1 group_names, not 4"):
            datasets.load_newsgroups()


# Downloads by scikit-learn, with fetchers made up


class TestDownloads:
    def openml(self, monkeypatch, pixels, classes):
        """OpenML's table: columns of a nominal type, and classes with names of its own."""
        frame = pd.DataFrame(pixels).astype(str).astype("category")
        answer = SimpleNamespace(data=frame, target=pd.Series(classes).astype("category"))
        monkeypatch.setattr(sklearn_datasets, "fetch_openml", lambda name, **_: {"mfeat-pixel": answer}[name])

    def test_numerals(self, monkeypatch, folder):
        pixels = np.random.default_rng(0).integers(0, 7, (2000, 240))
        self.openml(monkeypatch, pixels, np.repeat([str(i) for i in range(1, 11)], 200))
        images = datasets.load_numerals(threshold=3)
        np.testing.assert_array_equal(images.X, pixels >= 3)
        assert (images.image_shape, images.X.dtype) == ((16, 15), np.int8)
        np.testing.assert_array_equal(images.target, np.repeat(np.arange(10), 200))

    @pytest.mark.parametrize(
        ("pixels", "classes", "said"),
        [
            (np.zeros((2000, 239), int), np.repeat(np.arange(10), 200), r"shape \(2000, 239\)"),
            (np.full((2000, 240), 7), np.repeat(np.arange(10), 200), "isn't UCI's"),
            (np.zeros((2000, 240), int), np.tile(np.arange(10), 200), "aren't in UCI's order"),
            (np.zeros((2000, 240), int), np.zeros(2000, int), "aren't in UCI's order"),
        ],
    )
    def test_other_numerals_are_refused(self, pixels, classes, said, monkeypatch, folder):
        self.openml(monkeypatch, pixels, classes)
        with pytest.raises(FileNotFoundError, match=said) as error:
            datasets.load_numerals()
        assert "its download failed" in sentence(error)

    def test_the_file_goes_before_the_download(self, folder, offline):
        np.savez(folder / "mfeat_pix.npz", **numerals())
        assert datasets.load_numerals().X.shape == (2, 6)

    def test_newsgroups(self, monkeypatch, folder):
        posts = {
            "train": [
                ("sci.space", 9, "The moon, the Moon!"),
                ("sci.med", 20, "doctor"),
                ("sci.med", 3, "moon doctor"),
            ],
            "test": [("sci.crypt", 1, "key of 128 bits"), ("sci.med", 1, "it is")],
        }

        def fetch(*, subset, categories, remove, shuffle):
            assert (len(categories), remove, shuffle) == (4, ("headers",), False)
            names = sorted({group for group, *_ in posts[subset]})
            return SimpleNamespace(
                data=[text for *_, text in posts[subset]],
                target=np.array([names.index(group) for group, *_ in posts[subset]]),
                target_names=names,
                filenames=np.array([f"/cache/20news-bydate-{subset}/{group}/{i}" for group, i, _ in posts[subset]]),
            )

        monkeypatch.setattr(sklearn_datasets, "fetch_20newsgroups", fetch)
        found = datasets.load_newsgroups()
        assert found.data.column_names == ["bits", "doctor", "key", "moon"]
        assert found.data.row_names == ["sci.crypt/1", "sci.med/3", "sci.med/20", "sci.med/1", "sci.space/9"]
        assert found.data.dense().tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
        assert found.target.tolist() == [0, 1, 1, 1, 2]
        assert found.train.tolist() == [False, True, True, False, True]


# The real files


@pytest.mark.usefixtures("real")
class TestRealFiles:
    @needs_data(FILES["load_fossils"])
    def test_fossils(self):
        found = datasets.load_fossils()
        assert (found.data.shape, round(found.data.density, 4)) == ((501, 139), 0.0508)
        assert np.corrcoef(found.unit, found.age)[0, 1] < -0.95  # a later unit is younger
        assert 0 < found.dated.sum() < 50
        assert datasets.load_fossils(min_genera=10).data.shape == (124, 139)

    @needs_data("now_g10s10.csv")
    @needs_data(FILES["load_fossils"])
    def test_rich_sites_are_those_of_the_file_of_rich_sites(self):
        rich = pd.read_csv(FOLDER / "now_g10s10.csv")
        found = datasets.load_fossils(min_genera=10)
        np.testing.assert_array_equal(found.data.dense(), rich[found.data.column_names])
        np.testing.assert_array_equal(found.age, rich["age_Ma"])

    @needs_data(FILES["load_numerals"])
    def test_numerals(self):
        images = datasets.load_numerals()
        assert (images.X.shape, images.image_shape, round(float(images.X.mean()), 2)) == ((2000, 240), (16, 15), 0.49)
        assert np.bincount(images.target).tolist() == [200] * 10
        zero, one = (datasets.load_numerals(digits=[i]).X.mean(axis=0).reshape(16, 15) for i in (0, 1))
        assert zero[8, 7] < 0.1 < 0.9 < one.max(axis=1)[8]  # a zero has a hole, a one has none

    @needs_data(FILES["load_alphadigits"])
    def test_alphadigits(self):
        images = datasets.load_alphadigits()
        assert (images.X.shape, images.image_shape) == ((1404, 320), (20, 16))
        assert set(np.unique(images.target, return_counts=True)[1]) == {39}
        assert datasets.load_alphadigits(characters="03").X.shape == (78, 320)

    @needs_data(FILES["load_newsgroups"])
    def test_newsgroups(self):
        posts = datasets.load_newsgroups()
        assert posts.data.shape == (3965, 1000)
        assert len(set(posts.data.row_names)) == 3965
        part = datasets.load_newsgroups(per_group=100, n_words=100)
        assert (part.data.shape, np.bincount(part.target).tolist()) == ((400, 100), [100] * 4)
        god = posts.data.dense()[:, posts.data.column_names.index("god")]
        assert np.argmax(np.bincount(posts.target, god)) == posts.group_names.index("soc.religion.christian")

    @needs_data(FILES["load_chat"])
    def test_chat(self):
        chat = datasets.load_chat()
        assert (len(chat.speaker), len(np.unique(chat.speaker)), len(np.unique(chat.day))) == (196_146, 15_734, 153)
        assert (np.diff(chat.day).astype(int) >= 0).all()

    @needs_data(FILES["load_monks"])
    def test_monks(self):
        monks = datasets.load_monks()
        assert (monks.data.shape, monks.data.n_ones) == ((18, 18), 88)
        assert np.unique(monks.group, return_counts=True)[1].tolist() == [5, 3, 7, 3]
        assert set(monks.group_of_three) == {"Loyal", "Turks", "Outcasts"}
        named = (monks.liking > 0).sum(axis=2)
        assert named.min() == 3
        assert named.max() == 4
        assert not (monks.liking * monks.disliking).any()  # nobody is liked and disliked by one at a time

    @needs_data(FILES["load_aflp"])
    def test_aflp(self):
        bands = datasets.load_aflp()
        assert bands.data.shape == (187, 56)
        assert np.unique(bands.population, return_counts=True)[1].tolist() == [97, 90]

    @needs_data(FILES["load_visual_fields"])
    def test_visual_fields(self):
        fields = datasets.load_visual_fields()
        assert (fields.X.shape, fields.person.max()) == ((665, 54), 121)
        healthy = fields.X[~fields.glaucoma].mean(axis=0)
        assert healthy[fields.blind_spot].min() < 5 < 20 < healthy[~fields.blind_spot].min()
        first = datasets.load_visual_fields(first_only=True)
        assert (len(first.X), int(first.glaucoma.sum())) == (122, 31)

    @needs_data(FILES["load_birds"])
    def test_birds(self):
        birds = datasets.load_birds()
        assert birds.detections.shape == (267, 3, 158)
        np.testing.assert_array_equal(birds.counts > 0, birds.detections == 1)
        assert birds.surveyed.sum(axis=0)[0] == 266
        assert birds.visit(0).n_missing == 158

    @needs_data(FILES["load_votes"])
    def test_votes(self):
        calls = datasets.load_votes()
        assert (calls.data.shape, len(np.unique(calls.session))) == ((6202, 200), 74)
        assert datasets.load_votes(min_present=0.9).data.shape == (6202, 63)

    @needs_data(FILES["load_sensors"])
    def test_sensors(self):
        home = datasets.load_sensors()
        assert home.data.shape == (20456, 12)
        hour = (home.time - home.time.astype("datetime64[D]")).astype(int) // 60
        asleep = home.activity == "Sleeping"
        assert np.median(hour[asleep]) < 8
        bed = home.data.dense()[:, [name.startswith("Bed.") for name in home.data.column_names]].any(axis=1)
        assert bed[asleep].mean() > 0.9 > 0.2 > bed[~asleep].mean()


# The folder beside the repository


class TestUseSharedFolder:
    def test_names_the_folder_for_workers_too(self, monkeypatch, tmp_path):
        monkeypatch.setenv("LATENTBITS_DATA", "")  # counts as not set, and comes back after the test
        monkeypatch.setattr(experiment_data, "FALLBACK", tmp_path)
        experiment_data.use_shared_folder()
        assert data_folder() == tmp_path
        asked = [sys.executable, "-c", "import os; print(os.environ['LATENTBITS_DATA'])"]
        assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == str(tmp_path)

    def test_leaves_a_named_folder(self, monkeypatch, tmp_path, folder):
        other = tmp_path / "other"
        other.mkdir()
        monkeypatch.setattr(experiment_data, "FALLBACK", other)
        experiment_data.use_shared_folder()
        assert data_folder() == folder

    def test_without_the_folder_nothing_is_named(self, monkeypatch, tmp_path):
        monkeypatch.setenv("LATENTBITS_DATA", "")
        monkeypatch.setattr(experiment_data, "FALLBACK", tmp_path / "nowhere")
        experiment_data.use_shared_folder()
        assert not os.environ["LATENTBITS_DATA"]
