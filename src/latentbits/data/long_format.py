"""Long format: a row for each observation (site, species and perhaps a value), as a table of sites by species."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from latentbits.data.advice import BadColumn, Surroundings, options_for_numbers
from latentbits.data.bad_cells import BadCells, refusal
from latentbits.data.columns import ColumnChoice, positions
from latentbits.data.messages import Origin, quoted
from latentbits.data.roles import Content, Roles, is_identifier
from latentbits.data.words import BAD_BYTE, MISSING_BYTE, Tokens

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

__all__ = ["check_long", "pivot", "refuse_long_format"]

_DENSE_CELLS = 10**8
"""Larger tables stay sparse."""

_Observation = tuple[int, str, str, str]
"""The line of an observation, its site, its species and its value."""


def check_long(long: Sequence[str] | None, others: Mapping[str, object], origin: Origin) -> list[str] | None:
    """Refuse a wrong number of columns, and options that are about wide tables.

    Parameters
    ----------
    long : sequence of str or None
        The columns of site and species, and perhaps of the value.
    others : mapping of str to object
        The options that are about wide tables, None where not given.
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    list of str or None
        The columns; None if the table isn't long.

    Raises
    ------
    DataError
        If there are not two or three columns, or another option doesn't go with them.
    """
    if long is None:
        return None
    columns = [long] if isinstance(long, str) else list(long)
    if len(columns) not in (2, 3) or len(set(columns)) != len(columns):
        raise origin.error(
            f"long={columns!r} is not two or three different columns; give those of rows and columns, such as "
            "long=['site', 'species'] (--long site species), and perhaps of the value"
        )
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise origin.error(f"the option {given[0]} is about wide tables; leave it out, or leave out long (--long)")
    return columns


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
        If a site or species has no name, a value is neither 0 nor 1, or a pair has two values.
    """
    where = positions(long, names, origin)
    sites: dict[str, int] = {}
    species: dict[str, int] = {}
    found: dict[tuple[int, int], tuple[str, int]] = {}
    bad, n_filled = BadCells(), 0
    for line, site, kind, value in _observations(rows, where, names, origin):
        code = tokens[value]
        n_filled += code != MISSING_BYTE
        if code == BAD_BYTE:
            bad.add_row(line, [where[-1]], [value], bytes([code]))
        pair = sites.setdefault(site, len(sites)), species.setdefault(kind, len(species))
        earlier, first_line = found.setdefault(pair, (value, line))
        if earlier != value and tokens.number(earlier) != tokens.number(value):
            raise origin.error(
                f"{quoted(site)} and {quoted(kind)} have the value {value} here and {earlier} in {origin.row} "
                f"{first_line}; keep one of them",
                origin.place(line),
            )
    if bad:
        codes = [tokens[value] for value, _ in found.values()]
        counts = {where[-1]: n_filled}, {where[-1]: codes.count(0)}
        raise refusal(
            bad, Surroundings(names, 1, *counts, 0 in codes, 1 in codes, MISSING_BYTE in codes), tokens, origin
        )
    return _table(list(sites), list(species), {pair: tokens[value] for pair, (value, _) in found.items()}, long)


def _observations(
    rows: Iterable[tuple[int, Sequence[str]]], where: Sequence[int], names: Sequence[str], origin: Origin
) -> Iterable[_Observation]:
    for line, row in rows:
        site, kind, value = *(row[j].strip() for j in where[:2]), (row[where[2]].strip() if len(where) == 3 else "1")
        for text, j in ((site, where[0]), (kind, where[1])):
            if not text:
                raise origin.error("the cell is empty, so it names nothing; fill it in", origin.place(line, names[j]))
        yield line, site, kind, value


def _table(sites: list[str], species: list[str], codes: dict[tuple[int, int], int], long: Sequence[str]) -> BinaryData:
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
