"""The command: what it runs, what it keeps, what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from experiments.runner.published import PUBLISHED
from latentbits.cli.main import program as installed

from .conftest import COIN, REPOSITORY, Run, Toys


def test_finished_jobs_are_not_run_again(toys: Toys, command: Run) -> None:
    first = command("run", "toys/coin")
    assert first.exit_code == 0, first.output
    assert "reproduced" in first.stdout
    before = (toys.results / "quick" / "toys_coin.json").read_text()
    toys.add("toys/coin", COIN.replace('paper="half"', 'paper="50 %"'))
    second = command("run", "toys/coin")
    assert "paper: 50 %" in second.stdout  # judged anew, from the cache
    assert toys.runs() == [0, 1, 2]
    assert (toys.results / "quick" / "toys_coin.json").read_text() == before.replace("half", "50 %")
    command("run", "toys/coin", "--fresh")
    assert toys.runs() == [0, 0, 1, 1, 2, 2]
    toys.add("toys/coin", COIN.replace("SIDES = 2", "SIDES = 3"))
    command("run", "toys/coin")
    assert toys.runs() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_failed_job_names_itself_and_the_others_are_kept(toys: Toys, command: Run) -> None:
    broken = toys.folder / "toys" / "coin.broken"
    broken.touch()
    result = command("run", "toys/coin", "--full", "--jobs", 1)
    assert result.exit_code == 1
    assert "error: toys/coin: the job {'seed': 1} failed: RuntimeError: the coin fell off the table" in result.stderr
    story = next((toys.results / "cache" / "toys" / "coin").glob("*.error.txt")).read_text()
    assert "Traceback" in story
    assert not (toys.results / "toys_coin.json").exists()
    done = toys.runs()
    assert done
    assert 1 not in done
    broken.unlink()
    assert command("run", "toys/coin", "--full").exit_code == 0
    assert toys.runs() == [0, 1, 2, 3]
    assert not list((toys.results / "cache" / "toys" / "coin").glob("*.error.txt"))


def test_the_answer_does_not_depend_on_jobs(toys: Toys, command: Run) -> None:
    for n in (1, 2):
        assert command("run", "toys/coin", "--jobs", n, "--out", toys.root / str(n)).exit_code == 0
    one, two = ((toys.root / n / "quick" / "toys_coin.csv").read_bytes() for n in "12")
    assert one == two
    head, *rows = one.decode().splitlines()
    assert head == "seed,toss,heads,x"  # the job's arguments, the row, and nothing that begins with _
    assert [row.split(",")[0] for row in rows] == ["0", "0", "1", "1", "2", "2"]


def test_a_quick_run_leaves_a_full_one_alone(toys: Toys, command: Run) -> None:
    assert command("run", "toys/coin", "--full").exit_code == 0
    full = {file: file.read_bytes() for file in toys.results.glob("toys_coin*")}
    assert sorted(file.suffix for file in full) == [".csv", ".json", ".png"]
    assert "(toys_coin_toss.png)" in toys.rows("ab")
    assert command("run", "toys/coin").exit_code == 0
    assert {file: file.read_bytes() for file in toys.results.glob("toys_coin*")} == full
    assert "(toys_coin_toss.png)" in toys.rows("ab")
    assert toys.runs() == [0, 1, 2, 3]  # the quick jobs are among the full ones


def test_the_page_has_every_published_result(toys: Toys, command: Run) -> None:
    assert command("run", "all").exit_code == 0
    page = toys.page.read_text()
    rows = {result: line for result in PUBLISHED for line in page.splitlines() if line.startswith(f"| [{result}](")}
    assert list(rows) == list(PUBLISHED)
    assert "| **whole**: the algorithm as printed |" in rows["AB 1"]
    assert "| **not run yet** |" in rows["AB 3"]
    n = len(PUBLISHED)
    assert f"Of {n} published results 1 come out whole with the algorithm as printed, 0 whole only with ours" in page
    assert "| reproduced as printed, on the paper's data | 1 |" in page
    paper = toys.rows("ab")
    assert "| **[AB 1](../toys/coin.py)** heads \\| tails | half |" in paper
    assert "| not run | **reproduced** | - |" in paper
    assert "**not run**" in paper
    assert "(quick/toys_coin_toss.png)" in paper
    elsewhere = toys.root / "elsewhere"
    assert command("page", "--out", elsewhere).exit_code == 0
    assert "**reproduced**" not in (elsewhere / "ab.md").read_text()
    assert f"Of {n} published results 0 come out whole" in (elsewhere / "RESULTS.md").read_text()


def test_the_page_says_why_a_claim_differs_and_shows_both_algorithms(toys: Toys, command: Run) -> None:
    changed = COIN.replace("holds=True", 'holds=False, note="The coin is bent. It was dropped."')
    toys.add("toys/coin", changed)
    command("run", "toys/coin")
    assert "| **differs** | *does not come out*: The coin is bent |" in toys.rows("ab")
    assert "Why rows differ: 1 does not come out" in toys.page.read_text()
    claim = changed[changed.index("Claim(result=") : changed.index("]", changed.index("Claim(result="))]
    other = claim.replace("holds=False", "holds=True, algorithm=Algorithm.OURS").replace("ours=heads", 'ours="3 of 3"')
    changed = changed.replace(claim, f"{claim}, {other}").replace("import Claim", "import Algorithm, Claim")
    toys.add("toys/coin", changed)
    command("run", "toys/coin")
    told = "as printed: *does not come out*: The coin is bent"
    assert f"| 3 of 3 | **only with ours: reproduced** | {told} |" in toys.rows("ab")
    assert "**whole**: our algorithm" in toys.page.read_text()
    toys.add("toys/coin", changed.replace("holds=True", 'holds=False, why="It rolled away"'))
    command("run", "toys/coin")
    assert f"| **differs** | {told}; ours: *does not come out*: It rolled away |" in toys.rows("ab")
    toys.add("toys/coin", changed.replace("holds=True", "holds=False"))
    command("run", "toys/coin")
    assert "| **differs** | *does not come out*: The coin is bent |" in toys.rows("ab")


def test_claims_are_judged_again_from_the_stored_table(toys: Toys, command: Run) -> None:
    refused = command("judge", "toys/coin")
    assert (refused.exit_code, "there is no full run" in refused.stderr) == (1, True)
    command("run", "toys/coin", "--full")
    before = (toys.results / "toys_coin.json").read_text()
    toys.add("toys/coin", COIN.replace('paper="half"', 'paper="50 %"').replace("SIDES = 2", "SIDES = 3"))
    result = command("judge", "toys/coin")
    assert (result.exit_code, "paper: 50 %" in result.stdout) == (0, True)
    assert (toys.results / "toys_coin.json").read_text() == before.replace("half", "50 %")
    assert "50 %" in toys.rows("ab")
    assert toys.runs() == [0, 1, 2, 3]
    assert command("judge", "all").exit_code == 0  # of all those that were run
    toys.add("toys/coin", COIN.replace('table["heads"]', 'table["_all"]'))
    assert "the stored table has no column '_all'; run it again" in command("judge", "toys/coin").stderr


def test_jobs_of_older_code_are_listed_and_run_again(toys: Toys, command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "toys/coin   no full run  4 of 4 jobs" in command("stale").stdout
    command("run", "toys/coin", "--full")
    assert "toys/coin" not in command("stale").stdout
    for module in ("command", "schedule"):
        monkeypatch.setattr(f"experiments.runner.{module}.library_digest", lambda: "newer")
    (row,) = json.loads(command("stale", "toys/coin", "--json").stdout)
    assert (row["older"], row["jobs"]) == (4, 4)
    assert isinstance(row["seconds"], int)
    command("run", "toys/coin", "--full")
    assert toys.runs() == [0, 1, 2, 3]
    for _ in range(2):  # the second time all of them ran with today's code
        command("run", "toys/coin", "--full", "--stale")
        assert toys.runs() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert command("stale", "toys/coin").stdout == "0 experiments, 0.0 hours of one core where it is known\n"
    toys.add("toys/coin", COIN.replace("SIDES = 2", "SIDES = 3"))
    assert "4 of 4 jobs" in command("stale", "toys/coin").stdout


def test_missing_data_are_a_refusal_only_of_what_was_asked_for_by_name(toys: Toys, command: Run) -> None:
    sentence = "error: toys/dice is not run: dice.csv is not there; throw some\n"
    for name, code in (("toys/dice", 1), ("toys", 0)):
        result = command("run", name)
        assert (result.exit_code, result.stderr) == (code, sentence)


def test_list_shows_what_is_stored(toys: Toys, command: Run) -> None:
    toys.add("toys/half", "from nowhere import nothing")
    toys.add("toys/_helper", "")
    command("run", "toys/coin")
    rows = {row["name"]: row for row in json.loads(command("list", "--json").stdout)}
    assert rows["toys/coin"] == {"name": "toys/coin", "title": "Coins", "results": ["AB 1"], "stored": "quick"}
    assert rows["toys/dice"]["stored"] is None
    assert "can't be imported: ModuleNotFoundError" in rows["toys/half"]["title"]
    assert list(rows) == ["toys/coin", "toys/dice", "toys/half"]
    assert "toys/coin  quick    Coins (AB 1)\n" in command("list").stdout


def test_json_and_quiet(toys: Toys, command: Run) -> None:
    found = json.loads(command("run", "toys/coin", "--json").stdout)
    assert [claim["verdict"] for claim in found[0]["claims"]] == ["reproduced"]
    quiet = command("run", "toys/coin", "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_wrong_usage(toys: Toys, command: Run) -> None:
    unknown = command("run", "toys/con")
    assert unknown.exit_code == 2
    assert 'there is no experiment or family "toys/con"; did you mean "toys/coin"?' in unknown.stderr
    assert command("run").exit_code == 2
    assert command("run", "all", "--jobs", 0).exit_code == 2


def test_it_is_a_module_of_the_repository_and_no_command_of_the_package(toys: Toys) -> None:
    (toys.folder / "__main__.py").symlink_to(REPOSITORY / "experiments" / "__main__.py")
    listed = subprocess.run(
        [sys.executable, "-m", "experiments", "list"], cwd=toys.root, capture_output=True, text=True
    )
    assert (listed.returncode, listed.stdout.count("\n")) == (0, 2), listed.stderr
    assert "experiments" not in installed.commands


def test_claims_must_fit_the_declaration(toys: Toys, command: Run) -> None:
    toys.add("toys/coin", COIN.replace('results=("AB 1",)', 'results=("AB 1", "AB 4")'))
    result = command("run", "toys/coin")
    assert result.exit_code == 1
    assert "error: toys/coin: results= names 'AB 4', but no claim is about it" in result.stderr
    toys.add("toys/coin", COIN.replace('results=("AB 1",)', 'results=("AB 99",)'))
    assert 'no published result "AB 99"' in command("run", "toys/coin").stderr


def test_a_judge_that_fails_is_named_with_its_place(toys: Toys, command: Run) -> None:
    file = toys.add("toys/coin", COIN.replace('table["heads"]', 'table["tails"]'))
    line = next(i for i, text in enumerate(file.read_text().splitlines(), start=1) if "tails" in text)
    result = command("run", "toys/coin")
    assert result.exit_code == 1
    assert f"error: toys/coin: KeyError: 'tails' ({file}:{line})\n" in result.stderr


def test_an_interrupted_run_goes_on_where_it_stopped(toys: Toys, command: Run) -> None:
    slow = COIN.replace(
        "    rng = ", "    if seed == 2 and BROKEN.exists():\n        import time; time.sleep(60)\n    rng = "
    )
    toys.add("toys/coin", slow.replace("seed == 1 and", "False and"))
    broken = toys.folder / "toys" / "coin.broken"
    broken.touch()
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from experiments.runner.command import program\n"
        "program(['run', 'toys/coin', '--jobs', '1'])"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=toys.root, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 30
    while 2 not in toys.runs() and time.monotonic() < until:
        time.sleep(0.05)
    assert len(toys.runs()) > 1  # something was finished before
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors.startswith("error: interrupted")) == (130, True)
    broken.unlink()
    assert command("run", "toys/coin").exit_code == 0
    assert toys.runs() == [0, 1, 2, 2]
