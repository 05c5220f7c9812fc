"""Help of commands with many options: what matters first, everything somewhere, nothing twice."""

from __future__ import annotations

import re

import click
import pytest

from latentbits.cli.main import program
from latentbits.models.registry import MODELS

from .conftest import Run

GROUPED = pytest.mark.parametrize("command", ["fit", "select"])
MOST = 18
SCREEN = 48


def flags_of(command: str) -> list[str]:
    options = [param for param in program.commands[command].params if isinstance(param, click.Option)]
    return [flag for option in options for flag in option.opts]


def options_of(model: str) -> set[str]:
    names = [parameter.option.name for parameter in MODELS[model].parameters.values() if parameter.option]
    return {f"--{name.replace('_', '-')}" for name in names}


def explained(text: str) -> list[str]:
    """The flags that have a line of their own."""
    return re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, flags=re.MULTILINE)


def mentioned(text: str) -> set[str]:
    unwrapped = re.sub(r"-\n +", "-", text)  # lines are also broken behind hyphens
    return set(re.findall(r"--[a-z][a-z-]*", unwrapped))


@GROUPED
def test_the_first_screen_explains_what_matters_and_names_the_rest(run: Run, command: str) -> None:
    text = run(command, "--help").stdout
    assert 10 <= len(explained(text)) <= MOST
    assert {"--components", "--model", "--out", "--restarts", "--threshold", "--help"} <= set(explained(text))
    assert set(flags_of(command)) <= mentioned(text)
    before, _, _ = text.partition("More options")
    assert before.count("\n") < SCREEN


@GROUPED
def test_everything_can_be_explained_and_nothing_twice(run: Run, command: str) -> None:
    text = run(command, "--help-all").stdout
    assert sorted(explained(text)) == sorted([*flags_of(command), "--help"])
    assert len(text) > len(run(command, "--help").stdout)
    assert str(program.commands[command].help).strip()[-40:].split()[-1] in text


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", [["--model", "NAME", "--help"], ["--help", "--model=NAME"]], ids=" ".join)
def test_the_help_of_a_model_explains_its_own_options(run: Run, name: str, form: list[str]) -> None:
    text = run("fit", *(word.replace("NAME", name) for word in form)).stdout
    own, every = options_of(name), set().union(*map(options_of, MODELS))
    shared = {"--max-iter", "--tol", "--folds"}  # named under "Fitting"
    assert own - shared <= set(explained(text))
    first = {"--components", "--restarts", "--seed", "--jobs"}
    assert set(explained(text)) & (every - own - first) == set()


def test_an_option_is_explained_by_what_it_means_to_the_model(run: Run) -> None:
    assert "Variational Bayes, variational EM" in run("fit", "--model", "beta-ica", "--help").stdout
    assert "Variational Bayes" not in run("fit", "--model", "binary-factors", "--help").stdout


def test_an_unknown_model_has_the_common_help(run: Run) -> None:
    assert run("fit", "--help", "--model", "magic").stdout == run("fit", "--help").stdout
