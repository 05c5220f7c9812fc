"""Findings of repeat visits: what is there although no visit has seen it, by cell, site and species."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from latentbits.data.binary_data import BinaryData
from latentbits.data.histories import Histories
from latentbits.data.messages import Places
from latentbits.errors import DataError
from latentbits.findings.account import (
    N_SUSPECTS,
    DataSummary,
    Fact,
    Figure,
    Parts,
    Subject,
    SuspectList,
    Unit,
    attributes,
    data_table,
    with_names,
)
from latentbits.notes import Code, Note, Role
from latentbits.plots import surveys
from latentbits.wording import place

if TYPE_CHECKING:
    from latentbits.tasks.verdict import Verdict

LOOK_FOR = 5
"""Species to look for at a site."""

MEANING = "P(seen on the next visit)"


def ever_seen(model: Any, X: Any) -> BinaryData:
    """What was ever seen at the sites of the fit; other rows are refused."""
    own = model.survey_
    known = own.ever_seen()
    same = X.fingerprint() == known.fingerprint() if isinstance(X, BinaryData) else _same(X, own)
    if not same:
        raise DataError("these are not the visits that the model was fitted to; fit it to them, or ask for suspects")
    return known


def _same(X: Any, own: Histories) -> bool:
    survey = Histories.of(X)
    return survey.shape == own.shape and bool((survey.cells == own.cells).all())


def find(subject: Subject, about: DataSummary, *, top: int | None = None, per_row: int | None = None) -> Parts:
    """What repeat visits have to say; `top` and `per_row` are arguments of `suspects`."""
    model, data = subject.model, subject.data
    table = model.suspects(top=top or N_SUSPECTS, per_row=per_row)
    look_for = [", ".join(names) for names in _to_look_for(model, attributes(data))]
    sites = model.sites_.assign(row=data_table(data.dense(), data).iloc[:, 0], look_for=look_for)
    species = model.species_.assign(column=attributes(data))
    tables = {
        "suspects": with_names(table),
        "sites": sites,
        "species": species,
        "present": data_table(model.predict_proba(), data),
        "seen_next": data_table(model.predict_proba(later_visits=1), data),
        "curve": model.curve(),
    }
    facts = {
        "total": Fact(model.total(), Unit.COUNT),
        "detection": Fact({name: float(model.species_[name].median()) for name in ("detection", "rate")}, Unit.SHARE),
        "abundance_share": Fact(model.abundance_share_, Unit.SHARE),
        "effort": Fact(model.effort_),
    }
    figures = (
        Figure("richness", partial(surveys.plot_richness, sites), Code.RICHEST_GAP),
        Figure("detection", partial(surveys.plot_detection, species), Code.DETECTED),
        Figure("further_visits", partial(surveys.plot_further_visits, tables["curve"]), Code.SURVEYED),
    )
    made = model.survey_.surveyed.sum(axis=1)
    arguments = {"sites": len(sites), "fewest": int(made.min()), "most": int(made.max()), "species": len(species)}
    fitted = Note(Code.SURVEYED, {**arguments, "total": model.total()}, Role.LEAD)
    tables = {name: of_name.round(4) for name, of_name in tables.items()}
    return Parts(fitted, facts, tables, figures, tuple(_notes(model, sites, table, data)), (_listed(table, data),))


def left_out_tables(verdict: Verdict) -> tuple[dict[str, pd.DataFrame], tuple[Figure, ...]]:
    """The tables of a verdict by left-out visits, and its picture."""
    if verdict.visits is None:
        return {}, ()
    tables = {name: pd.DataFrame(list(verdict.visits[name])) for name in ("table", "calibration")}
    draw = partial(surveys.plot_calibration, tables["calibration"])
    found = {"left_out_visits": tables["table"].round(4), "reliability": tables["calibration"].round(4)}
    return found, (Figure("calibration", draw, Code.SURVEYED),)


def _listed(table: pd.DataFrame, data: BinaryData) -> SuspectList:
    rows, columns = (
        np.array([places.find(name) if isinstance(name, str) else int(name) for name in table[places.what]], int)
        for places in (Places(data.row_names, data.shape[0], "row"), Places(data.column_names, data.shape[1], "column"))
    )
    score, probability = table["present"].to_numpy(), table["seen_next"].to_numpy()
    return SuspectList("absence", rows, columns, score, probability, MEANING)


def _notes(model: Any, sites: pd.DataFrame, table: pd.DataFrame, data: BinaryData) -> Iterator[Note]:
    species, total = model.species_, model.total()
    detection = species["detection"]
    arguments = {name: float(getattr(detection, of)()) for name, of in _OF_DETECTION.items()}
    arguments |= {"rate": float(species["rate"].median()), "abundance": model.abundance_share_}
    yield Note(Code.DETECTED, arguments)
    gap = sites["estimated"] - sites["seen"]
    yield Note(Code.RICHEST_GAP, of_site(model, data, int(np.argmax(gap))))
    bound = {name: total[key] for name, key in (("bound", "chao2"), ("low", "chao2_lower"), ("high", "chao2_upper"))}
    yield Note(Code.NOT_COUNTED, {"species": int(total["species"]), **bound})
    yield Note(Code.UNSEEN_LISTED if len(table) else Code.NOTHING_TO_LIST)
    yield Note(Code.DRAWS, {"draws": len(model.draws_.a)}, Role.SURE)


_OF_DETECTION = {"low": "min", "median": "median", "high": "max"}


def of_site(model: Any, data: BinaryData, i: int) -> dict[str, Any]:
    """How much a site has, what to look for there, and how many visits find it, as `sentences.richest_gap` says it."""
    site = model.sites_.iloc[i]
    finds = float(site["further_visits"])
    return {
        "site": str(data.row_names[i]) if data.row_names is not None else place("row", i),
        **{name: float(site[key]) for name, key in _OF_SITE.items()},
        "look_for": _to_look_for(model, attributes(data))[i],
        "finds": finds if np.isfinite(finds) else None,
    }


def _to_look_for(model: Any, names: list[str]) -> list[list[str]]:
    """Of each site the species that no visit saw there and that are most likely there."""
    unseen = np.where(model.survey_.detections == 0, model.predict_proba(), -1.0)
    first = np.argsort(-unseen, axis=1, kind="stable")[:, :LOOK_FOR]
    return [[names[j] for j in of_site if unseen[i, j] >= 0] for i, of_site in enumerate(first)]


_OF_SITE = {"seen": "seen", "estimated": "estimated", "low": "lower", "high": "upper"}
