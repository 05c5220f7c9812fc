"""RepeatedSurvey: probabilities that come true on simulated surveys, and the conventions of every estimator."""

import pickle
import re
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from latentbits import (
    AspectBernoulli,
    DataError,
    FalseZeros,
    Histories,
    IndependentBernoulli,
    ModelFileError,
    RepeatedSurvey,
    RowFacts,
    load_model,
    save_model,
    simulate,
)
from latentbits.metrics import expected_calibration_error
from latentbits.models.registry import MODELS
from tests.shared_data import FOLDER, needs_data

RATE = 0.3
SITES = RowFacts.of({"elevation": np.arange(150.0), "x": np.arange(150.0), "y": np.ones(150)}, coordinates=("x", "y"))


def small(**parameters):
    return RepeatedSurvey(AspectBernoulli(3, n_init=2, random_state=0), **{"random_state": 0, **parameters})


@pytest.fixture(scope="module")
def truth():
    return simulate.repeated_surveys(150, 24, 4, rate=RATE, unmade=0.25, random_state=11)


@pytest.fixture(scope="module")
def survey(truth):
    return Histories.of(truth.histories)


@pytest.fixture(scope="module")
def model(survey):
    """Fitted to three of the four visits."""
    return small().fit(survey.visits([0, 1, 2]))


# ---- what it says comes true -----------------------------------------------------------------------------------------


def test_detection_comes_back(truth, model):
    """On both scales: of individuals, which the simulation gives, and of species where they are."""
    assert model.species_["rate"].median() == pytest.approx(RATE, abs=0.04)
    assert model.abundance_share_ > 0.9
    seen, made = np.nansum(truth.histories, axis=(0, 1)), ~np.isnan(truth.histories[:, :, 0])
    true = seen / np.maximum((truth.presence * made.sum(axis=1)[:, None]).sum(axis=0), 1)
    common = truth.presence.sum(axis=0) > 40
    table = model.species_[common]
    inside = (table["detection_lower"] <= true[common]) & (true[common] <= table["detection_upper"])
    assert inside.mean() > 0.7


def test_probabilities_come_true(truth, survey, model):
    """Of cells that three visits missed: presence, which a simulation knows, and the fourth visit."""
    never = (model.survey_.detections == 0) & (model.survey_.n_visits > 0)
    fourth = survey.cells[:, 3]
    made = never & (fourth >= 0)
    present, later = model.predict_proba(), model.predict_proba(later_visits=1)
    assert expected_calibration_error(truth.presence[never], present[never]) < 0.04
    assert expected_calibration_error(fourth[made], later[made]) < 0.015
    # Without detection, what was probable to be seen is far off as a probability of the next visit.
    ever = model.estimator_.reconstruct(model.survey_.ever_seen())
    assert expected_calibration_error(fourth[made], ever[made]) > 0.08


def test_rows_with_few_and_many_visits_come_true_alike(truth, survey, model):
    fourth, later, present = survey.cells[:, 3], model.predict_proba(later_visits=1), model.predict_proba()
    for n in (1, 2, 3):
        cells = (model.survey_.n_visits == n) & (model.survey_.detections == 0) & (fourth >= 0)
        assert later[cells].mean() == pytest.approx((fourth[cells] == 1).mean(), abs=0.02)
        assert present[cells].mean() == pytest.approx(truth.presence[cells].mean(), abs=0.04)


def test_later_visits_of_species_that_were_seen(truth, survey, model):
    """Against what an observer who knew every individual would say: a single visit is off by .02 by chance alone."""
    later = model.predict_proba(later_visits=1)
    again = (model.survey_.detections > 0) & (survey.cells[:, 3] >= 0)
    known = 1 - (1 - RATE) ** truth.abundance
    assert later[again].mean() == pytest.approx(known[again].mean(), abs=0.03)


