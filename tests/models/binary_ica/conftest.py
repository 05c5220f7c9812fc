"""Fitted models that the tests of this folder share; none of them changes one."""

import pytest

from latentbits.models.binary_ica.estimator import BinaryICA
from tests.models.binary_ica.tools import TRUTH


@pytest.fixture(scope="session")
def model():
    return BinaryICA(2, random_state=0, n_init=2).fit(TRUTH.X, segments=TRUTH.segments)
