"""Loaders of monks, votes and sensors, on tiny made-up files."""

import numpy as np
import pytest

from latentbits import DataError, datasets
from tests.data.datasets.files import sentence


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
