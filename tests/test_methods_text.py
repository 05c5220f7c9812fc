"""A methods paragraph says what was done, for every estimator, and no more."""

import re

import pytest
from sklearn.exceptions import NotFittedError

import latentbits as lb
from latentbits import methods_text, simulate
from latentbits.findings.methods import _MODELS
from tests.contracts.registry import CONTRACTS


@pytest.fixture(scope="module")
def cells():
    return simulate.aspect_bernoulli(60, 12, 2, white_phantom=True, random_state=0).X


def test_what_how_from_which_seed_and_whom_to_cite(cells):
    model = lb.AspectBernoulli(2, n_init=3, random_state=7).fit(cells)
    text = methods_text(model)
    assert "To 60 rows and 12 columns we fitted an aspect Bernoulli model" in text
    assert "one of 2 components" in text
    assert "best of 3 random starts (seed 7)" in text
    assert f"latentbits {lb.__version__}" in text
    assert "Bingham, Kabán and Fortelius" in text.splitlines()[-1]
    assert ("1 white" in text) == ("white" in model.phantoms_)


def test_without_a_seed_it_says_so(cells):
    assert "(no fixed seed)" in methods_text(lb.BernoulliMixture(2, n_init=1).fit(cells))


def test_a_verdict_is_reported_whatever_it_says(cells):
    model = lb.BernoulliMixture(2, n_init=1, random_state=0).fit(cells)
    answer = lb.verdict(model, cells, n_folds=2, random_state=0)
    assert " ".join(answer.sentences) in methods_text(model, verdict=answer)


def test_inference_is_in_words(cells):
    assert "by variational Bayes." in methods_text(lb.BetaICA(2, n_init=1, random_state=0).fit(cells))


@pytest.mark.parametrize("contract", CONTRACTS, ids=repr)
@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_every_estimator_has_a_paragraph(contract):
    model = contract.make_with(tol=1e-2).fit(contract.simulate(40, 0).X)
    text = methods_text(model)
    assert not re.search(r"[{}]|None|nan", text), text
    assert type(model).__name__ in text


@pytest.mark.filterwarnings("ignore:n_components is not given")
def test_models_of_numbers_sources_and_visits():
    numbers = simulate.binary_factors(60, 6, 2, noise=0.2, random_state=0).X
    series = simulate.binary_ica(50, 6, 2, 6, random_state=0)
    histories = simulate.repeated_surveys(40, 8, 3, random_state=0).histories
    fitted = [
        lb.BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(numbers),
        lb.ICAMixture(2, n_init=1, tol=1e-3, random_state=0).fit(numbers),
        lb.BinaryICA(n_init=1, random_state=0).fit(series.X, segments=series.segments),
        lb.RepeatedSurvey(lb.AspectBernoulli(2, n_init=1, random_state=0)).fit(histories),
    ]
    for model in fitted:
        assert not re.search(r"[{}]|None|nan", methods_text(model)), methods_text(model)


def test_every_description_is_of_a_class_that_exists():
    assert set(_MODELS) <= set(lb.__all__)


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        methods_text(lb.BetaICA())
