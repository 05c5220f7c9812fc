"""The models' records agree with the classes that they are about."""

import ast
import inspect
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import latentbits
from latentbits.constraints import Choice, Number
from latentbits.models.abilities import Ability
from latentbits.models.base import Model
from latentbits.models.cell_model import CellModel
from latentbits.models.factor_model import FactorModel
from latentbits.models.registry import MODELS, model_name
from latentbits.models.spec import spec_of
from tests.contracts.registry import CONTRACTS

SPECS = pytest.mark.parametrize("spec", MODELS.values(), ids=lambda spec: spec.name)


@SPECS
def test_parameters_are_those_of_the_constructor(spec):
    kind = spec.load()
    defaults = {name: p.default for name, p in inspect.signature(kind).parameters.items()}
    assert set(spec.parameters) <= set(defaults)
    spec.check(defaults)  # a default must be allowed
    hints = get_type_hints(kind.__init__)
    for name, parameter in spec.parameters.items():
        if isinstance(parameter.allowed, Choice):
            hint, is_optional = _without_none(hints[name])
            assert get_args(hint) == parameter.allowed.values, name
            assert is_optional == parameter.allowed.optional, name
        if isinstance(parameter.allowed, Number):
            assert (type(None) in get_args(hints[name])) == parameter.allowed.optional, name
            assert (int in (hints[name], *get_args(hints[name]))) == parameter.allowed.integer, name


def _without_none(hint):
    """A type hint without its "| None", and whether it has one."""
    types = get_args(hint)
    return (types[0], True) if type(None) in types and len(types) == 2 else (hint, False)


@SPECS
def test_numbers_and_words_have_a_range(spec):
    """A parameter of these kinds that is in no record would go unchecked."""
    hints = get_type_hints(spec.load().__init__)
    unchecked = {"binarize", "verbose", "return"}  # BinaryData checks the first, any value of the second is fine
    for name, hint in hints.items():
        if hint is Any or name in unchecked:
            continue
        if not isinstance(None, hint if isinstance(hint, type) else ()) and hint is not bool:
            assert name in spec.parameters, name


@SPECS
def test_values_outside_the_range_are_refused(spec):
    kind = spec.load()
    rows = [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1]]
    for name, parameter in spec.parameters.items():
        if parameter.allowed is None:
            continue
        bad = "nonsense" if isinstance(parameter.allowed, Choice) else parameter.allowed.least - 1
        with pytest.raises(ValueError, match=f"^{name}="):
            kind(**{name: bad}).fit(rows)


@SPECS
def test_a_subclass_is_checked_like_its_base(spec):
    derived = type("Derived", (spec.load(),), {})
    assert spec_of(derived) is spec
    assert model_name(derived()) is None
    if spec.data == "visits":  # its numbers may be arrays, and are checked where it is known of how many species
        return
    name, parameter = next((n, p) for n, p in spec.parameters.items() if isinstance(p.allowed, Number))
    with pytest.raises(ValueError, match=f"^{name}="):
        derived(**{name: parameter.allowed.least - 1}).fit([[0, 1, 1], [1, 0, 1]])


def test_a_subclass_with_a_constructor_of_its_own_is_checked_too():
    class Pair(latentbits.AspectBernoulli):
        def __init__(self, k):
            super().__init__(k)

    assert len(Pair(2).fit([[0, 1, 1], [1, 0, 1], [1, 1, 0]]).components_) == 2
    with pytest.raises(ValueError, match="n_components=0 must be a whole number"):
        Pair(0).fit([[0, 1], [1, 0]])


@SPECS
def test_tables_are_for_models_of_weights_on_components_or_of_cells(spec):
    assert (spec.data == "table") == bool(spec.abilities & {Ability.ROW_WEIGHTS, Ability.PREDICT_HELD_OUT})
    assert (Ability.ROW_WEIGHTS in spec.abilities) == issubclass(spec.load(), FactorModel)
    assert (Ability.PREDICT_HELD_OUT in spec.abilities) == issubclass(spec.load(), CellModel)
    assert issubclass(spec.load(), Model) or spec.data == "visits"


def test_type_checkers_see_what_can_be_imported():
    """The block for type checkers is written by hand, as they can't run code."""
    tree = ast.parse(Path(latentbits.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name for node in block.body for alias in node.names}
    assert seen | {"__version__"} == set(latentbits.__all__)
    for name in latentbits.__all__:
        assert getattr(latentbits, name) is not None


def test_every_model_of_tables_keeps_the_contracts():
    tried = {type(contract.make()).__name__ for contract in CONTRACTS}
    assert tried == {spec.class_name for spec in MODELS.values() if spec.data == "table"}
