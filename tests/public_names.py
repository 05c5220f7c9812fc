"""The names that users reach, and those of what they are given: what the reference documents."""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import latentbits

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "api.rst"


class Public(NamedTuple):
    """A public object: the name by which users reach it, where it is defined, the object, and what kind of name."""

    name: str
    home: str
    target: Any
    is_method: bool = False
    is_returned: bool = False


def named() -> Iterator[tuple[str, Any]]:
    """The names of the library, and of its public modules."""
    for name in latentbits.__all__:
        target = getattr(latentbits, name)
        if inspect.ismodule(target):
            yield from ((f"latentbits.{name}.{inner}", getattr(target, inner)) for inner in target.__all__)
        elif callable(target):
            yield f"latentbits.{name}", target


def returned() -> Iterator[tuple[str, Any]]:
    """Classes that users are given and don't make, as the reference lists them."""
    listed = REFERENCE.read_text(encoding="utf-8").partition("What these return")[2]
    for module, name in re.findall(r"^   ([\w.]+)\.([A-Z]\w+)$", listed, re.MULTILINE):
        yield f"latentbits.{module}.{name}", getattr(importlib.import_module(f"latentbits.{module}"), name)


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the library defines, also in base classes."""
    for name in dir(kind):
        if name.startswith("_") or not hasattr(kind, name):
            continue
        target = inspect.getattr_static(kind, name)
        if isinstance(target, property | classmethod | staticmethod | types.FunctionType) or hasattr(target, "fn"):
            yield name, target


def function_of(target: Any) -> Any:
    """The plain function inside a property, a method, or scikit-learn's available_if."""
    for inside in ("fget", "__func__", "fn"):
        target = getattr(target, inside, target)
    return inspect.unwrap(target) if callable(target) else target


@cache
def public() -> dict[str, Public]:
    """Every public object once, by where it is defined: inherited methods belong to their base class."""
    found: dict[str, Public] = {}
    for is_returned, names in ((False, named()), (True, returned())):
        for name, target in names:
            members = [(name, target, False)]
            if inspect.isclass(target):
                members += [(f"{name}.{method}", inner, True) for method, inner in _methods(target)]
            for reached, inner, is_method in members:
                function = function_of(inner)
                home = f"{function.__module__}.{function.__qualname__}"
                if function.__module__.startswith("latentbits"):
                    found.setdefault(home, Public(reached, home, inner, is_method, is_returned))
    return found
