"""Options that several commands share, and how a file is read by them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from latentbits.cli.console import Voice
from latentbits.cli.values import Shape
from latentbits.errors import DataError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable

__all__ = [
    "FILE_PATH",
    "FOLDER_FORCE",
    "bundled",
    "check_file",
    "force_option",
    "given",
    "may_read_file",
    "model_argument",
    "read",
    "read_numbers",
    "read_with_segments",
    "reads_file",
    "shape_option",
    "table_options",
    "tells",
]

Command = Callable[..., Any]
Values = dict[str, Any]

FILE_PATH = click.Path(path_type=Path)
"""Not checked by click: the readers know better what to say about a file that isn't there."""

_READING: dict[str, Values] = {
    "row_labels": {"metavar": "COLUMN", "help": "The column that names the rows.  [default: found]"},
    "no_row_labels": {"is_flag": True, "help": "No column names the rows."},
    "columns": {"metavar": "COLUMN", "multiple": True, "help": "Read only this column (may be repeated)."},
    "exclude": {"metavar": "COLUMN", "multiple": True, "help": "Leave this column out (may be repeated)."},
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
    "no_header": {"is_flag": True, "help": "The first line is data; columns are called x1, x2, ..."},
    "array": {"metavar": "NAME", "help": "Which array of an .npz file."},
}


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
            decorated = click.option(f"--{key.replace('_', '-')}", key, **settings)(decorated)
        return decorated

    return decorate


def reads_file(command: Command) -> Command:
    """Give a command the argument FILE and all options of reading it (as `reading`, for `read`)."""
    return click.argument("file", type=FILE_PATH)(bundled("reading", _READING)(command))


def may_read_file(command: Command) -> Command:
    """As `reads_file`, but FILE may be left out, and with it these options; `file` is None then."""

    @functools.wraps(command)
    def check(file: Path | None, **values: Any) -> Any:
        useless = [key for key in _READING if file is None and given(key)]
        if useless:
            raise click.UsageError(f"--{useless[0].replace('_', '-')} is about reading FILE; give one, or leave it out")
        return command(file=file, **values)

    return click.argument("file", type=FILE_PATH, required=False)(bundled("reading", _READING)(check))


def given(name: str) -> bool:
    """Whether the user has given this option of the running command, be it with its default value."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def model_argument(command: Command) -> Command:
    """Give a command the argument DIR, as `fitted`."""
    return click.argument("fitted", metavar="DIR", type=FILE_PATH)(command)


def force_option(help_text: str) -> Callable[[Command], Command]:
    """Give a command the flag --force."""
    return click.option("--force", is_flag=True, help=help_text)


FOLDER_FORCE = "Replace DIR if it holds an earlier output, or nothing."


def table_options(command: Command) -> Command:
    """Give a command the options of where its table goes."""
    out = click.option(
        "--out",
        type=FILE_PATH,
        callback=lambda ctx, option, value: None if str(value) == "-" else value,
        metavar="FILE",
        help="Where to write.  [default: stdout, or -]",
    )
    return out(force_option("Replace an existing FILE.")(command))


def shape_option(command: Command) -> Command:
    """Give a command the option that columns are the pixels of an image."""
    told = "The columns are pixels of images, row by row, such as 16x15."
    return click.option("--shape", type=Shape(), metavar="ROWSxCOLUMNS", help=told)(command)


def tells(command: Command) -> Command:
    """Give a command the flags of how it answers, as `voice`."""

    @functools.wraps(command)
    def gather(quiet: bool, as_json: bool, **values: Any) -> Any:
        return command(voice=Voice(quiet, as_json), **values)

    json_flag = click.option("--json", "as_json", is_flag=True, help="The answer as one JSON document, for scripts.")
    quiet_flag = click.option("--quiet", is_flag=True, help="No progress bar, no words; notes and errors remain.")
    return json_flag(quiet_flag(gather))


def check_file(file: Path) -> None:
    """Refuse a file that isn't there, before anything that takes time."""
    if not file.is_file():
        from latentbits.data.messages import Origin, check_is_file

        check_is_file(file, Origin(file.name))


def read(file: Path, reading: Values) -> BinaryData:
    """The data of a file, read by the options of `reads_file`."""
    from latentbits.data.readers import read_table

    chosen = {key: value for key, value in reading.items() if value not in ((), None)}
    header, labelled = not chosen.pop("no_header"), not chosen.pop("no_row_labels")
    if not labelled and "row_labels" in chosen:
        raise click.UsageError("give --row-labels or --no-row-labels, not both")
    if not labelled:
        chosen["row_labels"] = False
    return read_table(file, header=header, **chosen)


def read_numbers(file: Path, reading: Values) -> NumberTable:
    """The numbers of a file, read by those options of `reads_file` that make sense for them."""
    from latentbits.data import numbers

    useless = [key for key in ("missing", "true", "false", "presence", "threshold", "array") if reading[key]]
    if useless:
        raise click.UsageError(f"--{useless[0]} is about 0-1 data, and this model takes numbers; leave it out")
    chosen = {key: reading[key] for key in ("delimiter", "columns", "exclude", "encoding") if reading[key]}
    labels: str | bool | None = False if reading["no_row_labels"] else reading["row_labels"]
    return numbers.read_numbers(file, header=not reading["no_header"], row_labels=labels, **chosen)


def read_with_segments(file: Path, reading: Values, column: str) -> tuple[BinaryData, list[Any]]:
    """The data of a file without one of its columns, and that column: numbers if it holds only such, else texts."""
    data = read(file, {**reading, "exclude": (*reading["exclude"], column)})
    assert data.column_names is not None
    only = {**reading, "columns": (data.column_names[0],), "exclude": (), "row_labels": column, "no_row_labels": False}
    labels = read(file, only).row_names or []
    empty = next((i for i, label in enumerate(labels) if not label.strip()), None)
    if empty is not None:
        raise DataError(f'{file.name}: row {empty} (counted from 0) has nothing in the column "{column}"; fill it in')
    try:
        return data, [float(label) for label in labels]
    except ValueError:
        return data, labels
