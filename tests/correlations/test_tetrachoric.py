import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import hypergeom, multivariate_normal, norm

from latentbits import BinaryData, DataError
from latentbits.correlations.repair import regularise, repair_correlation
from latentbits.correlations.tetrachoric import tetrachoric
from tests.reference import tetrachoric as reference

FOUR_ROWS = [[0, 0], [0, 1], [1, 0], [1, 1]]

# By R 4.2.2. n00, n01, n10, n11; the correlation at which mvtnorm 1.1.3's pmvnorm(algorithm = TVPACK(1e-15)) is
# n11 / n, by uniroot(tol = 1e-15), as the optimisers of the next two stop after four or five digits; polycor 0.8.1's
# polychor(ML = FALSE); psych 2.2.9's tetrachoric; the standard error and that of polychor(ML = TRUE, std.err = TRUE):
# both invert a numerical Hessian of the likelihood of correlation and thresholds, the former in steps of at most 1e-4
# and (1 - |rho|) / 100, the latter of 1e-3, too coarse for correlations near 1 (hence None).
R_TABLES = [
    ((40, 10, 10, 40), 0.809016994374947, 0.809017851741201, 0.809017793148799, 0.0738632501839716, 0.0738609694513766),
    ((50, 30, 15, 5), -0.199116843121185, -0.199112813031098, -0.199112804833547, 0.182003642234776, 0.182003350393992),
    ((3, 37, 41, 19), -0.849417665535861, -0.849408864719634, -0.849408825763498, 0.066871383074422, 0.066867387119631),
    ((480, 12, 6, 2), 0.531263490434007, 0.531268270073483, 0.531268209927114, 0.187003469265059, 0.187002560602134),
    ((900, 50, 45, 5), 0.160421432352237, 0.160427009440743, 0.160427013348114, 0.121349837596328, 0.121349649828122),
    ((495, 3, 2, 500), 0.99987978277444, 0.999859000475873, 0.999867786077296, 0.000108134425726883, None),
    ((10, 490, 480, 20), -0.99587873626849, -0.99586430311737, -0.995878789596293, 0.00151777180287479, None),
    ((6, 1, 2, 3), 0.696382239659932, 0.696380575179223, 0.696380581032623, 0.29450693341464, 0.294503515647702),
]

# Three of the six tables of X have an empty cell. The correlations are the maxima of the likelihood that psych 2.2.9's
# tetrachoric(X, correct = 0.5, smooth = FALSE) maximises, by uniroot on its derivative with mvtnorm's TVPACK; psych's
# own answers follow. The same for X with three cells missing: (1, 0), (4, 2) and (5, 3).
X = np.array(
    [
        *([0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 1]),
        *([0, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]),
    ],
    dtype=float,
)
MISSING = X.copy()
MISSING[[1, 4, 5], [0, 2, 3]] = np.nan
PAIRS = np.triu_indices(4, 1)
R_DATA = {
    "complete": (
        X,
        [
            -0.478266003332,
            -0.391144703312,
            -0.396690781981,
            0.475717558909,
            0.478266003332,
            0.730788242060,
        ],
        [
            -0.478265268155,
            -0.391132203803,
            -0.396670587377,
            0.475717215736,
            0.478265268154,
            0.730773545769,
        ],
        [0.430727299295, 0.674489750196, 0.210428394247, -0.430727299295],
    ),
    "missing": (
        MISSING,
        [
            -0.530212404196,
            -0.123771207698,
            -0.266129434540,
            0.418172788654,
            0.390543940326,
            0.772142744550,
        ],
        [
            -0.530226147437,
            -0.123771633263,
            -0.266141963834,
            0.418181581593,
            0.390535942877,
            0.772133468085,
        ],
        [0.348755695517, 0.674489750196, 0.114185294321, -0.348755695517],
    ),
}


