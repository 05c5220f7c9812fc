"""The runner's parts: verdicts, fingerprints, rows, estimates; and the declarations of the real experiments."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

import experiments.runner
from experiments.runner import Claim, Reason, mean_sd
from experiments.runner.experiment import find, load
from experiments.runner.fingerprint import fingerprint
from experiments.runner.jobs import row_of
from experiments.runner.lines import Line, Status, status_of
from experiments.runner.page import pages
from experiments.runner.published import PAPERS, PUBLISHED, paper_of
from experiments.runner.schedule import seconds_left

from .conftest import COIN, REPOSITORY, Toys

PARTS = [part.name for part in pkgutil.iter_modules(experiments.runner.__path__)]


@pytest.mark.parametrize("name", PARTS)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"experiments.runner.{name}")).failed == 0


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({"holds": True}, "reproduced"),
        ({"holds": True, "better": True}, "better"),
        ({"holds": False}, "differs"),
        ({"holds": False, "better": True}, "differs"),
        ({"holds": None}, "not run"),
        ({"holds": True, "substitute": "other fields"}, "reproduced on a substitute"),
        ({"holds": False, "substitute": "other fields"}, "differs on a substitute"),
        ({"holds": True, "condition": "c"}, "reproduced under a condition"),
        ({"holds": True, "condition": "c", "substitute": "s"}, "reproduced on a substitute under a condition"),
        ({"holds": True, "result": ""}, "better"),
        ({"holds": False, "result": ""}, "not better"),
    ],
)
def test_verdicts_follow_by_rule(given: dict, verdict: str) -> None:
    assert Claim(**{"result": "AB 1", "statement": "s", "ours": "o", **given}).verdict == verdict


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"holds": False}, Reason.UNEXPLAINED),
        ({"holds": False, "reason": Reason.DATA, "evidence": "x"}, Reason.DATA),
        ({"holds": True, "reason": Reason.DATA, "evidence": "x"}, None),
        ({"holds": None}, None),
        ({"holds": False, "result": ""}, None),
    ],
)
def test_only_published_claims_that_differ_have_a_reason(given: dict, reason: Reason | None) -> None:
    claim = Claim(**{"result": "AB 1", "statement": "s", "ours": "o", **given})
    assert (claim.reason, bool(claim.evidence)) == (reason, reason is Reason.DATA)


def test_a_reason_without_evidence_is_refused() -> None:
    with pytest.raises(ValueError, match="no evidence"):
        Claim(result="AB 1", statement="s", ours="o", holds=False, reason=Reason.OPTIMUM)


def line(statement: str, verdict: str, **more: str) -> Line:
    claim = {"result": "AB 1", "statement": statement, "verdict": verdict, "substitute": "", "note": "", **more}
    return Line("AB 1", claim, "full, 1 job", "ab/order")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([line("a", "reproduced"), line("b", "better")], Status.COMES_OUT),
        ([line("a", "reproduced"), line("b", "reproduced on a substitute", substitute="s")], Status.UNDER_CONDITIONS),
        ([line("a", "differs"), line("a", "reproduced under a condition", condition="c")], Status.UNDER_CONDITIONS),
        ([line("a", "differs"), line("b", "reproduced under a condition", condition="c")], Status.DIFFERS),
        ([line("a", "reproduced"), line("b", "not run")], Status.NOT_JUDGED),
    ],
)
def test_a_result_is_as_good_as_its_worst_claim_and_a_claim_as_its_best_row(lines: list, status: Status) -> None:
    assert status_of(lines) == status


def test_what_was_stored_without_a_reason_is_unexplained() -> None:
    assert line("a", "differs").reason == "unexplained"
    assert line("a", "differs", reason="data not public").reason == "data not public"
    assert line("a", "reproduced").reason == ""


@pytest.mark.parametrize("values", [[], [1.0, float("nan")]])
def test_a_spread_of_nothing_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="needs numbers"):
        mean_sd(values)


def test_rows_are_strict_json() -> None:
    assert row_of({"a": float("nan")}) == {"a": None}
    with pytest.raises(ValueError, match="infinite"):
        row_of({"a": [1.0, float("inf")]})


def test_time_left_is_unknown_before_any_job_is_done() -> None:
    assert seconds_left({"a": []}, {"a": 3}, n_jobs=2) is None
    assert seconds_left({"a": [1.0]}, {"a": 0}, n_jobs=2) == 0


# ---- what makes a job run again ------------------------------------------------------------------

HELPED = COIN.replace("SIDES = 2", "from experiments.toys._sides import SIDES").replace(
    "    import numpy as np\n",
    "    import numpy as np\n    from experiments.toys import _table\n    from ._hand import shake\n",
)
SIDES = "SIDES = 2\nCOLOUR = 'red'\n"


@pytest.fixture
def helped(toys: Toys) -> Toys:
    toys.add("toys/coin", HELPED)
    toys.add("toys/_sides", SIDES)
    toys.add("toys/_table", "HEIGHT = 1\n")
    toys.add("toys/_hand", "def shake():\n    return 1\n")
    return toys


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("coin", HELPED.replace("rng.integers(SIDES)", "rng.integers(SIDES + 1)")),
        ("coin", HELPED.replace('.with_suffix(".broken")', '.with_suffix(".lost")')),
        ("coin", HELPED.replace("EXPERIMENT =", "print('always executed')\nEXPERIMENT =")),
        ("_sides", SIDES.replace("2", "3")),
        ("_table", "HEIGHT = 2\n"),
        ("_hand", "def shake():\n    return 2\n"),
    ],
)
def test_code_that_run_uses_changes_the_fingerprint(helped: Toys, name: str, source: str) -> None:
    file = helped.folder / "toys" / "coin.py"
    before = fingerprint(file)
    assert source != (helped.folder / "toys" / f"{name}.py").read_text()
    helped.add(f"toys/{name}", source)
    assert fingerprint(file) != before


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("coin", HELPED.replace('paper="half"', 'paper="50 %"')),
        ("coin", HELPED.replace("new_figure(1, 1)", "new_figure(2, 2)")),
        ("coin", HELPED.replace("range(4 if full", "range(5 if full")),
        ("coin", HELPED.replace("Tosses a coin", "Tosses coins").replace("    rng =", "    # why\n    rng =")),
        ("_sides", SIDES.replace("red", "blue")),
    ],
)
def test_other_code_does_not(helped: Toys, name: str, source: str) -> None:
    file = helped.folder / "toys" / "coin.py"
    before = fingerprint(file)
    assert source != (helped.folder / "toys" / f"{name}.py").read_text()
    helped.add(f"toys/{name}", source)
    assert fingerprint(file) == before


# ---- the real ones -------------------------------------------------------------------------------


def declared() -> dict[str, tuple[str, ...]]:
    return {found.name: load(found.file).results for found in find(REPOSITORY / "experiments")}


def test_every_experiment_can_be_imported() -> None:
    assert "ab/order" in declared()


def test_every_published_result_has_an_experiment() -> None:
    covered = {result for results in declared().values() for result in results}
    assert sorted(set(PUBLISHED) - covered) == []


def test_published_results_belong_to_papers() -> None:
    assert list(dict.fromkeys(map(paper_of, PUBLISHED))) == list(PAPERS)


def test_the_pages_are_those_of_the_stored_results() -> None:
    folder = REPOSITORY / "experiments"
    experiments = {found.name: (found, load(found.file).results) for found in find(folder)}
    written = pages(folder, folder / "results", experiments)
    assert {file: file.read_text(encoding="utf-8") for file in written} == written
    assert (folder / "RESULTS.md").stat().st_size < 20_000


def test_evidence_is_at_hand() -> None:
    """Files that reasons name exist, and so do the experiments of their commands."""
    names = {found.name for found in find(REPOSITORY / "experiments")}
    for file in sorted((REPOSITORY / "experiments" / "results").glob("*.json")):
        for claim in json.loads(file.read_text(encoding="utf-8"))["claims"]:
            evidence = claim.get("evidence", "")
            if " " in evidence:
                assert evidence.startswith("python -m experiments run "), evidence
                chosen = evidence.split()[4:]
                assert {name for name in chosen if not name.startswith("-")} <= names, evidence
            elif evidence:
                path, *inside = evidence.split("::")
                assert (REPOSITORY / path).is_file(), evidence
                text = (REPOSITORY / path).read_text(encoding="utf-8")
                assert all(f"def {name}(" in text or f"class {name}:" in text for name in inside), evidence


def test_declarations_import_nothing_heavy() -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from experiments.runner.experiment import find, load\n"
        "for found in find(Path('experiments')): load(found.file)\n"
        "print([name for name in ('numba', 'sklearn', 'matplotlib', 'pandas') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
