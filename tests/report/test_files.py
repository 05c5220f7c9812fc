"""Files that leave the page say what Python says, and ratings come back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from latentbits import read_table
from latentbits.cli.main import program
from latentbits.data.binary_data import BinaryData
from latentbits.findings.account import components_checksum, data_table
from latentbits.storage.persistence import save_model

from .conftest import HOSTILE, RATINGS, Fitted, Open, array, playwright, rate, saved, suspicion

expect = playwright.expect

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")


def positions(names: pd.Series, known: list[str]) -> list[int]:
    """Where the names of a file stand in the data; those that look like formulas have an apostrophe in front."""
    return [known.index(name[1:] if name.startswith(("'=", "'-")) else name) for name in names]


def test_denoised(open_page: Open, white: Fitted) -> None:
    model, data = white.model, white.data
    page = open_page(white.file)
    rate(page, RATINGS)
    found = pd.read_csv(io.StringIO(saved(page, "denoised.csv")), dtype={0: str})
    np.testing.assert_array_equal(found.iloc[:, 1:], model.denoise(data, ratings=RATINGS))
    assert found.columns[0] == "row"
    for shown, name in zip([*found.columns[1:], *found["row"]], data.column_names + data.row_names, strict=True):
        assert shown == (f"'{name}" if name[0] in "=-" else name)


def test_denoised_survives_our_own_reader(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    """No field begins a formula, and reading gives the names of the data back."""
    text = saved(open_page(white.file), "denoised.csv")
    fields = [field for line in csv.reader(io.StringIO(text, newline="")) for field in line]
    assert not [field for field in fields if field.startswith(("=", "+", "-", "@", "\t", "\r"))]
    (tmp_path / "denoised.csv").write_text(text, encoding="utf-8", newline="")
    found = read_table(tmp_path / "denoised.csv", row_labels="row")
    assert found.column_names == white.data.column_names
    assert found.row_names == white.data.row_names


@pytest.mark.parametrize("fitted", ["white", "beta", "black"], indirect=True)
def test_suspects(open_page: Open, fitted: Fitted) -> None:
    """Ones are in the file whenever they may change."""
    page = open_page(fitted.file)
    rate(page, RATINGS)
    for change in ("auto", "absence", "both"):
        page.locator("#change").select_option(change)
        found = pd.read_csv(io.StringIO(saved(page, "suspects.csv")))
        assert found.columns.tolist() == ["row", "column", "kind", "score", "phantom", "all_restarts"]
        ones_too = change == "both" or (change == "auto" and "black" in fitted.model.phantoms_)
        assert found["kind"].unique().tolist() == ["absence", "presence"][: 1 + ones_too]
        for kind, part in found.groupby("kind"):
            assert_suspects_are_pythons(part, fitted, str(kind))


def assert_suspects_are_pythons(found: pd.DataFrame, fitted: Fitted, kind: str) -> None:
    """In which order cells with equal scores come is open."""
    model, data = fitted.model, fitted.data
    expected = model.suspects(data, kind=kind, ratings=RATINGS, top=None)
    np.testing.assert_allclose(found["score"], expected["score"].head(1000), atol=1e-9)
    at = positions(found["row"], data.row_names), positions(found["column"], data.column_names)
    assert len(set(zip(*at, strict=True))) == len(found)
    assert (fitted.cells[at] == (kind == "presence")).all()
    np.testing.assert_allclose(found["score"], suspicion(model, data, RATINGS)[at], atol=1e-9)
    np.testing.assert_allclose(found["all_restarts"], suspicion(model, data)[at], atol=0.005 + 1e-9)
    names = [(data.row_names[i], data.column_names[j]) for i, j in zip(*at, strict=True)]
    phantom = expected.set_index(["row", "column"])["phantom"]
    np.testing.assert_allclose(found["phantom"], phantom.loc[names], atol=1e-9)


def cleaned_by_command_line(model: Any, data: BinaryData, folder: Path) -> str:
    """What `latentbits denoise` writes, given the ratings.json of the folder."""
    save_model(model, folder / "model.npz")
    cells = data_table(np.where(data.dense() == -1, "", data.dense().astype(str)), data)
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as target:
        cells.to_csv(target, index=False)
    arguments = ["denoise", folder / "model.npz", folder / "data.csv", "--ratings", folder / "ratings.json"]
    result = CliRunner().invoke(program, [*map(str, arguments), "--out", str(folder / "clean.csv")])
    assert result.exit_code == 0, result.output
    return (folder / "clean.csv").read_text(encoding="utf-8")


def test_ratings_give_the_same_numbers_on_the_command_line(open_page: Open, fitted: Fitted, tmp_path: Path) -> None:
    page = open_page(fitted.file)
    rate(page, RATINGS)
    page.locator("#threshold").fill("0.4")
    page.locator("#change").select_option("both")
    page.get_by_label("Name of component 3").fill("<b>Savanna</b>")
    (tmp_path / "ratings.json").write_text(saved(page, "ratings.json"), encoding="utf-8")
    kept = json.loads((tmp_path / "ratings.json").read_text())
    assert kept["ratings"] == RATINGS
    assert kept["names"] == ["", "", "<b>Savanna</b>", ""]
    assert (kept["threshold"], kept["change"]) == (0.4, "both")
    assert kept["components"] == components_checksum(fitted.model)
    assert cleaned_by_command_line(fitted.model, fitted.data, tmp_path) == saved(page, "denoised.csv")


def test_ratings_can_be_loaded_again(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    page = open_page(white.file)
    rate(page, RATINGS)
    page.get_by_label("Name of component 2").fill("steppe")
    page.locator("#threshold").fill("0.4")
    page.locator("#change").select_option("both")
    text = saved(page, "ratings.json")
    clean = array(page, "clean")
    page.get_by_role("button", name="Reset").click()
    assert page.evaluate("latentbits.rated.ratings") == white.ratings
    for content, message in (
        ("no json", "it is not JSON"),
        ('{"format": "other"}', "that a report has saved"),
        (text.replace("0.7", "7"), "not for this model"),
        (text.replace('"components": "', '"components": "0'), "of the components of another fit"),
    ):
        (tmp_path / "ratings.json").write_text(content, encoding="utf-8")
        page.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
        page.locator("#message", has_text=message).wait_for()
        assert page.evaluate("latentbits.rated.ratings") == white.ratings
    (tmp_path / "ratings.json").write_text(text, encoding="utf-8")
    page.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
    expect(page.get_by_label("Name of component 2")).to_have_value("steppe")
    assert page.evaluate("latentbits.rated.ratings") == RATINGS
    assert page.get_by_label("Rating of component 2").input_value() == "0.2"
    assert [page.locator(f"#{control}").input_value() for control in ("change", "threshold")] == ["both", "0.4"]
    np.testing.assert_array_equal(array(page, "clean"), clean)


def test_ratings_are_of_components_not_of_data(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    """Ratings of a report on some rows serve in the report of the same model on others."""
    page = open_page(white.file)
    rate(page, RATINGS)
    (tmp_path / "ratings.json").write_text(saved(page, "ratings.json"), encoding="utf-8")
    some = white.data.rows(np.arange(len(HOSTILE), 40))
    white.model.report(some, tmp_path / "r.html")
    other = open_page(tmp_path / "r.html")
    other.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
    expect(other.get_by_label("Rating of component 2")).to_have_value("0.2")
    np.testing.assert_array_equal(array(other, "clean"), white.model.denoise(some, ratings=RATINGS))
