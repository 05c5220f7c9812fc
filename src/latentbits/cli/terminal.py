"""What a command leaves: answers on stdout or in a file; notes, errors and progress on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from latentbits.storage.files import atomic_file, to_json, to_records, write_csv, write_json

if TYPE_CHECKING:
    import pandas as pd

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
def warnings_as_notes() -> Iterator[list[str]]:
    """Print Python's warnings as notes on stderr, each text once; yields the list of those printed so far."""
    notes: list[str] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = _one_line(message)
        if text not in notes:
            notes.append(text)
            click.echo(f"note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield notes


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
