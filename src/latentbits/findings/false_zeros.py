"""Results of the ensemble that ranks zeros: the list, what the members say, and how reliable it is on hidden cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from latentbits import plots
from latentbits.data.binary_data import BinaryData
from latentbits.findings.results import Figures, Results, common_summary, in_words, size, with_names
from latentbits.models.false_zeros.ensemble import FalseZeros
from latentbits.models.false_zeros.later import GIVEN_THE_REST, PRESENT, SEEN_LATER

__all__ = ["ask", "gather", "suspect_line", "suspects_head"]

N_SUSPECTS = 1000
N_LISTED = 5
LITTLE = 0.01
"""A member whose log odds count less than this has no say."""

MEANINGS = {
    GIVEN_THE_REST: (
        f"{GIVEN_THE_REST}: how likely the rest of the table makes a 1 there, as if the cell itself hadn't been looked "
        "at; not the probability that it is present, which one visit can't tell (a rate or revisits do)."
    ),
    PRESENT: f"{PRESENT}: how likely it is there and was missed, if a visit finds an individual at the given rate.",
    SEEN_LATER: f"{SEEN_LATER}: how likely it will be seen on the later visits, given that it wasn't seen so far.",
    "P(0 | the rest)": (
        "P(0 | the rest): how likely the rest of the table makes a 0 there, as if the cell itself hadn't been looked "
        "at; not the probability that the 1 is false."
    ),
}
"""What the probability of a suspect is, by the name of its column."""


def gather(model: FalseZeros, data: BinaryData, **question: Any) -> Results:
    """Everything that goes into the folder about an ensemble and rows; `question` as of `ask`."""
    members = _members(model)
    summary = {**common_summary(model, data), "members": members.to_dict("records"), "hidden_cells": model.n_hidden_}
    if model.noise is not None:
        summary["row_noise"] = model.noise_model_ is not None
    tables = {"members": members}
    figures: Figures = {"member_weights": partial(plots.plot_member_weights, model)}
    if model.held_out_ is not None:
        tables["reliability"] = model.held_out_
        figures = {"reliability": partial(plots.plot_reliability, model), **figures}
    results = Results(model, data, tables, summary, figures, [], sure=list(_sure(model)))
    ask(results, **question)
    return results


def ask(results: Results, typed: Mapping[str, Any] | None = None, **question: Any) -> None:
    """Put into the results what the ensemble answers to a question: the list of suspects, and sentences about it.

    Parameters
    ----------
    results : Results
        Of `gather`; changed.
    typed : mapping, optional
        The question as it was given on the command line, for the summary: a report can then be made again.
    **question
        Arguments of `FalseZeros.suspects`, such as `kind` or `rate`.
    """
    question = {"kind": "absence", "top": N_SUSPECTS, **question}
    table = results.model.suspects(results.data, **question)
    probability = str(table.columns[3])
    suspects = with_names(table)
    suspects.insert(2, "kind", question["kind"])
    results.tables = {"suspects": suspects, **{name: t for name, t in results.tables.items() if name != "suspects"}}
    results.summary["suspects"] = {
        "kind": question["kind"],
        "listed": len(suspects),
        "probability": probability,
        "meaning": MEANINGS[probability],
        "asked": {"kind": question["kind"], **(typed or {})},
    }
    first = _first(results.summary)
    listed = list(_listed(results))
    results.lines = [first, *results.sure, *listed, MEANINGS[probability]]
    results.answer = [first]
    results.evidence = listed


def _members(model: FalseZeros) -> pd.DataFrame:
    """Each member with its weight and, where cells were hidden, how well it predicts them alone."""
    if model.member_scores_ is not None:
        return model.member_scores_
    return pd.DataFrame({"member": list(model.members_), "weight": model.member_weights_})


# ---- sentences -----------------------------------------------------------------------------------------------


def _first(summary: dict[str, Any]) -> str:
    asked, data = summary["suspects"], summary["data"]
    what = "zeros" if asked["kind"] == "absence" else "ones"
    return f"{data[what]:,} {what} of {size(data)} ranked by an ensemble."


def _sure(model: FalseZeros) -> Iterator[str]:
    """Which members had a say, how reliable the probabilities are, and whether rows have lost ones."""
    said = sorted(zip(model.members_, model.member_weights_, strict=True), key=lambda pair: -pair[1])
    if model.held_out_ is None:
        yield f"All members have the same say, as no cells were hidden: {', '.join(name for name, _ in said)}."
    else:
        heard = ", ".join(f"{name} {weight:.2f}" for name, weight in said if weight >= LITTLE)
        silent = ", ".join(name for name, weight in said if weight < LITTLE)
        end = f"; none: {silent}" if silent else ""
        yield f"Weights of the members' log odds, learned from {model.n_hidden_:,} hidden cells: {heard}{end}."
        yield _reliability(model.held_out_)
    if model.noise is not None:
        yield _about_noise(model)


def _reliability(table: pd.DataFrame) -> str:
    gap = (table["predicted"] - table["observed"]).abs()
    mean = float((gap * table["count"]).sum() / table["count"].sum())
    enough = table["count"] >= 100
    worst = f", in the worst bin of 100 cells or more by {gap[enough].max():.3f}" if enough.any() else ""
    return f"On hidden cells predicted probabilities and shares of ones differ by {mean:.3f} on average{worst}."


def _about_noise(model: FalseZeros) -> str:
    if model.noise_model_ is None:
        return "Rows don't clearly differ in how many of their cells noise has changed; scores take them as they are."
    kinds = [word for word, kind in (("lost ones", "white"), ("got false ones", "black")) if _has(model, kind)]
    return f"Some rows have {' and '.join(kinds)} far more than others; scores allow for it."


def _has(model: FalseZeros, kind: str) -> bool:
    return kind in set(model.noise_model_.phantoms_)


def _listed(results: Results) -> Iterator[str]:
    suspects = results.tables["suspects"]
    if not len(suspects):
        yield "There is no such cell."
        return
    yield suspects_head(suspects)
    for number in range(min(N_LISTED, len(suspects))):
        yield suspect_line(suspects.iloc[number])


def suspects_head(suspects: pd.DataFrame) -> str:
    """What stands above the lines of a list of suspects."""
    return f"The most suspected (score, {suspects.columns[4]}, row, column):"


def suspect_line(suspect: pd.Series) -> str:
    """One suspect, for the terminal."""
    probability = suspect.iloc[4]
    place = f"{in_words('row', suspect['row'])}, {in_words('column', suspect['column'])}"
    return f"    {suspect['score']:.2f}  {probability:.2f}  {place}"
