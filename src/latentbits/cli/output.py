"""Files that are there as a whole or not at all, and tables that no spreadsheet takes for a program."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from latentbits.findings.results import harmless

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DATA_FILE",
    "MODEL_FILE",
    "SUMMARY_FILE",
    "check_folder",
    "new_folder",
    "show_table",
    "write_csv",
    "write_json",
]

MODEL_FILE, DATA_FILE, SUMMARY_FILE = "model.npz", "data.npz", "summary.json"
PLOTS_FOLDER = "plots"


# ---- folders -----------------------------------------------------------------------------------------------


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that exists, unless `force` and it is empty or holds an earlier output only.

    One that could not be made is refused as well: that should not be found out after a long fit.
    """
    if not folder.exists():
        _check_parent(folder.absolute())
        return
    if not force:
        raise FileExistsError(f"{folder} exists already; choose another --out, or use --force to replace it")
    if not folder.is_dir():
        raise FileExistsError(f"{folder} is a file, not a folder; choose another --out")
    found = {entry.name for entry in folder.iterdir()}
    ours = _listed_files(folder)
    foreign = sorted(name for name in found - ours if not name.startswith("."))  # hidden ones are the system's
    if not found or (ours and not foreign):
        return
    which = f"holds {foreign[0]!r}, which" if ours else "is not an earlier output, which"
    raise FileExistsError(f"{folder} {which} --force would delete; move it away, or choose another --out")


def _check_parent(folder: Path) -> None:
    """Refuse a folder whose nearest existing parent is a file, or may not be written to."""
    parent = next(parent for parent in folder.parents if parent.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise NotADirectoryError(f"{parent} is not a folder to write into; choose another --out")


def _listed_files(folder: Path) -> set[str]:
    """The files that an earlier output says it has; none if the folder isn't one."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        return {str(name) for name in json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))["files"]}
    return set()


@contextlib.contextmanager
def new_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """A folder beside `folder` to write to; it takes its place at the end, or is removed if that fails."""
    check_folder(folder, force=force)
    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = _beside(target)
    draft.mkdir()
    try:
        yield draft
        check_folder(folder, force=force)
        _put_in_place(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, target: Path) -> None:
    """Rename, an earlier folder stepping aside until the new one is there."""
    if not target.exists():
        draft.rename(target)
        return
    earlier = _beside(target)
    target.rename(earlier)
    try:
        draft.rename(target)
    except BaseException:
        earlier.rename(target)
        raise
    shutil.rmtree(earlier)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")


# ---- files -------------------------------------------------------------------------------------------------


def write_json(content: dict[str, Any], file: Path) -> None:
    """Write strict JSON, indented for people."""
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def write_csv(table: pd.DataFrame, target: Path | IO[str]) -> None:
    """Write a table, labels made harmless (see `harmless`), floats with 10 digits."""
    safe = table.set_axis([harmless(name) for name in table.columns], axis=1)
    for j, dtype in enumerate(table.dtypes):
        if dtype.kind not in "biuf":
            safe.isetitem(j, table.iloc[:, j].map(harmless, na_action="ignore").to_numpy())
    safe.to_csv(target, index=False, float_format="%.10g", lineterminator="\n")


def show_table(table: pd.DataFrame, out: Path | None, *, force: bool) -> None:
    """Write a table to a file, or to stdout if `out` is None or "-"."""
    from latentbits.persistence import written_beside

    if out is None or str(out) == "-":
        write_csv(table, sys.stdout)
        return
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; give the name of a file")
    if out.exists() and not force:
        raise FileExistsError(f"{out} exists already; choose another --out, or use --force to replace it")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"{out.parent}: no such folder to write into; make it first")
    with written_beside(out) as draft:
        write_csv(table, draft)
