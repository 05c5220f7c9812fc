"""Choosing a number of components or a model: what `latentbits fit` with a range, `select` and `compare` share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from latentbits.cli.options.click_helpers import Values
from latentbits.wording import TERMINAL_DIGITS, counted

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable
    from latentbits.tasks.select import OrderSelection
    from latentbits.tasks.verdict import Verdict

__all__ = [
    "choice_lines",
    "select_number",
    "selection_tables",
    "sentences_of_range",
    "size_line",
    "terminal_table",
]

_DIFFER = (
    "They differ because they ask different things: aic and cv, what describes the rows; cells, what still helps to "
    "predict a cell, where short rows make aspect-bernoulli and logistic-pca overconfident (beta-ica is not); bic and "
    "evidence charge for every row's weights."
)
_DIFFER_NUMBERS = (
    "They differ because they ask different things: cv, what predicts rows that were not seen; bic and evidence, what "
    "explains all rows at the smallest price in parameters."
)


def select_number(
    model: str,
    parameters: Values,
    data: Any,
    numbers: list[int],
    *,
    criterion: list[str] | None,
    default: tuple[str, ...],
    folds: int,
    progress: bool,
    segments: list[Any] | None = None,
    parameter: str | None = None,
) -> OrderSelection:
    """Fit the model with each of the numbers, and judge them; `parameters` are the model's others.

    Without a criterion those of `default` are used that the model has.
    """
    from latentbits.models.registry import MODELS, model_class
    from latentbits.tasks.criteria import default_criterion
    from latentbits.tasks.select import select_order

    own = {name: value for name, value in parameters.items() if name not in ("random_state", "n_jobs")}
    estimator = model_class(model)(**own)
    if MODELS[model].data != "table":
        default = ("pairs",) if MODELS[model].data == "segments" else (default_criterion(estimator), "cv")
    return select_order(
        estimator,
        data,
        numbers,
        criterion=criterion or [name for name in default if name != "aic" or hasattr(estimator, "aic")],
        n_folds=folds,
        segments=segments,
        parameter=parameter,
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
        yield _choice_line(choice, found.noun)
    if found.choices["best"].nunique() > 1:
        yield _DIFFER if hasattr(found.best_model, "reconstruct") else _DIFFER_NUMBERS


def _choice_line(choice: Any, noun: str) -> str:
    line = f"{choice.criterion}: {counted(choice.best, noun)}"
    if choice.rival != choice.best:
        line += f"; {choice.rival} would be as good, within one standard error"
    if choice.at_the_end:
        line += "; that is the largest number tried, so try larger ones"
    return line + "."


def sentences_of_range(verdicts: dict[int, Verdict], chosen: int) -> list[str]:
    """The sentences about the chosen number; if it predicts nothing but another number does, that comes first."""
    own = verdicts[chosen]
    other = max(verdicts, key=lambda number: verdicts[number].z)
    if own.predicts or not verdicts[other].predicts:
        return own.sentences
    first = (
        f"{counted(chosen, 'component')} predict{'s' * (chosen == 1)} no cell better than frequencies do, but "
        f"{counted(other, 'component')} do, by {verdicts[other].z:.1f} standard errors, if what they add is "
        f"discounted; they are overconfident, and so were not chosen. Fit them with --components {other}, or "
        "try beta-ica: nothing below is evidence of false zeros."
    )
    return [first, *own.sentences[1:]]


def size_line(data: BinaryData | NumberTable) -> str:
    """What was read, so that a column too many or too few is seen."""
    n_rows, n_columns = data.shape
    density = [f"{data.density:.1%} ones"] if hasattr(data, "density") else []
    missing = [f"{counted(data.n_missing, 'cell')} missing"] if not density and data.n_missing else []
    label = [f'the column "{data.row_label}" names the rows'] if data.row_label else []
    details = "; ".join([*density, *missing, *label])
    return f"Read {counted(n_rows, 'row')} x {counted(n_columns, 'column')}{f' ({details})' * bool(details)}."


def terminal_table(table: pd.DataFrame) -> str:
    """A table for the terminal: the details of the differences are left to the files."""
    shown = table[[name for name in table.columns if not name.endswith(("_behind_se", "_p"))]]
    return str(shown.to_string(index=False, na_rep="", float_format=lambda value: f"{value:.{TERMINAL_DIGITS}g}"))
