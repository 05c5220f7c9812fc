"""What is known of rows: validated, carried with the data, and used by the models that can."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from latentbits import (
    AspectBernoulli,
    BinaryData,
    DataError,
    FalseZeros,
    ProbitFactors,
    RowFacts,
    load_model,
    save_model,
    simulate,
)
from latentbits.data.row_facts import without_copies
from latentbits.models.probit_factors import _known
from latentbits.models.row_features import RowFeatures, _basis

N, D = 240, 12
RNG = np.random.default_rng(0)
SITES = pd.DataFrame(
    {
        "elevation": RNG.uniform(200, 2000, N),
        "habitat": RNG.choice(["forest", "meadow", "rock"], N),
        "lon": RNG.uniform(7, 9, N),
        "lat": RNG.uniform(46, 48, N),
        "minutes": np.exp(RNG.uniform(np.log(20), np.log(100), N)),
    }
)
ROLES = {"coordinates": ("lon", "lat"), "effort": "minutes"}
Z = ((SITES["elevation"] - SITES["elevation"].mean()) / SITES["elevation"].std()).to_numpy()
SLOPE, CURVE, FOREST = RNG.normal(0.3, 0.8, D), RNG.normal(-0.4, 0.3, D), RNG.normal(0, 0.7, D)
HILL = np.sin(3 * SITES["lon"]) * np.cos(3 * SITES["lat"])
SCORE = (
    np.outer(Z, SLOPE)
    + np.outer(Z**2, CURVE)
    + np.outer(SITES["habitat"] == "forest", FOREST)
    + np.outer(1.5 * HILL, RNG.normal(0, 1, D))
    + 0.6 * np.log(SITES["minutes"] / 45).to_numpy()[:, None]
)
X = (SCORE + RNG.normal(size=(N, D)) > 0).astype(int)
SHORT = {"n_samples": 60, "n_burn": 150, "thin": 4, "n_init": 2, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    return BinaryData.of(X, rows=SITES, **ROLES)


@pytest.fixture(scope="module")
def model(data):
    return ProbitFactors(2, **SHORT).fit(data.rows(slice(0, 180)))


@pytest.mark.parametrize("asked", [{}, {"threshold": 0.5, "change": "absence"}])
def test_denoising_takes_no_notice_of_rows(asked):
    clean = simulate.aspect_bernoulli(N, 15, 2, sharpness=0.1, random_state=0).X
    seen = simulate.corrode(clean, 0.3, random_state=0).X
    model = AspectBernoulli(3, n_init=3, random_state=0).fit(BinaryData.of(seen, rows=SITES, **ROLES))
    found = []
    for data in (BinaryData.of(seen), BinaryData.of(seen, rows=SITES, **ROLES)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(model.denoise(data, judged_on=data, **asked))
    np.testing.assert_array_equal(*found)
    assert not asked or (found[0] != seen).any()


class TestFacts:
    def test_roles(self, data):
        facts = data.facts
        assert list(facts.numbers) == ["elevation"]
        assert list(facts.categories) == ["habitat"]
        assert facts.is_geographic
        assert facts.coordinates.shape == (N, 2)
        np.testing.assert_array_equal(facts.effort, SITES["minutes"])

    def test_they_follow_the_rows(self, data):
        chosen = [5, 3, 100]
        part = data.rows(chosen).hide(np.ones((3, D), bool)).to_packed()
        np.testing.assert_array_equal(part.facts.numbers["elevation"], SITES["elevation"][chosen])
        np.testing.assert_array_equal(part.facts.coordinates[:, 1], SITES["lat"][chosen])
        assert part.facts.categories["habitat"].tolist() == SITES["habitat"][chosen].tolist()

    def test_they_are_part_of_the_checksum(self, data):
        changed = SITES.assign(elevation=SITES["elevation"] + 1)
        assert data.fingerprint() != BinaryData.of(X).fingerprint()
        assert data.fingerprint() != BinaryData.of(X, rows=changed, **ROLES).fingerprint()
        assert data.fingerprint() == BinaryData.of(X, rows=SITES.copy(), **ROLES).fingerprint()
        assert replace(data, facts=None).fingerprint() == BinaryData.of(X).fingerprint()

    @pytest.mark.parametrize(
        ("change", "roles", "message"),
        [
            ({}, {"coordinates": ("lon", "latt")}, '"latt" is no column of rows'),
            ({}, {"coordinates": ("lon",)}, "must name two columns"),
            ({"lat": np.where(np.arange(N) < 3, np.nan, 47)}, ROLES, '"lat" is missing or no number in 3 rows'),
            ({"lat": 200.0}, ROLES, "are not degrees"),
            ({"minutes": 0}, ROLES, "must be a number above 0"),
            ({"elevation": np.inf}, {}, '"elevation" is infinite in line 1'),
        ],
    )
    def test_what_is_wrong_is_said(self, change, roles, message):
        with pytest.raises(DataError, match=message):
            BinaryData.of(X, rows=SITES.assign(**change), **roles)

    def test_a_line_for_each_row(self):
        with pytest.raises(DataError, match="rows has 239 lines, the data 240 rows"):
            BinaryData.of(X, rows=SITES[1:])

    def test_roles_need_rows(self):
        with pytest.raises(DataError, match="give rows=frame too"):
            BinaryData.of(X, effort="minutes")


class TestFeatures:
    def test_line_and_curve_are_orthonormal(self):
        F = RowFeatures(RowFacts.of(SITES[["elevation"]])).encode(RowFacts.of(SITES[["elevation"]]))
        np.testing.assert_allclose(F.T @ F / N, np.eye(3), atol=1e-10)

    @pytest.mark.parametrize(
        ("column", "reason"),
        [
            (np.ones(N), "has the same value in all rows"),
            (SITES["elevation"] * 3.28, 'is a copy of "elevation"'),
            ([f"site {i}" for i in range(N)], "as a name of rows has"),
        ],
    )
    def test_useless_covariates_are_left_out(self, column, reason):
        facts = RowFacts.of(SITES[["elevation"]].assign(more=column))
        with pytest.warns(UserWarning, match=f'"more" .*{reason}.* left out'):
            made = RowFeatures(facts, warn=True)
        assert list(made.slices()) == ["elevation"]

    @pytest.mark.parametrize("turned", [False, True])
    def test_copies_of_the_table_s_columns_are_left_out(self, turned):
        rng = np.random.default_rng(0)
        cells = (rng.random((N, 3)) < 0.4).astype(np.int8)
        cells[:3, 1] = -1
        own = 1.0 - cells[:, 1] if turned else cells[:, 1] + rng.normal(size=N) / 20
        own[:2] = np.nan
        texts = np.where(cells[:, 2] == 1, "wet", "dry")
        facts = RowFacts.of({"elevation": rng.normal(size=N), "own": own, "ground": texts})
        with pytest.warns(UserWarning, match="nearly a copy") as told:
            left = without_copies(facts, cells, ["owl", "jay", "rook"])
        assert left.names == ["elevation"]
        assert [str(one.message).partition(",")[0] for one in told] == [
            'covariate "own" is nearly a copy of the column "jay" of X',
            'covariate "ground" is nearly a copy of the column "rook" of X',
        ]

    def test_what_agrees_by_chance_or_only_partly_is_kept(self, recwarn):
        rng = np.random.default_rng(0)
        cells = (rng.random((N, 2)) < 0.5).astype(np.int8)
        cells[:, 0] = np.arange(N) < 4  # too rare to tell
        partly = np.where(rng.random(N) < 0.1, 1 - cells[:, 1], cells[:, 1])
        facts = RowFacts.of({"rare": cells[:, 0], "partly": partly})
        assert without_copies(facts, cells, ["a", "b"]).names == ["rare", "partly"]
        assert not recwarn

    def test_a_fit_leaves_copies_out_and_knows_its_rows_again(self):
        rng = np.random.default_rng(0)
        X = (rng.random((60, 6)) < 0.4).astype(float)
        known = BinaryData.of(X, rows={"elevation": rng.normal(size=60), "own": X[:, 0]})
        model = ProbitFactors(1, n_init=1, n_burn=5, n_samples=20, random_state=0)
        with pytest.warns(UserWarning, match='"own" is nearly a copy of the column'):
            model.fit(known)
        assert set(model.responses()["covariate"]) == {"elevation"}
        np.testing.assert_array_equal(model.transform(known), model.transform(X))

    def test_missing_values_are_imputed_with_a_warning(self):
        lost = SITES[["elevation", "habitat"]].astype(object)
        lost.iloc[:4, 0] = np.nan
        lost.iloc[:2, 1] = None
        facts = RowFacts.of(lost)
        with pytest.warns(UserWarning, match="missing in (4 rows, where the median|2 rows, where the commonest)"):
            made = RowFeatures(facts, warn=True)
        F = made.encode(facts)
        assert np.isfinite(F).all()
        middle = made.numbers[0].encode(np.array([np.nanmedian(facts.numbers["elevation"])]))
        np.testing.assert_allclose(F[:4, 1], middle[0][0])

    def test_the_functions_of_space_are_orthonormal_over_the_training_rows(self, data):
        made = RowFeatures(data.facts)
        for functions, variances in zip(made.places(data.facts), made.basis.variances, strict=True):
            n = int((variances > 0).sum())
            np.testing.assert_allclose(functions[:, :n].T @ functions[:, :n], np.eye(n), atol=1e-6)

    def test_knots_approximate_the_kernel(self, monkeypatch, data):
        from latentbits.models import row_features

        places = RowFeatures(data.facts).in_plane(data.facts.coordinates)
        monkeypatch.setattr(row_features, "MOST_KNOTS", 120)
        row_features._basis.cache_clear()
        made = row_features._basis(np.ascontiguousarray(places).tobytes(), N)
        row_features._basis.cache_clear()
        assert len(made.knots) == 120
        V, variances = made.at(places)[-1], made.variances[-1]
        truth = row_features._kernel(places, places, row_features.SCALES[-1] * made.unit)
        assert np.abs((V * variances) @ V.T - truth).mean() < 0.02


class TestProbitFactors:
    def test_training_rows_are_recognised(self, model, data):
        train = data.rows(slice(0, 180))
        np.testing.assert_array_equal(model.reconstruct(X[:180]), model.reconstruct(train))
        np.testing.assert_allclose(model.transform(X[:180]), model.weights_)

    def test_new_rows_need_what_the_fit_had(self, model):
        with pytest.raises(DataError, match="fitted with elevation, habitat, lon, lat, minutes"):
            model.reconstruct(X[180:])
        with pytest.raises(DataError, match="rows lack habitat"):
            model.reconstruct(BinaryData.of(X[180:], rows=SITES[180:].drop(columns="habitat"), **ROLES))

    def test_an_unknown_category_is_refused_with_the_known_ones(self, model):
        with pytest.raises(DataError, match='"swamp", which the fit has not seen; it knows forest, meadow, rock'):
            model.predict_rows(SITES[180:].assign(habitat="swamp"))

    def test_missing_covariates_of_new_rows_are_noted(self, model):
        lacking = SITES[180:].assign(elevation=np.where(np.arange(N - 180) < 2, np.nan, 1000.0))
        with pytest.warns(UserWarning, match='"elevation" is missing in 2 rows, where the median is used'):
            P = model.predict_rows(lacking)
        assert P.notna().all().all()

    def test_new_rows_outside_of_the_fit_are_noted_once_for_each_covariate(self, model):
        last = SITES["elevation"][:180].max()
        rows = SITES[180:183].assign(elevation=[6000.0, last, last + 1], lon=[30.0, 7.5, 8.5])
        with pytest.warns(UserWarning, match="of the fit") as warned:
            P = model.predict_rows(rows)
        elevation, place = (str(warning.message) for warning in warned)
        assert elevation.startswith("elevation of 2 rows is outside of the range of the fit (")
        assert place.startswith("lon and lat of 1 row are far from all rows of the fit")
        assert P.notna().all().all()

    def test_rows_of_the_fit_are_inside_of_it(self, model):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict_rows(SITES[:180])

    def test_unvisited_rows(self, model):
        P = model.predict_rows(SITES[180:])
        assert P.shape == (60, D)
        ones = np.mean([roc_auc_score(X[180:, j], P.iloc[:, j]) for j in range(D)])
        frequency = ndtr(model.intercepts_)
        assert ones > 0.75
        assert np.corrcoef(P.to_numpy().ravel(), ndtr(SCORE[180:]).ravel())[0, 1] > 0.8
        assert np.abs(P.to_numpy().mean(axis=0) - X[180:].mean(axis=0)).mean() < 0.1, frequency

    def test_cells_of_a_new_row_add_to_what_is_known_of_it(self, model, data):
        new = data.rows(slice(180, N))
        nothing = new.hide(np.ones(new.shape, bool))
        np.testing.assert_allclose(model.reconstruct(nothing), model.predict_rows(SITES[180:]), atol=0.12)
        assert np.abs(model.reconstruct(new) - model.reconstruct(nothing)).max() > 0.1

    def test_it_predicts_better_with_them(self, data):
        hidden = np.random.default_rng(3).random(X.shape) < 0.2
        scores = {}
        for name, table in {"with": data, "without": BinaryData.of(X)}.items():
            p = ProbitFactors(2, **SHORT).fit(table.hide(hidden)).reconstruct(table.hide(hidden))[hidden]
            scores[name] = np.where(X[hidden] == 1, np.log(p), np.log(1 - p)).mean()
        assert scores["with"] > scores["without"] + 0.03

    def test_rows_in_another_order_say_nothing(self, data):
        permuted = SITES.sample(frac=1, random_state=0).reset_index(drop=True)
        wrong = ProbitFactors(2, **SHORT).fit(X, rows=RowFacts.of(permuted, **ROLES))
        right = ProbitFactors(2, **SHORT).fit(data)
        assert right.variation()[["covariates", "space"]].sum(axis=1).mean() > 0.3
        assert wrong.variation()[["covariates", "space"]].sum(axis=1).mean() < 0.1

    def test_curves_come_back(self, model):
        curves = model.responses()
        assert set(curves["covariate"]) == {"elevation", "habitat"}
        assert (curves["lower"] <= curves["probability"]).all()
        assert (curves["probability"] <= curves["upper"]).all()
        at = curves[curves["covariate"] == "elevation"]
        ends = at.groupby("column", sort=False)["probability"].agg(["first", "last"])
        assert np.corrcoef(ends["last"] - ends["first"], SLOPE)[0, 1] > 0.8

    def test_effort_is_a_response_of_all_columns(self, model):
        where = RowFeatures(model._facts).slices()["minutes"]
        assert model._samples.theta[:, :, where].mean() > 0.1

    def test_shares_of_variation(self, model):
        shares = model.variation()
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert (shares.to_numpy() >= 0).all()
        assert shares["covariates"].mean() > 0.15
        assert shares["space"].mean() > 0.05

    def test_residual_correlations(self, model):
        R = model.residual_correlations()
        np.testing.assert_allclose(np.diag(R), 1)
        np.testing.assert_allclose(R, R.T)
        assert (np.abs(R) <= 1 + 1e-9).all().all()

    def test_a_row_is_scored_with_its_own_facts(self, model, data):
        right = model.score(data.rows(slice(180, N)))
        wrong = BinaryData.of(X[180:], rows=SITES[180:].iloc[::-1], **ROLES)
        assert right > model.score(wrong) + 0.3

    def test_a_file_keeps_all_of_it(self, model, data, tmp_path):
        save_model(model, tmp_path / "model.npz")
        again = load_model(tmp_path / "model.npz")
        new = data.rows(slice(180, N))
        np.testing.assert_array_equal(again.reconstruct(new), model.reconstruct(new))
        pd.testing.assert_frame_equal(again.predict_rows(SITES[180:]), model.predict_rows(SITES[180:]))
        np.testing.assert_array_equal(again.reconstruct(X[:180]), model.reconstruct(X[:180]))

    def test_without_facts_there_is_nothing_to_ask(self):
        plain = ProbitFactors(1, **SHORT).fit(X)
        with pytest.raises(DataError, match="fit with rows=frame"):
            plain.predict_rows(SITES)
        refitted = ProbitFactors(1, **SHORT).fit(X, rows=SITES[["elevation"]]).fit(X)
        np.testing.assert_array_equal(plain.components_, refitted.components_)

    def test_weights_of_rows_are_refused(self, data):
        with pytest.raises(DataError, match="leave out sample_weight or rows"):
            ProbitFactors(1, **SHORT).fit(data, sample_weight=np.full(N, 2))

    def test_only_coordinates(self):
        facts = RowFacts.of(SITES[["lon", "lat"]], coordinates=("lon", "lat"))
        shares = ProbitFactors(2, **SHORT).fit(X, rows=facts).variation()
        assert (shares["covariates"] == 0).all()
        assert shares["space"].mean() > 0.03


@pytest.fixture(scope="module")
def ensemble(data):
    members = ["covariates_2", "linear_autoencoder"]
    return FalseZeros(2, members=members, noise=None, random_state=0).fit(data)


class TestFalseZeros:
    def test_what_is_known_of_rows_is_worth_its_weight(self, ensemble):
        scores = ensemble.member_scores_.set_index("member")
        assert scores.loc["covariates_2", "auc"] > scores.loc["linear_autoencoder", "auc"] + 0.03
        assert scores.loc["covariates_2", "weight"] > 2 * scores.loc["linear_autoencoder", "weight"]
        assert scores.loc["ensemble", "auc"] > scores["auc"].max() - 0.005

    def test_training_rows_are_recognised_and_new_ones_need_their_facts(self, ensemble, data):
        np.testing.assert_array_equal(ensemble.suspicion(X), ensemble.suspicion(data))
        assert len(ensemble.suspects(X, top=5)) == 5
        with pytest.raises(DataError, match="fitted with elevation, habitat, lon, lat, minutes"):
            ensemble.suspicion(X[:10])
        np.testing.assert_allclose(ensemble.suspicion(data.rows(slice(0, 10))), ensemble.suspicion(X)[:10])

    def test_explain_names_covariates_and_neighbours(self, ensemble, data):
        table = ensemble.explain(data, 3, 2, top=4)
        assert {"base", "column", "rest", "covariate", "space", "neighbour", "row"} == set(table["what"])
        near = table[table["what"] == "neighbour"]
        distance = near["name"].str.extract(r"\((.*) km\)")[0].astype(float)
        assert distance.is_monotonic_increasing
        cells = X[near["name"].str.split(" ").str[0].astype(int), 2]
        np.testing.assert_array_equal(near["value"].to_numpy(int), cells)
        assert (np.sign(near["says"]) == 2 * cells - 1).all()

    def test_what_a_covariate_says_is_the_difference_it_makes(self, ensemble, data):
        member, cell = ensemble.members_["covariates_2"], data.rows([3])
        says = member._spoken_by(cell.facts, np.array([2]))
        encoder = RowFeatures(member._facts)
        f, functions = encoder.encode(cell.facts)[0], encoder.places(cell.facts)
        centres, at = member._space.centres(functions)[0], encoder.slices()["elevation"]
        whole, without = [], []
        for s, theta in enumerate(member._samples.theta[:, 2].astype(float)):
            known, loadings = theta[: len(f)], theta[len(f) :]
            score = f @ known + centres[s] @ loadings
            size = np.sqrt(1 + loadings @ loadings)
            whole.append(ndtr(score / size))
            without.append(ndtr((score - f[at] @ known[at]) / size))
        p, q = np.mean(whole), np.mean(without)
        np.testing.assert_allclose(says["elevation"][0, 0], np.log(p / (1 - p)) - np.log(q / (1 - q)))

    def test_rows_without_cells(self, ensemble):
        P = ensemble.predict_rows(SITES.head(5))
        alone = ensemble.members_["covariates_2"].predict_rows(SITES.head(5))
        np.testing.assert_allclose(P, alone.clip(0.001, 0.999))
        assert list(ensemble.variation().columns) == ["covariates", "space", "factors", "unexplained"]

    def test_it_goes_through_cross_validation(self, data):
        model = FalseZeros(None, members=["covariates_2"], noise=None, random_state=0)
        made = cross_validate(model, data, cv=2, return_estimator=True)
        assert np.isfinite(made["test_score"]).all()
        assert all(len(one._facts) == N / 2 for one in made["estimator"])

    def test_a_file_keeps_all_of_it(self, ensemble, tmp_path):
        save_model(ensemble, tmp_path / "model.npz")
        np.testing.assert_array_equal(load_model(tmp_path / "model.npz").suspicion(X), ensemble.suspicion(X))

    def test_members_that_know_of_rows_join_with_rows_only(self, data):
        joined = FalseZeros(None, noise=None, random_state=0).fit(data.rows(slice(0, 60)))
        assert {"covariates_2", "covariates_8"} <= set(joined.members_)
        with pytest.raises(DataError, match="covariates_2 needs to know of the rows"):
            FalseZeros(None, members=["covariates_2"]).fit(X)


ROUTED = {
    "ProbitFactors": ProbitFactors(1, **{**SHORT, "n_samples": 10}),
    "FalseZeros": FalseZeros(2, members=["covariates_2", "ising"], noise=None, random_state=0),
}


@pytest.mark.parametrize("name", ROUTED)
@pytest.mark.parametrize(
    "known", [SITES[["elevation", "habitat"]], RowFacts.of(SITES, **ROLES)], ids=["frame", "facts"]
)
def test_rows_pass_through_pipelines_and_cross_validation(name, known):
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(ROUTED[name]).set_fit_request(rows=True).set_score_request(rows=True)
        made = cross_validate(
            make_pipeline(FunctionTransformer(), model),
            X[:80],
            params={"rows": known[:80]},
            cv=KFold(2),
            return_estimator=True,
            error_score="raise",
        )
    facts, halves = RowFacts.of(known)[:80], (slice(40, 80), slice(0, 40))
    for half, other, pipe, score in zip(halves, halves[::-1], made["estimator"], made["test_score"], strict=True):
        fitted = pipe[-1]
        assert fitted._facts.checksum() == facts[half].checksum()
        assert score == fitted.score(BinaryData.of(X[other], rows=facts[other]))


def test_a_score_without_rows_refuses_them():
    model = FalseZeros(None, members=["ising"], noise=None).fit(X)
    with pytest.raises(DataError, match="fitted without rows"):
        model.score(X, rows=SITES)


@pytest.mark.parametrize("threads", [1, 2])
def test_functions_of_space_do_not_depend_on_the_threads_of_blas(threads, data):
    with threadpool_limits(1):
        expected = RowFeatures(data.facts).basis.maps
    _basis.cache_clear()
    with threadpool_limits(threads, user_api="blas"):
        np.testing.assert_array_equal(RowFeatures(data.facts).basis.maps, expected)


def test_the_sampler_knows_the_same_of_training_rows(data):
    known = _known(RowFeatures(data.facts), data.facts)
    assert known.features.shape == (N, 1 + 2 + 2 + 1)
    assert known.vectors.shape[::2] == (5, N)
