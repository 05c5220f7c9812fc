"""What a fitted model holds: stated once in its record, and compared with what a file claims.

A schema is a mapping of the names of fitted attributes to what they are. Sizes are letters, which mean the same number
wherever they occur in one model: `"components_": Array("K", "D", low=0, high=1)`. Checks raise ValueError with a clause
that names the attribute. As `latentbits.constraints`, this imports nothing but the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

LARGEST = 1e100
"""Numbers beyond this overflow in products; no fit comes near."""

_SUM_ROUNDING = 1e-6
_NAMES = "names of columns"  # among the sizes
_SCALARS = {"bool": "b", "int": "iu", "float": "f"}


class Kind(Protocol):
    """What an attribute may be."""

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """Refuse another value; sizes that are met for the first time are added."""


Schema = Mapping[str, Kind]


def _expect(right: bool, name: str, what: str) -> None:
    if not right:
        raise ValueError(f"{name} is not {what}")


def _bind(name: str, sizes: dict[str, Any], letter: str | int | tuple[str, ...], found: int) -> None:
    """A size that is met again must be the same."""
    if isinstance(letter, str):
        known = sizes.setdefault(letter, found)
    else:
        known = letter if isinstance(letter, int) else sum(sizes.get(part, 0) for part in letter)
    if known != found:
        raise ValueError(f"{name} has the size {found} where {known} fits to the rest")


class Array:
    """An array of numbers or bool of this dtype, in [low, high].

    Parameters
    ----------
    *shape : str, int, tuple or None
        Letters; None is any size, a tuple the sum of sizes that are bound before.
    dtype : str
        NumPy's name of it.
    low, high : float
        Bounds; `high` may be the letter of a size. Not a number is outside, unless `nan`; infinity as well, unless it
        is a bound.
    total : float, optional
        What the last axis sums to.
    some : bool
        Whether at least one number isn't 0.
    optional : bool
        Whether it may be None, or absent.
    """

    def __init__(
        self,
        *shape: str | int | tuple[str, ...] | None,
        dtype: str = "float64",
        low: float = -LARGEST,
        high: float | str = LARGEST,
        total: float | None = None,
        some: bool = False,
        optional: bool = False,
        nan: bool = False,
    ) -> None:
        self.shape, self.dtype, self.low, self.high = shape, dtype, low, high
        self.total, self.some, self.optional, self.nan = total, some, optional, nan

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        if value is None and self.optional:
            return
        _expect(type(value).__name__ == "ndarray", name, "an array")
        _expect(str(value.dtype) == self.dtype, name, f"of {self.dtype}")
        _expect(value.ndim == len(self.shape), name, f"of {len(self.shape)} dimensions")
        for letter, found in zip(self.shape, value.shape, strict=True):
            if letter is not None:
                _bind(name, sizes, letter, found)
        if not value.size or self.dtype == "bool":
            return
        numbers = value[value == value] if self.nan else value
        high = sizes[self.high] if isinstance(self.high, str) else self.high
        # Not a number makes both comparisons false.
        inside = not numbers.size or (float(numbers.min()) >= self.low and float(numbers.max()) <= high)
        _expect(bool(inside), name, f"between {self.low:g} and {high:g}")
        _expect(not self.some or bool(value.any()), name, "above 0 anywhere")
        if self.total is not None:
            off = abs(value.sum(axis=-1) - self.total).max()
            _expect(bool(off <= _SUM_ROUNDING * max(self.total, 1.0)), name, f"in sum {self.total:g}")


@dataclass(frozen=True)
class Value:
    """A single bool, int, float or str; numbers in [low, high]; `size` is the letter of a size that it says.

    A str is one of `words`, if they are given.
    """

    type: type
    low: float = -LARGEST
    high: float = LARGEST
    optional: bool = False
    size: str | None = None
    words: tuple[str, ...] = ()

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        if value is None and self.optional:
            return
        word = self.type.__name__
        kinds = _SCALARS.get(word, "")
        of_numpy = getattr(value, "shape", None) == () and type(value).__name__ != "ndarray"
        _expect(type(value) is self.type or (of_numpy and value.dtype.kind in kinds), name, f"a single {word}")
        if self.type in (int, float):
            _expect(bool(self.low <= value <= self.high), name, f"between {self.low:g} and {self.high:g}")
        if self.words:
            _expect(value in self.words, name, f"one of {', '.join(self.words)}")
        if self.size is not None:
            _bind(name, sizes, self.size, int(value))


@dataclass(frozen=True)
class Texts:
    """An array of texts: if `words` are given, of these; with `names`, none empty and no two alike."""

    size: str
    words: tuple[str, ...] = ()
    optional: bool = False
    names: bool = False

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        if value is None and self.optional:
            return
        _expect(type(value).__name__ == "ndarray" and value.ndim == 1, name, "an array of texts")
        _expect(value.dtype.kind in "OU", name, "an array of texts")  # of objects a file holds texts only
        _bind(name, sizes, self.size, len(value))
        texts = value.tolist()
        _expect(all(type(text) is str for text in texts), name, "an array of texts")
        if self.words:
            _expect(set(texts) <= set(self.words), name, f"of the words {', '.join(self.words)}")
        if self.names:
            _expect(all(texts) and len(set(texts)) == len(texts), name, "a name for each, all different")
            sizes[_NAMES] = texts
            "".join(texts).encode()  # half a surrogate pair is refused here, as it can't be written


@dataclass(frozen=True)
class Labels:
    """An array of different names: texts or numbers."""

    size: str
    optional: bool = field(default=False, init=False)

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        _expect(type(value).__name__ == "ndarray" and value.ndim == 1, name, "an array of names")
        _expect(value.dtype.kind in "OUiufb", name, "an array of names")
        _bind(name, sizes, self.size, len(value))
        found = value.tolist()
        _expect(len(set(found)) == len(found) and all(item == item for item in found), name, "of different names")


class Frame:
    """A data frame: its number of rows (a letter, or None) and what its columns are."""

    def __init__(self, rows: str | None, *, optional: bool = False, **columns: Array | Texts | Labels) -> None:
        self.rows, self.optional, self.columns = rows, optional, columns

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        if value is None and self.optional:
            return
        _expect(type(value).__name__ == "DataFrame", name, "a table")
        _expect(set(value.columns) <= set(self.columns), name, f"a table of {', '.join(self.columns)}")
        needed = {column for column, kind in self.columns.items() if not kind.optional}
        _expect(needed <= set(value.columns), name, f"a table of {', '.join(self.columns)}")
        if self.rows is not None:
            _bind(name, sizes, self.rows, len(value))
        if len(value):  # columns without a row have no type
            for column in value.columns:
                own = {"n": len(value)}
                self.columns[column].check(f"{name}.{column}", value[column].to_numpy(), own)


@dataclass(frozen=True)
class Items:
    """A list or tuple: of so many (a letter, or None) of one kind, or of these kinds in turn.

    `own` are the sizes that each item has for itself.
    """

    kind: Any
    size: str | None = None
    own: str = ""

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        _expect(type(value) in (list, tuple), name, "a list")
        if self.size is not None:
            _bind(name, sizes, self.size, len(value))
        kinds = self.kind if isinstance(self.kind, tuple) else (self.kind,) * len(value)
        _expect(len(kinds) == len(value), name, f"{len(kinds)} items")
        for kind, item in zip(kinds, value, strict=True):
            shared = {letter: size for letter, size in sizes.items() if letter not in self.own} if self.own else sizes
            kind.check(name, item, shared)


class Named:
    """A named tuple, and what its parts are."""

    def __init__(self, type_name: str, *, optional: bool = False, **parts: Any) -> None:
        self.type_name, self.optional, self.parts = type_name, optional, parts

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        if value is None and self.optional:
            return
        _expect(type(value).__name__ == self.type_name, name, f"a {self.type_name}")
        for part, kind in self.parts.items():
            kind.check(f"{name}.{part}", getattr(value, part), sizes)


@dataclass(frozen=True)
class Entries:
    """A dict: what its entries are by key (all of them there, or `some`), or of which kind all are.

    `size` is their number.
    """

    kinds: Any
    size: str | None = None
    optional: bool = False
    some: bool = False

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        if value is None and self.optional:
            return
        _expect(type(value) is dict, name, "a mapping")
        kinds = self.kinds if isinstance(self.kinds, dict) else dict.fromkeys(value, self.kinds)
        complete = bool(value) if self.some else kinds.keys() <= value.keys()
        _expect(kinds.keys() >= value.keys() and complete, name, f"a mapping of {', '.join(kinds)}")
        if self.size is not None:
            _bind(name, sizes, self.size, len(value))
        for key, part in value.items():
            kinds[key].check(f"{name}.{key}", part, sizes)


@dataclass(frozen=True)
class Member:
    """A fitted model of this class (or one of these) and the same columns; its own schema has been checked by then."""

    class_name: str | tuple[str, ...]
    optional: bool = False

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        if value is None and self.optional:
            return
        known = (self.class_name,) if isinstance(self.class_name, str) else self.class_name
        _expect(type(value).__name__ in known, name, f"a fitted {' or '.join(known)}")
        _bind(name, sizes, "D", value.n_features_in_)
        names = getattr(value, "feature_names_in_", None)
        _expect((None if names is None else names.tolist()) == sizes.get(_NAMES), name, "a model of the same columns")


@dataclass(frozen=True)
class Plain:
    """None, bool, numbers, text, and lists and dicts of these: whoever uses it looks closer. It may be absent."""

    optional: bool = True
    depth: int = 6

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        _expect(self._is_plain(value, self.depth), name, "plain data")

    def _is_plain(self, value: Any, depth: int) -> bool:
        if type(value) in (list, tuple, dict):
            parts = value.values() if type(value) is dict else value
            return depth > 0 and all(self._is_plain(part, depth - 1) for part in parts)
        return value is None or isinstance(value, bool | int | float | str)


@dataclass(frozen=True)
class Same:
    """An array that another attribute holds as well, or a part of it."""

    attribute: str
    part: str | None = None
    optional: bool = field(default=False, init=False)

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """Nothing by itself; see `check_fitted`."""

    def check_same(self, name: str, value: Any, fitted: Mapping[str, Any]) -> None:
        """Refuse a value that isn't the other one."""
        other = fitted[self.attribute] if self.part is None else getattr(fitted[self.attribute], self.part)
        same = type(value) is type(other) and value.shape == other.shape and bool((value == other).all())
        _expect(same, name, f"the same as {self.attribute}")


