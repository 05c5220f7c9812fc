"""Long format, a row for each observation: as a table of sites by species, or with visits as histories."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from latentbits.data.codes import BAD_BYTE, MISSING_BYTE, Tokens, as_text
from latentbits.data.messages import Origin, quoted
from latentbits.data.read_options import ReadOptions
from latentbits.data.refusals import BadCells, BadColumn, Surroundings, options_for_numbers, refusal
from latentbits.data.roles import ColumnChoice, Content, Roles, is_identifier, is_visit, positions

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.histories import Histories

_DENSE_CELLS = 10**8
"""Larger tables stay sparse."""


def refuse_wide_options(options: ReadOptions, way_out: str, origin: Origin) -> None:
    """Refuse options that are about wide tables."""
    about = ("row_labels", "columns", "exclude", "metadata", "covariates", "coordinates", "effort")
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
                raise self.origin.error("the cell is empty, so it names nothing; fill it in", place)
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
    keys = [j for j, content in sorted(contents.items()) if j != label and _is_key(j, names[j], content)]
    values = [j for j in range(len(names)) if j not in keys and j != label]
    if len(keys) != 2 or len(values) > 1 or not any(contents[j].text for j in keys):
        return
    if is_identifier(names[keys[1]]) and not is_identifier(names[keys[0]]):
        keys.reverse()
    long = [names[j] for j in keys + values]
    if values and is_visit(names[values[0]]):
        raise origin.error(
            f"this looks like repeat visits, a row for each observation; use latentbits repeat-visits --long "
            f"{shlex.join(long[:2])} --visits {shlex.quote(long[2])} (read_histories in Python), or long={long[:2]!r} "
            f"(--long {shlex.join(long[:2])}) for what was ever seen"
        )
    options = options_for_numbers(bad[values[0]].words) if values and values[0] in bad else {}
    python = " and ".join(f"{name}={value!r}" for name, value in {"long": long, **options}.items())
    meaning = "".join(f" --{name} {value}" for name, value in options.items())
    beside = " ".join(f"--metadata {shlex.quote(names[j])}" for j in sorted(keys))
    raise origin.error(
        f"this looks like long format, a row for each observation; use {python} (--long {shlex.join(long)}{meaning}) "
        f"for a table of {quoted(long[0])} by {quoted(long[1])}, or metadata ({beside}{meaning}) if the rows are cases"
    )


def _is_key(j: int, name: str, content: Content) -> bool:
    """Whether a column may hold the sites or species of observations: text, or repeated numbers of sites."""
    numbers = content.whole and not content.unique and not content.zero_one and (j == 0 or is_identifier(name))
    return content.text or numbers


Surveyed = Iterable[Sequence[object]] | Literal["all"] | None
"""Which visits were made: pairs of site and visit, "all" of them, or (None) those that the table has."""

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


def _visits_made(observed: Observations, lines: dict[Visit, int], surveyed: Surveyed) -> Iterable[Visit]:
    """The visits that were made; one that the table has and the caller's list hasn't is refused."""
    origin, sites, visits = observed.origin, observed.positions[_SITE], observed.positions[_VISIT]
    if surveyed is None:
        return lines
    if isinstance(surveyed, str):
        if surveyed != "all":
            raise origin.error(f'surveyed={surveyed!r} is unknown; use "all", or pairs of site and visit')
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
    rule = "visits that don't occur were not made" if surveyed is None else "the visits that were made are given"
    site, visit, kind = map(quoted, columns[:3])
    note = f"each row is an observation of {kind} at {site} on the visit {visit}; {rule}"
    return Histories(cells, sites, visits, species, row_label=columns[_SITE], notes=(note,))
