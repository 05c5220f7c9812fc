"""The README's Python works as it stands; pages and pictures show what was measured, and nothing measured is typed."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from measured import END, PAGES, long_part, measured, places, written  # noqa: E402
from pictures import PICTURES  # noqa: E402

MEASURED = re.compile(r"\d+\.\d+|\d+ ?%|\d+ times|\b(?:half|twice|thrice|third|quarter) (?:as|the)\b", re.IGNORECASE)
"""What looks like something that was measured: decimals, percentages, factors."""

ALLOWED = {
    "README.md": ["Python 3.11"],
    "docs/index.md": [
        "18 of the first 20",
        "20 random zeros about 3",
        "150 sites and 30 species",
    ],  # a guide prints them
}


def typed_figures(text: str) -> list[str]:
    """What looks measured in the prose of a page: code, roles, addresses and the generated table left out."""
    for pattern in (
        r"^---\n.*?^---\n",
        r"```.*?```",
        r"^    .*?$",
        rf"<!-- measured: .*?{END}",
        r"[^\s*|(]+<!-- [a-z_]+ -->",
        r"`[^`]*`",
        r"\]\([^)]*\)",
    ):
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    return MEASURED.findall(text)


FAMILIES = [f"docs/families/{page.name}" for page in sorted((ROOT / "docs" / "families").glob("*.md"))]


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/which-model.md", *FAMILIES])
def test_nothing_measured_is_typed(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for words in ALLOWED.get(name, []):
        text = text.replace(words, "")
    assert typed_figures(text) == []


def test_typed_figures_are_noticed():
    assert typed_figures("an AUC of 0.85, 40 % better, and 3 times as fast") == ["0.85", "40 %", "3 times"]
    assert typed_figures("an AUC of 0.85<!-- birds_auc -->, from `x = 0.3`") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_show_what_was_measured(page):
    text = page.read_text(encoding="utf-8")
    assert written(text) == text, "run python docs/_ext/measured.py"


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_show_what_was_measured(name):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == PICTURES[name](), "run python docs/_ext/measured.py"


def test_typed_figures_would_be_replaced():
    text = README.read_text(encoding="utf-8")
    assert written(text.replace("0.85", "0.95")) == text
    assert written(text.replace("published results", "results")) == text
    assert written("an AUC of **0.99<!-- birds_auc -->**") == f"an AUC of **{measured('birds_auc')}<!-- birds_auc -->**"


@pytest.mark.parametrize("name", places())
def test_every_figure_is_found_where_it_is_said_to_be(name):
    assert re.search(r"\d", measured(name))


def test_unknown_figures_are_refused():
    with pytest.raises(KeyError, match=r"measured\.toml has no nothing"):
        measured("nothing")


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) < 100


@pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    exec(_keeping_the_last(code, "rate"), names)
    assert "white" in names["model"].phantoms_
    assert 0.7 < names["rate"] < 1
    assert (names["clean"][names["noisy"].X == 1] == 1).all(), "only zeros were falsified"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def _keeping_the_last(code, name):
    """The code, with the value of its last line under a name."""
    *_, last = code.strip().splitlines()
    return code.replace(last, f"{name} = {last}")


LONG = re.findall(r"<!-- on the site: (\w+) (.+?) -->", "".join(page.read_text(encoding="utf-8") for page in PAGES))


@pytest.mark.parametrize(("kind", "name"), LONG)
def test_what_the_site_adds_is_a_table_or_has_one(kind, name):
    assert re.search(r"\| -+ \|", long_part(kind, name)) or "|---|" in long_part(kind, name)
