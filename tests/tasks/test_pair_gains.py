"""The verdict on models of segments: pairs of cells of held-out rows, beside independent columns."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.metrics import roc_auc_score

from latentbits import AspectBernoulli, BinaryICA, analyse, compare, select_order, simulate, verdict
from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.tasks.pair_gains import HeldOutRows, pair_gain
from latentbits.tasks.verdict import Verdict

TRUTH = simulate.binary_ica(60, 6, 2, 6, random_state=0)


def model(K=2):
    return BinaryICA(K, n_init=1, random_state=0)


def held_out(seed, n_rows=30):
    """Rows of two segments with a few missing cells, and what some fit says of their columns."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_rows, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    rho = np.array([np.eye(3), np.eye(3)])
    for u, (i, j) in ((0, (0, 1)), (0, (1, 2)), (1, (0, 1)), (1, (0, 2))):
        rho[u, i, j] = rho[u, j, i] = rng.uniform(-0.6, 0.6)
    return X, np.arange(n_rows) % 2, rng.normal(0, 0.5, (2, 3)), rho


def probability(values, h, rho):
    """P of two cells: the orthant of a bivariate normal, the signs of whose axes are turned for a 0."""
    sign = 2 * values - 1
    return multivariate_normal([0, 0], [[1, sign.prod() * rho], [sign.prod() * rho, 1]]).cdf(sign * h)


def twin(parts):
    """z, the own gain with its error, and areas, pair by pair."""
    gains, scores, pairs, cells, guesses, base = [], [], [], [], [], []
    for X, codes, thresholds, rho in parts:
        for x, u in zip(X, codes, strict=True):
            gain = score = n = 0
            for i in range(3):
                for j in range(i + 1, 3):
                    if np.isnan(x[[i, j]]).any():
                        continue
                    h = -thresholds[u, [i, j]]
                    p = norm.cdf(h)
                    own = np.where(x[[i, j]] == 1, p, 1 - p)
                    together = probability(x[[i, j]], h, rho[u, i, j])
                    gain += np.log(together / own.prod())
                    score += rho[u, i, j] * np.prod(norm.pdf(h) * (2 * x[[i, j]] - 1) / own)
                    n += 1
                    for a, b in ((0, 1), (1, 0)):  # cell a from cell b
                        values = x[[i, j]].copy()
                        values[a] = 1
                        cells.append(x[[i, j]][a])
                        guesses.append(probability(values, h, rho[u, i, j]) / own[b])
                        base.append(p[a])
            gains.append(gain)
            scores.append(score)
            pairs.append(n)
    gains, scores, pairs = map(np.array, (gains, scores, pairs))
    mean, N = gains.sum() / pairs.sum(), len(gains)
    error = np.sqrt(((gains - mean * pairs) ** 2).sum() * N / (N - 1)) / pairs.sum()
    z = scores.sum() / np.sqrt(2 * (scores**2).sum())
    return z, mean, error, roc_auc_score(cells, guesses), roc_auc_score(cells, base), pairs.sum()


class TestPairs:
    def test_is_what_is_found_pair_by_pair(self):
        parts = [held_out(seed) for seed in (0, 1)]
        gain, auc, n_pairs = pair_gain([HeldOutRows(BinaryData.of(X), *rest) for X, *rest in parts])
        z, mean, error, area, columns, pairs = twin(parts)
        assert (gain.z, gain.own_gain, gain.own_gain_se) == pytest.approx((z, mean, error), abs=1e-6)
        assert (auc["model"], auc["columns"]) == pytest.approx((area, columns), abs=1e-3)  # ranks are those of bins
        assert n_pairs == pairs

    def test_no_other_trust_is_better(self):
        X, codes, thresholds, rho = held_out(2)
        data = BinaryData.of(X)
        best, *_ = pair_gain([HeldOutRows(data, codes, thresholds, rho)])
        for trust in np.linspace(0, 1, 21):
            scaled = np.where(np.eye(3, dtype=bool), 1.0, trust * rho)
            other, *_ = pair_gain([HeldOutRows(data, codes, thresholds, scaled)])
            assert other.own_gain <= best.gain + 1e-5
        assert best.gain >= max(best.own_gain, 0)

    def test_independent_columns_gain_nothing(self):
        X, codes, thresholds, _ = held_out(3)
        gain, auc, _ = pair_gain([HeldOutRows(BinaryData.of(X), codes, thresholds, np.array([np.eye(3)] * 2))])
        assert (gain.z, gain.gain, gain.own_gain, gain.trust) == (0, 0, 0, 1)
        assert auc["model"] == auc["columns"]


