"""How a file was read, as a dict of options that JSON can hold: made, and validated when it comes from a file."""

from __future__ import annotations

import inspect
import json
import math
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

__all__ = ["checked_reading", "option_types", "reading_record"]

Reading = dict[str, Any]


def reading_record(read: Callable[..., BinaryData], options: Mapping[str, Any], data: BinaryData) -> Reading:
    """The options by which another file can be read like this one."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(read).parameters.items()}
    record = {name: _plain(value) for name, value in options.items() if value is not None and value != defaults[name]}
    if data.row_label is not None and "long" not in record:  # which says itself where the rows' names are
        record["row_labels"] = data.row_label
    elif type(record.get("row_labels")) is int:
        record["row_labels"] = ""  # the column at that position has no name
    return record


def _plain(value: Any) -> Any:
    """A value as JSON gives it back: tuples and arrays as lists, NumPy's scalars as Python's own."""

    def convert(other: Any) -> Any:
        return other.tolist() if hasattr(other, "tolist") else list(other)

    return json.loads(json.dumps(value, default=convert))


def checked_reading(content: Any) -> Reading | None:
    """A record of reading that came from a file, or None if there is none.

    It is taken as a whole or not at all: half of the options would read other data.

    Examples
    --------
    >>> checked_reading({"threshold": 1, "exclude": ["age"]})
    {'threshold': 1, 'exclude': ['age']}
    >>> checked_reading({"threshold": "1"}) is None
    True
    """
    from latentbits.data.readers import read_table  # late: it uses this module

    hints = option_types(read_table)
    if not isinstance(content, dict) or not content.keys() <= hints.keys():
        return None
    labels = content.get("row_labels", False)
    if labels is not False and not isinstance(labels, str):  # a position would be that of another file
        return None
    return dict(content) if all(_fits(hints[name], value) for name, value in content.items()) else None


def option_types(read: Callable[..., BinaryData]) -> dict[str, Any]:
    """The types of a reader's options by its annotations; what it returns may be known to type checkers only."""
    function = inspect.unwrap(read)
    names = set(inspect.signature(function).parameters) - {"path", "like"}
    annotations = {name: function.__annotations__[name] for name in names}
    return get_type_hints(types.SimpleNamespace(__annotations__=annotations), function.__globals__)


def _fits(hint: Any, value: Any) -> bool:
    """Whether a value of JSON is of the annotated type; None is no value, as an option without one isn't recorded."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(part, value) for part in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if origin is not None:
        parts = [part for part in get_args(hint) if part is not Ellipsis]
        return isinstance(value, list) and all(any(_fits(part, item) for part in parts) for item in value)
    if hint in (int, float):
        return type(value) in (int, hint) and math.isfinite(value)
    return hint in (str, bool) and type(value) is hint
