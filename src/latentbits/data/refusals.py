"""The cells of a file that are neither 0, 1 nor missing: located, and refused with the options that help."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from latentbits.data.codes import BAD_BYTE, MISSING_BYTE, MISSING_NUMBERS, Tokens, has_decimal_comma
from latentbits.data.messages import SHOWN, Origin, bad_cells_error, option, quoted
from latentbits.data.roles import LATITUDE, LONGITUDE, is_measure, place_among
from latentbits.errors import DataError

_KEPT_WORDS = 50
"""How many different words of a column advice is made from."""

_MOSTLY = 0.9
"""A column with this share of bad cells is something else than 0-1 data, unless all are."""

_FEW = 0.1
"""Numbers without a 0 in at most this share of the columns, beside 0-1 columns, are no counts."""

_LARGE = 100
"""Whole numbers that are never smaller, nor 0, beside others that are: years, metres, coordinates."""

_LEAST_SUMS = 3
"""Bad cells that are in one row only, from which on it is taken for one of totals."""

_MARKS = 12
"""As many different marks of a presence may be listed, as of a scale of cover."""

_ABSENT = frozenset(("-", "0", "a", "abs", "absence", "absent", "f", "false", "kein", "n", "neg", "negative")) | {
    *("nej", "nein", "no", "non")
}
"""Words that mean 0 beside any other word."""


@dataclass
class BadColumn:
    """The bad cells of a column.

    Attributes
    ----------
    count : int
        How many there are.
    first : list of (int, str)
        Line and text of the first few.
    words : dict of str to None
        Their different texts, in order of appearance; the first fifty.
    """

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)
    words: dict[str, None] = field(default_factory=dict)

    def add(self, line: int, text: str) -> None:
        """Take note of a cell."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append((line, text))
        if len(self.words) < _KEPT_WORDS:
            self.words[text.strip()] = None


@dataclass(frozen=True)
class Surroundings:
    """What is known of the data in which there are bad cells.

    Attributes
    ----------
    names : sequence of str
        Of all columns of the file.
    n_data : int
        How many of them are data.
    filled, zeros : mapping of int to int
        How many cells aren't missing, and how many are 0, by the position of a column with bad cells.
    has_zeros, has_ones, has_missing : bool
        Whether any data cell is a 0, a 1 or missing.
    numbered : int or None
        The position of a column of different whole numbers that may name the rows.
    name_of_line : callable or None
        Gives the name of the row in a line; None if rows have no names.
    """

    names: Sequence[str]
    n_data: int
    filled: Mapping[int, int]
    zeros: Mapping[int, int]
    has_zeros: bool
    has_ones: bool
    has_missing: bool = False
    numbered: int | None = None
    name_of_line: Callable[[int], str] | None = None

    @classmethod
    def of(
        cls,
        bad: Iterable[int],
        names: Sequence[str],
        columns: Sequence[int],
        codes_of: Callable[[int], bytes | bytearray],
        numbered: int | None = None,
        name_of_line: Callable[[int], str] | None = None,
    ) -> Surroundings:
        """Those of the columns `bad` among the data `columns`, of each of which `codes_of` gives the bytes."""
        codes = {j: codes_of(j) for j in columns}
        filled = {j: len(codes[j]) - codes[j].count(MISSING_BYTE) for j in bad}
        zeros = {j: codes[j].count(0) for j in bad}
        zero, one, missing = (any(byte in column for column in codes.values()) for byte in (0, 1, MISSING_BYTE))
        return cls(names, len(columns), filled, zeros, zero, one, missing, numbered, name_of_line)


