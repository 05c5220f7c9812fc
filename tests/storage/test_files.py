"""Files and folders that are there as a whole or not at all, and JSON that any program can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import read_table
from latentbits.storage import files
from latentbits.storage.files import (
    atomic_file,
    atomic_folder,
    escape_formula,
    parse_json,
    restore_label,
    to_json,
    write_csv,
    write_json,
)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_is_replaced_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with atomic_file(target) as draft:
        draft.write_text("new")
        assert target.read_text() == "old"
    assert (target.read_text(), names(tmp_path)) == ("new", ["a.txt"])


@pytest.mark.parametrize("earlier", [False, True])
def test_a_failure_leaves_file_and_folder_as_they_were(tmp_path: Path, earlier: bool) -> None:
    file, folder = tmp_path / "a.txt", tmp_path / "b"
    if earlier:
        file.write_text("old")
        folder.mkdir()
        (folder / "old").write_text("")

    def write(file: Path, folder: Path) -> None:
        with atomic_file(file) as draft:
            draft.write_text("new")
            with atomic_folder(folder) as inner:
                (inner / "new").write_text("")
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(file, folder)
    assert names(tmp_path) == (["a.txt", "b"] if earlier else [])
    if earlier:
        assert (file.read_text(), names(folder)) == ("old", ["old"])


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with atomic_folder(tmp_path / "deep" / "b") as draft:
            (draft / name).write_text("")
    assert names(tmp_path / "deep" / "b") == ["second"]
    assert names(tmp_path / "deep") == ["b"]


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_folder(tmp_path / "link") as draft:
        (draft / "new").write_text("")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == ["new"]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int64(3), 3),
        (np.uint8(200), 200),
        (np.float64(0.1), 0.1),
        (np.float32(0.5), 0.5),
        (np.longdouble(0.25), 0.25),
        (np.bool_(True), True),
        (np.str_("é"), "é"),
    ],
)
def test_numpy_scalars_are_plain_in_json(value: Any, plain: Any) -> None:
    for content, expected in (({"a": [value]}, {"a": [plain]}), ([{"a": value}, value], [{"a": plain}, plain])):
        found = json.loads(to_json(content))
        assert found == expected
        assert str(found) == str(expected), "True, not 1"


@pytest.mark.parametrize("value", [float("nan"), np.float64("nan"), np.float32("nan"), np.float32("inf")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"a": value})


@pytest.mark.parametrize("value", [np.arange(3), np.datetime64("2020-01-01"), 1j, object()])
def test_what_json_does_not_know_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=f"{type(value).__name__} has no place in JSON"):
        to_json({"a": value})


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    write_json({"name": "é\udcff\\"}, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"name": "é\udcff\\"}


# ---- folders that others have made, and the moment of exchange -------------------------------------------------------


def test_a_folder_that_came_in_the_meantime_stays(tmp_path: Path) -> None:
    def write_beside_others() -> None:
        with atomic_folder(tmp_path / "b", replace=False) as draft:
            (draft / "ours").write_text("")
            (tmp_path / "b").mkdir()
            (tmp_path / "b" / "theirs").write_text("")

    with pytest.raises(FileExistsError, match="b was made by somebody else in the meantime"):
        write_beside_others()
    assert names(tmp_path / "b") == ["theirs"]
    assert names(tmp_path) == ["b"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_earlier_folder_is_never_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool) -> None:
    """At every renaming, one of both is in place; where the system can't exchange, at all but the second."""
    if not can_exchange:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "old").write_text("")
    seen = []
    rename = Path.rename

    def watched(self: Path, target: Path) -> Path:
        seen.append((tmp_path / "b").exists())
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", watched)
    with atomic_folder(tmp_path / "b") as draft:
        (draft / "new").write_text("")
    assert seen == ([True] if can_exchange else [True, True, False])
    assert names(tmp_path / "b") == ["new"]
    assert names(tmp_path) == ["b"]


# ---- formulas --------------------------------------------------------------------------------------------------------

LABELS = [
    "=1+1",
    "'=1+1",
    "''=1+1",
    "+a",
    "-2+3",
    "-0.5",
    "@SUM(A1)",
    "\tx",
    "Equus",
    "'quoted'",
    "'",
    "\uff1dA1",
    "a=b",
    "x;=cmd()",
    "x; 'y;'=cmd()",
    "\ufeff\ufeff=1",
    "\u200b=1",
]


def test_formulas_come_back_as_they_were() -> None:
    written = [str(escape_formula(label)) for label in LABELS]
    assert len(set(written)) == len(LABELS)
    assert [restore_label(label) for label in written] == LABELS
    starts = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d")
    cells = [cell.lstrip("\ufeff\u200b") for label in written for cell in label.split(";")]
    assert [cell for cell in cells if cell.startswith(starts)] == ["-0.5"], "a number is no formula"


def test_a_table_of_formulas_survives_our_own_reader(tmp_path: Path) -> None:
    labels = [label.strip() for label in LABELS]  # blanks around names don't survive any reader
    cells = np.random.default_rng(0).integers(0, 2, (len(labels), len(labels)))
    write_csv(pd.DataFrame(cells, columns=labels).assign(site=labels), tmp_path / "t.csv")
    data = read_table(tmp_path / "t.csv", row_labels="site")
    assert data.column_names == data.row_names == labels
    np.testing.assert_array_equal(data.dense(), cells)


# ---- JSON from elsewhere ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["{", "NaN", "[-Infinity]", "[" * 100_000, "[" * 40 + "]" * 40, '{"a":' * 40 + "1" + "}" * 40]
)
def test_json_that_is_none_or_nested_beyond_use_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_json_as_it_is_written_can_be_read() -> None:
    content = {"a": [{"b": [[1.5, None, "é"]]}], "c": True}
    assert parse_json(to_json(content)) == content
    assert parse_json("3") == 3
