"""The program as a whole: help that is quick, exit codes, real processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from latentbits import DataError, __version__
from latentbits.cli.main import main, program
from latentbits.cli.terminal import Terminal, print_error

from .conftest import FAST, NONE_SUSPECTED, READ_AS_FITTED, Run, assert_refused, without_progress

HEAVY = ("numba", "pandas", "sklearn", "matplotlib", "scipy", "numpy")


def process(*args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "latentbits", *map(str, args)]
    nobody_looks = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # lines stay whole then
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=nobody_looks)


def all_commands(group: click.Group = program, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command as the words that call it, those of groups included."""
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        words = (*before, name)
        found.append(words)
        if isinstance(command, click.Group):
            found += all_commands(command, words)
    return found


COMMANDS = pytest.mark.parametrize("words", all_commands(), ids=" ".join)


def test_no_help_imports_anything_heavy() -> None:
    """In a process of its own, where nothing has been imported yet."""
    script = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from latentbits.cli.main import program\n"
        f"for words in {[(), *all_commands()]}:\n"
        "    result = CliRunner().invoke(program, [*words, '--help'], prog_name='latentbits')\n"
        "    assert result.exit_code == 0, words\n"
        "    assert result.stdout.startswith(' '.join(['Usage: latentbits', *words])), words\n"
        f"print('HEAVY', [name for name in {HEAVY} if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "HEAVY []\n"), result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "absent.csv", "--components", "2", "--out", "run"],
        ["select", "absent.csv", "--components", "2:3"],
        ["compare", "absent.csv"],
        ["denoise", "MODEL", "absent.csv"],
        ["suspects", "MODEL", "absent.csv"],
        ["explain", "MODEL", "absent.csv", "--row", "0"],
        ["report", "MODEL", "absent.csv", "--out", "page.html"],
        ["denoise", "absent", "absent.csv"],
        ["report", "absent"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_mistyped_path_is_refused_before_models_are_imported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "model.npz").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    for name in (
        "latentbits.storage.persistence",
        "latentbits.models.aspect.aspect_bernoulli",
        "latentbits.tasks.select",
    ):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    assert_refused(run(*["model.npz" if word == "MODEL" else word for word in words]), "absent")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]


def test_a_real_process_from_file_to_suspects(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    fit = process("fit", table, *FAST, "--verbose", "--out", out)
    assert (fit.returncode, without_progress(fit.stderr)) == (0, "")
    assert "3 components fitted" in fit.stdout
    suspects = process("suspects", out, table, "--top", 2)
    assert (suspects.returncode, suspects.stderr) == (0, READ_AS_FITTED + NONE_SUSPECTED)
    assert suspects.stdout.count("\n") == 3


def test_a_real_process_refuses_in_one_line(tmp_path: Path) -> None:
    result = process("fit", tmp_path / "absent.csv", "--components", 2, "--out", tmp_path / "run")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: absent.csv: no such file")
    assert result.stderr.count("\n") == 1


def test_version(run: Run) -> None:
    assert __version__ in run("--version").stdout


@COMMANDS
def test_every_command_has_an_example_and_a_short_help(run: Run, words: tuple[str, ...]) -> None:
    text = run(*words, "--help").stdout
    assert re.search(rf"Example: latentbits {' '.join(words)}\s", text)
    of_group = run(*words[:-1], "--help").stdout
    assert len(next(line for line in of_group.splitlines() if line.split()[:1] == [words[-1]]).split()) > 2


@COMMANDS
def test_wrong_usage_of_every_command(run: Run, words: tuple[str, ...]) -> None:
    assert_refused(run(*words, "--magic"), "No such option", code=2)


ANSWERING = {"fit", "select", "compare", "report", "denoise", "suspects", "explain", "simulate", "demo"}


@pytest.mark.parametrize("name", sorted(ANSWERING))
def test_every_command_that_answers_can_be_quiet_or_answer_in_json(name: str) -> None:
    flags = {flag for parameter in program.commands[name].params for flag in parameter.opts}
    assert {"--quiet", "--json"} <= flags


@pytest.mark.parametrize(
    ("error", "code"), [(OSError("disk full"), 1), (DataError("no 0-1 data"), 1), (KeyboardInterrupt(), 130)]
)
def test_exit_codes_of_what_happens_in_a_command(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(program.commands["simulate"], "callback", fail)
    result = run("simulate")
    assert (result.exit_code, result.stdout) == (code, "")
    kept = "interrupted; nothing was written, and a checkpoint, if there was one, is kept"
    assert result.stderr == f"error: {str(error) or kept}\n"


def test_the_help_says_what_happens_to_formulas(run: Run) -> None:
    assert "apostrophe" in run("--help").stdout


def test_an_unknown_command_is_wrong_usage(run: Run) -> None:
    assert run("magic").exit_code == 2


def test_main_is_the_entry_point(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["latentbits", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "latentbits" in capsys.readouterr().out


def test_errors_of_the_system_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(PermissionError(13, "Permission denied", "run"))
    print_error(OSError(28, "No space left on device"))
    print_error(ValueError("two\nlines"))
    assert capsys.readouterr().err == (
        "error: run: Permission denied\nerror: No space left on device\nerror: two lines\n"
    )


def test_a_folder_that_cannot_be_made_is_refused_before_any_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("fit", tmp_path / "absent.csv", *FAST, "--out", tmp_path / "file" / "deep" / "run")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert "file is not a folder to write into" in result.stderr


def test_progress_is_shown_unless_quiet() -> None:
    assert Terminal().shows_progress
    assert not Terminal(quiet=True).shows_progress
