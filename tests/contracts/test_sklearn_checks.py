"""scikit-learn's own estimator checks."""

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tests.contracts.registry import CONTRACTS, STRICT

QUICK = {"n_init": 1, "max_iter": 60, "n_components": 2}

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:the rows vary in"),  # few rows of few columns, in which FastICA finds few
]


def _with_defaults(contract):
    """Default parameters; of chains two, because ten of them would take minutes."""
    chains = {"n_init": 2} if contract.variant.get("inference") == "gibbs" else {}
    return type(contract.make())(binarize=0.5, **contract.variant, **chains)


def excused(estimator):
    """The checks that this estimator fails, with the reason: found by its class and its variant."""
    matching = [
        contract
        for contract in CONTRACTS
        if type(contract.make()) is type(estimator) and contract.variant.items() <= estimator.get_params().items()
    ]
    return max(matching, key=lambda contract: len(contract.variant)).excused


@parametrize_with_checks(
    [_with_defaults(contract) for contract in CONTRACTS],
    expected_failed_checks=excused,
)
def test_all_checks_pass_with_default_parameters_when_values_are_binarised(estimator, check):
    check(estimator)


@pytest.mark.parametrize("contract", CONTRACTS, ids=repr)
def test_a_strict_model_fails_only_the_checks_that_feed_other_values(contract):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(contract.make_with(**QUICK), on_skip=None, on_fail=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    assert failed <= contract.not_binary, f"failed, but isn't listed as one that {STRICT}"
    assert not (passed - failed) & contract.not_binary, f"passed, but is listed as one that {STRICT}"
    for r in results:
        if r["status"] == "failed":
            assert _is_refusal(r["exception"]), f"{r['check_name']} fails for another reason: {r['exception']!r}"


def _is_refusal(error):
    """Whether the refusal of a value is the error, its cause, or what it was raised in place of."""
    while error is not None:
        if "neither 0 nor 1" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
