"""One file of output: where it may be written, and a table that goes there or to stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from latentbits.cli.terminal import Terminal
from latentbits.storage.files import atomic_file, to_records, write_csv, write_json

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_target", "output_table"]


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
