"""Loaders of chat and newsgroups, on tiny made-up files."""

import gzip

import numpy as np
import pytest

from latentbits import DataError, datasets


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
