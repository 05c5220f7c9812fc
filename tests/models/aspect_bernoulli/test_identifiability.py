"""What the cells can't tell: the level of a black component beside a white one."""

import numpy as np
import pytest


@pytest.mark.parametrize("c", [0.5, 0.7, 1.3, 1.6])
def test_black_beside_white_has_no_level(c):
    """Replace H_b by H_w + c (H_b - H_w) and W_b by W_b / c, the rest of it to W_w: every probability stays the same.

    So no likelihood prefers a component near 1 to one at 0.5, as long as its weights stay on the simplex: c may be as
    small as the largest share of W_b among W_b + W_w allows. The paper's noise puts at most 0.4 of a row's cells to
    1, so a level of 0.4 explains them as well as one of 1.
    """
    rng = np.random.default_rng(0)
    W = rng.dirichlet([1, 1, 1], 50)
    # A third of a row's weight is free for the two; black has at most 0.4 of that.
    W = np.column_stack([W * 2 / 3, (1 - (black := 0.4 * rng.random(50))) / 3, black / 3])
    H = np.vstack([rng.random((3, 20)), np.full(20, 0.001), np.full(20, 0.6)])
    moved, weights = H.copy(), W.copy()
    moved[4] = H[3] + c * (H[4] - H[3])
    weights[:, 4] = W[:, 4] / c
    weights[:, 3] = W[:, 3] + W[:, 4] - weights[:, 4]
    assert (weights >= 0).all()
    assert ((moved >= 0) & (moved <= 1)).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights @ moved, W @ H, atol=1e-14)
    assert abs(moved[4, 0] - H[4, 0]) > 0.15
