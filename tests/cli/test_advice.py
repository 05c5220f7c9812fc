"""Advice in refusals, followed: the advised command succeeds and gives the right table."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from click.testing import Result

from latentbits.storage.run_folder import RunFolder

from .conftest import Run

pytestmark = pytest.mark.usefixtures("without_plots")

SITES = ["P", "Q", "R", "S"]
CELLS = [[1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]]
COLUMNS = ["a", "b", "c"]


class Case(NamedTuple):
    """A file that is refused, the options that are advised first, and what is read with them."""

    content: str | bytes | pd.DataFrame
    advised: str
    sites: list[str] | None = SITES
    cells: list[list[int]] = CELLS


def table(
    codes: Callable[[int], str] = str, *, site: str | None = "site", sites: list[str] = SITES, sep: str = ","
) -> str:
    head = COLUMNS if site is None else [site, *COLUMNS]
    rows = [[*([] if site is None else [name]), *map(codes, row)] for name, row in zip(sites, CELLS, strict=True)]
    return "\n".join(sep.join(row) for row in [head, *rows]) + "\n"


def long(value: Callable[[int, int], str]) -> str:
    lines = [
        f"{site},{name}{value(i, j)}" for i, site in enumerate(SITES) for j, name in enumerate(COLUMNS) if CELLS[i][j]
    ]
    return "\n".join(lines) + "\n"


def frame(codes: dict[int, int]) -> pd.DataFrame:
    made = pd.DataFrame([[codes[value] for value in row] for row in CELLS], columns=COLUMNS)
    made.insert(0, "site", SITES)
    return made


COUNTS = {0: "0", 1: "7"}.__getitem__
ABUNDANT = "site,a,b,c\nP,41,0,1\nQ,17,1,0\nR,0,0,2\nS,90,1,0\n"

CASES = {
    "counts": Case(table(COUNTS), "--threshold 1"),
    "counts of an abundant species": Case(ABUNDANT, "--threshold 1"),
    "counts of abundant species only": Case("site,a,b,c\nP,4,0,1\nQ,2,1,0\nR,0,0,1\nS,9,1,0\n", "--threshold 1"),
    "counts and site numbers": Case(table(COUNTS, sites=list("1234")), "--threshold 1", sites=list("1234")),
    "counts without labels": Case(table(COUNTS, site=None), "--threshold 1", sites=None),
    "counts in Parquet": Case(frame({0: 0, 1: 5}), "--threshold 1"),
    "shares": Case(table({0: "0", 1: "0.7"}.__getitem__), "--threshold 0.5"),
    "1 and 2, 2 present": Case(table({0: "1", 1: "2"}.__getitem__), "--true 2 --false 1"),
    "1 and 2 in Parquet": Case(frame({0: 1, 1: 2}), "--true 2 --false 1"),
    "-1 and 1": Case(table({0: "-1", 1: "1"}.__getitem__), "--true 1 --false -1"),
    "1 and 2, 9 missing": Case(
        table({0: "1", 1: "2"}.__getitem__).replace("S,2", "S,9"),
        "--true 2 --false 1 --missing 9",
        cells=[*CELLS[:3], [-1, 1, 0]],
    ),
    "a scale from 1 to 3": Case(table({0: "1", 1: "2"}.__getitem__).replace("P,2", "P,3"), "--threshold 2"),
    "counts, and nothing for absences": Case(table({0: "", 1: "4"}.__getitem__), "--threshold 1 --false ''"),
    "Braun-Blanquet": Case(
        "site,a,b,c\nP,r,,+\nQ,+,2a,\nR,,,r\nS,1,5,\n",
        "--true r --true + --true 2a --true 5 --false ''",
    ),
    "ja and nein": Case(table({0: "Nein", 1: "Ja"}.__getitem__), "--true Ja --false Nein"),
    "y and n": Case(table({0: "n", 1: "y"}.__getitem__), "--true y --false n"),
    "+ and -": Case(table({0: "-", 1: "+"}.__getitem__), "--true + --false -"),
    "marks": Case(table({0: "", 1: "x"}.__getitem__), "--presence x"),
    "decimal commas, 0 and 1": Case(table({0: "0,0", 1: "1,0"}.__getitem__, sep=";"), "--decimal ,"),
    "decimal commas, shares": Case(table({0: "0", 1: "0,7"}.__getitem__, sep=";"), "--decimal , --threshold 0.5"),
    "decimal commas, cover": Case(table({0: "0", 1: "12,5"}.__getitem__, sep=";"), "--decimal , --threshold 1"),
    "long of two columns": Case("site,species\n" + long(lambda i, j: ""), "--long site species"),
    "long of three columns": Case("site,species,found\n" + long(lambda i, j: ",1"), "--long site species found"),
    "long of counts": Case(
        "site,species,count\n" + long(lambda i, j: f",{i + j + 1}"), "--long site species count --threshold 1"
    ),
    "long of cover with decimal commas": Case(
        "site;species;cover\n" + long(lambda i, j: f",{i}.2").replace(",", ";").replace(".", ","),
        "--long site species cover --decimal , --threshold 0.2",
    ),
    "long with blanks in names": Case(
        "my site,the species,n\n" + long(lambda i, j: ",2"), "--long 'my site' 'the species' n --threshold 1"
    ),
    "no header": Case(table(site=None).split("\n", 1)[1], "--no-header", sites=None),
    "no header, with labels": Case(table().split("\n", 1)[1], "--no-header"),
    "a code for missing": Case(table().replace("S,1", "S,-9"), "--missing -9", cells=[*CELLS[:3], [-1, 1, 0]]),
    "an age": Case("site,age,a,b,c\nP,37,1,0,1\nQ,4,1,1,0\nR,8,0,0,1\nS,21,1,1,0\n", "--exclude age"),
    "a thickness among counts": Case(
        "site,A1,a,b,c\nP,2.8,3,0,1\nQ,3.5,1,1,0\nR,4.3,0,0,2\nS,4.2,1,9,0\n", "--exclude A1 --threshold 1"
    ),
    "totals of rows": Case("site,a,b,c,total\nP,1,0,1,2\nQ,1,1,0,2\nR,0,0,1,1\nS,1,1,0,2\n", "--exclude total"),
    "free text": Case(
        "site,a,b,remark,c\nP,1,0,dry,1\nQ,1,1,a shed,0\nR,0,0,burnt,1\nS,1,1,wet,0\n", "--exclude remark"
    ),
    "numbers that may be labels": Case(
        table(site="Aufnahme", sites=["17", "4", "9", "12"]), "--row-labels Aufnahme", sites=["17", "4", "9", "12"]
    ),
    "blocks of rows": Case("block,a,b,c\n2,1,0,1\n2,1,1,0\n3,0,0,1\n3,1,1,0\n", "--metadata block", sites=None),
    "names that begin with #": Case(table(sites=["P", "#Q", "R", "S"]), "--comment ''", sites=["P", "#Q", "R", "S"]),
    "latin-1": Case(table(site="Höhle").encode("latin-1"), "--encoding latin-1"),
    "utf-16 without a mark": Case(table().encode("utf-16-le"), "--encoding utf-16-le"),
}


def write(content: str | bytes | pd.DataFrame, folder: Path) -> Path:
    if isinstance(content, pd.DataFrame):
        content.to_parquet(folder / "table.parquet")
        return folder / "table.parquet"
    path = folder / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def advice(message: str) -> list[list[str]]:
    """The options of each way out that has any, as they are typed."""
    ways_out = [re.findall(r"\((--.*?)\)", way_out) for way_out in message.rpartition("; ")[2].split(", or ")]
    return [shlex.split(" ".join(options)) for options in ways_out if options]


def fit(run: Run, file: Path, *options: str) -> Result:
    out = file.parent / "run"
    return run("fit", file, *options, "--model", "independent", "--no-report", "--force", "--out", out)


def assert_read(folder: Path, sites: list[str] | None, cells: list[list[int]]) -> None:
    data = RunFolder.open(folder / "run").load_data()[0]
    assert data.row_names == sites
    order = [data.column_names.index(name) for name in COLUMNS] if "a" in data.column_names else [0, 1, 2]
    assert data.dense()[:, order].tolist() == cells
    assert data.shape[1] == len(COLUMNS)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_first_advice_gives_the_right_table(run: Run, tmp_path: Path, case: Case) -> None:
    file = write(case.content, tmp_path)
    refused = fit(run, file)
    assert refused.exit_code == 1, refused.output
    first = advice(refused.stderr)[0]
    assert first == shlex.split(case.advised), refused.stderr
    followed = fit(run, file, *first)
    assert followed.exit_code == 0, followed.output
    assert_read(tmp_path, case.sites, case.cells)


def test_of_two_codes_either_may_mean_present(run: Run, tmp_path: Path) -> None:
    file = write(table({0: "2", 1: "1"}.__getitem__), tmp_path)
    _, other = advice(fit(run, file).stderr)
    assert fit(run, file, *other).exit_code == 0
    assert_read(tmp_path, SITES, CELLS)


def test_a_sheet_is_chosen(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    file = tmp_path / "book.xlsx"
    with pd.ExcelWriter(file) as book:
        frame({0: 0, 1: 1}).to_excel(book, sheet_name="my table", index=False)
        pd.DataFrame({"note": ["by Ann"]}).to_excel(book, sheet_name="notes", index=False)
    (first,) = advice(fit(run, file).stderr)
    assert first == ["--sheet", "my table"]
    assert fit(run, file, *first).exit_code == 0
    assert_read(tmp_path, SITES, CELLS)
