"""Models without hidden causes, against which all others are measured: frequencies of columns, of rows and columns."""

from latentbits.constraints import Number
from latentbits.models.abilities import WITH_WEIGHTS
from latentbits.models.schema import COLUMNS, FACTOR_MODEL, Array, Value
from latentbits.models.spec import ModelSpec, Option, Parameter

__all__ = ["SPECS"]

_PROBABILITIES = Array(1, "D", low=0, high=1)

SPECS = (
    ModelSpec(
        "independent",
        "latentbits.models.independent.estimator:IndependentBernoulli",
        abilities=WITH_WEIGHTS,
        parameters={"smoothing": Parameter(Number(0), Option("smoothing", "ones and zeros added to each count"))},
        fitted={
            **COLUMNS,
            **FACTOR_MODEL,
            "components_": _PROBABILITIES,
            "weights_": Array("N", 1, low=1, high=1),
            "objective_": Value(float),
        },
    ),
    ModelSpec(
        "row-column",
        "latentbits.models.independent.estimator:RowColumnBernoulli",
        abilities=WITH_WEIGHTS,
        parameters={
            "ridge": Parameter(
                Number(1e-6, optional=True),
                Option("ridge", "how strongly rows are held to be alike; chosen from the data if not given"),
            ),
            "smoothing": Parameter(
                Number(1e-6),
                Option("smoothing", "half the cells, of the table's share of ones, added to each column"),
            ),
        },
        fitted={
            **COLUMNS,
            **FACTOR_MODEL,
            "components_": Array(1, "D", low=1e-15, high=1 - 1e-15),
            "weights_": Array("N", 1),
            "ridge_": Value(float, low=0),
            "objective_": Value(float),
        },
    ),
)
