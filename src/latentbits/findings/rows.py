"""What is known of the rows, in findings: where they are and what they hold, responses, variation, associations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.data.row_facts import RowFacts
from latentbits.findings.account import (
    Figure,
    Parts,
    Subject,
    cell_probabilities,
    data_table,
    from_one,
    labelled,
    unused,
)
from latentbits.models.abilities import Ability, abilities_of
from latentbits.notes import Code
from latentbits.tasks.associations import associations, weights_over
from latentbits.wording import place

MOST_FURTHER = 100
"""Further visits that a map shows where even more would be needed."""

MOST_PROBABILITIES = 5_000_000
"""Cells of a table of an ensemble's probabilities."""


def with_rows(parts: Parts, subject: Subject) -> Parts:
    """The parts of a family's findings, and what is known of the rows, if anything is."""
    facts = getattr(subject.data, "facts", None)
    if facts is None:
        return parts
    tables, figures = dict(parts.tables), list(parts.figures)
    if Ability.KNOW_ROWS in abilities_of(subject.model) and subject.model._row_facts is not None:
        if _has_covariates(subject.model):
            tables["responses"] = subject.model.responses()
        tables["variation"] = subject.model.variation().rename_axis("column").reset_index()
        figures.append(Figure("variation", partial(plots.plot_variation, subject.model), Code.KNOWN_OF_ROWS))
        if "suspects" in tables and np.prod(subject.data.shape) <= MOST_PROBABILITIES:
            tables["probabilities"] = data_table(cell_probabilities(subject.model, subject.data), subject.data)
    if subject.solved is not None and facts.names:
        table = associations(subject.solved.weights, facts)
        if len(table):
            tables["associations"] = from_one(table)
            tables.setdefault("responses", weights_over(subject.solved.weights, facts))
    if not len(tables.get("responses", ())):
        tables.pop("responses", None)
    else:
        found = tables["responses"]
        figures += [
            Figure(
                f"responses_{n}" if n else "responses", partial(plots.plot_responses, found, name), Code.KNOWN_OF_ROWS
            )
            for n, name in enumerate(dict.fromkeys(found["covariate"]))
        ]
    if facts.coordinates is not None:
        layers = map_layers(parts, subject)
        known = tables.get("sites")
        tables["sites"] = _sites(subject.data, layers) if known is None else _with_places(known, facts)
        first = next(iter(layers))
        figures.append(
            Figure("map", partial(plots.plot_map, subject.data, layers[first], label=first), Code.KNOWN_OF_ROWS)
        )
        tables = {name: _placed(name, table, subject.data, parts) for name, table in tables.items()}
    return parts._replace(tables=tables, figures=tuple(figures))


def _has_covariates(model: Any) -> bool:
    facts = model._facts
    return bool(facts.numbers or facts.categories)


def map_layers(parts: Any, subject: Subject) -> dict[str, np.ndarray]:
    """What can be drawn on a map: a number for each row, by what it is; parts or findings say what is suspected."""
    data = subject.data
    layers: dict[str, np.ndarray] = {}
    if Ability.VISITS in abilities_of(subject.model):
        names = {"estimated": "species estimated", "seen": "species seen", "further_visits": "further visits to 95 %"}
        of_sites = subject.model.sites_.replace(np.inf, MOST_FURTHER)
        return {title: of_sites[name].to_numpy(float) for name, title in names.items()}
    for listed in parts.suspects:
        which = "zeros" if listed.kind == "absence" else "ones"
        layers[f"suspected {which}"] = np.bincount(listed.rows, minlength=data.shape[0]).astype(float)
    layers["ones in the row"] = data.ones_per_row()
    if subject.solved is not None:
        W = np.asarray(subject.solved.weights)
        layers |= {f"weight of {place('component', k)}": W[:, k] for k in range(W.shape[1])}
    return layers


def _sites(data: BinaryData, layers: dict[str, np.ndarray]) -> pd.DataFrame:
    """A line for each row: its name, where it is, and what the map shows."""
    assert data.facts is not None
    assert data.facts.coordinates is not None
    names = [*data.facts.coordinate_names, *layers]
    return labelled(np.column_stack([data.facts.coordinates, *layers.values()]), names, data)


def _with_places(table: pd.DataFrame, facts: RowFacts) -> pd.DataFrame:
    """A table of the rows with their coordinates behind the name."""
    assert facts.coordinates is not None
    places = dict(zip(facts.coordinate_names, facts.coordinates.T, strict=True))
    return pd.DataFrame({**table.iloc[:, :1], **places, **table.iloc[:, 1:]})


def _placed(name: str, table: pd.DataFrame, data: BinaryData, parts: Parts) -> pd.DataFrame:
    """A list of cells with the coordinates of their rows."""
    if name != "suspects" or len(parts.suspects) != 1 or len(table) > len(parts.suspects[0]):
        return table
    facts = data.facts
    assert facts is not None
    assert facts.coordinates is not None
    places = facts.coordinates[parts.suspects[0].rows[: len(table)]]
    columns = [unused(side, [str(column) for column in table.columns]) for side in facts.coordinate_names]
    return table.assign(**{column: places[:, k] for k, column in enumerate(columns)})
