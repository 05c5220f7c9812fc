"""Measured figures on pages and in the README: written into the text, so that it can be read anywhere, and kept true.

Measured figures are never typed. measured.toml says where in `experiments/results` and `benchmarks/results` a figure
is found, and comments say on a page what stands beside them:

    0.40<!-- birds_precision -->                  a figure
    <!-- measured: rivals --> ... <!-- end -->     a table, or sentences
    <!-- on the site: benchmark aspect -->          long tables, which the site alone shows in this place

`python docs/_ext/measured.py` writes all pages and their pictures anew; a test fails if one of them is out of date.
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

from experiments.runner.lines import Line, lines_of  # noqa: E402
from experiments.runner.page import differences_part, glance_part, in_two_sentences, numbers_part, paper_part  # noqa: E402
from experiments.runner.store import stored  # noqa: E402

RESULTS = ROOT / "experiments" / "results"
BENCHMARKS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("families/*.md"))]
END = "<!-- end -->"


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


# ---- pages ---------------------------------------------------------------------------------------------------------


@cache
def _lines() -> list[Line]:
    return lines_of(stored(RESULTS))


PARTS = {
    "rivals": lambda: markdown(rivals()),
    "rows": lambda: of_rows(),
    "published": lambda: in_two_sentences(_lines()),
    "numbers": lambda: numbers_part(_lines(), stored(RESULTS)),
    "differences": lambda: differences_part(_lines(), RESULTS, DOCS / "results.md"),
    "verdicts": lambda: glance_part(_lines(), {}),
}
"""What is written between two comments, by its name."""


def long_part(kind: str, name: str) -> str:
    """What the site shows in place of a comment: claims of a `paper` ("beyond" the papers), or a `benchmark`."""
    if kind == "paper":
        paper = "" if name == "beyond" else name
        return "\n\n".join(paper_part(paper, _lines(), {}, ROOT / "experiments", DOCS / "results.md"))
    text = (BENCHMARKS / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"^#", "##", text.partition("\n")[2], flags=re.MULTILINE)


def written(text: str) -> str:
    """The page with today's figures, tables and sentences."""
    text = re.sub(
        rf"(<!-- measured: (\w+) -->\n).*?({END})",
        lambda found: f"{found[1]}{PARTS[found[2]]()}\n{found[3]}",
        text,
        flags=re.DOTALL,
    )
    return re.sub(r"[^\s*|(]+(<!-- ([a-z_]+) -->)", lambda found: measured(found[2]) + found[1], text)


def on_the_site(text: str) -> str:
    """The page with its long tables, and without the links to where a code host shows them."""
    text = re.sub(r"^In the repository: (?:.+\n)+\n", "", text, flags=re.MULTILINE)
    return re.sub(r"<!-- on the site: (\w+) (.+?) -->", lambda found: long_part(found[1], found[2]), text)


def _fill(app: Any, page: str, source: list[str]) -> None:
    source[0] = on_the_site(source[0])


def setup(app: Any) -> dict[str, bool]:
    """Have Sphinx put in the long tables."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    from pictures import PICTURES

    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
    for name, draw in PICTURES.items():
        (DOCS / name).write_text(draw(), encoding="utf-8")
