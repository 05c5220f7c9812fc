"""What a command leaves, and the options of it: answers on stdout or in a file; notes, errors and progress on stderr.

Beside it small helpers around click: several options as one argument, whether one was given, ranges of numbers.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from latentbits.storage.files import atomic_file, to_json, to_records, write_csv, write_json
from latentbits.wording import plain_number

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.findings.account import Findings

REFUSED, INTERRUPTED = 1, 130
"""Exit codes beside click's own 0 (done) and 2 (wrong usage)."""


@dataclass(frozen=True)
class Terminal:
    """How a command answers on stdout: in lines of text, as one JSON document, or not at all."""

    quiet: bool = False
    as_json: bool = False

    def print(self, line: str) -> None:
        """Print a line of the answer, if it is to be text."""
        if not self.quiet and not self.as_json:
            click.echo(line)

    def print_lines(self, lines: Iterable[str]) -> None:
        """Print lines of the answer."""
        for line in lines:
            self.print(line)

    def print_findings(self, findings: Findings, *, top: int | None = None) -> None:
        """Print what was found, if it is to be text; with `top` so many suspects, whatever the verdict says of them."""
        from latentbits.render import lines

        self.print_lines(lines(findings, top=top))

    def print_json(self, content: Any) -> None:
        """Print the whole answer, if it is to be JSON."""
        if self.as_json:
            click.echo(to_json(content))

    @property
    def shows_progress(self) -> bool:
        """Whether somebody is there to look at a progress bar."""
        return sys.stderr.isatty() and not self.quiet


def print_error(reason: BaseException | str) -> None:
    """Print why there is no answer, in one line on stderr."""
    if isinstance(reason, OSError) and reason.strerror:
        reason = f"{reason.filename}: {reason.strerror}" if reason.filename else reason.strerror
    click.echo(f"error: {_one_line(reason)}", err=True)


@contextmanager
def warnings_as_notes() -> Iterator[list[Warning]]:
    """Print Python's warnings as notes on stderr, each text once; yields the list of those printed so far."""
    printed: list[Warning] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = _one_line(message)
        if text not in map(_one_line, printed):
            printed.append(message if isinstance(message, Warning) else UserWarning(message))
            click.echo(f"note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield printed


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


def check_target(out: Path, *, force: bool) -> None:
    """Refuse a file that exists, unless `force`, or that could not be written."""
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; give the name of a file")
    if out.exists() and not force:
        raise FileExistsError(f"{out} exists already; choose another --out, or use --force to replace it")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"{out.parent}: no such folder to write into; make it first")


def output_table(table: pd.DataFrame, out: Path | None, *, force: bool, terminal: Terminal, details: str = "") -> None:
    """Write a table as CSV or JSON records to stdout, or to a file, which is printed with `details` behind its name."""

    def write(target: Path | IO[str]) -> None:
        if terminal.as_json:
            write_json(to_records(table), target)
        else:
            write_csv(table, target)

    if out is None:
        write(sys.stdout)
        return
    check_target(out, force=force)
    with atomic_file(out) as draft:
        write(draft)
    terminal.print(f"Wrote {out}{details}.")


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


FOLDER_FORCE = "Replace DIR if it is empty, or holds an earlier output and nothing else."


def force_option(help_text: str) -> Callable[[Command], Command]:
    """Give a command the flag --force."""
    return click.option("--force", is_flag=True, help=help_text)


def optional_folder_option(command: Command) -> Command:
    """Give a command the folder of tables that it may make."""
    return click.option(
        "--out",
        type=FILE_PATH,
        metavar="DIR",
        help="A folder to make, with the tables as CSV and a plot.  [default: print only]",
    )(command)


def table_options(command: Command) -> Command:
    """Give a command the options of where its table goes."""
    out = click.option(
        "--out",
        type=FILE_PATH,
        callback=_none_for_stdout,
        metavar="FILE",
        help="Where to write.  [default: stdout, or -]",
    )
    return out(force_option("Replace an existing FILE.")(command))


def _none_for_stdout(ctx: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    return None if str(value) == "-" else value


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


def shape_option(command: Command) -> Command:
    """Give a command the option that columns are the pixels of an image."""
    text = "The columns are pixels of images, row by row, such as 16x15."
    return click.option("--shape", type=Shape(), metavar="ROWSxCOLUMNS", help=text)(command)


def terminal_options(command: Command) -> Command:
    """Give a command the flags of how it answers, as `terminal`."""

    @functools.wraps(command)
    def gather(quiet: bool, as_json: bool, **values: Any) -> Any:
        return command(terminal=Terminal(quiet, as_json), **values)

    json_flag = click.option("--json", "as_json", is_flag=True, help="The answer as one JSON document, for scripts.")
    quiet_flag = click.option("--quiet", is_flag=True, help="No progress bar, no words; notes and errors remain.")
    return json_flag(quiet_flag(gather))
