"""What a file holds, by the libraries used plainly and options that leave nothing to guess: no reader of ours."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import scipy.sparse as sp

MEANINGS = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}
MEANINGS |= dict.fromkeys(("", "na", "nan", "?", "n/a", "null", "none"), -1)


class Plain(NamedTuple):
    """Columns by name as texts; or a matrix of cells without names."""

    columns: dict[str, list[str]] | None
    cells: np.ndarray | None = None


def code(word: str) -> int:
    """0, 1 or -1; -2 for anything else."""
    word = word.strip().lower()
    if word in MEANINGS:
        return MEANINGS[word]
    try:
        number = float(word)
    except ValueError:
        return -2
    return int(number) if number in (0, 1) and "_" not in word else -2


def read_plainly(name: str, content: bytes, options: dict[str, Any]) -> Plain:
    """The content of a file of this name; raises whatever its library does."""
    stream = io.BytesIO(content)
    if name.endswith(".npy"):
        return Plain(None, _codes(np.load(stream, allow_pickle=False)))
    if name.endswith(".npz"):
        with np.load(stream, allow_pickle=False) as archive:
            names = archive.files
            if not {"format", "shape"} <= set(names):
                chosen = next((one for one in ("X", "x", "data") if one in names), names[0])
                return Plain(None, _codes(archive[chosen]))
        matrix = sp.load_npz(io.BytesIO(content))
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        return Plain(None, _codes(matrix.toarray()))
    if name.endswith((".mtx", ".mtx.gz")):
        return Plain(None, _codes(_matrix_market(_unpacked(content).decode("latin-1"))))
    if name.endswith((".parquet", ".feather")):
        frame = pq.ParquetFile(stream).read().to_pandas() if name.endswith(".parquet") else pd.read_feather(stream)
        return Plain({str(column): _texts(frame[column]) for column in frame.columns})
    if name.endswith(".xlsx"):
        frame = pd.read_excel(stream, header=None, dtype=object, na_filter=False)
        head, *body = frame.map(_text).to_numpy().tolist()
        return _table([head, *body])
    return _table(_fields(_unpacked(content), options["delimiter"]))


def _matrix_market(text: str) -> np.ndarray:
    """By loops; SciPy's own reader ends the process on some damaged files."""
    banner, *lines = io.StringIO(text, newline=None)  # splitlines would cut at other characters as well
    _, _, layout, field, symmetry = banner.lower().split()
    sizes, *entries = [line.split() for line in lines if line.strip() and not line.startswith("%")]
    n_rows, n_columns, *n_entries = map(int, sizes)
    cells = np.zeros((n_rows, n_columns))
    places = [(i, j) for j in range(n_columns) for i in range(n_rows)]
    if symmetry != "general":
        assert n_rows == n_columns
        places = [(i, j) for i, j in places if i > j or (i == j and symmetry != "skew-symmetric")]
    if layout == "coordinate":
        places = [(int(float(i)) - 1, int(float(j)) - 1) for i, j, *_ in entries]
        assert n_entries == [len(entries)]
        assert all(0 <= i < n_rows and 0 <= j < n_columns for i, j in places)
    for (i, j), entry in zip(places, entries, strict=True):
        value = 1 if field == "pattern" else float(entry[-1])
        cells[i, j] += value
        if symmetry != "general" and i != j:
            cells[j, i] += -value if symmetry == "skew-symmetric" else value
    return cells


def _codes(values: Any) -> np.ndarray:
    numbers = np.asarray(values).astype(float)
    return np.where(np.isnan(numbers), -1, np.where(np.isin(numbers, (0, 1)), numbers, -2)).astype(int)


def _text(value: Any) -> str:
    if value is None or value is pd.NA or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _texts(column: pd.Series) -> list[str]:
    return [_text(value) for value in column.tolist()]


def _unpacked(content: bytes) -> bytes:
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            (name,) = archive.namelist()
            return archive.read(name)
    for magic, unpack in ((b"\x1f\x8b", gzip.decompress), (b"BZh", bz2.decompress), (b"\xfd7zXZ", lzma.decompress)):
        if content.startswith(magic):
            return unpack(content)
    return content


def _fields(content: bytes, delimiter: str) -> list[list[str]]:
    encoding = "utf-8-sig"
    if content.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        encoding = "utf-32"
    elif content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    text = io.StringIO(content.decode(encoding), newline="")
    return list(csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True))


def _table(lines: list[list[str]]) -> Plain:
    """Names above cells; blank lines are skipped, and so are empty fields behind the last name."""
    width = max((j + 1 for line in lines for j, field in enumerate(line) if field.strip()), default=0)
    used = [line for line in lines if line and (any(field.strip() for field in line) or len(line) > 1 or width == 1)]
    while used and not any(field.strip() for field in used[0]):
        used.pop(0)
    head, *body = used
    names = [name.strip() for name in head]
    if len(names) > 1 and len(body) > 1 and {len(line) for line in body} == {len(names) + 1}:
        names = ["", *names] if any(line[-1].strip() for line in body) else names
    while not names[-1] and not any(line[len(names) - 1 :] and line[len(names) - 1].strip() for line in body):
        names.pop()
    return Plain({name: [line[j] if j < len(line) else "<absent>" for line in body] for j, name in enumerate(names)})
