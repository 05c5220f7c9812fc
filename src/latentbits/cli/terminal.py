"""What a command leaves, and the options of it: answers on stdout or in a file; notes, errors and progress on stderr.

Beside it small helpers around click: several options as one argument, whether one was given, ranges of numbers.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from latentbits.storage.files import atomic_file, to_json, to_records, write_csv, write_json
from latentbits.wording import one_line, plain_number

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.findings.account import Findings
    from latentbits.notes import Code
    from latentbits.render import Brief

WIDEST, MOST_LINES = 88, 5
"""Characters of a line at most, and lines of a short answer beside its table."""

REFUSED, INTERRUPTED = 1, 130
"""Exit codes beside click's own 0 (done) and 2 (wrong usage)."""


@dataclass(frozen=True)
class Terminal:
    """How a command answers on stdout: in lines of text, as one JSON document, or not at all."""

    quiet: bool = False
    as_json: bool = False
    verbose: bool = False

    def print(self, line: str) -> None:
        """Print a line of the answer, if it is to be text, in the width of the window."""
        if self.is_text:
            for part in wrapped(line, self.width):
                click.echo(part)

    @property
    def is_text(self) -> bool:
        """Whether the answer is printed for people."""
        return not self.quiet and not self.as_json

    @property
    def width(self) -> int | None:
        """Characters of a line of the answer."""
        return width_of(sys.stdout)

    def print_lines(self, lines: Iterable[str]) -> None:
        """Print lines of the answer."""
        for line in lines:
            self.print(line)

    def print_findings(self, findings: Findings, *, top: int | None = None, asked: bool = True) -> None:
        """Print what was found, if it is to be text: in short, or all of it.

        With `top` so many suspects are listed; if somebody `asked` for that, whatever the verdict says of them.
        """
        from latentbits.render import N_LISTED, brief, lines

        if self.is_text and not self.verbose:
            self.print_brief(brief(findings, top=top or N_LISTED, asked=top is not None and asked))
        elif self.is_text:
            self.print_lines(lines(findings, top=top))

    def print_brief(self, found: Brief) -> None:
        """The short form: a badge in colour beside the finding, numbers, and a table or what else was found."""
        colour = {"clear": "green", "weak": "yellow"}.get(found.badge)
        indent = len(found.badge) + 3
        first, *others = wrapped(f"{' ' * indent}{found.headline}", self.width)
        badge = click.style(f" {found.badge.upper()} ", bold=True, reverse=True, fg=colour)
        click.echo(f"{badge} {click.style(first.strip(), bold=True)}")
        for line in others:
            click.echo(click.style(line, bold=True))
        numbers = list(wrapped(f"{' ' * indent}{found.numbers}", self.width)) if found.numbers else []
        for line in numbers:
            click.echo(line)
        if found.suspects:
            click.echo()
            for line in aligned(found.heads, found.suspects, (self.width or WIDEST) - indent):
                click.echo(f"{' ' * indent}{line}".rstrip())
        left = MOST_LINES - 1 - len(others) - len(numbers)
        for sentence in found.found:
            lines = list(wrapped(f"{' ' * indent}{sentence.strip()}", self.width))
            left -= len(lines)
            if left < 0:
                break
            for line in lines:
                click.echo(line)
        click.echo()

    def print_json(self, content: Any) -> None:
        """Print the whole answer, if it is to be JSON."""
        if self.as_json:
            click.echo(to_json(content))

    @property
    def shows_progress(self) -> bool:
        """Whether progress is shown: as a bar in a window, and elsewhere as a line for each stage."""
        return not self.quiet


def width_of(stream: IO[str]) -> int | None:
    """Characters of a line; None if nobody looks at it in a window, so that lines stay whole for other programs."""
    if not (stream.isatty() or os.environ.get("COLUMNS", "").isdecimal()):
        return None
    return max(40, min(shutil.get_terminal_size().columns, WIDEST))


