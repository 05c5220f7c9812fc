"""The options of what is asked of a fit of false-zeros: how many cells of a row, and what their probability is of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.terminal import FILE_PATH, FloatRange, Values, flag_of, given
from latentbits.errors import DataError
from latentbits.wording import place

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

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
