"""Long format, a row for each observation: as a table of sites by species, or with visits as histories."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from latentbits.data.codes import BAD_BYTE, MISSING_BYTE, Tokens, as_text
from latentbits.data.messages import Origin, quoted
from latentbits.data.read_options import ReadOptions
from latentbits.data.refusals import BadCells, BadColumn, Surroundings, options_for_numbers, refusal
from latentbits.data.roles import ColumnChoice, Content, Roles, is_identifier, is_visit, positions
from latentbits.errors import DataError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.histories import Histories
    from latentbits.data.row_facts import RowFacts

_DENSE_CELLS = 10**8
"""Larger tables stay sparse."""


def refuse_wide_options(options: ReadOptions, way_out: str, origin: Origin, *, visits: bool = False) -> None:
    """Refuse options that are about wide tables; of tables of visits that of effort, which isn't a site's, too."""
    about = ("row_labels", "columns", "exclude", "metadata", *(["effort"] if visits else []))
    given = [name for name in about if getattr(options, name) is not None]
    if given:
        raise origin.error(f"the option {given[0]} is about wide tables; {way_out}")


def pivot(
    names: Sequence[str],
    rows: Iterable[tuple[int, Sequence[str]]],
    long: Sequence[str],
    tokens: Tokens,
    origin: Origin,
) -> BinaryData:
    """Make a table of observations."""
    long = _checked_columns(long, origin)
    where = positions(long, names, origin)
    observed = Observations(names, where, 2, tokens, origin)
    for line, row in rows:
        keys, value = observed.read(line, row)
        observed.add(line, keys, value)
    observed.refuse_bad_values()
    sites, species = map(list, observed.positions)
    return _table(sites, species, observed.codes, long)


class Described:
    """What the lines of a site say of it beside its observations, such as its elevation: the same in all of them.

    Parameters
    ----------
    choice : ColumnChoice
        Which columns; of "all", those that say the same of every site.
    names : sequence of str
        The columns of the table.
    observed : sequence of str
        Those of the observations, that of sites first.
    origin : Origin
        Of messages.
    """

    def __init__(self, choice: ColumnChoice, names: Sequence[str], observed: Sequence[str], origin: Origin) -> None:
        self.choice, self.names, self.origin = choice, names, origin
        self.site = positions(observed[:1], names, origin)[0]
        self.named = choice.beside(names, origin)
        taken = {*positions(observed, names, origin), *self.named}
        others = [j for j, name in enumerate(names) if j not in taken and name and choice.takes_all]
        self.columns, self.differing = [*self.named, *others], set[int]()
        self.found: dict[str, dict[int, tuple[str, int]]] = {}

    def seen_in(self, rows: Iterable[tuple[int, Sequence[str]]], tokens: Tokens) -> Iterator[tuple[int, Sequence[str]]]:
        """The same rows, looked at."""
        for line, row in rows:
            known = self.found.setdefault(row[self.site].strip(), {})
            for j in self.columns:
                text = row[j].strip()
                if not text:
                    continue
                earlier, first = known.setdefault(j, (text, line))
                if earlier != text and (tokens.number(text) is None or tokens.number(earlier) != tokens.number(text)):
                    self._differs(j, line, f"{quoted(text)} here and {quoted(earlier)} in {self.origin.row} {first}")
            yield line, row

    def _differs(self, j: int, line: int, both: str) -> None:
        if j in self.named:
            raise self.origin.error(
                f"{quoted(self.names[j])} is {both} for the same {self.names[self.site]}; keep one of them, or leave "
                "the column out, as it doesn't describe the rows",
                self.origin.place(line),
            )
        self.differing.add(j)

    def facts(self, sites: Sequence[str]) -> RowFacts:
        """In the order of these sites."""
        from latentbits.data.row_facts import RowFacts

        columns = [j for j in self.columns if j not in self.differing]
        chosen = self.choice.facts(self.names, columns, self.origin)
        texts = {self.names[j]: [self.found.get(s, {}).get(j, ("", 0))[0] for s in sites] for j in chosen.columns}
        place, effort = [self.names[j] for j in chosen.coordinates], chosen.effort
        return RowFacts.of(
            texts,
            covariates=[self.names[j] for j in chosen.covariates],
            coordinates=place or None,
            effort=None if effort is None else self.names[effort],
        )


def _checked_columns(long: Sequence[str], origin: Origin) -> list[str]:
    columns = [long] if isinstance(long, str) else list(long)
    if len(columns) not in (2, 3) or len(set(columns)) != len(columns):
        raise origin.error(
            f"long={columns!r} is not two or three different columns; give those of rows and columns, such as "
            "long=['site', 'species'] (--long site species), and perhaps of the value"
        )
    return columns


class Observations:
    """What was read so far of a table with a row for each observation.

    Attributes
    ----------
    positions : list of dict of str to int
        For each key its names, in order of appearance, with their positions.
    found : dict of tuple of int to (str, int)
        For the positions of an observation's keys its value and its line.
    """

    def __init__(self, names: Sequence[str], where: Sequence[int], n_keys: int, tokens: Tokens, origin: Origin) -> None:
        self.names, self.where, self.n_keys, self.tokens, self.origin = names, where, n_keys, tokens, origin
        self.positions: list[dict[str, int]] = [{} for _ in range(n_keys)]
        self.found: dict[tuple[int, ...], tuple[str, int]] = {}
        self._bad, self._n_filled = BadCells(), 0

    @property
    def codes(self) -> dict[tuple[int, ...], int]:
        """For the positions of an observation's keys its code."""
        return {key: self.tokens[value] for key, (value, _) in self.found.items()}

    def read(self, line: int, row: Sequence[str], n_named: int | None = None) -> tuple[list[str], str]:
        """Keys and value of a row, of which the first `n_named` keys (all by default) may not be empty."""
        keys = [row[j].strip() for j in self.where[: self.n_keys]]
        for text, j in zip(keys[:n_named], self.where, strict=False):
            if not text:
                place = self.origin.place(line, self.names[j])
                in_vain = ", leave such lines out, or use latentbits repeat-visits if they are visits that saw nothing"
                way_out = "fill it in" + in_vain * (self.n_keys == 2 and j == self.where[1])
                raise self.origin.error(f"the cell is empty, so it names nothing; {way_out}", place)
        return keys, row[self.where[-1]].strip() if len(self.where) > self.n_keys else "1"

    def position(self, key: int, name: str) -> int:
        """The position of a name of the first, second, ... key; a new name comes last."""
        known = self.positions[key]
        return known.setdefault(name, len(known))

    def add(self, line: int, keys: Sequence[str], value: str) -> None:
        """Take an observation; another value of an earlier one is refused."""
        tokens, origin, code = self.tokens, self.origin, self.tokens[value]
        self._n_filled += code != MISSING_BYTE
        if code == BAD_BYTE:
            self._bad.add_row(line, [self.where[-1]], [value], bytes([code]))
        places = tuple(self.position(key, name) for key, name in enumerate(keys))
        earlier, first_line = self.found.setdefault(places, (value, line))
        if earlier != value and tokens.number(earlier) != tokens.number(value):
            listed = f"{', '.join(map(quoted, keys[:-1]))} and {quoted(keys[-1])}"
            raise origin.error(
                f"{listed} have the value {value} here and {earlier} in {origin.row} {first_line}; keep one of them",
                origin.place(line),
            )

    def refuse_bad_values(self) -> None:
        """One error for all values that are neither 0, 1 nor missing."""
        if self._bad:
            value, codes = self.where[-1], list(self.codes.values())
            counts = {value: self._n_filled}, {value: codes.count(0)}
            # There are zeros in any case: pairs that don't occur. So 1 is a presence, not the lowest of a scale.
            around = Surroundings(self.names, 1, *counts, True, 1 in codes, MISSING_BYTE in codes)
            raise refusal(self._bad, around, self.tokens, self.origin)


