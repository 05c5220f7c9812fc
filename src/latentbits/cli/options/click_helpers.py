"""Small helpers around click: several options as one argument, whether one was given, and ranges of numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from latentbits.wording import plain_number

Command = Callable[..., Any]
Values = dict[str, Any]

FILE_PATH = click.Path(path_type=Path)
"""Not checked by click: the readers know better what to say about a file that isn't there."""


def bundled(name: str, specification: dict[str, Values]) -> Callable[[Command], Command]:
    """Add options to a command, which gets their values as one dict argument `name`.

    `specification` has click's settings of each option, by the name of its value: row_labels is --row-labels.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gather(**values: Any) -> Any:
            chosen = {key: values.pop(key) for key in specification}
            return command(**values, **{name: chosen})

        decorated: Command = gather
        for key, settings in reversed(specification.items()):
            decorated = click.option(flag_of(key), key, **settings)(decorated)
        return decorated

    return decorate


def flag_of(key: str) -> str:
    """An option as it is typed: --row-labels for row_labels."""
    return f"--{key.replace('_', '-')}"


def given(name: str) -> bool:
    """Whether the user has given this option of the running command, be it with its default value."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def model_argument(command: Command) -> Command:
    """Give a command the argument DIR, as `fitted`."""
    return click.argument("fitted", metavar="DIR", type=FILE_PATH)(command)


class FloatRange(click.FloatRange):
    """A number in a range, which is shown without needless digits: x>=0.000001, not x>=1e-06."""

    def _describe_range(self) -> str:
        lower = "" if self.min is None else f"{plain_number(self.min)}{'<' if self.min_open else '<='}"
        upper = "" if self.max is None else f"{'<' if self.max_open else '<='}{plain_number(self.max)}"
        if not upper and self.min is not None:
            return f"x{'>' if self.min_open else '>='}{plain_number(self.min)}"
        return f"{lower}x{upper}"
