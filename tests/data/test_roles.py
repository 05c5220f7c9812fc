"""Which column names the rows and which are metadata: one rule, with and without a threshold, for every format."""

import csv
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from latentbits.data import BinaryData, read_table
from latentbits.data.roles import is_identifier
from latentbits.errors import DataError
from tests.data.tables import Reader, cells

RNG = np.random.default_rng(15)
SPECIES = [f"species {j}" for j in range(8)]
COUNTS = RNG.poisson(0.8, (12, len(SPECIES)))
PARTIES = ["red", "blue", "green", "red"] * 3
MANAGEMENT = ["BF", "SF", "HF", "NM"] * 3

LABELS: dict[str, tuple[str, list[str]]] = {
    "site numbers": ("Site", [str(i + 1) for i in range(12)]),
    "shuffled site numbers": ("plot_id", [str(i) for i in RNG.permutation(12) + 1]),
    "numbers with gaps": ("Aufnahme", [str(i) for i in np.cumsum(RNG.integers(1, 9, 12))]),
    "numbers with zeros in front": ("isolate", [f"{i:03d}" for i in range(1, 13)]),
    "site codes": ("locality", [f"S{i}" for i in range(12)]),
    "mixed codes": ("quadrat", [str(i) for i in range(1, 12)] + ["11b"]),
    "without a name": ("", [str(i) for i in range(12)]),
}
BESIDE: dict[str, dict[str, list[str]]] = {
    "nothing": {},
    "party": {"party": PARTIES},
    "management and party": {"Management": MANAGEMENT, "party": PARTIES},
    "site of two visits": {"site name": [f"Lake {i // 2}" for i in range(12)]},
    "number of two visits": {"Plot": [str(i // 2 + 1) for i in range(12)]},
}


def table(values: np.ndarray, *groups: dict[str, list[str]]) -> pd.DataFrame:
    """Labels and metadata, as text, before the values."""
    columns: dict[str, Any] = {name: texts for group in groups for name, texts in group.items()}
    return pd.DataFrame(columns | dict(zip(SPECIES, values.T, strict=True)))


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    elif path.suffix == ".xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path


def read_quietly(path: Path, **options: Any) -> BinaryData:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read_table(path, **options)


def assert_cells_stand_in(text: str, data: BinaryData, label: str, threshold: float) -> None:
    """Look every cell up in the text: in the line that begins with the row's name, under the column's name."""
    names = data.row_names if data.row_names is not None else [str(i + 1) for i in range(data.shape[0])]
    lines = list(csv.DictReader(io.StringIO(text)))
    found = {(line[label] if data.row_names is not None else str(i + 1)): line for i, line in enumerate(lines)}
    for i, row in enumerate(names):
        for j, column in enumerate(data.column_names or []):
            assert data.dense()[i, j] == (float(found[row][column]) >= threshold), (row, column)
        for name, texts in (data.metadata or {}).items():
            assert texts[i] == found[row][name]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".xlsx"])
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("label", LABELS)
def test_the_same_labels_with_and_without_a_threshold(tmp_path: Path, label: str, beside: str, suffix: str) -> None:
    name, texts = LABELS[label]
    if not name and suffix in (".parquet", ".feather"):
        pytest.skip("typed tables have an index instead of a column without a name")
    counts, bits = (table(values, {name: texts}, BESIDE[beside]) for values in (COUNTS, (COUNTS > 0).astype(int)))
    read = [
        read_quietly(write(counts, tmp_path / f"counts{suffix}"), threshold=1),
        read_quietly(write(bits, tmp_path / f"bits{suffix}"), threshold=1),
        read_quietly(write(bits, tmp_path / f"bits{suffix}")),
    ]
    for data in read:
        assert (data.row_names, data.row_label) == (texts, name or None)
        assert data.metadata == (BESIDE[beside] or None)
        assert data.column_names == SPECIES
        assert data.notes == read[0].notes
    assert_cells_stand_in(counts.to_csv(index=False), read[0], name, 1)
    assert_cells_stand_in(bits.to_csv(index=False), read[2], name, 1)


@pytest.mark.parametrize("threshold", [None, 1])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".xlsx"])
def test_a_party_or_management_type_is_no_label(tmp_path: Path, suffix: str, threshold: float | None) -> None:
    bits = (COUNTS > 0).astype(int)
    for name, texts in {"party": PARTIES, "Management": MANAGEMENT, "site": PARTIES}.items():
        frame = table(bits, {name: texts})
        with pytest.warns(UserWarning, match=f'the column "{name}" is metadata, kept beside the rows') as caught:
            data = read_table(write(frame, tmp_path / f"t{suffix}"), threshold=threshold)
        assert caught[0].filename == __file__
        assert (data.row_names, data.row_label, data.metadata) == (None, None, {name: texts})
        assert data.notes == (f'the column "{name}" is metadata, kept beside the rows (text with repeats)',)
        assert_cells_stand_in(frame.to_csv(index=False), data, name, 1)


