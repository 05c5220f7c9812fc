"""Files that are there as a whole or not at all, and tables that no spreadsheet takes for a program."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from latentbits.findings.results import harmless

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.cli.console import Voice

__all__ = [
    "DATA_FILE",
    "MODEL_FILE",
    "PLOTS_FOLDER",
    "REPORT_FILE",
    "SUMMARY_FILE",
    "as_json",
    "as_records",
    "check_folder",
    "check_target",
    "list_file",
    "new_folder",
    "show_table",
    "stored_summary",
    "write_csv",
    "write_json",
]

MODEL_FILE, DATA_FILE, SUMMARY_FILE, REPORT_FILE = "model.npz", "data.npz", "summary.json", "report.html"
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


def stored_summary(folder: Path) -> dict[str, Any]:
    """The summary that an earlier output has left in its folder; empty if there is none that can be read."""
    with contextlib.suppress(OSError, ValueError):
        content = json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))
        # Once more, because \ud800 is good JSON, but no text that can be written.
        content = json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))
        return content if isinstance(content, dict) else {}
    return {}


def _listed_files(folder: Path) -> set[str]:
    """The files that an earlier output says it has; none if the folder isn't one."""
    files = stored_summary(folder).get("files")
    return {str(name) for name in files} if isinstance(files, list) else set()


def list_file(folder: Path, name: str) -> None:
    """Add a file to those that the folder's summary lists, so that it is known as part of the output."""
    from latentbits.persistence import written_beside

    listed = _listed_files(folder)
    if listed and name not in listed:
        summary = stored_summary(folder)
        summary["files"].append(name)
        with written_beside(folder / SUMMARY_FILE) as draft:
            write_json(summary, draft)


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


def as_json(content: Any) -> str:
    """Strict JSON for people and programs: indented, or a line for each entry of a list."""
    write = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    if isinstance(content, list):
        return "[\n" + ",\n".join(write(entry) for entry in content) + "\n]"
    return write(content, indent=2)


def as_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON knows it: a dict for each line, and None where there is no value."""
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in record.items()} for record in records]


def write_json(content: Any, target: Path | IO[str]) -> None:
    """Write strict JSON."""
    text = as_json(content) + "\n"
    if isinstance(target, Path):
        target.write_text(text, encoding="utf-8")
    else:
        target.write(text)


def write_csv(table: pd.DataFrame, target: Path | IO[str]) -> None:
    """Write a table, labels made harmless (see `harmless`), floats with 10 digits."""
    safe = table.set_axis([harmless(name) for name in table.columns], axis=1)
    for j, dtype in enumerate(table.dtypes):
        if dtype.kind not in "biuf":
            safe.isetitem(j, table.iloc[:, j].map(harmless, na_action="ignore").to_numpy())
    safe.to_csv(target, index=False, float_format="%.10g", lineterminator="\n", quoting=_quoting(safe))


def _quoting(table: pd.DataFrame) -> Literal[0, 2]:
    """All text in quotes if one has a carriage return, which most readers take for the end of a line."""
    texts = [*table.columns, *table.select_dtypes(exclude="number").to_numpy(dtype=object).ravel()]
    return csv.QUOTE_NONNUMERIC if any("\r" in text for text in texts if isinstance(text, str)) else csv.QUOTE_MINIMAL


def check_target(out: Path, *, force: bool) -> None:
    """Refuse a file that exists, unless `force`, or that could not be written."""
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; give the name of a file")
    if out.exists() and not force:
        raise FileExistsError(f"{out} exists already; choose another --out, or use --force to replace it")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"{out.parent}: no such folder to write into; make it first")


def show_table(table: pd.DataFrame, out: Path | None, *, force: bool, voice: Voice, told: str = "") -> None:
    """Write a table to a file and say so, with what is `told` of it, or write it to stdout: CSV, or JSON records."""
    from latentbits.persistence import written_beside

    def write(target: Path | IO[str]) -> None:
        if voice.as_json:
            write_json(as_records(table), target)
        else:
            write_csv(table, target)

    if out is None:
        write(sys.stdout)
        return
    check_target(out, force=force)
    with written_beside(out) as draft:
        write(draft)
    voice.say(f"Wrote {out}{told}.")
