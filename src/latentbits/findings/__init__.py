"""What a fitted model has found in its data: a file a family, the common parts in results.py."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.data.numbers import NumberTable
    from latentbits.findings.results import Data, Results

__all__ = ["gather", "lead_with_verdict", "rows_table"]


def gather(model: Any, data: Data, **fit_params: Any) -> Results:
    """What is to be said about a fitted model and its data, or other rows; by the model's family.

    Parameters
    ----------
    model : fitted estimator
    data : BinaryData or NumberTable
        Rows with the model's columns.
    **fit_params
        What `fit` was given beside the data, such as `segments`; for `FalseZeros` what is asked of it, such as `rate`.

    Returns
    -------
    Results
    """
    from latentbits.models.cell_model import CellModel
    from latentbits.models.factor_model import FactorModel
    from latentbits.models.spec import spec_of

    spec = spec_of(type(model))
    unrecorded = "cells" if isinstance(model, CellModel) else "factors"  # a class of the user's own
    family = import_module(f"latentbits.findings.{unrecorded if spec is None else spec.findings}")
    results: Results
    if isinstance(model, FactorModel):
        results = family.gather(model._solved(data))
        results.summary["data"]["fitted"] = results.solved.are_training_rows()
    elif isinstance(model, CellModel):
        results = family.gather(model, data, **fit_params)
        results.summary["data"]["fitted"] = data.fingerprint() == model.data_checksum_
    else:
        results = family.gather(model, data, **fit_params)
        results.summary["data"]["fitted"] = True
    results.fit_params = {} if isinstance(model, CellModel) else fit_params  # there they are a question, not data
    results.answer = results.answer or results.lines[:2]
    return results


def rows_table(model: Any, data: NumberTable) -> pd.DataFrame:
    """What a fitted model of numbers says about each row, which it need not have seen.

    Parameters
    ----------
    model : ICAMixture or BinaryFactorAnalysis
        Fitted.
    data : NumberTable
        Rows with the model's columns.

    Returns
    -------
    DataFrame
        A line for each row.
    """
    from latentbits.models.spec import spec_of

    spec = spec_of(type(model))
    assert spec is not None
    table: pd.DataFrame = import_module(f"latentbits.findings.{spec.findings}").rows_table(model, data)
    return table


def lead_with_verdict(results: Results, verdict: Mapping[str, Any]) -> None:
    """Put the verdict first in summary and lines; if nothing is predicted, leave out what would be read as evidence.

    Parameters
    ----------
    results : Results
        Of the model that the verdict is on; changed.
    verdict : mapping
        What `Verdict.to_dict` returns, or the "verdict" of an earlier summary.
    """
    results.summary = {"verdict": dict(verdict), **results.summary}
    if not verdict["predicts"]:
        results.answer = [line for line in results.answer if line not in results.evidence] or results.lines[:1]
        results.lines = [line for line in results.lines if line not in results.evidence]
        if "suspects" in results.tables:
            by = "a model that predicts none of them" if verdict["predicts"] is False else "a model that wasn't tested"
            results.lines.append(f"suspects.csv ranks the zeros all the same, by {by}.")
    results.lines[:0] = verdict["sentences"]
