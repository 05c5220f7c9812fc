"""What a notebook shows: models, selections, comparisons, verdicts, correlations and reports, beside their one line."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from latentbits import (
    AspectBernoulli,
    BernoulliMixture,
    FalseZeros,
    IndependentBernoulli,
    LogisticPCA,
    RepeatedSurvey,
    compare,
    select_order,
    simulate,
    tetrachoric,
    verdict,
    views,
)
from tests.contracts.registry import CONTRACTS

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*no weight on any kept component"),
    pytest.mark.filterwarnings("ignore:.*empty cell"),
]
HOSTILE = "<script>alert(1)</script>"


class Seen(HTMLParser):
    """The text of a view, and its tags, which have to be closed in order."""

    void = {"br", "img", "input", "meta", "link", "hr", "path", "wbr"}

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.tags, self.open = "", [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data + " "


def shown(result) -> Seen:
    """What a notebook shows, and that nothing in it is run or loaded."""
    bundle = result._repr_mimebundle_() if hasattr(result, "_repr_mimebundle_") else {"text/html": result._repr_html_()}
    return Seen(bundle["text/html"])


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    cells = simulate.aspect_bernoulli(150, 12, 3, white_phantom=True, random_state=1).X
    return pd.DataFrame(cells, columns=[HOSTILE, *(f"species {j}" for j in range(1, 12))])


@pytest.fixture(scope="module")
def model(table) -> AspectBernoulli:
    return AspectBernoulli(3, n_init=3, random_state=0).fit(table)


def test_a_fitted_model_shows_size_restarts_components_and_parameters(model):
    seen = shown(model)
    assert "AspectBernoulli, fitted to 150 rows x 12 columns" in seen.text
    assert "of 3 restarts" in seen.text
    assert "white" in seen.text
    assert "n_components" in seen.text, "scikit-learn's own view is still there"
    percents = [int(number) for number in re.findall(r"(?<![\d.])(\d+) %", seen.text)]
    assert sorted(percents, reverse=True) == percents, "the largest component first"
    assert abs(sum(percents) - 100) <= 2


def test_names_are_text(model):
    html = model._repr_html_()
    assert HOSTILE not in html
    assert html.count("&lt;script&gt;") >= sum(HOSTILE in _told(model, k) for k in range(3)) > 0


def _told(model, k):
    apart = model.components_ - model.components_.mean(axis=0)
    return model.feature_names_in_[np.argsort(-apart[k], kind="stable")[:5]]


def test_an_unfitted_model_is_shown_by_scikit_learn_alone():
    assert "latentbits-view" not in LogisticPCA()._repr_html_()
    assert "latentbits-view" not in RepeatedSurvey()._repr_html_()


def test_display_as_text_is_respected(model):
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")


def test_the_text_is_one_line(model, table):
    for thing in (model, tetrachoric(table), model.report(table)):
        assert len(repr(thing).splitlines()) == 1


@pytest.mark.parametrize("contract", CONTRACTS, ids=repr)
@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_every_estimator_has_a_view(contract):
    fitted = contract.make_with(tol=1e-2).fit(contract.simulate(40, 0).X)
    assert type(fitted).__name__ + ", fitted" in shown(fitted).text


def test_many_components_are_cut_and_it_says_so():
    X = simulate.aspect_bernoulli(60, 30, 4, random_state=0).X
    assert "and 8 more" in shown(BernoulliMixture(20, n_init=1, random_state=0).fit(X)).text


def test_an_ensemble_shows_its_members():
    X = simulate.aspect_bernoulli(60, 12, 2, random_state=0).X
    seen = shown(FalseZeros(2, members=["aspects_2", "linear_autoencoder"], random_state=0).fit(X))
    assert {"aspects_2", "linear_autoencoder"} <= set(seen.text.split())
    assert "z = " in seen.text


def test_selections_comparisons_verdicts_and_correlations(table):
    found = select_order(AspectBernoulli(n_init=2), table, [2, 3], criterion=["aic", "bic"], random_state=0)
    assert f"aic chooses {found.best_order}" in shown(found).text
    assert shown(found).tags.count("tr") == 1 + len(found.table)
    models = [BernoulliMixture(2, n_init=1), IndependentBernoulli()]
    compared = compare(models, table, criterion="cells", n_folds=2, random_state=0)
    assert f"{compared.best} is best" in shown(compared).text
    answer = verdict(BernoulliMixture(2, n_init=1), table, n_folds=2, random_state=0)
    assert answer.sentences[0] in shown(answer).text
    pairs = tetrachoric(table)
    assert f"and {66 - 8} more" in shown(pairs).text
    assert HOSTILE not in pairs._repr_html_()


class TestReport:
    def test_without_a_path_it_is_shown_inside_the_notebook(self, model, table):
        page = model.report(table)
        html = page._repr_html_()
        assert html.startswith("<iframe")
        assert "<script" not in html, "the page is an attribute, and runs in its own frame"
        assert "AspectBernoulli, 150 x 12 cells" in repr(page)

    def test_saved_it_is_the_file_that_a_path_gives(self, model, table, tmp_path):
        page = model.report(table, tmp_path / "given.html")
        page.save(tmp_path / "saved.html")
        assert (tmp_path / "given.html").read_bytes() == (tmp_path / "saved.html").read_bytes()
        assert (tmp_path / "saved.html").read_text(encoding="utf-8") == page.html

    def test_opened_it_is_in_a_browser(self, model, table, monkeypatch):
        opened = []
        monkeypatch.setattr("webbrowser.open", opened.append)
        path = model.report(table).open()
        try:
            assert opened == [path.as_uri()]
            assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
        finally:
            path.unlink()


def test_views_import_nothing_but_the_standard_library():
    source = Path(views.__file__).read_text()
    imported = set(re.findall(r"^(?:from|import) (\w+)", source, re.MULTILINE))
    assert imported <= set(sys.stdlib_module_names)
