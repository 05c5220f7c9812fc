"""Tables that leave nothing to be learned, through Python and the command line: a sentence, and finite numbers."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from latentbits import DataError, DegenerateDataWarning, compare, select_order
from latentbits.models.abilities import Ability
from latentbits.models.registry import MODELS, TABLE_MODELS, model_class
from latentbits.storage import run_folder
from tests.cli.conftest import invoke, without_progress
from tests.models.strange import some

NAN = np.nan
SOME = some(30, 8)

TABLES: dict[str, tuple[np.ndarray, int, str]] = {
    "all zeros": (np.zeros((12, 6)), 2, "all 72 observed cells are 0, so there is nothing to learn; check how"),
    "all ones": (np.ones((12, 6)), 2, "all 72 observed cells are 1, so there is nothing to learn; check how"),
    "one row": (SOME[:1], 2, "the table has one row, so nothing tells which columns go together; give more rows"),
    "one column": (SOME[:, :1], 2, "only .*column .* has both a 0 and a 1, so no columns can go together; give"),
    "one cell": (np.ones((1, 1)), 2, "the only observed cell is 1, so there is nothing to learn; check"),
    "K above rows": (SOME[:4], 6, r"n_components=6 \(--components\) is more than the 4 rows, so .*; use at most 4"),
    "K above columns": (SOME[:, :3], 6, "n_components=6 .* is more than the 3 columns that have both .* use at most 3"),
    "equal rows": (
        np.repeat(SOME[:1], 12, axis=0),
        2,
        "all rows are alike: .* so there is nothing to learn; give rows",
    ),
    "one varies": (np.hstack([SOME[:, :1], np.ones((30, 3))]), 2, "only .* has both a 0 and a 1, so no columns can"),
    "one seen": (np.where(np.eye(5, 4, k=3), 1.0, NAN), 2, "the only observed cell is 1, so there is nothing"),
}
"""Cells, number of components, and what is said; a model without components has nothing to say about their number."""

FINE: dict[str, tuple[np.ndarray, int]] = {
    "ordinary": (SOME, 3),
    "as many components as rows": (SOME[:4], 4),
    "constant columns": (np.hstack([SOME, np.zeros((30, 2)), np.ones((30, 1))]), 3),
    "missing row and column": (np.pad(SOME, 1, constant_values=NAN), 3),
}
BINARY_MODELS = (*TABLE_MODELS, "binary-ica")
each_model = pytest.mark.parametrize("model", BINARY_MODELS)
each_table = pytest.mark.parametrize("name", TABLES)
pytestmark = pytest.mark.usefixtures("without_plots")
REFUSED_BY_BINARY_ICA = ("one column", "one cell", "K above columns")
"""It needs two columns, and at most as many sources as columns."""

OWN = (
    r"no segments are given"
    r"|the rows vary in \d+ directions? only|constant columns|columns that are|mixing_ may be|.*too few for"
    r"|n_components is not given|no phantom was found|by the verdict on the fit: |.*no weight on any kept component"
    r"|cells are too few to judge by|what looks like noise predicts"
    r"|the chains disagree|.* fits have chains that disagree"
)
"""What models say about themselves beside that."""


@pytest.fixture
def without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "write_plots", lambda _, plots, *__: plots.mkdir())


def speaks(model: str, name: str) -> bool:
    return not (name.startswith("K above") and not MODELS[model].has_components)


def make(model: str, K: int) -> Any:
    spec = MODELS[model]
    components = {"n_components": K} if spec.has_components else {}
    return model_class(model)(**components, **({"n_init": 2, "random_state": 0} if spec.has_restarts else {}))


def assert_finite(values: Any) -> None:
    if isinstance(values, pd.DataFrame):
        values = values.select_dtypes("number").to_numpy(dtype=float)
    assert np.isfinite(np.asarray(values, dtype=float)).all()


# ---- Python ----


@each_model
@each_table
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_python_warns_in_a_sentence_and_answers_in_finite_numbers(model: str, name: str) -> None:
    cells, K, sentence = TABLES[name]
    if model == "binary-ica" and name in REFUSED_BY_BINARY_ICA:
        with pytest.raises(DataError, match=r"give more columns|use at most"):
            make(model, K).fit(cells)
        return
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        fitted = make(model, K).fit(cells)
    said = [str(warning.message) for warning in given if warning.category is DegenerateDataWarning]
    assert len(said) == int(speaks(model, name))
    assert all(pd.Series(said).str.match(sentence))
    for text in said:
        assert "\n" not in text
    assert given[0].filename == __file__ if said else True
    for value in vars(fitted).values():
        if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
            assert_finite(value)
    for question in ("transform", "reconstruct", "score_samples", "aic", "bic", "suspects", "denoise", "suspicion"):
        if hasattr(fitted, question):
            assert_finite(getattr(fitted, question)(cells))


@each_model
@pytest.mark.parametrize("name", FINE)
@pytest.mark.filterwarnings(
    "ignore:.*too few for", "ignore:(constant columns|columns that are)", "ignore:the rows vary in"
)
@pytest.mark.filterwarnings(
    "ignore:mixing_ may be", "ignore:almost copies of each other", "ignore:no segments are given"
)
def test_other_tables_are_not_warned_about(model: str, name: str) -> None:
    cells, K = FINE[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DegenerateDataWarning)
        make(model, K).fit(cells)


@each_model
def test_a_table_without_an_observed_cell_is_refused(model: str) -> None:
    with pytest.raises(DataError, match="all 6 x 4 cells are missing; give a table with a 0 or a 1"):
        make(model, 2).fit(np.full((6, 4), NAN))


def test_choosing_a_number_warns_once_of_the_largest() -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        select_order(make("bernoulli-mixture", 2), SOME[:6], [2, 7, 8], criterion=["aic", "cells"], n_folds=3)
    said = [str(w.message) for w in given if not issubclass(w.category, ConvergenceWarning)]
    assert len(said) == 1
    assert said[0].startswith("n_components=8 (--components) is more than the 6 rows")


@pytest.mark.parametrize(
    ("cells", "criterion", "message"),
    [
        (np.where(np.eye(5, 4), 1.0, NAN), "cells", r"n_folds=10 \(--folds\) leaves a fold without an observed cell"),
        (
            np.where(np.eye(5, 4), 1.0, NAN),
            "cells",
            "the table has 4 observed cells; use fewer folds, or give more data",
        ),
        (np.vstack([SOME[:2], np.full((10, 8), NAN)]), "cv", "without an observed cell among its held-out rows"),
        (SOME[:1], "cv", r'one row can\'t be held out \("cv"\); give more rows, or use another criterion'),
        (SOME[:4], "cv", r"n_folds=10 \(--folds\) must be at most the number of rows, 4"),
    ],
)
def test_folds_without_a_cell_are_refused_before_any_fit(cells: np.ndarray, criterion: str, message: str) -> None:
    models = [make("bernoulli-mixture", 1), make("independent", 1)]
    with pytest.MonkeyPatch.context() as patch:
        for model in models:
            patch.setattr(type(model), "fit", lambda *_: pytest.fail("fitted"))
        with pytest.raises(DataError, match=message):
            select_order(models[0], cells, 2, criterion=criterion)
        with pytest.raises(DataError, match=message):
            compare(models, cells, criterion=criterion)


# ---- the command line ----


def write(path: Path, cells: np.ndarray) -> Path:
    pd.DataFrame(cells).astype("Int8").add_prefix("s").to_csv(path, index=False)
    return path


def assert_sentences(stderr: str, sentence: str | None) -> None:
    """One line each, what is degenerate exactly once, and nothing but what models say about themselves beside it."""
    lines = without_progress(stderr).splitlines()
    assert all(line.startswith("note: ") for line in lines)
    notes = pd.Series([line.removeprefix("note: ") for line in lines], dtype=object)
    about = notes.str.match(sentence) if sentence else notes.str.len() < 0
    assert about.sum() == int(sentence is not None), stderr
    assert notes[~about].str.match(OWN).all(), stderr


def assert_folder_is_finite(folder: Path) -> None:
    for file in folder.glob("*.csv"):
        assert_finite(pd.read_csv(file).drop(columns=["stability"], errors="ignore"))
    numbers_in(json.loads((folder / "summary.json").read_text(encoding="utf-8"), parse_constant=pytest.fail))


def numbers_in(content: Any) -> None:
    """Refuse floats with needless digits: 12 are all that JSON gets."""
    if isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            numbers_in(part)
    elif isinstance(content, float):
        assert len(repr(content).replace("-", "").replace(".", "").partition("e")[0].lstrip("0")) <= 12, content


@each_model
@each_table
def test_fit_of_the_command_line(model: str, name: str, tmp_path: Path) -> None:
    cells, K, sentence = TABLES[name]
    components = ["--components", K] if MODELS[model].has_components else []
    restarts = ["--restarts", 2] if MODELS[model].has_restarts else []
    file = write(tmp_path / "t.csv", cells)
    result = invoke("fit", file, "--model", model, *components, *restarts, "--no-report", "--out", tmp_path / "run")
    if model == "binary-ica" and name in REFUSED_BY_BINARY_ICA:
        assert result.exit_code == 1
        assert "error: " in result.stderr
        return
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert_sentences(result.stderr, sentence if speaks(model, name) else None)
    assert_folder_is_finite(tmp_path / "run")
    assert " 1 rows" not in result.stdout
    assert " 1 columns" not in result.stdout


@each_table
def test_answers_of_the_command_line(name: str, tmp_path: Path) -> None:
    cells, K, _ = TABLES[name]
    file = write(tmp_path / "t.csv", cells)
    asked = ["--components", K, "--restarts", 2, "--no-report", "--out", tmp_path / "run"]
    assert invoke("fit", file, *asked).exit_code == 0
    for command in (["suspects"], ["suspects", "--kind", "presence"], ["denoise"], ["explain", "--row", 1]):
        result = invoke(command[0], tmp_path / "run", file, *command[1:])
        assert result.exit_code == 0, result.output + repr(result.exception)
        assert_sentences(result.stderr, None)
        table = pd.read_csv(io.StringIO(result.stdout))
        assert_finite(table.drop(columns="value", errors="ignore"))


@each_table
@pytest.mark.parametrize("model", [name for name in TABLE_MODELS if MODELS[name].has_components])
def test_select_of_the_command_line(model: str, name: str, tmp_path: Path) -> None:
    cells, _, sentence = TABLES[name]
    file = write(tmp_path / "t.csv", cells)
    asked = ["--model", model, "--components", "2,6", "--restarts", 2, "--folds", 2, "--json"]
    result = invoke("select", file, *asked)
    if name in ("one cell", "one seen"):
        assert (result.exit_code, result.stdout) == (1, "")
        assert "(--folds) leaves a fold without an observed cell" in result.stderr.splitlines()[-1]
        return
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert_sentences(result.stderr, sentence)
    numbers_in(json.loads(result.stdout, parse_constant=pytest.fail))


@each_table
@pytest.mark.parametrize("criterion", ["cells,cv", "cells"])
def test_compare_of_the_command_line(name: str, criterion: str, tmp_path: Path) -> None:
    cells, K, sentence = TABLES[name]
    file = write(tmp_path / "t.csv", cells)
    models = [model for model in TABLE_MODELS if Ability.ROW_WEIGHTS in MODELS[model].abilities or criterion == "cells"]
    asked = ["--components", K, "--restarts", 2, "--folds", 2, "--models", ",".join(models), "--json"]
    result = invoke("compare", file, *asked, "--criterion", criterion)
    if name in ("one cell", "one seen") or (name == "one row" and "cv" in criterion):
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.splitlines()[-1].startswith("error: ")
        return
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert_sentences(result.stderr, sentence)
    numbers_in(json.loads(result.stdout, parse_constant=pytest.fail))


@pytest.mark.parametrize("words", [["fit", "--out", "run"], ["select"], ["compare"]], ids=lambda words: words[0])
def test_a_file_without_an_observed_cell_is_refused(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\nNA,NA\nNA,NA\n")
    options = [tmp_path / "run" if word == "run" else word for word in words[1:]]
    result = invoke(words[0], tmp_path / "t.csv", "--components", 2, "--restarts", 1, *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cells are missing; give a table with a 0 or a 1" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_constant_columns_are_counted_in_the_answer(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", FINE["constant columns"][0])
    result = invoke("fit", file, "--components", 2, "--restarts", 2, "--no-report", "--out", tmp_path / "run")
    assert "30 rows x 11 columns" in result.stdout
    assert "3 constant columns" in result.stdout
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["data"]["constant_columns"] == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--model", "binary-factors", "--components", 30, "--inference", "em"], 1, "n_components=30 is too many"),
        (["--model", "binary-factors", "--components", 30, "--encoder", "enum"], 1, 'for encoder="enum"'),
        (["--components", 0], 2, "begins below 1"),
        (["--components", 2, "--tol", "nan"], 2, "not a finite number"),
        (["--components", 2, "--tol", -1], 2, "is not in the range x>=0."),
        (["--model", "logistic-pca", "--components", 2, "--ridge", 0], 2, "is not in the range x>=0.001."),
        (["--components", 2, "--restarts", 0], 2, "is not in the range x>=1."),
    ],
)
def test_parameters_that_no_model_takes_are_no_traceback(
    words: list[object], code: int, message: str, tmp_path: Path
) -> None:
    result = invoke("fit", write(tmp_path / "t.csv", SOME), *words, "--out", tmp_path / "run")
    assert result.exit_code == code, result.output + repr(result.exception)
    assert message in result.stderr
    assert isinstance(result.exception, SystemExit)


def test_a_criterion_that_the_inference_lacks_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", SOME)
    asked = ["--model", "beta-ica", "--inference", "em", "--components", 2, "--criterion", "evidence"]
    result = invoke("select", file, *asked, "--restarts", 1)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-1].startswith("error: ")


def test_too_little_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 29.1 TiB")

    monkeypatch.setattr("latentbits.simulate.zero_one_tables.aspect_bernoulli", too_large)
    result = invoke("simulate")
    assert (result.exit_code, result.stdout) == (1, "")
    assert (
        result.stderr
        == "error: the memory is too small for this; give fewer rows or columns, or use a larger machine\n"
    )
