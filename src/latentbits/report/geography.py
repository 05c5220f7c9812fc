"""What the page shows of what is known of the rows: a map, responses to covariates, shares of variation."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np

from latentbits.findings.account import Findings, attributes, cell_probabilities
from latentbits.findings.rows import map_layers
from latentbits.models.abilities import Ability, abilities_of
from latentbits.report.workbench import packed_floats, page_names

MOST_CHANCES = 1_000_000
"""Cells whose probabilities a page holds, for maps of single columns."""


def geography(findings: Findings) -> dict[str, Any]:
    """The parts "map", "responses" and "variation", None where there is nothing to show."""
    return {"map": _map(findings), "responses": _responses(findings), "variation": _variation(findings)}


def _map(findings: Findings) -> dict[str, Any] | None:
    subject = findings.subject
    facts = getattr(subject.data, "facts", None)
    if facts is None or facts.coordinates is None:
        return None
    x, y = facts.coordinates.T
    return {
        "rows": page_names("row", subject.data.row_names, np.arange(len(x))),
        "x": packed_floats(x),
        "y": packed_floats(y),
        "squeeze": float(np.cos(np.radians(y.mean()))) if facts.is_geographic else 1.0,
        "layers": [
            {"title": title, "values": packed_floats(values)} for title, values in map_layers(findings, subject).items()
        ],
        "chances": _chances(subject),
    }


def _chances(subject: Any) -> dict[str, Any] | None:
    """The probability of a 1 in each cell, in 1/255."""
    n_rows, n_columns = subject.data.shape
    if n_rows * n_columns > MOST_CHANCES or Ability.PREDICT_CELLS not in abilities_of(subject.model):
        return None
    P = cell_probabilities(subject.model, subject.data) if subject.solved is None else subject.solved.reconstruct()
    packed = b64encode(np.rint(np.asarray(P) * 255).astype(np.uint8).tobytes()).decode()
    return {"columns": attributes(subject.data), "values": packed}


def _responses(findings: Findings) -> list[dict[str, Any]] | None:
    table = findings.tables.get("responses")
    if table is None:
        return None
    found, what = [], "weight" if "weight" in table else "probability"
    low, high = (0.0, 1.0) if what == "probability" else (float(table["lower"].min()), float(table["upper"].max()))
    for name, lines in table.groupby("covariate", sort=False):
        columns = [
            {
                "name": str(column),
                "p": own[what].round(3).tolist(),
                "lower": own["lower"].round(3).tolist(),
                "upper": own["upper"].round(3).tolist(),
            }
            for column, own in lines.groupby("column", sort=False)
        ]
        values = list(dict.fromkeys(lines["value"]))
        found.append(
            {
                "what": "mean weight" if what == "weight" else "probability of a 1",
                "range": [low, high],
                "covariate": str(name),
                "is_number": not isinstance(values[0], str),
                "values": values,
                "columns": columns,
            }
        )
    return found


def _variation(findings: Findings) -> dict[str, Any] | None:
    table = findings.tables.get("variation")
    if table is None:
        return None
    kinds = ("covariates", "space", "factors", "unexplained")
    return {
        "columns": [str(name) for name in table["column"]],
        "shares": {kind: table[kind].round(4).tolist() for kind in kinds},
    }
