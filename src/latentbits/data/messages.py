"""Errors about data with their place and the way out; names of rows and columns, and what people call them."""

from __future__ import annotations

import difflib
import os
import shlex
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from latentbits.errors import DataError
from latentbits.wording import one_line, place, quoted

if TYPE_CHECKING:
    import numpy as np

SHOWN = 3
"""How many bad cells an error message spells out; the others are counted."""

_LENGTH = 1200
"""How many characters a message has: place and way out, at its ends, are kept whatever words are cited between."""

_REASON = 200
"""How many characters of a library's own words a message repeats."""


@dataclass(frozen=True)
class Origin:
    """Where data come from, as error messages name it.

    Attributes
    ----------
    file : str
        Opens every message; empty for data that come from no file.
    threshold : str
        How the caller spells the option that thresholds values, with {0:g} for the number.
    row : str
        What a row of the file is called: a line of text, or a row of a sheet.

    Examples
    --------
    >>> origin = Origin("sites.csv")
    >>> origin.error("the line is blank; remove it", origin.place(3))
    DataError('sites.csv, line 3: the line is blank; remove it')
    """

    file: str = ""
    threshold: str = "binarize={0:g}"
    row: str = "line"

    def place(self, line: int | str, column: str | None = None) -> str:
        """Name a row or a cell of the file."""
        return f"{self.row} {line}" + (f", column {quoted(column)}" if column is not None else "")

    def error(self, message: str, place: str = "", kind: type[DataError] = DataError) -> DataError:
        """Make the error, with file and place, if any, in front of the message."""
        where = ", ".join(filter(None, (self.file, place)))
        # Files and their names may hold anything, so this is the place where every message becomes one short line.
        text = one_line(f"{where}: {message}" if where else message)
        return kind(text if len(text) <= _LENGTH else f"{text[: _LENGTH // 2]} ... {text[-_LENGTH // 2 :]}")

    def advice(self, value: float, answers: Sequence[float] = ()) -> str:
        """Advise what to do about a number that is neither 0 nor 1; `answers` are all numbers of a table without 0."""
        if answers and min(answers) >= 1:  # a threshold of 1 would make all of them ones
            scale = f"of {answers[0]:g} to {answers[-1]:g} (the order of the answers is lost)"
            return f"use {self.calling(middle(answers))}, {scale}"
        return f"use {self.calling(0.5 if 0 < value < 1 else 1)}"

    def calling(self, cut: float) -> str:
        """Spell the option that thresholds values."""
        return f"{self.threshold.format(cut)} to call every value >= {cut:g} present"


