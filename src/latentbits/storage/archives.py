"""Files of arrays: .npz archives with a checksum, which are read without trusting anything that they say.

A file is what `numpy.savez` writes, and has the SHA-256 of all bytes before it in the archive's comment, which are its
last bytes. Files of earlier versions have none. The checksum notices damage; it is no signature, so nothing is trusted
because of it: sizes are compared with the bytes that are there before any memory is asked for, and an array's
head is matched with the one form in which NumPy writes it, never evaluated.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

LARGEST_UNPACKED = 2 * 2**30
"""Bytes to which compressed arrays of a file may expand, together; larger ones are written, and read, uncompressed."""

DAMAGE = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OSError,
    EOFError,
    ArithmeticError,
    RuntimeError,  # includes RecursionError and NotImplementedError
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What zipfile, json and NumPy raise on invalid bytes."""

_MARK = b"latentbits sha256 "
_COMMENT = len(_MARK) + 64
_MEMBER = re.compile(r"[A-Za-z0-9_]{1,100}\.npy")
_HEAD = re.compile(
    rb"\{'descr': '([<|][biufU]\d{1,9})', 'fortran_order': (True|False), 'shape': \(((?:\d+,?(?: (?=\d))?)*)\), \} *\n"
)
"""The head of an array of bool, numbers or text, as NumPy writes it."""
_LARGEST_HEAD = 1000
_LAST_CHARACTER = 0x10FFFF


def reason_of(error: Exception) -> str:
    """One of `DAMAGE` in a clause."""
    text = " ".join(str(error).split())[:300]
    return f"{text} is missing" if isinstance(error, KeyError) else text or type(error).__name__


class Archive(NamedTuple):
    """The arrays of a file, and whether it had a checksum (which was right)."""

    arrays: dict[str, np.ndarray]
    has_checksum: bool


def write_archive(file: Path, arrays: Mapping[str, np.ndarray], *, packed: bool = False) -> None:
    """Write arrays of bool, numbers and text, with a checksum; `packed` compresses them if they aren't too large.

    Parameters
    ----------
    file : Path
        Where to; an existing file is overwritten, so give a draft (`atomic_file`).
    arrays : mapping of str to array
        Names are letters, digits and _.
    packed : bool, default=False
        Whether to compress.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "file.npz"
    ...     write_archive(file, {"x": np.eye(2)})
    ...     read_archive(file).arrays["x"].sum(), np.load(file)["x"].sum()
    (np.float64(2.0), np.float64(2.0))
    """
    packed = packed and sum(array.nbytes + _LARGEST_HEAD for array in arrays.values()) < LARGEST_UNPACKED
    with file.open("w+b") as stream:
        (np.savez_compressed if packed else np.savez)(stream, allow_pickle=False, **arrays)
        stream.seek(-2, os.SEEK_END)  # an archive ends with the length of its comment, which is 0 so far
        stream.write(_COMMENT.to_bytes(2, "little"))
        stream.write(_MARK + _digest(stream, stream.tell()))


def read_archive(file: Path, *, packed: bool = False) -> Archive:
    """Read a file of arrays.

    Parameters
    ----------
    file : Path
        The file.
    packed : bool, default=False
        Whether its arrays may be compressed.

    Returns
    -------
    Archive
        Its arrays.

    Raises
    ------
    ValueError
        Or another of `DAMAGE`, if it is anything else than such a file, whole and unaltered.
    """
    with file.open("rb") as stream:
        has_checksum = _check_sum(stream)
        n_bytes = stream.seek(0, os.SEEK_END)
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            _check_members(members, n_bytes, packed)
            arrays = {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}
            return Archive(arrays, has_checksum)


def _digest(stream: IO[bytes], n_bytes: int) -> bytes:
    """The SHA-256 of so many bytes; the stream stands behind them afterwards."""
    stream.seek(0)
    digest = hashlib.sha256()
    left = n_bytes
    while left and (block := stream.read(min(left, 2**20))):
        digest.update(block)
        left -= len(block)
    return digest.hexdigest().encode("ascii")


def _check_sum(stream: IO[bytes]) -> bool:
    """Whether there is a checksum; refused if it is wrong."""
    n_bytes = stream.seek(0, os.SEEK_END) - _COMMENT
    stream.seek(max(n_bytes, 0))
    comment = stream.read()
    if n_bytes < 0 or not comment.startswith(_MARK):
        return False
    if comment != _MARK + _digest(stream, n_bytes):
        raise ValueError("it is not as it was written: its checksum differs")
    return True


def _check_members(members: list[zipfile.ZipInfo], n_bytes: int, packed: bool) -> None:
    """Refuse members that aren't arrays by their names, occur twice, or claim more bytes than there can be."""
    names = [member.filename for member in members]
    for name in names:
        if not _MEMBER.fullmatch(name):
            raise ValueError(f"it holds {name[:60]!r}, which is no array")
    if len(set(names)) < len(names):
        raise ValueError("it holds two arrays of one name")
    known = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} if packed else {zipfile.ZIP_STORED}
    if not {member.compress_type for member in members} <= known:
        raise ValueError("it was packed by another program")
    if sum(member.file_size for member in members if member.compress_type == zipfile.ZIP_STORED) > n_bytes:
        raise ValueError("it claims more bytes than it has")
    unpacked = sum(member.file_size for member in members if member.compress_type == zipfile.ZIP_DEFLATED)
    if unpacked > LARGEST_UNPACKED:
        raise ValueError(f"it unpacks to {unpacked:,} bytes, and at most {LARGEST_UNPACKED:,} are allowed")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """One array. Zipfile compares the member's own checksum, and reads no more bytes than it claims."""
    content = archive.read(member)
    head = _HEAD.match(content, 10, _LARGEST_HEAD)
    if (
        content[:8] != b"\x93NUMPY\x01\x00"
        or head is None
        or head.end() != 10 + int.from_bytes(content[8:10], "little")
    ):
        raise ValueError(f"{member.filename} is no array of numbers or text")
    dtype = np.dtype(head[1].decode("ascii"))
    shape = tuple(int(side) for side in head[3].replace(b" ", b"").split(b",") if side)
    if len(content) - head.end() != math.prod(shape) * dtype.itemsize or len(shape) > 32:
        raise ValueError(f"{member.filename} has another size than it claims")
    array = np.frombuffer(content, dtype, offset=head.end()) if content[head.end() :] else np.empty(0, dtype)
    if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise ValueError(f"{member.filename} holds something else than true and false")
    if dtype.kind == "U" and array.view(np.uint32).max(initial=0) > _LAST_CHARACTER:
        raise ValueError(f"{member.filename} holds something else than text")
    return array.reshape(shape, order="F" if head[2] == b"True" else "C").copy(order="K")
