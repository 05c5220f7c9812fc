"""`--ratings`: numbers, or the file that was saved in a report, for `denoise`, `suspects` and `report`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import latentbits.report
from latentbits import read_table
from latentbits.findings.account import components_checksum
from latentbits.storage.persistence import load_model

from .conftest import FAST, NONE_SUSPECTED, READ_AS_FITTED, Run, assert_refused

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")

RATINGS = [1.0, 0.2, 0.6]


@pytest.fixture
def saved(tmp_path: Path, fitted: Path) -> dict[str, Any]:
    """What the page saves."""
    return {
        "format": "latentbits-ratings",
        "version": 1,
        "model": "aspect-bernoulli",
        "components": components_checksum(load_model(fitted / "model.npz")),
        "threshold": 0.3,
        "change": "both",
        "ratings": RATINGS,
        "names": ["", "blank", "=cmd()"],
    }


def write(document: Any, folder: Path) -> Path:
    file = folder / "ratings.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_denoise_follows_the_file(run: Run, fitted: Path, table: Path, tmp_path: Path, saved: dict[str, Any]) -> None:
    file = write(saved, tmp_path)
    model, data = load_model(fitted / "model.npz"), read_table(table)

    def denoised(*asked: object) -> pd.DataFrame:
        result = run("denoise", fitted, table, "--ratings", file, *asked)
        assert result.exit_code == 0, result.output
        return pd.read_csv(io.StringIO(result.stdout)).iloc[:, 1:]

    for asked, expected in [
        ([], {"threshold": 0.3, "change": "both"}),
        (["--threshold-probability", 0.5], {"threshold": 0.5, "change": "both"}),
        (["--change", "auto"], {"threshold": 0.3, "change": "auto"}),
    ]:
        assert_array_equal(denoised(*asked), model.denoise(data, ratings=RATINGS, **expected))
    assert not (denoised() == denoised("--change", "auto")).all(axis=None), "otherwise nothing was shown"


def test_numbers_and_file_are_the_same_to_suspects(
    run: Run, fitted: Path, table: Path, tmp_path: Path, saved: dict[str, Any]
) -> None:
    by_file = run("suspects", fitted, table, "--ratings", write(saved, tmp_path))
    assert by_file.exit_code == 0, by_file.output
    assert by_file.stdout == run("suspects", fitted, table, "--ratings", "1,0.2,0.6").stdout
    expected = load_model(fitted / "model.npz").suspects(read_table(table), ratings=RATINGS)
    assert_allclose(pd.read_csv(io.StringIO(by_file.stdout))["score"], expected["score"], rtol=1e-8)


def test_the_report_takes_the_file_up_again(
    run: Run, fitted: Path, tmp_path: Path, saved: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def note(results: Any, path: Path, **more: Any) -> None:
        path.write_text("page")
        seen.append(more["ratings"])

    monkeypatch.setattr(latentbits.report, "write_report", note)
    for ratings in (write(saved, tmp_path), "1,0,1"):
        assert run("report", fitted, "--ratings", ratings, "--out", tmp_path / "p.html", "--force").exit_code == 0
    assert seen == [saved, {"ratings": [1, 0, 1]}]


def test_what_is_not_given_has_its_default(run: Run, fitted: Path, table: Path, tmp_path: Path) -> None:
    file = write({"format": "latentbits-ratings", "version": 1, "ratings": [1, 0, 1]}, tmp_path)
    by_file = run("denoise", fitted, table, "--ratings", file)
    assert by_file.exit_code == 0, by_file.output
    assert by_file.stdout == run("denoise", fitted, table, "--ratings", "1,0,1").stdout


def test_ratings_of_another_fit_are_refused(
    run: Run, fitted: Path, table: Path, tmp_path: Path, saved: dict[str, Any]
) -> None:
    same = run("suspects", fitted, table, "--ratings", write(saved, tmp_path))
    assert same.stderr == READ_AS_FITTED + NONE_SUSPECTED
    assert run("fit", table, *FAST, "--seed", 1, "--out", tmp_path / "other").exit_code == 0
    for command in (["suspects", "other", table], ["denoise", "other", table], ["report", "other"]):
        command[1] = tmp_path / "other"
        refused = run(*command, "--ratings", tmp_path / "ratings.json")
        assert_refused(refused, "ratings.json: these ratings are of the components of another fit")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "ratings.json: this is no file of ratings"),
        ({"version": 2}, 'ratings.json: this is version "2" of such files, and only 1 is known'),
        ({"model": "beta-ica"}, 'these are ratings of "beta-ica", but the fitted model is aspect-bernoulli'),
        ({"ratings": [1, 0]}, '"names" must be 2 texts'),
        ({"ratings": [1, 0], "names": ["", ""]}, "ratings.json: ratings must be 3 numbers from 0 to 1"),
        ({"ratings": [0, 0, 0]}, "ratings.json: all ratings are 0"),
        ({"ratings": [1, 0, 1.5]}, "ratings.json: ratings must be numbers from 0 to 1"),
        ({"ratings": [1, 0, float("nan")]}, "ratings.json: this is no JSON"),
        ({"ratings": [1, 0, True]}, "ratings must be numbers from 0 to 1"),
        ({"ratings": "1,0,1"}, "ratings must be numbers from 0 to 1"),
        ({"ratings": []}, "ratings must be numbers from 0 to 1"),
        ({"names": ["", 3, ""]}, '"names" must be 3 texts'),
        ({"threshold": 2}, '"threshold" must be a number from 0 to 1'),
        ({"change": ["both"]}, '"change" must be one of auto, both'),
    ],
)
@pytest.mark.parametrize("command", ["denoise", "suspects"])
def test_files_that_are_refused(
    run: Run,
    fitted: Path,
    table: Path,
    tmp_path: Path,
    saved: dict[str, Any],
    command: str,
    change: dict[str, Any],
    message: str,
) -> None:
    assert_refused(run(command, fitted, table, "--ratings", write({**saved, **change}, tmp_path)), message)


@pytest.mark.parametrize(("content", "message"), [(b"{", "no JSON"), (b"\xff\xfe", "no JSON"), (b"[1]", "no file of")])
def test_other_files_are_refused(
    run: Run, fitted: Path, table: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "r.json").write_bytes(content)
    assert_refused(run("denoise", fitted, table, "--ratings", tmp_path / "r.json"), f"r.json: this is {message}")


@pytest.mark.parametrize(
    ("numbers", "message", "code"),
    [
        ("1,0", "ratings must be 3 numbers from 0 to 1", 1),
        ("0,0,0", "all ratings are 0", 1),
        ("1,0,-1", "from 0 to 1", 1),
        ("1,0,nan", "from 0 to 1", 1),
        ("one", "give numbers with commas between them", 2),
        ("absent.json", '"absent.json": no such file', 2),
    ],
)
def test_numbers_that_are_refused(run: Run, fitted: Path, table: Path, numbers: str, message: str, code: int) -> None:
    assert_refused(run("denoise", fitted, table, "--ratings", numbers), message, code=code)