def middle(answers: Sequence[float]) -> float:
    """The middle of the different answers of a scale, from which on one is called present."""
    return answers[len(answers) // 2]


def option(name: str, value: object) -> str:
    """Spell an option both as Python and as the command line do.

    Examples
    --------
    >>> option("encoding", "latin-1")
    "encoding='latin-1' (--encoding latin-1)"
    >>> option("exclude", ["age", "rock type"])
    "exclude=['age', 'rock type'] (--exclude age --exclude 'rock type')"
    """
    flag = f"--{name.replace('_', '-')}"
    values = value if isinstance(value, list) else [value]
    return f"{name}={value!r} ({' '.join(f'{flag} {shlex.quote(str(one))}' for one in values)})"


def bad_cells_error(
    origin: Origin,
    cells: Sequence[tuple[str, str]],
    total: int,
    way_out: str,
    fault: str = "neither 0 nor 1",
    kind: type[DataError] = DataError,
) -> DataError:
    """Make one error for all bad cells, in one sentence.

    Examples
    --------
    >>> bad_cells_error(Origin(), [("row 1", "3"), ("row 5", "7")], 2, "correct them")
    DataError('row 1: value 3 is neither 0 nor 1 (and 1 more bad cell, first at row 5: 7); correct them')
    """
    (place, value), *others = cells
    also = ""
    if total > 1:
        listed = ", then ".join(f"{where}: {what}" for where, what in others)
        also = f" (and {total - 1} more bad cell{'s' * (total > 2)}, first at {listed})"
    return origin.error(f"value {value} is {fault}{also}; {way_out}", place, kind)


@contextmanager
def refusing_damage(origin: Origin, fault: str, way_out: str) -> Iterator[None]:
    """Refuse a file about whose content a library raises an error, of whatever kind.

    Damaged and crafted files make parsers raise nearly anything (TokenError, OverflowError, KeyError, ...), so
    everything is caught; therefore only calls of libraries stand within the `with` statement.

    Examples
    --------
    >>> with refusing_damage(Origin("bits.npy"), "this can't be read as .npy", "save the matrix again"):
    ...     int("nonsense")
    Traceback (most recent call last):
    latentbits.errors.DataError: bits.npy: this can't be read as .npy (invalid literal for int() with base 10: \
'nonsense'); save the matrix again
    """
    try:
        yield
    except (DataError, ImportError):
        raise
    except Exception as error:
        reason = one_line(error) or type(error).__name__
        short = reason if len(reason) <= _REASON else reason[:_REASON] + "..."
        raise origin.error(f"{fault} ({short}); {way_out}") from None


def check_is_file(file: Path, origin: Origin) -> None:
    """Refuse a folder, a pipe, a device, or nothing (with what may have been meant)."""
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise _absent_error(file, origin) from None
    except (OSError, ValueError) as error:  # a link to itself, a name that is too long or holds a NUL
        reason = getattr(error, "strerror", None) or error
        raise origin.error(f"this can't be opened ({reason}); check the path {quoted(str(file))}") from None
    if stat.S_ISDIR(mode):
        raise origin.error("this is a folder without .parquet files; give the path of a file")
    if not stat.S_ISREG(mode):
        raise origin.error("this is a pipe or a device, and a table is read more than once; save it to a file first")
    if not os.access(file, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise origin.error("this may not be read (permission denied); ask its owner, or copy it as one who may")


def _absent_error(file: Path, origin: Origin) -> DataError:
    try:
        near = difflib.get_close_matches(file.name, [other.name for other in file.parent.iterdir()], 1, 0.75)
    except OSError:  # there is no such folder either, or it can't be listed
        near = []
    hint = f"did you mean {quoted(near[0])}?" if near else f"check the path {quoted(str(file))}"
    return origin.error(f"no such file; {hint}")


Names = tuple[list[str] | None, list[str] | None]
"""Row names and column names."""


def check_column_names(
    names: Iterable[object], origin: Origin, place: str = "", unnamed: int | None = None
) -> list[str]:
    """Refuse column names that are empty or repeated.

    Examples
    --------
    >>> check_column_names(["", 2001, 2002], Origin(), unnamed=0)
    ['', '2001', '2002']
    """
    texts = checked_text(names, origin, "column name", place)
    for position, name in enumerate(texts):
        if not name.strip() and position != unnamed:
            raise origin.error(f"column {position + 1} has an empty name; name each column", place)
    repeated, times = Counter(texts).most_common(1)[0] if texts else ("", 0)
    if times > 1:
        first, second = [j + 1 for j, name in enumerate(texts) if name == repeated][:2]
        raise origin.error(
            f"the column name {quoted(repeated)} appears {times} times, first as columns {first} and "
            f"{second}; give each column its own name",
            place,
        )
    return texts


def checked_text(names: Iterable[object], origin: Origin, what: str, place: str = "") -> list[str]:
    """Turn names into strings that can be written to a file, which half a surrogate pair can't."""
    texts = [str(name) for name in names]
    for position, name in enumerate(texts):
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise origin.error(f"{what} {position + 1}, {name!a}, is no valid text; correct it", place)
    return texts


def choose_names(
    shape: tuple[int, int],
    given_rows: Sequence[object] | None,
    given_columns: Sequence[object] | None,
    own: Names = (None, None),
    origin: Origin | None = None,
) -> Names:
    """Choose the caller's names, validated, or else the data's own."""
    source, (rows, columns) = origin or Origin(), own
    if given_rows is not None:
        rows = checked_text(given_rows, source, "row name")
        _check_length("row_names", len(rows), shape[0], source)
    if given_columns is not None:
        columns = check_column_names(given_columns, source)
        _check_length("column_names", len(columns), shape[1], source)
    return rows, columns


def _check_length(what: str, given: int, needed: int, origin: Origin) -> None:
    if given != needed:
        raise origin.error(f"{what} has {given} names for {needed}; give one name each")


def clear_names(names: Sequence[str], what: str) -> list[str]:
    """Tell rows or columns with the same name apart, and those without any.

    Examples
    --------
    >>> clear_names(["Samos", "Pikermi", "Samos", ""], "row")
    ['Samos (row 1)', 'Pikermi', 'Samos (row 3)', '(row 4)']
    """
    times = Counter(names)
    return [
        name if times[name] == 1 and name.strip() else f"{name} ({place(what, i)})".strip()
        for i, name in enumerate(names)
    ]


@dataclass(frozen=True)
class Places:
    """The rows or columns of a table.

    Attributes
    ----------
    names : sequence of str or None
        Their names, if they have any.
    number : int
        How many there are.
    what : str
        "row" or "column".

    Examples
    --------
    >>> rows = Places(["Samos", "Pikermi", "Samos"], 3, "row")
    >>> rows.find("Pikermi"), rows.find("Samos (row 3)"), rows.find("row 1")
    (1, 2, 0)
    >>> rows.find("Samos")
    Traceback (most recent call last):
    ...
    latentbits.errors.DataError: 2 rows are named "Samos"; give one of them, such as "Samos (row 1)"
    """

    names: Sequence[str] | None
    number: int
    what: str

    @cached_property
    def _known(self) -> dict[str, int]:
        """Positions by every name that means one of them; a name of the data goes before one that is made here."""
        made = {place(self.what, i): i for i in range(self.number)}
        return made if self.names is None else made | {name: i for i, name in enumerate(self._clear)}

    @cached_property
    def _clear(self) -> list[str]:
        return clear_names(self.names or [], self.what)

    def has_name(self, key: object) -> bool:
        """Check whether the data themselves name a row or column so."""
        return key in self._own

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(self.names or ())

    def find(self, name: str) -> int:
        """Find a row or column."""
        if name in self._known:
            return self._known[name]
        same = [i for i, other in enumerate(self.names or []) if other == name]
        if same:
            first = quoted(self._clear[same[0]])
            raise DataError(f"{len(same)} {self.what}s are named {quoted(name)}; give one of them, such as {first}")
        last = f'"{place(self.what, 0)}" to "{place(self.what, self.number - 1)}"'
        raise DataError(f"no {self.what} is named {quoted(name)}; give the name of one, or {last}")

    def position(self, key: object) -> int:
        """Find a row or column that is given by its name or its position."""
        if isinstance(key, str):
            return self.find(key)
        if not isinstance(key, Integral) or not -self.number <= int(key) < self.number:
            raise DataError(
                f"there is no {self.what} at position {key!r}; give a whole number from 0 (the first) to "
                f"{self.number - 1}"
            )
        return int(key) % self.number

    def labels(self, positions: np.ndarray) -> np.ndarray:
        """Name rows or columns."""
        import numpy as np  # late: commands are listed without NumPy

        return positions if self.names is None else np.array(self._clear, dtype=object)[positions]
