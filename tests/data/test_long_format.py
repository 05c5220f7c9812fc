"""Long format: a table of sites by species is made of observations, or the place of what doesn't fit is named."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from latentbits.data import long_format, read_table
from latentbits.errors import DataError
from tests.data.tables import Reader, cells

OBSERVED = "site,species,n\nP,oak,3\nP,ash,1\nQ,oak,0\nR,elm,2\nP,oak,3\n"


def test_observations_become_a_table(read: Reader) -> None:
    data = read(OBSERVED, long=["site", "species", "n"], threshold=2)
    assert (data.row_names, data.column_names, data.row_label) == (["P", "Q", "R"], ["oak", "ash", "elm"], "site")
    assert cells(data) == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert data.notes == ('each row is an observation of "species" at "site"; pairs that don\'t occur are 0',)
    assert cells(read(OBSERVED, long=("site", "species"))) == [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert cells(read(OBSERVED, long=("species", "site"))) == [[1, 1, 0], [1, 0, 0], [0, 0, 1]]


SITES = (
    "site,species,lon,elevation,lat,habitat,day\n"
    "P,oak,8.1,400,47,wet,1\nP,ash,8.1,400.0,47,wet,2\nQ,oak,8.2,,47.5,dry,1\n"
)


def test_lines_of_a_site_may_say_what_it_is_like(read: Reader) -> None:
    data = read(SITES, long=["site", "species"], covariates=["elevation", "habitat"], coordinates=["lon", "lat"])
    assert cells(data) == [[1, 1], [1, 0]]
    assert data.facts is not None
    np.testing.assert_array_equal(data.facts.numbers["elevation"], [400, np.nan])
    assert data.facts.categories["habitat"].tolist() == ["wet", "dry"]
    assert data.facts.coordinates.tolist() == [[8.1, 47], [8.2, 47.5]]
    everything = read(SITES, long=["site", "species"], covariates="all").facts
    assert everything is not None
    assert everything.names == ["elevation", "habitat", "lon", "lat"]  # the day differs between lines of P
    message = 'line 3: "day" is "2" here and "1" in line 2 for the same site; keep one of them, or leave the column out'
    with pytest.raises(DataError, match=re.escape(message)):
        read(SITES, long=["site", "species"], covariates=["day"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from("abcd"), st.sampled_from(["0", "1", "NA"])), min_size=1))
def test_every_observation_is_found_again(read: Reader, drawn: list[tuple[int, str, str]]) -> None:
    observed = {(str(site), species): value for site, species, value in drawn}
    text = "plot,taxon,seen\n" + "".join(f"{site},{species},{value}\n" for (site, species), value in observed.items())
    frame = read(text, long=["plot", "taxon", "seen"]).to_frame()
    for site in frame.index:
        for species in frame.columns:
            expected = observed.get((site, species), "0")
            assert str(frame.loc[site, species]).replace("<", "").replace(">", "") == expected


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (OBSERVED + "Q,oak,1\n", {}, 'line 7: "Q" and "oak" have the value 1 here and 0 in line 4; keep one of them'),
        (OBSERVED, {"threshold": None}, 'line 2, column "n": value 3 is neither 0 nor 1 (and 2 more bad cells, '),
        ("site,species,n\nP,,1\n", {}, 'line 2, column "species": the cell is empty, so it names nothing; fill it in'),
        (OBSERVED, {"long": ["site"]}, "long=['site'] is not two or three different columns; give those"),
        (OBSERVED, {"long": ["site", "site"]}, "is not two or three different columns"),
        (OBSERVED, {"long": ["site", "kind"]}, 'there is no column "kind"; did you mean'),
        (OBSERVED, {"exclude": ["n"]}, "the option exclude is about wide tables; leave it out, or leave out long"),
        (OBSERVED, {"metadata": ["n"]}, "the option metadata is about wide tables"),
    ],
)
def test_refusals(read: Reader, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        read(text, **{"long": ["site", "species", "n"], "threshold": 1, **options})


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        ("site,species\nP,oak\nP,ash\nQ,elm\n", "--long site species"),  # species that don't repeat
        ("plot_no,species,cover\n1,oak,1\n1,ash,1\n2,oak,1\n", "--long plot_no species cover"),
        ("species,site,n\noak,P,1\noak,Q,1\nash,P,1\n", "--long site species n"),
        (",plot,species,n\n1,P,oak,1\n2,P,ash,1\n3,Q,ash,1\n", "--long plot species n"),  # R's row names
    ],
)
@pytest.mark.parametrize("threshold", [None, 1])
def test_long_format_is_recognised(read: Reader, text: str, advised: str, threshold: float | None) -> None:
    with pytest.raises(
        DataError, match=re.escape("this looks like long format, a row for each observation; use long=")
    ):
        read(text, threshold=threshold)
    with pytest.raises(DataError, match=re.escape(f"({advised})")):
        read(text, threshold=threshold)


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        ("site,day,species\nP,1 May,oak\nP,1 May,ash\nQ,2 May,oak\n", "--long site species --visits day (read"),
        (
            "when,bird,place\n2025-05-23,owl,P\n2025-05-24,tit,P\n2025-05-23,,Q\n",
            "--long place bird --visits when (read",
        ),
        (
            "bird,plot,date,n\nowl,P,1/5/25,2\ntit,P,2/5/25,1\nowl,Q,1/5/25,3\n",
            "--long plot bird n --visits date (read",
        ),
        ("site,species,visit\nP,oak,1\nP,ash,2\nQ,oak,2\n", "--long site species --visits visit (read"),
    ],
)
def test_repeat_visits_are_recognised(read: Reader, text: str, advised: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"use latentbits repeat-visits {advised}")) as refused:
        read(text)
    assert ("or long=" in str(refused.value)) == (",,Q" not in text), "long= refuses a line without a species"


def test_lines_of_visits_in_vain_are_for_repeat_visits(read: Reader) -> None:
    with pytest.raises(DataError, match="fill it in, leave such lines out, or use latentbits repeat-visits if they"):
        read("site,species\nP,oak\nQ,\n", long=["site", "species"])
    with pytest.raises(DataError, match=r"fill it in$"):
        read("site,species\nP,oak\n,ash\n", long=["site", "species"])


@pytest.mark.parametrize(
    "text",
    [
        "senator,party,vote\nP,red,1\nQ,red,0\nR,blue,1\n",
        "party,v1,v2\nred,1,0\nred,0,1\nblue,1,1\n",
        "party,v1\nred,1\nred,0\nblue,1\n",
    ],
)
def test_other_tables_are_not(read: Reader, text: str) -> None:
    with pytest.warns(UserWarning, match='"party" is metadata'):
        assert read(text).metadata is not None


def test_who_says_what_columns_are_is_believed(read: Reader) -> None:
    text = "site,species,found\nP,oak,1\nP,ash,0\nQ,oak,1\n"
    data = read(text, metadata=["site", "species"])
    assert (data.column_names, data.metadata) == (
        ["found"],
        {"site": ["P", "P", "Q"], "species": ["oak", "ash", "oak"]},
    )


def test_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [3.0, 1.0, np.nan], "site": [1, 1, 2], "species": ["oak", "ash", "oak"]})
    frame.to_parquet(tmp_path / "t.parquet")
    data = read_table(tmp_path / "t.parquet", long=["site", "species", "n"], threshold=2)
    assert (data.row_names, data.column_names, cells(data)) == (["1", "2"], ["oak", "ash"], [[1, 0], [-1, 0]])
    with pytest.raises(DataError, match=r"t\.parquet: this looks like long format"):
        read_table(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r't\.parquet, row 1, column "n": value 3 is neither 0 nor 1'):
        read_table(tmp_path / "t.parquet", long=["site", "species", "n"])


def test_large_tables_stay_sparse(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_format, "_DENSE_CELLS", 5)
    data = read(OBSERVED + "R,ash,NA\n", long=["site", "species", "n"], threshold=1)
    assert data.is_sparse
    assert data.dense().tolist() == [[1, 1, 0], [0, 0, 0], [0, -1, 1]]
    assert data.sparse is not None
    assert (data.sparse.indices.dtype, data.sparse.indptr.dtype) == (np.int32, np.int64)
