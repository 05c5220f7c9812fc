"""What a parameter may be: stated once, and read by estimators, error messages and the command line.

Imports no other library, so that `latentbits --help` needs neither NumPy nor the compiler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

from latentbits.errors import DataError
from latentbits.wording import plain_number


@dataclass(frozen=True)
class Number:
    """A number in [least, below), or in (least, below) if `above`; whole if `integer`; or None if `optional`."""

    least: float = -math.inf
    below: float = math.inf
    above: bool = False
    integer: bool = False
    optional: bool = False

    def check(self, name: str, value: object) -> None:
        """Refuse any other value.

        Parameters
        ----------
        name : str
            What the error calls the value.
        value : object
            The value to check.

        Examples
        --------
        >>> Number(1, integer=True).check("n_init", 0)
        Traceback (most recent call last):
        ...
        latentbits.errors.DataError: n_init=0 must be a whole number of at least 1
        """
        if value is None and self.optional:
            return
        # True is an Integral to Python, but given as a number it is most likely a mistake.
        is_number = isinstance(value, Integral if self.integer else Real) and not isinstance(value, bool)
        inside = is_number and self.least <= value < self.below  # type: ignore[operator]
        if inside and not (self.above and value == self.least):
            return
        raise DataError(f"{name}={value!r} must be {self}")

    def __str__(self) -> str:
        what = "a whole number" if self.integer else "a number"
        lower = (
            f" {'above' if self.above else 'of at least'} {plain_number(self.least)}" if self.least > -math.inf else ""
        )
        upper = f"{' and' * bool(lower)} below {plain_number(self.below)}" if self.below < math.inf else ""
        return f"{what}{lower}{upper}{', or None' * self.optional}"


@dataclass(frozen=True)
class Choice:
    """One of these words; or None if `optional`."""

    values: tuple[str, ...]
    optional: bool = False

    def check(self, name: str, value: object) -> None:
        """Refuse any other value.

        Parameters
        ----------
        name : str
            What the error calls the value.
        value : object
            The value to check.

        Examples
        --------
        >>> Choice(("vb", "em")).check("inference", "map")
        Traceback (most recent call last):
        ...
        latentbits.errors.DataError: inference='map' is unknown; use "vb" or "em"
        """
        if value not in self.values and not (value is None and self.optional):
            raise DataError(f"{name}={value!r} is unknown; use {self}")

    def __str__(self) -> str:
        *first, last = [f'"{word}"' for word in self.values] + ["None"] * self.optional
        return f"{', '.join(first)} or {last}" if first else last
