"""`latentbits fit --out`: the folder is there as a whole or not at all, and replaces only an earlier one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from latentbits.storage import run_folder

from .conftest import FAST, FILES, Run, assert_refused, summary_of

pytestmark = pytest.mark.usefixtures("without_plots")


def test_an_existing_folder_is_refused_before_any_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    result = run("fit", tmp_path / "absent.csv", "--components", 2, "--out", tmp_path / "run")
    assert_refused(result, "run exists already; choose another --out, or use --force")


def test_force_replaces_an_earlier_output(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("fit", table, *FAST, "--out", out).exit_code == 0
    (out / "weights.csv").unlink()
    assert run("fit", table, *FAST, "--seed", 1, "--out", out, "--force").exit_code == 0
    assert {entry.name for entry in out.iterdir()} == FILES
    assert summary_of(out)["seed"] == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_force_fills_an_empty_folder(run: Run, table: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert run("fit", table, *FAST, "--out", tmp_path / "run", "--force").exit_code == 0
    assert {entry.name for entry in (tmp_path / "run").iterdir()} == FILES


@pytest.mark.parametrize(
    ("present", "message"),
    [
        ({"thesis.tex": "mine"}, "is not an earlier output: it holds 'thesis.tex', which --force would delete"),
        ({".env": "mine", "a": ""}, "is not an earlier output: it holds '.env', 'a', which --force would delete"),
        (
            {"model.npz": "ours", "summary.json": '{"files": ["model.npz", "summary.json", ".env"]}', ".env": "mine"},
            "holds '.env', which --force would delete",
        ),
        (
            {"model.npz": "ours", "summary.json": '{"files": ["model.npz", "summary.json"]}', "notes.md": "mine"},
            "holds 'notes.md', which --force would delete",
        ),
        ({"model.npz": "mine"}, "is not an earlier output"),
        ({"summary.json": "[no summary of ours]"}, "is not an earlier output"),
    ],
)
def test_force_spares_what_is_not_ours(
    run: Run, table: Path, tmp_path: Path, present: dict[str, str], message: str
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    for name, content in present.items():
        (out / name).write_text(content)
    assert_refused(run("fit", table, *FAST, "--out", out, "--force"), message)
    assert sorted(entry.name for entry in out.iterdir()) == sorted(present)


def test_force_spares_a_file(run: Run, table: Path, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    assert_refused(run("fit", table, *FAST, "--out", tmp_path / "run", "--force"), "is a file, not a folder")
    assert (tmp_path / "run").read_text() == "mine"


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), RuntimeError("a bug")])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_failure_half_way_leaves_nothing_new(
    run: Run,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    earlier: bool,
) -> None:
    out = tmp_path / "deep" / "run"
    if earlier:
        assert run("fit", table, *FAST, "--out", out).exit_code == 0
    written: list[Path] = []

    def fail(_: Any, plots: Path, *formats: Any) -> None:
        written.extend(plots.parent.iterdir())
        raise error

    monkeypatch.setattr(run_folder, "write_plots", fail)
    result = run("fit", table, *FAST, "--seed", 1, "--out", out, "--force")
    assert len(written) == 7, "the failure should come half way"
    assert result.exit_code == {OSError: 1, KeyboardInterrupt: 130, RuntimeError: 1}[type(error)]
    assert [entry.name for entry in out.parent.iterdir()] == (["run"] if earlier else [])
    if earlier:
        assert summary_of(out)["seed"] == 0
        assert {entry.name for entry in out.iterdir()} == FILES


def test_the_earlier_folder_comes_back_if_the_last_rename_fails(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    assert run("fit", table, *FAST, "--out", out).exit_code == 0
    rename = Path.rename
    calls: list[str] = []

    def last_fails(self: Path, target: Path) -> Path:
        calls.append(self.name)
        if len(calls) == 3:
            raise OSError("no more renames")
        return rename(self, target)

    monkeypatch.setattr("latentbits.storage.files._exchange", lambda one, other: False)  # a system without it
    monkeypatch.setattr(Path, "rename", last_fails)
    assert_refused(run("fit", table, *FAST, "--seed", 1, "--out", out, "--force"), "no more renames")
    assert summary_of(out)["seed"] == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_force_spares_a_repository(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("fit", table, *FAST, "--out", out).exit_code == 0
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref: refs/heads/main")
    result = run("fit", table, *FAST, "--seed", 1, "--out", out, "--force")
    assert_refused(result, "holds '.git', which --force would delete; move it away, or choose another --out")
    assert (out / ".git" / "HEAD").read_text() == "ref: refs/heads/main"
    assert summary_of(out)["seed"] == 0
