"""Loaders of fossils, birds, DNA bands and visual fields, on tiny made-up files."""

import numpy as np
import pandas as pd
import pytest

from latentbits import DataError, datasets
from tests.data.datasets.files import sentence


class TestFossils:
    TEXT = "site,MN,age_Ma,known_age,Equus,Sus\nPikermi,12,7.65,1,1,1\nSamos,11,8.6,0,0,1\n"

    def test_sites_with_their_ages(self, folder):
        (folder / "now_g10s2.csv").write_text(self.TEXT)
        found = datasets.load_fossils(min_genera=1)
        assert (found.data.row_names, found.data.column_names) == (["Pikermi", "Samos"], ["Equus", "Sus"])
        assert found.data.dense().tolist() == [[1, 1], [0, 1]]
        assert (found.age.tolist(), found.unit.tolist(), found.dated.tolist()) == ([7.65, 8.6], [12, 11], [True, False])

    def test_fewest_genera(self, folder):
        (folder / "now_g10s2.csv").write_text(self.TEXT)
        found = datasets.load_fossils()
        assert (found.data.row_names, found.age.tolist(), found.unit.tolist()) == (["Pikermi"], [7.65], [12])
        with pytest.raises(ValueError, match="no site has more than 2 genera"):
            datasets.load_fossils(min_genera=3)

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ("age_Ma", "age", "can't be read as a table .*age_Ma"),
            ("8.6", "", "can't be read as a table"),
            ("8.6", "inf", r"row 1 \(from 0\) of the column 'age_Ma' is not filled in"),
            ("8.6", "old", "can't be read as a table"),
            ("0,0,1\n", "0,0,3\n", 'line 3, column "Sus": value 3 is neither 0 nor 1'),
            ("site,", "place,", "there is no column"),
        ],
    )
    def test_wrong_tables(self, old, new, said, folder):
        (folder / "now_g10s2.csv").write_text(self.TEXT.replace(old, new))
        with pytest.raises(DataError, match=said) as error:
            datasets.load_fossils()
        assert sentence(error).startswith("now_g10s2.csv")

    def test_only_a_header(self, folder):
        (folder / "now_g10s2.csv").write_text(self.TEXT.splitlines()[0] + "\n")
        with pytest.raises(DataError, match="no row below the header"):
            datasets.load_fossils()


class TestBirds:
    @pytest.fixture
    def survey(self, folder):
        detections = np.array([[[1, 0], [0, 1]], [[1, 1], [-1, -1]]], np.int8)
        about = {"species": np.array(["a", "b"]), "latin": np.array(["A", "B"]), "site_id": np.array(["s", "t"])}
        land = {"elev": np.array([450.0, 2000]), "forest": np.array([50.0, 0])}
        np.savez(folder / "mhb2014.npz", detections=detections, counts=3 * detections, **about, **land)
        return datasets.load_birds()

    def test_visits(self, survey):
        assert survey.surveyed.tolist() == [[True, True], [True, False]]
        assert survey.visit(0).dense().tolist() == [[1, 0], [1, 1]]
        assert survey.visit(1).dense().tolist() == [[0, 1], [-1, -1]]
        assert (survey.visit(1).row_names, survey.visit(1).column_names) == (["s", "t"], ["a", "b"])

    def test_histories(self, survey):
        found = survey.histories()
        assert np.array_equal(found.cells, survey.detections)
        assert (found.row_names, found.column_names) == (["s", "t"], ["a", "b"])

    @pytest.mark.parametrize("number", [-1, 2])
    def test_no_such_visit(self, survey, number):
        with pytest.raises(ValueError, match="the visits are 0 to 1"):
            survey.visit(number)


def test_aflp(folder):
    (folder / "aflp_aeut.csv").write_text("isolate,pop,subpop,L01,L02\n001,Athena,1,1,0\n002,Mt. Vernon,10,0,1\n")
    found = datasets.load_aflp()
    assert (found.data.row_names, found.data.column_names) == (["001", "002"], ["L01", "L02"])
    assert found.data.dense().tolist() == [[1, 0], [0, 1]]
    assert (found.population.tolist(), found.subpopulation.tolist()) == (["Athena", "Mt. Vernon"], ["1", "10"])


class TestVisualFields:
    @pytest.fixture
    def table(self):
        about = pd.DataFrame(
            {
                "source": ["b", "a", "a", "a"],
                "group": ["glaucoma", "healthy", "healthy", "healthy"],
                "id": ["1", "2", "1", "1"],
                "eye": ["OD", "OS", "OD", "OD"],
                "date": ["2001-01-01", "2001-01-01", "2002-01-01", "2001-01-01"],
                "time": ["10:00:00"] * 4,
                "age": [70, 50, 61, 60],
            }
        )
        return about.join(pd.DataFrame(np.arange(4 * 54).reshape(4, 54), columns=[f"l{i}" for i in range(1, 55)]))

    def test_sorted_by_person_and_time(self, table, folder):
        table.to_csv(folder / "visual_fields_24d2.csv", index=False)
        fields = datasets.load_visual_fields()
        assert fields.age.tolist() == [60, 61, 50, 70]
        assert fields.person.tolist() == [0, 0, 1, 2]
        assert fields.glaucoma.tolist() == [False, False, False, True]
        np.testing.assert_array_equal(fields.X, table.loc[[3, 2, 1, 0], fields.feature_names])
        assert [name for name, blind in zip(fields.feature_names, fields.blind_spot, strict=True) if blind] == [
            "l26",
            "l35",
        ]

    def test_first_of_each_person(self, table, folder):
        table.to_csv(folder / "visual_fields_24d2.csv", index=False)
        fields = datasets.load_visual_fields(first_only=True)
        assert (fields.age.tolist(), fields.person.tolist()) == ([60, 50, 70], [0, 1, 2])
        assert (fields.eye.tolist(), fields.X[:, 0].tolist()) == (["OD", "OS", "OD"], [162, 54, 0])

    def test_unknown_group(self, table, folder):
        table.assign(group="unsure").to_csv(folder / "visual_fields_24d2.csv", index=False)
        with pytest.raises(DataError, match="the group 'unsure' is neither healthy nor glaucoma"):
            datasets.load_visual_fields()
