"""Tests on real data sets, which the library doesn't bring: they skip, with the reason, where a file isn't at hand."""

import pytest

from experiments.data import FALLBACK
from latentbits.datasets import data_folder

FOLDER = data_folder() or FALLBACK


def needs_data(name):
    """Skip a test where this file isn't in the folder."""
    return pytest.mark.skipif(not (FOLDER / name).is_file(), reason=f"{name} is not in {FOLDER}; set LATENTBITS_DATA")
