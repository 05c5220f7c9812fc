"""Schemas of fitted models: every model has one that its fits keep, and each kind refuses what it should."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits.models.registry import MODELS
from latentbits.models.schema import (
    Array,
    Entries,
    Frame,
    Items,
    Labels,
    Member,
    Named,
    Plain,
    Same,
    Texts,
    Value,
    check_fitted,
)
from latentbits.models.spec import resolve
from tests.stored_models.make import VARIANTS
from tests.stored_models.make import fitted as fit_variant

fitted = cache(fit_variant)
NAN, INF = float("nan"), float("inf")
Line = resolve("latentbits.fitting.held_out:Line")


@pytest.mark.parametrize("name", VARIANTS)
def test_a_fit_is_what_its_record_says_and_nothing_else(name: str) -> None:
    model, _ = fitted(name)
    spec, parameters = MODELS[VARIANTS[name][0]], model.get_params(deep=False)
    attributes = {key: value for key, value in vars(model).items() if key not in parameters}
    spec.check_fitted(parameters, attributes)
    for missing in attributes.keys() - set(spec.added):
        if not getattr(spec.fitted[missing], "optional", False):
            with pytest.raises(ValueError, match=f"{missing} is not there"):
                spec.check_fitted(parameters, {key: attributes[key] for key in attributes if key != missing})
    with pytest.raises(ValueError, match='"more_" is not the name of a fitted attribute'):
        spec.check_fitted(parameters, {**attributes, "more_": 1})

    arrays = [key for key, value in attributes.items() if isinstance(value, np.ndarray) and value.size]
    assert arrays
    for key in arrays:
        wrong = [attributes[key][None], attributes[key].astype("S")]
        if attributes[key].dtype.kind == "f" and key != "segments_":
            wrong.append(np.full_like(attributes[key], np.nan))
        for value in wrong:
            with pytest.raises(ValueError, match=f"^{key} "):
                spec.check_fitted(parameters, {**attributes, key: value})


class Model:
    """As much of a model as `Member` looks at."""

    n_features_in_ = 3


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Array("K", "D"), [np.ones((2, 3))], [np.ones((2, 2)), np.ones(3), 1.0, None, np.ones((2, 3), np.float32)]),
        (Array(None, low=0, high=1), [np.zeros(0), np.ones(4)], [np.array([x]) for x in (NAN, INF, -0.1, 1.1)]),
        (Array(None, low=0, high=INF), [np.array([INF])], [np.array([NAN])]),
        (Array(None, nan=True), [np.array([NAN]), np.array([NAN, 1.0])], [np.array([INF])]),
        (Array(None, total=1), [np.array([0.25, 0.75])], [np.array([0.25, 0.7])]),
        (Array(None, high="D"), [np.array([3.0])], [np.array([3.1])]),
        (Array(None, some=True), [np.array([0.0, 1.0])], [np.zeros(2)]),
        (Array("D", dtype="int64", optional=True), [None, np.arange(3)], [np.arange(4), np.ones(3)]),
        (Value(int, low=1, size="D"), [3, np.int64(3)], [2, 0, 3.0, True, "3", None, np.array(3)]),
        (Value(float, low=0, optional=True), [0.5, np.float64(2), None], [-0.5, NAN, INF, 1e200, 1, "x"]),
        (Value(bool), [True, np.bool_(False)], [0, None, "x"]),
        (Value(str), ["x", ""], [1, None, np.array("x")]),
        (Value(str, words=("a", "b")), ["a"], ["c", ""]),
        (Texts("D", ("a", "b")), [np.array(["a", "b", "a"])], [np.array(["a", "b"]), np.array(["a", "b", "c"]), "aba"]),
        (Texts("D", names=True), [np.array(list("abc"), object)], [np.array(list("aba")), np.array(["a", "b", ""])]),
        (Labels("D"), [np.arange(3), np.array(list("abc"))], [np.array([1, 1, 2]), np.array([1, 2, NAN]), [1, 2, 3]]),
        (
            Frame("D", x=Array("n"), word=Texts("n", optional=True)),
            [pd.DataFrame({"x": [1.0, 2.0, 3.0]}), pd.DataFrame({"x": [1.0] * 3, "word": list("abc")})],
            [pd.DataFrame({"x": [1.0]}), pd.DataFrame({"y": [1.0] * 3}), pd.DataFrame({"x": [1, 2, 3]}), None],
        ),
        (Items(Value(int), "D"), [[1, 2, 3], (1, 2, 3)], [[1, 2], [1, 2, "x"], "abc"]),
        (Items((Value(int), Value(str))), [(1, "a")], [("a", 1), (1,), (1, "a", 2)]),
        (
            Named("Line", intercept=Value(float), slope=Value(float, low=0)),
            [Line(0.0, 1.0)],
            [Line(0.0, -1.0), Line(0, 1.0), (0.0, 1.0), None],
        ),
        (Entries({"a": Value(int)}, optional=True), [{"a": 1}, None], [{}, {"a": "x"}, {"a": 1, "b": 1}, [1]]),
        (Entries(Value(int), "D"), [{"a": 1, "b": 2, "c": 3}], [{"a": 1}, {"a": 1, "b": 2, "c": "x"}]),
        (Entries({"a": Value(int), "b": Value(int)}, some=True), [{"a": 1}, {"b": 2, "a": 1}], [{}, {"c": 1}]),
        (Member("Model", optional=True), [Model(), None], [1, {}, Value(int)]),
        (Plain(), [None, {"a": [1, "x", {"b": 2.5}]}], [np.ones(2), object(), [[[[[[[1]]]]]]]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_kinds(kind: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        kind.check("x_", value, {"D": 3})
    for value in bad:
        with pytest.raises(ValueError, match=r"^x_"):
            kind.check("x_", value, {"D": 3})


def test_a_size_is_the_same_everywhere_and_two_arrays_that_are_one_are_equal() -> None:
    schema = {"a_": Array("K", "D"), "b_": Array("K"), "c_": Same("b_")}
    b = np.ones(2)
    check_fitted(schema, {"a_": np.ones((2, 3)), "b_": b, "c_": b})
    with pytest.raises(ValueError, match="b_ has the size 3 where 2 fits to the rest"):
        check_fitted(schema, {"a_": np.ones((2, 3)), "b_": np.ones(3), "c_": np.ones(3)})
    with pytest.raises(ValueError, match="c_ is not the same as b_"):
        check_fitted(schema, {"a_": np.ones((2, 3)), "b_": b, "c_": np.zeros(2)})


@pytest.mark.parametrize(
    ("name", "attribute", "change", "message"),
    [
        ("plsa", "components_", np.zeros_like, "components_ is not between 1e-11 and 1"),
        ("plsa", "components_", lambda H: H / 2, "components_ is not in sum 1"),
        ("row-column", "components_", np.ones_like, "components_ is not between 1e-15 and 1"),
        ("binary-factors", "feature_names_in_", lambda names: names[[0, *range(len(names) - 1)]], "all different"),
        ("ica-mixture", "feature_names_in_", lambda names: names[[0, *range(len(names) - 1)]], "all different"),
        ("false-zeros", "members_", lambda m: {"a": m["ising"]}, "is not a mapping of"),
        ("false-zeros", "members_", lambda _: {}, "is not a mapping of"),
        ("false-zeros", "members_", lambda m: {**m, "aspects_2": m["ising"]}, "is not a fitted AspectBernoulli"),
        ("plsa", "_sklearn_output_config", lambda _: {"transform": "x"}, "is not one of default, pandas, polars"),
    ],
)
def test_what_answers_would_stumble_over_is_refused(name: str, attribute: str, change: Any, message: str) -> None:
    model, _ = fitted(name)
    parameters = model.get_params(deep=False)
    attributes = {key: value for key, value in vars(model).items() if key not in parameters}
    if attribute == "feature_names_in_":
        attributes[attribute] = np.array([f"x{j}" for j in range(model.n_features_in_)], dtype=object)
    MODELS[name].check_fitted(parameters, attributes)
    with pytest.raises(ValueError, match=message):
        MODELS[name].check_fitted(parameters, {**attributes, attribute: change(attributes.get(attribute))})
