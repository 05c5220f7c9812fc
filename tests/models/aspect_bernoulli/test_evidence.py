"""Denoising by evidence: whether noise is noise, and which cells are more likely false than not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from latentbits import AspectBernoulli, BetaICA, BinaryData, DataError, simulate
from latentbits.errors import NoNoiseComponentWarning
from latentbits.fitting.held_out import Line
from latentbits.models.aspect.noise_evidence import NoiseEvidence

CLEAN = simulate.aspect_bernoulli(100, 25, 3, sharpness=0.1, concentration=0.2, density=0.5, random_state=1).X
NOISY = simulate.corrode(CLEAN, 0.8, random_state=1)
SPARSE = simulate.aspect_bernoulli(100, 25, 4, sharpness=0.1, concentration=0.2, density=0.12, random_state=0).X
SPARSE.flat[np.random.default_rng(0).choice(np.flatnonzero(SPARSE == 1), 59, replace=False)] = 0


@pytest.fixture(scope="module")
def lossy() -> BetaICA:
    return BetaICA(4, n_init=5, random_state=0).fit(NOISY.X)


def test_most_of_what_is_filled_was_lost(lossy: BetaICA) -> None:
    cells = lossy.denoise(NOISY.X)
    filled = cells != NOISY.X
    assert filled.sum() > 30
    assert NOISY.changed[filled].mean() > 0.8
    assert (cells[NOISY.X == 1] == 1).all(), "its noise is white"
    assert filled.sum() < (lossy.denoise(NOISY.X, threshold=0.5) != NOISY.X).sum(), "the papers' rule fills more"


def test_swapping_0_and_1_takes_ones_away() -> None:
    model = BetaICA(4, n_init=5, random_state=0).fit(1 - NOISY.X)
    cells = model.denoise(1 - NOISY.X)
    assert (cells <= 1 - NOISY.X).all()
    assert NOISY.changed[cells != 1 - NOISY.X].mean() > 0.8


def test_the_level_is_the_probability_above_which_cells_change(lossy: BetaICA) -> None:
    solved = lossy._solved(NOISY.X)
    false = solved._false(solved.evidence)
    for level in (0.0, 0.4, 0.6):
        np.testing.assert_array_equal(lossy.denoise(NOISY.X, level=level) != NOISY.X, false > level)
    with pytest.warns(NoNoiseComponentWarning, match=r"no cell is false with a probability above 0\.999"):
        np.testing.assert_array_equal(lossy.denoise(NOISY.X, level=0.999), NOISY.X)
    with pytest.raises(DataError, match="level=1"):
        lossy.denoise(NOISY.X, level=1)


def test_the_probability_is_that_of_the_noise_model_and_no_larger_than_that_of_the_other_value() -> None:
    """By enumeration: who makes the cell (white, black, content), and what content would make of it."""
    rng = np.random.default_rng(0)
    kinds = np.array(["white", "black", "content"])
    for _ in range(50):
        w, b, c = weights = rng.dirichlet(np.ones(3))
        t = rng.random()
        joint = {(0, x): w * (t if x else 1 - t) for x in (0, 1)} | {(1, x): b * (t if x else 1 - t) for x in (0, 1)}
        makes = {0: w + c * (1 - t), 1: b + c * t}
        expected = [min(joint[value, 1 - value] / makes[value], makes[1 - value]) for value in (0, 1)]
        evidence = NoiseEvidence(kinds, None, None, {0: Line(0.0, 1.0), 1: Line(0.0, 1.0)})
        p = np.full((1, 2), b + c * t)
        if 0.001 < p[0, 0] < 0.999:
            found = evidence.other_value(np.array([[0, 1]]), p, weights[None])
            np.testing.assert_allclose(found, [expected], rtol=1e-6)


def test_components_of_exact_zeros_and_ones_have_probabilities_too() -> None:
    steep = {0: Line(0.0, 1e4), 1: Line(0.0, 1e4)}  # makes probabilities of exactly 0 and 1
    cells, p = np.array([[0, 0, 1, 1]] * 3), np.array([[0.0, 1.0, 0.0, 1.0]] * 3)
    weights = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = NoiseEvidence(np.array(["white", "black", "content"]), None, None, steep).other_value(cells, p, weights)
    assert ((found >= 0) & (found <= 1)).all()
    assert (found[0] == 0).all(), "a row without noise has no false cells"


def test_sparse_content_is_not_noise() -> None:
    model = AspectBernoulli(4, n_init=5, random_state=0).fit(SPARSE)
    assert "white" in model.phantoms_, "it looks like noise"
    with pytest.warns(NoNoiseComponentWarning, match="predicts held-out cells better as free content"):
        np.testing.assert_array_equal(model.denoise(SPARSE), SPARSE)
    evidence = model._solved(SPARSE).evidence
    assert evidence.gain < -evidence.gain_se
    assert not evidence.is_earned
    assert set(evidence.kinds) == {"content"}


def test_noise_that_was_asked_for_is_not_tried_again() -> None:
    model = BetaICA(3, noise="white", n_init=3, random_state=0).fit(NOISY.X)
    evidence = model._solved(NOISY.X).evidence
    assert evidence.gain is None
    assert evidence.is_earned
    filled = model.denoise(NOISY.X) != NOISY.X
    assert NOISY.changed[filled].mean() > 0.7


def test_few_rows_are_judged_by_others(lossy: BetaICA) -> None:
    whole = lossy.denoise(NOISY.X)
    np.testing.assert_array_equal(lossy.denoise(NOISY.X[:3], judged_on=NOISY.X), whole[:3])
    with pytest.warns(NoNoiseComponentWarning, match="cells are too few to judge by"):
        np.testing.assert_array_equal(lossy.denoise(NOISY.X[:3]), NOISY.X[:3])


def test_missing_cells_are_filled_and_nothing_is_nan(lossy: BetaICA) -> None:
    holes = NOISY.X.astype(float)
    holes[::4, ::3] = np.nan
    cells = lossy.denoise(holes)
    assert set(np.unique(cells)) == {0, 1}
    seen = ~np.isnan(holes)
    assert (cells[seen] >= holes[seen]).all()


def test_it_depends_on_nothing_but_model_and_rows(lossy: BetaICA) -> None:
    again = BetaICA(4, n_init=5, random_state=0, n_jobs=2).fit(NOISY.X)
    np.testing.assert_array_equal(again.denoise(NOISY.X), lossy.denoise(NOISY.X))
    np.testing.assert_array_equal(lossy.denoise(BinaryData.of(NOISY.X)), lossy.denoise(NOISY.X))


def test_marks_go_before_evidence(lossy: BetaICA) -> None:
    solved = lossy._solved(NOISY.X)
    i, j = np.argwhere(solved.denoised != NOISY.X)[0]
    mark = {"row": int(i), "column": int(j), "mark": "reject"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert lossy.denoise(NOISY.X, marks=[mark])[i, j] == 0
