"""What is said and drawn about an ensemble."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from latentbits import BinaryData, FalseZeros, sentences, simulate
from latentbits.findings.account import SuspectList
from latentbits.findings.analyse import analyse
from latentbits.findings.false_zeros import _about_noise, _sure, merged_bins, share_interval
from latentbits.plots import plot_member_weights, plot_reliability

MEMBERS = ["aspects_2", "linear_autoencoder"]


@pytest.fixture(scope="module")
def seen() -> BinaryData:
    clean = simulate.aspect_bernoulli(60, 14, 2, sharpness=0.1, random_state=0).X
    return BinaryData.of(simulate.corrode(clean, 0.3, random_state=0).X)


def fitted(data: BinaryData, **parameters: object) -> FalseZeros:
    return FalseZeros(**{"n_folds": 2, "members": MEMBERS, "noise": None, "random_state": 0, **parameters}).fit(data)


@pytest.fixture(scope="module")
def model(seen: BinaryData) -> FalseZeros:
    return fitted(seen)


def said(model: FalseZeros, data: BinaryData, **question: object) -> str:
    return str(analyse(model, data, verdict=False, question=question))


def test_the_sentences_say_whose_say_counts_and_what_the_probability_is(model, seen):
    lines = said(model, seen)
    for name, weight in zip(model.members_, model.member_weights_, strict=True):
        assert f"{name} {weight:.2f}" in lines
    assert f"{model.n_hidden_:,} held-out cells" in lines
    assert "not the probability that it is present" in lines


def test_reliability_is_told_as_measured(model, seen):
    """Of merged bins: each has 100 cells or more, so the worst is never better than the mean."""
    cells = model.held_out_[["predicted", "observed", "count"]].to_numpy()[::-1]
    merged = merged_bins(cells)
    assert merged[:, 2].sum() == model.n_hidden_
    assert merged[:, 2].min() >= 100
    np.testing.assert_allclose(merged[:, 2] @ merged[:, :2], cells[:, 2] @ cells[:, :2])
    gap = np.abs(merged[:, 0] - merged[:, 1])
    words = said(model, seen)
    assert f"differ by {np.average(gap, weights=merged[:, 2]):.3f} on average" in words
    least = model.suspects(seen)["P(1 | the rest)"].iloc[:100].min()
    top = merged[: max(1, (merged[:, 0] >= least).sum())]
    predicted, observed = top[:, 2] @ top[:, :2] / top[:, 2].sum()
    assert f"{predicted:.2f} is predicted and {observed:.2f} observed (95% interval" in words


def test_few_cells_are_one_bin():
    merged = merged_bins(np.array([[0.9, 1.0, 10], [0.5, 0.2, 30]]))
    np.testing.assert_allclose(merged, [[0.6, 0.4, 40]])


def test_the_interval_of_a_share_is_wilsons():
    """Its ends are the shares from which the observed one is 1.96 standard errors away."""
    for end in share_interval(0.2, 142):
        assert abs(0.2 - end) / np.sqrt(end * (1 - end) / 142) == pytest.approx(1.96, abs=1e-3)
    assert share_interval(0.0, 5)[0] == 0
    assert share_interval(1.0, 5)[1] == 1


def test_members_without_weight_are_named(model):
    silent = SimpleNamespace(
        members_={"a": None, "b": None},
        member_weights_=np.array([1.0, 0.001]),
        held_out_=model.held_out_,
        n_hidden_=9,
        noise=None,
    )
    first = sentences.sentence(next(_sure(silent, SuspectList("absence", *np.zeros((3, 0))))))
    assert first == "Weights of the members' log odds, learned from 9 held-out cells: a 1.00; none: b."


def test_without_held_out_cells_all_have_the_same_weight(seen):
    found = analyse(fitted(seen, n_folds=None), seen)
    lines = str(found).splitlines()
    same = "All members have the same weight, as no cells were held out: aspects_2, linear_autoencoder."
    assert same in lines
    assert "reliability" not in found.tables
    assert found.tables["members"].columns.tolist() == ["member", "weight"]
    assert lines[-1] == "suspects.csv ranks the zeros all the same, by a model that wasn't tested."


@pytest.mark.parametrize(
    ("phantoms", "words"), [(["content", "white"], "lost ones"), (["black", "white"], "lost ones and got false ones")]
)
def test_rows_that_lost_ones_are_told(phantoms, words):
    noisy = SimpleNamespace(noise_model_=SimpleNamespace(phantoms_=np.array(phantoms)))
    expected = f"Some rows have {words} far more than others; scores allow for it."
    assert sentences.sentence(_about_noise(noisy)) == expected
    even = sentences.sentence(_about_noise(SimpleNamespace(noise_model_=None)))
    assert even.startswith("Rows don't clearly differ")


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ({}, "P(1 | the rest)"),
        ({"rate": 0.3}, "P(present)"),
        ({"rate": 0.3, "later_visits": 2}, "P(seen later)"),
        ({"kind": "presence"}, "P(0 | the rest)"),
    ],
)
def test_another_question_gets_another_list(model, seen, question, column):
    found = analyse(model, seen, verdict=False, question=question)
    expected = model.suspects(seen, top=1000, **question)
    np.testing.assert_allclose(found.tables["suspects"][column], expected[column])
    (listed,) = found.suspects
    np.testing.assert_array_equal(listed.rows, expected["row"])
    np.testing.assert_array_equal(listed.columns, expected["column"])
    assert listed.meaning == found.facts["suspects"].value["probability"] == column
    assert str(found).splitlines()[-1].startswith(f"{column}: ")
    assert next(iter(found.tables)) == "suspects"


# ---- figures ---------------------------------------------------------------------------------------------------------


def drawn(figure) -> None:
    """Layout and missing glyphs warn only now, and warnings are errors here."""
    figure.savefig(BytesIO(), format="png", dpi=40)


def test_the_reliability_curve_is_the_table(model):
    figure = plot_reliability(model)
    curve, counts = figure.axes
    x, y = curve.lines[1].get_data(orig=False)
    np.testing.assert_allclose(x, model.held_out_["predicted"])
    np.testing.assert_allclose(y, model.held_out_["observed"])
    assert [bar.get_height() for bar in counts.patches] == model.held_out_["count"].tolist()
    drawn(figure)


def test_without_hidden_cells_there_is_no_curve():
    with pytest.raises(ValueError, match="no cells were hidden in this fit"):
        plot_reliability(SimpleNamespace(held_out_=None))


@pytest.mark.parametrize("weights", [[0.7, 0.2], [0.0, 0.0]])
def test_bars_are_the_weights(weights):
    figure = plot_member_weights(SimpleNamespace(members_={"$a_1$": 1, "b": 2}, member_weights_=np.array(weights)))
    assert [bar.get_width() for bar in figure.axes[0].patches] == weights
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["$a_1$", "b"]
    drawn(figure)


def test_one_bin_can_be_drawn():
    table = pd.DataFrame({"lower": [0.0], "upper": [0.1], "predicted": [0.05], "observed": [0.0], "count": [3]})
    drawn(plot_reliability(SimpleNamespace(held_out_=table)))
