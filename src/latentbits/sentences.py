"""The only place with English about findings: functions from data to sentences.

`sentence(note)` says a note: each `Code` has a function of its name here, whose parameters are the note's arguments.
Nothing here decides anything, and nobody compares what is returned here: another wording is a change of this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from latentbits.notes import Code, Level, Note
from latentbits.wording import counted, plural, quoted

if TYPE_CHECKING:
    from latentbits.findings.account import DataSummary, Findings
    from latentbits.fitting.held_out import Gain
    from latentbits.tasks.verdict import Verdict

STABLE, UNSTABLE, MANY_RESTARTS = 0.9, 0.6, 90
FITS = 1.3
"""An rms z up to this is called a fit: right models had 0.7 to 1.1, one source too few about 1.6 and more."""

OVERCONFIDENT, NO_TRUST = 0.75, 0.005
"""Below these shares of trust (see `Gain`) the model is called overconfident, and nothing is gained in likelihood."""

UNLIKE = 1.4
"""A visit that sees so many times as many new species as predicted, or so many times fewer, is unlike the others."""

EXPLAINS = {"white": "zeros that the content of a row does not", "black": "ones that the content of a row does not"}
ZEROS_OR_ONES = {"absence": "zeros", "presence": "ones"}
MEANINGS = {
    "P(1 | the rest)": (
        "how likely the rest of the table makes a 1 there, as if the cell itself hadn't been looked at; not the "
        "probability that it is present, for which one visit is not enough (give a rate or revisits)."
    ),
    "P(present)": "how likely it is there and was missed, if a visit finds an individual at the given rate.",
    "P(seen later)": "how likely it will be seen on the later visits, given that it wasn't seen so far.",
    "P(0 | the rest)": (
        "how likely the rest of the table makes a 0 there, as if the cell itself hadn't been looked at; not the "
        "probability that the 1 is false."
    ),
}
"""What the probability of a suspect is, by the name of its column."""

CRITERIA = {
    "aic": "AIC",
    "bic": "BIC",
    "evidence": "log evidence",
    "cv": "held-out rows, log-likelihood per row",
    "cells": "held-out cells, log-likelihood per cell",
}
"""Criteria of `select_order` as axes call them."""


# ---- findings as a whole ---------------------------------------------------------------------------------------------


def sentence(note: Note) -> str:
    """What a note says."""
    say = globals()[note.code]
    words: str = say(**note.arguments)
    return words


def headline(findings: Findings) -> str:
    """The one sentence that says most: the verdict, or without one what was fitted."""
    if findings.verdict is not None:
        return verdict(findings.verdict)[0]
    return sentence(findings.notes[0]) if findings.notes else f"{findings.model.class_name} was fitted."


def label(name: str) -> str:
    """What a fact, table or figure is called."""
    return name.replace("_", " ").capitalize()


def size(data: DataSummary) -> str:
    """The size of the data in words."""
    table = f"{counted(data.rows, 'row')} x {counted(data.columns, 'column')}"
    missing = f", {counted(data.missing, 'cell')} missing" if data.missing else ""
    if data.density is None:
        return table + missing
    constant = f", {counted(data.constant_columns, 'constant column')}" if data.constant_columns else ""
    return f"{table} ({data.density:.1%} ones{missing}{constant})"


def shape(data: DataSummary) -> str:
    """Rows x columns, for a title."""
    return f"{data.rows:,} \u00d7 {data.columns:,}"


def read(data: DataSummary, row_label: str | None) -> str:
    """What was read, so that a column too many or too few is seen."""
    density = [f"{data.density:.1%} ones"] if data.density is not None else []
    missing = [f"{counted(data.missing, 'cell')} missing"] if data.density is None and data.missing else []
    names = [f'the column "{row_label}" names the rows'] if row_label else []
    details = "; ".join([*density, *missing, *names])
    table = f"{counted(data.rows, 'row')} x {counted(data.columns, 'column')}"
    return f"Read {table}{f' ({details})' * bool(details)}."


def how_fitted(findings: Findings) -> Iterator[tuple[str, str]]:
    """How the model was fitted, as pairs of what and how."""
    data, model, facts = findings.data, findings.model, findings.facts
    table = f"{data.rows:,} rows x {data.columns:,} columns"
    yield "data" if data.is_fitted else "rows of this report", f"{data.file}, {table}" if data.file else table
    yield "their checksum", data.checksum
    if not data.is_fitted:
        yield "fitted to", "other rows; what follows is about that fit"
    if data.density is not None:
        counts = f"{data.ones:,} ones, {data.zeros:,} zeros, {data.missing:,} missing"
        yield "cells", f"{counts} ({data.density:.1%} of the observed are ones)"
    yield "model", str(model.name)
    yield "parameters", ", ".join(f"{name}={value!r}" for name, value in model.parameters.items())
    if "restarts" in facts:
        seed, given = facts["seed"].value, findings.selection and findings.selection.seed
        yield "seed", str(seed) if given is None else f"{seed} (drawn from {given} for the search)"
        steps = facts["iterations"].value
        yield "objective", f"{facts['objective'].value:.10g}, after {steps:,} iterations"
        yield "converged", "yes" if facts["converged"].value else "no: it ran out of iterations"
    elif "objective" in facts:
        yield "objective", f"{facts['objective'].value:.10g}"
    if data.is_fitted:
        yield from ((name.upper(), f"{facts[name].value:.10g}") for name in ("aic", "bic") if name in facts)
    yield "versions", ", ".join(f"{name} {number}" for name, number in model.versions.items())
    if findings.seconds:
        yield "seconds", ", ".join(f"{what} {seconds:g}" for what, seconds in findings.seconds.items())


# ---- large numbers ---------------------------------------------------------------------------------------------------

BADGES = {
    Level.CLEAR: "clear",
    Level.WEAK: "weak",
    Level.NONE: "none",
    Level.NEIGHBOURS: "neighbours only",
    Level.UNKNOWN: "not tested",
}
"""How clear a finding is, in a word."""

SECTIONS = {
    "suspects": "Suspects",
    "map": "Map",
    "found": "Found",
    "components": "Components",
    "cells": "Cells",
    "row": "Rows",
    "responses": "Responses",
    "variation": "Variation",
    "figures": "Figures",
    "sure": "How sure?",
    "tables": "Tables",
    "fitted": "Methods",
}
"""Sections of a page as its menu calls them."""

Number = tuple[str, str, str]
"""A number as it is written, what it is, and what stands beside it."""


def numbers(findings: Findings) -> list[Number]:
    """Up to four numbers that say most: the size of the data, what was found, suspects or fit, and skill."""
    judged = [] if findings.verdict is None else skill(findings.verdict)
    return [_size_number(findings.data), *found_numbers(findings)[: 3 - len(judged)], *judged]


def found_numbers(findings: Findings) -> list[Number]:
    """What was found as numbers, the most telling first."""
    names = (name for name in NUMBERS if name in findings.facts and (findings.predicts or name not in _EVIDENCE))
    return [number for name in names if (number := NUMBERS[name](findings)) is not None]


def skill(found: Verdict) -> list[Number]:
    """How well held-out cells are predicted, beside the headline's baseline; without evidence also how far from it."""
    own = found.auc.get("model")
    others = {name: area for name, area in found.auc.items() if name != "model"}
    if own is None or not others:
        return []
    if found.basis.about == "visits" or found.visits is not None:
        return [(f"{own:.2f}", "AUC on left-out visits", f"{max(others.values()):.2f} by species' frequencies")]
    of_pairs = found.over_rows_and_columns is None
    baseline, than = ("columns", "independent columns") if of_pairs else _totals(found)
    ahead = (f"{own:.2f}", f"AUC on held-out {'pairs' if of_pairs else 'cells'}", f"{others[baseline]:.2f} by {than}")
    if found.level is not Level.NONE:
        return [ahead]
    above = f"standard errors above {'independent columns' if of_pairs else 'totals'}"
    return [(f"{found.z:.1f}", above, "2 would be evidence"), ahead]


