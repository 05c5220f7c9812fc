"""All forms of repeat visits are read to the same cells, and files of sightings alone are recognised."""

import numpy as np
import pandas as pd
import pytest

from latentbits import DataError, Histories, read_histories, simulate

SITES, SPECIES = [f"s{i}" for i in range(12)], ["owl", "tit", "wren"]


@pytest.fixture(scope="module")
def survey():
    cells = simulate.repeated_surveys(12, 3, 3, rate=0.5, random_state=4).histories.astype(float)
    cells[2, 1] = cells[5, 2] = np.nan
    return Histories.of(cells, row_names=SITES, column_names=SPECIES, visit_names=["1", "2", "3"])


def signs(codes):
    return "".join({-1: "-", 0: "0", 1: "1"}[int(code)] for code in codes)


def wide(survey, name):
    table = {"site": SITES}
    for v in range(3):
        for j, species in enumerate(SPECIES):
            column = survey.cells[:, v, j]
            table[name.format(species=species, visit=v + 1)] = ["" if code < 0 else str(code) for code in column]
    return pd.DataFrame(table)


def long(survey, *, empty=True):
    lines = []
    for i, v in np.ndindex(12, 3):
        if survey.surveyed[i, v]:
            lines += [(SITES[i], v + 1, "")] if empty else []
            lines += [(SITES[i], v + 1, SPECIES[j]) for j in np.flatnonzero(survey.cells[i, v] == 1)]
    return pd.DataFrame(lines, columns=["site", "visit", "species"])


def same(found, survey):
    """The same cells at the same sites, visits and species, in whatever order."""
    rows, columns = [
        [names.index(name) for name in wanted]
        for names, wanted in ((found.row_names, SITES), (found.column_names, SPECIES))
    ]
    order = np.argsort([int(name) if name.isdigit() else ord(name[0]) for name in found.visit_names])
    assert np.array_equal(found.cells[np.ix_(rows, order, columns)], survey.cells)


@pytest.mark.parametrize(
    "name", ["{species}_visit{visit}", "v{visit}_{species}", "{species}.{visit}", "{species}_{visit}"]
)
def test_wide_tables(tmp_path, survey, name):
    wide(survey, name).to_csv(tmp_path / "wide.csv", index=False)
    same(read_histories(tmp_path / "wide.csv"), survey)


def test_a_block_for_each_visit(tmp_path, survey):
    table = wide(survey, "{species}.{visit}")
    table.columns = ["site", *SPECIES, *(f"{s}.1" for s in SPECIES), *(f"{s}.2" for s in SPECIES)]
    table.to_csv(tmp_path / "blocks.csv", index=False)
    same(read_histories(tmp_path / "blocks.csv"), survey)
    head, lines = ",".join(["site", *SPECIES * 3]), (tmp_path / "blocks.csv").read_text().split("\n")[1:]
    (tmp_path / "repeated.csv").write_text("\n".join([head, *lines]))
    same(read_histories(tmp_path / "repeated.csv"), survey)


def test_arrays_do_not_say_the_visit(tmp_path):
    np.save(tmp_path / "cells.npy", np.eye(3))
    with pytest.raises(DataError, match=r"cells\.npy"):
        read_histories(tmp_path / "cells.npy")


def test_histories_as_texts(tmp_path, survey):
    texts = {s: [signs(survey.cells[i, :, j]) for i in range(12)] for j, s in enumerate(SPECIES)}
    pd.DataFrame({"site": SITES, **texts}).to_csv(tmp_path / "texts.csv", index=False)
    same(read_histories(tmp_path / "texts.csv"), survey)
    texts["owl"][0] = "0-"
    pd.DataFrame({"site": SITES, **texts}).to_csv(tmp_path / "short.csv", index=False)
    with pytest.raises(DataError, match=r'the history "0-" has 2 visits where others have 3; write a - for each'):
        read_histories(tmp_path / "short.csv")


def test_a_table_for_each_visit(tmp_path, survey):
    pytest.importorskip("openpyxl")
    tables = {}
    for v in range(3):
        made = survey.surveyed[:, v]
        tables[f"{v + 1}"] = pd.DataFrame(survey.cells[made, v], columns=SPECIES, index=np.array(SITES)[made])
    paths = [tmp_path / f"{name}.csv" for name in tables]
    for path, table in zip(paths, tables.values(), strict=True):
        table.to_csv(path, index_label="site")
    same(read_histories(paths), survey)
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        for name, table in tables.items():
            table.to_excel(book, sheet_name=name, index_label="site")
    same(read_histories(tmp_path / "book.xlsx"), survey)


def test_lines_with_and_without_empty_visits(tmp_path, survey):
    columns = {"site": "site", "visit": "visit", "species": "species"}
    long(survey).to_csv(tmp_path / "long.csv", index=False)
    same(read_histories(tmp_path / "long.csv", **columns), survey)
    long(survey, empty=False).to_csv(tmp_path / "seen.csv", index=False)
    made = [(SITES[i], v + 1) for i, v in np.argwhere(survey.surveyed)]
    pd.DataFrame(made, columns=["site", "visit"]).to_csv(tmp_path / "made.csv", index=False)
    same(read_histories(tmp_path / "seen.csv", **columns, surveyed=tmp_path / "made.csv"), survey)


def test_names_that_do_not_say_the_visit_are_refused(tmp_path):
    pd.DataFrame({"site": SITES, "owl": 1, "tit": [0, 1] * 6}).to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(DataError, match=r"^table\.csv: the columns don't say which visit they are about;"):
        read_histories(tmp_path / "table.csv")


def observations(seed, *, complete):
    """150 sites, three visits each on dates of their own, few species a visit: a fifth of the visits see nothing."""
    cells = simulate.repeated_surveys(150, 12, 3, abundance=0.5, rate=0.3, random_state=seed).histories
    table = {"site": [], "day": [], "bird": []}
    for i, v in np.ndindex(cells.shape[:2]):
        seen = np.flatnonzero(cells[i, v] == 1)
        for bird in [*(f"b{j}" for j in seen), *([""] if complete and not len(seen) else [])]:
            for name, entry in zip(table, (f"s{i}", f"{v}-{i % 30}", bird), strict=True):
                table[name].append(entry)
    return table


def test_files_of_sightings_alone_are_recognised():
    """20 of 20, and 0 of 20 complete ones."""
    columns = {"site": "site", "visit": "day", "species": "bird"}
    for seed in range(20):
        assert Histories.from_long(observations(seed, complete=True), **columns).surveyed.sum() == 450
        with pytest.raises(DataError, match=r"visits saw nothing, and that none did has the probability") as error:
            Histories.from_long(observations(seed, complete=False), **columns)
        assert all(way in str(error.value) for way in ("--visits-made", "--all-visits", "--every-visit-saw"))
    seen = Histories.from_long(observations(0, complete=False), **columns, surveyed="seen")
    assert 0 < seen.surveyed.sum() < 450


def test_visits_on_many_dates_are_numbered():
    survey = Histories.from_long(observations(1, complete=True), site="site", visit="day", species="bird")
    assert survey.shape[1] == 90
    numbered = survey.numbered()
    assert numbered.shape == (150, 3, survey.shape[2])
    assert np.array_equal(numbered.detections, survey.detections)
    assert np.array_equal(numbered.n_visits, survey.n_visits)
