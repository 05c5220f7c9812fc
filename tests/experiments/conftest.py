"""A folder of toy experiments, and a way to run commands on it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from experiments.runner.command import program

REPOSITORY = Path(__file__).resolve().parents[2]

COIN = '''
"""Tosses a coin."""
from pathlib import Path

from experiments.runner import Claim, Experiment, count_of

BROKEN, LOG = Path(__file__).with_suffix(".broken"), Path(__file__).with_suffix(".log")
SIDES = 2


def jobs(full):
    return [{"seed": seed} for seed in range(4 if full else 3)]


def run(seed):
    import numpy as np

    if seed == 1 and BROKEN.exists():
        raise RuntimeError("the coin fell off the table")
    with LOG.open("a") as log:
        log.write(f"{seed}\\n")
    rng = np.random.default_rng(seed)
    return [{"toss": i, "heads": rng.integers(SIDES), "x": rng.random(), "_all": rng.random(3)} for i in range(2)]


def judge(table):
    heads = count_of(table["heads"] == 1)
    return [Claim(result="AB 1", statement="heads | tails", paper="half", ours=heads, holds=True)]


def draw(table):
    from latentbits.plots.style import new_figure

    figure = new_figure(1, 1)
    figure.subplots().plot(table["_all"].iloc[0])
    return {"toss": figure}


EXPERIMENT = Experiment(title="Coins", results=("AB 1",), jobs=jobs, run=run, judge=judge, draw=draw)
'''

NO_DATA = """
from experiments.runner import Experiment


def run(seed):
    raise FileNotFoundError("dice.csv is not there; throw some")


EXPERIMENT = Experiment(
    title="Dice", results=("AB 3",), jobs=lambda full: [{"seed": 0}, {"seed": 1}], run=run, judge=lambda table: []
)
"""

Run = Callable[..., Result]


class Toys:
    """The folder of a repository with toy experiments."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "experiments"
        self.results = self.folder / "results"
        self.page = self.folder / "RESULTS.md"

    def add(self, name: str, source: str) -> Path:
        """Write an experiment."""
        file = self.folder / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source, encoding="utf-8")
        return file

    def rows(self, paper: str) -> str:
        """The page of a paper."""
        return (self.results / f"{paper}.md").read_text(encoding="utf-8")

    def runs(self) -> list[int]:
        """The seeds of the jobs of toys/coin that were done so far, sorted."""
        log = self.folder / "toys" / "coin.log"
        return sorted(int(line) for line in log.read_text().split()) if log.exists() else []


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toys:
    """The working directory is a repository with two experiments: one runs, the other has no data."""
    found = Toys(tmp_path)
    found.folder.mkdir()
    (found.folder / "__init__.py").touch()
    (found.folder / "runner").symlink_to(REPOSITORY / "experiments" / "runner")
    found.add("toys/coin", COIN)
    found.add("toys/dice", NO_DATA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return found


@pytest.fixture
def command() -> Run:
    """Run `python -m experiments` in this process."""

    def invoke(*args: object) -> Result:
        return CliRunner().invoke(program, [*map(str, args)], prog_name="python -m experiments")

    return invoke
