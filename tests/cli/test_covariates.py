"""Covariates on the command line: a fit with them, asked a month later about its own rows and about others."""

import numpy as np
import pandas as pd
import pytest

from latentbits import load_model
from tests.cli.conftest import assert_refused, invoke, summary_of

N, D = 60, 8
RNG = np.random.default_rng(1)
ELEVATION = RNG.uniform(300, 2000, N).round()
X = (np.outer((ELEVATION - 1100) / 500, RNG.normal(0, 2, D)) + RNG.normal(size=(N, D)) > 0).astype(int)
FRAME = pd.DataFrame(
    {
        "site": [f"S{i}" for i in range(N)],
        "lon": RNG.uniform(6, 9, N).round(3),
        "lat": RNG.uniform(46, 47, N).round(3),
        "elevation": ELEVATION,
        "habitat": RNG.choice(["forest", "rock"], N),
        **{f"s{j}": X[:, j] for j in range(D)},
    }
)
FAST = ["--members", "covariates_2,linear_autoencoder", "--folds", 2, "--noise", "none", "--no-report"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("covariates")
    FRAME.to_csv(where / "sites.csv", index=False)
    result = invoke("false-zeros", where / "sites.csv", "--covariates", "all", "--out", where / "run", *FAST)
    assert result.exit_code == 0, result.output
    assert "Known of the rows: covariates: elevation, habitat; coordinates: lon and lat." in result.output
    return where


def test_the_folder_knows_how_its_file_was_read(folder):
    reading = summary_of(folder / "run")["data"]["reading"]
    assert reading["covariates"] == ["elevation", "habitat"]
    assert reading["coordinates"] == ["lon", "lat"]
    assert load_model(folder / "run").member_weights_[0] > 0.3


@pytest.mark.parametrize("command", [("suspects",), ("explain", "--cell", "S1", "s2")])
def test_a_month_later(folder, command):
    name, *options = command
    result = invoke(name, folder / "run", folder / "sites.csv", *options)
    assert result.exit_code == 0, result.output
    assert "--covariates elevation --covariates habitat --coordinates lon --coordinates lat" in result.stderr


def test_one_command_leaves_list_map_curves_and_probabilities(folder):
    run = folder / "run"
    assert pd.read_csv(run / "suspects.csv")[["lon", "lat"]].notna().all().all()
    sites = pd.read_csv(run / "sites.csv")
    np.testing.assert_array_equal(sites["ones in the row"], X.sum(axis=1))
    np.testing.assert_allclose(sites[["lon", "lat"]], FRAME[["lon", "lat"]])
    probabilities = pd.read_csv(run / "probabilities.csv").set_index("site")
    assert probabilities.shape == X.shape
    assert ((probabilities > 0) & (probabilities < 1)).all().all()
    likely = summary_of(run)["likely"]
    assert likely["count"] == ((probabilities.to_numpy() > 0.5) & (X == 0)).sum() > 0
    exported = invoke("export", run, "--what", "probabilities", "--out", folder / "exported.csv")
    assert exported.exit_code == 0, exported.output
    np.testing.assert_allclose(pd.read_csv(folder / "exported.csv").set_index("site"), probabilities, atol=1e-6)
    assert set(pd.read_csv(run / "responses.csv")["covariate"]) == {"elevation", "habitat"}
    assert {"map.png", "responses.png", "variation.png"} <= {file.name for file in (run / "plots").iterdir()}


def test_the_report_is_made_again_without_the_file(folder):
    assert invoke("report", folder / "run").exit_code == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="elevation"), "rows lack elevation, which the fit had"),
        (lambda frame: frame.assign(habitat="lava"), '"lava", which the fit has not seen; it knows forest, rock'),
        (
            lambda frame: frame.drop(columns=["lon", "lat", "elevation", "habitat"]),
            "fitted with elevation, habitat, lon",
        ),
    ],
)
def test_new_rows_bring_the_same_columns(folder, change, message):
    change(FRAME.head(20)).to_csv(folder / "new.csv", index=False)
    assert_refused(invoke("suspects", folder / "run", folder / "new.csv"), message)


