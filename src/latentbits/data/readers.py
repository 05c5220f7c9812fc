"""Files of 0-1 data: delimited text, NumPy, Matrix Market and Parquet.

Text is read with the standard library's csv module, because it alone can tell the line, the column and the
value of every cell that is neither 0, 1 nor missing.
"""

from __future__ import annotations

import difflib
import math
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.io
import scipy.sparse as sp

from latentbits.data.binary_data import (
    BAD,
    MISSING,
    SHOWN,
    BinaryData,
    Origin,
    bad_cells_error,
    check_column_names,
    encode,
    quoted,
)
from latentbits.data.text_file import TextFile, is_blank, option
from latentbits.errors import DataError

__all__ = ["check_is_file", "read_table"]

_TRUE = ("true", "yes")
_FALSE = ("false", "no")
_MISSING = ("", "na", "nan", "?", "n/a", "null", "none")
_CACHED_TOKENS = 100_000  # distinct measurements under a threshold may be as many as the cells
_BAD_BYTE = BAD & 0xFF


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    header: bool = True,
    row_labels: str | int | bool | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    missing: str | Sequence[str] | None = None,
    true: str | Sequence[str] | None = None,
    false: str | Sequence[str] | None = None,
    presence: str | None = None,
    threshold: float | None = None,
    encoding: str = "utf-8",
    array: str | None = None,
) -> BinaryData:
    """Read a file of 0-1 data.

    The extension decides: .npy, .npz (dense or saved by `scipy.sparse.save_npz`), .mtx and .mtx.gz (Matrix
    Market), .parquet; everything else is read as delimited text, gzip-compressed or not.

    In text, cells are matched without regard to case and surrounding blanks. 1, TRUE and yes (and any number
    equal to 1) are ones; 0, FALSE and no (and any number equal to 0) are zeros; empty cells, NA, NaN, ?, N/A,
    null and None are missing. Anything else is an error.

    Parameters
    ----------
    path : str or Path
    delimiter : str, optional
        One character. By default the one of comma, tab, semicolon and | that splits the first lines into the
        same number of fields, and into the most.
    header : bool
        Whether the first line names the columns. Without a header the columns are x1, x2, ... by their
        position in the file.
    row_labels : str, int or False, optional
        The column that names the rows, by its name or its position from 0; False if there is none. By default
        the first column is taken for the labels if its name is empty, or if the file has other columns
        and at least half of the first one's filled cells can't be read as 0 or 1.
    columns : sequence of str, optional
        Read only these columns, in this order.
    exclude : sequence of str, optional
        Leave these columns out, such as site, age or unit.
    missing : str or sequence of str, optional
        The markers of missing cells, instead of the default ones; an empty cell remains missing.
    true, false : str or sequence of str, optional
        Further words for 1 and for 0; they go before the default words.
    presence : str, optional
        The mark of a presence, such as "x": cells with it are 1 and empty cells are 0.
    threshold : float, optional
        Every number >= `threshold` is 1 and every smaller one 0.
    encoding : str
        Of the text. A byte-order mark is skipped.
    array : str, optional
        The array to read from an .npz file that holds several.

    Raises
    ------
    DataError
        One sentence with the file, the line, the column and the value, and what to do about it.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "sites.csv"
    >>> _ = path.write_text("site,Equus,Sus\\nPikermi,1,0\\nSamos,yes,NA\\n")
    >>> data = read_table(path)
    >>> data
    BinaryData(2 rows x 2 columns, 2 ones, 1 missing)
    >>> data.row_names, data.column_names
    (['Pikermi', 'Samos'], ['Equus', 'Sus'])
    >>> folder.cleanup()
    """
    file = Path(path)
    origin = Origin(file.name, "threshold={0:g} (--threshold {0:g})")
    check_is_file(file, origin)
    if threshold is not None and not math.isfinite(threshold):
        raise origin.error(f"threshold={threshold} is not a finite number; use for example threshold=1")
    choice = _Choice(row_labels, columns, exclude)
    kind = Path(file.name.lower().removesuffix(".gz")).suffix[1:]
    words = {"missing": missing, "true": true, "false": false, "presence": presence, "delimiter": delimiter}
    if kind != "npz":
        _refuse_options({"array": array}, "to .npz files", origin)
    if kind in ("npy", "npz", "mtx", "parquet"):
        _refuse_options(words, f"to delimited text, not to .{kind} files", origin)
    if kind == "parquet":
        return _read_parquet(file, choice, threshold, origin)
    if kind in ("npy", "npz", "mtx"):
        _refuse_options(vars(choice), f"to files with column names, not to .{kind} files", origin)
        return _read_matrix(file, kind, array, threshold, origin)
    tokens = _Tokens(_vocabulary(missing, true, false, presence, origin), threshold)
    return _TextReader(TextFile(file, origin, encoding, delimiter), origin, header, choice, tokens).read()