def test_metadata_may_stand_anywhere(read: Reader) -> None:
    with pytest.warns(UserWarning, match="is metadata"):
        data = read("a,party,b,name\n1,red,0,P\n0,blue,1,Q\n1,,1,R\n0,red,0,S\n")
    assert (data.row_names, data.metadata) == (list("PQRS"), {"party": ["red", "blue", "", "red"]})
    assert (data.column_names, cells(data)) == (["a", "b"], [[1, 0], [0, 1], [1, 1], [0, 0]])


def test_what_is_said_goes_before_the_rule(read: Reader) -> None:
    text = "site,party,code,a,b\n1,red,7,1,0\n2,red,8,0,1\n3,blue,9,1,1\n"
    with pytest.warns(UserWarning, match="is metadata") as caught:
        data = read(text, row_labels="code")
    assert data.row_names == ["7", "8", "9"]
    assert data.metadata == {"site": ["1", "2", "3"], "party": ["red", "red", "blue"]}
    assert len(caught) == 2
    with pytest.warns(UserWarning, match='"party"'):
        data = read(text, row_labels=False, threshold=1)
    assert (data.row_names, data.column_names) == (None, ["site", "code", "a", "b"])
    data = read(text, metadata=["party", "a"], columns=["b"])
    assert (data.row_names, data.column_names) == (["1", "2", "3"], ["b"])
    assert data.metadata == {"party": ["red", "red", "blue"], "a": ["1", "0", "1"]}
    assert read(text, metadata="party", row_labels="site", exclude=["code"]).column_names == ["a", "b"]
    with pytest.raises(DataError, match='there is no column "partys"; did you mean "party"'):
        read(text, metadata="partys")


@pytest.mark.parametrize(
    ("text", "labels", "warned"),
    [
        ("nr2,a,b\n1,0,1\n2,1,1\n5,1,1\n", ["1", "2", "5"], "whole numbers that increase"),
        ("x,a,b\n0,0,1\n1,1,1\n2,1,1\n", ["0", "1", "2"], "whole numbers that increase"),
        ("id,a,b\n9,0,1\n2,1,1\n5,1,1\n", ["9", "2", "5"], None),
        ("id,a,b\n1,0,1\n", ["1"], None),
        ("a,b\n0,1\n1,1\n", None, None),  # two rows of 0-1 data
        ("size,a\n0.5,0\n1.5,1\n2.5,1\n", "refused", None),  # measurements
        ("quadrant,a\n17,0\n3,1\n25,1\n", "refused", None),  # not in order: numbers or counts?
        ("a,b\nx,\n,x\n", "refused", None),
        (",a,b\nx,0,1\nx,1,1\n", "refused", None),  # no name, and repeats
        (",a,b\n0,0,1\n0,1,1\n1,1,1\n", "refused", None),
    ],
)
def test_numbers_as_labels(read: Reader, text: str, labels: list[str] | str | None, warned: str | None) -> None:
    if labels == "refused":
        with pytest.raises(DataError):
            read(text)
    elif warned:
        with pytest.warns(UserWarning, match=warned + r"\); use row_labels=False \(--no-row-labels\) if it is data"):
            assert read(text).row_names == labels
        with pytest.raises(DataError, match="neither 0 nor 1"):
            read(text, row_labels=False)
    else:
        assert read(text).row_names == labels


