"""Findings are data: frozen, the same for Python and command line, and said in words that nobody reads back."""

from __future__ import annotations

import ast
import inspect
import json
import re
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import latentbits as lb
from latentbits import sentences, simulate
from latentbits.cli.main import program
from latentbits.errors import InterruptedWarning, NoNoiseComponentWarning
from latentbits.findings import analyse as analysis
from latentbits.findings.account import Findings, Provenance
from latentbits.fitting.held_out import Gain
from latentbits.models.registry import MODELS
from latentbits.notes import Code, Level, Note, Role
from latentbits.storage.files import to_json
from latentbits.tasks.verdict import Basis, Rival, Verdict

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
SOURCES = Path(lb.__file__).parent


@pytest.fixture(scope="module")
def cells() -> np.ndarray:
    return simulate.aspect_bernoulli(60, 12, 3, white_phantom=True, sharpness=0.1, random_state=0).X


@pytest.fixture(scope="module")
def found(cells: np.ndarray) -> Findings:
    return lb.analyse(lb.AspectBernoulli(3, n_init=2, random_state=0), cells)


# ---- one object ------------------------------------------------------------------------------------------------------


def test_nobody_can_change_it(found: Findings) -> None:
    with pytest.raises(FrozenInstanceError):
        found.verdict = None  # type: ignore[misc]
    for mapping in (found.facts, found.tables, found.model.parameters, found.seconds, found.notes[0].arguments):
        with pytest.raises(TypeError):
            mapping["new"] = 1  # type: ignore[index]
    assert all(isinstance(part, tuple) for part in (found.notes, found.figures, found.suspects))


def test_a_model_is_fitted_if_it_is_not(cells: np.ndarray, found: Findings) -> None:
    model = lb.AspectBernoulli(3, n_init=2, random_state=0).fit(cells)
    again = lb.analyse(model, cells)
    assert {"fit", "answers", "verdict"} == found.seconds.keys()
    assert {"answers", "verdict"} == again.seconds.keys()
    assert without_seconds(again.to_dict()) == without_seconds(found.to_dict())


def test_the_verdict_is_that_of_verdict(cells: np.ndarray, found: Findings) -> None:
    assert found.verdict is not None
    alone = lb.verdict(lb.AspectBernoulli(3, n_init=2, random_state=0), cells, random_state=0)
    assert found.verdict.to_dict() == alone.to_dict()


def test_a_selection_stands_for_its_best_model(cells: np.ndarray) -> None:
    chosen = lb.select_order(lb.AspectBernoulli(n_init=2), cells, [2, 3], criterion="cells", n_folds=2, random_state=0)
    found = lb.analyse(chosen, cells)
    assert found.selection is not None
    assert found.selection.best == chosen.best_order
    assert found.verdict is not None
    assert found.verdict.n_folds == 2, "the cells that were held out are not predicted again"
    assert {"selection", "choices", "folds"} <= found.tables.keys()
    assert "selection" in {figure.key for figure in found.figures}


def test_suspects_are_positions(cells: np.ndarray, found: Findings) -> None:
    (zeros,) = found.suspects
    assert (cells[zeros.rows, zeros.columns] == 0).all()
    scores = found.subject.model.suspicion(cells)[zeros.rows, zeros.columns]
    np.testing.assert_allclose(scores, zeros.score)


def test_other_rows_are_known_as_such(found: Findings) -> None:
    others = simulate.aspect_bernoulli(20, 12, 3, random_state=5).X
    assert not lb.analyse(found.subject.model, others, verdict=False).data.is_fitted


def test_findings_of_visits() -> None:
    """With a verdict by left-out visits; tables, and other visits, are refused."""
    histories = simulate.repeated_surveys(60, 8, 3, random_state=0).histories
    found = lb.analyse(lb.RepeatedSurvey(lb.IndependentBernoulli(), random_state=0), histories)
    assert found.verdict is not None
    assert [line["visit"] for line in found.verdict.visits["table"]] == ["1", "2", "3"]
    assert Verdict.from_dict(found.verdict.to_dict()).visits == found.verdict.to_dict()["visits"]
    assert {"suspects", "sites", "species", "present", "seen_next", "left_out_visits"} <= found.tables.keys()
    assert found.facts["total"].value["seen"] == histories.max(axis=1).sum()
    assert "60 sites with 3 visits each and 8 species" in str(found)
    (unseen,) = found.suspects
    assert (histories.max(axis=1)[unseen.rows, unseen.columns] == 0).all()
    with pytest.raises(lb.DataError, match="these are not the visits that the model was fitted to"):
        lb.analyse(found.subject.model, 1 - histories, verdict=False)
    with pytest.raises(lb.DataError, match="histories have three dimensions"):
        lb.analyse(lb.RepeatedSurvey(), [[0, 1]])


def test_a_shape_that_does_not_fit_is_refused(found: Findings, cells: np.ndarray) -> None:
    with pytest.raises(lb.DataError, match="--shape 2x5 doesn't make 12 pixels"):
        lb.analyse(found.subject.model, cells, verdict=False, shape=(2, 5))


