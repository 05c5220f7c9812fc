"""Contracts of every estimator: arrays, lists, sparse matrices and frames, with and without missing cells."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from latentbits import BinaryData
from latentbits.errors import DataError
from tests.contracts.assertions import assert_same_fit


def rounding_of(contract, X):
    """How far a fit to data of this form may be from one to the same data, dense."""
    return contract.sparse_rounding if sp.issparse(X) else 0.0


class TestForms:
    """The form in which data come doesn't matter."""

    @pytest.mark.parametrize(
        "form",
        [
            lambda X: X.astype(bool),
            lambda X: X.astype(float),
            lambda X: X.tolist(),
            lambda X: np.asfortranarray(X.astype(np.uint8)),
            sp.csr_array,
            sp.csc_matrix,
            sp.coo_array,
            BinaryData.of,
            lambda X: pd.DataFrame(X),
            lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
        ],
        ids=["bool", "float", "list", "Fortran", "csr", "csc", "coo", "BinaryData", "pandas", "polars"],
    )
    def test_complete_data(self, contract, truth, form):
        model, X = contract.make().fit(truth.X), form(truth.X)
        other = contract.make().fit(X)
        rounding = rounding_of(contract, X)
        assert_same_fit(model, other, rounding)
        answers = contract.answer(model, truth.X), contract.answer(other, X)
        np.testing.assert_allclose(*answers, rtol=rounding, atol=rounding)
        np.testing.assert_allclose(model.score_samples(truth.X), other.score_samples(X), rtol=1e-12)

    @pytest.mark.parametrize(
        "form",
        [
            lambda X: [[None if x != x else x for x in row] for row in X.tolist()],
            lambda X: np.ma.masked_invalid(X),
            sp.csr_array,
            BinaryData.of,
            lambda X: pd.DataFrame(X).convert_dtypes(),
            lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]).fill_nan(None),
        ],
        ids=["None", "masked", "csr", "BinaryData", "pandas", "polars"],
    )
    def test_missing_cells(self, contract, with_gaps, form):
        model, X = contract.make().fit(with_gaps), form(with_gaps)
        other = contract.make().fit(X)
        rounding = rounding_of(contract, X)
        assert_same_fit(model, other, rounding)
        answers = contract.answer(model, with_gaps), contract.answer(other, X)
        np.testing.assert_allclose(*answers, rtol=rounding, atol=rounding)
        complete = contract.make().fit(np.nan_to_num(with_gaps))
        assert np.abs(contract.learned(complete) - contract.learned(model)).max() > 0.01, "missing isn't 0"

    def test_a_container_for_missing_cells_with_none_missing(self, contract, truth):
        frame = pd.DataFrame(truth.X).astype("Int8")
        assert_same_fit(contract.make().fit(truth.X), contract.make().fit(frame))

    def test_whole_equals_chunked(self, contract, with_gaps):
        model = contract.make().fit(with_gaps)
        for method in (partial(contract.answer, model), model.score_samples):
            parts = [method(with_gaps[rows]) for rows in (slice(0, 1), slice(1, 37), slice(37, None))]
            np.testing.assert_allclose(np.concatenate(parts), method(with_gaps), rtol=1e-12)

    @pytest.mark.parametrize(
        "form", [np.asarray, BinaryData.of, sp.csr_array, pd.DataFrame], ids=["array", "BinaryData", "csr", "pandas"]
    )
    def test_a_table_without_an_observed_cell_is_refused(self, contract, form):
        model = contract.make()
        with pytest.raises(DataError, match=r"^all 3 x 4 cells are missing; give a table with a 0 or a 1$"):
            model.fit(form(np.full((3, 4), np.nan)))
        assert not hasattr(model, "n_features_in_")

    @pytest.mark.usefixtures("ignore_convergence")
    def test_rows_and_columns_without_an_observed_cell_are_taken(self, contract, truth):
        X = truth.X.astype(float)
        X[:2], X[:, 5] = np.nan, np.nan
        model = contract.make_with(n_init=1).fit(X)
        assert np.isfinite(contract.answer(model, X)).all()
        assert np.isfinite(vars(model).get("weights_", 0.0)).all()
        blank = np.full((3, X.shape[1]), np.nan)
        assert np.isfinite(model.reconstruct(blank)).all()

    def test_columns_are_checked_against_those_of_fit(self, contract, truth):
        frame = pd.DataFrame(truth.X).add_prefix("c")
        model = contract.make().fit(frame)
        swapped = frame[["c1", "c0", *frame.columns[2:]]]
        for X in (swapped, BinaryData.of(swapped)):
            with pytest.raises(ValueError, match="order"):
                contract.answer(model, X)
        for X in (truth.X[:, :7], BinaryData.of(truth.X[:, :7])):
            with pytest.raises(ValueError, match=r"7 features.*40 features"):
                contract.answer(contract.make().fit(truth.X), X)
