"""Fitted models that the tests of this folder share; none of them changes one."""

import pytest

from latentbits import BetaICA
from tests.models.beta_ica.tools import FEW_ROWS, INFERENCES, X


@pytest.fixture(scope="session", params=INFERENCES)
def model(request):
    return BetaICA(3, inference=request.param, gamma=0.8, n_init=3, random_state=0).fit(X)


@pytest.fixture(scope="session")
def bayes():
    return BetaICA(3, gamma=0.8, n_init=3, random_state=0).fit(X)


@pytest.fixture(scope="session", params=INFERENCES)
def with_dead(request):
    return BetaICA(6, inference=request.param, gamma=0.3, n_init=2, random_state=0).fit(FEW_ROWS)