def check_is_file(file: Path, origin: Origin) -> None:
    """Refuse a folder, and a file that is not there (with what may have been meant)."""
    if file.is_dir():
        raise origin.error("this is a folder; give the path of a file in it")
    if not file.exists():
        try:
            near = difflib.get_close_matches(file.name, [other.name for other in file.parent.iterdir()], 1, 0.75)
        except OSError:
            near = []
        hint = f"did you mean {quoted(near[0])}?" if near else f"check the path {quoted(str(file))}"
        raise origin.error(f"no such file; {hint}")


def _refuse_options(options: dict[str, Any], applies: str, origin: Origin) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise origin.error(f"the option {given[0]} applies only {applies}; leave it out")


# Choosing columns


@dataclass(frozen=True)
class _Choice:
    """The columns that the caller asked for."""

    row_labels: str | int | bool | None
    columns: Sequence[str] | None
    exclude: Sequence[str] | None

    def label(self, names: Sequence[str], origin: Origin) -> int | None:
        """The position of the label column that the caller named."""
        if self.row_labels is None or self.row_labels is False:
            return None
        if isinstance(self.row_labels, str):
            return _positions([self.row_labels], names, origin)[0]
        if not 0 <= self.row_labels < len(names):
            raise origin.error(
                f"row_labels={self.row_labels} is not a column; use 0 to {len(names) - 1}, a name or False"
            )
        return int(self.row_labels)

    def data(self, names: Sequence[str], label: int | None, origin: Origin) -> list[int]:
        """The positions of the data columns, without the label column."""
        wanted = range(len(names)) if self.columns is None else _positions(self.columns, names, origin)
        left_out = {label, *_positions(self.exclude or (), names, origin)}
        chosen = [j for j in wanted if j not in left_out]
        if not chosen:
            raise origin.error("no data columns are left; check columns, exclude and row_labels")
        return chosen


def _positions(wanted: str | Sequence[str], names: Sequence[str], origin: Origin) -> list[int]:
    """Where the wanted names are among the names."""
    where = {name: j for j, name in enumerate(names)}
    listed = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in listed:
        if name not in where:
            near = difflib.get_close_matches(str(name), names, 3) or names[:3]
            raise origin.error(
                f"there is no column {quoted(str(name))}; did you mean {' or '.join(map(quoted, near))}?"
            )
    return [where[name] for name in listed]


# What the words in a text file mean


def _vocabulary(
    missing: str | Sequence[str] | None,
    true: str | Sequence[str] | None,
    false: str | Sequence[str] | None,
    presence: str | None,
    origin: Origin,
) -> dict[str, int]:
    """The code of each known word in lower case; what the caller says goes before the defaults."""
    given: dict[str, int] = {}
    if presence is not None:
        given = {presence.strip().lower(): 1, "": 0}
    for words, code in ((missing, MISSING), (true, 1), (false, 0)):
        for word in [words] if isinstance(words, str) else words or ():
            key = word.strip().lower()
            if given.setdefault(key, code) != code:
                raise origin.error(
                    f"the word {quoted(word)} has two meanings; give it in only one of missing, true, false "
                    "and presence"
                )
    defaults = dict.fromkeys(_TRUE, 1) | dict.fromkeys(_FALSE, 0)
    defaults |= dict.fromkeys(_MISSING if missing is None else ("",), MISSING)
    return defaults | given


class _Tokens(dict[str, int]):
    """The byte for each cell text: its code, with MISSING and BAD as two's complement.

    A text is understood once and then looked up, so that a file costs one dict access a cell.
    """

    def __init__(self, vocabulary: dict[str, int], threshold: float | None) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.threshold = threshold

    def __missing__(self, text: str) -> int:
        byte = self._code(text.strip().lower()) & 0xFF
        if len(self) < _CACHED_TOKENS:
            self[text] = byte
        return byte

    def _code(self, word: str) -> int:
        if word in self.vocabulary:
            return self.vocabulary[word]
        number = _number(word)
        if number is None:
            return BAD
        if self.threshold is not None:
            return int(number >= self.threshold)
        return int(number) if number in (0, 1) else BAD

    def codes(self, texts: Iterable[str]) -> bytes:
        """The bytes for the texts."""
        return bytes(map(self.__getitem__, texts))


