"""The verdict: noise, totals and patterns are told apart; numbers equal plain loops; nothing is NaN."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import gaussian_filter
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

from latentbits import (
    AspectBernoulli,
    BernoulliMixture,
    BetaICA,
    DataError,
    FalseZeros,
    ICAMixture,
    IndependentBernoulli,
    LogisticPCA,
    RowColumnBernoulli,
    select_order,
    simulate,
    verdict,
)
from latentbits.data.binary_data import BinaryData
from latentbits.fitting.held_out import Gain, HiddenCells, gain_over
from latentbits.notes import Level
from latentbits.tasks.order import Order, map_width, order_of, resemblance, residuals
from latentbits.tasks.verdict import Verdict, verdicts_of_selection

NO_EVIDENCE = "the model's ranking of zeros is no evidence of false zeros."
NOTHING = f"Only column totals are predictable; {NO_EVIDENCE}"


def noise(n_rows=80, n_columns=25, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((n_rows, n_columns)) < rng.uniform(0.05, 0.6, n_columns)).astype(int)


def totals(n_rows=150, n_columns=40, seed=0):
    """Rows and columns differ in how full they are, and in nothing else."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, (n_rows, 1)) + rng.normal(-1, 1, n_columns)
    return (rng.random((n_rows, n_columns)) < expit(odds)).astype(int)


def pattern(seed=0):
    return simulate.aspect_bernoulli(80, 25, 3, sharpness=0.2, random_state=seed).X


def aspects(k=3, **parameters):
    return AspectBernoulli(k, **{"n_init": 2, "random_state": 0, **parameters})


class TestTheThreeAnswers:
    @pytest.mark.parametrize("model", [aspects(), BetaICA(3, n_init=2), BernoulliMixture(3, n_init=2), LogisticPCA(2)])
    def test_a_pattern_is_found(self, model):
        found = verdict(model, pattern(), random_state=0)
        assert found.predicts is True
        assert found.over_columns.z > 2 < found.over_rows_and_columns.z
        assert found.over_rows_and_columns.gain > 0
        assert found.sentences[0].startswith("Held-out cells are predicted better")

    @pytest.mark.parametrize("model", [aspects(), BetaICA(3, n_init=2)])
    def test_independent_columns_are_nothing(self, model):
        found = verdict(model, noise(), random_state=0)
        assert found.predicts is False
        assert found.sentences[0] == NOTHING

    def test_a_model_without_suspects_speaks_of_its_components(self):
        found = verdict(BernoulliMixture(3, n_init=2), noise(), random_state=0)
        assert found.sentences[0].startswith("Only column totals are predictable; the")
        assert "false zeros" not in found.sentences[0]

    def test_totals_of_rows_are_no_pattern(self):
        found = verdict(aspects(), totals(), random_state=0)
        assert found.predicts is False
        assert found.over_columns.z > 2 > found.over_rows_and_columns.z
        assert found.sentences[0].startswith("Only row and column totals are predictable")
        assert found.sentences[0].endswith("the model's ranking of zeros is no evidence of false zeros.")

    def test_totals_on_another_scale_are_told_of_where_little_is_gained(self):
        """Effort times rate: log odds of rows and columns don't add up, and there is no other structure."""
        rng, model = np.random.default_rng(0), BernoulliMixture(3, n_init=2, random_state=0)
        X = rng.random((600, 30)) < np.outer(rng.beta(0.5, 0.8, 600), rng.beta(0.7, 0.7, 30))
        found = verdict(model, X.astype(int), random_state=0)
        assert (found.level, found.is_slight) == (Level.WEAK, True)
        assert "effects on another scale" in str(found)
        assert "effects on another scale" not in str(verdict(model, pattern(), random_state=0))

    @pytest.mark.parametrize("baseline", [IndependentBernoulli(), RowColumnBernoulli(), aspects(1)])
    def test_a_baseline_is_no_better_than_itself(self, baseline):
        found = verdict(baseline, pattern(), random_state=0)
        assert found.predicts is False

    def test_overconfidence_is_no_reason_to_say_nothing(self):
        """Its own probabilities lose against frequencies, and yet they rank the hidden cells."""
        X = simulate.aspect_bernoulli(128, 36, 4, density=0.127, random_state=1).X
        found = verdict(aspects(4).set_params(smoothing=0), X, random_state=0)
        over = found.over_rows_and_columns
        assert over.own_gain < -2 * over.own_gain_se
        assert found.predicts
        assert over.gain > 2 * over.gain_se
        assert 0 < over.trust < 0.75
        assert found.auc["rows and columns"] + 0.01 < over.auc
        assert "overconfident" in found.sentences[1]