class TestVerdict:
    def test_sources_are_found_by_labels_by_a_column_by_sessions_and_by_windows(self):
        found = verdict(model(), TRUTH.X, segments=TRUTH.segments, random_state=0)
        assert (found.predicts, str(found.level), found.over_rows_and_columns) == (True, "clear", None)
        assert found.n_cells == 360 * 15
        first, second, last = found.sentences
        assert first.startswith("Held-out pairs of cells are predicted better than by independent columns (AUC ")
        assert "log-likelihood per pair" in second
        assert "every segment's rows" in last
        frame = pd.DataFrame(TRUTH.X).add_prefix("x").assign(when=TRUTH.segments)
        for X, segments in ((frame, "when"), (TRUTH.X.reshape(6, 60, 6), None), (TRUTH.X, 6)):
            assert verdict(model(), X, segments=segments, random_state=0).z == found.z
        assert verdict(model().set_params(n_segments=6), TRUTH.X, random_state=0).z == found.z
        assert verdict(model(), TRUTH.X, segments=TRUTH.segments, random_state=0, n_jobs=2).z == found.z

    def test_coin_flips_have_none(self):
        z = []
        for seed in range(10):
            X = np.random.default_rng(seed).integers(0, 2, (200, 6))
            z.append(verdict(model(1), X, segments=5, random_state=seed).z)
        assert max(z) < 2
        found = verdict(BinaryICA(random_state=0), X, segments=5, random_state=0)
        assert (found.predicts, str(found.level)) == (False, "none")
        assert found.sentences[0] == (
            "No pair of cells is predicted better than by independent columns; "
            "the sources are no evidence of hidden causes."
        )
        stored = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert Verdict.from_dict(stored).sentences == found.sentences

    def test_short_segments_have_fewer_folds_or_no_verdict(self):
        assert verdict(model(), TRUTH.X, segments=120, random_state=0).n_folds == 3
        found = verdict(model(), TRUTH.X, segments=np.arange(360), random_state=0)
        assert found.predicts is None
        assert "a segment has one row only" in found.sentences[0]
        assert verdict(model(), np.zeros((60, 4)), segments=3).predicts is None

    def test_models_without_segments_are_refused(self):
        with pytest.raises(DataError, match="AspectBernoulli has no pairs"):
            verdict(AspectBernoulli(2), TRUTH.X, segments=TRUTH.segments)


@pytest.mark.filterwarnings("ignore:more alike than")  # by chance, in half of the rows
def test_sessions_by_time_by_channels_are_segments_of_comparison_and_selection():
    X = TRUTH.X.reshape(6, 60, 6)
    sessions = compare([model()], X, n_folds=2, random_state=0)
    labels = compare([model()], TRUTH.X, segments=TRUTH.segments, n_folds=2, random_state=0)
    assert sessions.folds["score"].tolist() == labels.folds["score"].tolist()
    assert (sessions.folds["seconds"][sessions.folds["model"] == "BinaryICA"] > 0).all()
    chosen = select_order(model(), X, [1, 2], n_folds=2, random_state=0)
    assert chosen.best_order == 2


def test_findings_begin_with_the_verdict():
    found = analyse(model(), BinaryData.of(TRUTH.X), segments=TRUTH.segments.tolist())
    assert str(found.verdict.level) == "clear"
    assert str(found).startswith("Held-out pairs of cells")