def wrapped(line: str, width: int | None) -> Iterator[str]:
    """A line in parts of this width, which begin where it begins; words are not broken."""
    indent = line[: len(line) - len(line.lstrip())]
    if width is None or len(line) <= width:
        yield line
        return
    yield from textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """A table of text: labels to the left, cut where there is no room for them, and numbers to the right."""
    numbers = [max(len(cell) for cell in column) for column in list(zip(heads, *rows, strict=True))[2:]]
    room = max(12, (width - sum(numbers) - 3 * len(numbers) - 3) // 2)
    labels = [min(room, max(len(one_line(line[n])) for line in (heads, *rows))) for n in (0, 1)]
    for line in (heads, *rows):
        texts = [_cut(one_line(text), size).ljust(size) for text, size in zip(line, labels, strict=False)]
        yield "   ".join([*texts, *(text.rjust(size) for text, size in zip(line[2:], numbers, strict=True))])


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}\u2026"


def print_error(reason: BaseException | str) -> None:
    """Print why there is no answer, in one line on stderr."""
    if isinstance(reason, OSError) and reason.strerror:
        reason = f"{reason.filename}: {reason.strerror}" if reason.filename else reason.strerror
    _print_note(f"error: {_one_line(reason)}")


@contextmanager
def warnings_as_notes(*unsaid: Code) -> Iterator[list[Warning]]:
    """Print Python's warnings as notes on stderr, each text once; yields the list of those so far.

    Those with a code that is `unsaid` are not printed: the answer says it.
    """
    printed: list[Warning] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = _one_line(message)
        if text not in map(_one_line, printed):
            printed.append(message if isinstance(message, Warning) else UserWarning(message))
            if getattr(message, "code", None) not in unsaid:
                _print_note(f"note: {text}")

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield printed


def _print_note(line: str) -> None:
    for part in wrapped(line, width_of(sys.stderr)):
        click.echo(part, err=True)


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


class InputFile(click.Path):
    """A path, or - for what comes through a pipe, which is kept in a file of its own until the command ends."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of the file."""
        if value != "-" or ctx is None:
            return super().convert(value, param, ctx)
        folder: str = ctx.with_resource(tempfile.TemporaryDirectory(prefix="latentbits-"))
        file = Path(folder) / "stdin.csv"
        file.write_bytes(sys.stdin.buffer.read())
        return file


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


def verbose_option(command: Command) -> Command:
    """Give a command the flag --verbose, which goes to its `terminal`."""

    @functools.wraps(command)
    def gather(verbose: bool, terminal: Terminal, **values: Any) -> Any:
        return command(terminal=replace(terminal, verbose=verbose), **values)

    return click.option("--verbose", is_flag=True, help="All that was found, in sentences.")(gather)


class Formats(click.ParamType):
    """What figures are written as: one of png, svg and pdf, or several with commas."""

    name = "formats"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Each once, in their order."""
        from latentbits.storage.output_folder import FORMATS

        formats = value if isinstance(value, tuple) else tuple(dict.fromkeys(str(value).lower().split(",")))
        for form in formats:
            if form not in FORMATS:
                self.fail(f'"{form}" is no format of figures; give some of {",".join(FORMATS)}')
        return formats


def figures_option(command: Command) -> Command:
    """Give a command the option of what its figures are written as."""
    text = "What the figures in DIR are written as: png (300 dpi), svg, pdf, or several, such as svg,pdf."
    return click.option("--figures", type=Formats(), default="png", metavar="FORMATS", help=f"{text}  [default: png]")(
        command
    )


def terminal_options(command: Command) -> Command:
    """Give a command the flags of how it answers, as `terminal`."""

    @functools.wraps(command)
    def gather(quiet: bool, as_json: bool, **values: Any) -> Any:
        return command(terminal=Terminal(quiet, as_json), **values)

    json_flag = click.option("--json", "as_json", is_flag=True, help="The answer as one JSON document, for scripts.")
    quiet_flag = click.option("--quiet", is_flag=True, help="No progress, no words; notes and errors remain.")
    return json_flag(quiet_flag(gather))
