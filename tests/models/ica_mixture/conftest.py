"""Fitted models that the tests of this folder share; none of them changes one."""

import pytest

from latentbits.models.ica_mixture.estimator import ICAMixture
from tests.models.ica_mixture.tools import X


@pytest.fixture(scope="session")
def model():
    return ICAMixture(3, 2, n_init=2, random_state=0).fit(X)
