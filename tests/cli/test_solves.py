"""Each command solves for the weights of the rows once for each set of components."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from latentbits.models.aspect import aspect_bernoulli
from latentbits.models.aspect.noise_evidence import N_FOLDS as N_PARTS
from latentbits.tasks.verdict import N_FOLDS
from tests.cli.conftest import Run

RESTARTS = 4
EVIDENCE = 2 * N_PARTS
"""Fits that judge whether noise is noise, with it and with free components."""


@pytest.fixture
def solves(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    made: list[int] = []
    solver = aspect_bernoulli.solve_weights

    @functools.wraps(solver)
    def counted(data, *args, **kwargs):  # type: ignore[no-untyped-def]
        made.append(data.shape[0])
        return solver(data, *args, **kwargs)

    monkeypatch.setattr(aspect_bernoulli, "solve_weights", counted)
    return made


def test_no_command_solves_for_the_same_rows_twice(run: Run, table: Path, tmp_path: Path, solves: list[int]) -> None:
    out = tmp_path / "run"
    fit = (table, "--components", 3, "--restarts", RESTARTS)
    asked = {
        "fit with a verdict": (*fit, "--out", tmp_path / "other"),
        "fit": (*fit, "--no-verdict", "--out", out),
        "report": (out,),
        "denoise": (out, table),
        "suspects": (out, table),
    }
    made = {}
    for command, arguments in asked.items():
        solves.clear()
        assert run(command.split()[0], *arguments).exit_code == 0
        made[command] = len(solves)
    assert made["denoise"] == 1 + EVIDENCE
    assert 1 < made["fit"] <= RESTARTS + 1 + EVIDENCE
    assert made["fit with a verdict"] == made["fit"] + N_FOLDS * RESTARTS
    assert 1 < made["report"] <= RESTARTS + 1 + EVIDENCE
    assert 1 < made["suspects"] <= RESTARTS + 1 + EVIDENCE