def test_by_name_with_commas(folder):
    args = ["--model", "probit-factors", "--components", 1, "--restarts", 1, "--no-verdict", "--no-report", "--force"]
    roles = ["--covariates", "elevation,habitat", "--coordinates", "lon,lat"]
    result = invoke("fit", folder / "sites.csv", *roles, "--out", folder / "probit", *args)
    assert result.exit_code == 0, result.output
    assert load_model(folder / "probit")._facts.coordinate_names == ("lon", "lat")


def test_a_model_that_does_not_use_them_says_so(folder):
    args = ["--model", "ising", "--no-verdict", "--no-report", "--out", folder / "ising"]
    result = invoke("fit", folder / "sites.csv", "--covariates", "all", *args)
    assert "this model doesn't use it: false-zeros and probit-factors do" in result.output


NEW = pd.DataFrame({"site": ["N1", "N2"], "lon": 7.5, "lat": 46.5, "elevation": [400, 1900], "habitat": "rock"})


def test_rows_that_nobody_has_looked_at(folder, tmp_path):
    NEW.to_csv(tmp_path / "new.csv", index=False)
    result = invoke("predict", folder / "run", tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    table = pd.read_csv(tmp_path / "p.csv", index_col="site")
    expected = load_model(folder / "run").predict_rows(NEW)
    np.testing.assert_allclose(table, expected, rtol=1e-6)
    assert table.index.tolist() == ["N1", "N2"]
    assert table.loc["N1"].corr(table.loc["N2"]) < 0  # species of the valley and of the mountains


def test_without_labels_in_the_fit_no_column_names_the_rows(tmp_path):
    FRAME.drop(columns="site").to_csv(tmp_path / "sites.csv", index=False)
    args = ["--model", "probit-factors", "--components", 1, "--restarts", 1, "--no-verdict", "--no-report"]
    roles = ["--covariates", "elevation,habitat", "--coordinates", "lon,lat"]
    fitted = invoke("fit", tmp_path / "sites.csv", *roles, "--out", tmp_path / "run", *args)
    assert fitted.exit_code == 0, fitted.output
    NEW.rename(columns={"site": "None"}).to_csv(tmp_path / "new.csv", index=False)
    result = invoke("predict", tmp_path / "run", tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "p.csv")["row"].tolist() == ["row 1", "row 2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (NEW.assign(habitat="dunes"), 'has the category "dunes", which the fit has not seen; it knows forest, rock'),
        (NEW.drop(columns="elevation"), "rows lack elevation, which the fit had"),
        (NEW.assign(lat=""), 'coordinate "lat" is missing or no number'),
    ],
)
def test_rows_that_lack_something_are_refused(folder, tmp_path, change, message):
    change.to_csv(tmp_path / "new.csv", index=False)
    assert_refused(invoke("predict", folder / "run", tmp_path / "new.csv"), message)


def test_a_model_that_knows_nothing_of_rows_predicts_none(tmp_path):
    FRAME.drop(columns=["lon", "lat", "elevation", "habitat"]).to_csv(tmp_path / "sites.csv", index=False)
    fitted = ["--model", "bernoulli-mixture", "--components", 2, "--out", tmp_path / "run", "--no-report"]
    assert invoke("fit", tmp_path / "sites.csv", *fitted).exit_code == 0
    assert_refused(invoke("predict", tmp_path / "run", tmp_path / "sites.csv"), "knows nothing of its rows")


def test_a_run_with_maps_and_curves_is_replaced(folder):
    run = folder / "run"
    assert {"map.png", "responses.png", "responses_1.png", "variation.png"} <= {
        p.name for p in (run / "plots").iterdir()
    }
    result = invoke("false-zeros", folder / "sites.csv", "--covariates", "all", "--out", run, *FAST, "--force")
    assert result.exit_code == 0, result.output
    assert "not in the lists" not in result.output
