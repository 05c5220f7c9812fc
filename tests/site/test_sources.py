"""The sources of the documentation: complete, true, and runnable. What needs a built site is in test_built.py."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import latentbits as lb
from latentbits.cli.main import COMMANDS
from latentbits.models.aspect.sampled import Evidence
from latentbits.models.binary_ica.parameters import Parameters

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SCRIPTS = sorted((DOCS / "scripts").glob("*/*.py"))
QUESTIONS = re.findall(
    r"```python\n(.*?)```\s+```text\n(.*?)\n```", (DOCS / "questions.md").read_text(encoding="utf-8"), re.DOTALL
)


def test_every_public_name_has_a_reference_page():
    listed = set(re.findall(r"^   ([A-Za-z][\w.]*)$", (DOCS / "api.rst").read_text(), re.MULTILINE))
    public = {name for name in lb.__all__ if not inspect.ismodule(getattr(lb, name)) and name != "__version__"}
    for module in ("datasets", "metrics", "plots", "sequences", "simulate"):
        public |= {f"{module}.{name}" for name in getattr(lb, module).__all__}
    assert public - listed == set()


def test_what_is_returned_has_a_reference_page_too():
    """Classes of the library that public functions say they return."""
    listed = (DOCS / "api.rst").read_text()
    for name in lb.__all__:
        target = getattr(lb, name)
        if inspect.isfunction(target):
            returned = str(inspect.signature(target).return_annotation)
            if re.fullmatch(r"[A-Z]\w+", returned) and returned not in ("Any", "None", "NDArray", "Floats"):
                assert re.search(rf"\b{returned}$", listed, re.MULTILINE), f"{name} returns {returned}"


def test_reference_pages_leave_out_what_other_types_define():
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(DOCS / "_ext"))
    from own_members import leave_out

    kinds = {
        Evidence: {"hex", "fromhex", "imag", "as_integer_ratio"},
        Parameters: {"count", "index"},
        lb.FalseZeros: {"get_params"},
    }
    for kind, foreign in kinds.items():
        left_out = {name for name in dir(kind) if leave_out(None, "class", name, getattr(kind, name), False, None)}
        assert foreign <= left_out
    assert not leave_out(None, "class", "centre", Parameters.centre, False, None)
    assert not leave_out(None, "class", "suspects", lb.FalseZeros.suspects, False, None)


def test_every_command_has_a_page():
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(DOCS / "_ext"))
    from commands import pages

    found = pages()
    for command in COMMANDS:
        module, _, name = re.search(r"click:: (\S+)", found[command.name])[1].partition(":")
        assert getattr(importlib.import_module(module), name) is command
        assert f":doc:`{command.name}`" in found["index"]


def test_there_are_guides_for_all_questions_and_a_gallery():
    folders = [file.parent.name for file in SCRIPTS]
    assert folders.count("guides") >= 15
    assert folders.count("gallery") >= 14


@pytest.mark.parametrize("page", sorted((DOCS / "families").glob("*.md")), ids=lambda page: page.stem)
def test_tests_that_a_page_names_exist(page):
    for name in re.findall(r"`(tests/[\w/.]+)`", page.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize(("code", "said"), QUESTIONS, ids=[said.split(";")[0][-40:] for _, said in QUESTIONS])
def test_questions_say_what_was_said(code, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"lb": lb, "np": np, "pd": pd, "pathlib": __import__("pathlib")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(code, names)
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        else:
            found = [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    assert said in found


def test_there_are_questions():
    assert len(QUESTIONS) >= 8


def test_the_version_is_the_same_everywhere():
    assert re.search(rf"^version: {re.escape(lb.__version__)}$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert f"## {lb.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_oldest_dependencies_are_pinned_one_by_one():
    code = "import sys; sys.path.insert(0, 'tools'); import check_wheel; print('\\n'.join(check_wheel.oldest()))"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pins = printed.split()
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert len(pins) == len(wanted)
    assert all(re.fullmatch(r"[\w-]+==[\d.]+\.\*", pin) for pin in pins)


def test_workflows_call_targets_that_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {
        target
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
        for target in re.findall(r"run: make ([\w-]+)", file.read_text())
    }
    assert {"test", "docs", "wheel", "release-check"} == called
    assert called <= targets


def test_the_python_of_the_landing_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = lb.simulate.aspect_bernoulli(30, 8, 2, sharpness=0.1, random_state=0).X
    sites = pd.Index([f"site {row}" for row in range(len(X))], name="site")
    pd.DataFrame(X, sites, [f"species {column}" for column in range(8)]).to_csv("sites.csv")
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    *lines, last = code.strip().splitlines()
    names: dict = {"__name__": "__main__"}
    exec("\n".join([*lines, f"found = {last}"]), names)
    assert len(names["found"]) == 20
    assert names["found"]["row"].str.startswith("site ").all()


# ---- links -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_links_to_guides_name_their_scripts(page):
    named = re.findall(r"\(((?:guides|gallery)/[ab]\w+)\.rst\)", page.read_text(encoding="utf-8"))
    assert set(named) <= {f"{script.parent.name}/{script.stem}" for script in SCRIPTS}


def test_broken_links_are_noticed(tmp_path):
    sys.path.insert(0, str(DOCS / "_ext"))
    from links import broken

    (tmp_path / "b.html").write_text('<p id="here">')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here"></a><a href="b.html#there"></a><a href="c.html"></a><a href="https://x.org"></a>'
    )
    assert broken(tmp_path) == ["a.html: b.html#there names no place there", "a.html: c.html is not there"]


# ---- notebooks -------------------------------------------------------------------------------------------------------


def notebook_of(script: Path, *more: str):
    """A notebook with a cell for each part of a script, as the site offers it for download, and more cells."""
    nbformat = pytest.importorskip("nbformat")
    (first,) = re.findall(r'"first_notebook_cell": "(.*)"', (DOCS / "conf.py").read_text(encoding="utf-8"))
    parts = re.split(r"^# %%.*$", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(part.strip()) for part in (first, *parts, *more)])


def test_a_notebook_of_the_gallery_runs_and_shows_picture_view_and_report():
    """All scripts are run when the site is built; here one, with what only a notebook shows."""
    nbclient = pytest.importorskip("nbclient")
    notebook = notebook_of(
        DOCS / "scripts" / "gallery" / "b15_who_caused_this_zero.py", "model", "model.report(truth.X)"
    )
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [
        next(output["data"] for output in cell.outputs if output.output_type == "execute_result")
        for cell in notebook.cells[1:]
    ]
    picture, view, report = shown
    assert "image/png" in picture
    assert "latentbits-view" in view["text/html"]
    assert "<iframe" in report["text/html"]
    assert "kB; .open()" in report["text/plain"]


def test_what_programs_are_told_exists():
    """Calls and pages of llms.txt."""
    text = (DOCS / "llms.txt").read_text(encoding="utf-8")
    for name in re.findall(r"lb\.(\w+)", text):
        assert hasattr(lb, name), name
    known = {command.name for command in COMMANDS}
    assert set(re.findall(r"latentbits ([a-z-]+) \w+\.csv", text)) <= known
    for page in re.findall(r"\]\(([\w/-]+)\.html\)", text):
        source = DOCS / ("scripts/guides/GALLERY_HEADER.rst" if page == "guides/index" else page)
        assert any(source.with_suffix(suffix).exists() for suffix in (".md", ".rst")), page
