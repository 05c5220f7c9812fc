"""Fitted models that the tests of this folder share; none of them changes one."""

import pytest

from latentbits import AspectBernoulli
from tests.models.aspect_bernoulli.tools import FRAME, X


@pytest.fixture(scope="session")
def model():
    return AspectBernoulli(3, n_init=3, random_state=0).fit(X)


@pytest.fixture(scope="session")
def named():
    return AspectBernoulli(3, n_init=3, random_state=0).fit(FRAME)
