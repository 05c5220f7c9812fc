"""Columns of a file that describe its rows: covariates, coordinates and effort, by name or all of them."""

import re

import numpy as np
import pandas as pd
import pytest

from latentbits import BinaryData, DataError, read_table
from latentbits.storage.stored_data import load_data, save_data

N = 30
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "site": [f"S{i}" for i in range(N)],
        "lon": RNG.uniform(6, 9, N).round(3),
        "lat": RNG.uniform(46, 47, N).round(3),
        "elevation": RNG.integers(300, 2000, N),
        "habitat": RNG.choice(["forest", "rock"], N),
        "minutes": RNG.integers(20, 90, N),
        **{f"s{j}": RNG.integers(0, 2, N) for j in range(5)},
    }
)
NAMED = {"covariates": ["elevation", "habitat"], "coordinates": ["lon", "lat"], "effort": "minutes"}


@pytest.fixture
def table(tmp_path):
    def write(frame=FRAME, name="sites.csv", **options):
        path = tmp_path / name
        frame.to_csv(path, index=False, **options)
        return path

    return write


class TestNamed:
    def test_they_are_no_data(self, table):
        data = read_table(table(), **NAMED)
        assert data.column_names == [f"s{j}" for j in range(5)]
        assert data.row_names == FRAME["site"].tolist()
        np.testing.assert_array_equal(data.facts.numbers["elevation"], FRAME["elevation"])
        assert data.facts.categories["habitat"].tolist() == FRAME["habitat"].tolist()
        np.testing.assert_array_equal(data.facts.coordinates, FRAME[["lon", "lat"]])
        np.testing.assert_array_equal(data.facts.effort, FRAME["minutes"])

    def test_another_file_is_read_in_the_same_way(self, table):
        data = read_table(table(), **NAMED)
        again = read_table(table(FRAME.iloc[::-1], "new.csv"), like=data.reading)
        np.testing.assert_array_equal(again.facts.effort, data.facts.effort[::-1])

    def test_missing_cells_and_decimal_commas(self, table):
        frame = FRAME.assign(elevation=FRAME["elevation"] + 0.5, habitat=["?", *FRAME["habitat"][1:]])
        frame.loc[0, "elevation"] = np.nan
        path = table(frame, sep=";", decimal=",")
        data = read_table(path, covariates=["elevation", "habitat"], exclude=["lon", "lat", "minutes"], decimal=",")
        assert np.isnan(data.facts.numbers["elevation"][0])
        assert data.facts.numbers["elevation"][1] == FRAME["elevation"][1] + 0.5
        assert data.facts.categories["habitat"][0] == ""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"covariates": ["elevatoin"]}, 'no column "elevatoin"; did you mean "elevation"'),
            ({"covariates": "all", "coordinates": ["lon"]}, r"sites.csv: coordinates=\['lon'\] must name two columns"),
            ({"covariates": "all", "effort": "habitat"}, 'sites.csv: effort "habitat" must be a number above 0'),
        ],
    )
    def test_what_is_wrong_is_said(self, table, options, message):
        with pytest.raises(DataError, match=message):
            read_table(table(), **options)


class TestAll:
    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("threshold", [None, 1])
    def test_every_column_that_is_no_data(self, table, threshold):
        frame = FRAME.drop(columns="minutes")
        data = read_table(table(frame), covariates="all", threshold=threshold)
        assert list(data.facts.numbers) == ["elevation"]
        assert list(data.facts.categories) == ["habitat"]
        assert data.facts.coordinate_names == ("lon", "lat")
        assert data.shape == (N, 5)
        assert "covariates: elevation, habitat; coordinates: lon, lat" in data.notes
        assert data.reading["covariates"] == ["elevation", "habitat"]
        assert data.reading["coordinates"] == ["lon", "lat"]

    def test_typed_tables_are_read_alike(self, tmp_path, table):
        path = tmp_path / "sites.parquet"
        FRAME.to_parquet(path)
        wide, typed = read_table(table(), covariates="all"), read_table(path, covariates="all")
        assert wide.fingerprint() == typed.fingerprint()

    def test_a_slip_in_a_data_column_is_none(self, table):
        with pytest.raises(DataError, match='column "s2": value 2 is neither 0 nor 1'):
            read_table(table(FRAME.assign(s2=[2, *FRAME["s2"][1:]])), covariates="all")

    def test_names_of_rows_and_metadata_are_none(self, table):
        frame = FRAME.assign(plot_id=RNG.permutation(N) + 100, visits=RNG.integers(1, 5, N))
        data = read_table(table(frame), covariates="all", metadata="visits")
        assert not {"plot_id", "visits"} & {*data.facts.numbers, *data.facts.categories}

    def test_a_table_without_is_as_before(self, table):
        data = read_table(table(FRAME[["site", "s0", "s1"]]), covariates="all")
        assert data.facts is None


def test_what_is_found_is_offered_by_name(table):
    with pytest.warns(UserWarning, match=r"--covariates habitat"):
        read_table(table(FRAME[["site", "habitat", "s0", "s1"]]))
    with pytest.raises(DataError, match=r"or covariates='all' \(--covariates all\) if it describes the rows"):
        read_table(table(FRAME[["site", "elevation", "s0", "s1", "s2"]]))


@pytest.mark.parametrize("axes", [("lon", "lat"), ("x", "y")])
def test_coordinates_are_offered_by_name(table, axes):
    frame = FRAME.rename(columns=dict(zip(("lon", "lat"), axes, strict=True))).drop(columns="minutes")
    flags = f"--coordinates {','.join(axes)} --covariates all"
    with pytest.raises(DataError, match=re.escape(f"or coordinates={[*axes]!r} and covariates='all' ({flags}) if")):
        read_table(table(frame))
    facts = read_table(table(frame), coordinates=axes, covariates="all").facts
    assert facts.coordinates.shape == (N, 2)
    alone = re.escape(f"or coordinates={[*axes]!r} (--coordinates {','.join(axes)}) if")
    with pytest.raises(DataError, match=alone):
        read_table(table(frame.drop(columns=["elevation", "habitat"])))


def test_named_roles_are_confirmed(table):
    told = "covariates: elevation, habitat; coordinates: lon, lat; effort: minutes"
    assert told in read_table(table(), **NAMED).notes


@pytest.mark.parametrize(
    "roles", [NAMED, {"covariates": ["habitat"]}, {"covariates": [], "coordinates": ("lon", "lat")}]
)
def test_stored_data_keep_them(tmp_path, roles):
    data = BinaryData.of(FRAME[["s0", "s1"]], rows=FRAME, **roles)
    save_data(data, tmp_path / "data.npz")
    again, _ = load_data(tmp_path / "data.npz")
    assert again.facts.checksum() == data.facts.checksum()
    assert again.fingerprint() == data.fingerprint()
