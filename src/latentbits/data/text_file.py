"""Delimited text as rows of fields: encodings, compression, delimiters and quotes."""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any

from latentbits.data.messages import Origin, option, quoted
from latentbits.data.text_rows import Rows, empty_file_error, is_blank
from latentbits.errors import DataError

__all__ = ["TextFile"]

_DELIMITERS = (",", "\t", ";", "|")
_GZIP_MAGIC = b"\x1f\x8b"
_SAMPLE_LINES = 20


@dataclass(frozen=True)
class TextFile:
    """A file of delimited text.

    Attributes
    ----------
    file : pathlib.Path
        The file, compressed by gzip or not.
    origin : Origin
        Where the data come from, for error messages.
    encoding : str
        Of the text; a byte-order mark is skipped.
    delimiter : str or None
        One character; found from the first lines if None.
    """

    file: Path
    origin: Origin
    encoding: str
    delimiter: str | None

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
            sample = list(islice(lines, _SAMPLE_LINES))
            if not any(line.strip() for line in sample):
                raise empty_file_error(self.origin)
            delimiter = self.delimiter or _find_delimiter(sample)
            rows = csv.reader(chain(sample, lines), delimiter=delimiter, skipinitialspace=True, strict=True)
            try:
                yield ((rows.line_num, row) for row in rows)
            except csv.Error as error:
                raise self.origin.error(
                    f"the quotes don't match ({error}); close each quote, and double those inside a field",
                    f"line {rows.line_num}",
                ) from None

    def _check_options(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise self.origin.error(
                f"the delimiter {self.delimiter!r} is not one character; use {option('delimiter', ',')}"
            )
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise self.origin.error(
                f"the encoding {quoted(self.encoding)} is unknown; use {option('encoding', 'utf-8')}"
            ) from None

    @contextmanager
    def _lines(self) -> Iterator[Iterator[str]]:
        """The decoded lines; failures of decompression and decoding become DataErrors."""
        name = codecs.lookup(self.encoding).name
        try:
            with _open(self.file) as stream:
                self._refuse_binary(stream.peek(1 << 16), name)
                text = TextIOWrapper(stream, encoding="utf-8-sig" if name == "utf-8" else name, newline="")
                yield iter(text)
        except UnicodeError:
            raise self._encoding_error() from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise self.origin.error("the gzip data are cut off or damaged; copy the file again") from None

    def _refuse_binary(self, start: bytes, encoding: str) -> None:
        if b"\0" in start and not encoding.startswith(("utf-16", "utf-32")):
            way_out = "give a text file, or one that ends in .npz, .npy, .mtx or .parquet"
            if start.startswith((b"\xff\xfe", b"\xfe\xff")):
                way_out = f"use {option('encoding', 'utf-16')}"
            raise self.origin.error(f"this is not {encoding} text, it holds NUL bytes; {way_out}")

    def _encoding_error(self) -> DataError:
        """Where decoding failed; the file is read again, as a stream only knows its place in a buffer."""
        with _open(self.file) as stream:
            content = stream.read()
        try:
            content.decode(self.encoding)
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            return self.origin.error(
                f"byte 0x{content[error.start]:02x} at offset {error.start} is not {self.encoding}; "
                f"use {option('encoding', 'latin-1')} or whatever the file was saved in",
                f"line {line}",
            )
        return self.origin.error(f"this is not {self.encoding}; use the encoding that the file was saved in")


def _open(file: Path) -> Any:
    """The file's bytes, decompressed if they are gzip's, whatever the name says."""
    with file.open("rb") as stream:
        compressed = stream.read(2) == _GZIP_MAGIC
    return gzip.open(file, "rb") if compressed else file.open("rb")


def _find_delimiter(sample: Sequence[str]) -> str:
    """The delimiter that splits the first lines evenly and into the most fields; a comma if none does."""

    def evenness(delimiter: str) -> tuple[bool, bool, int]:
        rows = list(csv.reader(sample, delimiter=delimiter, skipinitialspace=True))
        if len(sample) == _SAMPLE_LINES:
            rows = rows[:1] + rows[1:-1]  # the sample may end inside a quoted field
        widths = [len(row) for row in rows if not is_blank(row, width=2)] or [0]
        return widths[0] > 1, len(set(widths)) == 1, widths[0]

    return max(_DELIMITERS, key=evenness)
