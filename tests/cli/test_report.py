"""`latentbits report`: the page made again from a folder, or about the rows of another file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import latentbits.report
from latentbits import AspectBernoulli, read_table
from latentbits.findings.analyse import analyse
from latentbits.storage.persistence import load_model, save_model
from latentbits.storage.run_folder import RunFolder

from .conftest import FAST, Run, assert_refused, write_table

pytestmark = [
    pytest.mark.usefixtures("without_plots"),
    pytest.mark.filterwarnings("ignore:.*no weight on any kept component"),
]

Written = dict[str, Any]


@pytest.fixture
def folder(fitted: Path, tmp_path: Path) -> Path:
    """A copy of the fitted folder, to write into."""
    return Path(shutil.copytree(fitted, tmp_path / "run"))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    """What the page was written from, instead of a page."""
    seen: Written = {}

    def note(results: Any, path: Path, **more: Any) -> None:
        path.write_text("page")
        seen.update(more, results=results)

    monkeypatch.setattr(latentbits.report, "write_report", note)
    return seen


def change_summary(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    file = folder / "summary.json"
    summary = json.loads(file.read_text())
    change(summary)
    file.write_text(json.dumps(summary))


# ---- of the fit ----


def test_the_page_of_a_folder_is_made_again(run: Run, folder: Path) -> None:
    page = folder / "report.html"
    before = page.read_text(encoding="utf-8")
    page.unlink()
    result = run("report", folder)
    assert (result.exit_code, result.stdout) == (0, f"Open {page}.\n"), result.output
    assert page.read_text(encoding="utf-8") == before


def test_it_is_about_the_data_and_the_fit(run: Run, folder: Path, table: Path, written: Written) -> None:
    change_summary(folder, lambda summary: summary.update(notes=["a note"], seconds={"fit": 7.0}, shape=[3, 4]))
    assert run("report", folder).exit_code == 0
    results = written["results"]
    summary = results.to_dict()
    assert summary["data"]["file"] == "sites.csv"
    assert summary["data"]["fingerprint"] == read_table(table).fingerprint()
    assert (summary["notes"][0], summary["seconds"]["fit"]) == ("a note", 7.0)
    assert (results.shape, results.selection, written["ratings"]) == ((3, 4), None, None)


def test_a_report_made_later_belongs_to_the_folder(run: Run, table: Path, tmp_path: Path, written: Written) -> None:
    out = tmp_path / "run"
    assert run("fit", table, *FAST, "--out", out).exit_code == 0
    assert not (out / "report.html").exists()
    assert run("report", out).exit_code == 0
    assert set(json.loads((out / "summary.json").read_text())["files"]) == {entry.name for entry in out.iterdir()}
    assert run("report", out).exit_code == 0, "its own output is replaced without being forced"
    assert run("fit", table, *FAST, "--out", out, "--force").exit_code == 0


def test_a_page_elsewhere_is_replaced_only_by_force(run: Run, folder: Path, tmp_path: Path, written: Written) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    assert_refused(run("report", folder, "--out", page), "page.html exists already", "--force")
    assert page.read_text() == "mine"
    assert run("report", folder, "--out", page, "--force").exit_code == 0
    assert page.read_text() == "page"
    assert_refused(run("report", folder, "--out", tmp_path), "is a folder")
    assert_refused(run("report", folder, "--out", tmp_path / "no" / "page.html"), "no such folder to write into")


def test_a_selection_is_part_of_it(run: Run, folder: Path, written: Written) -> None:
    table = pd.DataFrame({"n_components": [1, 2], "aic": [20.5, 10.25]})
    table.to_csv(folder / "selection.csv", index=False)
    assert run("report", folder).exit_code == 0
    pd.testing.assert_frame_equal(written["results"].selection.table, table)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"data": 3, "shape": "wide", "files": 1}'])
def test_a_summary_that_is_gone_or_damaged_is_ignored(run: Run, folder: Path, written: Written, content: str) -> None:
    (folder / "summary.json").write_text(content)
    assert run("report", folder).exit_code == 0
    assert "file" not in written["results"].to_dict()["data"]
    assert (folder / "summary.json").read_text() == content


def test_json_is_the_summary_and_where_the_page_is(run: Run, folder: Path, written: Written) -> None:
    answer = json.loads(run("report", folder, "--json", "--quiet").stdout)
    assert answer["model"] == "aspect-bernoulli"
    assert answer["report"] == str(folder / "report.html")
    assert run("report", folder, "--quiet").stdout == ""


@pytest.mark.parametrize("numpy_integers", [{"n_components": np.int64(3)}, {"random_state": np.uint32(7)}])
def test_parameters_may_be_numpy_scalars(run: Run, table: Path, tmp_path: Path, numpy_integers: dict[str, Any]) -> None:
    data = read_table(table)
    plain: dict[str, Any] = {"n_components": 3, "n_init": np.int32(2), "random_state": 7, "tol": np.float32(1e-4)}
    model = AspectBernoulli(**plain | numpy_integers).fit(data)
    save_model(model, tmp_path / "model.npz")
    page = tmp_path / "page.html"
    result = run("report", tmp_path / "model.npz", table, "--out", page, "--json")
    assert result.exit_code == 0, result.output + repr(result.exception)
    answer = json.loads(result.stdout)
    assert (answer["parameters"]["n_components"], answer["parameters"]["n_init"], answer["seed"]) == (3, 2, 7)
    assert answer["parameters"]["tol"] == pytest.approx(1e-4)
    assert "3 components make up these" in page.read_text(encoding="utf-8")
    RunFolder(tmp_path / "run").save(analyse(model, data, verdict=False), force=False, report=True)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["parameters"] == answer["parameters"]
    assert run("report", tmp_path / "run").exit_code == 0


# ---- of other rows ----


def test_other_rows_have_their_own_weights(
    run: Run, folder: Path, tmp_path: Path, written: Written, X: np.ndarray, columns: list[str]
) -> None:
    file = write_table(tmp_path / "new.csv", X[:7, ::-1], columns[::-1], [f"new{i}" for i in range(7)])
    result = run("report", folder, file, "--out", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    results = written["results"]
    assert results.data.file == "new.csv"
    assert results.data.rows == 7
    assert results.tables["weights"]["site"].tolist() == [f"new{i}" for i in range(7)]
    model = load_model(folder / "model.npz")
    assert_allclose(
        results.tables["weights"].iloc[:, 1:], model.transform(pd.DataFrame(X[:7], columns=columns)), atol=1e-12
    )
    assert "report.html" in json.loads((folder / "summary.json").read_text())["files"]


def test_a_model_file_will_do_with_a_file(run: Run, fitted: Path, table: Path, tmp_path: Path) -> None:
    result = run("report", fitted / "model.npz", table, "--out", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["DIR", "FILE"], "give --out FILE.html for the report on sites.csv"),
        (["DIR/model.npz"], "is not a folder made by latentbits fit"),
        (["DIR", "--exclude", "age"], "--exclude is about reading FILE"),
        (["DIR", "--row-labels", "site"], "--row-labels is about reading FILE"),
        (["DIR", "--shape", "3"], '"3" is no shape'),
    ],
)
def test_wrong_usage(run: Run, fitted: Path, table: Path, arguments: list[str], message: str) -> None:
    words = [word.replace("DIR", str(fitted)).replace("FILE", str(table)) for word in arguments]
    assert_refused(run("report", *words), message, code=2)


def test_refusals(run: Run, folder: Path, table: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert_refused(run("report", folder, "--shape", "5x5"), "--shape 5x5 doesn't make 12 pixels")
    assert_refused(run("report", tmp_path / "absent"), "absent: no such folder")
    assert_refused(run("report", tmp_path), "holds no model.npz")
    assert_refused(run("report", folder, tmp_path / "t.csv", "--out", page), "t.csv: no such file")
    (folder / "data.npz").write_bytes(b"PK")
    assert_refused(run("report", folder), "data.npz is damaged")
    (folder / "data.npz").unlink()
    assert_refused(run("report", folder), "holds no data.npz", "give FILE")
    assert run("report", folder, table, "--out", page).exit_code == 0


def test_models_of_numbers_are_reported_on_their_own_rows_only(run: Run, tmp_path: Path, written: Written) -> None:
    file = tmp_path / "numbers.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc")).to_csv(file, index=False)
    out = tmp_path / "run"
    asked = ["--model", "binary-factors", "--components", 1, "--restarts", 1, "--no-report"]
    assert run("fit", file, *asked, "--out", out).exit_code == 0
    assert run("report", out).exit_code == 0
    assert_refused(run("report", out, file, "--out", tmp_path / "page.html"), "is about the rows it was fitted to")
    assert_refused(run("report", out, "--ratings", "1"), "BinaryFactorAnalysis has no noise components")


@pytest.mark.parametrize(
    "damage",
    [
        {"seconds": "abc"},
        {"seconds": {"fit": "x"}},
        {"notes": 5},
        {"notes": ["\ud800"]},
        {"data": {"file": "\ud800.csv"}},
        {"selection": {"choices": 3}},
        {"selection": {"seed": 0, "tried": [1], "choices": [{}]}},
        {"shape": [3, "4"]},
    ],
)
def test_parts_of_a_summary_that_make_no_sense_are_left_out(run: Run, folder: Path, damage: dict[str, Any]) -> None:
    (folder / "summary.json").write_text(json.dumps({"files": ["model.npz"], **damage}))
    result = run("report", folder)
    assert result.exit_code == 0, result.output
    assert "components make up these" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"n_components,aic\n1,inf\n", b"aic\n3\n", b"n_components,aic\n1,x\n"]
)
def test_a_damaged_selection_is_refused(run: Run, folder: Path, content: bytes) -> None:
    (folder / "selection.csv").write_bytes(content)
    assert_refused(run("report", folder), "selection.csv is damaged")