def test_a_notebook_shows_the_headline(found: Findings) -> None:
    html = found._repr_html_()
    assert sentences.headline(found) in html
    assert "<table>" in html


def without_seconds(summary: dict[str, Any]) -> Any:
    return json.loads(to_json({key: value for key, value in summary.items() if key != "seconds"}))


# ---- notes have codes ------------------------------------------------------------------------------------------------


def test_warnings_are_known_by_their_codes(cells: np.ndarray) -> None:
    model = lb.BernoulliMixture(2, n_init=1, random_state=0).fit(cells)
    warned = Provenance(warnings=(InterruptedWarning("whatever it says"), UserWarning("interrupted: by words alone")))
    found = lb.analyse(model, cells, provenance=warned)
    assert found.has(Code.INTERRUPTED)
    assert found.verdict is None, "nobody waits for another question"
    by_words = lb.analyse(model, cells, verdict=False, provenance=Provenance(warnings=warned.warnings[1:]))
    assert not by_words.has(Code.INTERRUPTED)


def test_what_analyse_warns_of_is_kept_and_shown() -> None:
    X = simulate.aspect_bernoulli(30, 6, 2, random_state=0).X
    model = lb.AspectBernoulli(2, n_init=1, random_state=0).fit(X)
    with pytest.warns(NoNoiseComponentWarning):
        found = lb.analyse(model, X, verdict=False)
    assert found.has(Code.NO_NOISE_COMPONENT)


# ---- words at the end only -------------------------------------------------------------------------------------------


def nonsense(*_: Any, **__: Any) -> str:
    return "bla"


