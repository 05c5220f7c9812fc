"""A methods paragraph says what was done, for every estimator, and no more."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import latentbits as lb
from latentbits import methods_text, simulate
from latentbits.findings.methods import _MODELS
from latentbits.models.registry import MODELS
from tests.contracts.registry import CONTRACTS


@pytest.fixture(scope="module")
def cells():
    return simulate.aspect_bernoulli(60, 12, 2, white_phantom=True, random_state=0).X


def test_what_how_from_which_seed_and_whom_to_cite(cells):
    model = lb.AspectBernoulli(2, n_init=3, random_state=7).fit(cells)
    text = methods_text(model)
    assert "To 60 rows and 12 columns we fitted an aspect Bernoulli model" in text
    assert "one of 2 components" in text
    assert "best of 3 restarts (seed 7)" in text
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


def test_smoothing_is_that_of_the_fit(cells):
    model = lb.PLSA(2, n_init=1, random_state=0).fit(cells).set_params(smoothing=3)
    assert "by maximum likelihood with a smoothing of 0.7." in methods_text(model)


@pytest.mark.parametrize("contract", CONTRACTS, ids=repr)
@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_every_estimator_has_a_paragraph(contract):
    model = contract.make_with(tol=1e-2).fit(contract.simulate(40, 0).X)
    text = methods_text(model)
    assert not re.search(r"[{}]|None|nan", text), text
    assert type(model).__name__ in text


@pytest.fixture(scope="module")
def numbers():
    return simulate.binary_factors(60, 6, 2, noise=0.2, random_state=0).X


def test_clusters_that_were_found_are_told(numbers):
    model = lb.ICAMixture(3, 2, n_init=2, tol=1e-3, random_state=0).fit(numbers)
    text = methods_text(model)
    assert text.startswith("To 60 rows and 6 columns we fitted a variational mixture")
    assert "begins with 3 clusters of at most 2 sources each and removes those that aren't needed" in text
    assert f"It ended with {model.n_clusters_} cluster" in text
    assert "Chan, Lee and Sejnowski" in text


@pytest.mark.parametrize(("inference", "words"), [("auto", "their number by BIC"), ("em", "by maximum likelihood.")])
def test_factors_that_were_found_are_told(numbers, inference, words):
    model = lb.BinaryFactorAnalysis(2, inference=inference, n_init=1, random_state=0).fit(numbers)
    text = methods_text(model)
    assert words in text
    assert f"It ended with {model.n_components_} factor" in text
    assert "There was one restart (seed 0)." in text


@pytest.mark.parametrize("n_folds", [2, None])
def test_an_ensemble_cites_its_members(cells, n_folds):
    model = lb.FalseZeros(n_folds=n_folds, members=["aspects_2", "ising"], random_state=0).fit(cells)
    text = methods_text(model)
    assert text.startswith("To 60 rows and 12 columns we fitted an ensemble of 2 models (")
    first = max(zip(model.member_weights_, model.members_, strict=True))
    assert (f"({first[1]} {first[0]:.2f}" if n_folds else "(aspects_2, ising)") in text
    assert ("weighted equally" in text) == (n_folds is None)
    assert [line.partition(",")[0] for line in text.splitlines()[1:]] == ["- Wolpert", "- Bingham", "- Besag"]


@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_what_was_known_of_the_rows_is_told(cells):
    rows = {"height": np.linspace(0, 1, 60), "lon": np.arange(60) / 60, "lat": np.arange(60) % 7}
    facts = lb.RowFacts.of(rows, coordinates=("lon", "lat"))
    model = lb.ProbitFactors(1, n_init=1, n_samples=20, n_burn=20, random_state=0).fit(cells, rows=facts)
    assert "known of the rows: covariate height; coordinates lon, lat." in methods_text(model)
    assert "known of the rows" not in methods_text(lb.IsingModel().fit(cells))


def test_a_model_that_was_chosen_says_among_how_many(cells):
    found = lb.choose(cells, components=[2], n_folds=2, random_state=0)
    said = dict(found.note.arguments)
    assert methods_text(found) == methods_text(found.model, choice=said)
    told = "chosen among 4 models by held-out cells: the "
    assert f"{told}one that predicts them best" in methods_text(found.model, choice=said | {"is_best": True})
    simplest = methods_text(found.model, choice=said | {"is_best": False})
    assert f"{told}simplest within one standard error of the one that predicts them best." in simplest
    assert "chosen among" not in methods_text(found.model)


@pytest.mark.filterwarnings("ignore:n_components is not given")
def test_segments_and_visits_are_counted():
    series = simulate.binary_ica(50, 6, 2, 6, random_state=0)
    histories = simulate.repeated_surveys(40, 8, 3, random_state=0).histories
    sources = methods_text(lb.BinaryICA(n_init=1, random_state=0).fit(series.X, segments=series.segments))
    assert sources.startswith("To 300 rows and 6 columns")
    assert "2 sources, whose variances differ between 6 segments" in sources
    visits = methods_text(lb.RepeatedSurvey(lb.AspectBernoulli(2, n_init=1, random_state=3)).fit(histories))
    assert visits.startswith("To 40 sites with up to 3 visits and 8 species")
    assert "by an aspect Bernoulli model" in visits
    assert "(seed 3)" in visits
    assert "Bingham" in visits.splitlines()[-1]


def test_how_the_number_was_chosen_is_told(cells):
    """And the seed is the one that was given, not those that were drawn from it."""
    criteria = ["cells", "aic"]
    found = lb.select_order(lb.AspectBernoulli(n_init=2), cells, [2], criterion=criteria, n_folds=2, random_state=5)
    text = methods_text(found)
    chosen = f"chosen from 1 and 2 by held-out cells in 2 parts (seed 5): {found.best_order}"
    assert chosen in text
    assert "The best of 2 restarts was kept" in text
    assert str(found.best_model.random_state) not in text
    own = lb.select_order(lb.AspectBernoulli(n_init=2, random_state=7), cells, [2], criterion="aic", random_state=5)
    assert "chosen from 1 and 2 by AIC (seed 5)" in methods_text(own)
    assert "restarts (seed 7)" in methods_text(own)


def test_no_model_was_chosen():
    X = (np.random.default_rng(0).random((200, 4)) < 0.5).astype(int)
    found = lb.select_order(lb.BinaryICA(n_init=1), X, [1], segments=2, n_folds=2, random_state=0)
    assert found.best_order == 0
    with pytest.raises(lb.DataError, match="no source was chosen"):
        methods_text(found)


def test_every_recorded_model_has_a_description_and_no_other():
    assert set(_MODELS) == set(MODELS)


def test_a_class_of_the_users_own_is_named_with_what_it_is_derived_from(cells):
    class Mine(lb.BernoulliMixture):
        pass

    text = methods_text(Mine(2, n_init=1, random_state=0).fit(cells))
    assert "we fitted Mine, derived from BernoulliMixture, with 2 components." in text
    assert "Lazarsfeld" in text


@pytest.mark.parametrize("kind", [lb.AspectBernoulli, lb.BetaICA, lb.LogisticPCA, lb.BernoulliMixture])
def test_the_fit_is_described_not_the_parameters_of_later(cells, kind):
    model = kind(3, n_init=2, random_state=0).fit(cells)
    before = methods_text(model)
    model.set_params(n_components=9, n_init=7)
    assert methods_text(model) == before
    assert "3 components" in before


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        methods_text(lb.BetaICA())
