"""Measured figures on pages: the role `measured`, the directives `rivals`, `published` and `benchmark`.

Measured figures are never typed on a page. measured.toml says where in `experiments/results` and `benchmarks/results`
a figure is found; ``{measured}`name` `` shows it. `python docs/_ext/measured.py README.md` updates the README's.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # the experiments are no part of the installed package

from experiments.runner.lines import lines_of  # noqa: E402
from experiments.runner.page import differences_part, glance_part, in_two_sentences, numbers_part, paper_part  # noqa: E402
from experiments.runner.store import stored  # noqa: E402

RESULTS = ROOT / "experiments" / "results"
BENCHMARKS = ROOT / "benchmarks" / "results"
BEGIN, BEGIN_ROWS, BEGIN_PUBLISHED, END = (
    *(f"<!-- measured: {what} -->" for what in ("rivals", "rows", "published")),
    "<!-- end -->",
)


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
    "probit factors alone": "`ProbitFactors`, our best member alone",
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


SURVEYS = {"hbef2015": "Hubbard Brook", "swiss600": "600 sites of the Swiss atlas", "mhb2014": "Swiss breeding birds"}


def of_rows() -> str:
    """A sentence on what covariates and coordinates add to the ranking of the first visit's zeros."""
    found = pd.read_csv(RESULTS / "beyond_covariates.csv")
    found = found[(found["what"] == "ensemble") & (found["visit"] == 0)].set_index(["table", "part"])

    def shown(table: str, part: str) -> str:
        return f"{found.loc[(table, part), 'auc']:.3f} / {found.loc[(table, part), 'ap']:.2f}"

    told = [
        f"from {shown(table, 'neither')} to {shown(table, 'both')} ({words})"
        for table, words in SURVEYS.items()
        if {(table, "neither"), (table, "both")} <= set(found.index)
    ]
    return (
        "With what is known of the sites (elevation, forest, coordinates; `rows=`) they go, for the first visit,\n"
        + ",\n".join(told)
        + "."
    )


def markdown(lines: list[list[str]]) -> str:
    """A table in Markdown."""
    header, *rest = lines
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *rest])


def with_figures(text: str) -> str:
    """The page with the measured table and the sentences on published results between their marks."""
    told = {
        BEGIN: markdown(rivals()),
        BEGIN_ROWS: of_rows(),
        BEGIN_PUBLISHED: in_two_sentences(lines_of(stored(RESULTS))),
    }
    for mark, words in told.items():
        before, _, rest = text.partition(mark)
        _, _, after = rest.partition(END)
        if not after:
            raise ValueError(f"the page has no {mark} ... {END}")
        text = f"{before}{mark}\n{words}\n{END}{after}"
    return text


# ---- published results ---------------------------------------------------------------------------------------------


def published(part: str) -> str:
    """A part of the summary of the published results, or the table of one paper, or "beyond" the papers."""
    page, results = ROOT / "docs" / "results.md", stored(RESULTS)
    lines = lines_of(results)
    summary = {
        "numbers": lambda: numbers_part(lines, results),
        "differences": lambda: differences_part(lines, RESULTS, page),
        "verdicts": lambda: glance_part(lines, {}),
    }
    if part in summary:
        return summary[part]()
    return "\n\n".join(paper_part("" if part == "beyond" else part, lines, {}, ROOT / "experiments", page))


# ---- Sphinx --------------------------------------------------------------------------------------------------------


def setup(app: Any) -> dict[str, bool]:
    """Register role and directives."""
    from measured_directives import BenchmarkTables, DropdownLike, MeasuredRole, Published, RivalsTable

    app.add_role("measured", MeasuredRole())
    app.add_directive("rivals", RivalsTable)
    app.add_directive("published", Published)
    app.add_directive("benchmark", BenchmarkTables)
    app.add_directive("dropdown-like", DropdownLike)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(with_figures(page.read_text(encoding="utf-8")), encoding="utf-8")
