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
    assert found.level == "clear"
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
