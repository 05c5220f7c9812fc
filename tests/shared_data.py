"""The shared data sets, which the library doesn't bring: the folder LATENTBITS_DATA, else ../shared/data."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("LATENTBITS_DATA") or Path(__file__).parents[2] / "shared" / "data")


def needs_data(name):
    """Skip a test, with the reason, where this file isn't at hand."""
    return pytest.mark.skipif(not (FOLDER / name).is_file(), reason=f"{name} is not in {FOLDER}; set LATENTBITS_DATA")
