"""Loaders on the real files, where they are at hand."""

import numpy as np
import pandas as pd
import pytest

from latentbits import datasets
from tests.data.datasets.files import FILES
from tests.shared_data import FOLDER, needs_data


@pytest.mark.usefixtures("real")
class TestRealFiles:
    @needs_data(FILES["load_fossils"])
    def test_fossils(self):
        found = datasets.load_fossils()
        assert (found.data.shape, round(found.data.density, 4)) == ((501, 139), 0.0508)
        assert np.corrcoef(found.unit, found.age)[0, 1] < -0.95  # a later unit is younger
        assert 0 < found.dated.sum() < 50
        assert datasets.load_fossils(min_genera=10).data.shape == (124, 139)

    @needs_data("now_g10s10.csv")
    @needs_data(FILES["load_fossils"])
    def test_rich_sites_are_those_of_the_file_of_rich_sites(self):
        rich = pd.read_csv(FOLDER / "now_g10s10.csv")
        found = datasets.load_fossils(min_genera=10)
        np.testing.assert_array_equal(found.data.dense(), rich[found.data.column_names])
        np.testing.assert_array_equal(found.age, rich["age_Ma"])

    @needs_data(FILES["load_numerals"])
    def test_numerals(self):
        images = datasets.load_numerals()
        assert (images.X.shape, images.image_shape, round(float(images.X.mean()), 2)) == ((2000, 240), (16, 15), 0.49)
        assert np.bincount(images.target).tolist() == [200] * 10
        zero, one = (datasets.load_numerals(digits=[i]).X.mean(axis=0).reshape(16, 15) for i in (0, 1))
        assert zero[8, 7] < 0.1 < 0.9 < one.max(axis=1)[8]  # a zero has a hole, a one has none

    @needs_data(FILES["load_alphadigits"])
    def test_alphadigits(self):
        images = datasets.load_alphadigits()
        assert (images.X.shape, images.image_shape) == ((1404, 320), (20, 16))
        assert set(np.unique(images.target, return_counts=True)[1]) == {39}
        assert datasets.load_alphadigits(characters="03").X.shape == (78, 320)

    @needs_data(FILES["load_newsgroups"])
    def test_newsgroups(self):
        posts = datasets.load_newsgroups()
        assert posts.data.shape == (3965, 1000)
        assert len(set(posts.data.row_names)) == 3965
        part = datasets.load_newsgroups(per_group=100, n_words=100)
        assert (part.data.shape, np.bincount(part.target).tolist()) == ((400, 100), [100] * 4)
        god = posts.data.dense()[:, posts.data.column_names.index("god")]
        assert np.argmax(np.bincount(posts.target, god)) == posts.group_names.index("soc.religion.christian")

    @needs_data(FILES["load_chat"])
    def test_chat(self):
        chat = datasets.load_chat()
        assert (len(chat.speaker), len(np.unique(chat.speaker)), len(np.unique(chat.day))) == (196_146, 15_734, 153)
        assert (np.diff(chat.day).astype(int) >= 0).all()

    @needs_data(FILES["load_monks"])
    def test_monks(self):
        monks = datasets.load_monks()
        assert (monks.data.shape, monks.data.n_ones) == ((18, 18), 88)
        assert np.unique(monks.group, return_counts=True)[1].tolist() == [5, 3, 7, 3]
        assert set(monks.group_of_three) == {"Loyal", "Turks", "Outcasts"}
        named = (monks.liking > 0).sum(axis=2)
        assert named.min() == 3
        assert named.max() == 4
        assert not (monks.liking * monks.disliking).any()  # nobody is liked and disliked by one at a time

    @needs_data(FILES["load_aflp"])
    def test_aflp(self):
        bands = datasets.load_aflp()
        assert bands.data.shape == (187, 56)
        assert np.unique(bands.population, return_counts=True)[1].tolist() == [97, 90]

    @needs_data(FILES["load_visual_fields"])
    def test_visual_fields(self):
        fields = datasets.load_visual_fields()
        assert (fields.X.shape, fields.person.max()) == ((665, 54), 121)
        healthy = fields.X[~fields.glaucoma].mean(axis=0)
        assert healthy[fields.blind_spot].min() < 5 < 20 < healthy[~fields.blind_spot].min()
        first = datasets.load_visual_fields(first_only=True)
        assert (len(first.X), int(first.glaucoma.sum())) == (122, 31)

    @needs_data(FILES["load_birds"])
    def test_birds(self):
        birds = datasets.load_birds()
        assert birds.detections.shape == (267, 3, 158)
        np.testing.assert_array_equal(birds.counts > 0, birds.detections == 1)
        assert birds.surveyed.sum(axis=0)[0] == 266
        assert birds.visit(0).n_missing == 158

    @needs_data(FILES["load_votes"])
    def test_votes(self):
        calls = datasets.load_votes()
        assert (calls.data.shape, len(np.unique(calls.session))) == ((6202, 200), 74)
        assert datasets.load_votes(min_present=0.9).data.shape == (6202, 63)

    @needs_data(FILES["load_sensors"])
    def test_sensors(self):
        home = datasets.load_sensors()
        assert home.data.shape == (20456, 12)
        hour = (home.time - home.time.astype("datetime64[D]")).astype(int) // 60
        asleep = home.activity == "Sleeping"
        assert np.median(hour[asleep]) < 8
        bed = home.data.dense()[:, [name.startswith("Bed.") for name in home.data.column_names]].any(axis=1)
        assert bed[asleep].mean() > 0.9 > 0.2 > bed[~asleep].mean()
