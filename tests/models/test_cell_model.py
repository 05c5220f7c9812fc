"""The base class of models without weights of rows: blocks, scores of cells that were hidden, comparisons."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import TransformerMixin

from latentbits import (
    BernoulliMixture,
    DataError,
    IndependentBernoulli,
    IsingModel,
    LinearAutoencoder,
    compare,
    select_order,
    simulate,
    verdict,
)
from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.codes import BLOCK_CELLS
from latentbits.findings.analyse import analyse
from latentbits.models.cell_model import N_GROUPS, CellModel

BOTH = pytest.mark.parametrize("model", [IsingModel(), LinearAutoencoder()], ids=lambda model: type(model).__name__)


class Peeping(CellModel):
    """Says 0.9 for a 1 that it sees, 0.1 for a 0; where a cell is hidden, the share of ones in the rest of the row."""

    binarize = None

    def _fit(self, data, row_weight):
        self.fitted_ = True

    def _predict(self, data):
        cells = data.dense()
        share = ((cells == 1).sum(axis=1) + 1) / ((cells != MISSING).sum(axis=1) + 2)
        return np.where(cells == MISSING, share[:, None], np.where(cells == 1, 0.9, 0.1))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_columns", [1, 3, 13])
def test_a_cell_is_hidden_before_it_is_scored(form, n_columns):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (7, n_columns)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[0] = 1  # something is observed
    expected = []
    for row in X:
        total = 0.0
        for j, x in enumerate(row):
            if not math.isnan(x):
                rest = [y for k, y in enumerate(row) if k % N_GROUPS != j % N_GROUPS and not math.isnan(y)]
                p = (sum(rest) + 1) / (len(rest) + 2)
                total += math.log(p if x == 1 else 1 - p)
        expected.append(total)
    model = Peeping().fit(form(X))
    np.testing.assert_allclose(model.score_samples(form(X)), expected, rtol=1e-12)
    assert model.score(form(X)) == pytest.approx(np.mean(expected))


def test_a_cell_that_does_not_enter_its_prediction_need_not_be_hidden():
    X = simulate.ising(60, 8, random_state=0).X
    for model in (IsingModel().fit(X), LinearAutoencoder().fit(X)):
        p = model.reconstruct(X)
        for j in range(8):
            changed = X.copy()
            changed[:, j] ^= 1
            np.testing.assert_array_equal(model.reconstruct(changed)[:, j], p[:, j])
            assert (model.reconstruct(changed) != p).any()
        expected = np.where(X == 1, np.log(p), np.log1p(-p)).sum(axis=1)
        np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-10)


@BOTH
def test_a_missing_cell_says_nothing_and_is_predicted(model):
    X = simulate.ising(200, 6, random_state=1).X.astype(float)
    model.fit(X)
    p = model.reconstruct(np.full((1, 6), np.nan))[0]
    bias = getattr(model, "intercepts_", None)
    np.testing.assert_allclose(p, model.means_ if bias is None else 1 / (1 + np.exp(-bias)), rtol=1e-12)
    one = np.full((1, 6), np.nan)
    one[0, 2] = 1
    p_one, coupled = model.reconstruct(one)[0], model.couplings_[2]
    np.testing.assert_array_equal(np.sign(p_one - p)[coupled != 0], np.sign(coupled[coupled != 0]))
    assert (coupled != 0).any()


@BOTH
def test_rows_are_predicted_in_blocks(model):
    n_columns = 40
    n_rows = BLOCK_CELLS // n_columns + 5
    X = (np.random.default_rng(0).random((n_rows, n_columns)) < 0.3).astype(np.int8)
    model.fit(X[:100])
    whole = model.reconstruct(X)
    np.testing.assert_allclose(whole[-7:], model.reconstruct(X[-7:]), rtol=1e-12)
    np.testing.assert_allclose(model.score_samples(X)[-7:], model.score_samples(X[-7:]), rtol=1e-12)


@BOTH
def test_they_transform_nothing_and_keep_nothing_of_the_rows(model):
    assert not isinstance(model, TransformerMixin)
    assert not hasattr(model, "transform")
    sizes = []
    for n_rows in (50, 500):
        model.fit(simulate.ising(n_rows, 5, random_state=0).X)
        kept = {name: value for name, value in vars(model).items() if name != "objective_history_"}
        sizes.append(sum(np.asarray(value).nbytes for value in kept.values() if isinstance(value, np.ndarray)))
    assert sizes[0] == sizes[1]


@BOTH
def test_held_out_rows_are_refused_and_cells_compared(model):
    X = simulate.aspect_bernoulli(150, 20, 3, sharpness=0.1, concentration=0.2, random_state=0).X
    name = type(model).__name__
    sentence = f"{name} has no cv, as it predicts cells from the rest of their row, and no whole rows; use any of cells"
    for models in ([model, BernoulliMixture(2)], [BernoulliMixture(2), model]):
        with pytest.raises(DataError, match=sentence):
            compare(models, X, criterion=["cells", "cv"])
    found = compare([model, IndependentBernoulli()], X, criterion="cells", n_folds=3, random_state=0)
    assert found.best == name
    assert found.table.set_index("model")["n_components"].isna().to_dict() == {
        name: True,
        "IndependentBernoulli": False,
    }
    with pytest.raises(DataError, match="has no n_components to choose; give orders=1"):
        select_order(model, X, [2, 3], criterion="cells")


@BOTH
def test_the_verdict_tells_structure_from_noise(model):
    structured = simulate.aspect_bernoulli(120, 30, 3, sharpness=0.1, random_state=0).X
    noise = simulate.aspect_bernoulli(120, 30, 1, random_state=0).X
    assert verdict(model, structured, random_state=0).predicts
    found = verdict(model, noise, random_state=0)
    assert not found.predicts
    assert found.sentences[0].endswith("what the model says of single cells is no evidence of false zeros.")


def test_findings_of_a_model_without_couplings():
    X = np.random.default_rng(0).integers(0, 2, (7, 6))
    data = BinaryData.of(X)
    model = Peeping().fit(data)
    model.objective_ = 0.0
    results = analyse(model, data, verdict=False)
    assert str(results).startswith("Each cell predicted from the rest of its row, in 7 rows x 6 columns")
    np.testing.assert_array_equal(results.tables["reconstruction"].iloc[:, 1:], model.reconstruct(data))
    assert results.data.is_fitted
    assert not analyse(model, data.rows([0, 1]), verdict=False).data.is_fitted


def test_the_fingerprint_is_that_of_the_training_data():
    X = simulate.ising(30, 5, random_state=0).X
    model = LinearAutoencoder().fit(sp.csr_array(X))
    assert model.data_checksum_ == BinaryData.of(X).fingerprint()
    with pytest.warns(FutureWarning, match="is now data_checksum_"):
        assert model.data_fingerprint_ == model.data_checksum_