def _totals(found: Verdict) -> tuple[str, str]:
    """The baseline that a verdict on cells speaks of, and its words."""
    columns = found.over_columns
    if found.level is Level.NONE and columns is not None and not columns.is_found:
        return "columns", "column totals"
    return "rows and columns", "row and column totals"


def _size_number(data: DataSummary) -> Number:
    missing = f"{counted(data.missing, 'cell')} missing" if data.missing else "none missing"
    cells = missing if data.density is None else f"{data.density:.0%} ones, {missing}"
    return shape(data), "rows \u00d7 columns", cells


def _components_number(findings: Findings) -> Number:
    parts = findings.facts["components"].value
    noise = [part["kind"] for part in parts if part["kind"] in EXPLAINS]
    n = sum(part["kind"] == "content" for part in parts)
    kinds = f"and {' and '.join(sorted(set(noise)))} noise" if noise else ""
    if not kinds and "suspected" in findings.facts:
        kinds = "no noise component"
    return f"{n}", plural(n, "component"), kinds


def _suspected_number(findings: Findings) -> Number:
    counts = findings.facts["suspected"].value
    ones = f"; and {counted(counts['presence'], 'one')}" if counts.get("presence") else ""
    return (
        f"{counts['absence']:,}",
        f"{plural(counts['absence'], 'zero')} suspected",
        f"of {findings.data.zeros:,}{ones}",
    )


def _likely_number(findings: Findings) -> Number:
    likely = findings.facts["likely"].value
    what, value = {"absence": ("zero", 1), "presence": ("one", 0)}[likely["kind"]]
    of = findings.data.zeros if likely["kind"] == "absence" else findings.data.ones
    at_least = "+" * (likely["count"] == likely["listed"] > 0)
    return f"{likely['count']:,}{at_least}", f"{plural(likely['count'], what)} more likely {value}", f"of {of:,}"


def _members_number(findings: Findings) -> Number:
    members = [part for part in findings.facts["members"].value if part["member"] != "ensemble"]  # that is all together
    first = max(members, key=lambda member: member["weight"])
    voting = sum(member["weight"] >= 0.01 for member in members)
    return f"{voting} of {len(members)}", "models have a say", f"most: {first['member'].replace('_', ' ')}"


def _sources_number(findings: Findings) -> Number:
    n = findings.facts["sources"].value
    return f"{n}", plural(n, "source"), f"in {counted(findings.facts['segments'].value, 'segment')}"


def _fit_number(findings: Findings) -> Number | None:
    rms_z = findings.facts["fit"].value["rms_z"]
    return None if rms_z is None else (f"{rms_z:.2f}", "misfit of pairs, in standard errors", "1 if the model is right")


def _clusters_number(findings: Findings) -> Number:
    rows = sorted((part["rows"] for part in findings.facts["clusters"].value), reverse=True)
    listed = [f"{n:,}" for n in rows[:3]] + ["…"] * (len(rows) > 3)
    sizes = f"{', '.join(listed)} rows"
    return f"{len(rows)}", plural(len(rows), "cluster"), sizes


def _assigned_number(findings: Findings) -> Number:
    return f"{findings.facts['assigned'].value:.0%}", "of rows in one cluster", "with a probability of 0.95 or more"


def _factors_number(findings: Findings) -> Number:
    n = findings.facts["factors"].value
    return f"{n}", f"on-off {plural(n, 'factor')}", ""


def _nature_number(findings: Findings) -> Number:
    ahead = findings.facts["nature"].value["advantage"]
    side = "ahead of" if ahead >= 0 else "behind"
    unclear = ahead >= 0 and findings.facts["nature"].value["kind"] == "undecided"
    return (
        f"{abs(ahead):,.0f}",
        f"BIC {side} continuous factors",
        "but rows gather at no two states" if unclear else "10 or more is clear",
    )


def _couplings_number(findings: Findings) -> Number | None:
    strongest = findings.facts["couplings"].value["strongest"]
    if not strongest:
        return None
    first = strongest[0]
    return f"{first['coupling']:+.2f}", "strongest coupling", f"{first['column']} and {first['other']}"


def _stability_number(findings: Findings) -> Number | None:
    made, values = findings.facts["restarts"].value["made"], findings.facts["stability"].value
    if made == 1 or len(values) == 1:
        return None
    return f"{min(values):.2f}", "least stability of a component", f"over {counted(made, 'restart')}; 1 is the same"


def _restarts_number(findings: Findings) -> Number:
    made, agreeing = (findings.facts["restarts"].value[name] for name in ("made", "agreeing"))
    return f"{agreeing} of {made}", "restarts at the best objective", "the more, the surer"


def _total_number(findings: Findings) -> Number:
    total = findings.facts["total"].value
    ends = f"{total['lower']:,.0f} to {total['upper']:,.0f}; {total['seen']:,.0f} seen"
    return f"{total['estimated']:,.0f}", "species at sites, estimated", ends


def _detection_number(findings: Findings) -> Number:
    return f"{findings.facts['detection'].value['detection']:.2f}", "detection by a visit", "median of the species"


NUMBERS: Mapping[str, Callable[[Findings], Number | None]] = {
    "components": _components_number,
    "sources": _sources_number,
    "clusters": _clusters_number,
    "factors": _factors_number,
    "couplings": _couplings_number,
    "suspected": _suspected_number,
    "likely": _likely_number,
    "members": _members_number,
    "fit": _fit_number,
    "nature": _nature_number,
    "assigned": _assigned_number,
    "stability": _stability_number,
    "restarts": _restarts_number,
    "total": _total_number,
    "detection": _detection_number,
}
"""Facts that are shown as large numbers, the most telling first."""

