"""Which components go with which covariates: correlations, their intervals, and skill on held-out rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from latentbits import DataError, associations, weights_over


def weights_and(n, slope, seed):
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    w = 1 / (1 + np.exp(-(slope * age + rng.normal(size=n))))
    return np.column_stack([w, 1 - w]), age


def test_spearman_of_each_component():
    W, age = weights_and(80, 1.0, 0)
    found = associations(W, {"age": age})
    np.testing.assert_allclose(found["correlation"], [spearmanr(W[:, k], age)[0] for k in (0, 1)])
    assert (found["lower"] < found["correlation"]).all()
    assert (found["correlation"] < found["upper"]).all()


def test_intervals_cover_the_correlation_of_the_population():
    truth = spearmanr(*[side.ravel() for side in (lambda W, a: (W[:, 0], a))(*weights_and(200_000, 0.7, 1))])[0]
    found = [associations(*(lambda W, a: (W, {"age": a}))(*weights_and(60, 0.7, s))).iloc[0] for s in range(2, 302)]
    covered = np.mean([one.lower <= truth <= one.upper for one in found])
    assert 0.86 <= covered <= 0.94


def test_skill_is_of_held_out_rows():
    curved, nothing = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=150)
        W = np.column_stack([x**2 + 0.1 * rng.normal(size=150), rng.normal(size=150)])
        found = associations(W, {"x": x})
        curved.append(found["skill"][0])
        nothing.append(found["skill"][1])
    assert min(curved) > 0.9
    assert np.mean(nothing) < 0.0  # what is fitted to noise costs


def test_a_line_for_each_category():
    rng = np.random.default_rng(4)
    habitat = rng.choice(["forest", "rock", "wet"], 90)
    W = np.column_stack([(habitat == "rock") + 0.2 * rng.normal(size=90)])
    found = associations(W, pd.DataFrame({"habitat": habitat, "name": [f"s{i}" for i in range(90)]}))
    assert found["category"].tolist() == ["forest", "rock", "wet"]
    assert found.set_index("category")["correlation"].idxmax() == "rock"
    assert found["skill"].nunique() == 1
    assert found["skill"].iloc[0] > 0.7


def test_missing_values_and_constants_are_left_out():
    W, age = weights_and(50, 2.0, 5)
    age[:10] = np.nan
    found = associations(W, {"age": age, "same": np.ones(50)})
    assert found["covariate"].unique().tolist() == ["age"]
    assert np.isfinite(found[["correlation", "lower", "upper", "skill"]]).all().all()


def test_a_row_of_weights_per_line():
    with pytest.raises(DataError, match="weights have the shape"):
        associations(np.ones((3, 2)), {"x": [1, 2]})


def test_intervals_of_mean_weights_hold_the_truth() -> None:
    rng, inside = np.random.default_rng(0), []
    for _ in range(100):
        x = rng.uniform(0, 1, 200)
        x[:5] = np.nan
        found = weights_over((np.nan_to_num(x) + rng.normal(size=200))[:, None], {"x": x})
        inside.append(((found["lower"] < found["value"]) & (found["value"] < found["upper"])).mean())
    assert len(found) == 12
    assert 0.86 < np.mean(inside) < 0.92


def test_mean_weights_of_categories() -> None:
    habitat = np.array(["wet"] * 20 + ["dry"] * 20 + [""] * 5)
    W = np.column_stack([habitat == "wet", habitat == "dry"]).astype(float)
    found = weights_over(W, {"habitat": habitat, "same": np.ones(45)}).set_index(["column", "value"])["weight"]
    assert found["component 1"].to_dict() == {"dry": 0.0, "wet": 1.0}
    assert found["component 2"].to_dict() == {"dry": 1.0, "wet": 0.0}


def test_a_number_with_few_values_has_a_mean_for_each() -> None:
    moisture = np.repeat([1, 2, 4, 5], 5)
    found = weights_over(moisture[:, None] / 10, {"moisture": moisture})
    assert found["value"].tolist() == [1, 2, 4, 5]
    assert found["weight"].to_numpy() == pytest.approx([0.1, 0.2, 0.4, 0.5])