def quiet(*arguments, **options):
    """For data whose warnings have a test of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tetrachoric(*arguments, **options)


def correlated(n_rows, D, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, D)) + rng.normal(size=(n_rows, D))
    data = (hidden > rng.normal(scale=0.5, size=D)).astype(float)
    data[rng.random(data.shape) < missing] = np.nan
    return data


def assert_sound(answer):
    """No NaN, nothing infinite, proper correlations."""
    for array in (answer.correlations, answer.thresholds, answer.standard_errors, answer.n_pairs):
        assert np.isfinite(array).all()
    off = ~np.eye(answer.correlations.shape[-1], dtype=bool)
    assert (np.abs(answer.correlations[..., off]) < 1).all()
    np.testing.assert_array_equal(answer.correlations, np.swapaxes(answer.correlations, -1, -2))
    np.testing.assert_array_equal(answer.correlations[..., ~off], 1)
    assert (answer.standard_errors <= 1).all()


@pytest.mark.parametrize(("table", "exact", "polycor", "psych", "error", "coarse_error"), R_TABLES)
def test_tables_agree_with_r(table, exact, polycor, psych, error, coarse_error):
    answer = tetrachoric(FOUR_ROWS, weights=table)
    assert answer.correlations[0, 1] == pytest.approx(exact, abs=1e-9)
    assert answer.correlations[0, 1] == pytest.approx(polycor, abs=3e-5)
    assert answer.correlations[0, 1] == pytest.approx(psych, abs=3e-5)
    assert answer.standard_errors[0, 1] == pytest.approx(error, rel=3e-4)
    if coarse_error is not None:
        assert answer.standard_errors[0, 1] == pytest.approx(coarse_error, rel=1e-4)


@pytest.mark.parametrize(("data", "exact", "psych", "thresholds"), R_DATA.values(), ids=R_DATA.keys())
def test_empty_and_missing_cells_agree_with_psych(data, exact, psych, thresholds):
    answer = quiet(data, correct=0.5)
    np.testing.assert_allclose(answer.correlations[PAIRS], exact, rtol=0, atol=1e-9)
    np.testing.assert_allclose(answer.correlations[PAIRS], psych, rtol=0, atol=3e-5)
    np.testing.assert_allclose(answer.thresholds, thresholds, atol=1e-12)
    np.testing.assert_array_equal(answer.zero_cells[PAIRS], [True, False, False, False, True, True])


@pytest.mark.parametrize("correct", [None, 0.5])
@pytest.mark.parametrize(("n_rows", "missing"), [(60, 0.0), (60, 0.2), (14, 0.1)])
def test_equals_its_slow_twin(n_rows, missing, correct):
    data = correlated(n_rows, 4, missing=missing)
    weights = np.random.default_rng(1).uniform(0.5, 3, len(data))
    answer = quiet(data, weights=weights, correct=correct)
    assert n_rows == 60 or answer.zero_cells.any()
    for i, j in zip(*PAIRS, strict=True):
        expected = reference.correlation(data, i, j, weights, correct)
        assert answer.correlations[i, j] == pytest.approx(expected, abs=1e-6)
        assert answer.n_pairs[i, j] == pytest.approx(sum(reference.table(data, i, j, weights)))
        assert answer.zero_cells[i, j] == (0 in reference.table(data, i, j, weights))
    np.testing.assert_allclose(answer.thresholds, [-reference.quantile(data, j, weights) for j in range(4)])
    assert np.ptp(answer.correlations[PAIRS]) > 0.3


def test_the_model_has_the_observed_cell_probabilities():
    data = correlated(400, 5, seed=2)
    answer = tetrachoric(data)
    for i, j in zip(*np.triu_indices(5, 1), strict=True):
        rho, limits = answer.correlations[i, j], -answer.thresholds[[i, j]]
        joint = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(limits)
        assert joint == pytest.approx(np.mean(data[:, i] * data[:, j]), abs=1e-9)


def test_standard_errors_equal_the_scatter_of_estimates():
    rng = np.random.default_rng(3)
    n_segments, n_rows, rho = 1500, 300, 0.6
    latent = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=n_segments * n_rows)
    answer = tetrachoric(latent > [0.3, -0.5], np.repeat(np.arange(n_segments), n_rows))
    estimates, errors = answer.correlations[:, 0, 1], answer.standard_errors[:, 0, 1]
    assert estimates.mean() == pytest.approx(rho, abs=0.01)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(estimates.std(), rel=0.06)  # +- 2 % is chance
    np.testing.assert_allclose(answer.thresholds.mean(axis=0), [0.3, -0.5], atol=0.01)


def test_segments_are_fits_of_their_rows():
    data = correlated(90, 3)
    labels = np.array(["b", "a", "c"])[np.arange(90) % 3]
    answer = quiet(data, labels)
    assert answer.segments.tolist() == ["a", "b", "c"]
    for u, label in enumerate("abc"):
        alone = quiet(data[labels == label])
        for field in ("correlations", "thresholds", "standard_errors", "n_pairs", "zero_cells"):
            np.testing.assert_array_equal(getattr(answer, field)[u], getattr(alone, field))
    assert np.ptp(answer.correlations[:, 0, 1]) > 0


def test_a_weight_counts_rows():
    data = correlated(80, 3)
    weights = np.random.default_rng(0).integers(0, 4, 80)
    one, other = quiet(data, weights=weights), quiet(np.repeat(data, weights, axis=0))
    for field in ("correlations", "thresholds", "standard_errors", "n_pairs"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-12)


def test_threads_do_not_change_a_bit(monkeypatch):
    data, segments = correlated(200, 12, missing=0.1), np.arange(200) % 3
    weights = np.random.default_rng(0).uniform(size=200)
    whole = quiet(data, segments, weights)
    monkeypatch.setattr("latentbits.correlations.tetrachoric.CHUNK", 10)
    monkeypatch.setattr("latentbits.correlations.tetrachoric.ROWS", 16)
    one, many = (quiet(data, segments, weights, n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.correlations, many.correlations)
    np.testing.assert_array_equal(one.standard_errors, many.standard_errors)
    np.testing.assert_allclose(one.correlations, whole.correlations, atol=1e-10)


def test_swapping_zeros_and_ones_of_a_column_changes_signs_only():
    data = correlated(200, 3)
    flipped = np.column_stack([1 - data[:, 0], data[:, 1:]])
    one, other = tetrachoric(data), tetrachoric(flipped)
    signs = np.outer([-1, 1, 1], [-1, 1, 1])
    np.testing.assert_allclose(one.correlations, other.correlations * signs, atol=1e-12)
    np.testing.assert_allclose(one.standard_errors, other.standard_errors, atol=1e-12)
    np.testing.assert_allclose(one.thresholds, other.thresholds * [-1, 1, 1], atol=1e-12)


def test_sparse_data_frames_and_binarize():
    data = correlated(100, 3)
    expected = tetrachoric(data)
    np.testing.assert_array_equal(tetrachoric(sp.csr_array(data)).correlations, expected.correlations)
    np.testing.assert_array_equal(tetrachoric(3 * data, binarize=2).correlations, expected.correlations)
    frame = pd.DataFrame(data, columns=list("xyz"))
    named = tetrachoric(frame)
    pd.testing.assert_frame_equal(
        named.to_frame(), pd.DataFrame(expected.correlations, index=list("xyz"), columns=list("xyz"))
    )
    assert tetrachoric(frame, np.arange(100) % 2).to_frame().loc[(1, "x"), "x"] == 1
    assert named.column_names == ["x", "y", "z"]


def test_empty_cells_warn_with_their_number_and_the_first():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    pairs = r'\(first: columns "a" and "b", then columns "b" and "d", then columns "c" and "d"\)'
    with pytest.warns(UserWarning, match=rf"^3 of 6 pairs.*correct=0\.5 {pairs}") as record:
        tetrachoric(frame, correct=0.5)
    assert len(record) == 1
    with pytest.warns(UserWarning, match=rf"^3 of 6 pairs.*half a row at most {pairs}") as record:
        answer = tetrachoric(frame)
    assert len(record) == 1
    assert record[0].filename == __file__
    assert_sound(answer)
    with pytest.warns(UserWarning, match="first: columns 1 and 2 in segment 7"):
        tetrachoric(X, np.full(len(X), 7))


class TestRareColumns:
    """Tables of independent rare columns, which half a row in an empty cell would tie together."""

    def test_a_table_without_information_has_no_correlation_and_says_so(self):
        with pytest.warns(UserWarning, match="half a row at most"):
            found = tetrachoric(FOUR_ROWS, weights=[98, 1, 1, 0])
        assert abs(found.correlations[0, 1]) < 0.02
        assert found.standard_errors[0, 1] > 0.9
        assert quiet(FOUR_ROWS, weights=[98, 1, 1, 0], correct=0.5).correlations[0, 1] > 0.7

    @pytest.mark.parametrize(("n_rows", "ones"), [(1000, 10), (2000, 20), (5000, 25), (200, 10), (1000, 50), (50, 10)])
    def test_the_mean_over_all_tables_of_independent_columns_is_near_0(self, n_rows, ones):
        both = np.arange(ones + 1)
        chance = hypergeom(n_rows, ones, ones).pmf(both)
        found = [
            quiet(FOUR_ROWS, weights=[n_rows - 2 * ones + n, ones - n, ones - n, n]).correlations[0, 1]
            for n in both[chance > 1e-7]
        ]
        assert abs(chance[chance > 1e-7] @ found) < 0.03

    def test_half_a_row_is_the_limit_where_many_rows_are_expected(self):
        table = [4000, 3000, 3000, 0]
        usual, prior = (quiet(FOUR_ROWS, weights=table, correct=c).correlations[0, 1] for c in (0.5, None))
        assert prior == pytest.approx(usual, abs=1e-4)


def test_correct_zero_ends_at_the_limit():
    with pytest.warns(UserWarning, match="correct=0 "):
        answer = tetrachoric(X, correct=0)
    np.testing.assert_allclose(answer.correlations[[0, 1, 2], [1, 3, 3]], [-0.9999, 0.9999, 0.9999])
    assert_sound(answer)


def test_correct_moves_only_pairs_with_an_empty_cell():
    little, much = quiet(X, correct=0.1), quiet(X, correct=1.0)
    changed = little.correlations != much.correlations
    np.testing.assert_array_equal(changed, little.zero_cells)


def test_constant_columns_have_no_correlation_and_a_finite_threshold():
    data = np.column_stack([correlated(50, 2), np.zeros(50), np.ones(50)])
    with pytest.warns(UserWarning, match=r"^constant columns: 3, 4; their correlations are given as 0") as record:
        answer = tetrachoric(data)
    assert len(record) == 1
    assert_sound(answer)
    np.testing.assert_array_equal(answer.correlations[2:], np.eye(4)[2:])
    np.testing.assert_array_equal(answer.standard_errors[2:], 1 - np.eye(4)[2:])
    np.testing.assert_allclose(answer.thresholds[2:], norm.ppf([50 / 50.5, 0.5 / 50.5]))
    assert not answer.zero_cells[2:].any()
    np.testing.assert_array_equal(answer.correlations[:2, :2], tetrachoric(data[:, :2]).correlations)
    assert_sound(quiet(data, correct=0))


@pytest.mark.parametrize("correct", [0, 0.5])
def test_tiny_segments_survive(correct):
    data = correlated(40, 4)
    segments = np.r_[0, 1, 1, 2, 2, 2, np.full(34, 3)]
    answer = quiet(data, segments, correct=correct)
    assert_sound(answer)
    np.testing.assert_array_equal(answer.correlations[0], np.eye(4))
    np.testing.assert_array_equal(answer.n_pairs[:, 0, 1], [1, 2, 3, 34])


def test_columns_never_seen_together():
    nan = np.nan
    data = [[0, nan, 1], [1, nan, 0], [nan, 0, 1], [nan, 1, 0], [1, nan, 1], [nan, 0, 0], [0, nan, 0], [nan, 1, 1]]
    with pytest.warns(UserWarning, match=r"^1 pair of columns is never seen .* \(first: columns 1 and 2\)"):
        answer = tetrachoric(data)
    assert_sound(answer)
    assert (answer.correlations[0, 1], answer.standard_errors[0, 1], answer.n_pairs[0, 1]) == (0, 1, 0)
    column = quiet(np.column_stack([np.asarray(data)[:, 2], np.full(8, nan)]))
    assert_sound(column)
    assert column.thresholds[1] == 0


def test_one_column_one_row():
    assert tetrachoric([[0], [1], [1]]).correlations.tolist() == [[1.0]]
    assert_sound(quiet([[0, 1, 1]]))


def test_weights_many_digits_apart():
    assert_sound(quiet(FOUR_ROWS, weights=[1e-9, 1e9, 1e-9, 1e9]))


def test_at_the_limits_nothing_is_certain():
    found = quiet(FOUR_ROWS, weights=[20, 0, 0, 20], correct=0)
    assert abs(found.correlations[0, 1]) == pytest.approx(0.9999)
    assert found.standard_errors[0, 1] == 1


def test_segments_in_a_column_and_in_the_order_that_people_count():
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (120, 3)), columns=list("abc"))
    weeks = np.repeat(["week 10", "week 9", "week 1"], 40)
    found = quiet(X.assign(week=weeks), segments="week")
    assert found.segments.tolist() == ["week 1", "week 9", "week 10"]
    np.testing.assert_allclose(found.correlations[1], quiet(X[weeks == "week 9"]).correlations)
    ordered = pd.Categorical(weeks, categories=["week 9", "week 1", "week 10"], ordered=True)
    assert quiet(X, segments=pd.Series(ordered)).segments.tolist() == ["week 9", "week 1", "week 10"]
    days = pd.date_range("2026-01-01", periods=3).repeat(40)
    assert quiet(X, segments=days).segments.tolist()[0].startswith("2026-01-01")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"segments": [0, 1]}, r"segments has the shape \(2,\); give one label for each of 12 rows"),
        ({"segments": [np.nan] * 12}, "has no segment"),
        ({"segments": np.array([None, "a"] * 6)}, "row 1 has no segment"),
        ({"segments": ["a", float("nan")] * 6}, "row 2 has no segment"),
        ({"segments": ["a", 1] * 6}, "mixes numbers and texts"),
        ({"weights": [1e20] * 12}, "above 1e"),
        ({"weights": [1, 2]}, "give one weight for each of 12 rows"),
        ({"weights": -np.ones(12)}, "not negative"),
        ({"correct": -1}, "correct=-1 must be a number of at least 0"),
    ],
)
def test_bad_input_is_refused_with_the_way_out(options, message):
    with pytest.raises(ValueError, match=message):
        tetrachoric(X, **options)
    with pytest.raises(DataError, match="row 1, column 2: value 3"):
        tetrachoric([[0, 3]])


def test_repair_makes_the_matrix_positive_definite():
    data = BinaryData.of(correlated(20, 12))
    raw, repaired = quiet(data), quiet(data, repair=True)
    assert np.linalg.eigvalsh(raw.correlations)[0] < 0
    np.linalg.cholesky(repaired.correlations)
    np.testing.assert_array_equal(np.diag(repaired.correlations), 1)
    np.testing.assert_array_equal(repaired.correlations, repair_correlation(raw.correlations))


def test_repair_equals_psychs_smoothing():
    broken = np.array([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]])
    # psych 2.2.9's cor.smooth
    expected = [0.784633719554743, 0.231300147933125, 0.784633719554741]
    good = np.array([[1, 0.5, 0.2], [0.5, 1, 0.5], [0.2, 0.5, 1]])
    one, other = repair_correlation([broken, good], smallest=1e-13)
    np.testing.assert_allclose(one[np.triu_indices(3, 1)], expected, atol=1e-10)
    np.testing.assert_array_equal(other, good)


def test_regularise_reaches_the_condition_number():
    indefinite = np.array([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]])
    fine = np.eye(3)
    one, other = regularise([indefinite, fine], 20)
    assert np.linalg.cond(one) == pytest.approx(20)
    assert np.linalg.eigvalsh(one)[0] > 0
    np.testing.assert_allclose(np.diag(one), 1)
    off = np.triu_indices(3, 1)
    assert np.ptp(one[off] / indefinite[off]) < 1e-12  # every correlation shrinks by the same factor
    np.testing.assert_array_equal(other, fine)
    with pytest.raises(ValueError, match="condition_number=1 must be a number above 1"):
        regularise(fine, 1)