_EVIDENCE = ("suspected", "likely")
"""Those that would be read as evidence of hidden causes."""


# ---- the verdict -----------------------------------------------------------------------------------------------------


def verdict(found: Verdict) -> list[str]:
    """The verdict, its numbers, and how cells were held out; of an earlier run what was said then."""
    if found.told:
        return list(found.told)
    if found.level is Level.UNKNOWN:
        reason = "nothing is known about it" if found.basis.reason is None else sentence(found.basis.reason)
        evidence = _no_evidence(found)
        first = f"This model can't be tested: {reason}."
        return [f"{first} {evidence[0].upper()}{evidence[1:]}." if evidence else first]
    columns, rows = found.over_columns, found.over_rows_and_columns
    assert columns is not None
    if found.basis.about == "visits":
        return list(_left_out_visits(found, columns))
    if rows is None:  # pairs of cells have one baseline
        words = _no_pair_found(found, columns) if found.level is Level.NONE else _something_found(found, columns)
    elif found.level is Level.NEIGHBOURS:
        words = _neighbours_alone(found)
    elif found.level is Level.NONE:
        words = _nothing_found(found, columns, rows)
    else:
        words = _something_found(found, rows)
    return [*words, _how_held_out(found)]


def other_rows() -> str:
    """What stands behind the verdict of a fit to other rows."""
    return "(That was found on the rows of the fit; this report is about other rows.)"


def verdict_of_fit(first: str) -> str:
    """The verdict as a note of a later command."""
    return f"by the verdict on the fit: {first}"


def no_verdict() -> str:
    """That a verdict was interrupted."""
    return "interrupted: there is no verdict; the fit itself was finished"


def _left_out_visits(found: Verdict, over: Gain) -> Iterator[str]:
    """Whether left-out visits are predicted, whether the probabilities come true, and which visits differ."""
    better = {Level.CLEAR: "better", Level.WEAK: "slightly better"}.get(found.level, "no better")
    aucs = _aucs(found.auc["model"], found.auc["columns"])
    first = f"The next visit is predicted {better} than by the species' frequencies ({aucs}; z = {_above_2(over.z)})"
    yield f"{first}." if found.level is not Level.NONE else f"{first}; {_no_evidence(found)}."
    assert found.visits is not None
    visits = found.visits["table"]
    seen, predicted = (sum(visit[name] for visit in visits) for name in ("seen", "predicted"))
    cells = sum(visit["cells"] for visit in visits)
    error = sum(visit["calibration_error"] * visit["cells"] for visit in visits if visit["cells"]) / cells
    yield (
        f"Each of {found.n_folds} visits was left out in turn: of {cells:,} cells in which the others had seen nothing "
        f"{seen:,} were seen and {predicted:,.0f} predicted; the probabilities are off by {error:.3f} on average."
    )
    for visit in visits:
        ratio, by_chance = visit["seen"] / max(visit["predicted"], 1.0), 4.5 * visit["predicted"] ** 0.5
        if max(ratio, 1 / max(ratio, 0.01)) > UNLIKE and abs(visit["seen"] - visit["predicted"]) > by_chance:
            yield _unlike_the_others(visit)


def _unlike_the_others(visit: Mapping[str, Any]) -> str:
    """What is different on a visit that saw far more, or fewer, new species than predicted."""
    again, said = (visit[name] / max(visit["seen_before"], 1) for name in ("seen_again", "predicted_again"))
    more = visit["seen"] > visit["predicted"]
    if more and again > 1.05 * said:
        why = "it saw more of everything"
    elif not more and again < 0.95 * said:
        why = "it saw less of everything"
    elif more:
        why = "other species were there, as when the season differs or species come and go"
    else:
        why = "it saw the same species again"
    return (
        f"Visit {visit['visit']} is unlike the others: {visit['seen']:,} new presences where {visit['predicted']:,.0f} "
        f"were predicted, and {again:.0%} of the known ones seen again ({said:.0%} predicted), so {why}."
    )


def _something_found(found: Verdict, over: Gain) -> list[str]:
    of_pairs = found.basis.about == "pairs"
    shrunk = over.own_gain <= 2 * over.own_gain_se and over.trust < OVERCONFIDENT
    slightly = "slightly " if found.level is Level.WEAK and not shrunk else ""
    what, than = ("pairs of cells", "independent columns") if of_pairs else ("cells", "row and column totals")
    words = f"Held-out {what} are predicted {slightly}better than by {than}"
    if shrunk:
        words += ", but only after shrinkage"
    aucs = _aucs(over.auc, found.auc["columns" if of_pairs else "rows and columns"])
    said = [f"{words} ({aucs}; z = {_above_2(found.z)}).", _how_much(over, of_pairs)]
    if found.is_slight and not of_pairs:
        said.append("So little may come from row and column effects on another scale than log odds, too.")
    return said


def _aucs(own: float, baseline: float) -> str:
    """The area under the ROC curve beside the baseline's, with as many digits as tell them apart."""
    for digits in (2, 3, 4):
        if f"{own:.{digits}f}" != f"{baseline:.{digits}f}":
            higher = "" if own > baseline else ", no higher"
            return f"AUC {own:.{digits}f} vs {baseline:.{digits}f}{higher}"
    return f"the same AUC, {own:.2f}"


def _above_2(z: float) -> str:
    """A z, with as many digits as show whether it exceeds 2."""
    digits = next(n for n in range(1, 20) if (float(f"{z:.{n}f}") > 2) == (z > 2))
    return f"{z:.{digits}f}"


def _how_much(over: Gain, of_pairs: bool) -> str:
    """What is gained in log-likelihood, how much the model had to be shrunk for it, and what z is of."""
    if over.trust < NO_TRUST or not _is_printed_positive(over.gain, over.gain_se):
        return "Only their order is better: in log-likelihood nothing is gained."
    gain = f"The gain is {_number(over.gain, over.gain_se)} in log-likelihood per {'pair' if of_pairs else 'cell'}"
    held_out = "pairs" if of_pairs else "cells"
    tests = f"z tests the model's {'correlations' if of_pairs else 'corrections'} against held-out {held_out}"
    if over.trust >= OVERCONFIDENT:
        return f"{gain}, after shrinkage; {tests}."
    own = f"as they stand, its probabilities are overconfident and gain {_number(over.own_gain, over.own_gain_se)}"
    corrections = "correlations" if of_pairs else "log-odds corrections"
    return f"{gain} after shrinking the model's {corrections} to {over.trust:.0%}; {own}; {tests}."


