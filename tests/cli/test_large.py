"""Large tables on the command line: Parquet, checkpoints, a cluster, and answers about a part of the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from latentbits import load_model, read_table, simulate
from latentbits.data import typed_tables as large_parquet
from latentbits.findings import analyse as analysis

from .conftest import FAST, Run, assert_refused, summary_of

pytestmark = pytest.mark.usefixtures("without_plots")
SETTINGS = [*FAST, "--no-verdict"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X = simulate.aspect_bernoulli(400, 25, 3, random_state=0).X
    file = tmp_path_factory.mktemp("large") / "table.parquet"
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(25)]).assign(site=[f"s{i}" for i in range(400)])
    frame.to_parquet(file)
    return file


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is large: bits in blocks, and answers about a tenth of the rows."""
    monkeypatch.setattr(large_parquet, "LARGE", 0)
    monkeypatch.setattr(large_parquet, "BATCH_CELLS", 1000)
    monkeypatch.setattr(analysis, "MOST_CELLS", 9999)
    monkeypatch.setattr(analysis, "PART_CELLS", 1000)


def components(folder: Path) -> np.ndarray:
    return np.asarray(load_model(folder / "model.npz").components_)


@pytest.mark.usefixtures("large")
def test_weights_and_suspects_are_of_all_rows(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, *SETTINGS, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    first, *_ = result.stdout.splitlines()
    assert first.startswith("3 components fitted to 400 rows x 25 columns; weights.csv and suspects.csv are about all")
    assert first.endswith("about a random part of 40 rows.")
    weights = pd.read_csv(tmp_path / "run" / "weights.csv")
    assert weights["site"].tolist() == [f"s{i}" for i in range(400)]
    assert len(pd.read_csv(tmp_path / "run" / "denoised.csv")) == 40
    assert summary_of(tmp_path / "run")["part"] == {"rows": 40, "of": 400}
    model = load_model(tmp_path / "run" / "model.npz")
    expected = model.suspects(read_table(table), top=1000)
    written = pd.read_csv(tmp_path / "run" / "suspects.csv")
    assert written["row"].tolist() == expected["row"].tolist()
    assert written["column"].tolist() == expected["column"].tolist()


@pytest.mark.usefixtures("large")
def test_rows_of_the_part_are_called_by_their_place_in_the_table(run: Run, table: Path, tmp_path: Path) -> None:
    pd.read_parquet(table).drop(columns="site").to_parquet(tmp_path / "unnamed.parquet")
    run("fit", tmp_path / "unnamed.parquet", *SETTINGS, "--out", tmp_path / "run")
    cells, whole = pd.read_csv(tmp_path / "run" / "denoised.csv"), read_table(tmp_path / "unnamed.parquet").dense()
    places = [int(name.removeprefix("row ")) - 1 for name in cells["row"]]
    assert max(places) > 40
    np.testing.assert_array_equal(cells.drop(columns="row"), whole[places])


def test_a_table_in_blocks_is_fitted_as_one_at_once(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("fit", table, *SETTINGS, "--out", tmp_path / "at once")
    monkeypatch.setattr(large_parquet, "LARGE", 0)
    run("fit", table, *SETTINGS, "--out", tmp_path / "in blocks")
    np.testing.assert_array_equal(components(tmp_path / "at once"), components(tmp_path / "in blocks"))
    again = run("report", tmp_path / "in blocks", "--out", tmp_path / "report.html")
    assert again.exit_code == 0, again.output


def test_a_folder_of_parquet_files_is_one_table(run: Run, table: Path, tmp_path: Path) -> None:
    frame = pd.read_parquet(table)
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate((slice(0, 150), slice(150, 400))):
        frame[rows].to_parquet(tmp_path / "parts" / f"{number}.parquet", index=False)
    run("fit", table, *SETTINGS, "--out", tmp_path / "file")
    result = run("fit", tmp_path / "parts", *SETTINGS, "--out", tmp_path / "folder")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(components(tmp_path / "file"), components(tmp_path / "folder"))
    assert run("suspects", tmp_path / "folder", tmp_path / "parts", "--top", 3).exit_code == 0
    (tmp_path / "empty").mkdir()
    assert_refused(
        run("fit", tmp_path / "empty", *SETTINGS, "--out", tmp_path / "x"), "a folder without .parquet files"
    )
    two = run("fit", table, table, *SETTINGS, "--out", tmp_path / "x")
    assert_refused(two, "unexpected extra argument", code=2)


def test_a_checkpoint_is_left_and_used(run: Run, table: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        result = run("fit", table, *SETTINGS, "--checkpoint", tmp_path / "positions", "--out", tmp_path / name)
        assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "positions").glob("*/run-?.npz"))) == 2, "the starts of one problem"
    np.testing.assert_array_equal(components(tmp_path / "first"), components(tmp_path / "second"))


def test_a_cluster_gives_the_same_model(run: Run, table: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs dask and distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    run("fit", table, *SETTINGS, "--out", tmp_path / "here")
    with distributed.LocalCluster(processes=False, **options) as local:
        address = local.scheduler_address
        result = run("fit", table, *SETTINGS, "--cluster", address, "--out", tmp_path / "there")
        assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(components(tmp_path / "here"), components(tmp_path / "there"))


class TestRefused:
    def test_a_model_that_no_cluster_can_fit(self, run: Run, table: Path, tmp_path: Path) -> None:
        options = ["--model", "bernoulli-mixture", "--components", 2, "--cluster", "tcp://127.0.0.1:1"]
        assert_refused(
            run("fit", table, *options, "--out", tmp_path / "run"), "not an option of bernoulli-mixture", code=2
        )

    def test_a_range(self, run: Run, table: Path, tmp_path: Path) -> None:
        options = ["--model", "aspect-bernoulli", "--components", "2:3", "--cluster", "tcp://127.0.0.1:1"]
        result = run("fit", table, *options, "--out", tmp_path / "run")
        assert_refused(result, "--cluster is for one number of --components", code=2)

    def test_a_scheduler_that_is_not_there(
        self, run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("distributed", reason="needs dask and distributed")
        monkeypatch.setattr(analysis, "PATIENCE", 0.2)
        result = run("fit", table, *SETTINGS, "--cluster", "tcp://127.0.0.1:1", "--out", tmp_path / "run")
        assert_refused(result, "--cluster tcp://127.0.0.1:1: no scheduler answers there", "check the address")

    def test_a_checkpoint_of_chains(self, run: Run, table: Path, tmp_path: Path) -> None:
        options = ["--model", "beta-ica", "--inference", "gibbs", "--components", 2, "--checkpoint", tmp_path / "x"]
        assert_refused(run("fit", table, *options, "--out", tmp_path / "run"), "chains keep no checkpoint")
