"""Delimited text as rows of fields: encodings, comments, delimiters and quotes."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from itertools import chain
from pathlib import Path

from latentbits.data.compressed import open_bytes
from latentbits.data.messages import Origin, option, quoted
from latentbits.data.text_rows import Rows, empty_file_error, finite_number, is_blank
from latentbits.errors import DataError

__all__ = ["TextFile"]

_DELIMITERS = (",", "\t", ";", "|")
_COMMENT = "#"
_SAMPLE_LINES = 20
_LINE = 1 << 26
"""Characters of a line: more are no table, and would be held in memory at once."""
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n])"?\s*', re.IGNORECASE)
"""The line by which Excel is told the delimiter."""

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
        """Open the file, within a `with` statement.

        Yields
        ------
        iterator of (int, list of str)
            Line numbers and fields of all rows, those of the header included.

        Raises
        ------
        DataError
            If the file is empty, damaged or no text of this encoding, or its quotes don't match.
        """
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
            way_out = "give a text file, or one that ends in .npz, .npy, .mtx, .parquet, .feather or .xlsx"
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
