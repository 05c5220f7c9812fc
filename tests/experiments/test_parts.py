"""The runner's parts: verdicts, fingerprints, rows, estimates; and the declarations of the real experiments."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import experiments.runner
from experiments.runner import Claim, Experiment, Reason, mean_sd
from experiments.runner.experiment import Found, find, load
from experiments.runner.fingerprint import fingerprint
from experiments.runner.jobs import row_of
from experiments.runner.lines import Line, lines_of, outcome_of
from experiments.runner.page import pages
from experiments.runner.published import _NOT_RUN_YET, INSTRUCTIVE, PAPERS, PUBLISHED, not_run_yet, paper_of
from experiments.runner.schedule import seconds_left
from experiments.runner.store import stored, stored_table

from .conftest import COIN, REPOSITORY, Toys

STORED = REPOSITORY / "experiments" / "results"
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
        ({"holds": True, "instead": True}, "what we find instead"),
        ({"holds": False, "instead": True}, "what we find instead: doesn't hold"),
        ({"holds": True, "result": ""}, "better"),
        ({"holds": False, "result": ""}, "not better"),
    ],
)
def test_verdicts_follow_by_rule(given: dict, verdict: str) -> None:
    assert Claim(**{"result": "AB 1", "statement": "s", "ours": "o", "why": "w", **given}).verdict == verdict


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"holds": False}, Reason.NO),
        ({"holds": False, "instead": True, "reason": Reason.DATA, "evidence": "x"}, None),
        ({"holds": False, "reason": Reason.DATA, "evidence": "x"}, Reason.DATA),
        ({"holds": True, "reason": Reason.DATA, "evidence": "x"}, None),
        ({"holds": None}, None),
        ({"holds": False, "result": ""}, None),
    ],
)
def test_only_published_claims_that_differ_have_a_reason(given: dict, reason: Reason | None) -> None:
    claim = Claim(**{"result": "AB 1", "statement": "s", "ours": "o", "why": "w", **given})
    assert (claim.reason, claim.why, bool(claim.evidence)) == (reason, "w" * bool(reason), reason is Reason.DATA)


def test_a_difference_without_a_line_why_and_underspecified_without_readings_are_refused() -> None:
    with pytest.raises(ValueError, match="say in one line why"):
        Claim(result="AB 1", statement="s", ours="o", holds=False)
    with pytest.raises(ValueError, match="say which readings were tried"):
        Claim(result="AB 1", statement="s", ours="o", holds=False, reason=Reason.UNDERSPECIFIED)
    told = Claim(result="AB 1", statement="s", ours="o", holds=False, note="The coin is bent. It was dropped.")
    assert told.why == "The coin is bent"


def line(statement: str, verdict: str, **more: object) -> Line:
    claim = {"result": "AB 1", "statement": statement, "verdict": verdict, "substitute": "", "note": "", **more}
    return Line("AB 1", claim, "full, 1 job", "ab/order")


def good(statement: str, **more: object) -> Line:
    return line(statement, "reproduced", **more)


def bad(statement: str, **more: object) -> Line:
    return line(statement, "differs", reason="does not come out", **more)


PRINTED, OURS, BOTH = ({"algorithm": name} for name in ("as printed", "ours", "both"))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([good("a"), good("b")], "**whole**: the algorithm as printed"),
        ([good("a", **OURS), good("b", **OURS)], "**whole**: our algorithm"),
        ([good("a", **OURS), good("b", **BOTH)], "**whole**: our algorithm (best of 2 settings)"),
        (
            [good("a", **OURS), good("b", **PRINTED)],
            "**in part**: 1 of 2 (the algorithm as printed) (best of 2 settings)",
        ),
        ([good("a"), good("b", substitute="s")], "**under a condition**: the algorithm as printed, on substitute data"),
        (
            [bad("a"), good("a", condition="c")],
            "**under a condition**: the algorithm as printed, c (best of 2 settings)",
        ),
        ([good("a", setting="one"), good("b", setting="one")], "**whole**: the algorithm as printed, one"),
        # Claims that come out under settings that exclude each other don't come out together.
        (
            [good("a", setting="one"), good("b", setting="five")],
            "**in part**: 1 of 2 (the algorithm as printed, one) (best of 2 settings)",
        ),
        (
            [good("a"), good("b", condition="c")],
            "**in part**: 1 of 2 (the algorithm as printed) (best of 2 settings)",
        ),
        # What is found instead is never counted, neither for a result nor against it.
        ([bad("a"), good("b", instead=True)], "**not at all**"),
        ([good("a"), bad("b", instead=True)], "**whole**: the algorithm as printed"),
        ([good("a"), line("b", "not run")], "**in part**: 1 of 2, 1 not run (the algorithm as printed)"),
        ([line("a", "not run")], "**not run yet**"),
    ],
)
def test_a_result_comes_out_under_one_and_the_same_setting(lines: list[Line], words: str) -> None:
    assert outcome_of(lines).words == words
    assert outcome_of(reversed(lines)).status == outcome_of(lines).status


def test_every_row_that_differs_has_a_reason_and_what_is_underspecified_its_readings() -> None:
    for file in sorted((REPOSITORY / "experiments" / "results").glob("*.json")):
        for claim in json.loads(file.read_text(encoding="utf-8"))["claims"]:
            if claim["result"] and claim["verdict"].startswith("differs"):
                assert claim["reason"] in list(Reason), claim["statement"]
                assert claim["why"], claim["statement"]
                assert (claim["reason"] == Reason.UNDERSPECIFIED) == bool(claim["readings"])


def test_instructive_differences_are_stored_ones_with_pictures() -> None:
    folder = REPOSITORY / "experiments" / "results"
    claims = [claim for result in stored(folder).values() for claim in result["claims"]]
    differing = {claim["statement"] for claim in claims if claim["result"] and claim["verdict"].startswith("differs")}
    assert len(INSTRUCTIVE) == 5
    assert {statement for statement, _, _ in INSTRUCTIVE} <= differing
    assert all((folder / picture).is_file() for _, _, picture in INSTRUCTIVE)


def test_what_is_not_run_yet_belongs_to_a_published_result_and_says_why() -> None:
    pending = [one for result in PUBLISHED for one in not_run_yet(result)]
    assert len(pending) == len(_NOT_RUN_YET)
    assert all(
        line.claim.get("why") or line.claim["note"] for line in lines_of(stored(STORED)) if line.result and not line.run
    )


def test_stored_verdicts_follow_from_what_is_stored() -> None:
    for result in stored(STORED).values():
        for claim in result["claims"]:
            given = {name: value for name, value in claim.items() if name != "verdict"}
            assert Claim(**{**given, "readings": tuple(given.get("readings", ()))}).verdict == claim["verdict"], claim


REFUTING = {
    "mirrored": lambda x: x.max() + x.min() - x,
    "negative": lambda x: -x,
    "the least": lambda x: np.full_like(x, x.min()),
    "the largest": lambda x: np.full_like(x, x.max()),
    "backwards": lambda x: x[::-1],
    "by turns": lambda x: np.where(np.arange(len(x)) % 2, x.min(), x.max()),
    "by threes": lambda x: x + 1000 * (np.arange(len(x)) % 3),
    "far larger": lambda x: x + 1_000_000,
}
JUDGED = [found for found in find(REPOSITORY / "experiments") if (STORED / f"{found.stem}.csv").exists()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("found", JUDGED, ids=lambda found: found.name)
def test_no_rule_of_a_published_claim_holds_whatever_the_numbers_are(
    found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each claim that holds, some other numbers or words in the stored table refute it."""
    experiment = load(found.file)
    if not experiment.results:
        return
    monkeypatch.setattr(Claim, "__post_init__", lambda _: None)  # rows that differ need no reason here
    table = stored_table(STORED / f"{found.stem}.csv")
    given = {name for job in experiment.jobs(True) for name in job}
    numbers = [name for name in table.select_dtypes(["number", "bool"]).columns if name not in given]
    words = [name for name in table.columns if name not in {*given, *numbers}]
    unrefuted, rng = holding(experiment, table), np.random.default_rng(0)
    tables = [table.assign(**{name: rng.permutation(table[name].to_numpy()) for name in numbers}) for _ in range(3)]
    for change in REFUTING.values():
        changed = {name: ~x if x.dtype == bool else change(x) for name in numbers for x in [table[name].to_numpy()]}
        tables += [table.assign(**changed), *(table.assign(**{name: x}) for name, x in changed.items())]
    tables += [table.assign(**{name: told}) for name in words for told in ("", table[name].value_counts().index[-1])]
    for changed in tables:
        with suppress(ArithmeticError, LookupError, ValueError):  # not every table of numbers can be told
            unrefuted &= holding(experiment, changed)
    assert not unrefuted


def holding(experiment: Experiment, table: pd.DataFrame) -> set[tuple[str, ...]]:
    """The published claims that hold, by their words."""
    claims = [claim for claim in experiment.judge(table) if claim.holds and claim.result]
    return {(claim.statement, claim.setting, claim.condition, claim.algorithm) for claim in claims}


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
    experiments = {found.name: found for found in find(folder)}
    written = pages(folder, folder / "results", experiments)
    assert {file: file.read_text(encoding="utf-8") for file in written} == written
    assert (folder / "RESULTS.md").stat().st_size < 12_000


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
