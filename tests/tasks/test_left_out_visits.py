"""Each visit is left out in turn, and what it saw compared with what the others predict."""

import numpy as np
import pytest

from latentbits import AspectBernoulli, IndependentBernoulli, RepeatedSurvey, simulate
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


def test_a_model_of_frequencies_is_not_better_than_frequencies():
    rng = np.random.default_rng(0)
    there = rng.random((120, 15)) < np.linspace(0.1, 0.8, 15)
    seen = (there[:, None] & (rng.random((120, 3, 15)) < 0.5)).astype(int)
    found = leave_out_visits(RepeatedSurvey(IndependentBernoulli(), random_state=0), seen)
    gain = found.table["auc"] - found.table["auc_of_frequencies"]
    assert gain.abs().max() < 0.1
    assert found.table["calibration_error"].max() < 0.06


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


def test_two_visits_are_too_few_unless_detection_is_known():
    histories = simulate.repeated_surveys(60, 8, 2, random_state=0).histories
    found = leave_out_visits(RepeatedSurvey(IndependentBernoulli(), random_state=0), histories)
    assert found.verdict.predicts is None
    assert "with two visits, leaving one out leaves nothing that tells detection" in found.verdict.sentences[0]
    found = leave_out_visits(RepeatedSurvey(IndependentBernoulli(), rate=0.4, random_state=0), histories)
    assert len(found.table) == 2