def test_totals_come_true_whatever_is_alike():
    """Hidden presences, all species being as easy to see as each other, or very different: right on average."""
    hidden, said = 0, 0
    for seed, detection in ((0, np.full(20, 0.4)), (1, np.random.default_rng(0).beta(2, 2, 20))):
        rng = np.random.default_rng(seed)
        habitats = rng.dirichlet(np.full(3, 0.5), 150)
        there = rng.random((150, 20)) < -np.expm1(-habitats @ rng.gamma(0.4, 1.6, (3, 20)))
        seen = there[:, None] & (rng.random((150, 3, 20)) < detection)
        model = small().fit(seen.astype(int))
        total = model.total()
        assert model.abundance_share_ < 0.1
        hidden, said = hidden + there.sum() - total["seen"], said + total["estimated"] - total["seen"]
        inside = (model.sites_["lower"] <= there.sum(axis=1)) & (there.sum(axis=1) <= model.sites_["upper"])
        assert inside.mean() > 0.85
    assert said == pytest.approx(hidden, rel=0.15)


def test_effort_is_learned():
    rng = np.random.default_rng(3)
    there = simulate.repeated_surveys(150, 20, 1, random_state=3).presence
    effort = np.exp(rng.uniform(-0.8, 0.8, (150, 3)))
    seen = there[:, None] & (rng.random((150, 3, 20)) < 1 - 0.6 ** effort[:, :, None])
    model = small().fit(seen.astype(int), effort=effort)
    assert model.effort_ == pytest.approx(1, abs=0.3)
    assert small().fit(seen.astype(int)).effort_ is None
    with pytest.raises(DataError, match=r"^effort must be a number above 0 for each visit that was made; correct the"):
        small().fit(seen.astype(int), effort=0 * effort)
    with pytest.raises(DataError, match=r"^effort has the shape \(3,\); give a number for each site and visit"):
        small().fit(seen.astype(int), effort=effort[0])


def test_what_is_known_of_detection(survey):
    """On either scale, and it is converted; both can't be given, and nothing is seen for certain."""
    part = survey.rows(slice(0, 50))
    of_individuals, of_species = small(rate=0.3).fit(part), small(detection=0.6).fit(part)
    assert of_individuals.species_["rate"].tolist() == pytest.approx([0.3] * 24)
    assert (of_individuals.species_["detection"] > 0.3).all()
    assert of_species.species_["detection"].tolist() == pytest.approx([0.6] * 24)
    assert (of_species.species_["rate"] < 0.6).all()
    assert of_species.total()["estimated"] < of_individuals.total()["estimated"]
    once = small(rate=0.6).fit(survey.visits([0]).cells[survey.surveyed[:, 0]][:, :1])  # says nothing about the rate
    assert once.predict_proba().min() >= 0
    each = small(detection=np.linspace(0.2, 0.8, 24)).fit(part)
    assert each.species_["detection"].tolist() == pytest.approx(np.linspace(0.2, 0.8, 24).tolist())


def test_an_estimator_of_the_users_own_gets_an_array(survey):
    class Own(BaseEstimator):
        def fit(self, X):
            self.mean_ = np.asarray(X).astype(int).mean(axis=0)
            return self

        def reconstruct(self, X):
            return np.tile(self.mean_, (len(np.asarray(X).astype(int)), 1))

    model = RepeatedSurvey(Own(), random_state=0).fit(survey.rows(survey.surveyed.all(axis=1)))
    assert np.isfinite(model.predict_proba()).all()


# ---- answers ---------------------------------------------------------------------------------------------------------


def test_answers_agree_with_each_other(model):
    present = model.predict_proba()
    assert ((present >= 0) & (present <= 1)).all()
    assert (present[model.survey_.detections > 0] == 1).all()
    later = [model.predict_proba(later_visits=m) for m in (0, 1, 2, 10, 10_000)]
    assert (later[0] == 0).all()
    assert all((more >= less - 1e-9).all() for less, more in pairwise(later))
    never = model.survey_.detections == 0
    assert later[-1][never] == pytest.approx(present[never], abs=1e-6)
    assert later[-1] == pytest.approx(present, abs=1e-6)  # of those seen as well: endless visits see them again


