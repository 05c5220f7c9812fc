"""What the page shows of an ensemble that ranks cells: the list, what the members say, and why the first are there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from latentbits.data.binary_data import BinaryData
from latentbits.data.places import clear_names
from latentbits.findings.false_zeros import N_SUSPECTS
from latentbits.findings.results import Results
from latentbits.models.false_zeros.estimator import FalseZeros
from latentbits.models.false_zeros.explanation import explain_cells
from latentbits.report.suspect_lists import packed_floats
from latentbits.report.workbench import page_names
from latentbits.wording import place

__all__ = ["ensemble_part"]

N_EXPLAINED = 200
"""So many suspects are explained in the page, at most."""

MOST_LIKENESSES = 20_000_000
"""Explained cells x rows, at most: each is compared with all rows."""

N_SPEAKING = 5
"""Columns, and rows, that speak for a cell or against it."""


def ensemble_part(results: Results, *, ratings: dict[str, Any] | None) -> dict[str, Any]:
    """The list of an ensemble in the form that the page reads, and all that the page says about single cells of it."""
    model, data = results.model, results.data
    assert isinstance(data, BinaryData)
    suspects = results.tables["suspects"][:N_SUSPECTS]
    asked = results.summary["suspects"]
    names = model._column_names()
    cells = _positions(suspects["row"], data.row_names, "row"), _positions(suspects["column"], names, "column")
    (rows, row_at), (columns, column_at) = (np.unique(side, return_inverse=True) for side in cells)
    members = list(model.members_)
    return {
        "kind": asked["kind"],
        "probability": asked["probability"],
        "meaning": asked["meaning"],
        "n_listed": len(results.tables["suspects"]),
        "rows": page_names("row", data.row_names, rows),
        "columns": page_names("column", names, columns),
        "list": {
            "rows": row_at.tolist(),
            "columns": column_at.tolist(),
            "score": packed_floats(suspects["score"].to_numpy()),
            "probability": packed_floats(suspects[asked["probability"]].to_numpy()),
            "votes": packed_floats(suspects[members].to_numpy()),
        },
        "members": [
            {"member": name, "weight": float(weight)} for name, weight in zip(members, model.weights_, strict=True)
        ],
        "reliability": None if model.held_out_ is None else model.held_out_.to_dict("list"),
        "why": _why(model, data, cells),
        "rated": {"marks": [], "data": None, **_marks(ratings)},
    }


def _positions(labels: pd.Series, names: list[str] | None, what: str) -> np.ndarray:
    """The positions of rows or columns by what tables call them."""
    if names is None:
        return np.array([int(label.removeprefix(f"{what} ")) - 1 for label in labels], dtype=int)
    at = {name: i for i, name in enumerate(clear_names(names, what))}
    return np.array([at[label] for label in labels], dtype=int)


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
