"""Shorter chains: tests of conventions don't need many draws."""

import pytest

from latentbits.models import detection


@pytest.fixture(autouse=True, scope="package")
def short_chains():
    patch = pytest.MonkeyPatch()
    for name, value in {"N_BURN": 300, "N_KEPT": 60, "THIN": 3}.items():
        patch.setattr(detection, name, value)
    yield
    patch.undo()
