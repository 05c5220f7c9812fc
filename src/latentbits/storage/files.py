"""Files that are there as a whole or not at all, strict JSON, and tables that no spreadsheet takes for a program."""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from latentbits.wording import CSV_DIGITS, rounded

if TYPE_CHECKING:
    import pandas as pd

MODEL_FILE = "model.npz"
"""The model in the folder of a fit."""

_DEEPEST = 30  # levels of JSON; what this library writes has less than ten
_FORMULA = re.compile("(^|[;\\t\\r\\n\ufeff\u200b-\u200f\u2060]\\s*)('*)(?=[-=+@\\t\\r\\n\uff1d\uff0b\uff0d\uff20])")
"""Before what spreadsheets take for the beginning of a formula, the wide forms of East Asian keyboards among them: at
the beginning of a label, after characters that nobody sees, and after what may separate cells elsewhere."""


# ---- whole or not at all -----------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A free path beside `path` to write to; renamed to `path` at the end, or removed if anything fails."""
    draft = _beside(path)
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """A new folder beside `path` to write into; it becomes `path` at the end, or is removed if anything fails.

    Without `replace`, a folder that somebody else has made in the meantime stays, and FileExistsError is raised.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = _beside(target)
    draft.mkdir()
    try:
        yield draft
        _put_in_place(draft, target, replace=replace)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, target: Path, *, replace: bool) -> None:
    """Rename; an earlier folder, which no rename can replace, changes places with the new one."""
    try:
        draft.rename(target)  # whatever is in the way, but an empty folder, makes this fail
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        if not replace:
            raise FileExistsError(f"{target} was made by somebody else in the meantime; choose another --out") from None
    if not _exchange(draft, target):
        # Where the system can't do it in one step, the earlier one is moved aside until the new one is there.
        earlier = _beside(target)
        target.rename(earlier)
        try:
            draft.rename(target)
        except BaseException:
            earlier.rename(target)
            raise
        shutil.rmtree(earlier)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step, so that there is always one of them; False if this isn't possible.

    Linux can do it, but Python doesn't know.
    """
    import ctypes

    current_folder, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if renameat2 is None:
        return False
    return renameat2(current_folder, os.fsencode(one), current_folder, os.fsencode(other), exchange) == 0


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")


# ---- JSON --------------------------------------------------------------------------------------------------


def plain_scalar(value: Any) -> bool | int | float:
    """A NumPy scalar as Python's own, for `json.dumps(..., default=plain_scalar)`.

    Examples
    --------
    >>> import numpy as np
    >>> json.dumps({"n": np.int64(3), "x": np.float32(0.5), "ok": np.bool_(True)}, default=plain_scalar)
    '{"n": 3, "x": 0.5, "ok": true}'
    """
    import numpy as np

    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def parse_json(text: str | bytes) -> Any:
    """What JSON says that anybody may have written; ValueError for what isn't JSON, or nested beyond use.

    Parameters
    ----------
    text : str or bytes
        The JSON.

    Returns
    -------
    object

    Examples
    --------
    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    try:
        content = json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level = [content]
    for _ in range(_DEEPEST):
        parts = [part for part in level if isinstance(part, dict | list)]
        if not parts:
            return content
        level = [item for part in parts for item in (part.values() if isinstance(part, dict) else part)]
    raise ValueError("it is nested too deeply")


def to_json(content: Any) -> str:
    """Strict JSON for people and programs: indented, or a line for each entry of a list; floats with 12 digits."""
    content = _with_rounded_floats(content)
    write = partial(json.dumps, ensure_ascii=False, allow_nan=False, default=plain_scalar)
    lines = "[\n" + ",\n".join(map(write, content)) + "\n]" if isinstance(content, list) else write(content, indent=2)
    # Half a surrogate pair (a byte of the command line that is no UTF-8) can't be written, but as \udcff it can.
    return lines.encode("utf-8", "backslashreplace").decode("utf-8")


def _with_rounded_floats(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _with_rounded_floats(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_with_rounded_floats(value) for value in content]
    return rounded(content) if isinstance(content, float) else content


def to_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON knows it: a dict for each line, and None where there is no value."""
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in record.items()} for record in records]


def write_json(content: Any, target: Path | IO[str]) -> None:
    """Write strict JSON."""
    text = to_json(content) + "\n"
    if isinstance(target, Path):
        target.write_text(text, encoding="utf-8")
    else:
        target.write(text)


# ---- CSV ---------------------------------------------------------------------------------------------------


def write_csv(table: pd.DataFrame, target: Path | IO[str]) -> None:
    """Write a table, floats with 10 digits, and no label that a spreadsheet would run (see `escape_formula`)."""
    safe = table.set_axis([escape_formula(name) for name in table.columns], axis=1)
    for j, dtype in enumerate(table.dtypes):
        if dtype.kind not in "biuf":
            safe.isetitem(j, table.iloc[:, j].map(escape_formula, na_action="ignore").to_numpy())
    safe.to_csv(target, index=False, float_format=f"%.{CSV_DIGITS}g", lineterminator="\n", quoting=_quoting(safe))


def escape_formula(label: object) -> object:
    """A label that would begin a formula, or contain the beginning of one, with an apostrophe in front of it.

    Numbers stay as they are.

    Apostrophes that are in front already get one more, so that no two labels become the same, and
    `restore_label` can take it away again.

    Examples
    --------
    >>> [escape_formula(label) for label in ("=1+1", "-0.5", "Equus", "'=1+1", "x;=1+1")]
    ["'=1+1", '-0.5', 'Equus', "''=1+1", "x;'=1+1"]
    """
    if not isinstance(label, str):
        return label
    with contextlib.suppress(ValueError):
        float(label)
        return label
    return _FORMULA.sub(r"\1'\2", label)


def restore_label(written: str) -> str:
    """The label that `escape_formula` has written.

    Examples
    --------
    >>> [restore_label(str(escape_formula(label))) for label in ("=1+1", "-0.5", "'quoted'", "'=1+1")]
    ['=1+1', '-0.5', "'quoted'", "'=1+1"]
    """
    return _FORMULA.sub(lambda found: found[1] + found[2].removeprefix("'"), written)


def _quoting(table: pd.DataFrame) -> Literal[0, 2]:
    """All text in quotes if one has a carriage return, which most readers take for the end of a line."""
    texts = [*table.columns, *table.select_dtypes(exclude="number").to_numpy(dtype=object).ravel()]
    return csv.QUOTE_NONNUMERIC if any("\r" in text for text in texts if isinstance(text, str)) else csv.QUOTE_MINIMAL
