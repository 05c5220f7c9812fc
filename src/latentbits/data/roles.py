"""What the columns of a table are: one names the rows, some are metadata beside them, the others are data.

The rule is the same with and without a threshold, and for every format:

- a first column without a name names the rows, and so does the column that the header of R's `write.table` leaves out;
  one with repeats is refused;
- a column named like an identifier (id, site, plot, sample, ..., Site_ID) names them if it holds whole numbers or texts
  that are all different; other such columns are metadata, unless they hold nothing but 0, 1 and missing cells;
- a first column of any other name names them if it holds texts that are all different, or (a guess) whole numbers that
  increase from row to row, in three rows or more, or are all different, in so many rows that counts wouldn't be;
- a column of text with repeats, such as a party or a management type, is metadata (a guess), unless it holds a single
  mark beside empty cells, or shares a word with another such column: these look like data in words.

What the caller says goes before the rule. What a threshold makes data of is the subject of `measured`.
"""

from __future__ import annotations

import difflib
import itertools
import re
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from latentbits.data.codes import BAD_BYTE, MISSING_BYTE, Tokens, has_decimal_comma
from latentbits.data.messages import SHOWN, Origin, option, quoted
from latentbits.errors import UnknownColumnError, UselessOptionError

if TYPE_CHECKING:
    from latentbits.data.read_options import ReadOptions


LONGITUDE, LATITUDE = frozenset(("lon", "long", "lng", "longitude")), frozenset(("lat", "latitude"))
LEAST_SHARE = 0.1
"""A column with fewer cells that are neither 0, 1 nor missing is data with slips, and no covariate."""


class FactColumns(NamedTuple):
    """The positions of the columns that describe the rows."""

    covariates: list[int]
    coordinates: list[int]
    effort: int | None

    @property
    def columns(self) -> list[int]:
        """All of them."""
        return list(
            dict.fromkeys([*self.covariates, *self.coordinates, *([] if self.effort is None else [self.effort])])
        )


@dataclass(frozen=True)
class ColumnChoice:
    """The columns that the caller asked for, as `read_table` takes them.

    Attributes
    ----------
    row_labels : str, int, bool or None
        The column that names the rows; False if there is none, None to find out.
    columns, exclude : sequence of str or None
        Names of the columns to read, None for all, and of those to leave out.
    metadata : sequence of str or None
        Names of the columns to keep beside the rows.
    covariates, coordinates, effort : sequence of str, sequence of str, str or None
        Names of the columns that describe the rows; they are kept beside these as well.
    exclude_rows : sequence of str
        Names of the rows to leave out.
    takes_all : bool
        Whether every column that is no data, and isn't named here, is a covariate.
    by_threshold : bool
        Whether numbers other than 0 and 1 may be data.

    Examples
    --------
    >>> choice = ColumnChoice("site", None, ["age"])
    >>> names = ["site", "age", "Equus", "Sus"]
    >>> label = choice.label(names, Origin())
    >>> label, choice.data(names, [label], Origin())
    (0, [2, 3])
    """

    row_labels: str | int | bool | None
    columns: Sequence[str] | None
    exclude: Sequence[str] | None
    metadata: Sequence[str] | None = None
    covariates: Sequence[str] = ()
    coordinates: Sequence[str] = ()
    effort: str | None = None
    exclude_rows: Sequence[str] = ()
    takes_all: bool = False
    by_threshold: bool = False

    @classmethod
    def of(cls, options: ReadOptions) -> ColumnChoice:
        """The choices among the options of reading."""
        wanted = options.covariates or ()
        listed = [wanted] if isinstance(wanted, str) else list(wanted)
        takes_all = listed == ["all"]
        return cls(
            options.row_labels,
            options.columns,
            options.exclude,
            options.metadata,
            () if takes_all else tuple(listed),
            tuple(options.coordinates or ()),
            options.effort,
            tuple(options.exclude_rows or ()),
            takes_all,
            options.threshold is not None,
        )

    @property
    def is_made(self) -> bool:
        """Whether the caller has said anything."""
        return self != ColumnChoice(None, None, None, by_threshold=self.by_threshold)

    def label(self, names: Sequence[str], origin: Origin) -> int | None:
        """Find the label column that the caller named."""
        if self.row_labels is None or self.row_labels is False:
            return None
        if isinstance(self.row_labels, str):
            return positions([self.row_labels], names, origin)[0]
        if not 0 <= self.row_labels < len(names):
            raise origin.error(
                f"row_labels={self.row_labels} is not a column; use 0 to {len(names) - 1}, a name or False"
            )
        return int(self.row_labels)

    def data(self, names: Sequence[str], others: Collection[int | None], origin: Origin) -> list[int]:
        """Find the data columns."""
        wanted = range(len(names)) if self.columns is None else positions(self.columns, names, origin)
        left_out = {*self.excluded(names, origin), *others}
        chosen = [j for j in wanted if j not in left_out]
        if not chosen:
            raise origin.error("no data columns are left; check columns, exclude and row_labels")
        return chosen

    def rows_left_out(self, names: Sequence[str], origin: Origin) -> RowsLeftOut | None:
        """Which rows to leave out, if any; their name is in the label column, or in the first one."""
        if not self.exclude_rows:
            return None
        return RowsLeftOut(frozenset(self.exclude_rows), self.label(names, origin) or 0, origin)

    def excluded(self, names: Sequence[str], origin: Origin) -> set[int | None]:
        """Find the columns to leave out."""
        return set(positions(self.exclude or (), names, origin))

    def beside(self, names: Sequence[str], origin: Origin) -> list[int]:
        """Find the metadata columns that the caller named, those that describe the rows among them."""
        metadata = [self.metadata] if isinstance(self.metadata, str) else self.metadata or ()
        named = [*metadata, *self.covariates, *self.coordinates, *([self.effort] if self.effort else [])]
        return positions(list(dict.fromkeys(named)), names, origin)

    def facts(self, names: Sequence[str], found: Collection[int], origin: Origin) -> FactColumns:
        """What describes the rows; if all is asked for, also the columns that were found to be no data."""
        covariates = positions(self.covariates, names, origin)
        coordinates = positions(self.coordinates, names, origin)
        effort = None if self.effort is None else positions([self.effort], names, origin)[0]
        if self.takes_all:
            others = [j for j in sorted(found) if j not in {*coordinates, effort} and not is_identifier(names[j])]
            if not self.coordinates:
                coordinates = place_among(others, names)
            covariates = [j for j in others if j not in coordinates]
        return FactColumns(covariates, coordinates, effort)