@pytest.fixture
def without_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence is nonsense."""
    for name, say in vars(sentences).copy().items():
        if inspect.isfunction(say) and say.__module__ == sentences.__name__ and name not in ("how_fitted", "verdict"):
            monkeypatch.setattr(sentences, name, nonsense)
    monkeypatch.setattr(sentences, "verdict", lambda found: ["bla", "bla"])
    monkeypatch.setattr(sentences, "how_fitted", lambda findings: [("bla", "bla")])
    for name in ("numbers", "found_numbers", "skill"):
        monkeypatch.setattr(sentences, name, lambda found: [("bla", "bla", "bla")])


def decided(folder: Path, cells: np.ndarray) -> dict[str, Any]:
    """What commands decide: exit codes, files, levels, numbers."""
    table = folder / "sites.csv"
    rows = [",".join(f"c{j}" for j in range(cells.shape[1])), *(",".join(map(str, row)) for row in cells)]
    table.write_text("\n".join(rows) + "\n")
    fast = ["--restarts", "2", "--jobs", "1"]
    commands = {
        "fit": ["fit", table, "--components", "3", *fast, "--out", folder / "run", "--json"],
        "range": [
            "fit",
            table,
            "--components",
            "2:3",
            "--model",
            "aspect-bernoulli",
            "--folds",
            "2",
            *fast,
            "--out",
            folder / "range",
            "--json",
        ],
        "ising": ["fit", table, "--model", "ising", "--out", folder / "ising", "--json"],
        "zeros": ["false-zeros", table, "--members", "linear_autoencoder", "--out", folder / "zeros", "--json"],
        "report": ["report", folder / "run", "--json"],
        "suspects": ["suspects", folder / "run", table, "--json"],
        "refused": ["denoise", folder / "zeros", table],
    }
    said = {name: CliRunner().invoke(program, list(map(str, words))) for name, words in commands.items()}
    return {
        "codes": {name: result.exit_code for name, result in said.items()},
        "files": sorted(str(file.relative_to(folder)) for file in folder.rglob("*")),
        "numbers": {name: [*numbers(json.loads(result.stdout))] for name, result in said.items() if name != "refused"},
    }


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """All numbers, by where they stand; levels and codes too."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in ("seconds", "sentences", "notes", "meaning", "decision", "report", "file"):
                yield from numbers(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from numbers(part, (*path, place))
    else:
        yield path, value


@pytest.mark.filterwarnings("ignore")
def test_no_decision_depends_on_words(
    cells: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("latentbits.storage.run_folder.write_plots", lambda _, plots, *__: plots.mkdir())
    monkeypatch.setattr("latentbits.tasks.trials.time.perf_counter", lambda: 0.0)
    (tmp_path / "words").mkdir()
    (tmp_path / "nonsense").mkdir()
    expected = decided(tmp_path / "words", cells)
    assert expected["codes"] == {name: int(name == "refused") for name in expected["codes"]}
    request.getfixturevalue("without_words")
    changed = decided(tmp_path / "nonsense", cells)
    assert changed["codes"] == expected["codes"]
    assert changed["files"] == expected["files"]
    for name, values in expected["numbers"].items():
        assert changed["numbers"][name] == values, name


READING = {"startswith", "endswith", "find", "index", "partition", "split", "removeprefix"}


def is_words(node: ast.AST) -> bool:
    """Whether an expression is what `sentences` returned, or a list of such."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="sentences"))):
            return True
        case ast.Call(func=ast.Name(id="sentence")) | ast.Attribute(attr="sentences"):
            return True
        case ast.Subscript(value=value):
            return is_words(value)
    return False


@pytest.mark.parametrize(
    "file",
    [file for file in SOURCES.rglob("*.py") if file.name != "sentences.py"],
    ids=lambda file: str(file.relative_to(SOURCES)),
)
def test_nobody_reads_a_sentence(file: Path) -> None:
    """No sentence is compared, searched, or taken apart."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            assert not any(map(is_words, [node.left, *node.comparators])), f"{file.name}:{node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READING:
            assert not is_words(node.func.value), f"{file.name}:{node.lineno}"
        if isinstance(node, ast.Call):
            texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            is_filter = getattr(node.func, "attr", "") in ("startswith", "filterwarnings")
            assert not (is_filter and {"interrupted", "interrupted:", "no phantom was found"} & {*map(str, texts)})


# ---- sentences -------------------------------------------------------------------------------------------------------


def test_every_code_has_a_sentence() -> None:
    for code in Code:
        assert inspect.isfunction(getattr(sentences, code)), code


FALSE_FRIENDS = "hidden cell|random start|fingerprint|suspicion|found again|likeness|goes along|foretell"


AHEAD, EQUAL = {"model": 0.9, "columns": 0.6, "rows and columns": 0.7}, {"model": 0.7, "rows and columns": 0.7}
NOT_AHEAD = {"model": 0.5, "rows and columns": 0.5}


def gain(z: float, own: float, trust: float, auc: float) -> Gain:
    return Gain(z, 0.05, 0.01, own, 0.01, trust, auc)


@pytest.mark.parametrize("about", ["suspects", "cells", "components"])
@pytest.mark.parametrize(
    ("verdict", "level"),
    [
        ((True, gain(9, 0.05, 1, 0.9), gain(8, 0.05, 1, 0.9), AHEAD), "clear"),
        ((True, gain(9, -0.05, 0.4, 0.9), gain(8, -0.05, 0.4, 0.9), AHEAD), "weak"),
        ((True, gain(9, 0.05, 1, 0.7), gain(8, 0.05, 1, 0.7), EQUAL), "weak"),
        ((False, gain(3, 0, 0.1, 0.5), gain(0.1, 0, 0, 0.5), NOT_AHEAD), "none"),
        ((False, gain(0, 0, 0, 0.5), gain(0.1, 0, 0, 0.5), NOT_AHEAD), "none"),
        ((None, None, None, {}), "unknown"),
    ],
)
def test_a_verdict_at_every_level(verdict: tuple[Any, ...], level: str, about: Any) -> None:
    reason = Note(Code.ONE_LINE, {"what": "row"}) if level == "unknown" else None
    found = Verdict(*verdict, 900, 5, Basis(about, "restarts", 3, 900, reason))
    assert found.level is Level(level)
    first = found.sentences[0]
    if level != "unknown":
        assert len(first.split()) <= 25, first
    assert not re.search(FALSE_FRIENDS, " ".join(found.sentences))
    assert ("better" in first and "no " not in first.lower()) == bool(found.predicts) or level == "none"
    areas = re.search(r"AUC ([\d.]+) vs ([\d.]+)", first)
    assert areas is None or float(areas[1]) > float(areas[2])


def test_a_verdict_with_a_rival_is_short() -> None:
    nothing = gain(0, 0, 0, 0.5)
    found = Verdict(False, nothing, nothing, {"rows and columns": 0.5}, 9, 3, Basis(rival=Rival(1, 3, 7.25)))
    assert len(found.sentences[0].split()) <= 25


def test_a_stored_verdict_says_what_it_said(found: Findings) -> None:
    assert found.verdict is not None
    stored = json.loads(to_json(found.verdict.to_dict()))
    again = Verdict.from_dict(stored)
    assert again.sentences == stored["sentences"]
    assert json.loads(to_json(again.to_dict())) == stored
    crafted = Verdict.from_dict(
        {"predicts": None, "sentences": ["As it was."], "auc": 3, "over_columns": {"z": "much"}}
    )
    assert (crafted.over_columns, crafted.auc, crafted.sentences) == (None, {}, ["As it was."])


# ---- every model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_every_family_of_findings_exists(name: str) -> None:
    module = __import__(f"latentbits.findings.{MODELS[name].findings}", fromlist=["find"])
    assert inspect.isfunction(module.find)
    assert not MODELS[name].on_cluster or inspect.isfunction(module.of_all_rows)


def test_figures_show_notes_that_are_there(found: Findings) -> None:
    codes = {note.code for note in found.notes}
    assert all(figure.shows in codes for figure in found.figures)
    assert list(found.said(Role.SURE))


def test_large_tables_are_asked_in_part(cells: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_CELLS", 100)
    monkeypatch.setattr(analysis, "PART_CELLS", 240)
    found = lb.analyse(lb.AspectBernoulli(3, n_init=1, random_state=0), cells, verdict=False)
    assert found.part == {"rows": 20, "of": 60}
    assert len(found.tables["weights"]) == 60
    assert len(found.tables["denoised"]) == 20
    (zeros,) = found.suspects
    assert (cells[zeros.rows, zeros.columns] == 0).all()