class TestNumbers:
    def test_they_equal_plain_loops(self):
        rng = np.random.default_rng(3)
        data = BinaryData.of(np.where(rng.random((7, 5)) < 0.1, np.nan, rng.integers(0, 2, (7, 5))))
        cells = HiddenCells.of(data, rng.integers(0, 3, data.n_observed))
        model, base = rng.uniform(0.05, 0.95, (2, data.n_observed)).astype(np.float32)
        found = gain_over(cells, model, base)
        spread, moved, own = self.loops(cells, model.astype(float), base.astype(float))
        assert found.z == pytest.approx(moved / math.sqrt(2 * spread), rel=1e-9)
        per_row = {}
        for row, value in zip(cells.row, own, strict=True):
            per_row.setdefault(row, []).append(value - np.mean(own))
        error = math.sqrt(sum(sum(part) ** 2 for part in per_row.values()) * 7 / 6) / len(own)
        assert found.own_gain == pytest.approx(np.mean(own), rel=1e-9)
        assert found.own_gain_se == pytest.approx(error, rel=1e-9)
        changed = logit(model.astype(float)) - logit(base.astype(float))
        best = max(np.linspace(0, 1, 2001), key=lambda t: self.likelihood(cells.x, logit(base) + t * changed))
        assert found.trust == pytest.approx(best, abs=1e-3)

    @staticmethod
    def likelihood(x, odds):
        p = expit(odds)
        return np.sum(np.log(np.where(x == 1, p, 1 - p)))

    @staticmethod
    def loops(cells, model, base):
        """The variance of what the model adds; its sum with what was found; the gain of its own probabilities."""
        places = list(zip(cells.column, cells.fold, strict=True))
        added = []
        for place, p, q in zip(places, model, base, strict=True):
            same = [i for i, other in enumerate(places) if other == place]
            weights = [base[i] * (1 - base[i]) for i in same]
            differences = [logit(model[i]) - logit(base[i]) for i in same]
            added.append(logit(p) - logit(q) - np.average(differences, weights=weights))
        spread = sum(q * (1 - q) * a**2 for q, a in zip(base, added, strict=True))
        moved = sum(a * (x - q) for a, x, q in zip(added, cells.x, base, strict=True))
        own = [math.log(p / q if x else (1 - p) / (1 - q)) for x, p, q in zip(cells.x, model, base, strict=True)]
        return spread, moved, own

    def test_what_is_known_of_the_cells_is_to_be_trusted(self):
        """Where most cells of a column are told to be 0 and few to be 1, the truth is not called overconfident."""
        rng = np.random.default_rng(0)
        column = rng.uniform(0.02, 0.2, 30)
        truth = np.where(rng.random((400, 30)) < column, 0.7, 0.002)
        data = BinaryData.of((rng.random((400, 30)) < truth).astype(int))
        cells = HiddenCells.of(data, rng.integers(0, 5, data.n_observed))
        found = gain_over(cells, truth.ravel(), np.tile(truth.mean(axis=0), 400))
        assert found.trust > 0.9
        assert found.gain >= found.own_gain > 0

    @pytest.mark.parametrize("seed", range(5))
    def test_the_best_factor_gains_no_less_than_the_probabilities_as_they_are(self, seed):
        rng = np.random.default_rng(seed)
        data = BinaryData.of(noise(30, 8, seed))
        cells = HiddenCells.of(data, rng.integers(0, 3, data.n_observed))
        model, base = rng.beta(0.5, 2, (2, data.n_observed))
        found = gain_over(cells, model, base)
        assert found.gain >= max(found.own_gain, 0) - 1e-9

    def test_equal_predictions_gain_exactly_nothing(self):
        data = BinaryData.of(noise(20, 6))
        cells = HiddenCells.of(data, np.arange(120) % 4)
        p = np.full(120, 0.3, dtype=np.float32)
        found = gain_over(cells, p, p)
        assert (found.z, found.gain, found.own_gain, found.trust) == (0, 0, 0, 0)

    def test_a_better_estimate_of_the_columns_alone_is_no_finding(self):
        """The truth of independent columns beats their frequencies, but adds nothing within a column."""
        rng = np.random.default_rng(0)
        truth = np.tile(rng.uniform(0.02, 0.2, 30), (30, 1))
        data = BinaryData.of((rng.random((30, 30)) < truth).astype(int))
        cells = HiddenCells.of(data, rng.integers(0, 5, 900))
        found = gain_over(cells, truth.ravel(), np.full(900, 0.5))
        assert found.own_gain > 0.3
        assert found.z == 0

    def test_every_observed_cell_is_hidden_once(self):
        X = pattern().astype(float)
        X[::3, ::4] = np.nan
        found = verdict(aspects(), X, n_folds=3, random_state=0)
        assert found.n_cells == np.isfinite(X).sum()
        assert found.n_folds == 3

    def test_the_same_seed_gives_the_same_verdict_on_any_number_of_threads(self):
        model = aspects(random_state=None)
        first, second = (verdict(model, pattern(), random_state=5, n_jobs=n).to_dict() for n in (1, 2))
        assert first == second
        assert first != verdict(model, pattern(), random_state=6).to_dict()

    def test_the_model_is_left_as_it_was(self):
        model = aspects(n_init=10)
        before = dict(model.get_params())
        verdict(model, noise(20, 5), random_state=0)
        assert model.get_params() == before
        assert not hasattr(model, "components_")

    def test_large_tables_have_fewer_random_starts(self, monkeypatch):
        X = noise(20, 5)
        assert "by 10 restarts" in verdict(aspects(n_init=12), X, random_state=0).sentences[-1]
        monkeypatch.setattr("latentbits.tasks.verdict.LARGE", 99)
        assert "by 3 restarts" in verdict(aspects(n_init=12), X, random_state=0).sentences[-1]
        assert "by 1 restart." in verdict(aspects(n_init=1), X, random_state=0).sentences[-1]

    def test_it_becomes_json(self):
        found = verdict(aspects(), pattern(), random_state=0)
        again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert again["predicts"] is True
        assert again["sentences"] == found.sentences
        assert again["over_columns"]["z"] == found.over_columns.z
        assert again["auc"].keys() == {"model", "columns", "rows and columns"}

    def test_it_is_printed_as_sentences_and_shown_in_one_line(self):
        found = verdict(aspects(), pattern(), random_state=0)
        assert repr(found) == "Verdict(predicts=True)"
        assert str(found) == " ".join(found.sentences)
        assert str(found).startswith("Held-out cells are predicted")


