"""Repeat visits in other forms than a line for each observation: wide, as texts, or a table for each visit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from latentbits.data.messages import Origin, quoted
from latentbits.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from latentbits.data.binary_data import BinaryData
    from latentbits.data.histories import Histories

_WORD = r"(?:visit|survey|occasion|occ|replicate|rep|round|week|day|v|t)"
_BEHIND = re.compile(rf"^(?P<species>.+?)[ _.\-]+{_WORD}?[ _.\-]*(?P<visit>\d+)$", re.IGNORECASE)
_GLUED = re.compile(r"^(?P<species>.+?)[ _.\-]*(?:visit|v)[ _.\-]*(?P<visit>\d+)$", re.IGNORECASE)
_BEFORE = re.compile(rf"^{_WORD}[ _.\-]*(?P<visit>\d+)[ _.\-]+(?P<species>.+)$", re.IGNORECASE)
_TEXT = re.compile(r"^[01.\-?]+$")
_NOT_MADE = frozenset(".-?")

FORMS = (
    "name the columns of a line for each observation: --long SITE SPECIES [VALUE] --visits COLUMN (site, visit and "
    "species in Python); or call the columns of a wide table owl_visit1, owl_visit2 or v1_owl, v2_owl; or give "
    'histories such as "01-1" as text'
)


class RawTable(NamedTuple):
    """A file's columns as texts."""

    names: Sequence[str]
    rows: list[tuple[int, Sequence[str]]]
    origin: Origin

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        rows: Iterable[tuple[int, Sequence[str]]],
        columns: Sequence[str],
        tokens: Any,
        origin: Origin,
    ) -> RawTable:
        """As readers call what makes something of their rows."""
        return cls(list(names), [(line, list(row)) for line, row in rows], origin)

    def column(self, name: str) -> list[str]:
        """The texts of a column."""
        if name not in self.names:
            listed = ", ".join(map(quoted, self.names))
            raise self.origin.error(f"there is no column {quoted(name)}; the columns are {listed}")
        j = list(self.names).index(name)
        return [row[j].strip() for _, row in self.rows]


def split_names(names: Sequence[str]) -> list[tuple[str, str]] | None:
    """Species and visit of each column of a wide table; None if the names don't say them."""
    for pattern in (_BEFORE, _BEHIND, _GLUED):
        found = [pattern.match(name.strip()) for name in names]
        if names and all(found):
            pairs = [(match["species"].strip(), str(int(match["visit"]))) for match in found if match]
            if len({visit for _, visit in pairs}) > 1 and len(set(pairs)) == len(pairs):
                return pairs
    blocks = [re.fullmatch(r"(.+)\.(\d+)", name) for name in names]  # how spreadsheets' readers number repeated names
    firsts = {name for name, block in zip(names, blocks, strict=True) if block is None}
    if any(blocks) and all(block is None or block[1] in firsts for block in blocks):
        return [(b[1], str(int(b[2]) + 1)) if b else (name, "1") for name, b in zip(names, blocks, strict=True)]
    return None


def with_blocks(names: Sequence[str]) -> list[str]:
    """Names with the number of their block behind those that an earlier block has, as `split_names` takes them.

    Examples
    --------
    >>> with_blocks(["site", "owl", "tit", "owl", "tit"])
    ['site', 'owl', 'tit', 'owl.1', 'tit.1']
    """
    earlier: Counter[str] = Counter()
    found = []
    for name in names:
        found.append(f"{name}.{earlier[name]}" if name and earlier[name] else name)
        earlier[name] += 1
    return found


def of_wide(data: BinaryData) -> Histories | None:
    """Histories of a wide table, a column for each species and visit; None if its names don't say so."""
    import numpy as np

    from latentbits.data.codes import MISSING
    from latentbits.data.histories import Histories

    pairs = split_names(data.column_names or [])
    if pairs is None:
        return None
    species = list(dict.fromkeys(name for name, _ in pairs))
    visits = sorted({visit for _, visit in pairs}, key=int)
    cells = np.full((data.shape[0], len(visits), len(species)), MISSING, np.int8)
    table = data.dense()
    for j, (name, visit) in enumerate(pairs):
        cells[:, visits.index(visit), species.index(name)] = table[:, j]
    note = "a column for each species and visit, by the columns' names"
    return Histories(cells, data.row_names, visits, species, row_label=data.row_label, notes=(*data.notes, note))


