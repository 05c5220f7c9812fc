"""The bundled digits, and the folder of data sets that aren't bundled."""

import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

from latentbits.data.datasets import data_folder, load_digits


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

    def test_set(self, monkeypatch, tmp_path):
        monkeypatch.setenv("LATENTBITS_DATA", str(tmp_path))
        assert data_folder() == tmp_path

    def test_names_no_folder(self, monkeypatch, tmp_path):
        file = tmp_path / "file"
        file.touch()
        for path in (file, tmp_path / "nowhere"):
            monkeypatch.setenv("LATENTBITS_DATA", str(path))
            with pytest.raises(FileNotFoundError, match=r"LATENTBITS_DATA names .*not a folder"):
                data_folder()
