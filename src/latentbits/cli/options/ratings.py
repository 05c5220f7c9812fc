"""How much of each component to keep: numbers on the command line, or the file that a report's reader has saved."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from latentbits.errors import DataError

__all__ = ["CHANGES", "Ratings", "ratings_option", "values_for"]

FORMAT, VERSION = "latentbits-ratings", 1
CHANGES = ("auto", "both", "absence", "presence")


@dataclass(frozen=True)
class Ratings:
    """An analyst's ratings of components from 0 to 1; of a file also its name and what else stands in it.

    Attributes
    ----------
    values : list of float
        One for each component.
    file : str
        The name of the file, or "" for numbers of the command line.
    document : dict
        What the file says, as a report takes it up again.
    """

    values: list[float]
    file: str
    document: dict[str, Any]

    def check(self, model: Any) -> None:
        """Refuse ratings of another model, or of other components."""
        from latentbits.findings.results import components_fingerprint
        from latentbits.models.registry import model_name

        kind, n = model_name(model), len(model.components_)
        rated = self.document.get("model", kind)
        if rated != kind:
            raise DataError(f"{self.file}: these are ratings of {rated}, but the fitted model is {kind}; rate that one")
        if len(self.values) != n:
            place = f"{self.file}: " if self.file else ""
            plural = "s" * (n > 1)
            raise DataError(f"{place}ratings must be {n} number{plural} from 0 to 1, one for each component")
        rated = self.document.get("components", components_fingerprint(model))
        if rated != components_fingerprint(model):
            raise DataError(
                f"{self.file}: these ratings are of the components of another fit; use that one's folder, or rate "
                "again in the report of this one"
            )


class _RatingsType(click.ParamType):
    """Numbers with commas between them, or a file of ratings."""

    name = "ratings"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Ratings:
        """The ratings; a file with anything else in it is refused like other bad input."""
        if isinstance(value, Ratings):
            return value
        file = Path(value)
        if file.is_file():
            return _loaded(file)
        try:
            numbers = [float(number) for number in str(value).split(",")]
        except ValueError:
            if file.suffix.lower() == ".json":
                self.fail(f'"{value}": no such file; give one that was saved in a report, or numbers such as 1,0,1')
            self.fail(
                f'"{value}" is no file of ratings; give one that was saved in a report, '
                "or give numbers with commas between them, such as 1,0,1"
            )
        return Ratings(_checked(numbers, ""), "", {"ratings": numbers})

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        """Files."""
        return click.Path().shell_complete(ctx, param, incomplete)


def ratings_option(default: str) -> Any:
    """Give a command --ratings; `default` says what happens without."""
    return click.option(
        "--ratings",
        type=_RatingsType(),
        metavar="R0,R1,...|FILE.json",
        help=f"How much of each component to keep, from 0 to 1; or the file saved in a report.  [default: {default}]",
    )


def values_for(model: Any, ratings: Ratings | None) -> list[float] | None:
    """The numbers, once it is clear that they belong to the model."""
    if ratings is None:
        return None
    ratings.check(model)
    return ratings.values


def _loaded(file: Path) -> Ratings:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:  # no text, or no JSON
        raise DataError(f"{file.name}: this is no JSON; give the ratings that were saved in a report") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f"{file.name}: this is no file of ratings; give the one that was saved in a report")
    if document.get("version") != VERSION:
        raise DataError(
            f"{file.name}: this is version {document.get('version')!r} of such files, and only {VERSION} is known; "
            "save the ratings again in a report of this version of latentbits"
        )
    values = _checked(document.get("ratings"), f"{file.name}: ")
    names = document.get("names", [""] * len(values))
    if not isinstance(names, list) or len(names) != len(values) or not all(map(_is_text, names)):
        raise DataError(f'{file.name}: "names" must be {len(values)} texts, one for each rating')
    if not _is_share(document.get("threshold", 0.5)):
        raise DataError(f'{file.name}: "threshold" must be a number from 0 to 1')
    if document.get("change", "auto") not in CHANGES:
        raise DataError(f'{file.name}: "change" must be one of {", ".join(CHANGES)}')
    return Ratings(values, file.name, document)


def _checked(values: Any, place: str) -> list[float]:
    if not isinstance(values, list) or not values or not all(_is_share(value) for value in values):
        raise DataError(f"{place}ratings must be numbers from 0 to 1, one for each component")
    if not any(values):
        raise DataError(f"{place}all ratings are 0, so nothing would be kept; rate a component above 0")
    return [float(value) for value in values]


def _is_text(value: Any) -> bool:
    """Whether it is text that can be written, which half a surrogate pair can't."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1
