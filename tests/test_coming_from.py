"""Every call on our side of docs/coming-from.md runs, in the order of its table."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import latentbits as lb
from tests.reference.coming_from import PAGE

SECTIONS = {
    part.partition("\n")[0]: part
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    if "latentbits |" in part
}
QUICK = {
    "FalseZeros": {"members": ("aspects_4", "rows_and_columns"), "random_state": 0},
    "ProbitFactors": {"n_samples": 20, "n_burn": 20, "random_state": 0},
    "BetaICA": {"n_init": 2, "random_state": 0},
    "LogisticPCA": {"ridge": 1.0, "n_init": 1, "random_state": 0},
    "RepeatedSurvey": {"estimator": lb.RowColumnBernoulli(), "random_state": 0},
}
"""Short fits of the slow ones: what is tested is that the call exists."""


class _Quick:
    """latentbits, slow estimators with settings for short fits."""

    def __getattr__(self, name):
        found = getattr(lb, name)
        if name not in QUICK:
            return found
        return lambda *given, **settings: found(*given, **QUICK[name] | settings)


def _calls(section):
    for line in SECTIONS[section].splitlines():
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) > 1:
            yield from re.findall(r"`([^`]+)`", cells[1])


def _world(tmp_path):
    rng = np.random.default_rng(0)
    truth = lb.simulate.aspect_bernoulli(60, 8, 2, random_state=1)
    X = pd.DataFrame(truth.X, columns=[f"item {j + 1}" for j in range(8)])
    sites = pd.DataFrame(
        {
            "elevation": rng.normal(size=60),
            "habitat": rng.choice(["wood", "field"], 60),
            "minutes": rng.integers(5, 60, 60),
            **{name: rng.random(60) for name in ("x", "y", "lon", "lat")},
        }
    )
    gaps = X.astype(float)
    gaps.iloc[0, 0] = np.nan
    (tmp_path / "counts.csv").write_text("site,Equus,Sus\nPikermi,1,0\nSamos,3,1\n")
    histories = (rng.random((40, 3, 4)) < 0.4).astype(float)
    return SimpleNamespace(
        X=X, sites=sites, new=sites, facts=lb.RowFacts.of(sites), X_with_missing=gaps, path=tmp_path / "counts.csv",
        histories=histories, R=np.eye(3), W=np.full((60, 5), 0.2), block=truth.X, epochs=truth.X.reshape(6, 10, 8),
    )  # fmt: skip


@pytest.mark.parametrize("section", SECTIONS)
def test_every_call_of_a_table_runs(section, tmp_path):
    names = {"lb": _Quick(), **vars(_world(tmp_path))}
    calls = [call for call in _calls(section) if "..." not in call]
    assert calls
    for call in calls:
        if re.fullmatch(r"\w+=\S.*", call):  # a parameter of the call above it
            assert f"{call.partition('=')[0]}" in PAGE.read_text(encoding="utf-8")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = eval(call, names)
        assert value is not None, call
        if isinstance(value, Figure):
            continue
        if hasattr(value, "loadings"):
            names["solution"] = value
        elif hasattr(value, "fit") and hasattr(value, "n_features_in_"):
            names["model"] = value.set_params(n_init=1) if "n_init" in value.get_params() else value


def test_what_is_left_out_has_a_test_of_its_own():
    """Calls with ... are forms, shown in full on other pages that tests run."""
    forms = {call for section in SECTIONS for call in _calls(section) if "..." in call}
    assert forms == {"lb.compare([...], X)", "lb.read_histories(path, site=..., visit=..., species=...)"}
