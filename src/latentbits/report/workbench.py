"""What the analyst works with in the page, as compact arrays in a useful order: cells, weights, components, suspects.

The page computes reconstruction, cleaned data and suspects by itself, from the same float64 numbers as Python.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbits import sentences
from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.messages import clear_names
from latentbits.errors import DataError
from latentbits.findings.account import N_SUSPECTS, Findings, attributes, unused
from latentbits.findings.aspect import SUSPECTED
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.aspect.aspect_model import AspectModel
from latentbits.models.aspect.aspect_rows import NOISE_OF, AspectRows, SuspectedCells
from latentbits.models.aspect.noise_components import CONTENT
from latentbits.models.aspect.statistics import AVERAGE_CELLS
from latentbits.models.cell_ranking import FALSE_VALUE, Kind
from latentbits.models.factor_model import FactorModel
from latentbits.models.false_zeros.ensemble import FalseZeros
from latentbits.models.false_zeros.scored_rows import explain_cells
from latentbits.models.solved_rows import SolvedRows
from latentbits.storage.files import escape_formula
from latentbits.wording import place

MOST_CELLS = 250_000
MOST_COLUMNS = 1_000
_PIXEL = re.compile(r"r(\d+)c(\d+)")


def workbench(findings: Findings, *, ratings: dict[str, Any] | None) -> dict[str, Any]:
    """The arrays and names of a model whose rows have weights on components, of a sample if the data are large."""
    solved: SolvedRows = findings.subject.solved
    model, data = solved.model, solved.data
    names = attributes(data)
    grid = _grid(names, findings.shape)
    sample = _sample(model, data, whole=grid is not None)
    rows, columns = sample
    shown = data.rows(rows)
    cells = shown.dense()[:, columns]
    W, H = solved.weights[rows], model.components_[:, columns]
    bench: dict[str, Any] = {
        "sampled": _sampled(data.shape, cells.shape),
        "shape": list(cells.shape),
        "n_components": len(H),
        "row_label": escape_formula(unused(data.row_label or "row", names)),
        "metadata": _metadata(data, rows),
        "grid": grid,
        "cells": _packed(cells),
        "settled": _settled(data, sample),
        "ones": shown.ones_per_row().astype(int).tolist(),
        "observed": shown.observed_per_row().astype(int).tolist(),
        "weights": packed_floats(W),
        "components": packed_floats(H),
        "suspected": SUSPECTED,
        "n_suspects": N_SUSPECTS,
        "n_totals": N_TOTALS,
    }
    if Ability.DENOISE in abilities_of(model):
        assert isinstance(solved, AspectRows)
        content = model.phantoms_ == CONTENT
        bench["lists"], sample = suspect_lists(solved, sample)
        bench |= _aspect_part(solved, rows, columns) | _rated(model, ratings)
        bench["row_shares"] = [part["share"] for part in findings.facts["components"].value]
    else:
        content = np.ones(len(H), dtype=bool)
        bench["reconstruction"] = _bytes(np.rint(solved.reconstruct()[np.ix_(rows, columns)] * 255))
    bench["rows"] = page_names("row", data.row_names, sample.rows)
    bench["columns"] = page_names("column", data.column_names, sample.columns)
    bench["row_order"] = _by_strongest(np.abs(W), content).tolist()
    bench["column_order"] = _by_strongest(np.abs(H).T, content).tolist()
    return bench


def _aspect_part(solved: AspectRows, rows: np.ndarray, columns: np.ndarray) -> dict[str, Any]:
    """What the answers of an aspect model need beyond weights and components."""
    model = solved.model
    chosen = np.ix_(rows, columns)
    denoised = solved.denoised[chosen]
    return {
        "kinds": model.phantoms_.tolist(),
        "denoised": None if np.array_equal(denoised, solved.data.dense()[chosen]) else _packed(denoised),
        "shares": model.shares_.tolist(),
        "lean": AVERAGE_CELLS,
        "noise_of": NOISE_OF,
        "causes": _causes(solved, rows, columns),
        "n_restarts": len(model.restart_components_),
        "mean_of": solved.ensemble,
        "consensus": _bytes(_consensus(solved)[chosen]),
    }


def _causes(solved: AspectRows, rows: np.ndarray, columns: np.ndarray) -> dict[str, str] | None:
    """What shares the responsibility for cells; None where weights and components do, which saves room."""
    components, H = solved.model._components, solved.model.components_
    same = np.array_equal(solved.cause_weights, solved.weights)
    if same and np.array_equal(components.H1, H) and np.array_equal(components.H0, 1 - H):
        return None
    return {
        "weights": packed_floats(solved.cause_weights[rows]),
        "ones": packed_floats(components.H1[:, columns]),
        "zeros": packed_floats(components.H0[:, columns]),
    }


def _consensus(solved: AspectRows) -> np.ndarray:
    """The mean suspicion of all restarts in 1/200, rounded down.

    So one half stays the border, and the page can write every score with two digits as Python does.
    """
    absence, presence = (solved.suspicion(kind=kind) for kind in NOISE_OF)  # each is 0 where the other isn't
    return np.floor((absence + presence) * 200)


def _rated(model: AspectModel, ratings: dict[str, Any] | None) -> dict[str, Any]:
    """Where the sliders stand when the page is opened, and which cells are marked."""
    default = {
        "ratings": (model.phantoms_ == CONTENT).astype(float).tolist(),
        "names": [""] * len(model.components_),
        "threshold": 0.5,
        "change": "auto",
        "marks": [],
        "data": None,
    }
    return {"rated": {**default, **{key: value for key, value in (ratings or {}).items() if key in default}}}


# ---- which cells, in which order ---------------------------------------------------------------------------


def _sample(model: FactorModel, data: BinaryData, *, whole: bool) -> Positions:
    """The columns in which components differ most, and rows drawn at random, as many as the page can hold.

    A single component has its largest columns shown; `whole` rows keep all their columns.
    """
    n_rows, n_columns = data.shape
    columns = np.arange(n_columns)
    if n_columns > MOST_COLUMNS and not whole:
        H = model.components_
        differ = np.ptp(H, axis=0) if len(H) > 1 else np.abs(H[0])
        columns = np.sort(np.argsort(-differ, kind="stable")[:MOST_COLUMNS])
    most_rows = max(MOST_CELLS // len(columns), 1)
    rows = np.arange(n_rows)
    if n_rows > most_rows:
        rows = np.sort(np.random.default_rng(0).choice(n_rows, most_rows, replace=False))
    return Positions(rows, columns)


def _sampled(whole: tuple[int, int], shown: tuple[int, ...]) -> str:
    """What the page leaves out, in words; nothing if it shows all."""
    parts = []
    if shown[0] < whole[0]:
        parts.append(f"{shown[0]:,} of {whole[0]:,} rows, drawn at random")
    if shown[1] < whole[1]:
        parts.append(f"the {shown[1]:,} of {whole[1]:,} columns in which the components differ most")
    return " and ".join(parts)


def _by_strongest(strength: np.ndarray, content: np.ndarray) -> np.ndarray:
    """An order of n things with strengths in K components: by the strongest one with content, then by its strength."""
    of_content = np.where(content if content.any() else True, strength, -1.0)
    strongest = of_content.argmax(axis=1)
    return np.lexsort((-of_content.max(axis=1), strongest))


def _grid(names: list[str], shape: tuple[int, int] | None) -> list[int] | None:
    """Rows and columns of the image that the attributes form: given, or read off names such as r0c0, r0c1, ...."""
    if shape is not None:
        high, wide = shape
        if high < 1 or wide < 1 or high * wide != len(names):
            raise DataError(
                f"images of the shape {high} x {wide} don't have {len(names):,} pixels, one a column; correct it"
            )
        return [high, wide]
    places = [tuple(map(int, found.groups())) for name in names if (found := _PIXEL.fullmatch(name))]
    if len(places) < 4 or len(places) < len(names):
        return None
    high, wide = (max(side) + 1 for side in zip(*places, strict=True))
    in_order = places == [(i, j) for i in range(high) for j in range(wide)]
    return [high, wide] if in_order else None


# ---- compact forms -----------------------------------------------------------------------------------------


def page_names(what: str, names: list[str] | None, positions: np.ndarray) -> dict[str, Any]:
    """Names of rows or columns as they are shown and as files have them; without any, the page counts from 1.

    One that is empty, or that others have as well, is shown with its position, and known by it; the denoised table
    has its own name. Names that a spreadsheet could take for a formula are escaped in files.
    """
    places = None if np.array_equal(positions, np.arange(len(positions))) else positions.tolist()
    found: dict[str, Any] = {"what": what, "n": len(positions), "at": places, "shown": None}
    found |= {"safe": {}, "own": {}, "unclear": []}
    if names is None:
        return found
    clear = clear_names(names, what)
    found["shown"] = [clear[i] for i in positions]
    found["unclear"] = [at for at, i in enumerate(positions) if clear[i] != names[i]]
    written = [(at, str(escape_formula(name))) for at, name in enumerate(found["shown"])]
    found["safe"] = {at: safe for at, safe in written if safe != found["shown"][at]}
    found["own"] = {at: str(escape_formula(names[positions[at]])) for at in found["unclear"]}
    return found


def _settled(data: BinaryData, sample: Positions) -> list[int]:
    """The cells of the sample, counted in reading order, that were confirmed or rejected before the fit."""
    if data.marks is None:
        return []
    known = np.zeros(data.shape, dtype=bool)
    known[data.marks.decided.rows, data.marks.decided.columns] = True
    return np.flatnonzero(known[np.ix_(*sample)]).tolist()


def _metadata(data: BinaryData, rows: np.ndarray) -> list[dict[str, Any]]:
    """What is known of the rows beside their cells: the values of each column, and which of them each row has."""
    columns: dict[str, list[str]] = getattr(data, "metadata", None) or {}
    found = []
    for name, values in columns.items():
        levels, codes = np.unique(np.array([str(value) for value in values], dtype=object)[rows], return_inverse=True)
        found.append({"name": name, "levels": levels.tolist(), "codes": codes.tolist()})
    return found


def _packed(cells: np.ndarray) -> dict[str, Any]:
    """Cells in one bit each, or in two if any is missing (then 2), the first lowest in its byte."""
    codes = np.where(cells == MISSING, 2, cells).astype(np.uint8).ravel()
    bits = 2 if 2 in codes else 1
    each = np.unpackbits(codes[:, None], axis=1, count=bits, bitorder="little")
    return {"bits": bits, "text": _bytes(np.packbits(each, bitorder="little"))}


def _bytes(values: np.ndarray) -> str:
    return b64encode(np.ascontiguousarray(values, dtype=np.uint8).tobytes()).decode()


N_TOTALS = 20
"""How many rows, and how many columns, are listed by their number of suspects."""


class Positions(NamedTuple):
    """Positions of rows and of columns in the data."""

    rows: np.ndarray
    columns: np.ndarray


class _Totals(NamedTuple):
    """The rows (or columns) with most suspects: their positions, how many they have, and of how many cells."""

    at: np.ndarray
    suspects: np.ndarray
    cells: np.ndarray


def suspect_lists(solved: AspectRows, sample: Positions) -> tuple[dict[Kind, dict[str, Any]], Positions]:
    """The most suspected zeros and ones of all data, and which rows and columns have most of them.

    Cells outside the sample that the page holds are listed as well. The second value has the positions that the lists
    refer to: those of the sample, and behind them the others that are listed.
    """
    found = {kind: (solved.most_suspected(kind=kind, top=N_SUSPECTS), *_totals(solved, kind)) for kind in FALSE_VALUE}
    rows, columns = sample
    for cells, (by_row, by_column), _ in found.values():
        rows = _extended(rows, cells.rows, by_row.at)
        columns = _extended(columns, cells.columns, by_column.at)
    named = Positions(rows, columns)
    return {kind: _stored(*parts, named) for kind, parts in found.items()}, named


def _totals(solved: AspectRows, kind: Kind) -> tuple[tuple[_Totals, _Totals], int]:
    """Rows and columns with most suspects, and how many suspects there are."""
    suspected = solved.changed(kind)
    cells = solved.data.dense() == FALSE_VALUE[kind]
    by_row, by_column = (_most(suspected.sum(axis=axis), cells.sum(axis=axis)) for axis in (1, 0))
    return (by_row, by_column), int(suspected.sum())


def _most(suspects: np.ndarray, cells: np.ndarray) -> _Totals:
    at = np.argsort(-suspects, kind="stable")[:N_TOTALS]
    at = at[suspects[at] > 0]
    return _Totals(at, suspects[at], cells[at])


def _stored(
    cells: SuspectedCells, totals: tuple[_Totals, _Totals], n_suspected: int, named: Positions
) -> dict[str, Any]:
    """A list in the form that the page reads; rows and columns are places among those that it names."""
    return {
        "rows": _places(cells.rows, named.rows),
        "columns": _places(cells.columns, named.columns),
        "score": packed_floats(cells.score),
        "phantom": packed_floats(cells.phantom),
        "n_suspected": n_suspected,
        "totals": [
            [_places(side.at, among), side.suspects.tolist(), side.cells.tolist()]
            for side, among in zip(totals, named, strict=True)
        ],
    }


def _extended(positions: np.ndarray, *wanted: np.ndarray) -> np.ndarray:
    """The positions, and behind them the wanted ones that they lack."""
    return np.concatenate([positions, np.setdiff1d(np.concatenate(wanted), positions)])


def _places(positions: np.ndarray, among: np.ndarray) -> list[int]:
    """Where each position stands among distinct ones that contain it."""
    order = np.argsort(among)
    places: list[int] = order[np.searchsorted(among, positions, sorter=order)].tolist()
    return places


def packed_floats(values: np.ndarray) -> str:
    """Numbers as the text of their float64 bytes."""
    return b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


N_EXPLAINED = 200
"""So many suspects are explained in the page, at most."""

MOST_LIKENESSES = 20_000_000
"""Explained cells x rows, at most: each is compared with all rows."""

N_SPEAKING = 5
"""Columns, and rows, that speak for a cell or against it."""


def ensemble_part(findings: Findings, *, ratings: dict[str, Any] | None) -> dict[str, Any]:
    """The list of an ensemble in the form that the page reads, and all that the page says about single cells of it."""
    model, data = findings.subject.model, findings.subject.data
    (listed,) = findings.suspects
    assert listed.probability is not None
    table = findings.tables["suspects"][:N_SUSPECTS]
    names = model._column_names()
    cells = listed.rows[:N_SUSPECTS], listed.columns[:N_SUSPECTS]
    (rows, row_at), (columns, column_at) = (np.unique(side, return_inverse=True) for side in cells)
    members = list(model.members_)
    known = {"row", "column", "kind", "score", listed.meaning, *members}  # beside these stand the coordinates of rows
    return {
        "kind": listed.kind,
        "probability": listed.meaning,
        "meaning": sentences.sentence(findings.facts["suspects"].value["meaning"]),
        "n_listed": len(listed),
        "places": [str(name) for name in table.columns if name not in known],
        "rows": page_names("row", data.row_names, rows),
        "columns": page_names("column", names, columns),
        "list": {
            "rows": row_at.tolist(),
            "columns": column_at.tolist(),
            "score": packed_floats(listed.score[:N_SUSPECTS]),
            "probability": packed_floats(listed.probability[:N_SUSPECTS]),
            "votes": packed_floats(table[members].to_numpy()),
        },
        "members": [
            {"member": name, "weight": float(weight)}
            for name, weight in zip(members, model.member_weights_, strict=True)
        ],
        "reliability": None if model.held_out_ is None else model.held_out_.to_dict("list"),
        "why": _why(model, data, cells),
        "table": _table(data, names, cells),
        "rated": {"marks": [], "data": None, **_marks(ratings)},
    }


N_RINGED = 50
"""Listed cells whose rows and columns the picture of a large table has at any rate."""


def _table(data: BinaryData, names: list[str] | None, listed: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """The cells as a picture: all of them or, of a large table, those of listed cells and some others at random."""
    rows = _some(data.shape[0], max(MOST_CELLS // min(data.shape[1], MOST_COLUMNS), 1), listed[0])
    columns = _some(data.shape[1], MOST_COLUMNS, listed[1])
    cells = data.rows(rows).dense()[:, columns]
    row_order, column_order = _by_similarity(cells)
    return {
        "shape": list(cells.shape),
        "cells": _packed(cells),
        "rows": page_names("row", data.row_names, rows),
        "columns": page_names("column", names, columns),
        "row_order": row_order.tolist(),
        "column_order": column_order.tolist(),
    }


def _some(n: int, most: int, wanted: np.ndarray) -> np.ndarray:
    """Positions below n: all, or the first wanted ones and others at random, in order."""
    if n <= most:
        return np.arange(n)
    first = np.unique(wanted[:N_RINGED])[:most]
    others = np.setdiff1d(np.arange(n), first)
    return np.sort(np.append(first, np.random.default_rng(0).choice(others, most - len(first), replace=False)))


def _by_similarity(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orders of rows and columns in which similar ones are near: those of the first principal component."""
    seen = cells != MISSING
    means = np.where(seen, cells, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    centred = np.where(seen, cells - means, 0.0)
    column = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    column *= np.sign(column[np.abs(column).argmax()]) or 1.0  # whichever sign the solver gave
    return np.argsort(-(centred @ column), kind="stable"), np.argsort(-column, kind="stable")


def _why(model: FalseZeros, data: BinaryData, cells: tuple[np.ndarray, np.ndarray]) -> list[list[list[Any]]]:
    """For each of the first cells, what speaks for or against a 1 there: what it is, its name, its value, how much."""
    most = min(N_EXPLAINED, max(1, MOST_LIKENESSES // max(1, data.shape[0])))
    first = [(int(i), int(j)) for i, j in zip(*(side[:most] for side in cells), strict=True)]
    return [_spoken(table) for table in explain_cells(model, model._scored(data), first, N_SPEAKING)]


def _spoken(table: pd.DataFrame) -> list[list[Any]]:
    values = [None if value is pd.NA else int(value) for value in table["value"]]
    names = [_named(what, name) for what, name in zip(table["what"], table["name"], strict=True)]
    return [list(line) for line in zip(table["what"], names, values, table["says"].astype(float), strict=True)]


def _named(what: str, name: Any) -> str:
    return name if isinstance(name, str) else place(what, int(name))


def _marks(ratings: dict[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (ratings or {}).items() if key in ("marks", "data")}