def advise(bad: Mapping[int, BadColumn], around: Surroundings, tokens: Tokens, origin: Origin) -> str:
    """Advise what to do about bad cells.

    Examples
    --------
    >>> column = BadColumn()
    >>> column.add(2, "2")
    >>> around = Surroundings(["sex"], 1, {0: 5}, {0: 0}, has_zeros=False, has_ones=True)
    >>> print(advise({0: column}, around, Tokens({}, None), Origin()).partition(", or ")[0])
    true='2' and false='1' (--true 2 --false 1) if 2 means present
    """
    words = list(dict.fromkeys(word for column in bad.values() for word in column.words))
    if tokens.decimal == "." and any(map(has_decimal_comma, words)):
        return " and ".join([option("decimal", ","), *_beside_commas(bad, around, tokens, origin)])
    if (line := _line_of_all(bad)) is not None:
        name = "" if around.name_of_line is None else around.name_of_line(line)
        if name:
            return f"{option('exclude_rows', [name])} if the row sums up the others"
    if tokens.threshold is None and (pair := _pair(words, bad, around, tokens)):
        return _meanings(*pair)
    unknown = [word for word in words if tokens.number(word) in MISSING_NUMBERS]
    codes = [word for word in words if word not in unknown]
    if tokens.threshold is None and len(unknown) == 1 and (pair := _pair(codes, bad, around, tokens)):
        return _meanings(*pair, *unknown)
    return ", or ".join(_ways_out(bad, around, tokens, origin))


def _beside_commas(bad: Mapping[int, BadColumn], around: Surroundings, tokens: Tokens, origin: Origin) -> list[str]:
    """What else to do about numbers some of which have a decimal comma."""
    if tokens.threshold is not None:
        return []
    tokens = Tokens(tokens.words, None, ",")
    mostly = _mostly_bad(bad, around)
    if _no_data(bad, mostly, around, tokens):
        return _ways_out(bad, around, tokens, origin)[-1:]
    cut = options_for_numbers(word for column in bad.values() for word in column.words if has_decimal_comma(word))
    return [origin.calling(cut["threshold"])] if "threshold" in cut else []


def _line_of_all(bad: Mapping[int, BadColumn]) -> int | None:
    """The line in which all bad cells are, if there are several and all are numbers."""
    lines = {line for column in bad.values() for line, _ in column.first}
    alone = len(bad) >= _LEAST_SUMS and len(lines) == 1 and all(column.count == 1 for column in bad.values())
    return lines.pop() if alone else None


def options_for_numbers(words: Iterable[str]) -> dict[str, Any]:
    """Find the options by which numbers that are neither 0 nor 1 become cells.

    Examples
    --------
    >>> options_for_numbers(["2", "17"]), options_for_numbers(["3,5", "0,2"])
    ({'threshold': 1}, {'decimal': ',', 'threshold': 0.2})
    """
    words = list(words)
    decimal = "," if any(map(has_decimal_comma, words)) else "."
    values = _numbers(words, Tokens({}, None, decimal))
    options: dict[str, Any] = {"decimal": decimal} if decimal == "," else {}
    return options if set(values) <= {0, 1} else options | {"threshold": _least_presence(values)}


def _numbers(words: Iterable[str], tokens: Tokens) -> list[float]:
    return [number for word in words if (number := tokens.number(word)) is not None]


def _least_presence(values: Sequence[float]) -> float:
    """A threshold for counts, or for shares if all of these values are between 0 and 1.

    Among larger values a positive one below 1, such as a cover of 0.2 %, is a presence too.
    """
    if all(0 <= value <= 1 for value in values):
        return 0.5
    return min((value for value in values if 0 < value < 1), default=1)


def _threshold(values: Sequence[float], origin: Origin) -> str:
    return origin.calling(_least_presence(values))


def _pair(
    words: Sequence[str], bad: Mapping[int, BadColumn], around: Surroundings, tokens: Tokens
) -> tuple[str, str] | None:
    """The two values that the data consist of, absence first if it is known; 0 and a larger number are none."""
    values = [*words, *["0"] * around.has_zeros, *["1"] * around.has_ones]
    in_one_column = any(len(column.words) > 1 or column.count < around.filled[j] for j, column in bad.items())
    if len(values) != 2 or not in_one_column:
        return None
    numbers = _numbers(values, tokens)
    if len(numbers) == 2:
        return None if min(numbers) == 0 else (values[numbers.index(min(numbers))], values[numbers.index(max(numbers))])
    low, high = sorted(values, key=lambda value: value.lower() not in _ABSENT)
    return low, high


