"""The bytes of a file, decompressed; recognised by content, whatever the name says; and how large they may become."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from latentbits.data.messages import Origin, quoted, refusing_damage
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
