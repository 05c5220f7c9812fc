"""When two fits are the same."""

import numpy as np
import pandas as pd

FITTED_ARRAYS = ("components_", "weights_", "member_weights_", "couplings_", "intercepts_", "means_")
FITTED_ARRAYS += ("objective_", "objective_history_")


def assert_same_fit(a, b, rounding=0.0):
    """To the last bit, or but for rounding."""
    assert vars(a).keys() ^ vars(b).keys() <= {"feature_names_in_"}
    for name in [name for name in FITTED_ARRAYS if name in vars(a)]:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rounding, atol=rounding, err_msg=name)
    if hasattr(a, "restarts_"):
        pd.testing.assert_frame_equal(a.restarts_, b.restarts_, rtol=rounding, atol=0, check_exact=rounding == 0)