def _number(text: str) -> float | None:
    """The finite number that a text is, or None; 1_0 is none, though Python reads it."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


# Delimited text


@dataclass
class _BadCells:
    """The cells that could not be read: how many in each column; the first as (line, column, text)."""

    counts: Counter[int] = field(default_factory=Counter)
    first: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, line: int, columns: Sequence[int], texts: Sequence[str], codes: bytes) -> None:
        """Take note of the bad cells of a row, or of some of its columns."""
        bad = [(line, j, text) for j, text, code in zip(columns, texts, codes, strict=True) if code == _BAD_BYTE]
        self.counts.update(j for _, j, _ in bad)
        self.first = sorted(self.first + bad)[:SHOWN]


@dataclass(frozen=True)
class _Layout:
    """Which column of a text file is what.

    `aside` is the column kept as text: the labels or, if `undecided`, the first data column, of which only
    its content can tell whether it holds labels. `read` are the columns read as cells.
    """

    names: list[str]
    data: list[int]
    aside: int | None
    undecided: bool

    @property
    def read(self) -> list[int]:
        return [j for j in self.data if j != self.aside]


@dataclass
class _Body:
    """The rows of a text file: codes of the columns read, and texts and lines of the column set aside."""

    codes: bytearray = field(default_factory=bytearray)
    texts: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    bad: _BadCells = field(default_factory=_BadCells)


@dataclass(frozen=True)
class _TextReader:
    """One pass over one delimited text file."""

    text: TextFile
    origin: Origin
    header: bool
    choice: _Choice
    tokens: _Tokens

    def read(self) -> BinaryData:
        with self.text.rows() as rows:
            return self._read_rows(rows)

    def _read_rows(self, rows: Iterator[tuple[int, list[str]]]) -> BinaryData:
        line, first = next((line, row) for line, row in rows if not is_blank(row, width=2))
        if self.header:
            layout = self._layout(self._header_names(first, line), f"line {line}")
        else:
            layout = self._layout([f"x{j + 1}" for j in range(len(first))], f"line {line}")
            rows = chain([(line, first)], rows)
        body = self._read_body(rows, layout)
        if not body.lines:
            raise self.origin.error(
                "there is a header but no row below it; add rows, or use header=False (--no-header)"
            )
        return self._assemble(layout, body)

    def _header_names(self, fields: list[str], line: int) -> list[str]:
        names = [name.strip() for name in fields]
        strict = _Tokens(self.tokens.vocabulary, None).codes(names)
        if _BAD_BYTE not in strict and any(names):
            raise self.origin.error(
                f"this looks like data ({quoted(names[-1])}), but a header line with column names is "
                "expected; add one, or use header=False (--no-header)",
                f"line {line}",
            )
        return names

    def _layout(self, names: list[str], place: str) -> _Layout:
        label = self.choice.label(names, self.origin)
        automatic = self.choice.row_labels is None
        if automatic and not names[0]:
            label = 0
        check_column_names(names, self.origin, place, unnamed=label)
        data = self.choice.data(names, label, self.origin)
        # A first column that wasn't chosen (nor left out) may hold the labels all the same.
        chosen = 0 in data and len(data) > 1
        undecided = automatic and label is None and (chosen or names[0] not in (self.choice.exclude or ()))
        undecided = undecided and len(names) > 1
        return _Layout(names, data, 0 if undecided else label, undecided)

    def _read_body(self, rows: Iterator[tuple[int, list[str]]], layout: _Layout) -> _Body:
        body, columns, encode_row = _Body(), layout.read, self.tokens.codes
        pick = _picker(columns)
        for line, row in self._whole_rows(rows, len(layout.names)):
            texts = pick(row)
            codes = encode_row(texts)
            body.codes += codes
            body.lines.append(line)
            if layout.aside is not None:
                body.texts.append(row[layout.aside].strip())
            if _BAD_BYTE in codes:
                body.bad.add(line, columns, texts, codes)
        return body

    def _whole_rows(self, rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[int, list[str]]]:
        """The rows, each of `width` fields; blank lines are skipped at the end and refused elsewhere."""
        blank = 0
        for line, row in rows:
            if is_blank(row, width):
                blank = blank or line
                continue
            if blank:
                raise self.origin.error("the line is blank; remove it", f"line {blank}")
            if len(row) != width:
                raise self.origin.error(
                    f"{len(row)} fields, but {width} are expected as in the first line; look for a "
                    "delimiter too many or too few, text to be quoted, or a header that has no name for the "
                    "row labels",
                    f"line {line}",
                )
            yield line, row

    def _assemble(self, layout: _Layout, body: _Body) -> BinaryData:
        """The data, once it is known whether the column set aside holds labels."""
        columns, labels = layout.read, body.texts if layout.aside is not None else None
        cells = np.frombuffer(body.codes, np.int8).reshape(len(body.lines), len(columns))
        if layout.undecided:
            codes = self.tokens.codes(body.texts)
            if not _are_labels(codes):
                columns, labels = layout.data, None
            if labels is None and 0 in columns:
                cells = np.insert(cells, columns.index(0), np.frombuffer(codes, np.int8), axis=1)
                for line, text, code in zip(body.lines, body.texts, codes, strict=True):
                    body.bad.add(line, [0], [text], bytes([code]))
        if body.bad.counts:
            filled = dict(zip(columns, (cells != MISSING).sum(axis=0), strict=True))
            self._refuse(body.bad, layout.names, filled)
        names = [layout.names[j] for j in columns]
        label = None if labels is None or layout.aside is None else layout.names[layout.aside]
        return BinaryData(np.ascontiguousarray(cells), None, labels, names, label or None)

    def _refuse(self, bad: _BadCells, names: list[str], filled: dict[int, int]) -> NoReturn:
        """Raise the error for all bad cells; `filled` counts the cells of each column that aren't missing."""
        cells = [
            (f"line {line}, column {quoted(names[j])}", text if _number(text) is not None else quoted(text))
            for line, j, text in bad.first
        ]
        # A column with hardly a 0 or 1 in it is something else; if all are, it is the coding that is.
        other = [names[j] for j in sorted(bad.counts) if bad.counts[j] >= 0.9 * filled[j]]
        ways = []
        if other and len(other) < len(filled):
            flags = " ".join(f"--exclude {name}" for name in other[:SHOWN])
            more = f" and {len(other) - SHOWN} more like it" if len(other) > SHOWN else ""
            ways.append(f"exclude={other[:SHOWN]} ({flags}){more} to leave out what is not 0-1")
        number = _number(bad.first[0][2].strip())
        if number is not None and number < 0:
            ways.append(f"{option('missing', bad.first[0][2])} if it stands for missing")
        if number is not None:
            ways.append(self.origin.advice(number).removeprefix("use "))
        elif not ways:
            word = bad.first[0][2].strip()
            ways.append(
                f"{option('presence', word)} if it marks a presence and empty cells are absences, true, false or "
                "missing (--true, --false, --missing) to say what words mean, or correct the cell"
            )
        fault = "neither 0 nor 1" if self.tokens.threshold is None else "not a finite number"
        way_out = f"use {', or '.join(ways)}"
        raise bad_cells_error(self.origin, cells, bad.counts.total(), way_out, fault)