def test_later_visits_by_row_and_cell(model):
    n_rows, n_columns = model.survey_.detections.shape
    visits = np.arange(n_rows) % 3
    by_row = model.predict_proba(later_visits=visits)
    for m in range(3):
        assert np.array_equal(by_row[visits == m], model.predict_proba(later_visits=m)[visits == m])
    assert np.array_equal(model.predict_proba(later_visits=np.repeat(visits[:, None], n_columns, axis=1)), by_row)


def test_intervals_and_totals_agree_with_the_cells(model):
    table = model.suspects(top=None)
    for name in ("present", "seen_next"):
        assert (table[f"{name}_lower"] <= table[name] + 1e-6).all()
        assert (table[name] <= table[f"{name}_upper"] + 1e-6).all()
    present = np.where(model.survey_.n_visits > 0, model.predict_proba(), 0)
    n_draws = len(model.draws_.a)
    told = (model.sites_["estimated"], 1), (model.species_["estimated"], 0), (model.total()["estimated"], None)
    for estimated, axis in told:
        # Means of simulated presences: a draw's variance is at most that of its cells' mean probabilities.
        error = np.sqrt((present * (1 - present)).sum(axis=axis) / n_draws)
        assert (np.abs(estimated - present.sum(axis=axis)) < 5 * error + 5 / n_draws).all()
    assert (model.sites_["seen"] <= model.sites_["lower"]).all()
    enough = np.nanmax(model.sites_["further_visits"].replace(np.inf, np.nan))
    assert 1 <= enough <= 100


def test_new_rows(survey, model):
    new = survey.visits([0, 1, 2]).rows(slice(0, 40))
    assert np.corrcoef(model.predict_proba(new).ravel(), model.predict_proba()[:40].ravel())[0, 1] > 0.98
    more = survey.rows(slice(0, 40))  # with a number of visits that the fit hadn't
    assert np.isfinite(model.predict_proba(more, later_visits=2)).all()


def test_the_order_of_visits_has_no_meaning(survey, model):
    turned = small().fit(survey.visits([2, 0, 1]))
    assert np.array_equal(turned.predict_proba(), model.predict_proba())


def test_suspects(truth, model):
    table = model.suspects(top=50)
    assert list(table)[:5] == ["row", "column", "n_visits", "present", "seen_next"]
    assert len(table) == 50
    assert (table["present"].diff().dropna() <= 0).all()
    at = table["row"].to_numpy(), table["column"].to_numpy()
    assert (model.survey_.detections[at] == 0).all()
    assert (table["n_visits"] == model.survey_.n_visits[at]).all()
    assert table["present"].to_numpy() == pytest.approx(model.predict_proba()[at])
    assert table["seen_next"].to_numpy() == pytest.approx(model.predict_proba(later_visits=1)[at])
    assert truth.presence[at].mean() > 2 * truth.presence[model.survey_.detections == 0].mean()
    everything = model.suspects(top=None)
    assert len(everything) == ((model.survey_.detections == 0) & (model.survey_.n_visits > 0)).sum()


def test_suspects_of_each_row(model):
    table = model.suspects(top=None, per_row=2)
    assert (table.groupby("row").size() <= 2).all()
    first = model.suspects(top=None).groupby("row").head(2).reset_index(drop=True)
    pd.testing.assert_frame_equal(table, first)
    assert len(model.suspects(top=7, per_row=1)) == 7


def test_names():
    survey = simulate.repeated_surveys(30, 4, 3, random_state=0)
    named = Histories.of(survey.histories, row_names=[f"site {i}" for i in range(30)], column_names=list("abcd"))
    model = RepeatedSurvey(IndependentBernoulli()).fit(named)
    assert model.feature_names_in_.tolist() == list("abcd")
    table = model.suspects(top=3)
    assert all(row.startswith("site ") for row in table["row"])
    assert set(table["column"]) <= set("abcd")
    with pytest.raises(DataError, match='is "d" but the model was fitted with "a"'):
        model.predict_proba(Histories.of(named, column_names=list("dcba")))
    model.fit(survey.histories)
    assert not hasattr(model, "feature_names_in_")


# ---- missing visits --------------------------------------------------------------------------------------------------


