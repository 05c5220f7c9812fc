"""What the records say that models can do is what the fitted models can do, in both directions."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from latentbits import BetaICA, IndependentBernoulli, RepeatedSurvey, simulate
from latentbits.models.abilities import PROTOCOLS, Ability, abilities_of, members_of
from latentbits.models.cell_model import CellModel
from latentbits.models.factor_model import ClimbingFactorModel, FactorModel
from latentbits.models.registry import MODELS

QUICK = {"n_init": 1, "random_state": 0, "max_iter": 3, "n_burn": 2, "n_samples": 4, "thin": 1, "n_components": 2}
QUICK |= {"n_folds": 2, "n_clusters": 1, "n_sources": 1}
OWN = {"false-zeros": {"members": ["aspects_2"]}, "binary-ica": {"method": "mle"}, "binary-factors": {"max_iter": 50}}
SPECS = pytest.mark.parametrize("spec", MODELS.values(), ids=lambda spec: spec.name)


def _fitted(spec):
    kind = spec.load()
    known = kind().get_params()
    model = kind(**{name: value for name, value in QUICK.items() if name in known} | OWN.get(spec.name, {}))
    if spec.data == "numbers":
        return model.fit(np.random.default_rng(0).normal(size=(40, 4)))
    X = simulate.aspect_bernoulli(40, 8, 2, random_state=0).X
    if spec.data == "visits":
        return kind(IndependentBernoulli(), random_state=0).fit(np.stack([X[:20], X[20:]], axis=1))
    return model.fit(X, segments=np.arange(40) // 20) if spec.data == "segments" else model.fit(X)


def _satisfied(model):
    """The abilities whose every method and attribute the model has."""
    return {ability for ability in Ability if all(hasattr(model, name) for name in members_of(ability))}


@SPECS
@pytest.mark.filterwarnings("ignore")
def test_declared_is_what_a_fitted_model_can_do(spec):
    assert _satisfied(_fitted(spec)) == spec.abilities


@SPECS
def test_a_subclass_can_do_what_its_base_can(spec):
    kind = spec.load()
    assert abilities_of(kind) == abilities_of(kind()) == abilities_of(type("Own", (kind,), {})) == spec.abilities


def test_parameters_can_exclude_an_ability():
    assert abilities_of(BetaICA(inference="vb")) == abilities_of(BetaICA)
    assert abilities_of(BetaICA) - abilities_of(BetaICA(inference="em")) == {Ability.EVIDENCE}


def test_a_class_on_the_base_classes_can_do_what_these_can():
    assert Ability.ROW_WEIGHTS in abilities_of(type("Own", (FactorModel,), {}))
    assert Ability.RESTARTS in abilities_of(type("Own", (ClimbingFactorModel,), {}))
    assert Ability.PREDICT_HELD_OUT in abilities_of(type("Own", (CellModel,), {}))
    assert Ability.RESTARTS not in abilities_of(type("Own", (FactorModel,), {}))


def test_another_estimator_can_do_what_it_has_the_methods_for():
    found = abilities_of(GaussianMixture(2))
    assert {Ability.SCORE_ROWS, Ability.SAMPLE, Ability.INFORMATION_CRITERIA} <= found
    assert Ability.PREDICT_CELLS not in found


def test_repeat_visits():
    assert abilities_of(RepeatedSurvey()) == {Ability.VISITS}


def test_every_ability_has_a_protocol_with_members():
    assert set(PROTOCOLS) == set(Ability)
    assert all(members_of(ability) for ability in Ability)


def test_asking_needs_the_standard_library_alone():
    code = "import sys, latentbits.models.abilities; sys.exit(bool({'numpy', 'sklearn', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
