"""Models without hidden causes, against which all others are measured: frequencies of columns, of rows and columns."""

from latentbits.constraints import Number
from latentbits.models.spec import ModelSpec, Option, Parameter

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "independent",
        "latentbits.models.independent.estimator:IndependentBernoulli",
        parameters={"smoothing": Parameter(Number(0), Option("smoothing", "ones and zeros added to each count"))},
    ),
    ModelSpec(
        "row-column",
        "latentbits.models.independent.estimator:RowColumnBernoulli",
        parameters={
            "ridge": Parameter(
                Number(0, above=True, optional=True),
                Option("ridge", "how strongly rows are held to be alike; chosen from the data if not given"),
            ),
            "smoothing": Parameter(
                Number(0, above=True),
                Option("smoothing", "half the cells, of the table's share of ones, added to each column"),
            ),
        },
    ),
)
