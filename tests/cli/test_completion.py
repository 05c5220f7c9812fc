"""Shell completion, through click's own protocol."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from latentbits.cli.main import program

from .conftest import Run, assert_refused


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o"), ("zsh", "#compdef latentbits"), ("fish", "--command latentbits")]
)
def test_the_script_of_each_shell(run: Run, shell: str, mark: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert mark in result.stdout
    assert f"_LATENTBITS_COMPLETE={shell}_complete" in result.stdout


def completions(*words: str) -> list[str]:
    """What Tab offers for the last of the words."""
    asked = {
        "_LATENTBITS_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["latentbits", *words]),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner(env=asked).invoke(program, prog_name="latentbits")
    return [line.partition(",")[2] for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sus"], ["suspects"]),
        (["fit", "--model", "bet"], ["beta-ica"]),
        (["fit", "--crit"], ["--criterion"]),
        (["compare", "--models", "nmf,bernoulli-m"], ["nmf,bernoulli-mixture"]),
        (["select", "--criterion", "aic,c"], ["aic,cv", "aic,cells"]),
        (["completion", "f"], ["fish"]),
    ],
)
def test_commands_options_and_names_are_completed(words: list[str], offered: list[str]) -> None:
    assert completions(*words) == offered


def test_an_unknown_shell_is_wrong_usage(run: Run) -> None:
    assert_refused(run("completion", "powershell"), "'powershell' is not one of", code=2)
