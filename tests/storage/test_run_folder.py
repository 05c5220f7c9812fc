"""The folder of a fit: written, opened again, damaged, crafted, and added to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from latentbits import AspectBernoulli, BinaryICA, DataError, ModelFileError, simulate
from latentbits.data.binary_data import BinaryData
from latentbits.findings.account import Findings
from latentbits.findings.analyse import analyse
from latentbits.storage import run_folder
from latentbits.storage.output_folder import OutputFolder
from latentbits.storage.run_folder import RunFolder

READING = {
    "row_labels": "site",
    "columns": ["Sus", "Bos"],
    "exclude": ["age"],
    "missing": ["lost"],
    "true": ["ja"],
    "false": ["nein"],
    "presence": "x",
    "threshold": 0.5,
    "delimiter": ";",
    "encoding": "latin-1",
    "header": False,
    "array": "cells",
}


@pytest.fixture(autouse=True)
def _without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "write_plots", lambda _, plots, *__: plots.mkdir())


@pytest.fixture(scope="module")
def fitted() -> tuple[AspectBernoulli, BinaryData]:
    X = simulate.aspect_bernoulli(30, 6, 2, random_state=0).X
    data = BinaryData.of(X, row_names=[f"r{i}" for i in range(30)], column_names=list("abcdef"))
    return AspectBernoulli(2, n_init=2, random_state=0).fit(data), data


@pytest.fixture
def results(fitted: tuple[AspectBernoulli, BinaryData]) -> Findings:
    return analyse(*fitted, verdict=False)


@pytest.fixture
def run(results: Findings, tmp_path: Path) -> RunFolder:
    """A folder as `latentbits fit` leaves it."""
    RunFolder(tmp_path / "run").save(results, force=False, report=False)
    change_summary(
        run := RunFolder(tmp_path / "run"),
        data={**run.summary["data"], "file": "sites.csv", "reading": READING},
        notes=["a note"],
        seconds={"fit": 0.5},
        shape=[2, 3],
    )
    return RunFolder.open(tmp_path / "run")


def entries(run: OutputFolder) -> set[str]:
    return {entry.name for entry in run.path.iterdir()}


def change_summary(run: RunFolder, **parts: Any) -> None:
    (run.path / "summary.json").write_text(json.dumps(run.summary | parts))


# ---- written and opened again ----


def test_what_was_saved_comes_back(run: RunFolder, fitted: tuple[AspectBernoulli, BinaryData]) -> None:
    model, data = fitted
    assert_array_equal(run.load_model().components_, model.components_)
    again, fit_params = run.load_data()
    assert (again.fingerprint(), again.row_names, again.column_names) == (
        data.fingerprint(),
        data.row_names,
        data.column_names,
    )
    assert fit_params == {}
    assert run.file_name == "sites.csv"
    assert run.reading == READING
    assert run.image_shape == (2, 3)
    assert run.fit_record == {"notes": ["a note"], "suspected": {"absence": 0}, "seconds": {"fit": 0.5}}
    assert run.selection is None
    assert run.is_folder


def test_what_else_went_into_the_fit_comes_back(tmp_path: Path) -> None:
    truth = simulate.binary_ica(30, 4, 1, 4, random_state=0)
    data = BinaryData.of(truth.X)
    model = BinaryICA(1, n_init=1, random_state=0).fit(data, segments=truth.segments)
    RunFolder(tmp_path / "run").save(
        analyse(model, data, segments=truth.segments, verdict=False), force=False, report=False
    )
    again, fit_params = RunFolder.open(tmp_path / "run").load_data()
    assert list(fit_params) == ["segments"]
    assert_array_equal(fit_params["segments"], truth.segments)
    assert_array_equal(again.dense(), truth.X)


def test_the_summary_lists_exactly_what_is_there(run: RunFolder) -> None:
    assert set(run.files) == entries(run)
    assert [entry.name for entry in run.path.parent.iterdir()] == ["run"]


def test_a_report_of_the_folder_is_added_to_its_files(run: RunFolder, results: Findings, tmp_path: Path) -> None:
    run.write_report(results, tmp_path / "elsewhere.html")
    assert "report.html" not in run.files
    before = run.summary
    for _ in range(2):
        run.write_report(results, run.report_file)
        assert set(run.files) == entries(run)
        assert run.files.count("report.html") == 1
    assert run.summary == before | {"files": [*before["files"], "report.html"]}
    RunFolder(tmp_path / "new").save(results, force=False, report=True)
    assert set(run.files) == entries(RunFolder(tmp_path / "new")) == set(RunFolder(tmp_path / "new").files)


def test_a_model_file_alone_says_nothing_but_the_model(run: RunFolder) -> None:
    alone = RunFolder.open(run.path / "model.npz")
    assert_array_equal(alone.load_model().components_, run.load_model().components_)
    assert not alone.is_folder
    assert not alone.is_own_report(run.report_file)
    assert (alone.summary, alone.files, alone.fit_record) == ({}, [], {})
    assert (alone.file_name, alone.reading, alone.image_shape, alone.selection) == (None, None, None, None)
    with pytest.raises(DataError, match=r"holds no data\.npz"):
        alone.load_data()


def test_paths_may_be_text(run: RunFolder) -> None:
    assert RunFolder.open(str(run.path)).reading == READING


# ---- nothing of others is replaced ----


def test_a_folder_is_replaced_only_by_force(run: RunFolder, results: Findings) -> None:
    with pytest.raises(FileExistsError, match="exists already"):
        run.save(results, force=False, report=False)
    run.save(replace(results, seconds={"fit": 5.0}), force=True, report=False)
    assert run.summary["seconds"] == {"fit": 5.0}
    assert set(run.files) == entries(run)


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", "desktop.ini", "plots/.DS_Store"])
def test_what_a_file_manager_left_is_taken_over(run: RunFolder, results: Findings, name: str) -> None:
    (run.path / name).write_text("the system's")
    run.save(results, force=True, report=False)
    assert (run.path / name).read_text() == "the system's"


@pytest.mark.parametrize("name", [".git", ".venv", ".DS_Store", "model.npz", "plots/older"])
def test_foreign_folders_are_never_deleted(run: RunFolder, results: Findings, name: str) -> None:
    folder = run.path / name
    folder.unlink(missing_ok=True)
    folder.mkdir()
    (folder / "HEAD").write_text("mine")
    with pytest.raises(FileExistsError, match=f"holds '{name}', which --force would delete"):
        run.save(results, force=True, report=False)
    assert (folder / "HEAD").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["thesis.docx", "../thesis.docx", ".env", "my_sites.csv", "plots.tar", "plots/photo.png"]
)
def test_a_crafted_record_gets_nothing_deleted(run: RunFolder, results: Findings, name: str) -> None:
    (run.path / name).write_text("mine")
    absolute = str((run.path / name).resolve())
    change_summary(run, files=[*run.files, name, absolute, "..", ".", "plots/..", name.rpartition("/")[2]])
    if name.startswith(".."):
        run.save(results, force=True, report=False)
    else:
        with pytest.raises(FileExistsError, match=f"holds '{name}', which --force would delete"):
            run.save(results, force=True, report=False)
    assert (run.path / name).read_text() == "mine"


def test_ours_by_name_but_not_listed_is_not_deleted(run: RunFolder, results: Findings) -> None:
    (run.path / "pairs.csv").write_text("mine")
    with pytest.raises(FileExistsError, match=r"holds 'pairs\.csv', which --force would delete"):
        run.save(results, force=True, report=False)


def test_of_a_link_only_the_link_is_deleted(run: RunFolder, results: Findings, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine.png").write_text("mine")
    (run.path / "plots").rmdir()
    (run.path / "plots").symlink_to(tmp_path / "kept")
    with pytest.raises(FileExistsError, match="holds 'plots', which"):
        run.save(results, force=True, report=False)
    (run.path / "plots").unlink()
    (run.path / "model.npz").rename(tmp_path / "kept" / "model.npz")
    (run.path / "model.npz").symlink_to(tmp_path / "kept" / "model.npz")
    run.save(results, force=True, report=False)
    assert {entry.name for entry in (tmp_path / "kept").iterdir()} == {"mine.png", "model.npz"}


def test_a_few_of_many_files_in_the_way_are_named(run: RunFolder, results: Findings) -> None:
    for name in ("a", "b", "c", "d", "e"):
        (run.path / name).write_text("mine")
    with pytest.raises(FileExistsError, match=r"holds 'a', 'b', 'c' and 2 others, which --force .* move them away"):
        run.save(results, force=True, report=False)


def test_a_name_that_no_list_has_is_noticed(tmp_path: Path) -> None:
    table = {"new_table": pd.DataFrame({"n": [1]})}
    with pytest.warns(UserWarning, match="'new_table' is not in the lists of latentbits.storage.output_folder"):
        OutputFolder(tmp_path / "out").save_tables(table, {}, force=False)


@pytest.mark.parametrize("name", ["notes.md", "model.npz.bak", ".env", ".notes.txt", ".summary.json"])
def test_foreign_files_are_never_deleted(run: RunFolder, results: Findings, name: str) -> None:
    (run.path / name).write_text("mine")
    before = run.summary
    with pytest.raises(FileExistsError, match=f"holds '{name}', which --force would delete"):
        run.save(results, force=True, report=False)
    assert (run.path / name).read_text() == "mine"
    assert run.summary == before


def test_a_file_that_came_during_the_work_is_spared(run: RunFolder) -> None:
    def write() -> None:
        with run.replaced(force=True) as draft:
            (draft / "new").write_text("")
            (run.path / "mine").write_text("")

    with pytest.raises(FileExistsError, match="holds 'mine'"):
        write()
    assert {"mine", "model.npz"} <= entries(run)
    assert [entry.name for entry in run.path.parent.iterdir()] == ["run"]


def test_tables_have_a_folder_that_can_be_replaced_as_well(tmp_path: Path) -> None:
    out = OutputFolder(tmp_path / "out")
    for value, force in ((1, False), (2, True)):
        out.save_tables({"folds": pd.DataFrame({"=n": [value]})}, {"best": value}, force=force)
    assert out.summary == {"best": 2, "files": ["summary.json", "folds.csv"]}
    assert entries(out) == set(out.files)
    assert (out.path / "folds.csv").read_text() == "'=n\n2\n"


# ---- damaged and crafted ----


def test_what_is_no_run_is_refused(tmp_path: Path, run: RunFolder) -> None:
    with pytest.raises(FileNotFoundError, match="absent: no such folder"):
        RunFolder.open(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match=r"holds no model\.npz"):
        RunFolder.open(tmp_path)
    with pytest.raises(ModelFileError, match="no latentbits model"):
        RunFolder.open(run.path / "summary.json").load_model()


@pytest.mark.parametrize("name", ["model.npz", "data.npz"])
def test_a_damaged_archive_is_refused(run: RunFolder, name: str) -> None:
    content = (run.path / name).read_bytes()
    (run.path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises((ModelFileError, DataError), match=rf"{name}.* damaged"):
        run.load_model() if name == "model.npz" else run.load_data()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff\xfe",
        b'{"files": 3, "data": 4, "shape": 5, "notes": 6}',
        b'{"notes": NaN}',
        b'{"notes": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"notes": ' + b"[" * 900 + b"]" * 900 + b"}",  # which Python reads, but can't write
    ],
    ids=lambda content: content[:12].decode("latin1"),
)
def test_a_damaged_summary_is_as_good_as_none(run: RunFolder, results: Findings, content: bytes) -> None:
    (run.path / "summary.json").write_bytes(content)
    assert (run.files, run.fit_record, run.file_name, run.reading, run.image_shape) == ([], {}, None, None, None)
    run.write_report(results, run.report_file)
    assert (run.path / "summary.json").read_bytes() == content, "a file that isn't ours is left alone"
    assert type(run.load_model()) is AspectBernoulli


def test_a_folder_of_an_earlier_version_has_no_record_of_reading(run: RunFolder) -> None:
    change_summary(run, data={"file": "sites.csv"})
    assert (run.file_name, run.reading) == ("sites.csv", None)
    (run.path / "data.npz").unlink()
    with pytest.raises(DataError, match=r"holds no data\.npz"):
        run.load_data()


@pytest.mark.parametrize(
    "crafted",
    [
        3,
        [["threshold", 1]],
        {"columns": "Sus"},
        {"columns": ["Sus", 3]},
        {"missing": {"a": 1}},
        {"threshold": "1"},
        {"threshold": True},
        {"threshold": float("inf")},
        {"header": 0},
        {"row_labels": True},
        {"row_labels": 2},
        {"encoding": None},
        {"path": "/etc/passwd"},
    ],
)
def test_a_record_of_reading_is_taken_as_a_whole_or_not_at_all(run: RunFolder, crafted: Any) -> None:
    change_summary(run, data={"reading": {"delimiter": ";", **crafted} if isinstance(crafted, dict) else crafted})
    assert run.reading is None


def test_parts_that_cannot_be_written_again_are_made_so(run: RunFolder) -> None:
    (run.path / "summary.json").write_text(json.dumps({"data": {"file": "\ud800.csv"}}))
    assert run.file_name == "?.csv"


@pytest.mark.parametrize("damage", ["", "n_components,aic\n1,inf\n", "aic\n3\n"])
def test_a_damaged_selection_is_refused(run: RunFolder, damage: str) -> None:
    table = pd.DataFrame({"n_components": [1, 2], "aic": [20.5, np.nan], "converged": [True, False]})
    table.to_csv(run.path / "selection.csv", index=False)
    pd.testing.assert_frame_equal(run.selection, table)
    (run.path / "selection.csv").write_text(damage)
    with pytest.raises(DataError, match=r"selection\.csv is damaged"):
        _ = run.selection
