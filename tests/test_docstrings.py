"""Docstrings of the public names: complete by numpydoc's rules, and in agreement with signatures and fitted models."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pandas as pd
import pytest
from _pytest.doctest import DoctestModule
from matplotlib.figure import Figure
from numpydoc.docscrape import ClassDoc, FunctionDoc, Parameter
from numpydoc.validate import validate

import latentbits
from conftest import pytest_collection_modifyitems
from latentbits import (
    AspectBernoulli,
    BinaryFactorAnalysis,
    BinaryICA,
    ICAMixture,
    LogisticPCA,
    RepeatedSurvey,
    simulate,
)
from latentbits.models.base import Model
from latentbits.report import Report
from latentbits.tasks.verdict import Verdict
from tests.contracts.registry import CONTRACTS
from tests.public_names import Public, function_of, named, public

CHECKS = {
    "GL08": "there is a docstring",
    "SS03": "its summary ends with a full stop",
    "PR01": "all parameters are documented",
    "PR02": "no others are",
    "PR03": "in the order of the signature",
    "PR04": "with a type",
    "PR05": "which doesn't end with a full stop",
    "PR07": "and a description",
    "PR08": "that starts with a capital",
    "PR09": "and ends with a full stop",
    "PR10": "with spaces around the colon",
    "RT01": "what is returned is documented",
    "RT03": "with a description",
    "RT04": "that starts with a capital",
    "RT05": "and ends with a full stop",
    "YD01": "what is yielded is documented",
    "EX01": "there is an example on each page of the reference, not for each method",
}

EXCEPTIONS = {
    (f"latentbits.datasets.{name}", "EX01"): "made from a file that the user must have; the loader's docstring shows it"
    for name in latentbits.datasets.__all__
    if name[0].isupper() and name != "BinaryImages"
}
"""(public name, check) -> why it can't hold. An exception that isn't needed is an error."""


def is_record(target: Any) -> bool:
    """Named tuples and data classes: users read their fields, and don't make them."""
    return inspect.isclass(target) and (dataclasses.is_dataclass(target) or hasattr(target, "_fields"))


def failures(entry: Public) -> list[str]:
    """The checks that an object fails, each with its message."""
    failed = [f"{code}: {text}" for code, text in numpydoc_failures(entry) if (entry.name, code) not in EXCEPTIONS]
    return [*failed, *_disagreements(entry), *_missing_fields(entry)]


def numpydoc_failures(entry: Public) -> list[tuple[str, str]]:
    """Codes and messages; a record has its fields in Attributes, which `_missing_fields` looks at."""
    skipped = {"EX01": entry.is_method, "PR01": is_record(entry.target)}
    found = validate(entry.name)["errors"]
    return [(code, message) for code, message in found if code in CHECKS and not skipped.get(code)]


# ---- docstrings and signatures ---------------------------------------------------------------------------------------


def _documented(target: Any) -> dict[str, Parameter]:
    doc = ClassDoc(target) if inspect.isclass(target) else FunctionDoc(function_of(target))
    entries = {}
    for entry in doc["Parameters"]:
        for name in entry.name.split(", "):
            entries[name.lstrip("*")] = entry
    return entries


def _disagreements(entry: Public) -> Iterator[str]:
    """Defaults and choices of which the docstring says something else than the signature."""
    callee = entry.target.__init__ if inspect.isclass(entry.target) else function_of(entry.target)
    if is_record(entry.target) or not inspect.isfunction(callee):  # an exception's constructor is Python's own
        return
    hints = _hints(callee)
    documented = _documented(entry.target)
    for name, parameter in inspect.signature(callee).parameters.items():
        if name not in documented:
            continue
        text = documented[name].type
        if not _says_default(text, parameter.default):
            yield f'the default of {name} is {parameter.default!r}, but its type is documented as "{text}"'
        choices = _choices(hints.get(name))
        if choices and set(re.findall(r'"([^"]*)"', text)) != choices:
            yield f'{name} is one of {sorted(choices)}, but its type is documented as "{text}"'


def _hints(callee: Callable[..., Any]) -> dict[str, Any]:
    """Annotations as objects; some modules import pandas, Figure and others for type checkers only."""
    late = {"pd": pd, "Figure": Figure, "BinaryData": latentbits.BinaryData, "Histories": latentbits.Histories}
    late |= {"Model": Model, "Report": Report, "Verdict": Verdict}
    return typing.get_type_hints(callee, {**late, **callee.__globals__})


def _says_default(text: str, default: object) -> bool:
    written = re.search(r"default=(.*)$", text)
    if default is inspect.Parameter.empty:
        return written is None and "optional" not in text
    if default is None and text.endswith("optional"):
        return True
    return written is not None and ast.literal_eval(written.group(1)) == default


def _choices(hint: Any) -> set[str]:
    """The values of a Literal, also inside of a union."""
    if get_origin(hint) is Literal:
        return {value for value in get_args(hint) if isinstance(value, str)}
    return set().union(*(_choices(part) for part in get_args(hint)))


def _attributes(kind: type) -> dict[str, Parameter]:
    """The entries of a class docstring's section Attributes."""
    return {entry.name: entry for entry in ClassDoc(kind, config={"show_class_members": False})["Attributes"]}


