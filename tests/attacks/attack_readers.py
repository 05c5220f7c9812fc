"""Files through the readers: the right cells, or one sentence with the place; no traceback, no hang, no blow-up.

Half of the files are well formed and have to be read as they were made; the others are damaged, and what is read of
them has to be what the libraries read when they are used plainly. Some are bombs, pipes, links and the like.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

from latentbits import read_table
from latentbits.cli.main import program
from latentbits.data.numbers import read_numbers
from latentbits.errors import DataError
from tests.attacks import hostile_files
from tests.attacks.hostile_files import HostileFile
from tests.attacks.plain_readers import code, read_plainly

SMALL = 250
LARGE = 60_000
SECONDS = 30
CPU_SECONDS = 10
"""What reading a file may take; the limit above is of the clock, on a machine that others use too."""

MEMORY = 4 << 30
"""What reading a file may take, beyond what the process has already."""

MAKERS = {
    hostile_files.text: 0.6,
    hostile_files.array_file: 0.15,
    hostile_files.matrix_market: 0.07,
    hostile_files.typed: 0.13,
    hostile_files.workbook: 0.05,
}


def case(rng: np.random.Generator) -> None:
    with tempfile.TemporaryDirectory() as name, memory_limit():
        folder = Path(name)
        if rng.random() < 0.01:
            strange_path(rng, folder)
        elif rng.random() < 0.002:
            bomb(rng, folder)
        else:
            makers = list(MAKERS)
            file = makers[rng.choice(len(makers), p=list(MAKERS.values()))](rng)
            judge(rng, file if rng.random() < 0.4 else hostile_files.damaged(rng, file), folder)


@contextlib.contextmanager
def memory_limit() -> Iterator[None]:
    """So much more than now: beyond it, memory is refused, which would come out as a MemoryError or worse."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def judge(rng: np.random.Generator, file: HostileFile, folder: Path) -> None:
    path = folder / file.name
    path.write_bytes(file.content)
    data = read_or_refusal(path, **file.options)
    if file.cells is not None:
        assert not isinstance(data, str), data
        np.testing.assert_array_equal(data.dense(), file.cells)
        assert data.column_names == file.columns
    else:
        if not isinstance(data, str):
            check_cells(data, file)
        read_or_refusal(path)  # everything to be guessed
        read_or_refusal(path, **some_options(rng, file))
    if rng.random() < 0.1:
        with contextlib.suppress(DataError):
            table = read_numbers(path)
            assert not np.isinf(table.values).any()
    if isinstance(data, str) and rng.random() < 0.1:
        check_program(path)


def some_options(rng: np.random.Generator, file: HostileFile) -> dict[str, Any]:
    """Options that may mean something or nothing for a file."""
    choices: dict[str, list[Any]] = {
        "header": [False],
        "threshold": [0.5, 1, -1, 1e300],
        "row_labels": [0, 1, False, "Sus", "place"],
        "missing": ["", "0", ["NA", "x"]],
        "true": ["x", "1"],
        "presence": ["x", "1"],
        "long": [["Sus", "a b"], ["place", "Sus", "\u65e5\u672c"]],
        "decimal": [","],
        "comment": ["#", "a", ""],
        "encoding": ["latin-1", "utf-16", "ascii", "rot13", "cp037", "utf-7"],
        "delimiter": [" ", "a", '"', "\n", "::"],
        "exclude": [["Sus"], []],
        "metadata": [["a b"], "place"],
    }
    asked = rng.choice(list(choices), rng.integers(1, 4), replace=False)
    return {str(name): choices[str(name)][rng.integers(len(choices[str(name)]))] for name in asked}