class RowsLeftOut(NamedTuple):
    """Rows that the caller leaves out, by what they have in a column."""

    wanted: frozenset[str]
    column: int
    origin: Origin

    def of(self, rows: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
        """The other rows; a name that no row has is refused."""
        met = set()
        for line, row in rows:
            name = row[self.column].strip()
            if name in self.wanted:
                met.add(name)
            else:
                yield line, row
        self.check(met)

    def check(self, met: Collection[str]) -> None:
        """Refuse names that no row has."""
        for name in sorted(self.wanted.difference(met)):
            message = f"no row begins with {quoted(name)}; check {option('exclude_rows', [name])}"
            raise UselessOptionError(str(self.origin.error(message)), "exclude_rows")


def place_among(
    columns: Sequence[int], names: Sequence[str], axes: Sequence[Collection[str]] = (LONGITUDE, LATITUDE)
) -> list[int]:
    """The columns named as longitude and latitude, or as other axes, if there is one of each."""
    sides = [[j for j in columns if names[j].lower() in called] for called in axes]
    return [side[0] for side in sides] if all(len(side) == 1 for side in sides) else []


def positions(wanted: str | Sequence[str], names: Sequence[str], origin: Origin) -> list[int]:
    """Find columns by their names."""
    where = {name: j for j, name in enumerate(names)}
    listed = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in listed:
        if name not in where:
            near = difflib.get_close_matches(str(name), names, 3) or names[:3]
            message = f"there is no column {quoted(str(name))}; did you mean {' or '.join(map(quoted, near))}?"
            raise UnknownColumnError(str(origin.error(message)), str(name))
    return [where[name] for name in listed]


_VISITS = frozenset(["visit", "day", "date", "week", "survey", "occasion", "replicate", "round"])
_THINGS = frozenset(
    ("case", "code", "id", "index", "key", "label", "name", "nr", "plot", "quadrat", "row", "sample", "site", "station")
)
_ENDINGS = frozenset(("code", "id", "label", "name", "nr"))
_NUMBERS = frozenset(("no", "num", "number"))
"""Endings only behind a thing that is numbered; elsewhere, as alone, they may be how many."""
_JOINED = frozenset(thing + ending for thing in _THINGS for ending in _ENDINGS | _NUMBERS)
_MEASURES = frozenset(
    ("age", "altitude", "area", "date", "day", "depth", "elevation", "height", "lat", "latitude", "length", "longitude")
) | {"lon", "lng", "month", "richness", "size", "temperature", "time", "total", "weight", "width", "year"}
_INCREASING = "whole numbers that increase"
_DIFFERENT = "whole numbers that are all different"
_LEAST_ROWS = 3
"""Of fewer rows, whole numbers increase too easily."""
_MANY_ROWS = 20
"""Of fewer rows, the counts of an abundant species may be all different."""


def is_identifier(name: str) -> bool:
    """Check whether a column is named like an identifier of rows.

    Examples
    --------
    >>> [is_identifier(name) for name in ("Site", "plot_id", "SampleID", "siteid", "Plot No.", "site area", "Equus")]
    [True, True, True, True, True, False, False]
    """
    parts = _words_of(name)
    if len(parts) == 1:
        return parts[0] in _THINGS or parts[0] in _JOINED
    if not parts or parts == ["unnamed", "0"]:  # as pandas calls a column without name
        return bool(parts)
    return parts[-1] in _ENDINGS or (parts[-1] in _NUMBERS and parts[-2] in _THINGS)


def is_visit(name: str) -> bool:
    """Check whether a column is named like a visit: a day, a survey, an occasion.

    Examples
    --------
    >>> [is_visit(name) for name in ("day", "Visit_nr", "surveyDate", "count", "Daystar")]
    [True, True, True, False, False]
    """
    return not _VISITS.isdisjoint(_words_of(name))


def is_measure(name: str) -> bool:
    """Check whether a column is named like a measurement, so that its numbers are no counts.

    Examples
    --------
    >>> [is_measure(name) for name in ("Year", "soil_depth", "meanAge", "Agetes")]
    [True, True, True, False]
    """
    return not _MEASURES.isdisjoint(_words_of(name))


def _words_of(name: str) -> list[str]:
    """The words of a name in lower case, split at capitals and at all that is no letter or digit."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return [part for part in re.split(r"[\W_]+", words) if part]


@dataclass(frozen=True)
class Content:
    """What a column holds.

    Attributes
    ----------
    repeats : bool
        Whether some cells are the same.
    zero_one : bool
        Whether every cell is 0, 1 or missing.
    whole : bool
        Whether every cell is a whole number.
    increasing : bool
        Whether the numbers increase from row to row, in three rows or more.
    naming : bool
        Whether the cells may be names: there is text, no decimal number, and at most half is 0 or 1.
    text : bool
        Whether every filled cell is text, that is neither a number, be it with a decimal comma, nor a word for 0, 1 or
        missing.
    words : frozenset of str
        The different texts, if all are.
    filled : bool
        Whether no cell is empty.
    may_number : bool
        Whether the cells are different whole numbers above 0, in three rows or more: numbers of sites, or counts.
    must_number : bool
        Whether they are different whole numbers in so many rows that they are no counts.
    """

    repeats: bool
    zero_one: bool
    whole: bool
    increasing: bool
    naming: bool
    text: bool
    words: frozenset[str]
    filled: bool
    may_number: bool
    must_number: bool

    @property
    def unique(self) -> bool:
        """Whether all cells differ, and none is empty."""
        return self.filled and not self.repeats

    @property
    def kind(self) -> str:
        """What the cells are, in the words of a note."""
        what = "whole numbers" if self.whole else "texts"
        return f"unique {what}" if self.unique else f"{what} with {self.flaw}"

    @property
    def flaw(self) -> str:
        """Why cells that aren't `unique` name no rows."""
        return "repeats" if self.repeats else "an empty cell"

    @property
    def is_category(self) -> bool:
        """Whether the cells are text with repeats, and not a single mark beside empty cells."""
        return self.text and not self.unique and (len(self.words) > 1 or self.filled)


def examine(texts: Sequence[str], tokens: Tokens) -> Content:
    """Look at the cells of a column.

    Examples
    --------
    >>> tokens = Tokens({"": -1}, None)
    >>> examine(["3", "4", "17"], tokens).increasing, examine(["BF", "NM", "BF"], tokens).kind
    (True, 'texts with repeats')
    """
    codes = tokens.codes(texts)
    n_filled, n_bad = len(codes) - codes.count(MISSING_BYTE), codes.count(BAD_BYTE)
    numbers = [tokens.number(text) for text in texts]
    n_text = sum(code == BAD_BYTE and number is None for code, number in zip(codes, numbers, strict=True))
    present = [number for number in numbers if number is not None]
    all_whole = all(number.is_integer() for number in present)
    whole = all_whole and len(present) == len(texts)
    several = whole and len(texts) >= _LEAST_ROWS
    filled, repeats = "" not in texts, len(set(texts)) < len(texts)
    only_text = 0 < n_text == n_filled and not any(map(has_decimal_comma, texts))
    return Content(
        repeats=repeats,
        zero_one=not n_bad,
        whole=whole,
        increasing=several and all(a < b for a, b in itertools.pairwise(present)),
        naming=n_text > 0 and all_whole and 2 * n_bad >= n_filled,
        text=only_text,
        words=frozenset(text.lower() for text in texts if text) if only_text else frozenset(),
        filled=filled,
        may_number=several and not repeats and min(present) > 0,
        must_number=whole and not repeats and len(texts) >= _MANY_ROWS,
    )


class Roles(NamedTuple):
    """Which column is what.

    Attributes
    ----------
    label : int or None
        The position of the column that names the rows.
    metadata : list of int
        The positions of the columns kept beside the rows.
    notes : tuple of str
        A sentence for each decision that the caller didn't make.
    guesses : tuple of str
        The notes that may be wrong, with the way out.
    numbered : int or None
        The position of a first column that is data, and yet may name the rows: its whole numbers are all different.
    facts : FactColumns
        What describes the rows.
    """

    label: int | None
    metadata: list[int]
    notes: tuple[str, ...]
    guesses: tuple[str, ...]
    numbered: int | None = None
    facts: FactColumns = FactColumns([], [], None)

    def with_measured(self, reasons: Mapping[int, str], names: Sequence[str]) -> Roles:
        """Keep columns beside the rows that are no counts, for these reasons; one note for those of the same reason."""
        notes = []
        for reason in dict.fromkeys(reasons.values()):
            same = [quoted(names[j]) for j, other in reasons.items() if other == reason]
            more = f" and {len(same) - SHOWN} more" * (len(same) > SHOWN)
            are = "column {} is" if len(same) == 1 else "columns {} are"
            notes.append(f"the {are.format(', '.join(same[:SHOWN]) + more)} kept beside the rows ({reason})")
        way_out = "name the data by columns=[...] (--columns NAME) if this is wrong"
        metadata = [*self.metadata, *(j for j in reasons if j not in self.metadata)]
        guesses = (*self.guesses, *(f"{note}; {way_out}" for note in notes))
        return self._replace(metadata=metadata, notes=(*self.notes, *notes), guesses=guesses)

    def warn(self, origin: Origin) -> None:
        """Warn of the guesses, as something that the caller of `read_table` should look at."""
        level, frame = 1, sys._getframe()
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("latentbits.data."):
            level, frame = level + 1, frame.f_back
        for guess in self.guesses:
            warnings.warn(f"{origin.file}: {guess}", stacklevel=level)


def find_roles(
    names: Sequence[str], contents: Mapping[int, Content], choice: ColumnChoice, origin: Origin, unnamed: str = ""
) -> Roles:
    """Find the columns that are no data."""
    label, beside = choice.label(names, origin), choice.beside(names, origin)
    left_out = {*choice.excluded(names, origin), *beside}
    data = set(choice.data(names, (), origin))
    notes: list[str] = []
    guesses: list[str] = []
    numbered = None

    def note(sentence: str, way_out: str = "") -> None:
        notes.append(sentence)
        if way_out:
            guesses.append(f"{sentence}; {way_out}")

    if choice.row_labels is None and unnamed:
        if contents[0].repeats:
            raise origin.error(
                "the first column has no name, and repeats, so it names no rows; give it a name in the header, or use "
                "row_labels=0 (--row-labels '') if it names them all the same"
            )
        label = 0
        note(f"the first column names the rows ({unnamed})")
    elif choice.row_labels is None:
        for j in sorted(set(contents) - left_out):
            asked_for = data == {j} or (choice.columns is not None and j > 0 and j in data)
            reason = None if asked_for else _reason(names[j], contents[j], first=j == 0)
            if reason is not None:
                label = j
                what = f"the column {quoted(names[j])} names the rows"
                guessed = reason in (_INCREASING, _DIFFERENT)
                note(f"{what} ({reason})", "use row_labels=False (--no-row-labels) if it is data" * guessed)
                break
        if label is None and 0 in contents and contents[0].may_number and 0 in data - left_out:
            numbered = 0
            way_out = f"use {option('row_labels', names[0])} if it names the rows"
            note(f"the column {quoted(names[0])} is data, though its whole numbers are all different", way_out)
    found = (
        [] if choice.columns is not None else _metadata(names, contents, left_out | {label}, choice, label is not None)
    )
    if data - {label, *beside} - {j for j, _ in found}:  # if nothing else is left, it is the data that are in words
        for j, reason in found:
            beside.append(j)
            way_out = f"use {option('exclude', [names[j]])} to leave it out, "
            if is_identifier(names[j]):
                all_the_same = "" if contents[j].unique else " all the same"
                way_out += f"or {option('row_labels', names[j])} if it names the rows{all_the_same}"
            else:
                way_out += (
                    f"{option('covariates', [names[j]])} if it may explain cells, or --true and --false if it is data"
                )
            way_out = "" if choice.takes_all else way_out
            note(f"the column {quoted(names[j])} is metadata, kept beside the rows ({reason})", way_out)
    found_beside = {j for j, _ in found if j in beside}
    if choice.takes_all:
        measured = _measured(names, contents, {*left_out, label, *found_beside}, choice)
        beside += measured
        found_beside |= {*measured}
    facts = choice.facts(names, found_beside, origin)
    if facts.columns:
        note(_of_facts(facts, names))
    return Roles(label, beside, tuple(notes), tuple(guesses), numbered, facts)


def _of_facts(facts: FactColumns, names: Sequence[str]) -> str:
    """Which columns describe the rows."""
    roles = {"covariates": facts.covariates, "coordinates": facts.coordinates}
    roles["effort"] = [] if facts.effort is None else [facts.effort]
    return "; ".join(f"{role}: {', '.join(names[j] for j in columns)}" for role, columns in roles.items() if columns)


def _measured(
    names: Sequence[str], contents: Mapping[int, Content], others: set[int | None], choice: ColumnChoice
) -> list[int]:
    """The columns of numbers other than 0 and 1; by a threshold, those that are named like a measurement."""
    wanted = range(len(names)) if choice.columns is None else []
    return [
        j
        for j in wanted
        if j in contents
        and j not in others
        and not contents[j].zero_one
        and not is_identifier(names[j])
        and (is_measure(names[j]) or not choice.by_threshold)
    ]


def _reason(name: str, content: Content, *, first: bool) -> str | None:
    """Why a column names the rows, or None if it doesn't."""
    if not content.unique or not (content.whole or content.naming):
        return None
    if is_identifier(name) and (first or not content.zero_one):
        return content.kind
    if not first:
        return None
    if content.whole:
        return _INCREASING if content.increasing else _DIFFERENT if content.must_number else None
    return content.kind


def _metadata(
    names: Sequence[str],
    contents: Mapping[int, Content],
    left_out: set[int | None],
    choice: ColumnChoice,
    has_label: bool,
) -> list[tuple[int, str]]:
    """The columns that are metadata though the caller didn't say so, and why."""
    others = {j: content for j, content in contents.items() if j not in left_out}
    categories = {j: content for j, content in others.items() if content.is_category}
    users = Counter(word for content in categories.values() for word in content.words)
    found = []
    for j, content in sorted(others.items()):
        identifies = is_identifier(names[j]) and not content.zero_one and (content.whole or content.naming)
        repeats = not content.unique and choice.row_labels is not False
        if j in categories and all(users[word] == 1 for word in content.words):
            found.append((j, f"text with {content.flaw}"))
        elif identifies and (has_label or repeats):
            found.append((j, f"named like an identifier, {content.kind}"))
    return found
