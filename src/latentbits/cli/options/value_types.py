"""What may be written behind an option: several numbers, several names, the shape of an image."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from latentbits.models.registry import MODELS, TABLE_MODELS
from latentbits.wording import plain_number

__all__ = ["FloatRange", "ModelNames", "ModelWithNumber", "Names", "Numbers", "RangeOrNone", "Shape", "Words"]


class Numbers(click.ParamType):
    """Whole numbers: one, a list with commas (2,4,8), or a range with both ends (2:8)."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """The numbers in order, each once."""
        if isinstance(value, list):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            first, colon, last = part.partition(":")
            if not first.isdecimal() or (colon and not last.isdecimal()):
                self.fail(f'"{part}" is no number of components; give one such as 4, a list 2,4,8 or a range 2:8')
            found |= set(range(int(first), int(last if colon else first) + 1))
        if not found:
            self.fail(f'"{value}" ends before it begins; give the smaller number first, such as 2:8')
        if min(found) < 1:
            self.fail(f'"{value}" begins below 1; give one such as 4, a list 2,4,8 or a range 2:8')
        return sorted(found)


class Names(click.ParamType):
    """Words with commas between them, each of them known."""

    name = "names"

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """The words."""
        words = value if isinstance(value, list) else [word.strip() for word in str(value).split(",")]
        for word in words:
            if word not in self.known:
                self.fail(f'"{word}" is unknown; use any of {", ".join(self.known)}, with commas between them')
        return words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The known words that the last one may become."""
        return _continued(incomplete, self.known)


class RangeOrNone(click.IntRange):
    """A whole number, or the word "none"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the word."""
        return value if value == "none" else super().convert(value, param, ctx)


class Words(click.ParamType):
    """Words with commas between them; who takes them knows which there are."""

    name = "words"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """The words."""
        return value if isinstance(value, list) else [word.strip() for word in str(value).split(",")]


class ModelNames(click.ParamType):
    """Models with commas between them, each with a number of components behind a colon or without."""

    name = "models"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[tuple[str, int | None]]:
        """Pairs of the name and the number, if any."""
        if isinstance(value, list):
            return value
        pairs: list[tuple[str, int | None]] = []
        for word in str(value).split(","):
            name, colon, number = word.strip().partition(":")
            if name not in TABLE_MODELS:
                self.fail(f'there is no model "{name}" for 0-1 tables; use any of {", ".join(TABLE_MODELS)}')
            if colon and (not number.isdecimal() or int(number) < 1):
                self.fail(f'"{word}": give a number of components behind the colon, such as {name}:5')
            if colon and not MODELS[name].has_components:
                self.fail(f'"{word}": {name} has no number of components; leave it out')
            pairs.append((name, int(number) if colon else None))
        return pairs

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The models that the last word may become."""
        return _continued(incomplete, TABLE_MODELS)


class ModelWithNumber(click.Choice):
    """A model whose number of components can be chosen."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; of models without such a number the reason why not."""
        if value in MODELS and not MODELS[value].orders:
            self.fail(f"{value} has no number of components to choose; fit it, or use latentbits compare", param, ctx)
        return super().convert(value, param, ctx)


def _continued(incomplete: str, known: tuple[str, ...]) -> list[CompletionItem]:
    *before, last = incomplete.split(",")
    return [CompletionItem(",".join([*before, word])) for word in known if word.startswith(last)]


class FloatRange(click.FloatRange):
    """A number in a range, which is shown without needless digits: x>=0.000001, not x>=1e-06."""

    def _describe_range(self) -> str:
        lower = "" if self.min is None else f"{plain_number(self.min)}{'<' if self.min_open else '<='}"
        upper = "" if self.max is None else f"{'<' if self.max_open else '<='}{plain_number(self.max)}"
        if not upper and self.min is not None:
            return f"x{'>' if self.min_open else '>='}{plain_number(self.min)}"
        return f"{lower}x{upper}"


class Shape(click.ParamType):
    """Rows and columns of an image, such as 16x15."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Both numbers."""
        if isinstance(value, tuple):
            return value
        high, _, wide = str(value).lower().partition("x")
        if not (high.isdecimal() and wide.isdecimal() and int(high) and int(wide)):
            self.fail(f'"{value}" is no shape; give rows x columns, such as 16x15')
        return int(high), int(wide)