def _meanings(low: str, high: str, missing: str | None = None) -> str:
    """What two codes may mean, and a third one, if there is one that means missing."""

    def option_for(true: str, false: str) -> str:
        options = {"true": true, "false": false} | ({} if missing is None else {"missing": missing})
        flags = " ".join(f"--{name} {shlex.quote(word)}" for name, word in options.items())
        return f"{' and '.join(f'{name}={word!r}' for name, word in options.items())} ({flags})"

    if low.lower() in _ABSENT and high.lower() not in _ABSENT:
        return f"{option_for(high, low)} to say what they mean"
    return f"{option_for(high, low)} if {high} means present, or {option_for(low, high)} if {low} does"


def _ways_out(bad: Mapping[int, BadColumn], around: Surroundings, tokens: Tokens, origin: Origin) -> list[str]:
    mostly = _mostly_bad(bad, around)
    no_data = _no_data(bad, mostly, around, tokens)
    rest = {j: column for j, column in bad.items() if j not in no_data}
    ways = []
    if around.numbered is not None and around.numbered in bad:
        ways.append(f"{option('row_labels', around.names[around.numbered])} if it names the rows")
    elif set(bad) == {0} and not around.zeros[0] and around.n_data > 1:
        ways.append(f"{option('metadata', [around.names[0]])} if it describes the rows")
    if no_data:
        measured = _numbers((word for j in no_data for word in bad[j].words), tokens)
        counted = _numbers((word for column in rest.values() for word in column.words), tokens)
        excluding = _excluding(no_data, around.names)
        if counted and {*counted} <= MISSING_NUMBERS and len({*counted}) == 1 and around.has_ones:
            return [*ways, f"{excluding}, and {option('missing', f'{counted[0]:g}')} if it stands for missing"]
        if counted:
            return [*ways, f"{excluding}, and {_threshold(counted, origin)}"]
        binary_beside = around.has_zeros and around.has_ones and set(no_data) == set(bad)
        describing = f"{_describing(no_data, around.names)} if it describes the rows"
        return [*ways, excluding, *([_threshold(measured, origin)] if measured and not binary_beside else [describing])]
    abundant = sorted(mostly) if len(mostly) < around.n_data and set(bad) == mostly else []
    return ways + _ways_for_cells(rest, abundant, around, tokens, origin)


def _mostly_bad(bad: Mapping[int, BadColumn], around: Surroundings) -> set[int]:
    return {j for j, column in bad.items() if column.count >= _MOSTLY * around.filled[j]}


def _no_data(bad: Mapping[int, BadColumn], mostly: set[int], around: Surroundings, tokens: Tokens) -> list[int]:
    """The columns to leave out: text and measurements beside 0-1 columns; if all columns are, it is the coding."""
    elsewhere = _numbers((word for j, column in bad.items() if j not in mostly for word in column.words), tokens)
    whole_elsewhere = all(number.is_integer() for number in elsewhere)
    few = len(bad) <= _FEW * around.n_data
    only_measures = all(is_measure(around.names[j]) for j in bad)
    found = []
    for j in sorted(bad):
        numbers = _numbers(bad[j].words, tokens)
        decimals = whole_elsewhere and not all(number.is_integer() for number in numbers)
        named = is_measure(around.names[j])
        large = bool(numbers) and min(numbers) >= _LARGE and not around.zeros[j] and around.has_zeros
        measured = not numbers or decimals or named or large
        if (few and not around.zeros[j]) or (j in mostly and measured) or only_measures:
            found.append(j)
    return found if len(found) < around.n_data else []


