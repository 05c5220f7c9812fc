"""Long format with visits: a row for each observation of a species on a visit to a site, as histories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from latentbits.data.columns import positions
from latentbits.data.long_format import Observations
from latentbits.data.messages import Origin, quoted
from latentbits.data.sheet import as_text
from latentbits.data.words import MISSING_BYTE, Tokens

if TYPE_CHECKING:
    from latentbits.data.histories import Histories

__all__ = ["Surveyed", "check_visit_columns", "collect_visits"]

Surveyed = Iterable[Sequence[object]] | Literal["all"] | None
"""Which visits were made: pairs of site and visit, "all" of them, or (None) those that the table has."""

_MOST_CELLS = 10**9
_SITE, _VISIT, _SPECIES = range(3)

Visit = tuple[int, int]
"""The positions of site and visit."""


def check_visit_columns(columns: Sequence[str], origin: Origin) -> None:
    """Refuse the same column for two of site, visit, species and value.

    Parameters
    ----------
    columns : sequence of str
        Their names.
    origin : Origin
        Where the data come from, for error messages.

    Raises
    ------
    DataError
        With the name that is there twice.
    """
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
    """Make histories of observations; `Histories.from_long` says by which rules.

    Parameters
    ----------
    names : sequence of str
        Of all columns.
    rows : iterable of (int, sequence of str)
        Lines and fields.
    columns : sequence of str
        The names of the columns of site, visit and species, and perhaps of the value.
    tokens : Tokens
        What values mean.
    origin : Origin
        Where the data come from, for error messages.
    surveyed : sequence of (site, visit), "all" or None, optional
        The visits that were made.

    Returns
    -------
    Histories
        Sites x visits x species, in order of appearance.

    Raises
    ------
    DataError
        With the line of what doesn't fit.
    """
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
