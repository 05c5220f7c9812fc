"""Metrics against values worked out by hand, and the identities that tie them together."""

import numpy as np
import pandas as pd
import pytest

from latentbits.metrics import (
    calibration_table,
    component_similarity,
    denoising_auc,
    denoising_average_precision,
    expected_calibration_error,
    match_components,
    noise_removal_rate,
)

DENOISING = [noise_removal_rate, denoising_auc, denoising_average_precision]

# Of the seven cells seen as 0, four are true 0s and three are false.
CLEAN = [0, 0, 0, 0, 1, 1, 1, 1]
NOISY = [0, 0, 0, 0, 0, 0, 0, 1]


@pytest.fixture
def denoising():
    """Return clean and noisy data, and a score that knows something, on 40 x 30 cells."""
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 2, size=(40, 30))
    noisy = np.where(rng.random(clean.shape) < 0.3, rng.integers(0, 2, size=clean.shape), clean)
    scores = np.clip(0.3 * clean + 0.7 * rng.random(clean.shape), 0, 1)
    return clean, noisy, scores


class TestDenoising:
    @pytest.mark.parametrize(
        ("denoised", "expected"),
        [
            ([1, 0, 0, 0, 1, 1, 0, 0], 1 - (1 / 4 + 1 / 3) / 2),
            (CLEAN, 1.0),
            (NOISY, 0.5),
            ([1, 1, 1, 1, 0, 0, 0, 0], 0.0),
        ],
    )
    def test_removal_rate_by_hand(self, denoised, expected):
        assert noise_removal_rate(CLEAN, NOISY, denoised) == pytest.approx(expected)

    def test_rankings_by_hand(self):
        scores = [0.1, 0.2, 0.6, 0.4, 0.5, 0.9, 0.3, 0.0]
        # 0.5 beats three of the true 0s, 0.9 four, 0.3 two.
        assert denoising_auc(CLEAN, NOISY, scores) == pytest.approx(9 / 12)
        # False 0s at ranks 1, 3 and 5.
        assert denoising_average_precision(CLEAN, NOISY, scores) == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)

    def test_auc_of_a_binary_reconstruction_is_the_removal_rate(self, denoising):
        clean, noisy, scores = denoising
        binary = (scores > 0.5).astype(int)
        rate = noise_removal_rate(clean, noisy, binary)
        assert 0.55 < rate < 0.95
        assert denoising_auc(clean, noisy, binary) == pytest.approx(rate)

    @pytest.mark.parametrize("metric", DENOISING)
    def test_presence_mirrors_absence(self, metric, denoising):
        clean, noisy, scores = denoising
        estimate = (scores > 0.5).astype(int) if metric is noise_removal_rate else scores
        presence = metric(clean, noisy, estimate, kind="presence")
        assert presence == pytest.approx(metric(1 - clean, 1 - noisy, 1 - estimate, kind="absence"))
        assert presence != pytest.approx(metric(clean, noisy, estimate, kind="absence"))

    @pytest.mark.parametrize("metric", DENOISING)
    @pytest.mark.parametrize("kind", ["absence", "presence"])
    def test_missing_cells_are_left_out(self, metric, kind, denoising):
        clean, noisy, scores = (array.astype(float) for array in denoising)
        estimate = np.round(scores) if metric is noise_removal_rate else scores
        rng = np.random.default_rng(1)
        lost = [rng.random(clean.shape) < 0.2 for _ in range(2)]
        kept = ~lost[0] & ~lost[1]
        expected = metric(clean[kept], noisy[kept], estimate[kept], kind=kind)
        assert expected != metric(clean, noisy, estimate, kind=kind)
        holed = [np.where(hole, np.nan, array) for hole, array in zip(lost, (clean, noisy), strict=True)]
        # The estimate may be missing too where the data are.
        unanswered = np.where(lost[1], np.nan, estimate)
        assert metric(*holed, unanswered, kind=kind) == pytest.approx(expected)

    @pytest.mark.parametrize("metric", DENOISING)
    def test_frames_and_lists(self, metric, denoising):
        clean, noisy, scores = denoising
        estimate = (scores > 0.5).astype(int)
        frames = [pd.DataFrame(array) for array in (clean, noisy, estimate)]
        lists = [array.tolist() for array in (clean, noisy, estimate)]
        assert metric(*frames) == metric(*lists) == metric(clean, noisy, estimate)

    @pytest.mark.parametrize("metric", DENOISING)
    @pytest.mark.parametrize(
        ("clean", "noisy", "kind", "message"),
        [
            ([0, 0, 1], [0, 0, 1], "absence", "No cell that is 0 in noisy is a false absence"),
            ([1, 1, 1], [0, 0, 1], "absence", "No cell that is 0 in noisy is a true absence"),
            ([1, 1, 1], [1, 1, 1], "absence", "No cell that is 0 in noisy"),
            ([0, 0, 1], [0, 0, 1], "presence", "No cell that is 1 in noisy is a false presence"),
            ([0, 0, 0], [0, 0, 1], "presence", "No cell that is 1 in noisy is a true presence"),
            ([0, 1], [0, 0, 1], "absence", r"one shape, but have: clean \(2,\), noisy \(3,\)"),
            ([0, 1, 3], [0, 0, 1], "absence", r"clean\[2\] is 3"),
            ([0, 1, 1], [0, 0, 0.5], "absence", r"noisy\[2\] is 0.5"),
            ([0, 1, 1], [0, 0, 1], "noise", "kind is 'noise'"),
        ],
    )
    def test_bad_data(self, metric, clean, noisy, kind, message):
        with pytest.raises(ValueError, match=message):
            metric(clean, noisy, [0, 1, 0], kind=kind)

    @pytest.mark.parametrize("metric", DENOISING)
    def test_no_answer_is_an_error(self, metric):
        with pytest.raises(ValueError, match="NaN at 1 cells"):
            metric([0, 1, 1], [0, 0, 1], [0, np.nan, 1])
        # Cells that aren't judged need no answer.
        assert metric([0, 1, 1], [0, 0, 1], [0, 1, np.nan]) == 1

    def test_removal_rate_refuses_grey(self):
        with pytest.raises(ValueError, match=r"denoised\[1\] is 0.4"):
            noise_removal_rate([0, 1, 1], [0, 0, 1], [0, 0.4, 1])


