"""Every contract is tried on every estimator of registry.py, or on those that have what its mark `needs` says."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.contracts.registry import CONTRACTS


def pytest_generate_tests(metafunc):
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "contract" in metafunc.fixturenames and "contract" not in own:
        needed = {mark.args[0] for mark in metafunc.definition.iter_markers("needs")}
        metafunc.parametrize("contract", [_tried(c) for c in CONTRACTS if needed <= c.abilities], ids=repr)


def _tried(contract):
    """Contracts are tried with short chains, and chains that are too short for some of the data say so."""
    sampled = "thin" in contract.make().get_params()
    marks = [pytest.mark.filterwarnings("ignore:the chains disagree")] if sampled else []
    return pytest.param(contract, marks=marks)


@pytest.fixture
def truth(contract):
    return contract.simulate(60, 0)


@pytest.fixture
def with_gaps(truth):
    """The same data as floats, a tenth of the cells missing."""
    X = truth.X.astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


@pytest.fixture
def ignore_convergence():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
