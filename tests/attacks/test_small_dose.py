"""A small dose of every attack; `make attack` gives a large one."""

import time

import numpy as np
import pytest

from tests.attacks.__main__ import counts_of, run
from tests.attacks.frame import Attack, Record, attack_names, load_attack


@pytest.mark.parametrize("name", attack_names())
def test_small_dose(name):
    attack = load_attack(name)
    for number in range(attack.small):
        try:
            attack.try_case(0, number)
        except Exception as error:
            error.add_note(f"replay it by: python -m tests.attacks {name} --seed 0 --case {number}")
            raise


def fails_at_times(rng: np.random.Generator) -> None:
    assert rng.random() < 0.7, "too large"


def test_a_run_counts_failures_and_goes_on_where_it_ended(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tests.attacks.__main__.RECORDS", tmp_path / "records")
    attack = Attack("toy", "a toy", fails_at_times, small=1, large=1, seconds=10)
    first = run(attack, 0, 20)
    failed = set(first.failed)
    assert first.done == 20
    assert 0 < len(failed) < 20
    assert f"FAILED toy --seed 0 --case {min(failed)}: AssertionError at test_small_dose.py" in capsys.readouterr().out
    for number in range(20):
        if number in failed:
            with pytest.raises(AssertionError, match="too large"):
                attack.try_case(0, number)
        else:
            attack.try_case(0, number)

    def remembers(rng: np.random.Generator) -> None:
        tried.append(rng.random())

    tried: list[float] = []
    mended = Attack("toy", "a toy", remembers, small=1, large=1, seconds=10)
    assert run(mended, 0, 30).failed == {}
    assert len(tried) == len(failed) + 10
    kept = Record.at(tmp_path / "records" / "toy-0.json")
    assert (kept.done, kept.failed) == (30, {})
    assert kept.seconds > 0
    first.failed = {3: "too large"}
    table = counts_of({"readers": first, "kills": kept}, 0)
    assert "| 20 | 1 |" in table
    assert "| together | | 50 | 1 |" in table


def computes(_: np.random.Generator) -> None:
    while True:
        pass


def waits(_: np.random.Generator) -> None:
    time.sleep(60)


@pytest.mark.parametrize(
    ("case", "seconds", "reason"), [(computes, 0.05, "0.05 CPU seconds"), (waits, 0.005, "0.05 seconds")]
)
def test_a_case_that_computes_or_waits_too_long_has_failed(tmp_path, monkeypatch, case, seconds, reason):
    monkeypatch.setattr("tests.attacks.__main__.RECORDS", tmp_path)
    record = run(Attack("toy", "a toy", case, small=1, large=1, seconds=seconds), 0, 1)
    assert record.failed[0].endswith(f"took longer than {reason}")
