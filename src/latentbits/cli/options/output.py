"""The options of what a command leaves behind, and of how it answers on the terminal."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.options.click_helpers import FILE_PATH, Command
from latentbits.cli.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

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