def _nothing_found(found: Verdict, columns: Gain, rows: Gain) -> list[str]:
    if found.basis.rival is not None:
        n, other, z = found.basis.rival
        first = (
            f"{counted(n, 'component')} predict{'s' * (n == 1)} no cell better than totals do, but "
            f"{counted(other, 'component')} do{'es' * (other == 1)} (z = {_above_2(z)}): try --components {other}, or "
            "beta-ica."
        )
    else:
        _, totals = _totals(found)
        evidence = _no_evidence(found)
        first = f"Only {totals} are predictable{'; ' * bool(evidence)}{evidence}."
    against = [
        f"against {name} totals the model's corrections have z = {_above_2(gain.z)}, and its probabilities gain "
        f"{_number(gain.own_gain, gain.own_gain_se)} in log-likelihood per cell"
        for name, gain in {"column": columns, "row and column": rows}.items()
    ]
    second = f"{'; '.join(against)}; both z would have to exceed 2."
    return [first, second[0].upper() + second[1:]]


def _neighbours_alone(found: Verdict) -> list[str]:
    order = found.order
    assert order is not None
    assert order.p is not None
    evidence = _no_evidence(found)
    first = f"Cells are predictable from neighbouring rows, not from other columns{'; ' * bool(evidence)}{evidence}."
    second = (
        f"Successive rows resemble each other (z = {order.z:.1f}), and columns shifted at random along the rows go "
        f"together as much in {order.p:.0%} of the trials; to hold out neighbouring rows together, use blocks "
        "(--blocks) or groups (--groups)."
    )
    third = "Rows that were sorted by their own cells, as in a seriation, are alike by that: shuffle them first."
    return [first, second, third]


def _no_pair_found(found: Verdict, columns: Gain) -> list[str]:
    return [
        f"No pair of cells is predicted better than by independent columns; {_no_evidence(found)}.",
        f"The model's probabilities gain {_number(columns.own_gain, columns.own_gain_se)} in log-likelihood per pair "
        f"over independent columns; its correlations are not associated with those of held-out rows "
        f"(z = {_above_2(columns.z)}, which would have to exceed 2).",
    ]


def _no_evidence(found: Verdict) -> str:
    return {
        "pairs": "the sources are no evidence of hidden causes",
        "suspects": "the model's ranking of zeros is no evidence of false zeros",
        "visits": "the model's list ranks species by little more than how common they are",
        "cells": "what the model says of single cells is no evidence of false zeros",
        "components": "the components describe these rows, and are no evidence of hidden causes",
        "totals": "",
    }[found.basis.about]


def _how_held_out(found: Verdict) -> str:
    basis = found.basis
    some = "" if basis.n_observed in (None, found.n_cells) else f"{found.n_cells:,} of "
    if basis.about == "pairs":
        return (
            f"(Each of {found.n_folds} parts of every segment's rows was held out in turn; {found.n_cells:,} pairs of "
            "cells were predicted by a fit to the other rows.)"
        )
    together = {"groups": ", those of a column in a group of rows together", "blocks": ", runs of rows together"}
    words = (
        f"Each of {found.n_folds} parts of {some}the observed cells was held out in turn and predicted from the rest"
    )
    fits = {
        "restarts": f", by {counted(basis.n_fits, 'restart')}",
        "best": f", by the best of {counted(basis.n_fits, 'restart')}",
        "members": f", by {counted(basis.n_fits, 'member')} of the ensemble",
    }
    return f"({words}{together.get(basis.together, '')}{fits.get(basis.fits, '')}.)"


def _number(value: float, error: float) -> str:
    """A number with its standard error, both rounded to the error's first two digits."""
    digits = _digits(error)
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def _digits(error: float) -> int:
    return 2 if error <= 0 else max(0, 1 - math.floor(math.log10(error)))


def _is_printed_positive(value: float, error: float) -> bool:
    return float(f"{value:.{_digits(error)}f}") > 0


def one_line(what: str) -> str:
    """Why there is no verdict, as a clause with the way out; so are the next ones."""
    return f"there is one {what} only, so no cell says anything about another; give at least two {what}s"


def same_cells(value: int) -> str:
    return f"all observed cells are {value}, so there is nothing to predict; give a table with both values"


def too_few_cells(n_observed: int, n_folds: int) -> str:
    cells = f"{n_observed:,} observed cell{'s are' if n_observed != 1 else ' is'}"
    return f"{cells} too few to be held out in {n_folds} parts; use fewer folds, or more data"


def short_segment() -> str:
    return "a segment has one row only, which can't be held out; use longer segments"


def nothing_held_out() -> str:
    return "no cells were held out and predicted; use n_folds (--folds), such as 5"


def two_visits() -> str:
    return (
        "with two visits, leaving one out leaves nothing that tells detection; make a third, or give detection "
        "(--detection)"
    )


def few_first_sightings(seen: int) -> str:
    return f"left-out visits saw {seen:,} species new to a site, too few to judge by"


def degenerate(text: str) -> str:
    return text


# ---- warnings --------------------------------------------------------------------------------------------------------


def warning(text: str) -> str:
    """What a part of the library warned of, in its own words; so are the next ones."""
    return text


def interrupted(text: str) -> str:
    return text


def no_noise_component(text: str) -> str:
    return text


# ---- data ------------------------------------------------------------------------------------------------------------


def row_labels(column: str | None) -> str:
    """Which column was taken for the names of rows."""
    if column is None:
        return "The first column, which has no name, names the rows (--no-row-labels if it is data)."
    return f'The column "{column}" names the rows (--no-row-labels if it is data).'


def known_of_rows(covariates: Sequence[str], coordinates: Sequence[str], effort: str | None, used: str) -> str:
    """What describes the rows, and what it is used for."""
    parts = {
        "covariates": ", ".join(covariates),
        "coordinates": " and ".join(coordinates),
        "effort": effort or "",
    }
    known = "; ".join(f"{role}: {names}" for role, names in parts.items() if names)
    purpose = {
        "model": "",
        "after": " (compared with the components after the fit)",
        "shown": " (this model doesn't use it: false-zeros and probit-factors do)",
    }
    return f"Known of the rows: {known}{purpose[used]}."


def not_compared_with(names: Sequence[str]) -> str:
    """That models are chosen among that don't use what describes the rows."""
    listed = f"{', '.join(names[:-1])}{' and ' * (len(names) > 1)}{names[-1]}"
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return (
        f"{listed} {are} kept for maps and associations; the models compared don't use {them}: false-zeros and "
        "--model probit-factors do"
    )


def marks(confirmed: int, rejected: int, unsure: int) -> str:
    known = f"{confirmed:,} confirmed as 1, {rejected:,} rejected as 0, {unsure:,} unsure"
    return f"Cells that were looked up: {known}; the first two kinds are no suspects."


