"""The options of reading a file of data, and the data that are read by them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.options.click_helpers import FILE_PATH, Command, Values, bundled, flag_of, given
from latentbits.errors import DataError
from latentbits.wording import place

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable

__all__ = [
    "READING",
    "check_file",
    "optional_reading_options",
    "read",
    "read_numbers",
    "read_with_segments",
    "reader_arguments",
    "reading_options",
    "without_column",
]


class LongFormat(click.Option):
    """Two columns and perhaps a third, which click takes for an argument too many: FILE goes before."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Take the third column off the arguments that are left."""
        value, others = super().handle_parse_result(ctx, opts, args)
        if isinstance(value, tuple) and others:  # click has a value of its own for an option that wasn't given
            value, others = (*value, others[0]), others[1:]
            ctx.params[str(self.name)] = value
        return value, others


READING: dict[str, Values] = {
    "row_labels": {"metavar": "COLUMN", "help": "The column that names the rows.  [default: found]"},
    "no_row_labels": {"is_flag": True, "help": "No column names the rows."},
    "columns": {"metavar": "COLUMN", "multiple": True, "help": "Read only this column (may be repeated)."},
    "exclude": {"metavar": "COLUMN", "multiple": True, "help": "Leave this column out (may be repeated)."},
    "metadata": {
        "metavar": "COLUMN",
        "multiple": True,
        "help": "Keep this column beside the rows (may be repeated).  [default: text with repeats]",
    },
    "long": {
        "cls": LongFormat,
        "nargs": 2,
        "metavar": "SITE SPECIES [VALUE]",
        "help": "FILE has a line for each observation, with these columns; pairs that don't occur are 0.",
    },
    "missing": {
        "metavar": "WORD",
        "multiple": True,
        "help": "A marker of missing cells (may be repeated).  [default: empty, NA, NaN, ?, N/A, null, None]",
    },
    "true": {"metavar": "WORD", "multiple": True, "help": "A further word for 1 (may be repeated)."},
    "false": {"metavar": "WORD", "multiple": True, "help": "A further word for 0 (may be repeated)."},
    "presence": {"metavar": "MARK", "help": 'Cells with this mark, such as "x", are 1 and empty ones 0.'},
    "threshold": {"metavar": "NUMBER", "type": float, "help": "Numbers of at least this are 1, others 0."},
    "delimiter": {"metavar": "CHARACTER", "help": "What separates fields.  [default: found]"},
    "encoding": {"metavar": "NAME", "default": "utf-8", "show_default": True, "help": "Of text files."},
    "decimal": {
        "type": click.Choice((".", ",")),
        "default": ".",
        "show_default": True,
        "help": "What separates the decimals of numbers.",
    },
    "comment": {"metavar": "TEXT", "help": 'How lines begin that are skipped, "" for none.  [default: #]'},
    "sheet": {"metavar": "NAME", "help": "Which sheet of an .xlsx file."},
    "no_header": {"is_flag": True, "help": "The first line is data; columns are called x1, x2, ..."},
    "array": {"metavar": "NAME", "help": "Which array of an .npz file."},
}
"""The options of reading, for `bundled`."""

_BINARY_ONLY = ("metadata", "long", "true", "false", "presence", "threshold", "array")
"""Those that make no sense for tables of numbers."""


def reading_options(command: Command) -> Command:
    """Give a command the argument FILE and all options of reading it, as the dict `reading`."""
    return click.argument("file", type=FILE_PATH)(bundled("reading", READING)(command))


def optional_reading_options(command: Command) -> Command:
    """As `reading_options`, but FILE may be left out, and with it these options; `file` is None then."""

    @functools.wraps(command)
    def check(file: Path | None, **values: Any) -> Any:
        useless = [key for key in READING if file is None and given(key)]
        if useless:
            raise click.UsageError(f"{flag_of(useless[0])} is about reading FILE; give one, or leave it out")
        return command(file=file, **values)

    return click.argument("file", type=FILE_PATH, required=False)(bundled("reading", READING)(check))


def check_file(file: Path) -> None:
    """Refuse a file that isn't there, before anything that takes time."""
    if not file.is_file() and next(file.glob("*.parquet"), None) is None:  # a folder of these is one table
        from latentbits.data.messages import Origin, check_is_file

        check_is_file(file, Origin(file.name))


def reader_arguments(reading: Values) -> Values:
    """The options that were given as keyword arguments of `read_table`, all of them plain JSON."""
    if reading["no_row_labels"] and reading["row_labels"] is not None:
        raise click.UsageError("give --row-labels or --no-row-labels, not both")
    others = {key: value for key, value in reading.items() if key not in ("no_header", "no_row_labels")}
    arguments = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in others.items()
        if value not in ((), None, READING[key].get("default"))
    }
    if reading["no_header"]:
        arguments["header"] = False
    if reading["no_row_labels"]:
        arguments["row_labels"] = False
    return arguments


def read(file: Path, reading: Values) -> BinaryData:
    """The 0-1 data of a file, read by the options of `reading_options`."""
    from latentbits.data.readers import read_table

    return read_table(file, **reader_arguments(reading))


def read_numbers(file: Path, reading: Values, *, allow_missing: bool) -> NumberTable:
    """The numbers of a file, read by those of the options that make sense for them."""
    from latentbits.data import numbers

    arguments = reader_arguments(reading)
    useless = [key for key in _BINARY_ONLY if key in arguments]
    if useless:
        raise click.UsageError(f"{flag_of(useless[0])} is about 0-1 data, and this model takes numbers; leave it out")
    return numbers.read_numbers(file, allow_missing=allow_missing, **arguments)


def without_column(reading: Values, column: str) -> Values:
    """The same options, and one more column left out."""
    return {**reading, "exclude": (*reading["exclude"], column)}


def read_with_segments(file: Path, reading: Values, column: str) -> tuple[BinaryData, list[Any]]:
    """The data of a file without one of its columns, and that column: numbers if it holds only such, else texts."""
    data = read(file, without_column(reading, column))
    assert data.column_names is not None
    only = {**reading, "columns": (data.column_names[0],), "exclude": (), "row_labels": column, "no_row_labels": False}
    labels = read(file, only).row_names or []
    empty = next((i for i, label in enumerate(labels) if not label.strip()), None)
    if empty is not None:
        raise DataError(f'{file.name}: {place("row", empty)} has nothing in the column "{column}"; fill it in')
    for number in (int, float):  # "1994" stays 1994, and doesn't become 1994.0
        try:
            return data, [number(label) for label in labels]
        except ValueError:
            continue
    return data, labels
