"""Loaders of images: the bundled digits, and tiny made-up files."""

import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

from latentbits import datasets
from latentbits.datasets import load_digits
from tests.data.datasets.files import numerals


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
