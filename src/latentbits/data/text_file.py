"""A file as rows of text: its bytes, decompressed, its encoding, delimiter and lines."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import lzma
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from latentbits.data.codes import finite_number
from latentbits.data.messages import Origin, option, quoted, refusing_damage
from latentbits.data.read_options import FORMATS
from latentbits.errors import DataError
from latentbits.storage.files import restore_label
from latentbits.wording import counted

_FORMATS: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\0": ("xz", lzma.open),
    b"PK\x03\x04": ("zip", None),
}
"""How each format begins, and what opens it."""

UNPACKED_TIMES = 200
"""A file may unpack to so many times its size; a table that unpacks to more has hardly a one among its zeros."""

TEXT_BYTES, SHEET_BYTES, ARRAY_BYTES = 1 << 26, 1 << 23, 1 << 30
"""Or to so many bytes, if that is more: of text, of a workbook's XML, and of arrays; each is read in seconds.

Text of a table with 1 % ones is packed to a hundredth, with 0.1 % to a four hundredth.
"""

LINE_BYTES = 32
"""A line of text counts as so many bytes at least, as rows take time and memory however short they are."""


@contextmanager
def open_bytes(file: Path, origin: Origin) -> Iterator[Any]:
    """Open a file for reading, compressed by gzip, bzip2, xz or zip, or not at all.

    A compressed file is unpacked once before, so that damage is found there and nowhere else.
    """
    with refusing_damage(origin, "this can't be read", "copy the file again"), file.open("rb") as stream:
        start = stream.read(6)
    name, opener = next((found for magic, found in _FORMATS.items() if start.startswith(magic)), ("", Path.open))
    with ExitStack() as stack:
        if not name:
            yield stack.enter_context(file.open("rb"))
            return
        with refusing_damage(origin, f"the {name} data are cut off or damaged", "copy the file again"):
            content = stack.enter_context(_open_zip(file, origin) if name == "zip" else opener(file, "rb"))
            packed, unpacked = file.stat().st_size, 0
            while chunk := content.read(1 << 20):
                n_lines = max(chunk.count(b"\n"), chunk.count(b"\r"))
                unpacked += max(len(chunk), LINE_BYTES * n_lines)
                check_unpacked(packed, unpacked, TEXT_BYTES, origin)
            content.seek(0)
        yield content


def check_unpacked(packed: int, unpacked: int, allowed: int, origin: Origin) -> None:
    """Refuse a small file that unpacks to a huge one."""
    if unpacked > max(allowed, UNPACKED_TIMES * packed):
        raise origin.error(
            f"the file of {counted(packed, 'byte')} becomes {counted(unpacked, 'byte')} or more, over {UNPACKED_TIMES} "
            "times its size, as no usual table does; if you trust it, unpack it, or save it uncompressed"
        )


def check_archive(file: Path, allowed: int, origin: Origin) -> None:
    """Refuse a zip archive (.npz, .xlsx) whose members together unpack to too much; see `check_unpacked`."""
    with zipfile.ZipFile(file) as archive:  # what is claimed here, no reader of a member goes beyond
        unpacked = sum(member.file_size for member in archive.infolist())
    check_unpacked(file.stat().st_size, unpacked, allowed, origin)


@contextmanager
def _open_zip(file: Path, origin: Origin) -> Iterator[Any]:
    """The only file in an archive, but for folders, and for what macOS adds."""
    with zipfile.ZipFile(file) as archive:
        added = re.compile(r"__MACOSX/|(.*/)?\.DS_Store$|.*/$")
        names = [name for name in archive.namelist() if not added.match(name)]
        if "xl/workbook.xml" in names:
            raise origin.error("this is an Excel workbook; give it a name that ends in .xlsx")
        if len(names) != 1:
            listed = ", ".join(map(quoted, names[:3])) + (", ..." if len(names) > 3 else "")
            raise origin.error(f"the archive holds {len(names)} files ({listed}); unpack it, and give one of them")
        if archive.getinfo(names[0]).flag_bits & 1:
            raise origin.error("the archive has a password; unpack it, and give the file in it")
        with archive.open(names[0]) as content:
            yield content


_DELIMITERS = (",", "\t", ";", "|")
_COMMENT = "#"
_SAMPLE_LINES = 20
_LINE = 1 << 26
"""Characters of a line: more are no table, and would be held in memory at once."""
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n])"?\s*', re.IGNORECASE)
"""The line that gives Excel the delimiter."""

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Those of UTF-32 first: the shorter ones are their beginnings."""


