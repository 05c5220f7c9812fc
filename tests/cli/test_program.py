"""The program as a whole: help that is quick, exit codes, real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from latentbits import __version__
from latentbits.cli import console
from latentbits.cli.main import main

from .conftest import FAST, LOST_ROWS, Run

HEAVY = ("numba", "pandas", "sklearn", "matplotlib", "scipy", "numpy")


def process(*args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "latentbits.cli", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("command", ["", "fit", "denoise"])
def test_help_imports_nothing_heavy(command: str) -> None:
    script = (
        "import sys\n"
        f"sys.argv = ['latentbits', *{[command] if command else []!r}, '--help']\n"
        "from latentbits.cli.main import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('HEAVY', [name for name in {HEAVY} if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Usage: latentbits")
    assert result.stdout.endswith("HEAVY []\n")


def test_a_real_process_from_file_to_suspects(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    fit = process("fit", table, *FAST, "--out", out)
    assert (fit.returncode, fit.stderr) == (0, LOST_ROWS)
    assert "3 components fitted" in fit.stdout
    suspects = process("suspects", out, table, "--top", 2)
    assert (suspects.returncode, suspects.stderr) == (0, "")
    assert suspects.stdout.count("\n") == 3


def test_a_real_process_refuses_in_one_line(tmp_path: Path) -> None:
    result = process("fit", tmp_path / "absent.csv", "--components", 2, "--out", tmp_path / "run")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: absent.csv: no such file")
    assert result.stderr.count("\n") == 1


def test_version(run: Run) -> None:
    assert __version__ in run("--version").stdout


@pytest.mark.parametrize("command", ["fit", "denoise", "suspects", "explain", "demo"])
def test_every_command_has_an_example(run: Run, command: str) -> None:
    text = run(command, "--help").stdout
    assert f"Example: latentbits {command} " in text


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
    console.error(PermissionError(13, "Permission denied", "run"))
    console.error(OSError(28, "No space left on device"))
    console.error(ValueError("two\nlines"))
    assert capsys.readouterr().err == (
        "error: run: Permission denied\nerror: No space left on device\nerror: two lines\n"
    )


def test_a_folder_that_cannot_be_made_is_refused_before_any_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("fit", tmp_path / "absent.csv", *FAST, "--out", tmp_path / "file" / "deep" / "run")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert "file is not a folder to write into" in result.stderr


def test_progress_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not console.shows_progress(quiet=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert console.shows_progress(quiet=False)
    assert not console.shows_progress(quiet=True)
