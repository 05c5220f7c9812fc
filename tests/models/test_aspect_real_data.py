"""What the model must show on data whose story is known (the shared data folder)."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score

from latentbits import AspectBernoulli, datasets, read_table, simulate
from latentbits.metrics import denoising_auc
from tests.shared_data import FOLDER, needs_data


@needs_data("now_g10s2.csv")
def test_fossils_have_one_white_phantom_which_fades_where_more_was_found():
    data = read_table(FOLDER / "now_g10s2.csv", row_labels="site", exclude=["MN", "age_Ma", "known_age"])
    assert data.shape == (501, 139)
    model = AspectBernoulli(4, n_init=10, random_state=0, n_jobs=2).fit(data)
    assert sorted(model.phantoms_) == ["content", "content", "content", "white"]
    weight = model.weights_[:, model.phantoms_ == "white"][:, 0]
    assert spearmanr(weight, data.ones_per_row()).statistic < -0.5


@needs_data("mhb2014.npz")
@pytest.mark.parametrize(("smoothing", "least"), [(0.0, 0.84), (1.0, 0.835)])
def test_birds_suspected_after_the_first_visit_are_seen_on_later_ones(smoothing, least):
    detections = np.load(FOLDER / "mhb2014.npz")["detections"]  # sites x visits x species, -1: not surveyed
    detections = detections[(detections[:, 0] >= 0).all(axis=1)]
    first = detections[:, 0]
    common = first.sum(axis=0) >= 3
    first, later = first[:, common], (detections[:, 1:, common] == 1).any(axis=1)
    assert first.shape == (266, 106)
    model = AspectBernoulli(8, smoothing=smoothing, n_init=10, random_state=0, n_jobs=2).fit(first)
    unseen = first == 0
    truth, score = later[unseen], model.suspicion(first)[unseen]
    assert roc_auc_score(truth, score) >= least
    assert average_precision_score(truth, score) >= 0.37


@pytest.fixture(scope="module")
def corroded():
    """Bundled digits, a share of whose pixels was turned off; with the model of them."""
    clean = datasets.load_digits().X[:1000]
    noisy = simulate.corrode(clean, random_state=0).X
    return clean, noisy, AspectBernoulli(12, n_init=5, random_state=0, n_jobs=2).fit(noisy)


def test_corroded_digits_have_a_white_phantom(corroded):
    assert "white" in corroded[2].phantoms_
    assert "black" not in corroded[2].phantoms_


def test_suspicion_finds_corroded_pixels_better_than_reconstruction(corroded):
    clean, noisy, model = corroded
    plain = denoising_auc(clean, noisy, model.reconstruct(noisy))
    assert denoising_auc(clean, noisy, model.suspicion(noisy)) >= plain + 0.03