def test_sites_without_a_visit_and_species_that_were_not_looked_for(survey):
    cells = np.where(survey.cells < 0, np.nan, survey.cells)
    cells[0], cells[1, :, 5], cells[2, 1:] = np.nan, np.nan, np.nan
    model = small().fit(cells)
    present = model.predict_proba()
    assert np.isfinite(present).all()
    assert model.survey_.n_visits[0].max() == 0
    # Nothing is known of the site, so species are present about as often as elsewhere.
    assert 0 < present[0].mean() < 1
    assert (model.predict_proba(later_visits=1)[0] <= present[0]).all()
    assert not (model.suspects(top=None)["row"] == 0).any()


def test_a_visit_in_vain_lowers_what_is_expected(survey):
    """Of the same predictions, more visits without a sighting leave less."""
    cells = np.zeros((40, 4, 3))
    cells[:20, 2:] = np.nan
    cells[::2, 0] = cells[::4, 1] = 1
    model = RepeatedSurvey(IndependentBernoulli()).fit(cells)
    present = model.predict_proba()
    assert present[1, 0] > present[21, 0] > 0


# ---- conventions -----------------------------------------------------------------------------------------------------


def test_clone_and_parameters():
    model = small(rate=0.4)
    copied = clone(model)
    assert copied.rate == 0.4
    assert copied.estimator is not model.estimator
    assert copied.get_params()["estimator__n_components"] == 3
    assert copied.set_params(estimator__n_components=2).estimator.n_components == 2


def test_the_given_estimator_is_not_fitted(survey):
    estimator = AspectBernoulli(2, n_init=1, random_state=0)
    model = RepeatedSurvey(estimator).fit(survey)
    assert not hasattr(estimator, "components_")
    assert model.estimator_.components_.shape == (2, 24)


def test_pickle(model):
    same = pickle.loads(pickle.dumps(model))
    assert np.array_equal(same.predict_proba(later_visits=2), model.predict_proba(later_visits=2))


def test_refitting_is_fitting_anew(survey):
    first = small().fit(survey)
    again = small().fit(survey.rows(slice(0, 50))).fit(survey)
    assert np.array_equal(again.predict_proba(), first.predict_proba())


def test_same_seed_same_answer_on_any_number_of_jobs():
    survey = simulate.repeated_surveys(60, 15, 3, random_state=0).histories
    fits = [RepeatedSurvey(random_state=4, n_jobs=jobs).fit(survey) for jobs in (1, 2)]
    assert isinstance(fits[0].estimator_, FalseZeros)
    assert np.array_equal(fits[0].predict_proba(), fits[1].predict_proba())
    other = RepeatedSurvey(random_state=5).fit(survey)
    assert not np.array_equal(fits[0].predict_proba(), other.predict_proba())


def test_weights_count_as_repeated_rows():
    survey = simulate.repeated_surveys(60, 12, 3, random_state=1).histories
    weight = 1 + np.arange(60) % 2
    model = RepeatedSurvey(IndependentBernoulli(), random_state=0)
    weighted = clone(model).fit(survey, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(survey, weight, axis=0))
    hazards = [fit.draws_.log_h.mean(axis=0) for fit in (weighted, repeated, clone(model).fit(survey))]
    differences = [np.abs(other - hazards[1]).mean() for other in (hazards[0], hazards[2])]
    assert differences[0] < 0.15  # they are sampled