def _table(sites: list[str], species: list[str], codes: dict[tuple[int, ...], int], long: Sequence[str]) -> BinaryData:
    import numpy as np
    import scipy.sparse as sp

    from latentbits.data.binary_data import BinaryData
    from latentbits.data.codes import with_index_types

    shape = len(sites), len(species)
    places = np.array(list(codes)).reshape(-1, 2).T
    values = np.array(list(codes.values()), np.uint8).view(np.int8)
    csr = sp.coo_array((values, (places[0], places[1])), shape=shape).tocsr()
    csr.eliminate_zeros()
    dense = csr.toarray() if shape[0] * shape[1] <= _DENSE_CELLS else None
    note = f"each row is an observation of {quoted(long[1])} at {quoted(long[0])}; pairs that don't occur are 0"
    sparse = with_index_types(csr) if dense is None else None
    return BinaryData(dense, sparse, sites, species, row_label=long[0], notes=(note,))


def refuse_long_format(
    names: Sequence[str],
    contents: Mapping[int, Content],
    roles: Roles,
    bad: Mapping[int, BadColumn],
    choice: ColumnChoice,
    origin: Origin,
) -> None:
    """Refuse a table that looks like long format, unless the caller said what its columns are."""
    label = roles.label
    numbers_rows = label is not None and not names[label] and contents[label].whole
    if (label is not None and not numbers_rows) or choice.is_made:
        return
    columns = [j for j in range(len(names)) if j != label]
    visits = [j for j in columns if is_visit(names[j]) or (j in contents and _holds_dates(contents[j]))][:1]
    keys = [j for j in columns if j in contents and _is_key(j, names[j], contents[j])]
    if len({*keys} - {*visits}) == 2:
        keys = [j for j in keys if j not in visits]
    else:
        visits = []
    values = [j for j in columns if j not in (*keys, *visits)]
    if len(keys) != 2 or len(values) > 1 or not any(contents[j].text for j in keys):
        return
    # The first is that of sites: named like one, and never empty, as a visit in vain has no species.
    keys.sort(key=lambda j: (not is_identifier(names[j]), not contents[j].filled))
    long = [names[j] for j in keys + values]
    if visits:
        raise _visits_error(long, names[visits[0]], contents[keys[1]].filled, origin)
    options = options_for_numbers(bad[values[0]].words) if values and values[0] in bad else {}
    python = " and ".join(f"{name}={value!r}" for name, value in {"long": long, **options}.items())
    meaning = "".join(f" --{name} {value}" for name, value in options.items())
    beside = " ".join(f"--metadata {shlex.quote(names[j])}" for j in sorted(keys))
    raise origin.error(
        f"this looks like long format, a row for each observation; use {python} (--long {shlex.join(long)}{meaning}) "
        f"for a table of {quoted(long[0])} by {quoted(long[1])}, or metadata ({beside}{meaning}) if the rows are cases"
    )


