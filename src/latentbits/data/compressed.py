"""The bytes of a file, decompressed; recognised by content, whatever the name says."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from latentbits.data.messages import Origin, quoted
from latentbits.errors import DataError

__all__ = ["open_bytes"]

_FORMATS: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\0": ("xz", lzma.open),
    b"PK\x03\x04": ("zip", None),
}
"""How each format begins, and what opens it."""

_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile)


@contextmanager
def open_bytes(file: Path, origin: Origin) -> Iterator[Any]:
    """Open a file for reading, compressed by gzip, bzip2, xz or zip, or not at all.

    Parameters
    ----------
    file : pathlib.Path
        The file.
    origin : Origin
        Where the data come from, for error messages.

    Yields
    ------
    binary stream
        With `read` and `peek`.

    Raises
    ------
    DataError
        If the compressed data are damaged, or a zip archive doesn't hold exactly one file.
    """
    with file.open("rb") as stream:
        start = stream.read(6)
    name, opener = next((found for magic, found in _FORMATS.items() if start.startswith(magic)), ("", Path.open))
    try:
        with _open_zip(file, origin) if name == "zip" else opener(file, "rb") as content:
            yield content
    except DataError:
        raise
    except _DAMAGED:
        raise _damaged_error(name, origin) from None
    except OSError as error:
        if name != "bzip2" or error.errno is not None:
            raise
        raise _damaged_error(name, origin) from None  # what bz2 raises has no type of its own


def _damaged_error(name: str, origin: Origin) -> DataError:
    return origin.error(f"the {name} data are cut off or damaged; copy the file again")


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