@pytest.mark.parametrize("known", [{}, {"effort": np.arange(1.0, 541.0).reshape(180, 3)[:150]}, {"rows": SITES}])
def test_model_files(tmp_path, survey, known):
    """A file gives the same answers, and remembers the unfitted estimator and what is known of visits and sites."""
    model = small().fit(survey.visits([0, 1, 2]).rows(slice(0, 150)), **known)
    save_model(model, tmp_path / "model.npz")
    same = load_model(tmp_path / "model.npz")
    assert same.get_params().keys() == model.get_params().keys()
    assert not hasattr(same.estimator, "components_")
    assert np.array_equal(same.predict_proba(later_visits=2), model.predict_proba(later_visits=2))
    pd.testing.assert_frame_equal(same.suspects(), model.suspects())
    pd.testing.assert_frame_equal(same.curve(), model.curve())
    assert same.total() == model.total()
    assert (same.survey_.facts is None) == ("rows" not in known)


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("score_", lambda score: score[:, 1:]),
        ("row_weight_", lambda weight: -weight),
        ("_survey", lambda survey: {**survey, "cells": survey["cells"] + 1}),
        ("_survey", lambda survey: {**survey, "cells": survey["cells"][:, :, 1:]}),
        ("_visits", lambda visits: np.ones((1, *visits.shape[1:]))),
        ("_present", lambda cells: cells._replace(mean=cells.mean + 1)),
        ("draws_", lambda draws: draws._replace(g=draws.g[:, 1:])),
        ("draws_", lambda draws: draws._replace(log_h=draws.log_h * np.nan)),
        ("sites_", lambda sites: sites.assign(estimated=-1.0)),
        ("_total", lambda total: {**total, "seen": np.nan}),
        ("estimator_", lambda _: 3),
    ],
)
def test_forged_model_files_are_refused(model, attribute, change):
    parameters = model.get_params(deep=False)
    fitted = {name: value for name, value in vars(model).items() if name not in parameters}
    MODELS["repeated-survey"].check_fitted(parameters, fitted)
    with pytest.raises(ValueError, match=f"^{attribute.replace('_survey', '(_survey|score_|feature)')}|^draws_"):
        MODELS["repeated-survey"].check_fitted(parameters, {**fitted, attribute: change(fitted[attribute])})


def test_an_estimator_of_the_users_own_is_not_stored(tmp_path, survey):
    with pytest.raises(ModelFileError, match=r"^RepeatedSurvey can't be saved: estimator_ is not a fitted"):
        save_model(RepeatedSurvey(Frequencies(), random_state=0).fit(survey), tmp_path / "model.npz")


def test_old_names_work_with_a_warning(model):
    with pytest.warns(FutureWarning, match=r"^RepeatedSurvey.rates_ is now species_\[\"rate\"\]"):
        assert model.rates_.tolist() == model.species_["rate"].tolist()
    with pytest.warns(FutureWarning, match=r"^RepeatedSurvey.rate_ is now the median of"):
        assert model.rate_ == model.species_["rate"].median()


# ---- bad input -------------------------------------------------------------------------------------------------------

ONCE = [[[1, 0]], [[0, 1]], [[0, 0]]]
AGAIN = [[[1, 0], [1, 0]], [[0, 1], [0, 0]], [[0, 0], [0, 0]]]
UNSEEN = np.zeros((3, 2, 2))


class Frequencies(BaseEstimator):
    """The same for all sites."""

    def fit(self, X):
        self.mean_ = np.nanmean(X, axis=0)
        return self

    def reconstruct(self, X):
        return np.tile(self.mean_, (len(X), 1))


class KnowsSites(Frequencies):
    """It keeps what it is told of the sites."""

    def fit(self, X, rows=None):
        self.rows_ = rows
        return super().fit(X)


def test_an_estimator_of_ones_own_gets_what_is_known_of_sites(survey):
    """Whether that comes with the histories or beside them."""
    known = Histories.of(survey).rows(slice(0, 150))
    beside = RepeatedSurvey(KnowsSites(), random_state=0).fit(known, rows=SITES).estimator_.rows_
    within = RepeatedSurvey(KnowsSites(), random_state=0).fit(known.with_facts(SITES)).estimator_.rows_
    for told in (beside, within):
        assert told.numbers["elevation"].tolist() == SITES.numbers["elevation"].tolist()


class Blind(BaseEstimator):
    """Predicts nothing."""

    def fit(self, X):
        return self

    def reconstruct(self, X):
        return np.full(X.shape, np.nan)


