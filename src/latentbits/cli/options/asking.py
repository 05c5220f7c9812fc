"""The options of questions: how many cells, what their probability is of, how much of each component to keep, marks.

The file, ratings.json, is described in latentbits/data/marks.py. Beside "marks" and "data" it has "model" (its name),
"components" (their checksum), "ratings" (a number from 0 to 1 for each component), "names" (a text for each),
"threshold" (from 0 to 1) and "change" (see `CHANGES`); all but "ratings" may be absent. With --marks only "marks" and
"data" count, with --ratings the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.terminal import FILE_PATH, FloatRange, Values, flag_of, given
from latentbits.errors import DataError
from latentbits.wording import counted, place

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.marks import Marks

_VISITS = ("later_visits", "n_visits")


class Visits(click.ParamType):
    """A number of visits for all rows, or the name of the column that has one for each."""

    name = "visits"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, or the name."""
        return int(value) if str(value).isdecimal() else str(value)


ASKING: dict[str, Values] = {
    "per_row": {
        "type": click.IntRange(min=1),
        "metavar": "N",
        "help": "At most so many cells of each row; without --top of all rows.",
    },
    "rate": {
        "type": FloatRange(0, 1, min_open=True, max_open=True),
        "metavar": "R",
        "help": "How likely a visit finds an individual that is there: the probability is then that of presence or, "
        "with --later-visits, of being seen on these.",
    },
    "revisits": {
        "type": FILE_PATH,
        "metavar": "FILE",
        "help": "What was seen later in some of the rows (about 30 will do), a file like that of the data: the "
        "probability is then that of being seen later.",
    },
    "later_visits": {
        "type": Visits(),
        "metavar": "NUMBER|COLUMN",
        "help": "Visits to come, or those of --revisits: for all rows, or a column of FILE with a number for each.",
    },
    "n_visits": {
        "type": Visits(),
        "metavar": "NUMBER|COLUMN",
        "help": "Visits that FILE sums up, for all rows or by a column.  [default: 1]",
    },
}
"""The options, for `bundled`."""


def kind_option(command: Any) -> Any:
    """Give a command the option of which cells are in question."""
    return click.option(
        "--kind",
        type=click.Choice(["absence", "presence"]),
        default="absence",
        show_default=True,
        help="Zeros that may hide a 1, or ones that may be false.",
    )(command)


def refuse_asking(model: Any) -> None:
    """Refuse these options for a model that is no such ensemble."""
    for key in filter(given, ASKING):
        raise click.UsageError(
            f"{flag_of(key)} is asked of a fit of false-zeros, and this is {type(model).__name__}; leave it out, or "
            "use latentbits false-zeros"
        )


def with_visit_columns(reading: Values, asking: Values) -> Values:
    """The options of reading, by which columns with numbers of visits are kept beside the rows."""
    columns = [value for key in _VISITS if isinstance(value := asking[key], str)]
    return {**reading, "metadata": (*reading["metadata"], *dict.fromkeys(columns))}


def typed(asking: Values) -> Values:
    """The options that were given, as JSON has them."""
    return {key: str(value) if key == "revisits" else value for key, value in asking.items() if value is not None}


def question_about(data: BinaryData, asking: Values, *, kind: str) -> Values:
    """The arguments of `FalseZeros.suspects` beside the data and how many; files and columns are read."""
    asked: Values = {key: value for key, value in asking.items() if value is not None}
    useless = [key for key in asked if key != "per_row" and kind == "presence"]
    if useless:
        raise click.UsageError(f"{flag_of(useless[0])} is about zeros and what a visit misses; leave it out for ones")
    for key in filter(asked.__contains__, _VISITS):
        if isinstance(asked[key], str):
            asked[key] = _numbers_of(data, asked[key], flag_of(key))
    if "revisits" in asked:
        asked["revisits"] = _read_revisits(asked["revisits"], data)
    return {"kind": kind, **asked}


def _numbers_of(data: BinaryData, column: str, option: str) -> list[float]:
    """A metadata column as numbers, one for each row."""
    texts = (data.metadata or {}).get(column)
    if texts is None:
        raise DataError(
            f'{option}: there is no column "{column}" beside the rows; give a whole number, or --metadata with its name'
        )
    return [_number(text, place("row", i), column, option) for i, text in enumerate(texts)]


def _number(text: str, row: str, column: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(
            f'{option}: {row} has "{text}" in the column "{column}", which is no number; correct it'
        ) from None


def _read_revisits(file: Path, data: BinaryData) -> BinaryData:
    """Another file, read like that of the data, its columns matched by name."""
    from latentbits.cli.options.reading import check_file
    from latentbits.data.read_options import FitReading
    from latentbits.data.readers import read_table

    check_file(file)
    return read_table(file, like=FitReading(data.reading, data.column_names))


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
        from latentbits.data.messages import quoted
        from latentbits.findings.account import components_checksum
        from latentbits.models.registry import model_name

        kind, n = model_name(model), len(model.components_)
        rated = self.document.get("model", kind)
        if rated != kind:
            raise DataError(
                f"{self.file}: these are ratings of {quoted(str(rated))}, but the fitted model is {kind}; rate that one"
            )
        if len(self.values) != n:
            place = f"{self.file}: " if self.file else ""
            raise DataError(f"{place}ratings must be {counted(n, 'number')} from 0 to 1, one for each component")
        rated = self.document.get("components", components_checksum(model))
        if rated != components_checksum(model):
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


def marks_option(effect: str) -> Any:
    """Give a command --marks, which gives `Marks`; `effect` says what becomes of marked cells."""

    def load(ctx: click.Context, option: click.Parameter, file: Path | None) -> Marks | None:
        if file is None:
            return None
        from latentbits.data.marks import Marks

        return Marks.of(file)

    text = f"The file saved in a report, with cells that were looked up: {effect}."
    return click.option("--marks", type=FILE_PATH, callback=load, metavar="FILE.json", help=text)


def note_unused_marks(ratings: Ratings | None, marks: Marks | None) -> None:
    """Tell the user if the file of ratings has marks that nobody asked for."""
    if ratings is not None and marks is None and (unused := ratings.document.get("marks")):
        number = f"{len(unused):,} mark{'s' * (len(unused) > 1)}"
        click.echo(f"note: {ratings.file} has {number} of cells as well; --marks {ratings.file} uses them", err=True)


def values_for(model: Any, ratings: Ratings | None) -> list[float] | None:
    """The numbers, once it is clear that they belong to the model; None if they are those of the fit itself.

    Untouched ratings ask for the fit's own answer, which is the mean of all restarts, as in the report.
    """
    if ratings is None:
        return None
    ratings.check(model)
    untouched = [float(kind == "content") for kind in model.phantoms_]
    return None if ratings.values == untouched else ratings.values


def _loaded(file: Path) -> Ratings:
    from latentbits.data.marks import Marks, load_document

    document = load_document(file)
    values = _checked(document.get("ratings"), f"{file.name}: ")
    names = document.get("names", [""] * len(values))
    if not isinstance(names, list) or len(names) != len(values) or not all(map(_is_text, names)):
        raise DataError(f'{file.name}: "names" must be {len(values)} texts, one for each rating')
    if not _is_share(document.get("threshold", 0.5)):
        raise DataError(f'{file.name}: "threshold" must be a number from 0 to 1')
    if document.get("change", "auto") not in CHANGES:
        raise DataError(f'{file.name}: "change" must be one of {", ".join(CHANGES)}')
    Marks.in_document(document, f"{file.name}: ")
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