class TestOfASelection:
    def test_it_uses_the_cells_that_were_held_out(self):
        X = pattern()
        found = select_order(aspects(n_init=3, random_state=None), X, [3], criterion="cells", n_folds=5, random_state=4)
        reused = verdicts_of_selection(found)
        assert reused.keys() == {1, 3}
        assert not reused[1].predicts
        assert reused[3].auc["model"] == roc_auc_score(X.ravel(), found.held_out.predicted[3])
        # The folds of `select_order` and `verdict` come from the seed in the same way.
        again = verdict(aspects(n_init=3, random_state=None), X, n_folds=5, random_state=4)
        assert reused[3].auc["columns"] == again.auc["columns"]
        assert "by the best of 3 restarts" in reused[3].sentences[-1]

    def test_without_held_out_cells_there_is_none(self):
        found = select_order(aspects(), pattern(), [2], criterion="aic", random_state=0)
        assert found.held_out is None
        assert verdicts_of_selection(found) == {}


class TestDegenerateData:
    @pytest.mark.parametrize(
        ("X", "reason"),
        [
            (np.array([[0, 1, 1, 0, 1]]), "there is one row only"),
            (np.array([[0], [1], [1], [0], [1], [1]]), "there is one column only"),
            (np.zeros((6, 5), int), "all observed cells are 0"),
            (np.ones((6, 5), int), "all observed cells are 1"),
            (np.array([[1, 0, np.nan], [np.nan, np.nan, 1]]), "3 observed cells are too few to be held out in 5 parts"),
        ],
    )
    def test_it_says_that_it_cannot_be_told(self, X, reason):
        found = verdict(aspects(2), X, random_state=0)
        assert found.predicts is None
        assert found.sentences[0].startswith(f"This model can't be tested: {reason}")
        assert found.sentences[0].endswith("The model's ranking of zeros is no evidence of false zeros.")
        json.dumps(found.to_dict(), allow_nan=False)

    @pytest.mark.parametrize("shape", [(4, 3), (3, 40), (40, 3), (2, 2)])
    @pytest.mark.filterwarnings("ignore")
    def test_more_components_than_rows_or_columns_give_numbers(self, shape):
        X = np.random.default_rng(1).integers(0, 2, shape)
        found = verdict(aspects(6, n_init=1), X, n_folds=2, random_state=0)
        json.dumps(found.to_dict(), allow_nan=False)
        assert found.predicts in (True, False, None)

    def test_a_column_of_one_value_and_an_empty_row_give_numbers(self):
        X = pattern().astype(float)
        X[:, 0], X[:, 1], X[3] = 0, 1, np.nan
        found = verdict(aspects(), X, random_state=0)
        assert found.predicts
        json.dumps(found.to_dict(), allow_nan=False)

    def test_what_predicts_no_cells_is_refused(self):
        with pytest.raises(DataError, match="ICAMixture has no cells"):
            verdict(ICAMixture(2), noise())
        with pytest.raises(DataError, match="is not an estimator"):
            verdict("aspects", noise())
        with pytest.raises(ValueError, match="n_folds"):
            verdict(aspects(), noise(), n_folds=1)