class TestComponentSimilarity:
    def test_by_hand(self):
        A = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        B = [[0.0, 0.0, 0.3], [0.7, 0.0, 0.0]]
        assert component_similarity(A, B) == pytest.approx((0.9 + 0.9) / 2)

    def test_order_and_extra_rows_do_not_count(self):
        A = np.random.default_rng(0).random((5, 20))
        assert component_similarity(A, A[[3, 1, 4, 0, 2]]) == 1
        assert component_similarity(A, A[:2]) == component_similarity(A[:2], A) == 1
        assert component_similarity(A, 1 - A) < 0.9

    def test_metric_is_passed_on(self):
        A, B = [[0.1, 0.2]], [[0.2, 0.4]]
        assert component_similarity(A, B, metric="cosine") == pytest.approx(1)
        assert component_similarity(A, B) == pytest.approx(0.85)

    def test_matching_is_public_here(self):
        np.testing.assert_array_equal(match_components([[0, 1], [1, 0]], [[1, 0], [0, 1]]).order, [1, 0])


class TestCalibration:
    def test_table_by_hand(self):
        truth = [0, 1, 1, 0, 1, np.nan]
        table = calibration_table(truth, [0.0, 0.2, 0.25, 0.9, 1.0, 0.6], bins=4)
        expected = pd.DataFrame(
            {
                "lower": [0.0, 0.25, 0.75],
                "upper": [0.25, 0.5, 1.0],
                "predicted": [0.1, 0.25, 0.95],
                "observed": [0.5, 1.0, 0.5],
                "count": [2, 1, 2],
            }
        )
        pd.testing.assert_frame_equal(table, expected, check_dtype=False)
        error = expected_calibration_error(truth, [0.0, 0.2, 0.25, 0.9, 1.0, 0.6], bins=4)
        assert error == pytest.approx((2 * 0.4 + 0.75 + 2 * 0.45) / 5)

    def test_edges_belong_to_the_bin_above(self):
        # 0.29 * 100 falls below 29 in floating point.
        table = calibration_table([1, 1], [0.29, 0.58], bins=100)
        np.testing.assert_allclose(table["lower"], [0.29, 0.58])

    def test_calibrated_and_overconfident(self):
        rng = np.random.default_rng(0)
        probability = rng.random((200, 100))
        truth = rng.random(probability.shape) < probability
        # With about 2000 cells a bin, a share's standard error is at most sqrt(1/4 / 2000).
        assert expected_calibration_error(truth, probability) < 5 * np.sqrt(0.25 / 2000)
        # Sure of a fair coin: 0.5 off everywhere.
        sure = (probability > 0.5).astype(float)
        coin = np.tile([0, 1], (200, 50))
        assert expected_calibration_error(coin, sure) == pytest.approx(0.5, abs=0.03)
        assert calibration_table(truth, probability)["count"].sum() == truth.size

    @pytest.mark.parametrize(
        ("truth", "probability", "bins", "message"),
        [
            ([0, 1], [0.5], 10, "one shape"),
            ([np.nan], [0.5], 10, "nothing to calibrate"),
            ([], [], 10, "nothing to calibrate"),
            ([0, 1], [0.5, 1.2], 10, "beyond"),
            ([0, 1], [0.5, np.nan], 10, "NaN at 1 cells"),
            ([0, 2], [0.5, 0.5], 10, r"truth\[1\] is 2"),
            ([0, 1], [0.5, 0.5], 0, "bins is 0"),
        ],
    )
    @pytest.mark.parametrize("function", [calibration_table, expected_calibration_error])
    def test_bad_input(self, function, truth, probability, bins, message):
        with pytest.raises(ValueError, match=message):
            function(truth, probability, bins=bins)