def read_or_refusal(path: Path, **options: Any) -> Any:
    """The data, or the sentence by which they are refused: one line that begins with the name of the file."""
    began = time.process_time()
    try:
        return read_table(path, **options)
    except DataError as error:
        sentence = str(error)
    finally:
        assert time.process_time() - began < CPU_SECONDS, "it takes too long"
    assert sentence.isprintable(), repr(sentence)
    assert sentence.startswith(path.name) or not path.name.isprintable(), sentence
    assert "; " in sentence or "Reshape your data" in sentence or "a minimum of 1" in sentence, (
        f"no way out: {sentence}"
    )
    assert len(sentence) <= 1300, len(sentence)
    return sentence


def check_cells(data: Any, file: HostileFile) -> None:
    """A damaged file was read: so it is by the plain reader, to the same cells."""
    columns, cells = read_plainly(file.name, file.content, file.options)
    if columns is None:
        np.testing.assert_array_equal(data.dense(), cells)
        return
    read = dict(zip(data.column_names, data.dense().T.tolist(), strict=True))
    beside = dict(data.metadata or {})
    if data.row_names is not None:
        beside[data.row_label or ""] = data.row_names
    assert {*read, *beside} == set(columns)
    used = range(len(next(iter(columns.values()))))
    if len(used) > data.shape[0]:  # rows without a name or any cell
        used = [i for i in used if any(column[i] for column in columns.values())]
    for name, column in columns.items():
        if name in read:
            assert [code(column[i]) for i in used] == read[name], name
        else:
            assert [column[i].strip() for i in used] == beside[name], name


def check_program(path: Path) -> None:
    """The command line says the same in one line, or has read the file by other options."""
    result = CliRunner().invoke(program, ["fit", str(path), "--out", str(path.with_name("run")), "--components", "0"])
    assert result.exit_code in (1, 2), result.output
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    if result.exit_code == 1:
        *notes, error = result.stderr.splitlines()
        assert error.startswith("error: ")
        assert all(note.startswith("note: ") for note in notes)


# ---- what is no table at all -------------------------------------------------------------------------------------


@cache
def bomb_content(name: str) -> bytes:
    return hostile_files.bombs()[name]()


def bomb(rng: np.random.Generator, folder: Path) -> None:
    name = str(rng.choice(list(hostile_files.bombs())))
    path = folder / name
    path.write_bytes(bomb_content(name))
    refusal = read_or_refusal(path)
    assert isinstance(refusal, str), refusal


def strange_path(rng: np.random.Generator, folder: Path) -> None:
    """Something that is no readable file; it has any ending."""
    path = folder / f"t{rng.choice(['', '.csv', '.csv.gz', '.npy', '.npz', '.mtx', '.parquet', '.feather', '.xlsx'])}"
    what = rng.choice(
        ["pipe", "folder", "loop", "dangling", "device", "socket", "unreadable", "long", "nul", "empty", "newline"]
    )
    with contextlib.ExitStack() as stack:
        if what == "pipe":
            os.mkfifo(path)
        elif what == "folder":
            path.mkdir()
        elif what == "loop":
            path.symlink_to(path)
        elif what == "dangling":
            path.symlink_to("nowhere")
        elif what == "device":
            path.symlink_to(rng.choice(["/dev/zero", "/dev/null", "/dev/full", "/dev/tty", "/proc/self/mem"]))
        elif what == "socket":
            stack.enter_context(socket.socket(socket.AF_UNIX)).bind(str(path))
        elif what == "unreadable":
            path.write_text("a,b\n0,1\n")
            path.chmod(0)
            stack.enter_context(unprivileged(folder))
        elif what == "long":
            path = folder / ("t" * 300 + path.suffix)
        elif what == "nul":
            path = folder / "t\0.csv"
        elif what == "newline":
            path = folder / "t\n\x1b[31m.csv"
            path.write_text("a,b\n0,2\n")
        else:
            path.write_bytes(b"")
        assert isinstance(read_or_refusal(path), str)


@contextlib.contextmanager
def unprivileged(folder: Path) -> Iterator[None]:
    """Root may read everything: be nobody for a while, who may enter the folder."""
    if os.geteuid() != 0:
        yield
        return
    folder.chmod(0o755)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