def _picker(columns: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """A fast way to the fields at these positions."""
    first, last = columns[0], columns[-1] + 1
    if list(columns) == list(range(first, last)):
        return itemgetter(slice(first, last))
    return itemgetter(*columns)


def _are_labels(codes: bytes) -> bool:
    """Whether a column is more like labels: at least half of its filled cells are neither 0 nor 1."""
    filled = len(codes) - codes.count(MISSING & 0xFF)
    return filled > 0 and 2 * codes.count(_BAD_BYTE) >= filled


# Matrices and Parquet


def _read_matrix(file: Path, kind: str, array: str | None, threshold: float | None, origin: Origin) -> BinaryData:
    """A matrix without names from an .npy, .npz or .mtx file."""
    try:
        if kind == "mtx":
            X = scipy.io.mmread(file)
        elif kind == "npy":
            X = np.load(file, allow_pickle=False)
        else:
            X = _load_npz(file, array, origin)
    except DataError:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise origin.error(
            f"this can't be read as a .{kind} file of numbers ({error}); save the matrix again"
        ) from None
    return encode(X, binarize=threshold, origin=origin)


def _load_npz(file: Path, array: str | None, origin: Origin) -> Any:
    """A sparse matrix saved by SciPy, or the array asked for, or the only one, or the one named X or data."""
    with np.load(file, allow_pickle=False) as archive:
        names = archive.files
        if array is None and {"format", "shape"} <= set(names):
            return sp.load_npz(file)
        usual = [name for name in ("X", "x", "data") if name in names]
        name = array or (usual or names or [""])[0]
        if name in names and (array or usual or len(names) == 1):
            return archive[name]
    listed = ", ".join(map(quoted, names)) or "none"
    raise origin.error(f"the arrays are {listed}; choose one with array=NAME (--array NAME)")


def _read_parquet(file: Path, choice: _Choice, threshold: float | None, origin: Origin) -> BinaryData:
    """A Parquet file; without row_labels, a first column of text beside others holds the labels."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise origin.error('reading Parquet needs pyarrow; pip install "latentbits[parquet]"') from None
    import pandas as pd  # late: only this format needs it

    try:
        frame = pd.read_parquet(file, engine="pyarrow")
    except (ValueError, OSError) as error:
        raise origin.error(f"this can't be read as Parquet ({error}); save the table again") from None
    names = check_column_names(frame.columns, origin)
    label = choice.label(names, origin)
    if choice.row_labels is None and len(names) > 1 and pd.api.types.is_string_dtype(frame.iloc[:, 0]):
        label = 0
    rows = None if label is None else [str(name) for name in frame.iloc[:, label]]
    chosen = frame.iloc[:, choice.data(names, label, origin)]
    data = encode(chosen, binarize=threshold, row_names=rows, origin=origin)
    return replace(data, row_label=None if label is None else names[label])
