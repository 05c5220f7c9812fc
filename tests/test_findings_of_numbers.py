"""Findings of binary factors and ICA mixtures: what is said, of which rows, and how sure it is."""

import numpy as np
import pandas as pd
import pytest

from latentbits import BinaryFactorAnalysis, ICAMixture, analyse, simulate
from latentbits.notes import Code
from latentbits.storage.output_folder import FIGURES, TABLES


def said(found, code):
    return [note.arguments for note in found.notes if note.code is code]


def assert_may_be_replaced(found):
    """`--force` deletes only files of names that the output folder knows."""
    assert found.tables.keys() <= TABLES
    assert {figure.key for figure in found.figures} <= FIGURES


def test_gaussian_factors_are_not_called_binary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 8)) + rng.normal(size=(200, 8)) / 2
    found = analyse(BinaryFactorAnalysis(4, n_init=2, random_state=0), X)
    assert found.facts["nature"].value["kind"] == "continuous"
    assert str(found).startswith("Continuous factors describe 200 rows x 8 columns better than the ")
    assert "Nothing shows that the causes are on-off: BIC prefers 2 continuous factors by " in str(found)


def test_no_factor_is_an_answer():
    X = np.random.default_rng(0).normal(size=(200, 5))
    found = analyse(BinaryFactorAnalysis(3, n_init=2, random_state=0), X)
    assert str(found).startswith("0 binary factors found in 200 rows x 5 columns; 3 of 3 were discarded")
    assert "No on-off factor is stronger than the noise." in str(found)
    assert found.facts["nature"].value["kind"] == "none"


def test_factors_have_their_rows_their_margins_and_a_picture_of_their_states():
    truth = simulate.binary_factors(150, 8, 2, noise=0.3, random_state=0)
    found = analyse(BinaryFactorAnalysis(2, n_init=2, random_state=0), pd.DataFrame(truth.X, columns=list("abcdefgh")))
    model, table = found.subject.model, found.tables["intervals"]
    effects = table[table["quantity"] == "effect"]
    for factor in said(found, Code.FACTOR):
        name, value, margin = factor["changes"][0]
        line = effects[(effects["variable"] == name) & (effects["factor"] == factor["factor"] + 1)].iloc[0]
        assert value == pytest.approx(line["value"])
        assert margin == pytest.approx(line["high"] - line["value"])
        on = model.transform(pd.DataFrame(truth.X, columns=list("abcdefgh")))[:, factor["factor"]] > 0
        assert factor["rows_on"] == on.sum()
    assert [figure.key for figure in found.figures if figure.shows is Code.FACTOR_NATURE] == ["projections"]
    assert said(found, Code.ALL_FACTORS_KEPT) == [{"factors": 2}]
    assert_may_be_replaced(found)


def test_intervals_of_binary_factors_hold_the_truth():
    held = []
    for seed in range(5):
        truth = simulate.binary_factors(200, 6, 2, noise=0.5, random_state=seed)
        model = BinaryFactorAnalysis(2, inference="em", noise="equal", n_init=2, random_state=0).fit(truth.X)
        table = model.interval(truth.X, n_draws=20, random_state=0)
        effect = table[table["quantity"] == "effect"]
        low, high = (effect[end].to_numpy().reshape(6, 2) for end in ("low", "high"))
        cosines = truth.mixing.T @ model.mixing_
        for k, column in enumerate(2 * truth.mixing.T):
            m = int(np.abs(cosines[k]).argmax())
            turned = column * np.sign(cosines[k, m])
            held.append((low[:, m] <= turned) & (turned <= high[:, m]))
    assert np.mean(held) > 0.8


def test_clusters_with_missing_cells_are_described_in_their_own_units():
    line = [[1.0], [2.0]]
    X = simulate.ica_mixture([line, line], means=[[0, 0], [9, -3]], n_points=(60, 90), random_state=0).X
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=["length", "weight"])
    found = analyse(ICAMixture(2, 1, 3, n_init=1, random_state=0), frame)
    assert "nan" not in str(found).lower()
    labels = found.subject.model.predict(frame)
    first = said(found, Code.CLUSTER)[0]
    assert first["rows"] == (labels == 0).sum()
    names = [name for name, _, _ in first["apart"]]
    assert names[0] == "length"
    assert first["apart"][0][1:] == pytest.approx((frame["length"][labels == 0].mean(), frame["length"].mean()))
    assert not found.tables["separation"].isna().any(axis=None)
    assert not said(found, Code.ADJACENT_CLUSTERS)
    assert said(found, Code.ALL_CLUSTERS_KEPT) == [{"clusters": 2}]


def test_pieces_of_a_bow_are_told_as_such():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, 400)
    bow = np.column_stack([np.cos(angle), np.sin(angle)]) * 5 + 0.2 * rng.normal(size=(400, 2))
    found = analyse(ICAMixture(4, 2, 3, n_init=1, tol=1e-4, random_state=0), bow)
    assert len(said(found, Code.ADJACENT_CLUSTERS)) >= 1
    assert "rather pieces of one curved or stretched group than two groups" in str(found)
    assert_may_be_replaced(found)
