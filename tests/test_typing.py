"""Type checkers see the public names as users get them."""

from __future__ import annotations

import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import latentbits
from latentbits.models.registry import MODELS

ROOT = Path(__file__).parents[1]

needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")


def checked(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What mypy --strict says of a script in a folder elsewhere; of the library itself it says nothing."""
    (folder / "script.py").write_text(script)
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(ROOT / ".mypy_cache" / "strict")]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, "script.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )


def test_the_list_of_public_names_is_complete() -> None:
    assert set(latentbits.__all__) == {*latentbits._HOME, *latentbits._MODULES, "__version__"}
    assert {spec.class_name for spec in MODELS.values()} < set(latentbits.__all__)
    assert dir(latentbits) == sorted(latentbits.__all__)


@needs_mypy
def test_every_public_name_passes_mypy_strict(tmp_path: Path) -> None:
    names = [name for name in latentbits.__all__ if not inspect.ismodule(getattr(latentbits, name))]
    modules = [name for name in latentbits.__all__ if name not in names]
    lines = [f"from latentbits import {name} as own_{name.strip('_')}" for name in latentbits.__all__]
    lines += ["import latentbits as lb", "import latentbits", *(f"import latentbits.{name}" for name in modules)]
    lines += [f"print(lb.{name}, own_{name.strip('_')})" for name in names]
    for module in modules:
        lines += [f"print(lb.{module}.{name})" for name in getattr(latentbits, module).__all__]
    lines += ['reveal_type(lb.load_model("run"))', "reveal_type(lb.AspectBernoulli(2))", "reveal_type(lb.verdict)"]
    result = checked("\n".join([*lines, ""]), tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    revealed = [line for line in result.stdout.splitlines() if "Revealed type" in line]
    assert len(revealed) == 3, result.stdout
    assert '"latentbits.models.base.Model"' in revealed[0]
    assert '"latentbits.models.aspect.aspect_bernoulli.AspectBernoulli"' in revealed[1]
    assert "-> latentbits.tasks.verdict.Verdict" in revealed[2]


@needs_mypy
def test_a_misspelt_name_is_noticed(tmp_path: Path) -> None:
    result = checked("import latentbits as lb\nfrom latentbits import AspectBernouli\nprint(lb.verdicts)\n", tmp_path)
    assert 'has no attribute "AspectBernouli"' in result.stdout
    assert 'has no attribute "verdicts"' in result.stdout