def check_fitted(
    schema: Schema, fitted: Mapping[str, Any], sizes: Mapping[str, int] | None = None, added: Collection[str] = ()
) -> None:
    """Refuse fitted attributes that aren't what a schema says.

    Parameters
    ----------
    schema : mapping of str to kind
        As in `ModelSpec.fitted`; sizes are bound in its order.
    fitted : mapping of str to value
        The attributes.
    sizes : mapping of str to int, optional
        Sizes that are known before.
    added : collection of str, optional
        Attributes that may be absent.

    Raises
    ------
    ValueError
        With a clause that names the attribute.

    Examples
    --------
    >>> check_fitted({"n_iter_": Value(int, low=1)}, {"n_iter_": 0})
    Traceback (most recent call last):
    ...
    ValueError: n_iter_ is not between 1 and 1e+100
    """
    for name in fitted:
        _expect(name in schema, f'"{name[:60]}"', "the name of a fitted attribute")
    bound: dict[str, Any] = dict(sizes or {})
    for name, kind in schema.items():
        if name in fitted:
            kind.check(name, fitted[name], bound)
        else:
            _expect(name in added or getattr(kind, "optional", False), name, "there")
    for name, kind in schema.items():
        if isinstance(kind, Same):
            kind.check_same(name, fitted[name], fitted)


