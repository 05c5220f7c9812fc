"""Numbers that a threshold would turn into ones though they are measurements, missing cells or sums."""

from typing import Any

import numpy as np
import pytest

from latentbits.data import BinaryData, read_table
from latentbits.data.measured import measured_columns, total
from latentbits.errors import DataError
from tests.data.tables import Reader, cells

GERMAN = (
    "Standort;X_Koord;Y_Koord;Höhe;Buchfink;Kohlmeise;Amsel\n"
    "S1;3456789,5;5678901,2;412,5;3;0;1\nS2;3456999,5;5678111,2;380,0;0;1;2\n"
    "S3;3456100,1;5678222,9;455,2;1;0;0\nS4;3455100,1;5677222,9;520,7;0;0;3\nSumme;;;;4;1;6\n"
)
VOTES = "member,time,term,v1,v2,v3\nA,1401,1994,1,9,0\nB,1402,1994,0,1,1\nC,1403,1996,1,1,0\nD,1404,1996,9,0,0\n"
COUNTS = np.random.default_rng(4).poisson(0.8, (20, 6)).astype(float)


def test_a_spreadsheet_of_counts_with_coordinates_and_a_total(read: Reader) -> None:
    """What the messages say is followed to the letter."""
    with pytest.raises(
        DataError, match=r"use decimal=',' \(--decimal ,\) and exclude=\['X_Koord', 'Y_Koord', 'Höhe'\]"
    ):
        read(GERMAN)
    with pytest.raises(DataError, match=r"the row \"Summe\" holds the sum .* use exclude_rows=\['Summe'\]"):
        read(GERMAN, decimal=",", exclude=["X_Koord", "Y_Koord", "Höhe"], threshold=1)
    data = read(GERMAN, decimal=",", exclude=["X_Koord", "Y_Koord", "Höhe"], threshold=1, exclude_rows=["Summe"])
    assert cells(data) == [[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1]]
    with pytest.warns(UserWarning, match='"X_Koord", "Y_Koord", "Höhe" are kept beside the rows'):
        other = read(GERMAN, decimal=",", threshold=1, exclude_rows=["Summe"])  # less than what was said
    assert (cells(other), other.column_names) == (cells(data), data.column_names)


def test_a_code_for_missing_votes_beside_years(read: Reader) -> None:
    with pytest.raises(DataError, match=r"exclude=\['time', 'term'\] .* and missing='9' \(--missing 9\)"):
        read(VOTES)
    data = read(VOTES, exclude=["time", "term"], missing="9")
    assert cells(data) == [[1, -1, 0], [0, 1, 1], [1, 1, 0], [-1, 0, 0]]


def test_a_row_of_totals_of_zeros_and_ones(read: Reader) -> None:
    text = "site,a,b,c\ns1,0,1,1\ns2,1,1,1\ns3,1,1,0\nTotal,2,3,2\n"
    with pytest.raises(DataError, match=r"use exclude_rows=\['Total'\] .* if the row sums up the others"):
        read(text)
    assert cells(read(text, exclude_rows=["Total"])) == [[0, 1, 1], [1, 1, 1], [1, 1, 0]]
    with pytest.raises(DataError, match='no row begins with "Totals"'):
        read(text, exclude_rows=["Totals"])


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("the sum", COUNTS.sum(axis=1)),
        ("the mean", COUNTS.mean(axis=1)),
        ("the number above 0", (COUNTS > 0).sum(axis=1)),
    ],
)
def test_totals_are_found_wherever_they_stand(of: str, value: np.ndarray) -> None:
    for position in (0, 3, 6):
        found = total(np.insert(COUNTS, position, value, axis=1))
        assert found is not None
        assert (found.what, found.position, found.of) == ("column", position, of)
    assert total(COUNTS) is None
    for position, over_rows in ((0, COUNTS.T), (6, COUNTS.T)):
        found = total(np.insert(over_rows, position, value, axis=0))
        assert found is not None
        assert (found.what, found.position, found.of) == ("row", position, of)


