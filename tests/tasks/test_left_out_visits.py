"""Each visit is left out in turn, and what it saw compared with what the others predict."""

import numpy as np
import pytest

from latentbits import (
    AspectBernoulli,
    DataError,
    IndependentBernoulli,
    RepeatedSurvey,
    RowFacts,
    analyse,
    load_model,
    save_model,
    simulate,
    verdict,
)
from latentbits.models import detection
from latentbits.tasks.left_out_visits import leave_out_visits


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    for name, value in {"N_BURN": 200, "N_KEPT": 40, "THIN": 3}.items():
        monkeypatch.setattr(detection, name, value)


def test_left_out_visits_come_true():
    survey = simulate.repeated_surveys(120, 20, 3, rate=0.4, random_state=1)
    model = RepeatedSurvey(AspectBernoulli(3, n_init=2, random_state=0), random_state=0)
    found = leave_out_visits(model, survey.histories)
    table = found.table
    never = np.stack([np.delete(survey.histories, v, axis=1).max(axis=1) == 0 for v in range(3)], axis=1)
    assert table["cells"].tolist() == never.sum(axis=(0, 2)).tolist()
    assert table["seen"].tolist() == (survey.histories * never).sum(axis=(0, 2)).tolist()
    assert table["predicted"].sum() == pytest.approx(table["seen"].sum(), rel=0.2)
    assert found.verdict.predicts
    assert found.verdict.z > 2
    assert not any("unlike" in sentence for sentence in found.verdict.sentences)
    assert found.calibration["count"].sum() == table["cells"].sum()
    assert not hasattr(model, "draws_")


def without_structure() -> np.ndarray:
    """Each species is anywhere with its own frequency."""
    rng = np.random.default_rng(0)
    there = rng.random((120, 15)) < np.linspace(0.1, 0.8, 15)
    return (there[:, None] & (rng.random((120, 3, 15)) < 0.5)).astype(float)


@pytest.mark.parametrize("share", [0, 0.25])
@pytest.mark.parametrize("estimator", [IndependentBernoulli(), AspectBernoulli(1), AspectBernoulli(3, n_init=2)])
def test_a_model_of_frequencies_is_not_better_than_frequencies(estimator, share):
    """Nor where some visits were not made, so that the others say more of some sites than of others."""
    seen = without_structure()
    seen[np.random.default_rng(1).random((120, 3)) < share] = np.nan
    found = leave_out_visits(RepeatedSurvey(estimator, random_state=0), seen, random_state=0)
    gain = found.table["auc"] - found.table["auc_of_frequencies"]
    assert gain.abs().max() < 0.1
    assert found.table["calibration_error"].max() < 0.06
    verdict = found.verdict
    assert not verdict.predicts
    assert verdict.over_columns.own_gain <= 2 * verdict.over_columns.own_gain_se  # 0 where it is the baseline itself


def test_a_visit_in_another_season_is_told():
    """On the last visit other species are there, which no estimate from the others can know."""
    rng = np.random.default_rng(0)
    there = rng.random((120, 15)) < 0.3
    later = rng.random((120, 15)) < 0.3
    seen = rng.random((120, 4, 15)) < 0.7
    histories = seen & np.stack([there, there, there, later], axis=1)
    found = leave_out_visits(RepeatedSurvey(IndependentBernoulli(), random_state=0), histories.astype(int))
    told = [sentence for sentence in found.verdict.sentences if "unlike" in sentence]
    assert any("Visit 4" in sentence and "other species were there" in sentence for sentence in told)


def test_the_same_seed_gives_the_same_verdict():
    histories = simulate.repeated_surveys(60, 8, 3, rate=0.4, random_state=0).histories
    model = RepeatedSurvey(AspectBernoulli(2, n_init=1))
    first, second, other = (verdict(model, histories, random_state=seed, n_jobs=1).to_dict() for seed in (1, 1, 2))
    assert first == second != other
    assert model.random_state is None


@pytest.mark.parametrize(
    "given", [{"groups": [0] * 60}, {"blocks": 5}, {"segments": 3}, {"n_folds": 3}], ids=lambda given: next(iter(given))
)
def test_what_does_not_apply_is_refused(given):
    histories = simulate.repeated_surveys(60, 8, 3, rate=0.4, random_state=0).histories
    (name,) = given
    words = f"{name} is about cells or rows that are held out; here whole visits are, so leave it out"
    with pytest.raises(DataError, match=words):
        verdict(RepeatedSurvey(IndependentBernoulli()), histories, **given)
    if name in ("groups", "blocks"):
        with pytest.raises(DataError, match=words):
            analyse(RepeatedSurvey(IndependentBernoulli()), histories, **given)


def test_effort_is_of_repeat_visits():
    X, effort = np.eye(6, dtype=int), np.ones((6, 3))
    words = "effort is about repeat visits, of which AspectBernoulli is no model; leave it out"
    for ask in (verdict, analyse):
        with pytest.raises(DataError, match=words):
            ask(AspectBernoulli(2), X, effort=effort)


def test_refits_get_what_the_model_was_fitted_with(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    histories = simulate.repeated_surveys(60, 8, 3, rate=0.4, random_state=0).histories
    effort, hour, weight = rng.uniform(1, 5, (60, 3)), rng.normal(12, 3, (60, 3)), rng.integers(1, 3, 60)
    model = RepeatedSurvey(IndependentBernoulli(), random_state=0)
    rows = RowFacts.of({"height": rng.normal(size=60)})
    model.fit(histories, sample_weight=weight, rows=rows, effort=effort, visit_facts={"hour": hour})
    save_model(model, tmp_path / "model.npz")
    fits, fit = [], RepeatedSurvey.fit

    def kept(self, part, **given):
        fits.append((part, given))
        return fit(self, part, **given)

    monkeypatch.setattr(RepeatedSurvey, "fit", kept)
    for ask in (lambda: verdict(model, histories), lambda: verdict(load_model(tmp_path / "model.npz"), histories)):
        fits.clear()
        assert ask().n_folds == 3
        assert len(fits) == 6  # the model and the frequencies, without each visit
        part, given = fits[0]
        assert part.facts is not None
        assert np.ptp(given["effort"] / effort[:, 1:]) < 1e-9
        (of_visits,) = given["visit_facts"].values()
        assert np.corrcoef(of_visits.ravel(), hour[:, 1:].ravel())[0, 1] == pytest.approx(1)
        assert given["sample_weight"].tolist() == weight.tolist()
    with pytest.raises(DataError, match="fitted with effort or facts of other visits; give those of these visits"):
        verdict(model, histories[::-1])
    with pytest.raises(DataError, match=r"effort has the shape \(60, 2\); give a number for each site and visit"):
        verdict(model, histories, effort=effort[:, 1:])


def test_two_visits_are_too_few_unless_detection_is_known():
    histories = simulate.repeated_surveys(60, 8, 2, random_state=0).histories
    found = leave_out_visits(RepeatedSurvey(IndependentBernoulli(), random_state=0), histories)
    assert found.verdict.predicts is None
    assert "with two visits, leaving one out leaves nothing that tells detection" in found.verdict.sentences[0]
    found = leave_out_visits(RepeatedSurvey(IndependentBernoulli(), rate=0.4, random_state=0), histories)
    assert len(found.table) == 2
