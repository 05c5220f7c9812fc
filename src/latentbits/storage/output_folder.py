"""A folder of output: written as a whole, and replaced only where nothing but an earlier output would be lost."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbits.storage.files import atomic_file, atomic_folder, parse_json, write_csv, write_json

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["PLOTS_FOLDER", "SUMMARY_FILE", "OutputFolder", "write_plots", "write_tables"]

SUMMARY_FILE, PLOTS_FOLDER = "summary.json", "plots"


class OutputFolder:
    """A folder whose summary.json lists its files, by which it is known as an earlier output.

    Parameters
    ----------
    path : str or Path
        It needn't exist yet.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def summary(self) -> dict[str, Any]:
        """What summary.json says; empty if there is none that can be read. Anybody may have written it."""
        with contextlib.suppress(OSError, ValueError):
            content = parse_json((self.path / SUMMARY_FILE).read_text(encoding="utf-8"))
            # Once more, because \ud800 is good JSON, but no text that can be written.
            content = json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))
            return content if isinstance(content, dict) else {}
        return {}

    @property
    def files(self) -> list[str]:
        """The files and folders that the summary lists; none if this isn't an output."""
        files = self.summary.get("files")
        return [str(name) for name in files] if isinstance(files, list) else []

    def add_file(self, name: str) -> None:
        """List one more file in the summary, so that it is known as part of the output."""
        files = self.files
        if files and name not in files:
            with atomic_file(self.path / SUMMARY_FILE) as draft:
                write_json({**self.summary, "files": [*files, name]}, draft)

    def check(self, *, force: bool) -> None:
        """Refuse a folder that exists, unless `force` and it is empty or holds an earlier output only.

        One that could not be made is refused as well: that should not be found out after a long fit.
        """
        if not self.path.exists():
            _check_parent(self.path.absolute())
            return
        if not force:
            raise FileExistsError(f"{self.path} exists already; choose another --out, or use --force to replace it")
        if not self.path.is_dir():
            raise FileExistsError(f"{self.path} is a file, not a folder; choose another --out")
        found, ours = {entry.name for entry in self.path.iterdir()}, set(self.files)
        foreign = sorted(name for name in found - ours if not name.startswith("."))  # hidden ones are the system's
        if not found or (ours and not foreign):
            return
        which = f"holds {foreign[0]!r}, which" if ours else "is not an earlier output, which"
        raise FileExistsError(f"{self.path} {which} --force would delete; move it away, or choose another --out")

    @contextlib.contextmanager
    def replaced(self, *, force: bool) -> Iterator[Path]:
        """A new folder to write into, which becomes this one at the end (see `check` for what is refused)."""
        self.check(force=force)
        with atomic_folder(self.path, replace=force) as draft:
            yield draft
            self.check(force=force)  # a long fit lies between, in which files may have come

    def save_tables(
        self,
        tables: Mapping[str, pd.DataFrame],
        summary: Mapping[str, Any],
        *,
        figures: Mapping[str, Callable[[], Figure]] | None = None,
        force: bool,
    ) -> None:
        """Write the folder: tables as CSV, figures (if any) as PNG, and the summary, which lists all of them."""
        plots = [PLOTS_FOLDER] if figures else []
        with self.replaced(force=force) as draft:
            write_tables(tables, draft)
            if figures:
                write_plots(figures, draft / PLOTS_FOLDER)
            files = [SUMMARY_FILE, *plots, *(f"{name}.csv" for name in tables)]
            write_json({**summary, "files": files}, draft / SUMMARY_FILE)


def write_tables(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write tables into a folder as CSV files of their names."""
    for name, table in tables.items():
        write_csv(table, folder / f"{name}.csv")


def write_plots(figures: Mapping[str, Callable[[], Figure]], folder: Path) -> None:
    """Make the folder, draw the figures and write them there as PNG."""
    folder.mkdir()
    for name, draw in figures.items():
        draw().savefig(folder / f"{name}.png")


def _check_parent(folder: Path) -> None:
    """Refuse a folder whose nearest existing parent is a file, or may not be written to."""
    parent = next(parent for parent in folder.parents if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise NotADirectoryError(f"{parent} is not a folder to write into; choose another --out")
