"""Long format: a row for each observation (site, species and perhaps a value), as a table of sites by species."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from latentbits.data.advice import BadColumn, Surroundings, options_for_numbers
from latentbits.data.bad_cells import BadCells, refusal
from latentbits.data.columns import ColumnChoice, positions
from latentbits.data.messages import Origin, quoted
from latentbits.data.roles import Content, Roles, is_identifier, is_visit
from latentbits.data.words import BAD_BYTE, MISSING_BYTE, Tokens

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

__all__ = ["Observations", "pivot", "refuse_long_format", "refuse_wide_options"]

_DENSE_CELLS = 10**8
"""Larger tables stay sparse."""


def refuse_wide_options(others: Mapping[str, object], way_out: str, origin: Origin) -> None:
    """Refuse options that are about wide tables.

    Parameters
    ----------
    others : mapping of str to object
        The options that are about wide tables, None where not given.
    way_out : str
        What to do about one that is given.
    origin : Origin
        Where the data come from, for error messages.

    Raises
    ------
    DataError
        With the first that is given.
    """
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise origin.error(f"the option {given[0]} is about wide tables; {way_out}")


def pivot(
    names: Sequence[str],
    rows: Iterable[tuple[int, Sequence[str]]],
    long: Sequence[str],
    tokens: Tokens,
    origin: Origin,
) -> BinaryData:
    """Make a table of observations.

    Parameters
    ----------
    names : sequence of str
        Of all columns.
    rows : iterable of (int, sequence of str)
        Lines and fields.
    long : sequence of str
        The names of the columns of site and species, and perhaps of the value.
    tokens : Tokens
        What values mean.
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    BinaryData
        Sites by species, in order of appearance; pairs that were not observed are 0.

    Raises
    ------
    DataError
        If there are not two or three columns, a site or species has no name, a value is neither 0 nor 1, or a pair has
        two values.
    """
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

    Parameters
    ----------
    names : sequence of str
        Of all columns.
    where : sequence of int
        The positions of the columns that say what an observation is about, such as site and species, and perhaps of
        the value after them.
    n_keys : int
        How many of them come before the value.
    tokens : Tokens
        What values mean.
    origin : Origin
        Where the data come from, for error messages.

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
    """Refuse a table that looks like long format, unless the caller said what its columns are.

    Parameters
    ----------
    names : sequence of str
        Of all columns.
    contents : mapping of int to Content
        What those columns hold that may be something else than data, by position.
    roles : Roles
        What the columns are taken for.
    bad : mapping of int to BadColumn
        The columns that hold more than 0 and 1.
    choice : ColumnChoice
        The columns that the caller asked for.
    origin : Origin
        Where the data come from, for error messages.

    Raises
    ------
    DataError
        With the columns to give as `long`.
    """
    label = roles.label
    numbers_rows = label is not None and not names[label] and contents[label].whole
    if (label is not None and not numbers_rows) or any(option is not None for option in vars(choice).values()):
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
