"""FalseZeros: weights, answers, both directions, what is said when it can't be told."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit

from latentbits import BinaryData, DataError, DegenerateDataWarning, FalseZeros, simulate
from latentbits.fitting.held_out import log_odds
from latentbits.metrics import denoising_auc
from latentbits.models.false_zeros import stacking as members_module
from latentbits.models.false_zeros.scored_rows import ScoredRows
from latentbits.models.false_zeros.stacking import MEMBERS

FEW = ["aspects_4", "aspects_2", "ising", "linear_autoencoder"]
CLEAN = simulate.aspect_bernoulli(150, 30, 3, concentration=0.3, sharpness=0.2, random_state=0).X
LOST = simulate.add_noise(CLEAN, white=0.3, random_state=1)


@pytest.fixture(scope="module")
def model():
    return FalseZeros(3, members=FEW, noise=None, random_state=0).fit(LOST.X)


class TestWeights:
    def test_the_score_is_the_weighted_mean_of_the_members_log_odds(self, model):
        total = np.full(LOST.X.shape, model.intercept_)
        for member in MEMBERS:
            if member.name in model.members_:
                weight = model.member_weights_[list(model.members_).index(member.name)]
                total += weight * log_odds(getattr(model.members_[member.name], member.predict)(LOST.X))
        np.testing.assert_allclose(model.reconstruct(LOST.X), expit(total))
        np.testing.assert_allclose(model.suspicion(LOST.X), np.where(LOST.X == 0, expit(total), 0))

    def test_the_ensemble_predicts_hidden_cells_no_worse_than_its_members(self, model):
        table = model.member_scores_
        assert table["member"].tolist() == [*model.members_, "ensemble"]
        assert table["log_likelihood"].iloc[-1] >= table["log_likelihood"].iloc[:-1].max() - 1e-3
        assert model.auc_["model"] > model.auc_["columns"] + 0.05
        assert model.gains_["columns"]["z"] > 2
        assert model.n_hidden_ == LOST.X.size

    def test_the_reliability_table_is_of_all_hidden_cells(self, model):
        table = model.held_out_
        assert table["count"].sum() == LOST.X.size
        assert (table["observed"] * table["count"]).sum() == pytest.approx(LOST.X.sum())

    def test_rows_of_weight_0_tell_nothing_about_quality(self):
        of_no_use = np.random.default_rng(0).integers(2, size=LOST.X.shape)
        table, weight = np.vstack([of_no_use, LOST.X]), np.repeat([0, 1], 150)
        few = FalseZeros(2, members=["linear_autoencoder"], noise=None, random_state=0)
        few.fit(LOST.X)
        expected = few.auc_, few.gains_, few.n_hidden_, few.held_out_
        few.fit(table, sample_weight=weight)
        assert (few.auc_, few.gains_, few.n_hidden_) == expected[:3]
        pd.testing.assert_frame_equal(few.held_out_, expected[3])

    def test_without_folds_the_weights_are_equal_and_nothing_is_said_about_quality(self):
        equal = FalseZeros(None, members=FEW, random_state=0).fit(LOST.X)
        np.testing.assert_array_equal(equal.member_weights_, 0.25)
        assert (equal.held_out_, equal.member_scores_, equal.gains_, equal.auc_) == (None,) * 4
        assert equal.n_hidden_ == 0

    @pytest.mark.parametrize("n_jobs", [2, -1])
    def test_same_seed_same_answer_on_any_number_of_jobs(self, model, n_jobs):
        other = FalseZeros(3, members=FEW, noise=None, random_state=0, n_jobs=n_jobs).fit(LOST.X)
        np.testing.assert_array_equal(model.member_weights_, other.member_weights_)
        np.testing.assert_array_equal(model.reconstruct(LOST.X), other.reconstruct(LOST.X))

    def test_the_default_has_all_members(self):
        table = simulate.aspect_bernoulli(40, 12, 2, random_state=0).X
        expected = [member.name for member in MEMBERS if not member.knows_rows]
        assert list(FalseZeros(2, random_state=0).fit(table).members_) == expected

    def test_of_large_tables_some_rows_are_enough_to_learn_the_weights(self, monkeypatch):
        monkeypatch.setattr("latentbits.models.false_zeros.stacking.MOST_HIDDEN", 1200)
        part = FalseZeros(2, members=["linear_autoencoder"], noise=None, random_state=0).fit(LOST.X)
        assert part.n_hidden_ == 40 * 30


class TestRanking:
    def test_false_zeros_come_first(self, model):
        assert denoising_auc(CLEAN, LOST.X, model.suspicion(LOST.X)) > 0.8

    def test_false_ones_come_first(self):
        added = simulate.add_noise(CLEAN, black=0.2, random_state=1)
        fitted = FalseZeros(3, members=FEW, noise=None, random_state=0).fit(added.X)
        score = fitted.suspicion(added.X, kind="presence")
        assert (score[added.X == 0] == 0).all()
        assert denoising_auc(CLEAN, added.X, 1 - score, kind="presence") > 0.7

    def test_a_table_of_swapped_cells_is_ranked_the_same_way(self, model):
        """But for the seeds, a false 0 among ones is what a false 1 is among zeros."""
        swapped = FalseZeros(3, members=FEW, noise=None, random_state=0).fit(1 - LOST.X)
        a, b = model.suspicion(LOST.X), swapped.suspicion(1 - LOST.X, kind="presence")
        zero = LOST.X == 0
        assert np.corrcoef(a[zero], b[zero])[0, 1] > 0.98

    def test_rows_with_more_visits_to_come_rank_higher(self, model):
        equal = model.suspicion(LOST.X, later_visits=1)
        np.testing.assert_allclose(equal, model.suspicion(LOST.X), atol=1e-12)
        visits = np.where(np.arange(150) < 75, 3, 0)
        score = model.suspicion(LOST.X, later_visits=visits)
        assert (score[75:] == 0).all()
        zero = LOST.X[:75] == 0
        assert (score[:75][zero] > equal[:75][zero]).all()


class TestRowNoise:
    """Rows that have lost different shares of their ones."""

    WAS = simulate.aspect_bernoulli(300, 40, 8, concentration=0.05, sharpness=0.05, random_state=2).X
    CORRODED = simulate.corrode(WAS, 0.9, random_state=3)

    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls):
        return FalseZeros(None, members=FEW, random_state=0).fit(cls.CORRODED.X)

    def test_it_is_found_and_helps(self, fitted):
        assert fitted.noise_model_ is not None
        plain = FalseZeros(None, members=FEW, noise=None, random_state=0).fit(self.CORRODED.X)
        X = self.CORRODED.X
        allowing, without = (denoising_auc(self.WAS, X, m.suspicion(X)) for m in (fitted, plain))
        assert allowing > without + 0.02

    def test_poor_rows_are_not_taken_for_rows_that_have_lost_ones(self):
        """Wide surveys, in which sites differ in how rich they are: a blank component gains much there, too."""
        rng = np.random.default_rng(0)
        odds = (
            rng.normal(-2, 1, 240)
            + rng.normal(0, 1, (150, 1))
            + rng.normal(0, 1, (150, 2)) @ rng.normal(0, 1, (2, 240))
        )
        X = (rng.random(odds.shape) < expit(odds)).astype(int)
        assert FalseZeros(None, members=["linear_autoencoder"], random_state=0).fit(X).noise_model_ is None

    def test_clean_rows_have_none(self):
        assert FalseZeros(None, members=FEW, random_state=0).fit(CLEAN).noise_model_ is None

    def test_it_can_be_asked_for(self):
        asked = FalseZeros(None, members=["aspects_2"], noise="white", random_state=0).fit(CLEAN)
        assert (asked.noise_model_.phantoms_ == "white").any()
        assert asked.noise_trials_ is None

    def test_scores_stay_within_0_and_1(self, fitted):
        score = fitted.suspicion(self.CORRODED.X)
        assert ((score >= 0) & (score <= 1)).all()


class TestProbabilities:
    def test_by_default_they_are_of_a_1_given_the_rest(self, model):
        p = model.predict_proba(LOST.X)
        assert ((p > 0) & (p < 1)).all()
        zero = LOST.X == 0
        assert p[zero].mean() > model.suspicion(LOST.X)[zero].mean(), "a fit that saw the 0 is nearer to 0"

    def test_hidden_cells_have_the_probability_of_their_score(self, model):
        X = LOST.X.astype(float)
        X[3, 5] = np.nan
        assert model.predict_proba(X)[3, 5] == model.reconstruct(X)[3, 5]

    def test_the_order_of_zeros_is_that_of_the_scores(self, model):
        zero = LOST.X == 0
        score, p = model.suspicion(LOST.X)[zero], model.predict_proba(LOST.X)[zero]
        assert (np.diff(p[np.argsort(score)]) >= 0).all()

    def test_a_rate_makes_them_of_presence(self, model):
        present = model.predict_proba(LOST.X, rate=0.5)
        m = model.predict_proba(LOST.X)
        np.testing.assert_allclose(present, np.where(LOST.X == 1, 1, m))  # (1 - r) / r is 1 for r = 1/2
        one, three = (model.predict_proba(LOST.X, rate=0.5, later_visits=k) for k in (1, 3))
        zero = LOST.X == 0
        assert (one[zero] < three[zero]).all()
        assert (three[zero] < present[zero]).all()

    def test_missing_cells_were_not_looked_for_in_vain(self, model):
        X = LOST.X.astype(float)
        X[3, 5] = np.nan
        asked = {}, {"rate": 0.9}, {"rate": 0.9, "later_visits": 1}
        m, present, later = (model.predict_proba(X, **given)[3, 5] for given in asked)
        assert present > m
        assert later == pytest.approx(m)

    def test_a_pilot_brings_them_to_the_right_size(self, model):
        """Rows are seen again without loss: P(seen later) of zeros is then the share of false ones among them."""
        pilot = np.full(LOST.X.shape, np.nan)
        pilot[:40] = CLEAN[:40]
        p = model.predict_proba(LOST.X, revisits=pilot)
        seen_again = (np.arange(150) < 40)[:, None]
        there, elsewhere = (LOST.X == 0) & seen_again, (LOST.X == 0) & ~seen_again
        assert p[there].mean() == pytest.approx(CLEAN[there].mean(), abs=0.01)
        error = 2 * CLEAN[there].mean() * (1 / 40) ** 0.5  # the rows' rates of loss are spread over 0 to 0.3
        assert p[elsewhere].mean() == pytest.approx(CLEAN[elsewhere].mean(), abs=error)
        by_visits = model.predict_proba(LOST.X, revisits=pilot, later_visits=1)
        assert ((by_visits > 0) & (by_visits <= 1)).all()

    def test_a_pilot_of_few_rows_is_warned_of(self, model):
        pilot = np.full(LOST.X.shape, np.nan)
        pilot[:3] = CLEAN[:3]
        with pytest.warns(UserWarning, match="the pilot has 3 rows with .* later sightings, which says little"):
            model.predict_proba(LOST.X, revisits=pilot)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"rate": 0.5, "revisits": CLEAN}, "one of them"),
            ({"rate": 0}, "rate=0"),
            ({"rate": 1.0}, "rate=1.0"),
            ({"later_visits": 2}, "give rate or revisits"),
            ({"revisits": LOST.X * 0}, "seen later"),
            ({"rate": 0.5, "n_visits": 0}, "n_visits"),
        ],
    )
    def test_what_can_not_be_told_is_refused(self, model, given, message):
        with pytest.raises(DataError, match=message):
            model.predict_proba(LOST.X, **given)


class TestSuspects:
    def test_it_is_the_order_of_the_scores(self, model):
        table = model.suspects(LOST.X, top=50)
        score = model.suspicion(LOST.X)
        assert table["score"].is_monotonic_decreasing
        np.testing.assert_array_equal(table["score"], score[table["row"], table["column"]])
        np.testing.assert_allclose(table["score"], -np.sort(-score.ravel())[:50])
        assert (LOST.X[table["row"], table["column"]] == 0).all()

    def test_columns_say_what_they_are(self, model):
        names = ["row", "column", "score", "P(1 | the rest)", *model.members_]
        assert model.suspects(LOST.X, top=1).columns.tolist() == names
        assert model.suspects(LOST.X, top=1, rate=0.4).columns[3] == "P(present)"
        assert model.suspects(LOST.X, top=1, rate=0.4, later_visits=2).columns[3] == "P(seen later)"
        assert model.suspects(LOST.X, top=1, kind="presence").columns[3] == "P(0 | the rest)"

    @pytest.mark.parametrize("later", [{}, {"later_visits": 2}])
    def test_zeros_of_many_visits_come_later_as_their_probabilities_do(self, model, later):
        visits = np.where(np.arange(150) < 75, 1, 10)
        table = model.suspects(LOST.X, top=None, rate=0.5, n_visits=visits, **later)
        assert (table["row"][:50] < 75).all()
        assert (np.diff(table.iloc[:, 3]) <= 1e-9).mean() > 0.9
        same = model.suspects(LOST.X, top=None, rate=0.5, n_visits=3, **later)
        plain = model.suspects(LOST.X, top=None, rate=0.5, **later)
        pd.testing.assert_frame_equal(same[["row", "column"]], plain[["row", "column"]])

    @pytest.mark.parametrize("given", [{"later_visits": 2}, {"rate": 0.5}, {"revisits": CLEAN}])
    def test_what_a_visit_misses_is_not_asked_of_ones(self, model, given):
        with pytest.raises(DataError, match=f"{next(iter(given))} is about zeros"):
            model.suspects(LOST.X, kind="presence", **given)
        if "later_visits" in given:
            with pytest.raises(DataError, match="later_visits is about zeros"):
                model.suspicion(LOST.X, kind="presence", **given)

    def test_probabilities_and_votes_are_those_of_the_cells(self, model):
        table = model.suspects(LOST.X, top=20, rate=0.3)
        at = table["row"].to_numpy(), table["column"].to_numpy()
        np.testing.assert_allclose(table["P(present)"], model.predict_proba(LOST.X, rate=0.3)[at])
        np.testing.assert_allclose(table["ising"], model.members_["ising"].reconstruct(LOST.X)[at])

    def test_some_of_each_row(self, model):
        table = model.suspects(LOST.X, top=None, per_row=2)
        assert (table.groupby("row").size() == 2).all()
        score = model.suspicion(LOST.X)
        best = np.sort(score, axis=1)[:, -2:].min(axis=1)
        assert (table["score"].to_numpy() >= best[table["row"]]).all()

    def test_blocks_of_rows_change_nothing(self, model, monkeypatch):
        whole = model.suspects(LOST.X, top=30)
        blocks = [slice(start, start + 7) for start in range(0, 150, 7)]
        monkeypatch.setattr("latentbits.models.false_zeros.scored_rows.row_blocks", lambda *shape: iter(blocks))
        pd.testing.assert_frame_equal(model.suspects(LOST.X, top=30), whole)

    def test_sparse_rows_are_never_made_dense_as_a_whole(self, model, monkeypatch):
        """Scores of blocks only: a table that is larger than a block is never given to a member as one."""
        blocks = [slice(start, start + 10) for start in range(0, 150, 10)]
        monkeypatch.setattr("latentbits.models.false_zeros.scored_rows.row_blocks", lambda *shape: iter(blocks))
        largest = []
        scored = FalseZeros._scored_block
        monkeypatch.setattr(
            FalseZeros,
            "_scored_block",
            lambda self, rows, data: largest.append(data.shape[0]) or scored(self, rows, data),
        )
        model.suspects(sp.csr_array(LOST.X), per_row=1, top=None)
        assert max(largest) == 10

    def test_names_and_marks(self, model):
        frame = pd.DataFrame(LOST.X, index=[f"site {i}" for i in range(150)], columns=[f"s{j}" for j in range(30)])
        named = FalseZeros(None, members=["linear_autoencoder"], noise=None).fit(frame)
        first = named.suspects(frame, top=1).iloc[0]
        assert first["row"].startswith("site ")
        marks = [{"row": first["row"], "column": first["column"], "mark": "reject"}]
        again = named.suspects(frame, top=5, marks=marks)
        assert not ((again["row"] == first["row"]) & (again["column"] == first["column"])).any()

    @pytest.mark.parametrize("asked", [{"top": -1}, {"top": 2.5}, {"per_row": True}, {"kind": "both"}])
    def test_bad_requests_are_refused(self, model, asked):
        with pytest.raises(DataError, match=next(iter(asked))):
            model.suspects(LOST.X, **asked)


class TestExplain:
    def test_columns_add_up_to_the_log_odds_of_the_ising_model(self, model):
        row, column = 4, 7
        p = model.members_["ising"].reconstruct(LOST.X[[row]])[0, column]
        for top in (3, 30):
            table = model.explain(LOST.X, row, column, top=top)
            assert (table["what"] == "column").sum() == min(top, 29)
            assert table[table["what"] != "row"]["says"].sum() == pytest.approx(np.log(p / (1 - p)))

    def test_rows_that_are_alike_speak_by_what_was_seen_there(self, model):
        table = model.explain(LOST.X, 4, 7)
        rows = table[table["what"] == "row"]
        assert len(rows) == 5
        assert 4 not in rows["name"].tolist()
        assert ((rows["says"] > 0) == (rows["value"] == 1)).all()
        assert (rows["value"] == LOST.X[rows["name"].tolist(), 7]).all()

    def test_unknown_cells_are_refused(self, model):
        with pytest.raises(DataError, match="no row at position 999"):
            model.explain(LOST.X, 999, 0)


class TestWhoStandsAside:
    def test_large_tables_leave_what_scales_and_say_so(self, monkeypatch):
        monkeypatch.setattr(members_module, "MOST_CELLS", 1000)
        monkeypatch.setattr(members_module, "MOST_PRODUCTS", 1000.0)
        with pytest.warns(UserWarning, match="aspects_12 would take too long.*made of linear_autoencoder"):
            alone = FalseZeros(2, random_state=0).fit(LOST.X)
        assert list(alone.members_) == ["linear_autoencoder"]
        assert alone.noise_model_ is None

    def test_fractional_weights_leave_out_what_draws_samples(self):
        weighted = FalseZeros(2, members=["probit_factors", "aspects_2"], random_state=0)
        with pytest.warns(UserWarning, match="no whole numbers"):
            weighted.fit(LOST.X, sample_weight=np.linspace(0.5, 1.5, 150))
        assert list(weighted.members_) == ["aspects_2"]

    def test_weights_of_many_rows_leave_out_what_draws_each_of_them(self, monkeypatch):
        monkeypatch.setattr(members_module, "MOST_CELLS", 2 * LOST.X.size)
        weighted = FalseZeros(None, members=["probit_factors", "aspects_2"], noise=None, random_state=0)
        assert list(weighted.fit(LOST.X).members_) == ["probit_factors", "aspects_2"]
        with pytest.warns(UserWarning, match="450 rows that the weights add up to"):
            weighted.fit(LOST.X, sample_weight=np.full(150, 3))
        assert list(weighted.members_) == ["aspects_2"]

    @pytest.mark.parametrize("members", [[], ["lasso"], "ising"])
    def test_members_must_be_known(self, members):
        with pytest.raises(DataError, match="members must be a list"):
            FalseZeros(members=members).fit(LOST.X)


class TestOddTables:
    @pytest.mark.parametrize(
        ("X", "said"),
        [
            (np.zeros((8, 5)), "nothing to learn"),
            (np.ones((8, 5)), "nothing to learn"),
            (np.eye(3), "nothing is known about the quality of the answer"),
            ([[0, 1, 1]], "one row"),
            ([[0], [1], [1]], "no columns can go together"),
        ],
    )
    def test_without_cells_to_tell_it_says_so_and_no_nan_reaches_anybody(self, X, said):
        with pytest.warns(DegenerateDataWarning, match=said) as given:
            fitted = FalseZeros(random_state=0).fit(X)
        assert len(given) == 1
        assert fitted.n_hidden_ == 0
        for answer in (fitted.suspicion(X), fitted.predict_proba(X), fitted.reconstruct(X)):
            assert np.isfinite(answer).all()

    def test_a_row_without_a_cell(self):
        X = LOST.X.astype(float)
        X[0] = np.nan
        fitted = FalseZeros(2, members=FEW, random_state=0).fit(X)
        assert np.isfinite(fitted.predict_proba(X)).all()
        assert (fitted.suspicion(X)[0] == 0).all()

    def test_data_with_their_names(self):
        data = BinaryData.of(LOST.X, row_names=[f"r{i}" for i in range(150)])
        fitted = FalseZeros(None, members=["linear_autoencoder"], noise=None).fit(data)
        assert fitted.suspects(data, top=1)["row"].iloc[0].startswith("r")


def test_rows_of_the_ensemble_are_scored_in_order(model):
    parts = [block.odds for block in ScoredRows(model, BinaryData.of(LOST.X)).blocks()]
    np.testing.assert_allclose(expit(np.concatenate(parts)), model.reconstruct(LOST.X))