def _visits_error(long: list[str], visit: str, filled: bool, origin: Origin) -> DataError:
    """The error for repeat visits; where a species is empty nothing but repeat-visits can read them."""
    if filled:
        otherwise = f", or long={long!r} (--long {shlex.join(long)}) for what was ever seen"
    else:
        otherwise = f"; a line without {quoted(long[1])} is a visit that saw nothing"
    return origin.error(
        f"this looks like long format of repeat visits, a row for each observation; use latentbits repeat-visits "
        f"--long {shlex.join(long)} --visits {shlex.quote(visit)} (read_histories in Python){otherwise}"
    )


_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([ t].*)?")


def _holds_dates(content: Content) -> bool:
    """Whether a column of text holds dates."""
    return bool(content.words) and all(map(_DATE.fullmatch, content.words))


def _is_key(j: int, name: str, content: Content) -> bool:
    """Whether a column may hold the sites or species of observations: text, or repeated numbers of sites."""
    numbers = content.whole and not content.unique and not content.zero_one and (j == 0 or is_identifier(name))
    return content.text or numbers


Surveyed = Iterable[Sequence[object]] | Literal["all", "seen"] | None
"""Which visits were made: pairs of site and visit, "all" of them, or those that the table has (None; "seen" if every
visit saw something)."""

_IMPROBABLE = 0.01
"""Files of sightings alone are refused if it is less probable than this that no visit saw nothing."""

_MOST_CELLS = 10**9
_SITE, _VISIT, _SPECIES = range(3)

Visit = tuple[int, int]
"""The positions of site and visit."""


def check_visit_columns(columns: Sequence[str], origin: Origin) -> None:
    """Refuse the same column for two of site, visit, species and value."""
    for name in columns:
        if columns.count(name) > 1:
            raise origin.error(
                f"the column {quoted(name)} is given twice; site, visit, species and value are different columns"
            )


def collect_visits(
    names: Sequence[str],
    rows: Iterable[tuple[int, Sequence[str]]],
    columns: Sequence[str],
    tokens: Tokens,
    origin: Origin,
    surveyed: Surveyed = None,
) -> Histories:
    """Make histories of observations; `Histories.from_long` says by which rules."""
    check_visit_columns(columns, origin)
    observed = Observations(names, positions(columns, names, origin), 3, tokens, origin)
    lines = _read(observed, rows)
    observed.refuse_bad_values()
    if surveyed is None:
        _refuse_sightings_alone(observed, lines)
    made = _visits_made(observed, lines, surveyed)
    return _histories(observed, made, columns, surveyed)


def _read(observed: Observations, rows: Iterable[tuple[int, Sequence[str]]]) -> dict[Visit, int]:
    """Take all rows; the visits that they say were made, with the first line that says so."""
    tokens, has_values = observed.tokens, len(observed.where) > observed.n_keys
    made: dict[Visit, int] = {}
    for line, row in rows:
        (site, visit, species), value = observed.read(line, row, n_named=_SPECIES)
        at = observed.position(_SITE, site), observed.position(_VISIT, visit)
        if not species or tokens[species] == MISSING_BYTE:
            if has_values and tokens[value] == 1:
                place = observed.origin.place(line, observed.names[observed.where[_SPECIES]])
                raise observed.origin.error("something was seen, and the cell doesn't say what; fill it in", place)
            made.setdefault(at, line)
            continue
        observed.add(line, (site, visit, species), value)
        if tokens[value] != MISSING_BYTE:
            made.setdefault(at, line)
    return made


