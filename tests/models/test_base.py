"""What the base classes ask of their subclasses."""

from __future__ import annotations

import pickle

import pytest
from sklearn.base import clone

from latentbits import NMF, AspectBernoulli, LogisticPCA
from latentbits.models.adapted.estimator import _Adapted
from latentbits.models.aspect.base import AspectModel
from latentbits.models.aspect.variational import VariationalEM, _BetaSources
from latentbits.models.factor_model import ClimbingFactorModel, FactorModel, RestartedFactorModel


@pytest.mark.parametrize(
    ("base", "complete"),
    [
        (FactorModel, AspectBernoulli),
        (RestartedFactorModel, AspectBernoulli),
        (ClimbingFactorModel, LogisticPCA),
        (AspectModel, AspectBernoulli),
        (_Adapted, NMF),
        (_BetaSources, VariationalEM),
    ],
    ids=lambda kind: kind.__name__,
)
def test_a_subclass_that_lacks_a_method_cannot_be_made(base, complete):
    assert base.__abstractmethods__
    assert not complete.__abstractmethods__
    for missing in sorted(base.__abstractmethods__):
        namespace = {name: getattr(complete, name) for name in base.__abstractmethods__ - {missing}}
        with pytest.raises(TypeError, match=rf"abstract method '?{missing}"):
            type("Incomplete", (base,), namespace)()


@pytest.mark.parametrize("model", [AspectBernoulli(2, n_init=1, random_state=0), NMF(2, random_state=0)])
def test_models_are_cloned_and_pickled(model):
    fitted = clone(model).fit([[0, 1, 1], [1, 0, 0], [1, 1, 0]])
    again = pickle.loads(pickle.dumps(fitted))
    assert again.get_params() == model.get_params()
    assert (again.weights_ == fitted.weights_).all()