@dataclass(frozen=True)
class TextFile:
    """A file of delimited text.

    Attributes
    ----------
    file : pathlib.Path
        The file, compressed or not.
    origin : Origin
        Where the data come from, for error messages.
    encoding : str
        Of the text; a byte-order mark is skipped, and one of UTF-16 or UTF-32 goes before "utf-8".
    delimiter : str or None
        One character; found from the first lines if None.
    comment : str or None
        How lines begin that are no rows; "" if there are none, None for # where it can't be a row.
    """

    file: Path
    origin: Origin
    encoding: str = "utf-8"
    delimiter: str | None = None
    comment: str | None = None

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Open the file, within a `with` statement."""
        self._check_options()
        with self._lines() as lines:
            sample, used = self._sample(lines)
            if not used:
                raise empty_file_error(self.origin)
            named = _SEPARATOR_LINE.fullmatch(sample[0])
            uncommented = _Uncommented(chain(sample, lines), self._comment, skip_first=bool(named))
            try:
                delimiter = self.delimiter or (named[1] if named else _find_delimiter(used))
                rows = csv.reader(uncommented, delimiter=delimiter, skipinitialspace=True, strict=True)
                yield self._checked(rows, uncommented, delimiter)
            except csv.Error as error:
                longest = max(range(len(sample)), key=lambda i: len(sample[i]))
                raise self._fields_error(error, uncommented.number or longest + 1) from None

    def _fields_error(self, error: csv.Error, number: int) -> DataError:
        if "field limit" in str(error):
            what = f"a field has more than {csv.field_size_limit():,} characters"
            return self.origin.error(f"{what}; look for a quote that isn't closed", self.origin.place(number))
        return self.origin.error(
            f"the quotes don't match ({error}); close each quote, and double those inside a field",
            self.origin.place(number),
        )

    @property
    def _comment(self) -> str:
        return _COMMENT if self.comment is None else self.comment

    def _check_options(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise self.origin.error(
                f"the delimiter {self.delimiter!r} is not one character; use {option('delimiter', ',')}"
            )
        try:
            TextIOWrapper(BytesIO(), encoding=self.encoding)  # which knows, too, what codecs are no encodings of text
        except (LookupError, ValueError):
            raise self.origin.error(
                f"the encoding {quoted(self.encoding)} is unknown; use {option('encoding', 'utf-8')}"
            ) from None

    def _sample(self, lines: Iterator[str]) -> tuple[list[str], list[str]]:
        """The first lines, and those of them that are rows."""
        sample: list[str] = []
        used: list[str] = []
        for line in lines:
            sample.append(line)
            if line.strip() and not (self._comment and line.startswith(self._comment)):
                used.append(line)
            if len(used) == _SAMPLE_LINES:
                break
        return sample, used

    def _checked(self, rows: Iterator[list[str]], lines: _Uncommented, delimiter: str) -> Rows:
        """The rows, and a header that begins with #; commented lines that may be rows are refused."""
        width = 0
        for row in rows:
            comments = lines.take_comments()
            if width:
                self._refuse_rows_among(comments, width, delimiter)
            else:
                width = len(row)
                yield from self._commented_header(comments, row, delimiter)
            yield lines.number, row
            lines.between_rows = True
        self._refuse_rows_among(lines.take_comments(), width, delimiter)

    def _commented_header(self, comments: list[tuple[int, str]], row: list[str], delimiter: str) -> Rows:
        """The line above the first row, if it has as many fields as this row of numbers: #OTU ID, sample 1, ..."""
        if self.comment is None and comments and any(finite_number(field) is not None for field in row):
            number, line = comments[-1]
            fields = _split(line.removeprefix(_COMMENT), delimiter)
            if len(fields) == len(row) > 1:
                yield number, fields

    def _refuse_rows_among(self, comments: list[tuple[int, str]], width: int, delimiter: str) -> None:
        for number, line in comments if self.comment is None and width > 1 else ():
            if len(_split(line, delimiter)) == width:
                raise self._comment_error(number)

    def _comment_error(self, number: int) -> DataError:
        return self.origin.error(
            f"the line begins with {_COMMENT}, but has as many fields as a row; use {option('comment', '')} if it is "
            f"a row, or {option('comment', _COMMENT)} to leave it out",
            self.origin.place(number),
        )

    @contextmanager
    def _lines(self) -> Iterator[Iterator[str]]:
        """The decoded lines; failures of decoding become DataErrors."""
        name = codecs.lookup(self.encoding).name
        try:
            with open_bytes(self.file, self.origin) as stream:
                start = stream.peek(1 << 16)
                if name == "utf-8":
                    name = next((found for mark, found in _BYTE_ORDER_MARKS.items() if start.startswith(mark)), name)
                self._refuse_binary(start, name)
                text = TextIOWrapper(stream, encoding="utf-8-sig" if name == "utf-8" else name, newline="")
                yield self._bounded(text)
        except UnicodeError:
            raise self._encoding_error() from None

    def _bounded(self, text: TextIOWrapper) -> Iterator[str]:
        """The lines, but for one that is too long."""
        number = 1
        while line := text.readline(_LINE):
            if len(line) == _LINE:
                raise self.origin.error(
                    f"the line has {_LINE:,} characters or more; look for line ends that were lost",
                    self.origin.place(number),
                )
            yield line
            number += 1

    def _refuse_binary(self, start: bytes, encoding: str) -> None:
        if b"\0" in start and not encoding.startswith(("utf-16", "utf-32")):
            way_out = f"give a text file, or one that ends in .{', .'.join(FORMATS)}"
            for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
                if start[offset:400:2].count(0) > 0.8 * len(start[offset:400:2]):
                    way_out = f"use {option('encoding', name)}"
            raise self.origin.error(f"this is not {encoding} text, it holds NUL bytes; {way_out}")

    def _encoding_error(self) -> DataError:
        """Where decoding failed; the file is read again, as a stream only knows its place in a buffer."""
        with open_bytes(self.file, self.origin) as stream:
            content = stream.read()
        try:
            content.decode(self.encoding)
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            return self.origin.error(
                f"byte 0x{content[error.start]:02x} at offset {error.start} is not {self.encoding}; "
                f"use {option('encoding', 'latin-1')} or whatever the file was saved in",
                self.origin.place(line),
            )
        except UnicodeError:  # of codecs that don't say where
            pass
        return self.origin.error(f"this is not {self.encoding}; use the encoding that the file was saved in")