def _refuse_sightings_alone(observed: Observations, made: dict[Visit, int]) -> None:
    """Refuse a file in which visits that saw nothing seem to be missing: of them the model would know nothing.

    By visits that saw one species and two, Chao's lower bound of those that saw none; with so many expected, the
    probability that there are none is exp(-bound).
    """
    import math

    n_seen = dict.fromkeys(made, 0)
    for (site, visit, _), code in observed.codes.items():
        n_seen[site, visit] = n_seen.get((site, visit), 0) + (code == 1)
    n_pairs = len(observed.positions[_SITE]) * len(observed.positions[_VISIT])
    if 0 in n_seen.values() or len(n_seen) == n_pairs:
        return
    once, twice = (sum(n == number for n in n_seen.values()) for number in (1, 2))
    expected = once * (once - 1) / (2 * (twice + 1))
    if math.exp(-expected) >= _IMPROBABLE:
        return
    chance = f"{math.exp(-expected):.1g}" if expected < 30 else "less than 1e-13"
    raise observed.origin.error(
        f"every one of the {len(n_seen):,} visits saw something, though {once:,} saw a single species: by these about "
        f"{expected:,.0f} visits saw nothing, and that none did has the probability {chance}. It looks like a file of "
        "sightings alone. Without the visits in vain everything would be taken for easy to see. Give the visits that "
        "were made (--visits-made FILE, surveyed=), or say that every visit was made to every site (--all-visits, "
        'surveyed="all"), or that every visit did see something (--every-visit-saw, surveyed="seen")'
    )


def _visits_made(observed: Observations, lines: dict[Visit, int], surveyed: Surveyed) -> Iterable[Visit]:
    """The visits that were made; one that the table has and the caller's list hasn't is refused."""
    origin, sites, visits = observed.origin, observed.positions[_SITE], observed.positions[_VISIT]
    if surveyed is None or surveyed == "seen":
        return lines
    if isinstance(surveyed, str):
        if surveyed != "all":
            raise origin.error(f'surveyed={surveyed!r} is unknown; use "all", "seen", or pairs of site and visit')
        return [(i, v) for i in sites.values() for v in visits.values()]
    made: dict[Visit, None] = {}
    for number, pair in enumerate(surveyed, start=1):
        if isinstance(pair, str) or len(pair) != 2:
            raise origin.error(f"entry {number} of surveyed is {pair!r}; give pairs of site and visit")
        site, visit = (as_text(name).strip() for name in pair)
        made[observed.position(_SITE, site), observed.position(_VISIT, visit)] = None
    for (i, v), line in lines.items():
        if (i, v) not in made:
            site, visit = list(sites)[i], list(visits)[v]
            raise origin.error(
                f"the visit {quoted(visit)} to {quoted(site)} is not among those that were made; add it to surveyed",
                origin.place(line),
            )
    return made


def _histories(observed: Observations, made: Iterable[Visit], columns: Sequence[str], surveyed: Surveyed) -> Histories:
    import numpy as np  # late: a file that is refused shouldn't wait for it

    from latentbits.data.codes import MISSING
    from latentbits.data.histories import Histories

    sites, visits, species = map(list, observed.positions)
    origin, shape = observed.origin, (len(sites), len(visits), len(species))
    if not species:
        raise origin.error(f"no row has a species in the column {quoted(columns[_SPECIES])}; give another column")
    if shape[0] * shape[1] * shape[2] > _MOST_CELLS:
        raise origin.error(
            f"{shape[0]} sites x {shape[1]} visits x {shape[2]} species are too many cells; number the visits of each "
            "site 1, 2, 3, ..., so that sites share them"
        )
    cells = np.full(shape, MISSING, np.int8)
    at = np.array(list(made), int).reshape(-1, 2)
    cells[at[:, 0], at[:, 1]] = 0
    codes = observed.codes
    places = np.array(list(codes), int).reshape(-1, 3)
    cells[tuple(places.T)] = np.array(list(codes.values()), np.uint8).view(np.int8)
    by_table = surveyed is None or surveyed == "seen"
    rule = "visits that don't occur were not made" if by_table else "the visits that were made are given"
    site, visit, kind = map(quoted, columns[:3])
    note = f"each row is an observation of {kind} at {site} on the visit {visit}; {rule}"
    return Histories(cells, sites, visits, species, row_label=columns[_SITE], notes=(note,))
