"""What the base classes ask of their subclasses."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from latentbits import NMF, AspectBernoulli, BinaryFactorAnalysis, ICAMixture, LogisticPCA
from latentbits.errors import DataError
from latentbits.models.adapted import _Adapted
from latentbits.models.aspect.aspect_model import AspectModel
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


@pytest.mark.parametrize("model", [BinaryFactorAnalysis(1, n_init=1), ICAMixture(1, 1, n_init=1)])
@pytest.mark.parametrize(
    ("names", "message"),
    [(["a", "a"], 'the column name "a" appears 2 times'), (["a", ""], "column 2 has an empty name")],
)
def test_columns_of_numbers_have_names_all_different(model, names, message):
    with pytest.raises(DataError, match=message):
        clone(model).fit(pd.DataFrame(np.eye(4, 2), columns=names))
