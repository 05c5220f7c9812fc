"""The runner's parts: verdicts, fingerprints, rows, estimates; and the declarations of the real experiments."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import experiments.runner
from experiments.runner import Claim, mean_sd
from experiments.runner.experiment import find, load
from experiments.runner.fingerprint import fingerprint
from experiments.runner.jobs import row_of
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
        ({"holds": True, "result": ""}, "better"),
        ({"holds": False, "result": ""}, "not better"),
    ],
)
def test_verdicts_follow_by_rule(given: dict, verdict: str) -> None:
    assert Claim(**{"result": "AB 1", "statement": "s", "ours": "o", **given}).verdict == verdict


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


def test_declarations_import_nothing_heavy() -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from experiments.runner.experiment import find, load\n"
        "for found in find(Path('experiments')): load(found.file)\n"
        "print([name for name in ('numba', 'sklearn', 'matplotlib', 'pandas') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