def of_texts(raw: RawTable) -> Histories | None:
    """Histories of texts such as "01-1", a column for each species; None if no column has them.

    Leading zeros that a spreadsheet has removed are put back, which the length of the others tells.
    """
    import numpy as np

    from latentbits.data.codes import MISSING
    from latentbits.data.histories import Histories

    columns = {name: raw.column(name) for name in raw.names}
    kept = {
        name: texts
        for name, texts in columns.items()
        if all(_TEXT.match(text) for text in texts) and max(map(len, texts), default=0) > 1
    }
    if not kept or all(
        re.fullmatch(r"1*0*", max(texts, key=len)) and max(map(len, texts)) < 2 for texts in kept.values()
    ):
        return None
    width = max(len(text) for texts in kept.values() for text in texts)
    cells = np.full((len(raw.rows), width, len(kept)), MISSING, np.int8)
    for j, (name, texts) in enumerate(kept.items()):
        for i, text in enumerate(texts):
            if len(text) < width and not text.isdigit():
                place = raw.origin.place(raw.rows[i][0], name)
                raise raw.origin.error(
                    f"the history {quoted(text)} has {len(text)} visits where others have {width}; write a - for each "
                    "visit that wasn't made",
                    place,
                )
            for v, sign in enumerate(text.rjust(width, "0")):
                cells[i, v, j] = MISSING if sign in _NOT_MADE else int(sign)
    others = [name for name in raw.names if name not in kept]
    rows = columns[others[0]] if others and len(set(columns[others[0]])) == len(raw.rows) else None
    note = "each cell is a history, a sign for each visit"
    visits = [str(v + 1) for v in range(width)]
    return Histories(cells, rows, visits, list(kept), row_label=others[0] if rows else None, notes=(note,))


def of_tables(tables: dict[str, BinaryData]) -> Histories:
    """Histories of a table for each visit; sites that one lacks weren't visited then, species it lacks are 0."""
    import numpy as np

    from latentbits.data.codes import MISSING
    from latentbits.data.histories import Histories

    for name, table in tables.items():
        if table.row_names is None or table.column_names is None:
            raise DataError(f"{name}: tables of visits are put together by the names of sites and species; name both")
    sites = list(dict.fromkeys(row for table in tables.values() for row in table.row_names or ()))
    species = list(dict.fromkeys(column for table in tables.values() for column in table.column_names or ()))
    cells = np.full((len(sites), len(tables), len(species)), MISSING, np.int8)
    for v, table in enumerate(tables.values()):
        assert table.row_names is not None
        assert table.column_names is not None
        at = [sites.index(row) for row in table.row_names]
        columns = [species.index(column) for column in table.column_names]
        block = table.dense()
        made = (block != MISSING).any(axis=1)
        cells[np.array(at)[made], v] = 0
        cells[np.ix_(at, [v], columns)] = block[:, None]
    first = next(iter(tables.values()))
    note = "a table for each visit; species that a table lacks were not seen then"
    return Histories(cells, sites, list(tables), species, row_label=first.row_label, notes=(note,))


def of_visits(raw: RawTable, site: str, visit: str, column: str, histories: Histories) -> np.ndarray:
    """A number for each visit, such as its effort, as sites x visits; NaN where there is none."""
    import numpy as np

    values = np.full(histories.surveyed.shape, np.nan)
    rows = {name: i for i, name in enumerate(histories.row_names or ())}
    visits = {name: v for v, name in enumerate(histories.visit_names or ())}
    texts = zip(raw.rows, raw.column(site), raw.column(visit), raw.column(column), strict=True)
    for (line, _), where, when, text in texts:
        if not text or where not in rows or when not in visits:
            continue
        try:
            values[rows[where], visits[when]] = float(text)
        except ValueError:
            raise raw.origin.error(f"{quoted(text)} is no number; correct it", raw.origin.place(line, column)) from None
    return values