def test_tables_of_zeros_and_ones_hold_no_totals() -> None:
    rng = np.random.default_rng(11)
    for _ in range(400):
        shape = rng.integers(1, 9, 2)
        assert total((rng.random((shape[0] + 4, shape[1] + 3)) < rng.random()).astype(float)) is None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.linspace(-9.5, 12.25, 20), "numbers below 0"),
        (np.linspace(400, 700, 20), "at least 1 in every row"),
        (np.r_[np.zeros(4), np.linspace(0.1, 3, 16)], "fractions beside columns of counts"),
        (np.ones(20), None),
        (np.arange(20) % 3, None),
    ],
)
def test_measurements_are_told_by_their_numbers(values: np.ndarray, reason: str | None) -> None:
    found = measured_columns(np.c_[COUNTS, values], list("abcdefg"), 1)
    assert found == ({} if reason is None else {6: reason})


def test_expression_and_cover_are_data_though_none_is_a_count() -> None:
    rng = np.random.default_rng(2)
    assert measured_columns(rng.normal(size=(20, 6)), list("abcdef"), 0) == {}
    assert measured_columns(rng.random((20, 6)).round(2), list("abcdef"), 0.5) == {}


def test_a_negative_code_is_refused_as_perhaps_missing(read: Reader) -> None:
    text = "site,a,b,c\nP,1,0,3\nQ,-99,2,0\nR,0,1,1\nS,4,0,0\n"
    with pytest.raises(DataError, match=r"holds -99, which the threshold would make a 0; use missing='-99'"):
        read(text, threshold=1)
    assert cells(read(text, threshold=1, missing="-99"))[1] == [-1, 1, 0]


def test_a_threshold_below_all_answers_is_refused(read: Reader) -> None:
    text = "id,q1,q2\n" + "".join(f"p{i},{1 + i % 5},{1 + (2 * i) % 5}\n" for i in range(12))
    with pytest.raises(DataError, match=r"threshold=1 makes every cell 1, as the numbers go from 1 to 5; use a larger"):
        read(text, threshold=1)
    assert read(text, threshold=4).shape == (12, 2)


def test_all_refusals_of_a_scale_advise_its_middle(read: Reader) -> None:
    answers = [[1 + i % 5, 1 + (2 * i) % 5] for i in range(12)]
    text = "id,q1,q2\n" + "".join(f"p{i},{a},{b}\n" for i, (a, b) in enumerate(answers))
    lost = r"of 1 to 5 \(the order of the answers is lost\)"
    with pytest.raises(DataError, match=rf"use threshold=3 \(--threshold 3\) to call every value >= 3 present, {lost}"):
        read(text)
    with pytest.raises(DataError, match=r"such as threshold=3 \(--threshold 3\)"):
        read(text, threshold=1)
    with pytest.raises(DataError, match=rf"use binarize=3 to call every value >= 3 present, {lost}"):
        BinaryData.of(np.array(answers))


@pytest.mark.parametrize(("given", "cell"), [("0", 0), ("unknown", -1)])
def test_columns_that_new_rows_lack(read: Reader, tmp_path: Any, given: str, cell: int) -> None:
    from latentbits import IndependentBernoulli

    model = IndependentBernoulli().fit(read("site,a,b,c\nP,1,0,1\nQ,0,1,1\nR,1,1,0\n"))
    file = tmp_path / "new.csv"
    file.write_text("site,c,e,a\nS,1,1,0\nT,0,0,1\n")
    with pytest.raises(
        DataError, match=r"no column \"b\", .* missing_as='0' \(--missing-as 0\) .* missing_as='unknown'"
    ):
        read_table(file, like=model)
    with pytest.warns(UserWarning, match='not read: "e", which the model doesn\'t know'):
        data = read_table(file, like=model, missing_as=given)
    assert (data.column_names, cells(data)) == (["a", "b", "c"], [[0, cell, 1], [1, cell, 0]])
    assert data.notes[-2:] == ('not read: "e"', f'the file lacks "b", taken as {given}')
    assert "missing_as" not in (data.reading or {})
    with pytest.raises(DataError, match="missing_as says what a file lacks"):
        read_table(file, missing_as=given)