# ---- components ------------------------------------------------------------------------------------------------------


def components_fitted(components: int, data: DataSummary) -> str:
    return f"{counted(components, 'component')} fitted to {size(data)}."


def part_of_rows(components: int, rows: int, columns: int, part: int) -> str:
    return (
        f"{counted(components, 'component')} fitted to {rows:,} rows x {counted(columns, 'column')}; weights.csv and "
        f"suspects.csv are about all of them, all else here is about a random part of {part:,} rows."
    )


def causes(content: int, noise: Sequence[Mapping[str, Any]], rows: int) -> str:
    """How many components make up the rows, and which are noise."""
    n = content + len(noise)
    first = f"{counted(n, 'component')} make{'s' * (n == 1)} up {f'these {rows:,} rows' if rows > 1 else 'this row'}"
    if not noise:
        return f"{first}, all of them content: no noise component was found."
    named = [f"component {part['component'] + 1}, {part['kind']}, {part['share']:.0%} of the data" for part in noise]
    kinds = sorted({EXPLAINS[part["kind"]] for part in noise}, reverse=True)
    verb = "explains" if len(noise) == 1 else "explain"
    return (
        f"{first}: {content} with content and {counted(len(noise), 'noise component')} ({'; '.join(named)}), which "
        f"{verb} {' and '.join(kinds)}."
    )


def extinct(n: int) -> str:
    return f"{counted(n, 'component')} of them learned nothing and count as extinct: fewer are enough."


def many_phantoms(n: int) -> str:
    return f"{n} components are noise components; the largest:"


def phantom(component: int, kind: str, share: float) -> str:
    return (
        f"Component {component + 1} is a {kind} noise component (a phantom): it explains {share:.1%} of the data, "
        f"{EXPLAINS[kind]}."
    )


def no_phantom() -> str:
    return "No noise component was found. Observed cells stay in denoised.csv."


def noise_not_earned(gain: float, gain_se: float) -> str:
    """That sparse (or full) content isn't taken for noise."""
    return (
        "What looks like a noise component counts as content: made blank, it predicts held-out cells worse "
        f"(log-likelihood per cell {gain:+.2g}, standard error {gain_se:.1g}). Observed cells stay in denoised.csv."
    )


def noise_given(noise: str) -> str:
    """That noise components were asked for, and not tried."""
    what = "Both noise components were" if noise == "both" else f"The {noise} noise component was"
    return f"{what} asked for; whether the data need {'them' if noise == 'both' else 'it'} was not tried (auto does)."


def noise_tried(trials: Sequence[Mapping[str, Any]]) -> str:
    """Each noise component with its gain beside the one that is kept, if any."""
    parts = []
    for trial in trials:
        kind = trial["kind"]
        if trial["gain"] is None:
            parts.append(f"a {kind} noise component was not tried, as the fit was interrupted")
            continue
        kept = trial["kept"]
        what = f"{'a' if kept else 'no'} {kind} noise component is kept: it {'gains' if kept else 'would gain'}"
        parts.append(f"{what} {trial['gain']:.2f} nats per row, and {trial['needed']:.2f} are needed")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def information_criteria(aic: float, bic: float) -> str:
    return f"AIC {aic:.1f}, BIC {bic:.1f} (lower is better, among fits of this model)."


# ---- cells -----------------------------------------------------------------------------------------------------------


def suspected(kind: str, count: int, of: int) -> str:
    """How many cells are suspected, which are those that change; the first in the ranking may follow."""
    value = {"absence": "1", "presence": "0"}[kind]
    what = f"{count:,} of {of:,} {ZEROS_OR_ONES[kind]} are suspected"
    if not count:
        return f"{what}: by held-out cells none is more likely false than not."
    return (
        f"{what}, more likely false than not by held-out cells: they are {value} in denoised.csv. First in the ranking:"
    )


def none_suspected(kind: str) -> str:
    """That a list of suspects is a ranking alone."""
    return f"the fit suspects no {ZEROS_OR_ONES[kind]}; listed are those least like their rows"


def suspected_and_stable(counts: Mapping[str, tuple[int, int]], **agreement: Any) -> str:
    count, of = counts["absence"]
    doubts = [f"{count:,} of {of:,} zeros are suspected to hide a 1"]
    if "presence" in counts:
        count, of = counts["presence"]
        doubts.append(f"{count:,} of {of:,} ones to be false")
    return f"{' and '.join(doubts)}; {_stability(**agreement)}."


def ranked(kind: str, n: int, data: DataSummary) -> str:
    return f"{n:,} {ZEROS_OR_ONES[kind]} of {size(data)} ranked by an ensemble."


def listed(probability: str) -> str:
    """What stands above a list of suspects."""
    return f"First in the ranking (score, {probability}, row, column):"


def nothing_to_list() -> str:
    return "There is no such cell."


def suspect(score: float, row: str, column: str, probability: float | None = None) -> str:
    """A line of a list of suspects."""
    also = "" if probability is None else f"{probability:.2f}  "
    return f"    {score:.2f}  {also}{row}, {column}"


def named(what: str, name: str) -> str:
    """A row or column that has a name, in a sentence."""
    return f"{what} {quoted(name)}"


def ranked_all_the_same(tested: bool) -> str:
    by = "a model that predicts none of them" if tested else "a model that wasn't tested"
    return f"suspects.csv ranks the zeros all the same, by {by}."


def probability_means(probability: str) -> str:
    return f"{probability}: {MEANINGS[probability]}"


def census() -> str:
    return "In a census, where every zero was checked, a zero is a zero, and the list shows surprises."


# ---- couplings -------------------------------------------------------------------------------------------------------


def cells_predicted(data: DataSummary) -> str:
    return f"Each cell predicted from the rest of its row, in {size(data)}."


def couplings_fitted(pairs: int, data: DataSummary) -> str:
    return f"{counted(pairs, 'pair')} of columns, each with a coupling, fitted to {size(data)}."


def couplings_listed(unit: str) -> str:
    return f"The strongest couplings (what a 1 in one column adds to the {unit} of a 1 in the other):"


def coupling(column: str, other: str, coupling: float, back: float | None = None) -> str:
    return f"    {coupling:+.2f}  {column}, {other}{'' if back is None else f', back {back:+.2f}'}"


def strongest_coupling(column: str, other: str, coupling: float) -> str:
    return f"The strongest coupling is that of {column} and {other} ({coupling:+.2f})."


def uncoupled() -> str:
    return "No two columns are coupled: no cell says anything about another."


# ---- sources ---------------------------------------------------------------------------------------------------------


def sources_fitted(sources: int, segments: int, data: DataSummary) -> str:
    return f"{counted(sources, 'source')} in {counted(segments, 'segment')} of {size(data)}."


