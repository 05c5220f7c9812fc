"""Measured figures on pages: the role `measured`, the directives `rivals`, `claims` and `benchmark`.

Measured figures are never typed on a page. measured.toml says where in `experiments/results` and `benchmarks/results`
a figure is found; ``{measured}`name` `` shows it. `python docs/_ext/measured.py README.md` updates the README's table.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments" / "results"
BENCHMARKS = ROOT / "benchmarks" / "results"
HOLDS = ("reproduced", "better")
"""How positive verdicts begin; on which data and under which condition follows."""

BEGIN, END = "<!-- measured: rivals -->", "<!-- end -->"


# ---- figures -------------------------------------------------------------------------------------------------------


@cache
def places() -> dict[str, dict[str, Any]]:
    """What measured.toml says: where each figure is."""
    return tomllib.loads((ROOT / "docs" / "measured.toml").read_text(encoding="utf-8"))


def measured(name: str) -> str:
    """The text of a figure, as measured.toml describes it.

    A CSV: the mean of column `take` over the lines that match `where`; with `best_of`, the best of the means for
    each setting of these columns. A JSON file of claims: what `pattern` finds in the claim that begins with `claim`; of
    a benchmark: as of a CSV, from the list `part`. `format` is Python's.
    """
    if name not in places():
        raise KeyError(f"measured.toml has no {name}; add it, or use one of {', '.join(places())}")
    place = places()[name]
    file = ROOT / place["file"]
    if "verdicts" in place:
        begins = tuple(place["verdicts"])
        published = [claim for claim in all_claims(place["file"]) if claim["result"]]
        return str(sum(claim["verdict"].startswith(begins) for claim in published))
    if "claim" in place:
        return _from_claim(file, place)
    lines = pd.read_csv(file) if file.suffix == ".csv" else pd.DataFrame(_content(file)[place["part"]])
    for column, wanted in place.get("where", {}).items():
        lines = lines[lines[column] == wanted]
    if lines.empty:
        raise LookupError(f"{place['file']} has no line where {place['where']}")
    values = pd.to_numeric(lines[place["take"]])
    if "best_of" in place:
        values = values.groupby([lines[column] for column in place["best_of"]]).mean()
        return place["format"].format(float(values.max()))
    return place["format"].format(float(values.mean()))


def _content(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _from_claim(file: Path, place: dict[str, Any]) -> str:
    (claim,) = (claim for claim in _content(file)["claims"] if claim["statement"].startswith(place["claim"]))
    found = re.search(place["pattern"], claim[place.get("take", "ours")])
    if found is None:
        raise LookupError(f"{place['file']}: no {place['pattern']} in the claim {place['claim']}")
    return found[1]


# ---- the table of rivals -------------------------------------------------------------------------------------------

RIVALS = {
    "column means": "column frequencies",
    "NMF": "NMF",
    "mixture": "Bernoulli mixture",
    "logistic PCA, ridge 1": "logistic PCA",
    "Ising": "Ising model",
    "FalseZeros": "**FalseZeros**",
}
TABLES = {"visit 1": "first visit", "visit 2": "second visit", "visit 3": "third visit"}


def rivals() -> list[list[str]]:
    """Header and lines: how well each model, at its best setting, ranks the zeros that other visits refute."""
    found = pd.read_csv(RESULTS / "beyond_false_zeros.csv")
    found = found[found["score"] == found["model"]]
    means = found.groupby(["table", "model", "k", "ridge"])[["auc", "ap"]].mean()
    best = means.groupby(["table", "model"]).max()
    lines = [["zeros of the", *RIVALS.values()]]
    for table, words in TABLES.items():
        cells = [f"{best.loc[(table, model), 'auc']:.3f} / {best.loc[(table, model), 'ap']:.2f}" for model in RIVALS]
        lines.append([words, *cells[:-1], f"**{cells[-1]}**"])
    return lines


def markdown(lines: list[list[str]]) -> str:
    """A table in Markdown."""
    header, *rest = lines
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *rest])


def with_table(text: str) -> str:
    """The page with the measured table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise ValueError(f"the page has no {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n{markdown(rivals())}\n{END}{after}"


# ---- claims --------------------------------------------------------------------------------------------------------


def experiments(prefix: str) -> Iterator[dict[str, Any]]:
    """Stored experiments whose name has this prefix, in order."""
    for file in sorted(RESULTS.glob("*.json")):
        content = _content(file)
        if content["experiment"].startswith(prefix):
            yield content


def all_claims(prefix: str) -> list[dict[str, Any]]:
    """The claims of these experiments."""
    return [claim for content in experiments(prefix) for claim in content["claims"]]


def claims_page(prefix: str) -> str:
    """Claims that were confirmed, then those that were not and why, in Markdown."""
    parts = []
    for content in experiments(prefix):
        holds = [claim for claim in content["claims"] if claim["verdict"].startswith(HOLDS)]
        fails = [claim for claim in content["claims"] if not claim["verdict"].startswith(HOLDS)]
        number = f"{len(holds)} of {len(content['claims'])} confirmed"
        parts.append(f"### {content['title']}\n\n{number}; `python -m experiments run {content['experiment']}`.\n")
        parts.extend(_claim_lines("Confirmed", holds, reasons=False))
        parts.extend(_claim_lines("Not confirmed, and why", fails, reasons=True))
    return "\n".join(parts)


def _claim_lines(title: str, claims: list[dict[str, Any]], *, reasons: bool) -> Iterator[str]:
    if not claims:
        return
    yield f":::{{dropdown-like}} {title} ({len(claims)})\n"
    for claim in claims:
        paper = "" if claim["paper"] in ("-", "") else f" Published: {_plain(claim['paper'])}."
        condition = f" ({_plain(claim['condition'])})" if claim.get("condition") else ""
        reason = f" Reason: {_plain(claim['reason'])}." if reasons and claim.get("reason") else ""
        note = f" *{_plain(claim['note'])}*" if reasons and claim["note"] else ""
        yield f"- {_plain(claim['statement'])}{condition}.{paper} Ours: {_plain(claim['ours'])}.{reason}{note}"
    yield "\n:::\n"


def _plain(text: str) -> str:
    """Text with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#$|~])", r"\\\1", text.strip().rstrip("."))


# ---- Sphinx --------------------------------------------------------------------------------------------------------


def setup(app: Any) -> dict[str, bool]:
    """Register role and directives."""
    from measured_directives import BenchmarkTables, ClaimsOf, DropdownLike, MeasuredRole, RivalsTable

    app.add_role("measured", MeasuredRole())
    app.add_directive("rivals", RivalsTable)
    app.add_directive("claims", ClaimsOf)
    app.add_directive("benchmark", BenchmarkTables)
    app.add_directive("dropdown-like", DropdownLike)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