def _missing_fields(entry: Public) -> Iterator[str]:
    """Fields of a record without an entry in Attributes, or an entry without type or description."""
    if not is_record(entry.target):
        return
    kind = entry.target
    fields = kind._fields if hasattr(kind, "_fields") else [field.name for field in dataclasses.fields(kind)]
    documented = _attributes(kind)
    yield from (f"the field {name} is not in Attributes" for name in fields if name not in documented)
    yield from (f"{name} has no type or no description" for name, part in documented.items() if not _complete(part))


def _complete(entry: Parameter) -> bool:
    return bool(entry.type) and bool("".join(entry.desc).strip())


def _text(entry: Public) -> str:
    return function_of(entry.target).__doc__ or ""


PUBLIC_MODULES = {"latentbits"} | {
    f"latentbits.{name}" for name in latentbits.__all__ if inspect.ismodule(getattr(latentbits, name))
}


# ---- the tests -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", public())
def test_the_docstring_is_complete_and_true(home):
    found = failures(public()[home])
    assert not found, "\n".join(found)


def test_the_list_of_exceptions_holds_what_is_needed_only():
    reached = {entry.name: entry for entry in public().values()}
    for name, code in EXCEPTIONS:
        assert code in [found for found, _ in numpydoc_failures(reached[name])], name


def test_every_public_name_is_checked_and_inherited_methods_once():
    homes = [f"{target.__module__}.{target.__qualname__}" for _, target in named()]
    assert set(homes) <= set(public())
    inherited = {f"{kind.__module__}.{kind.__qualname__}.transform" for kind in (AspectBernoulli, LogisticPCA)}
    assert not inherited & set(public())
    assert f"{AspectBernoulli.transform.__module__}.{AspectBernoulli.transform.__qualname__}" in public()


@pytest.mark.parametrize("home", [home for home, entry in public().items() if ">>>" in _text(entry)])
def test_examples_import_what_users_import(home):
    """That they run alone is seen to where they are run (conftest.py)."""
    modules = set(re.findall(r"(?:from|import) (latentbits[\w.]*)", _text(public()[home])))
    assert modules <= PUBLIC_MODULES, modules - PUBLIC_MODULES


def test_examples_are_run_without_the_globals_of_their_module(request):
    items = [*DoctestModule.from_parent(request.session, path=Path(latentbits.metrics.__file__)).collect()]
    pytest_collection_modifyitems(items)
    by_name = {item.dtest.name: set(item.dtest.globs) for item in items}
    assert by_name["latentbits.metrics.denoising_auc"] == {"__name__"}


def test_the_test_notices_wrong_docstrings():
    def wrong(size: int = 3, shape: Literal["round", "square"] = "round") -> None:
        """Summary.

        Parameters
        ----------
        size : int, default=4
            Something.
        shape : {"round", "oval"}, default="round"
            Something.
        """

    messages = list(_disagreements(Public("", "", wrong)))
    assert [message.partition(" is ")[0] for message in messages] == ["the default of size", "shape"]


def _fitted() -> Iterator[tuple[str, Any]]:
    """How to fit every public estimator, by each kind of inference."""
    for contract in CONTRACTS:
        model = contract.make_with(tol=1e-3)
        yield repr(contract), lambda contract=contract, model=model: model.fit(contract.simulate(60, 0).X)
    numbers = simulate.binary_factors(60, 6, 2, noise=0.2, random_state=0).X
    for inference in ("byy", "vb", "em"):
        factors = BinaryFactorAnalysis(2, inference=inference, n_init=1, random_state=0)
        yield f"BinaryFactorAnalysis-{inference}", lambda factors=factors: factors.fit(numbers)
    yield "ICAMixture", lambda: ICAMixture(2, n_init=1, tol=1e-3, random_state=0).fit(numbers)
    truth = simulate.binary_ica(50, 6, 2, 6, random_state=0)
    histories = simulate.repeated_surveys(40, 8, 3, random_state=0).histories
    yield "RepeatedSurvey", lambda: RepeatedSurvey(AspectBernoulli(2, n_init=1, random_state=0)).fit(histories)
    yield "BinaryICA", lambda: BinaryICA(2, n_init=1, random_state=0).fit(truth.X, segments=truth.segments)


@pytest.mark.filterwarnings("ignore:the chains disagree")
@pytest.mark.parametrize("fit", [pytest.param(fit, id=name) for name, fit in _fitted()])
def test_fitted_attributes_are_documented(fit):
    """Attributes lists what a fitted model has, each with type and description, and nothing else."""
    model = fit()
    kind = type(model)
    properties = {name for name, value in inspect.getmembers(kind) if isinstance(value, property)}
    found = {name for name in {*vars(model), *properties} if re.fullmatch(r"[A-Za-z].*_", name)}
    documented = _attributes(kind)
    assert set(documented) == found | {"feature_names_in_"}  # which needs data with names
    assert [name for name, entry in documented.items() if not _complete(entry)] == []


def test_all_estimators_are_fitted():
    named = {name.partition("-")[0] for name, _ in _fitted()}
    estimators = {name for name in latentbits.__all__ if hasattr(getattr(latentbits, name), "fit")}
    assert named == estimators