def segments_cut(segments: int) -> str:
    windows = counted(segments, "window")
    return f"No --segments were given, so the rows were cut, in their order, into {windows} of equal length."


def source(source: int, up: Sequence[str], down: Sequence[str]) -> str:
    against = f"; against {', '.join(map(quoted, down))}" if down else ""
    return f"Source {source + 1}: {', '.join(map(quoted, up))}{against}."


def more_sources(n: int) -> str:
    return f"{counted(n, 'more source')} in mixing.csv."


def pair_fit(rms_z: float, beyond_3: float, segment: Any, left: str, right: str, r: float, rho: float) -> str:
    judged = "fits" if rms_z <= FITS else "doesn't fit well; more sources may help (latentbits select)"
    return (
        f"The model {judged}: correlations of pairs differ from it by {rms_z:.2f} standard errors (rms; 1 if it is "
        f"right), {beyond_3:.1%} of them by more than 3; most in segment {whole(segment)}: {quoted(left)} and "
        f"{quoted(right)}, {r:.2f} in the data and {rho:.2f} in the model."
    )


def whole(value: Any) -> Any:
    """A whole number without its .0, which a column with empty cells has."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def pair_fit_unknown() -> str:
    return "Whether the model fits is unknown: no pair of columns has enough rows in a segment."


def confused_sources(one: int, other: int) -> str:
    return (
        f"Sources {one + 1} and {other + 1} may be rotations of two others: their scales don't change differently from "
        "segment to segment, which is all that would tell them apart; take other segments, or one source less."
    )


def clear_entries(clear: int, of: int, level: float, samples: int) -> str:
    return (
        f"{clear} of {of} entries of the mixing {'is' if clear == 1 else 'are'} clearly not 0 ({level:.0%} intervals "
        f"of {samples} bootstrap refits, in intervals.csv)."
    )


# ---- repeat visits ---------------------------------------------------------------------------------------------------


def surveyed(sites: int, fewest: int, most: int, species: int, total: Mapping[str, float]) -> str:
    """How much repeat visits have seen, and how much is there."""
    there = f"{total['estimated']:,.0f} ({total['lower']:,.0f}-{total['upper']:,.0f})"
    visits = f"{fewest} to {most} visits" if fewest < most else counted(most, "visit")
    return (
        f"{counted(sites, 'site')} with {visits} each and {species:,} species: {total['seen']:,.0f} presences were "
        f"seen, {there} are estimated."
    )


def detected(low: float, median: float, high: float, rate: float, abundance: float) -> str:
    """What a visit detects, on both scales."""
    why = "because they are few" if abundance >= 0.5 else "wherever they are"
    return (
        f"A visit sees a species where it is with probability {median:.2f} (median of the species; {low:.2f} to "
        f"{high:.2f}), an individual with {rate:.2f}; species are missed {why} ({max(abundance, 1 - abundance):.0%})."
    )


def richest_gap(
    site: str, seen: float, estimated: float, low: float, high: float, look_for: Sequence[str], finds: float | None
) -> str:
    """The site where most is missing: how much, what to look for there, and how many visits find it."""
    visits = "more than 100 further visits" if finds is None else counted(int(finds), "further visit")
    would = "finds" if finds == 1 else "find"
    names = f"look for {', '.join(look_for)}; " if look_for else ""
    return f"{site}: {seen:.0f} seen, {estimated:.1f} estimated ({low:.0f}-{high:.0f}); {names}{visits} {would} 95 %."


def not_counted(species: int, bound: float, low: float, high: float) -> str:
    """What is said of species that were never seen anywhere."""
    return (
        f"Species that no visit has seen anywhere are not counted: {species:,} were seen, and there are at least about "
        f"{bound:,.0f} ({low:,.0f}-{high:,.0f}; Chao2, 95 % interval)."
    )


def unseen_listed() -> str:
    """What stands above the list of species that no visit has seen."""
    return "First in the list (P(present), P(seen on the next visit), site, species):"


def draws(draws: int) -> str:
    """Where intervals come from, and what they allow for."""
    return (
        f"Intervals are of 90 %, from {draws} draws of the posterior; they allow for chance and for what isn't known "
        "of rates and occupancy, not for a wrong model."
    )


# ---- binary factors --------------------------------------------------------------------------------------------------


def factors_fitted(factors: int, discarded: int, nature: str | None, data: DataSummary) -> str:
    n = discarded
    dropped = f"; {n} of {factors + n} {'was' if n == 1 else 'were'} discarded while learning" if n else ""
    if factors and nature == "continuous":
        return f"Continuous factors describe {size(data)} better than the {counted(factors, 'binary factor')} found."
    if factors and nature == "undecided":
        return f"{counted(factors, 'factor')} found in {size(data)}{dropped}; whether on-off is undecided."
    return f"{counted(factors, 'binary factor')} found in {size(data)}{dropped}."


def no_factor() -> str:
    return "No on-off factor is stronger than the noise."


def factor_nature(
    kind: str, advantage: float, gaussian_factors: int, one_behind_none: float | None, looks: Sequence[str] = ()
) -> str:
    """Whether causes are on and off, by BIC against Gaussian factors, and by the shape of the rows along each."""
    rivals = counted(gaussian_factors, "continuous factor")
    others = [f"{number} ({look})" for number, look in enumerate(looks, 1) if look != "two states"]
    if kind == "binary":
        first = f"On-off factors describe the rows better: BIC prefers them to {rivals} by {advantage:.0f}."
        if not others:
            return first
        return f"{first} But rows gather at no two states of {plural(len(others), 'factor')} {' and '.join(others)}."
    if kind == "undecided" and looks:
        return (
            f"Nothing shows that the causes are on-off: BIC prefers on-off factors to {rivals} by {advantage:.0f}, but "
            f"rows gather at no two states of any. They look like {' and '.join(dict.fromkeys(looks))}."
        )
    if kind == "none":
        by_bic = "" if one_behind_none is None else f": BIC prefers none to one by {one_behind_none:.0f}"
        return f"Continuous factors don't describe the rows better than none either{by_bic}."
    if kind == "undecided":
        return (
            f"So few on-off factors don't show whether the causes are on-off: BIC prefers {rivals}, more than were "
            f"tried, by {-advantage:.0f}."
        )
    return (
        f"Nothing shows that the causes are on-off: BIC prefers {rivals} by {-advantage:.0f}. On-off factors are steps "
        "then, by which something continuous is approximated."
    )


def factor_states() -> str:
    return "A factor is called on (1, not -1) in the rarer one of its two states."


def factor(
    factor: int,
    rows_on: int,
    rows_unclear: int,
    rows: int,
    changes: Sequence[tuple[str, float, float | None]],
    strength: float,
) -> str:
    unclear = f" (unclear in {rows_unclear:,})" if rows_unclear else ""
    return (
        f"Factor {factor + 1} is on in {rows_on:,} of {counted(rows, 'row')}{unclear}; switching it on changes "
        f"{changed(changes)}. It is {strength:.1f} times as strong as the noise."
    )


def changed(changes: Sequence[tuple[str, float, float | None]]) -> str:
    """Which variables a factor or source changes, by how much, and how sure that is: half a 95 % interval."""
    said = [f"{name} by {value:+.3g}{'' if margin is None else f' ± {margin:.2g}'}" for name, value, margin in changes]
    sure = any(margin is not None for _, _, margin in changes)
    return f"{', '.join(said)}{' (95% intervals)' * sure}"


def bic_prefers(factors: int, others: Sequence[tuple[int, float]]) -> str:
    behind = " and to ".join(f"{n} by {difference:.0f}" for n, difference in others)
    return f"BIC prefers {counted(factors, 'factor')} to {behind} (above 10 is clear)."


def all_factors_kept(factors: int) -> str:
    return f"All {factors} factors of the start were kept; there may be more (--components {2 * factors})."


N_SIZES = 6
"""Clusters whose sizes a sentence gives."""


# ---- clusters --------------------------------------------------------------------------------------------------------


def clusters_found(clusters: int, rows: Sequence[int], telling: Sequence[str], data: DataSummary) -> str:
    if clusters == 1:
        return f"1 cluster found in {size(data)}: the rows form no separate groups."
    sizes = [f"{n:,}" for n in rows]
    listed = f"{', '.join(sizes[:-1])} and {sizes[-1]}" if clusters <= N_SIZES else f"{sizes[0]} to {sizes[-1]}"
    return (
        f"{counted(clusters, 'cluster')} of {listed} rows found in {size(data)}; most apart in {' and '.join(telling)}."
    )


def cluster(cluster: int, share: float, rows: int, sources: int, apart: Sequence[tuple[str, float, float]]) -> str:
    words = [f"mean {name} {mean:.4g} ({every:.4g} in all rows)" for name, mean, every in apart]
    far = f"; {', '.join(words)}" if words else ""
    return f"Cluster {cluster + 1} has {counted(rows, 'row')} ({share:.0%}) and {counted(sources, 'source')}{far}."


def cluster_source(cluster: int, source: int, effects: Sequence[tuple[str, float, float | None]]) -> str:
    return f"Inside cluster {cluster + 1}, a standard deviation of source {source + 1} changes {changed(effects)}."


def adjacent_clusters(one: int, other: int, along: str) -> str:
    return (
        f"Clusters {one + 1} and {other + 1} go on into each other, mostly along {along}: rather pieces of one curved "
        "or stretched group than two groups."
    )


def all_clusters_kept(clusters: int) -> str:
    return f"None of the {clusters} clusters of the start was removed; there may be more (--clusters {2 * clusters})."


def all_sources_kept(clusters: int, sources: int) -> str:
    return (
        f"All {counted(sources, 'source')} are in use in {counted(clusters, 'cluster')}; there may be more "
        f"(--sources {2 * sources})."
    )


def two_humps(cluster: int, source: int, share: float, splits: bool) -> str:
    advice = "" if splits else "; --cluster-criterion clusters makes clusters of them"
    return (
        f"Source {source + 1} of cluster {cluster + 1} has two humps, {share:.0%} of its rows in the smaller one: two "
        f"groups that the bound takes for one cluster{advice}."
    )


def bound_charges(clusters: int) -> str:
    return (
        "The bound charges every cluster for a mixing matrix of its own; latentbits select --model ica-mixture "
        f"--clusters 1:{clusters + 3} asks held-out rows how many there are."
    )


# ---- how sure it is --------------------------------------------------------------------------------------------------


def restarts(made: int, agreeing: int) -> str:
    """Whether the restarts agree, and what to do if they don't."""
    if made == 1:
        return "There was one restart only; more of them (--restarts 10) show whether the answer is stable."
    if agreeing > 1:
        return f"{agreeing} of {counted(made, 'restart')} came within 0.01 % of the best objective."
    none = f"No other of {made} restarts came within 0.01 % of the best objective"
    if made >= MANY_RESTARTS:
        return (
            f"{none}: there are many answers nearly as good, so trust what they share (see how stable components are)."
        )
    return f"{none}; more of them (--restarts {3 * made}) may find a better answer."