# ---- what many models share --------------------------------------------------------------------------------

_COUNT = 2**53
_INT = "int64"

PARAMETER_TYPES: dict[str, tuple[type, ...]] = {
    "random_state": (Integral,),
    "n_jobs": (Integral,),
    "verbose": (int, bool),
    "binarize": (int, float),
    "warm_start": (int, bool),
    "row_effects": (bool,),
    "checkpoint": (),
    "members": (list, tuple, str),
}
"""Types of the parameters that have no range in a record; all may be None."""

NUMBER_COLUMNS: dict[str, Any] = {
    "n_features_in_": Value(int, low=1, high=_COUNT, size="D"),
    "feature_names_in_": Texts("D", optional=True, names=True),
    "_sklearn_output_config": Entries({"transform": Value(str, words=("default", "pandas", "polars"))}, optional=True),
}
"""What every model knows of its columns."""

COLUMNS: dict[str, Any] = {**NUMBER_COLUMNS, "reading_": Plain()}
"""The same of models of 0-1 data."""

RESTARTED: dict[str, Any] = {
    "objective_": Value(float),
    "objective_history_": Array(None),
    "n_iter_": Value(int, low=0, high=_COUNT),
    "converged_": Value(bool),
    "restarts_": Frame(
        "R",
        seed=Array("n", dtype=_INT, low=0, high=_COUNT),
        objective=Array("n"),
        n_iter=Array("n", dtype=_INT, low=0, high=_COUNT),
        converged=Array("n", dtype="bool"),
    ),
    "restart_histories_": Items(Array(None), "R"),
}
"""What is kept of restarts."""

