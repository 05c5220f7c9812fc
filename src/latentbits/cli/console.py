"""What the terminal shows: answers on stdout; notes, errors and progress on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

__all__ = ["INTERRUPTED", "REFUSED", "Voice", "error", "notes"]

REFUSED, INTERRUPTED = 1, 130
"""Exit codes beside click's own 0 (done) and 2 (wrong usage)."""


@dataclass(frozen=True)
class Voice:
    """How a command answers: in words, as one JSON document, or not at all."""

    quiet: bool = False
    as_json: bool = False

    def say(self, text: str = "") -> None:
        """A line of the answer, if it is to be in words."""
        if not self.quiet and not self.as_json:
            click.echo(text)

    def document(self, content: Any) -> None:
        """The whole answer, if it is to be JSON."""
        from latentbits.cli.output import as_json

        if self.as_json:
            click.echo(as_json(content))

    @property
    def shows_progress(self) -> bool:
        """Whether somebody is there to look at a progress bar."""
        return sys.stderr.isatty() and not self.quiet


def error(reason: BaseException | str) -> None:
    """Why there is no answer, in one line."""
    if isinstance(reason, OSError) and reason.strerror:
        reason = f"{reason.filename}: {reason.strerror}" if reason.filename else reason.strerror
    click.echo(f"error: {_one_line(reason)}", err=True)


@contextmanager
def notes() -> Iterator[list[str]]:
    """Show Python's warnings as notes, each text once; yields the list of those shown so far."""
    heard: list[str] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = _one_line(message)
        if text not in heard:
            heard.append(text)
            click.echo(f"note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield heard


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