def no_restarts(converged: bool) -> str:
    found = "and it was found" if converged else "which was not reached; raise --max-iter"
    return f"There are no restarts: this model has one best answer, {found}."


def chains(chains: int, samples: int, r_hat: float | None, effective_samples: float | None, agree: bool) -> str:
    """Whether the chains agree, and what to do if they don't."""
    line = f"{counted(samples, 'posterior sample')} of {counted(chains, 'chain')}"
    if r_hat is None:
        return f"{line}: too few to say whether the chains agree; take more (--samples)."
    worth = f"R-hat {r_hat:.2f}, worth {effective_samples:,.0f} independent ones"
    if agree:
        return f"{line}, which agree ({worth})."
    return f"{line}, which disagree ({worth}), so intervals depend on the seed; raise --burn, --samples or --thin."


def stability(made: int, components: int, median: float, worst: float) -> str:
    return f"How sure: {_stability(made, components, median, worst)}."


def _stability(made: int, components: int, median: float, worst: float) -> str:
    """How stable the components are, as a clause."""
    if made == 1:
        return "there was one restart only, so nothing is known about stability"
    if components == 1:
        return "one component is the same from every restart"
    numbers = f"(stability {median:.2f}, the least of a component {worst:.2f}; 1 is the same, 0 as two different ones)"
    if median >= STABLE and worst >= UNSTABLE:
        return f"components are stable across restarts {numbers}"
    if median >= UNSTABLE:
        return f"most components are stable across restarts {numbers}, so trust the ranking more than single cells"
    return f"components differ across restarts {numbers}, so this is one of several readings"


def equal_members(members: Sequence[str]) -> str:
    return f"All members have the same weight, as no cells were held out: {', '.join(members)}."


def member_weights(held_out: int, weights: Sequence[tuple[str, float]], without: Sequence[str]) -> str:
    weighted = ", ".join(f"{name} {weight:.2f}" for name, weight in weights)
    end = f"; none: {', '.join(without)}" if without else ""
    return f"Weights of the members' log odds, learned from {held_out:,} held-out cells: {weighted}{end}."