FACTOR_MODEL: dict[str, Any] = {
    "row_weight_": Array("N", low=0, high=1e9, some=True),
    "weights_": Array("N", "K"),
    "weights_gap_": Value(float, optional=True),
    "data_checksum_": Value(str, optional=True),
}
"""What is kept of rows; models narrow the range of their weights."""


def sampled(*more: str) -> dict[str, Any]:
    """What is kept of chains beside the samples; `more` are quantities by column for which agreement is measured.

    Where chains don't meet at all, R-hat is infinite.
    """
    shapes = {"cells": ("C",), "components": ("K", "D"), **dict.fromkeys(more, ("D",))}
    r_hat: dict[str, Any] = {name: Array(*shape, low=0, high=math.inf) for name, shape in shapes.items()}
    ess: dict[str, Any] = {name: Array(*shape, low=0) for name, shape in shapes.items()}
    return {
        "chain": Array("S", dtype=_INT, low=0, high=_COUNT),
        "log_likelihood": Array("S"),
        "cells": Array("S", "C", dtype="float32", low=0, high=1),
        "r_hat": Entries({**r_hat, "log_likelihood": Value(float, low=0, high=math.inf)}, optional=True),
        "ess": Entries({**ess, "log_likelihood": Array(low=0)}, optional=True),
    }


ROW_FACTS = Entries(
    {
        "numbers": Entries(Array("N", nan=True)),
        "categories": Entries(Texts("N")),
        "coordinates": Array("N", 2, optional=True),
        "coordinate_names": Items(Value(str)),
        "effort": Array("N", low=0, optional=True),
        "effort_name": Value(str, optional=True),
    },
    optional=True,
)
"""Covariates, coordinates and effort of the training rows."""

CELL_MODEL: dict[str, Any] = {"data_checksum_": Value(str), "n_rows_": Value(int, low=0, high=_COUNT)}
"""What models without weights know of the rows."""
