"""Files as attackers and accidents make them: well-formed tables of many kinds, damage, and bombs."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp

NAMES = ["Sus", "Élan", "a b", "x,y", 'say "so"', "two\nlines", "tab\there", "日本", "o;p|q", "=1+1", "a'b", "Ω" * 60]
"""What columns are called; none looks like an identifier, a measurement, a number or a comment."""

WORDS: dict[int, list[str]] = {
    0: ["0", "0", "0.0", "FALSE", "no", " 0", "0e5", "-0"],
    1: ["1", "1", "1.0", "TRUE", "Yes", "1 ", "1e0", "+1"],
    -1: ["", "", "NA", "nan", "?", "N/A", "null", "None"],
}
"""How cells are written."""

TOKENS = [
    b"\0",
    b'"',
    b'""',
    b"\r",
    b"\n",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b"|",
    b"#",
    b"sep=;\n",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
]
TOKENS += [
    b"2",
    b"-9",
    b"1e999",
    b"9" * 400,
    b"0,1",
    b"\xff",
    b"\xc3",
    "\u2028".encode(),
    b"'",
    b"\x1a",
    b"x",
    b" ",
    b"1_0",
]
TOKENS += [
    b"\x1b[31m",
    b"\xed\xa0\x80",
    b"\x00\xd8",
    b"0x1",
    b"inf",
    "\u0661".encode(),
    b"\x0b\x0c\x1c\x85",
    b"a" * 140_000,
]
"""What gets into texts."""


@dataclass(frozen=True)
class HostileFile:
    """A file, the options to read it with, and the table that it holds, if it is known."""

    name: str
    content: bytes
    options: dict[str, Any] = field(default_factory=dict)
    cells: np.ndarray | None = None
    columns: list[str] | None = None


def table(rng: np.random.Generator) -> tuple[np.ndarray, list[str]]:
    """Cells (-1 is missing) and names."""
    n_rows, n_columns = rng.integers(1, 12), rng.integers(1, 7)
    cells = rng.choice([0, 1, -1], size=(n_rows, n_columns), p=[0.5, 0.4, 0.1])
    return cells, list(rng.choice(NAMES, n_columns, replace=False))


# ---- well formed -------------------------------------------------------------------------------------------------


def text(rng: np.random.Generator) -> HostileFile:
    """Delimited text, compressed or not; the options say all that could be guessed."""
    cells, names = table(rng)
    delimiter, end = rng.choice([",", "\t", ";", "|"]), rng.choice(["\n", "\r\n"])
    labelled = rng.random() < 0.5
    lines = [[rng.choice(WORDS[int(cell)]) for cell in row] for row in cells]
    if labelled:
        lines = [[f"row {i}", *line] for i, line in enumerate(lines)]
    buffer = io.StringIO(newline="")
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(buffer, delimiter=str(delimiter), lineterminator=str(end), quoting=int(quoting))
    writer.writerows([[*(["place"] if labelled else []), *names], *lines])
    encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "utf-32"], p=[0.7, 0.1, 0.1, 0.1])
    packed, ending = compressed(rng, buffer.getvalue().encode(str(encoding)))
    options = {"delimiter": str(delimiter), "comment": "", "row_labels": "place" if labelled else False}
    return HostileFile(f"t.csv{ending}", packed, options, cells, names)


def compressed(rng: np.random.Generator, content: bytes) -> tuple[bytes, str]:
    """The content, packed in one of the ways or in none, and how the name ends then."""
    ways: list[tuple[Callable[[bytes], bytes], str]] = [
        (bytes, ""),
        (lambda raw: gzip.compress(raw, mtime=0), ".gz"),
        (bz2.compress, ".bz2"),
        (lzma.compress, ".xz"),
        (lambda raw: zipped({"t.csv": raw}), ".zip"),
    ]
    pack, ending = ways[rng.choice(5, p=[0.5, 0.2, 0.1, 0.1, 0.1])]
    return pack(content), ending


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, level: int | None = None) -> bytes:
    """An archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=method, compresslevel=level)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    """An array as a file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def array_file(rng: np.random.Generator) -> HostileFile:
    """A .npy, or an .npz that is dense or sparse."""
    cells, _ = table(rng)
    kind = rng.choice(["npy", "npz", "sparse"])
    if kind == "sparse":
        ones = np.abs(cells)
        buffer = io.BytesIO()
        made = getattr(sp, f"{rng.choice(['csr', 'csc', 'coo', 'bsr', 'dia'])}_array")(ones)
        sp.save_npz(buffer, made, compressed=bool(rng.integers(2)))
        return HostileFile("t.npz", buffer.getvalue(), {}, ones)
    with_missing = np.where(cells == -1, np.nan, cells)
    dtype = rng.choice(["<f8", ">f4", "<f2", "?", "i1", ">i8", "u2"])
    array = (with_missing if np.dtype(dtype).kind == "f" else np.abs(cells)).astype(dtype)
    array = np.asfortranarray(array) if rng.random() < 0.3 else array
    expected = np.where(np.isnan(array.astype(float)), -1, array.astype(float)).astype(int)
    content = npy(array)
    if kind == "npz":
        members = {"X.npy": content, "other.npy": npy(np.arange(3))}
        return HostileFile("t.npz", zipped(members, int(rng.choice([0, 8, 12, 14]))), {}, expected)
    return HostileFile("t.npy", content, {}, expected)


def matrix_market(rng: np.random.Generator) -> HostileFile:
    """An .mtx, perhaps by gzip."""
    ones = np.abs(table(rng)[0])
    buffer = io.BytesIO()
    kind = rng.choice(["integer", "real", "pattern", "array"])
    matrix = ones if kind == "array" else sp.coo_array(ones)
    scipy.io.mmwrite(buffer, matrix, field=None if kind == "array" else str(kind))
    if rng.random() < 0.3:
        return HostileFile("t.mtx.gz", gzip.compress(buffer.getvalue(), mtime=0), {}, ones)
    return HostileFile("t.mtx", buffer.getvalue(), {}, ones)


def frame(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """A frame of columns of several types."""
    cells, names = table(rng)
    columns = {}
    for j, name in enumerate(names):
        values = np.where(cells[:, j] == -1, np.nan, cells[:, j])
        made = pd.Series(values, dtype=str(rng.choice(["float64", "Int8", "float32"])))
        if rng.random() < 0.3 and (cells[:, j] != -1).any():
            made = pd.Series(
                [None if cell == -1 else rng.choice(WORDS[int(cell)][:4]) for cell in cells[:, j]], dtype=object
            )
        columns[name] = made
    return pd.DataFrame(columns), cells, names


def typed(rng: np.random.Generator) -> HostileFile:
    """A Parquet or Feather file."""
    made, cells, names = frame(rng)
    buffer = io.BytesIO()
    options = {"row_labels": False}
    if rng.random() < 0.6:
        made.to_parquet(buffer, compression=str(rng.choice(["snappy", "gzip", "zstd"])))
        return HostileFile("t.parquet", buffer.getvalue(), options, cells, names)
    made.to_feather(buffer, compression=str(rng.choice(["lz4", "zstd", "uncompressed"])))
    return HostileFile("t.feather", buffer.getvalue(), options, cells, names)


def workbook(rng: np.random.Generator) -> HostileFile:
    """An .xlsx file."""
    made, cells, names = frame(rng)
    names = ["formula" if name.startswith("=") else name for name in names]  # which Excel would compute
    made.columns = names
    if (cells[-1] == -1).all():  # a sheet ends with its last cell
        cells[-1, 0], made.iloc[-1, 0] = 1, 1
    buffer = io.BytesIO()
    made.to_excel(buffer, index=False)
    return HostileFile("t.xlsx", buffer.getvalue(), {"row_labels": False}, cells, names)


# ---- damage ------------------------------------------------------------------------------------------------------


def damaged(rng: np.random.Generator, file: HostileFile) -> HostileFile:
    """The same with some bytes changed, anywhere, or in what is packed; nothing is known of its cells."""
    content = file.content
    if rng.random() < 0.5:
        content = _inside(rng, content)
    if content is file.content or rng.random() < 0.2:
        content = mutated(rng, content)
    return HostileFile(file.name, content, file.options)


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """One to three changes of bytes."""
    for _ in range(rng.integers(1, 4)):
        content = _changed(rng, content)
    return content


def _changed(rng: np.random.Generator, content: bytes) -> bytes:
    at = int(rng.integers(0, len(content) + 1))
    length = int(rng.integers(1, 1 + max(1, len(content) // 4)))
    token = TOKENS[rng.integers(len(TOKENS))]
    head, tail = content[:at], content[at:]
    flipped = bytes([(tail[0] if tail else 0) ^ (1 << int(rng.integers(8)))])
    number = str(rng.choice([0, -1, 2**31, 2**40, 2**63, 10**12])).encode()
    changes = [
        head,
        head + tail[length:],
        head + tail[:length] + tail,
        head + token + tail,
        head + token + tail[len(token) :],
        head + rng.bytes(length) + tail[length:],
        head + flipped + tail[1:],
        head + number + tail[1:],
    ]
    return changes[rng.integers(len(changes))]


def _inside(rng: np.random.Generator, content: bytes) -> bytes:
    """Change what is packed, and pack it again; the content itself if it is packed in no way."""
    if content.startswith(b"\x1f\x8b"):
        return gzip.compress(mutated(rng, gzip.decompress(content)), mtime=0)
    if content.startswith(b"BZh"):
        return bz2.compress(mutated(rng, bz2.decompress(content)))
    if content.startswith(b"\xfd7zXZ"):
        return lzma.compress(mutated(rng, lzma.decompress(content)))
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        chosen = str(rng.choice(sorted(members)))
        members[chosen] = _hostile_header(rng, members[chosen]) if rng.random() < 0.5 else mutated(rng, members[chosen])
        if rng.random() < 0.1:
            members.pop(chosen)
        return zipped(members)
    if content.startswith((b"\x93NUMPY", b"%%MatrixMarket")):
        return _hostile_header(rng, content)
    return content


def _hostile_header(rng: np.random.Generator, content: bytes) -> bytes:
    """Another header of an array or a matrix: false types, sizes and syntax."""
    number = str(rng.choice([0, -1, 1, 3, 10**6, 2**31, 2**40, 2**62, 10**30]))
    if content.startswith(b"%%MatrixMarket"):
        lines = content.split(b"\n")
        at = next((i for i, line in enumerate(lines) if not line.startswith(b"%")), 0)
        parts = lines[at].split()
        if rng.random() < 0.3:
            lines[0] = lines[0].replace(b"general", [b"symmetric", b"hermitian", b"skew-symmetric"][rng.integers(3)])
        elif parts:
            parts[rng.integers(len(parts))] = number.encode()
            lines[at] = b" ".join(parts)
        return b"\n".join(lines)
    if not content.startswith(b"\x93NUMPY"):
        return mutated(rng, content)
    shape = f"({number}, {rng.choice([0, 1, 3, -2, 2**40])})"
    dtype = rng.choice(
        ["'<f8'", "'|O'", "'<U3'", "'V0'", "'<c16'", "'<M8[s]'", "'S0'", "[('a', '<f8')]", "'<f'*9", "None", "'\\n'"]
    )
    header = [
        f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}",
        f"{{'descr': '<f8', 'fortran_order': {number}, 'shape': {shape}, }}",
        "{'descr': '<f8', 'shape': (1, 1), " + "(" * int(rng.integers(1, 9000)),
        f"{{'descr': '|i1', 'fortran_order': False, 'shape': {'(' * 50}2{',)' * 50}, }}",
        "'''",
        "{" * 300,
    ][rng.integers(6)].encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content[-100:]


# ---- bombs -------------------------------------------------------------------------------------------------------


def bombs() -> dict[str, Callable[[], bytes]]:
    """What makes small files that claim or unpack to gigabytes, by the name of the file."""
    rows = b"0\n" * (1 << 20)
    return {
        "rows.csv.bz2": lambda: bz2.compress(b"a\n") + bz2.compress(rows) * 1000,
        "nuls.csv.bz2": lambda: bz2.compress(bytes(1 << 24)) * 200,
        "one_line.csv.bz2": lambda: bz2.compress(b"a,b\n") + bz2.compress(b"0" * (1 << 24)) * 200,
        "rows.csv.xz": lambda: lzma.compress(b"a\n") + lzma.compress(rows) * 1000,
        "rows.csv.gz": lambda: gzip.compress(b"a\n") + gzip.compress(rows) * 1000,
        "rows.zip": lambda: zipped({"t.csv": b"a\n" + rows * 200}, level=1),
        "array.npz": lambda: zipped({"X.npy": _claiming_array("(81920, 16384)") + bytes(81920 * 16384)}, level=1),
        "rows.mtx.gz": lambda: (
            gzip.compress(b"%%MatrixMarket matrix array integer general\n1048576 1000\n") + gzip.compress(rows) * 1000
        ),
        "array.mtx": lambda: b"%%MatrixMarket matrix array real general\n109000 109000\n1\n",
        "shape.mtx": lambda: b"%%MatrixMarket matrix coordinate integer general\n2000000000 2000000000 1\n1 1 1\n",
        "entries.mtx": lambda: b"%%MatrixMarket matrix coordinate integer general\n3 3 9000000000\n1 1 1\n",
        "claims.npy": lambda: _claiming_array("(109000, 109000)"),
        "sparse.npz": _hollow_sparse,
        "far_cell.xlsx": lambda: _sheet(
            '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
        ),
        "rows.xlsx": lambda: _sheet("<row><c><v>1</v></c></row>" * 3_000_000),
        "entities.xlsx": _entities,
        "rows.parquet": _parquet,
        "words.parquet": _parquet_of_words,
        "rows.feather": _feather,
    }


def _claiming_array(shape: str) -> bytes:
    """The header of an array of bytes of this shape."""
    header = f"{{'descr': '|i1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def _hollow_sparse() -> bytes:
    """Two rows of a matrix that claims billions."""
    arrays = {
        "format": np.array(b"coo"),
        "shape": np.array([2**33, 2**33]),
        "data": np.ones(1),
        "_is_array": np.array(True),
    }
    arrays |= {"coords": np.zeros((2, 1), np.int64), "row": np.zeros(1, np.int64), "col": np.zeros(1, np.int64)}
    return zipped({f"{name}.npy": npy(array) for name, array in arrays.items()})


def _sheet(rows: str, declaration: str = "") -> bytes:
    """A workbook whose only sheet has these rows."""
    buffer = io.BytesIO()
    pd.DataFrame({"a": [1]}).to_excel(buffer, index=False)
    with zipfile.ZipFile(buffer) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    members["xl/worksheets/sheet1.xml"] = (
        f"{declaration}<worksheet {space}><sheetData>{rows}</sheetData></worksheet>".encode()
    )
    return zipped(members)


def _entities() -> bytes:
    """Ten entities of ten entities each, nine times."""
    names = "abcdefghij"
    made = ['<!ENTITY a "1234567890">']
    made += [f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names)]
    cell = '<row r="1"><c r="A1" t="inlineStr"><is><t>&j;</t></is></c></row>'
    return _sheet(cell, f"<!DOCTYPE x [{''.join(made)}]>")


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer, group = io.BytesIO(), pa.table({"a": np.zeros(1 << 22, np.int8)})
    with pq.ParquetWriter(buffer, group.schema) as writer:
        for _ in range(64):
            writer.write_table(group)
    return buffer.getvalue()


def _parquet_of_words() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 20, np.int32)), pa.array(["x" * (1 << 17)]))
    pq.write_table(pa.table({"a": words}), buffer, store_schema=False)
    return buffer.getvalue()


def _feather() -> bytes:
    import pyarrow as pa
    import pyarrow.feather

    buffer = io.BytesIO()
    pa.feather.write_feather(pa.table({"a": np.zeros(5 << 28, np.int8)}), buffer, "zstd", 1, chunksize=5 << 28)
    return buffer.getvalue()
