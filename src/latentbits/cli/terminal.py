"""What the terminal shows: answers on stdout; notes, errors and progress on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from latentbits.storage.files import to_json

__all__ = ["INTERRUPTED", "REFUSED", "Terminal", "print_error", "warnings_as_notes"]

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
