"""Downloads by scikit-learn, with fetchers made up."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as sklearn_datasets

from latentbits import datasets
from tests.data.datasets.files import numerals, sentence


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