class _Uncommented:
    """The lines of a file without its comments, numbered; a line inside a quoted field is no comment."""

    def __init__(self, lines: Iterator[str], comment: str, *, skip_first: bool) -> None:
        self.number = 0
        self.between_rows = True
        self._comments: list[tuple[int, str]] = []
        self._lines = lines
        self._comment = comment
        self._skip_first = skip_first

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number += 1
            if self._skip_first and self.number == 1:
                continue
            if self.between_rows and self._comment and line.startswith(self._comment):
                self._comments.append((self.number, line))
                continue
            self.between_rows = False
            yield line

    def take_comments(self) -> list[tuple[int, str]]:
        """The comments since the last call."""
        if not self._comments:
            return self._comments
        taken, self._comments = self._comments, []
        return taken


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])


def _find_delimiter(sample: Sequence[str]) -> str:
    """The delimiter that splits the first lines evenly and into the most fields; a comma if none does.

    Blanks, which occur in names, are one only if nothing else splits the lines evenly, and into as many fields.
    """

    def widths(delimiter: str) -> list[int]:
        rows = list(csv.reader(sample, delimiter=delimiter, skipinitialspace=True))
        if len(sample) == _SAMPLE_LINES:
            rows = rows[:1] + rows[1:-1]  # the sample may end inside a quoted field
        return [len(row) for row in rows if not is_blank(row, width=2)] or [0]

    def evenness(delimiter: str) -> tuple[bool, bool, bool, int]:
        first, *others = widths(delimiter)
        even = len({first, *others}) == 1
        # R's header has no name for the row labels, and rows or header may end with a delimiter.
        nearly = first > 1 and len(set(others)) == 1 and others[0] > 1 and abs(first - others[0]) == 1
        return first > 1, even or nearly, even, first

    found = max(_DELIMITERS, key=evenness)
    several, regular, _, width = evenness(found)
    blanks = evenness(" ")
    return " " if not (several and regular) and all(blanks[:2]) and blanks[-1] > width else found