def test_different_counts_in_the_first_column_are_data_and_reported(read: Reader) -> None:
    text = "Abies,Fagus\n17,0\n3,1\n25,4\n"
    with pytest.warns(
        UserWarning, match=r"different; use row_labels='Abies' \(--row-labels Abies\) if it names the rows"
    ):
        data = read(text, threshold=1)
    assert data.column_names == ["Abies", "Fagus"]
    assert data.notes == ('the column "Abies" is data, though its whole numbers are all different',)
    with pytest.raises(
        DataError, match=r"use row_labels='Abies' \(--row-labels Abies\) if it names the rows, or thresh"
    ):
        read(text)
    assert read(text, row_labels="Abies", threshold=1).row_names == ["17", "3", "25"]


def test_text_that_may_be_data_is_not_taken_for_metadata(read: Reader) -> None:
    with pytest.raises(DataError, match=r"true='ja' and false='nein' \(--true ja --false nein\)"):
        read("site,a,b\nP,ja,nein\nQ,nein,nein\nR,ja,ja\n")
    with pytest.raises(DataError, match=r"true='present' and false='absent'"):
        read("site,a\nP,present\nQ,absent\nR,absent\n")  # all the data there are
    with pytest.raises(DataError, match=r"presence='x' \(--presence x\)"):
        read("site,a,b\nP,x,x\nQ,,\nR,x,\n")  # a mark beside empty cells


def test_an_identifier_of_zeros_and_ones_is_data(read: Reader) -> None:
    data = read("name,case,a\nP,1,0\nQ,0,1\nR,1,1\n")
    assert data.column_names == ["case", "a"]


def test_a_second_identifier_is_no_species(read: Reader) -> None:
    with pytest.warns(
        UserWarning, match=r'"plot" is metadata, kept beside the rows \(named like an identifier, unique whole'
    ):
        data = read("site,plot,a\nP,3,0\nQ,1,5\nR,2,1\n", threshold=1)
    assert (data.row_names, data.metadata) == (["P", "Q", "R"], {"plot": ["3", "1", "2"]})


@pytest.mark.parametrize(
    "name", ["ID", "id", "Site", "PLOT", "Sample_ID", "sampleID", "site.code", "Row", "case", "index"]
)
def test_names_of_identifiers(name: str) -> None:
    assert is_identifier(name)


@pytest.mark.parametrize(
    "name", ["", "Equus", "site 1", "plots", "sitearea", "site_area", "identity", "case study", "idaho"]
)
def test_other_names(name: str) -> None:
    assert not is_identifier(name)


def test_parquet_index_and_identifiers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"plot": [4, 4, 5], "a": [1, 0, 1]}, index=pd.Index([30, 10, 20], name="Site"))
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.warns(UserWarning, match='"plot" is metadata'):
        data = read_table(tmp_path / "t.parquet", threshold=1)
    assert (data.row_names, data.row_label, data.metadata) == (["30", "10", "20"], "Site", {"plot": ["4", "4", "5"]})
    assert data.notes[0] == "the table's index names the rows"
    assert read_table(tmp_path / "t.parquet", metadata="plot", row_labels=False).row_names is None