def reliability(mean: float, worst: float, top: Mapping[str, Any] | None = None) -> str:
    """Calibration, on the whole and in the range that the first suspects come from."""
    words = f"On held-out cells predicted probabilities and shares of ones differ by {mean:.3f} on average"
    if f"{worst:.3f}" != f"{mean:.3f}":
        words += f", at worst by {worst:.3f}"
    if top is None:
        return f"{words}."
    return (
        f"{words}. In the range of the list's first cells {top['predicted']:.2f} is predicted and "
        f"{top['observed']:.2f} observed (95% interval {top['low']:.2f} to {top['high']:.2f}, "
        f"{counted(top['cells'], 'held-out cell')})."
    )


def row_noise(kinds: Sequence[str]) -> str:
    """Whether rows differ in how much noise has changed them."""
    if not kinds:
        return "Rows don't clearly differ in how many of their cells noise has changed; scores take them as they are."
    done = {"white": "lost ones", "black": "got false ones"}
    return f"Some rows have {' and '.join(done[kind] for kind in kinds)} far more than others; scores allow for it."


def use_components_to_explain() -> str:
    return (
        "For the list this ensemble is the better choice, and it needs no number of components; to explain cells by "
        "components, or to denoise, use aspect-bernoulli (latentbits fit)."
    )


def use_ensemble_to_rank() -> str:
    return (
        "This model explains cells by components and denoises; for the list of suspects alone an ensemble ranks "
        "better, and needs no number of components (latentbits false-zeros)."
    )


# ---- what a list finds of ones that were knocked out -----------------------------------------------------------------


def checked(
    ranked_by: str,
    first: int,
    found: float,
    by_columns: float,
    by_chance: float,
    least: float,
    most: float,
    repeats_ahead: int,
    knocked_out: int,
    repeats: int,
) -> str:
    """How many of the first suspects are known ones that had been set to 0, and whether that is worth a model."""
    found_, by_columns_, by_chance_, ahead_ = (
        f"{number:.0f}" if number >= 10 or float(number).is_integer() else f"{number:.1f}"
        for number in (found, by_columns, by_chance, found - by_columns)
    )
    spread = f"; {least:.0f} to {most:.0f} in {repeats} repeats" if repeats > 1 else ""
    words = (
        f"{found_} of the first {first} suspects are ones that had been knocked out ({knocked_out:,} were{spread}); "
        f"by column frequencies {by_columns_}, by chance {by_chance_}."
    )
    if found <= by_columns:
        return f"{words} {ranked_by} ranks these zeros no better than column frequencies do."
    more = f"better than column frequencies do, by {ahead_} of the first {first}"
    if repeats_ahead < repeats:
        more = f"not clearly {more}: it was ahead in {repeats_ahead} of {repeats} repeats"
    return f"{words} {ranked_by} ranks these zeros {more}."


# ---- how a number was chosen -----------------------------------------------------------------------------------------


_PLAIN = {"IndependentBernoulli": "independent columns", "RowColumnBernoulli": "row and column totals"}
"""What models without components are, for readers who haven't asked for them."""


def model_chosen(
    model: str,
    components: int | None,
    tried: int,
    some_rows: int | None,
    score: float,
    simplest: str,
    simplest_score: float,
    is_best: bool,
    at_the_end: bool,
) -> str:
    """Which model was chosen among several by held-out cells, and why."""
    simplest = _PLAIN.get(simplest, simplest)
    if model in _PLAIN:
        first = f"None of {tried} models predicts held-out cells better than {_PLAIN[model]}"
        return f"{first} by more than one standard error."
    what = f"{model} with {counted(components or 1, 'component')} was chosen among {tried} models"
    what += "" if some_rows is None else f" on {some_rows:,} random rows"
    why = "it predicts held-out cells best"
    if not is_best:
        why = "the simplest within one standard error of the best"
    end = " It has the largest number tried, so try more." if at_the_end else ""
    return f"{what}: {why} (log-likelihood per cell {score:.3f}, {simplest} {simplest_score:.3f}).{end}"


def chosen(best: int, tried: Sequence[int], criterion: str, others: Sequence[tuple[str, int]]) -> str:
    line = f"{best} was chosen among {', '.join(map(str, tried))} components by {criterion}"
    said = [f"{other} says {number}" for other, number in others]
    return f"{line}; {', '.join(said)}." if said else f"{line}."


def chosen_among(tried: Sequence[int]) -> str:
    return f"That number was chosen among {', '.join(map(str, tried))}:"


def choice(criterion: str, best: int, rival: int, at_the_end: bool, noun: str, indent: str = "") -> str:
    line = f"{indent}{criterion}: {counted(best, noun)}"
    if rival != best:
        line += f"; {rival} would be as good, within one standard error"
    if at_the_end:
        line += "; that is the largest number tried, so try larger ones"
    return line + "."


def criteria_differ(predicts_cells: bool, indent: str = "") -> str:
    why = "They differ because they ask different things: "
    if not predicts_cells:
        return (
            f"{indent}{why}cv, what predicts rows that were not seen; bic and evidence, what explains all rows at the "
            "smallest price in parameters."
        )
    return (
        f"{indent}{why}aic and cv, what describes the rows; cells, what still helps to predict a cell, where short "
        "rows make models without a prior overconfident; bic and evidence charge for every row's weights."
    )


def independent_chosen() -> str:
    return "1 stands for independent columns, which this criterion prefers."


def best_model(criterion: str, best: str, tied: Sequence[str]) -> str:
    """Which model is best of several, and which are as good."""
    line = f"Best by {criterion}: {best}"
    return f"{line}; within one standard error of it: {', '.join(tied)}." if tied else f"{line}."


# ---- models in notebooks ---------------------------------------------------------------------------------------------


def fitted_to(class_name: str, rows: int | None, columns: int | None) -> str:
    """What a model was fitted to, as far as it knows."""
    sizes = [counted(n, what) for n, what in ((rows, "row"), (columns, "column")) if n is not None]
    return f"{class_name}, fitted to {' x '.join(sizes)}" if sizes else f"{class_name}, fitted"


def largest_r_hat(r_hat: float) -> str:
    return f"Chains: R-hat {r_hat:.3f} (at most 1.05 means that they agree)."


def gained(z: float) -> str:
    """By how much an ensemble beats its baselines; a z of 2 or less is no gain."""
    words = "" if z > 2 else "not "
    return f"Held-out cells are {words}predicted better than by row and column totals (z = {_above_2(z)})."


# ---- single answers --------------------------------------------------------------------------------------------------


def damage_found(components: Sequence[int], share: float) -> str:
    """What the demo has found of the damage that it made."""
    if not components:
        return "No component came out as a white noise component, so nothing was removed; try another --seed."
    named = " and ".join(str(component + 1) for component in components)
    what = f"{plural(len(components), 'component')} {named} {'is a' if len(components) == 1 else 'are'} white noise"
    kind = plural(len(components), "component")
    return f"Found the damage: {what} {kind}, blank, with {share:.0%} of the data."


assert all(code in globals() for code in Code), "a code without a sentence"
