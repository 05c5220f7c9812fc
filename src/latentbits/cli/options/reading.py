"""The options of reading a file of data, and the data that are read by them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from latentbits.cli.terminal import Command, InputFile, Values, bundled, flag_of, given
from latentbits.data.read_options import ReadOptions, flags, option_types
from latentbits.errors import DataError
from latentbits.wording import place

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable


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


def _split(ctx: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(name.strip() for part in value for name in part.split(",") if name.strip())


def _settings() -> Iterator[tuple[str, Values]]:
    """click's settings of the options that `ReadOptions` has; one that may be False has a flag --no-NAME."""
    for option in fields(ReadOptions):
        flag, kinds = flags()[option.name], get_args(option_types()[option.name])
        common: Values = {"metavar": flag.metavar, "help": flag.help}
        if option.default is not None and option.default is not True:
            common |= {"default": option.default, "show_default": True}
        if option.name == "long":
            yield option.name, common | {"cls": LongFormat, "nargs": 2}
        elif flag.help:
            several = Sequence[str] in kinds
            if flag.commas:
                common["callback"] = _split
            kind = click.Choice(flag.choices) if flag.choices else float if float in kinds else None
            yield option.name, common | {"type": kind} | ({"multiple": True} if several else {})
        if flag.help_of_no:
            yield f"no_{option.name}", {"is_flag": True, "help": flag.help_of_no}


READING: dict[str, Values] = dict(_settings())
"""The options of reading, for `bundled`."""


def reading_options(command: Command) -> Command:
    """Give a command the argument FILE and all options of reading it, as the dict `reading`."""
    return click.argument("file", type=InputFile())(bundled("reading", READING)(command))


def optional_reading_options(command: Command) -> Command:
    """As `reading_options`, but FILE may be left out, and with it these options; `file` is None then."""

    @functools.wraps(command)
    def check(file: Path | None, **values: Any) -> Any:
        useless = [key for key in READING if file is None and given(key)]
        if useless:
            raise click.UsageError(f"{flag_of(useless[0])} is about reading FILE; give one, or leave it out")
        return command(file=file, **values)

    return click.argument("file", type=InputFile(), required=False)(bundled("reading", READING)(check))


def check_file(file: Path) -> None:
    """Refuse a file that isn't there, before anything that takes time."""
    if not file.is_file() and next(file.glob("*.parquet"), None) is None:  # a folder of these is one table
        from latentbits.data.messages import Origin, check_is_file

        check_is_file(file, Origin(file.name))


def reader_arguments(reading: Values) -> Values:
    """The options that were given as keyword arguments of `read_table`, all of them plain JSON."""
    if reading["no_row_labels"] and reading["row_labels"] is not None:
        raise click.UsageError("give --row-labels or --no-row-labels, not both")
    return {
        option.name: False if reading.get(f"no_{option.name}") else list(value) if isinstance(value, tuple) else value
        for option in fields(ReadOptions)
        if (value := reading.get(option.name)) not in ((), None, option.default) or reading.get(f"no_{option.name}")
    }


def read(file: Path, reading: Values) -> BinaryData:
    """The 0-1 data of a file, read by the options of `reading_options`."""
    from latentbits.data.readers import read_table

    return read_table(file, **reader_arguments(reading))


def read_numbers(file: Path, reading: Values, *, allow_missing: bool) -> NumberTable:
    """The numbers of a file, read by those of the options that make sense for them."""
    from latentbits.data import numbers

    arguments = reader_arguments(reading)
    useless = [key for key in arguments if not flags()[key].of_numbers]
    if useless:
        raise click.UsageError(f"{flag_of(useless[0])} is about 0-1 data, and this model takes numbers; leave it out")
    return numbers.read_numbers(file, allow_missing=allow_missing, **arguments)


def without_column(reading: Values, column: str) -> Values:
    """The same options, and one more column left out."""
    return {**reading, "exclude": (*reading["exclude"], column)}


TOGETHER: dict[str, Values] = {
    "groups": {
        "metavar": "COLUMN",
        "help": "The column that says which rows depend on each other; the verdict holds out their cells together.",
    },
    "blocks": {
        "type": click.IntRange(min=2),
        "metavar": "N",
        "help": "Rows in an order (time, a transect): the verdict holds out the cells of N successive rows together.",
    },
}
"""Which cells of a column the verdict holds out together."""


def read_together(file: Path, reading: Values, together: Values) -> tuple[BinaryData, Values]:
    """The data, without the column of the groups if one is named, and what `verdict` is told about the rows."""
    if together["groups"] is None:
        return read(file, reading), dict(together)
    if together["blocks"] is not None:
        raise click.UsageError("give --groups or --blocks, not both")
    data, labels = read_with_segments(file, reading, together["groups"])
    return data, {**together, "groups": labels}


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