# Metadata stay with their rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(st.data())
def test_metadata_follow_their_rows(draw: st.DataObject) -> None:
    codes = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], dtype=np.int8)
    parties = ["red", "blue", "red", ""]
    index = draw.draw(st.one_of(st.slices(4), st.lists(st.integers(0, 3), min_size=1)))
    for data in (
        BinaryData(codes, metadata={"party": parties}, notes=("read",)),
        BinaryData(None, BinaryData.of(sp.csr_array(codes)).sparse, metadata={"party": parties}, notes=("read",)),
    ):
        chosen = data.rows(index)
        assert chosen.metadata == {"party": np.array(parties)[index].tolist()}
        hidden = chosen.hide(np.ones(chosen.shape, bool))
        assert (hidden.metadata, hidden.notes) == (chosen.metadata, ("read",))
        renamed = BinaryData.of(data, row_names=list("pqrs"))
        assert (renamed.metadata, renamed.notes) == (data.metadata, ("read",))
        assert renamed.fingerprint() == data.fingerprint()


# What a threshold would make data of


@pytest.mark.parametrize(
    "name", ["Plot No", "PlotNo", "plot no.", "Site number", "sitenumber", "Sample Num", "case_no"]
)
def test_what_is_numbered_is_an_identifier(name: str) -> None:
    assert is_identifier(name)


@pytest.mark.parametrize("name", ["no", "number", "No.", "chromosome number", "bird no", "numbers of sites"])
def test_a_number_alone_may_be_how_many(name: str) -> None:
    assert not is_identifier(name)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx"])
@pytest.mark.parametrize("threshold", [None, 1])
def test_many_different_whole_numbers_name_the_rows(tmp_path: Path, suffix: str, threshold: float | None) -> None:
    rng = np.random.default_rng(4)
    numbers = [str(number) for number in rng.permutation(24) + 100]
    frame = table(rng.integers(0, 2, (24, len(SPECIES))), {"transect": numbers}).astype({"transect": int})
    file = write(frame, tmp_path / f"t{suffix}")
    with pytest.warns(UserWarning, match=r"all different\); use row_labels=False \(--no-row-labels\) if it is data"):
        data = read_table(file, threshold=threshold)
    assert (data.row_names, data.column_names) == (numbers, SPECIES)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx"])
def test_what_a_threshold_would_make_1_everywhere_is_kept_beside_the_rows(tmp_path: Path, suffix: str) -> None:
    beside = {"Site": [f"S{i}" for i in range(12)], "rok": ["1990", "1991"] * 6, "soil depth": ["2.5", "4", "9.1"] * 4}
    frame = table(COUNTS, beside).astype({"rok": int, "soil depth": float})
    file = write(frame, tmp_path / f"t{suffix}")
    reason = r'the columns "rok", "soil depth" are kept beside the rows \(at least 1 in every row\)'
    with pytest.warns(UserWarning, match=rf"{reason}; name the data by columns=\[...\] \(--columns NAME\)"):
        data = read_table(file, threshold=1)
    assert data.column_names == SPECIES
    assert set(data.metadata or {}) == {"rok", "soil depth"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert read_table(file, threshold=1, exclude=["rok", "soil depth"]).column_names == SPECIES
        assert read_table(file, threshold=1, columns=["rok", *SPECIES]).column_names == ["rok", *SPECIES]
        assert read_table(file, like=data.reading).column_names == SPECIES  # as the record says


def test_an_empty_name_is_said_to_be_one(read: Reader) -> None:
    with pytest.warns(UserWarning, match=r"kept beside the rows \(text with an empty cell\)"):
        assert read("site,a,b\nP,0,1\n,1,1\nR,1,0\n").metadata == {"site": ["P", "", "R"]}


def test_sites_beside_an_index_may_name_the_rows(read: Reader) -> None:
    """As pandas writes a frame with the index that it gave it."""
    text = ",site,a,b\n0,P,0,1\n1,Q,1,1\n2,R,1,0\n"
    with pytest.warns(UserWarning, match=r"or row_labels='site' \(--row-labels site\) if it names the rows$"):
        assert read(text).row_names == ["0", "1", "2"]
    with pytest.warns(UserWarning, match=r"if it names the rows all the same$"):
        assert read("code,site,a\n7,P,0\n8,P,1\n9,Q,1\n").row_names == ["7", "8", "9"]