def _ways_for_cells(
    bad: Mapping[int, BadColumn], abundant: Sequence[int], around: Surroundings, tokens: Tokens, origin: Origin
) -> list[str]:
    """What may be done about cells of data columns, of which `abundant` ones have hardly a 0 or 1."""
    _, _, word = min((*column.first[0][:1], j, column.first[0][1].strip()) for j, column in bad.items())
    number = tokens.number(word)
    missing = f"{option('missing', word)} if it stands for missing"
    if number is not None:
        numbers = _numbers((word for column in bad.values() for word in column.words), tokens)
        if not around.has_zeros and min(numbers) >= 1:
            return _ways_without_zeros(numbers, around, origin)
        ways = [missing] * (number < 0) + [_threshold(numbers, origin)]
        return ways + ([_excluding(abundant, around.names)] if abundant else [])
    if tokens.threshold is not None:
        return [missing, "correct the cell"]
    if around.has_zeros and around.has_ones:
        return [missing, "true or false (--true, --false) to say what it means", "correct the cell"]
    marks = list(dict.fromkeys(word for column in bad.values() for word in column.words))
    if 1 < len(marks) <= _MARKS and around.has_missing and not around.has_zeros:
        flags = " ".join(f"--true {shlex.quote(mark)}" for mark in marks)
        return [f"true={marks!r} and false='' ({flags} --false '') if they mark presences and empty cells are absences"]
    return [
        f"{option('presence', word)} if it marks a presence and empty cells are absences",
        "true, false or missing (--true, --false, --missing) to say what words mean",
        "correct the cell",
    ]


def _ways_without_zeros(numbers: Sequence[float], around: Surroundings, origin: Origin) -> list[str]:
    """What may be done about whole numbers from 1 on: a threshold of 1 would make all of them ones."""
    if around.has_missing:
        return ["threshold=1 and false='' (--threshold 1 --false '') if empty cells are absences"]
    values = sorted({*numbers, *([1.0] if around.has_ones else [])})
    words = "true and false (--true, --false) to say which values mean present and which absent"
    return [origin.advice(values[0], values).removeprefix("use ")] * (len(values) > 1) + [words]


def _excluding(columns: Sequence[int], names: Sequence[str]) -> str:
    """The option that leaves these columns out, or the first few of them."""
    more = f" and {len(columns) - SHOWN} more like it" if len(columns) > SHOWN else ""
    return f"{option('exclude', [names[j] for j in columns[:SHOWN]])}{more} to leave out what is not 0-1"


def _describing(columns: Sequence[int], names: Sequence[str]) -> str:
    """The options that keep these columns as what describes the rows."""
    place = [names[j] for j in place_among(columns, names, (LONGITUDE | {"x"}, LATITUDE | {"y"}))]
    if not place:
        return option("covariates", "all")
    more = len(columns) > len(place)
    python, flags = f"coordinates={place!r}", f"--coordinates {shlex.quote(','.join(place))}"
    return f"{python}{' and covariates={!r}'.format('all') * more} ({flags}{' --covariates all' * more})"


class BadCells(dict[int, BadColumn]):
    """The bad cells of a file, by the position of their column.

    Examples
    --------
    >>> bad = BadCells()
    >>> bad.add_row(7, [1, 2], ["0", "many"], bytes([0, BAD_BYTE]))
    >>> bad[2].first
    [(7, 'many')]
    """

    def add_row(self, line: int, columns: Sequence[int], texts: Sequence[str], codes: bytes) -> None:
        """Take note of the bad cells of a row."""
        k = codes.find(BAD_BYTE)
        while k >= 0:
            self.setdefault(columns[k], BadColumn()).add(line, texts[k])
            k = codes.find(BAD_BYTE, k + 1)

    def add_column(
        self, column: int, codes: bytes | bytearray, line_of: Callable[[int], int], text_of: Callable[[int], str]
    ) -> None:
        """Take note of the bad cells of a column."""
        k = codes.find(BAD_BYTE)
        while k >= 0:
            self.setdefault(column, BadColumn()).add(line_of(k), text_of(k))
            k = codes.find(BAD_BYTE, k + 1)


def refusal(
    bad: BadCells, around: Surroundings, tokens: Tokens, origin: Origin, row_names: Sequence[str] | None = None
) -> DataError:
    """Make one error for all bad cells, with the way out."""
    first = sorted((line, j, text) for j, column in bad.items() for line, text in column.first)[:SHOWN]
    cells = [
        (
            origin.place(line if row_names is None else quoted(row_names[line - 1]), around.names[j]),
            text if tokens.number(text.strip()) is not None else quoted(text),
        )
        for line, j, text in first
    ]
    fault = "neither 0 nor 1" if tokens.threshold is None else "not a finite number"
    total = sum(column.count for column in bad.values())
    return bad_cells_error(origin, cells, total, f"use {advise(bad, around, tokens, origin)}", fault)
