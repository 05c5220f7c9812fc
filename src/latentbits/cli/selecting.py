"""Choosing the number of components, for `latentbits select` and for `latentbits fit` with a range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.options import Command, Values
from latentbits.cli.values import Names

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.data.binary_data import BinaryData
    from latentbits.tasks.select import OrderSelection

__all__ = ["FOLDS", "choice_lines", "criterion_option", "folds_option", "select_number", "selection_tables"]

FOLDS = 10
_DIFFER = (
    "They differ because they ask different things: aic and cv, what describes the rows; cells, what still helps to "
    "foretell a cell, where short rows make aspect-bernoulli and logistic-pca overconfident (beta-ica is not); bic and "
    "evidence charge for every row's weights."
)


def criterion_option(command: Command) -> Command:
    """Give a command the criteria of choosing a number."""
    return click.option(
        "--criterion",
        type=Names(("aic", "bic", "evidence", "cv", "cells")),
        metavar="LIST",
        help="aic, bic, evidence (beta-ica), cv (held-out rows), cells (held-out cells); the first one chooses.  "
        "[default: aic,cells; for nmf and fast-ica cells]",
    )(command)


def folds_option(command: Command) -> Command:
    """Give a command the number of folds."""
    return click.option(
        "--folds", type=click.IntRange(min=2), default=FOLDS, show_default=True, help="Of held-out rows and cells."
    )(command)


def select_number(
    model: str,
    parameters: Values,
    data: BinaryData,
    numbers: list[int],
    *,
    criterion: list[str] | None,
    folds: int,
    progress: bool,
) -> OrderSelection:
    """Fit the model with each of the numbers, and judge them; `parameters` are the model's others."""
    from latentbits.models.registry import model_class
    from latentbits.tasks.select import select_order

    own = {name: value for name, value in parameters.items() if name not in ("random_state", "n_jobs")}
    estimator = model_class(model)(**own)
    return select_order(
        estimator,
        data,
        numbers,
        criterion=criterion or (["aic", "cells"] if hasattr(estimator, "aic") else ["cells"]),
        n_folds=folds,
        random_state=parameters.get("random_state"),
        n_jobs=parameters.get("n_jobs"),
        verbose=int(progress),
    )


def selection_tables(found: OrderSelection) -> dict[str, pd.DataFrame]:
    """The tables that aren't empty, by the names of their files."""
    tables = {"selection": found.table, "choices": found.choices, "folds": found.folds, "stability": found.stability}
    return {name: table for name, table in tables.items() if len(table)}


def choice_lines(found: OrderSelection) -> Iterator[str]:
    """What each criterion chooses, and why they differ if they do."""
    for choice in found.choices.itertuples():
        yield _choice_line(choice)
    if found.choices["best"].nunique() > 1:
        yield _DIFFER


def _choice_line(choice: Any) -> str:
    line = f"{choice.criterion}: {choice.best} component{'s' * (choice.best > 1)}"
    if choice.rival != choice.best:
        line += f"; {choice.rival} would be as good, within one standard error"
    if choice.at_the_end:
        line += "; that is the largest number tried, so try larger ones"
    return line + "."