Rows = Iterator[tuple[int, list[str]]]
"""Rows of a file: the number of the line where each ends, and its fields."""

_PEEKED = 20
"""How many rows say whether the header has a name for the row labels."""


def empty_file_error(origin: Origin) -> DataError:
    """Make the error for a file without any row."""
    return origin.error("the file is empty; it needs a header line and at least one row")


def no_row_error(origin: Origin) -> DataError:
    """Make the error for a file without any row below its header."""
    return origin.error("there is a header but no row below it; add rows, or use header=False (--no-header)")


def is_blank(row: list[str], width: int) -> bool:
    """Check whether a row is a blank line.

    Examples
    --------
    >>> is_blank([""], width=2), is_blank([""], width=1), is_blank(["", ""], width=2)
    (True, False, False)
    """
    return not row or (width > 1 and len(row) == 1 and not row[0].strip())


class Header(NamedTuple):
    """The column names of a file.

    Attributes
    ----------
    names : list of str
        Without surrounding blanks, and the apostrophe that our own tables have in front of formulas.
    place : str
        The line they are on, for error messages.
    lacks_label : bool
        Whether the header has one name less than the rows have fields, as R writes it; `names` then begins with
        an empty name for the row labels.
    """

    names: list[str]
    place: str
    lacks_label: bool = False


def split_header(rows: Rows, header: bool, origin: Origin) -> tuple[Header, Rows]:
    """Take the column names off the first row that isn't blank.

    Examples
    --------
    >>> split_header(iter([(1, ["a ", "b"]), (2, ["0", "1"])]), True, Origin())[0].names
    ['a', 'b']
    >>> rows = [(1, ["a", "b"]), (2, ["Pikermi", "0", "1"]), (3, ["Samos", "1", "1"])]
    >>> split_header(iter(rows), True, Origin())[0].names
    ['', 'a', 'b']
    """
    # Above the names an exported sheet may have rows of nothing but delimiters.
    used = (lambda row: any(map(str.strip, row))) if header else (lambda row: not is_blank(row, width=2))
    line, first = next(((line, row) for line, row in rows if used(row)), (0, []))
    if not first:
        raise empty_file_error(origin)
    peeked = list(islice(rows, _PEEKED))
    body = [row for _, row in peeked if not is_blank(row, width=2)]
    if not header:
        width = _filled_width([first, *body])
        names = [f"x{j + 1}" for j in range(max(width, 1))]
        return Header(names, origin.place(line)), chain([(line, first)], peeked, rows)
    names = [restore_label(name.strip()) for name in first]
    lacks_label = _lacks_label(len(names), body)
    if lacks_label:
        names = ["", *names]
    while len(names) > 1 and not names[-1] and _filled_width(body) < len(names):
        names.pop()
    return Header(names, origin.place(line), lacks_label), chain(peeked, rows)


def _filled_width(rows: list[list[str]]) -> int:
    """The number of fields up to the last that is filled in any row."""
    return max((j + 1 for row in rows for j, field in enumerate(row) if field.strip()), default=0)


def _lacks_label(n_names: int, body: list[list[str]]) -> bool:
    """Whether all of several rows have a field more than the header, and not just a delimiter at their end."""
    return (
        n_names > 1
        and len(body) > 1
        and {len(row) for row in body} == {n_names + 1}
        and _filled_width(body) == n_names + 1
    )


def rows_of_width(rows: Rows, width: int, origin: Origin) -> Rows:
    """Check the number of fields; blank lines, and empty fields at the end of a row, are skipped."""
    blank, empty = 0, True
    for line, row in rows:
        if len(row) != width:
            if is_blank(row, width):
                blank = blank or line
                continue
            if len(row) < width or any(field.strip() for field in row[width:]):
                raise _width_error(line, row, width, origin)
            row = row[:width]
        if blank and width == 1:
            raise origin.error('the line is blank; remove it, or write "" for a missing cell', origin.place(blank))
        empty = False
        yield line, row
    if empty:
        raise no_row_error(origin)


def _width_error(line: int, row: list[str], width: int, origin: Origin) -> DataError:
    return origin.error(
        f"{len(row)} field{'s' * (len(row) != 1)}, but {width} are expected as in the first line; look for a delimiter "
        "too many or too few, or text to be quoted",
        origin.place(line),
    )
