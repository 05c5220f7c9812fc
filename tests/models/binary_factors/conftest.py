"""Fitted models that the tests of this folder share; none of them changes one."""

import pytest

from tests.models.binary_factors.tools import INFERENCES, fitted


@pytest.fixture(scope="session", params=INFERENCES)
def model(request):
    return fitted(request.param)
