"""What models share that use what is known of rows: covariates, coordinates and effort."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from latentbits.data.binary_data import BinaryData
from latentbits.data.row_facts import RowFacts, without_copies
from latentbits.errors import DataError
from latentbits.models.base import BinaryModel

__all__ = ["KnowsRows"]


class KnowsRows(BinaryModel):
    """Fitted to data with `facts`, a model wants them of every row; of the training rows it knows them."""

    _row_facts: dict[str, Any] | None = None
    """`RowFacts._stored` of the training rows."""
    data_checksum_: str | None

    @property
    def _facts(self) -> RowFacts | None:
        return None if self._row_facts is None else RowFacts(**self._row_facts)

    def score(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None, rows: Any = None) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            How much each row counts.
        rows : data frame or RowFacts, optional
            What is known of these rows, with the columns of the fit; training rows are recognised without.

        Returns
        -------
        float
            The mean log-likelihood per row; of `FalseZeros` a pseudo-likelihood.
        """
        known = X if rows is None else self._with_rows(X, self._roles_of(rows))
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        return float(np.average(self.score_samples(known), weights=weights))

    def _roles_of(self, rows: Any) -> RowFacts:
        """What is known of new rows; a frame has the roles of the fit."""
        facts = self._facts
        if facts is None:
            raise DataError("the model was fitted without rows; leave them out, or fit with rows=frame")
        if isinstance(rows, RowFacts):
            return rows
        given = set(map(str, getattr(rows, "columns", rows)))
        covariates = [name for name in (*facts.numbers, *facts.categories) if name in given]  # useless ones may lack
        return RowFacts.of(
            rows, covariates=covariates, coordinates=facts.coordinate_names or None, effort=facts.effort_name
        )

    def _with_rows(self, X: Any, rows: Any) -> Any:
        """X with what is known of its rows."""
        return X if rows is None else BinaryData.of(X, binarize=self.binarize, rows=rows)

    def _data(self, X: Any, *, reset: bool = False) -> Any:
        data = super()._data(X, reset=reset)
        if not isinstance(data, BinaryData):
            return data
        if reset:
            if data.facts is not None:
                data = data.with_facts(without_copies(data.facts, data.dense(), self._column_names()))
            self._row_facts = None if data.facts is None else data.facts._stored()
            return data
        data, facts = self._as_fitted(data), self._facts
        if facts is None or data.facts is not None:
            return data
        if len(facts) == data.shape[0]:
            known = replace(data, facts=facts)
            if self._checksum(known) == self.data_checksum_:
                return known
        raise DataError(
            f"the model was fitted with {', '.join(facts.names)} of the rows; give them of these rows too: "
            "the same columns in a file, or BinaryData.of(X, rows=frame, ...)"
        )

    def _as_fitted(self, data: BinaryData) -> BinaryData:
        """Without what is known of the rows that the fit has not used."""
        facts = self._facts
        if data.facts is None or facts is None:
            return data if data.facts is None else replace(data, facts=None)
        return replace(data, facts=data.facts.only([*facts.numbers, *facts.categories]))