@pytest.mark.parametrize(
    ("parameters", "histories", "message"),
    [
        (
            {},
            ONCE,
            "no species was seen at a site with two visits or more, so nothing says how much a visit sees; give",
        ),
        ({}, UNSEEN, "no species was seen at a site with two visits or more"),
        ({}, np.full((2, 2, 2), np.nan), "no visit was made to any site that counts; give histories with a 0 or a 1"),
        ({}, [[0, 1]], "histories have three dimensions"),
        ({}, [[[0, 5]]], "visit 1, row 1, column 2: value 5 is neither 0 nor 1"),
        ({"rate": 0.0}, ONCE, "rate=0.0 must be a number of at least 0.001 and below 1"),
        ({"rate": 1}, ONCE, "rate=1.0 must be a number of at least 0.001 and below 1"),
        ({"detection": 1.0}, ONCE, "detection=1.0 must be a number of at least 0.001 and below 1"),
        ({"detection": 0.5, "rate": 0.5}, ONCE, "detection is of species and rate of individuals; give one of them"),
        ({"rate": [0.5, 0.5, 0.5]}, ONCE, "rate has the shape (3,); give a number, or one for each of the species"),
        ({"estimator": object()}, ONCE, "estimator=object can't fit and reconstruct 0-1 tables; give a model such as"),
        ({"estimator": Blind()}, AGAIN, "Blind.reconstruct gives no probability for some cells; use another estimator"),
    ],
)
def test_fits_that_are_refused(parameters, histories, message):
    with pytest.raises(DataError, match="^" + re.escape(message)):
        RepeatedSurvey(**{"estimator": IndependentBernoulli(), **parameters}).fit(histories)


def test_questions_that_are_refused(model):
    with pytest.raises(
        DataError, match=r"^later_visits has the shape \(3,\); give a number, or one for each of 150 rows$"
    ):
        model.predict_proba(later_visits=[1, 2, 3])
    for bad in (-1, np.nan, np.inf):
        with pytest.raises(
            DataError, match=r"^later_visits must be finite numbers of visits of at least 0; correct the others$"
        ):
            model.predict_proba(later_visits=bad)
    with pytest.raises(DataError, match=r"^top=0 must be a whole number of at least 1, or None$"):
        model.suspects(top=0)
    with pytest.raises(DataError, match=r"^per_row=1\.5 must be a whole number"):
        model.suspects(per_row=1.5)
    with pytest.raises(DataError, match="features"):
        model.predict_proba(np.zeros((2, 3, 4)))
    with pytest.raises(NotFittedError):
        small().predict_proba()


def test_histories_that_do_not_bound_presence_are_warned_of():
    """Never seen again: nothing says how much is there, whether sites are alike or some have all species."""
    cells, apart = np.zeros((60, 2, 4)), np.zeros((60, 2, 4))
    cells[::3, 0] = 1
    for j in range(4):
        apart[j::6, 0, j] = 1
    for unseen in (cells, apart):
        with pytest.warns(UserWarning, match="hardly anything was seen again, so the histories don't bound"):
            model = RepeatedSurvey(IndependentBernoulli(), random_state=0).fit(unseen)
        assert np.isfinite(model.predict_proba(later_visits=1)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RepeatedSurvey(IndependentBernoulli(), detection=0.4, random_state=0).fit(cells)  # it is known
    cells[::3, 1] = 1  # always seen again
    model = RepeatedSurvey(IndependentBernoulli(), random_state=0).fit(cells)
    assert model.total()["estimated"] < 1.05 * model.total()["seen"]


@needs_data("mhb2014.npz")
def test_birds():
    """Swiss birds: what two visits missed, ranked for the third, and its probability."""
    from sklearn.metrics import roc_auc_score

    detections = np.load(FOLDER / "mhb2014.npz")["detections"]  # sites x visits x species, -1: not surveyed
    sites = (detections >= 0).any(axis=2).all(axis=1)
    survey = Histories.of(detections[sites][:, :, (detections[sites, :2] == 1).any(axis=1).sum(axis=0) >= 3])
    model = RepeatedSurvey(AspectBernoulli(8, n_init=3, random_state=0), random_state=0).fit(survey.visits([0, 1]))
    never, third = model.survey_.detections == 0, survey.cells[:, 2]
    later = model.predict_proba(later_visits=1)
    assert roc_auc_score(third[never], later[never]) > 0.8
    assert expected_calibration_error(third[never], later[never]) < 0.02