class TestAnEnsemble:
    """`FalseZeros` has hidden the cells itself; the verdict is what it knows, in the same words."""

    members = ("aspects_2", "linear_autoencoder")

    def ensemble(self, **parameters):
        return FalseZeros(**{"n_folds": 2, "members": list(self.members), "random_state": 0, **parameters})

    def test_a_pattern_is_found_from_its_own_hidden_cells(self):
        model = self.ensemble().fit(pattern())
        found = verdict(model, pattern())
        assert found.predicts is True
        assert found.over_columns.z == model.gains_["columns"]["z"]
        assert found.over_rows_and_columns.z == model.gains_["rows and columns"]["z"]
        assert found.auc == model.auc_
        assert (found.n_cells, found.n_folds) == (model.n_hidden_, 2)
        assert found.sentences[0].startswith("Held-out cells are predicted better")
        assert "by 2 members of the ensemble" in found.sentences[-1]

    def test_a_fitted_one_is_not_fitted_again(self, monkeypatch):
        model = self.ensemble().fit(pattern())
        monkeypatch.setattr(FalseZeros, "fit", lambda *_, **__: pytest.fail("fitted again"))
        assert verdict(model, pattern()).predicts

    def test_one_that_is_not_fitted_is_and_stays_as_it_was(self):
        model = self.ensemble()
        assert verdict(model, pattern()).to_dict() == verdict(self.ensemble().fit(pattern()), pattern()).to_dict()
        assert not hasattr(model, "gains_")

    def test_other_data_get_a_verdict_of_their_own(self):
        model = self.ensemble().fit(pattern())
        assert verdict(model, noise()).predicts is False
        assert verdict(model, noise()).sentences[0] == NOTHING
        assert verdict(model, pattern()).predicts is True

    def test_totals_of_rows_are_no_pattern(self):
        found = verdict(self.ensemble(), totals())
        assert found.predicts is False
        assert found.over_columns.z > 2 > found.over_rows_and_columns.z

    @pytest.mark.parametrize(
        ("cells", "n_folds", "reason"),
        [
            (pattern(), None, "no cells were held out and predicted; use n_folds (--folds), such as 5"),
            (pattern()[:1], 2, "there is one row only"),
            (np.repeat(pattern()[:1], 12, axis=0), 2, "all rows are alike"),
            ([[0, 1], [1, 0], [1, 1]], 4, "6 observed cells are too few to be held out in 4 parts"),
        ],
    )
    @pytest.mark.filterwarnings("ignore")
    def test_it_cannot_be_told_without_hidden_cells(self, cells, n_folds, reason):
        found = verdict(self.ensemble(n_folds=n_folds, noise=None), cells)
        assert found.predicts is None
        assert (found.over_columns, found.n_cells) == (None, 0)
        assert found.sentences[0].startswith(f"This model can't be tested: {reason}")
        assert found.sentences[0].endswith("The model's ranking of zeros is no evidence of false zeros.")
        json.dumps(found.to_dict(), allow_nan=False)


# ---- rows that depend on each other ----------------------------------------------------------------------------------


def waves(n_rows=200, n_columns=30, length=10, seed=0):
    """Independent columns, each of which stays what it is for some rows."""
    rng = np.random.default_rng(seed)
    z = np.zeros((n_rows + 50, n_columns))
    for i in range(1, len(z)):
        z[i] = z[i - 1] * math.exp(-1 / length) + rng.normal(0, 0.5, n_columns)
    return (z[50:] > 0).astype(int)


class TestRowsInAnOrder:
    def test_independent_columns_are_predictable_from_neighbours_alone(self):
        found = verdict(aspects(), waves(), random_state=0)
        assert found.over_columns.z > 2 < found.over_rows_and_columns.z  # a model would be taken in
        assert (found.predicts, found.level) == (False, Level.NEIGHBOURS)
        assert found.sentences[0].startswith("Cells are predictable from neighbouring rows, not from other columns;")
        assert Verdict.from_dict(json.loads(json.dumps(found.to_dict()))).level is Level.NEIGHBOURS

    @pytest.mark.parametrize("model", [LogisticPCA(2), BernoulliMixture(3, n_init=2)])
    def test_whatever_the_model(self, model):
        assert verdict(model, waves(), random_state=0).level is Level.NEIGHBOURS

    def test_also_by_the_ensemble_and_by_a_selection(self):
        ensemble = FalseZeros(n_folds=2, members=["aspects_2", "linear_autoencoder"], random_state=0)
        assert verdict(ensemble, waves(), random_state=0).level is Level.NEIGHBOURS
        selection = select_order(aspects(), waves(), [2], criterion="cells", n_folds=3, random_state=0)
        assert {found.level for found in verdicts_of_selection(selection).values()} == {Level.NEIGHBOURS}

    def test_shared_causes_are_found_however_the_rows_are_ordered(self):
        made = simulate.aspect_bernoulli(150, 40, 3, sharpness=0.1, random_state=0)
        ordered = made.X[np.argsort(made.weights[:, 0])]
        found = verdict(aspects(), ordered, random_state=0)
        assert found.order.z > 3
        assert found.predicts
        unordered = verdict(aspects(), made.X, random_state=0)
        assert unordered.order.p is None
        assert unordered.predicts

    def test_blocks_and_groups_hold_out_neighbours(self):
        alone = verdict(aspects(), waves(), random_state=0)
        blocks = verdict(aspects(), waves(), blocks=50, random_state=0)
        groups = verdict(aspects(), waves(), groups=np.repeat(list("abcd"), 50), random_state=0)
        assert blocks.order is None
        assert blocks.over_columns.z < 2 < alone.over_columns.z
        assert not blocks.predicts
        assert blocks.auc == groups.auc
        assert "runs of rows together" in blocks.sentences[-1]
        assert "in a group of rows together" in groups.sentences[-1]

    def test_blocks_keep_what_columns_share(self):
        made = simulate.aspect_bernoulli(150, 40, 3, sharpness=0.1, random_state=0)
        assert verdict(aspects(), made.X, blocks=5, random_state=0).predicts

    def test_a_group_may_be_a_column_of_the_frame(self):
        frame = pd.DataFrame(waves()).rename(columns=str)
        by_name = verdict(aspects(), frame.assign(site=np.repeat(range(4), 50)), groups="site", random_state=0)
        assert by_name.auc == verdict(aspects(), waves(), blocks=50, random_state=0).auc

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"groups": [0] * 200, "blocks": 3}, "not both"),
            ({"groups": [0] * 200}, "all rows are in one group"),
            ({"groups": [0, 1]}, "200"),
            ({"blocks": 1}, "blocks"),
        ],
    )
    def test_groups_that_make_no_sense_are_refused(self, given, message):
        with pytest.raises((DataError, ValueError), match=message):
            verdict(aspects(), waves(), **given)

    def test_the_resemblance_of_successive_rows_is_that_of_permutations(self):
        """Against random orders of the rows, whose mean and variance Mantel's formula has."""
        rng = np.random.default_rng(0)
        R, _ = residuals(BinaryData.of(pattern()[np.argsort(pattern()[:, 0])]))
        orders = [rng.permutation(R) for _ in range(4000)]
        products = [np.sum(order[:-1] * order[1:]) for order in orders]
        expected = (np.sum(R[:-1] * R[1:]) - np.mean(products)) / np.std(products)
        assert resemblance(R) == pytest.approx(expected, abs=0.1)

    def test_a_map_read_row_by_row_has_its_width_and_a_daily_cycle_has_none(self):
        rng = np.random.default_rng(0)
        maps = gaussian_filter(rng.normal(size=(15, 12, 40)), (1, 1, 0)).reshape(180, 40)
        assert map_width(residuals(BinaryData.of(maps > 0))[0]) == 12
        days = np.sin(2 * np.pi * (np.arange(180)[:, None] / 12 + rng.random(40))) + rng.normal(size=(180, 40))
        assert map_width(residuals(BinaryData.of(days > 0))[0]) == 1

    def test_independent_maps_are_predictable_from_neighbours_alone(self):
        rng = np.random.default_rng(1)
        maps = gaussian_filter(rng.normal(size=(15, 12, 40)), (1, 1, 0)).reshape(180, 40)
        assert order_of(BinaryData.of(maps > 0)).is_all

    def test_rows_sorted_by_their_own_columns_have_no_order(self):
        X = pattern()
        by_columns = X[np.lexsort(X.T[::-1])]
        assert order_of(BinaryData.of(by_columns)).p is None
        assert order_of(BinaryData.of(by_columns[::-1])).p is None

    def test_few_rows_are_not_tested(self):
        assert order_of(BinaryData.of(waves()[:29])).p is None

    def test_constant_columns_and_missing_cells_are_no_order(self):
        X = noise().astype(float)
        X[:, 3], X[:, 4], X[::5, ::2] = 0, 1, np.nan
        assert abs(order_of(BinaryData.of(X)).z) < 3
        assert order_of(BinaryData.of(np.tile([0, 1], (9, 4)))) == Order(0.0, None)


# ---- words and numbers -----------------------------------------------------------------------------------------------


class TestSentencesAndNumbers:
    """Of 500 random verdicts, also where numbers are about to tie: no sentence that its own numbers contradict."""

    @pytest.mark.parametrize("seed", range(500))
    def test_no_number_contradicts_its_sentence(self, seed):
        found = self.random(np.random.default_rng(seed))
        first, *others = found.sentences
        text = " ".join([first, *others])
        assert len(first.split()) <= 25, first
        assert "nan" not in text
        if found.level in (Level.CLEAR, Level.WEAK):
            for own, baseline, end in re.findall(r"AUC ([\d.]+) vs ([\d.]+)(, no higher)?", first):
                assert (float(own) > float(baseline)) == (not end), first
            assert re.search(r"AUC [\d.]+ vs|the same AUC", first)
            (z,) = re.findall(r"z = ([-\d.]+)", first)
            assert float(z) > 2
            for gain in re.findall(r"gain is (-?[\d.]+)", text):
                assert float(gain) > 0, text
            for percent in re.findall(r"to (\d+)%", text):
                assert 1 <= int(percent) <= 75
            assert ("slightly" in first or "shrinkage" in first) == (found.level is Level.WEAK)
            assert ("shrinkage" in first) <= ("shrinking" in text or "nothing is gained" in text)
        elif found.level is Level.NONE:
            zs = [float(z) for z in re.findall(r"z = ([-\d.]+)", others[0])]
            assert min(zs) <= 2, text
            assert "better" not in text
            assert ("row and column" in first) == (zs[0] > 2)
        else:
            assert "not from other columns" in first
            assert "better" not in text

    @staticmethod
    def random(rng):
        def near(*values):
            """A number, often close to one at which words change, or to another that is printed beside it."""
            return float(
                rng.choice([*values, rng.uniform(-3, 8)]) + rng.choice([0, 1e-5, 1e-3, 0.02, 0.1]) * rng.normal()
            )

        def gain():
            trust = float(rng.choice([0, 0.001, 0.2, 0.745, 0.755, 1, rng.uniform()]))
            own, scale = rng.normal() * 0.1, rng.choice([1e-4, 0.01, 1])
            best = own if trust == 1 else max(own, 0.0) + abs(rng.normal()) * scale
            auc = np.clip(near(0.5, 0.85) % 1, 0, 1)
            return Gain(near(2, 2.04, 1.96), best if trust else 0.0, abs(rng.normal()) * scale, own, scale, trust, auc)

        columns, rows = gain(), gain()
        auc = {
            name: rows.auc + rng.choice([0, 1e-6, 1e-3, 0.05]) * rng.normal()
            for name in ("columns", "rows and columns")
        }
        auc["model"] = rows.auc + rng.choice([0, 0.05]) * rng.normal()
        order = Order(near(3), rng.choice([None, rng.uniform()]))
        predicts = columns.is_found and rows.is_found and not order.is_all
        return Verdict(predicts, columns, rows, auc, 100, 5, order=order)
