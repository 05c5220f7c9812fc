"""The verdict on a model: does it predict hidden cells better than frequencies of columns, and of rows and columns?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from latentbits import views
from latentbits.data.binary_data import BinaryData
from latentbits.fitting.held_out import ENOUGH, Folds, Gain, HiddenCells, gain_over, mean_of_odds
from latentbits.fitting.workers import run_all
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.base import degeneracy
from latentbits.models.cell_model import CellModel
from latentbits.models.false_zeros.ensemble import FalseZeros
from latentbits.models.independent import IndependentBernoulli, RowColumnBernoulli
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.tasks import trials
from latentbits.tasks.select import OrderSelection, check_criteria, held_out_jobs
from latentbits.wording import counted

N_FOLDS = 5
MOST_STARTS, MOST_STARTS_OF_LARGE = 10, 3
LARGE = 20_000
"""Cells of a table that has enough of them to need few starts, each of which takes long."""

OVERCONFIDENT = 0.75
"""Below this share of trust (see `Gain`) the model is called overconfident."""

_MODEL, _COLUMNS, _ROWS = "model", "columns", "rows and columns"
_BASELINES: dict[str, list[Callable[[], Any]]] = {_COLUMNS: [IndependentBernoulli], _ROWS: [RowColumnBernoulli]}


@dataclass(frozen=True, eq=False)
class Verdict:
    """Result of `verdict`.

    Attributes
    ----------
    predicts : bool or None
        Whether hidden cells are predicted better than by both baselines; None if it can't be told from these data.
    over_columns : Gain or None
        Against the frequencies of the columns; None if it can't be told.
    over_rows_and_columns : Gain or None
        Against the frequencies of rows and columns together.
    auc : dict of str to float
        Areas under the ROC curve of the hidden cells, by "model", "columns" and "rows and columns".
    n_cells : int
        Number of cells that were hidden and predicted: all observed ones, each once.
    n_folds : int
        Number of parts that they were hidden in.
    sentences : list of str
        The verdict in plain words, its numbers, and what follows.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, simulate, verdict
    >>> X = simulate.aspect_bernoulli(100, 20, 2, sharpness=0.1, random_state=0).X
    >>> found = verdict(AspectBernoulli(2, n_init=1, random_state=0), X, random_state=0)
    >>> found.predicts, found.z > 2
    (True, True)
    >>> print(str(found).partition(":")[0])
    There is something to find
    """

    predicts: bool | None
    over_columns: Gain | None
    over_rows_and_columns: Gain | None
    auc: dict[str, float]
    n_cells: int
    n_folds: int
    sentences: list[str]

    @property
    def z(self) -> float:
        """By how many standard errors the hidden cells are predicted better, over the harder baseline; 0 if untold."""
        return min((gain.z for gain in (self.over_columns, self.over_rows_and_columns) if gain), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """All attributes, for JSON.

        Returns
        -------
        dict
            Of numbers, texts and None.
        """
        return asdict(self)

    def __repr__(self) -> str:
        return f"Verdict(predicts={self.predicts})"

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def _repr_html_(self) -> str:
        return views.block(self.sentences[0], self.sentences[1:])


def verdict(
    model: Any,
    X: Any,
    *,
    n_folds: int = N_FOLDS,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Verdict:
    """Answer whether a model predicts hidden cells better than frequencies do, and by how much.

    Each of `n_folds` parts of the observed cells is hidden in turn, the model is fitted to the rest (with its own
    parameters) and predicts the hidden cells; so do `IndependentBernoulli`, the frequencies of the columns, and
    `RowColumnBernoulli`, those of rows and columns. A model with random starts predicts by the mean of the log odds of
    all its starts, as `suspects` is a mean of starts: up to 10 of them, of large tables (above 20,000 cells) up to 3.
    `FalseZeros` has hidden the cells already, to weight its members: the verdict is made of what it keeps about them.

    **The rule.** What a model adds to a baseline in a cell is the difference of their log odds of a 1, less the mean
    difference in that column (a better estimate of the column's frequency alone is no finding). The model predicts if
    what it adds goes along with what is found: the sum of (added log odds) x (cell - the baseline's probability) over
    all cells is more than 2 standard errors above 0, against *both* baselines. Were the baseline true, the cells of a
    fold would be independent of what the model adds to them, and the variance of the sum that of independent cells.
    But each pair of cells in different folds counts twice, as either of them helps to predict the other; that can
    double the variance, so the standard error is made from the doubled one.

    The rule asks for direction, not for size: point estimates of a row's weights (`AspectBernoulli`, `LogisticPCA`) are
    overconfident where rows are short, and the log likelihood of their probabilities can be below that of frequencies
    while their order is far better. The gain in log likelihood is therefore given twice: of the model's own
    probabilities, and with their difference from the baseline multiplied by the best factor from 0 to 1 (`Gain.trust`).

    Parameters
    ----------
    model : estimator
        A model of 0-1 tables, fitted or not; it isn't changed. A `FalseZeros` that isn't fitted to X is fitted.
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
        The data that it is, or would be, fitted to.
    n_folds : int, default=5
        Number of parts of the cells; `FalseZeros` has its own.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds, and of the fits if the model has no `random_state` of its own.
    n_jobs : int or None, default=None
        Number of fits at the same time (threads): None means 1 unless a joblib context says otherwise, -1 means all
        cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Returns
    -------
    Verdict
        The verdict with its numbers and sentences. `predicts` is None, and a sentence says why, for data of which it
        can't be told: a single row or column, cells that are all the same, fewer cells than parts.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, simulate, verdict
    >>> model = AspectBernoulli(3, n_init=3, random_state=0)
    >>> structured = simulate.aspect_bernoulli(100, 30, 3, sharpness=0.1, random_state=0).X
    >>> verdict(model, structured, random_state=0).predicts
    True
    >>> noise = simulate.aspect_bernoulli(100, 30, 1, random_state=0).X
    >>> print(verdict(model, noise, random_state=0).sentences[0])
    Nothing here predicts cells better than the columns' own frequencies; the list below is no evidence of false zeros.
    """
    check_criteria("cells", model)
    check_number("n_folds", n_folds, least=2, integer=True)
    fold_seed, seed = as_generator(random_state).integers(2**31, size=2).tolist()
    data = trials.data_for(model, X)
    assert isinstance(data, BinaryData)  # models without `reconstruct` have been refused
    if isinstance(model, FalseZeros):
        return _of_ensemble(_fitted_to(data, model, seed, n_jobs=n_jobs, verbose=verbose), data)
    folds = Folds(data, n_folds, fold_seed)
    reason = _why_not(folds)
    if reason:
        return _undecided(reason, folds.n, model)
    starts = _starts(model, data, seed)
    predicted = _predict({_MODEL: starts, **_BASELINES}, folds, n_jobs=n_jobs, verbose=verbose)
    return _judge(predicted, folds, model, f"by {counted(len(starts), 'random start')}")


def verdicts_of_selection(found: OrderSelection, *, n_jobs: int | None = None, verbose: int = 0) -> dict[int, Verdict]:
    """The verdicts on all models of a selection, from the cells that were held out there; empty if none were.

    Only the baselines are fitted, on the same folds.
    """
    if found.held_out is None:
        return {}
    folds = found.held_out.folds
    reason = _why_not(folds)
    if reason:
        return {order: _undecided(reason, folds.n, model) for order, model in found.models.items()}
    baselines = _predict(_BASELINES, folds, n_jobs=n_jobs, verbose=verbose)
    return {
        order: _judge({_MODEL: predicted, **baselines}, folds, model, f"by the best of {_n_starts(model)}")
        for (order, model), predicted in zip(found.models.items(), found.held_out.predicted.values(), strict=True)
    }


def _starts(model: Any, data: BinaryData, seed: int) -> list[Callable[[], Any]]:
    """What makes the fits of single random starts; of a model without any, the model."""
    if not hasattr(model, "n_init"):
        return [partial(trials.prepared, model, seed)]
    most = MOST_STARTS if data.n_observed <= LARGE else MOST_STARTS_OF_LARGE
    own = int(model.random_state) if isinstance(model.random_state, Integral) else seed
    seeds = np.random.default_rng(own).integers(2**31, size=min(most, model.n_init)).tolist()
    return [partial(trials.prepared, model, seed, n_init=1, random_state=start) for start in seeds]


def _predict(
    makers: Mapping[str, Sequence[Callable[[], Any]]], folds: Folds, *, n_jobs: int | None, verbose: int
) -> dict[str, np.ndarray]:
    """The probabilities of all observed cells by the fits of each list of makers, none of which saw the cell."""
    jobs = {
        (name, start, number): job
        for name, starts in makers.items()
        for start, make in enumerate(starts)
        for _, number, job in held_out_jobs(make, name, folds.data, folds, ["cells"], keep=True)
    }
    outcomes = run_all(list(jobs.values()), title="Verdict", n_jobs=n_jobs, verbose=bool(verbose))
    done = dict(zip(jobs, outcomes, strict=True))
    trials.sum_up_convergence([outcome.model for outcome in outcomes])
    return {
        name: mean_of_odds(
            folds.together([done[name, start, number].predicted for number in range(folds.n)])
            for start in range(len(starts))
        )
        for name, starts in makers.items()
    }


def _n_starts(model: Any) -> str:
    return counted(getattr(model, "n_init", 1), "random start")


def _judge(predicted: dict[str, np.ndarray], folds: Folds, model: Any, fits: str) -> Verdict:
    data = folds.data
    assert isinstance(data, BinaryData)
    cells = HiddenCells.of(data, folds.of_observed())
    gains = {name: gain_over(cells, predicted[_MODEL], predicted[name]) for name in _BASELINES}
    auc = {name: float(roc_auc_score(cells.x, p)) for name, p in predicted.items()}
    how = _how(folds.n, fits if hasattr(model, "n_init") else "")
    return _told(gains, auc, model, n_cells=len(cells.x), n_folds=folds.n, how=how)


def _told(
    gains: Mapping[str, Gain], auc: Mapping[str, float], model: Any, *, n_cells: int, n_folds: int, how: str
) -> Verdict:
    """The verdict that follows from what was gained."""
    predicts = all(gain.is_found for gain in gains.values())
    words = _findings(gains, auc) if predicts else _no_findings(gains, model)
    return Verdict(predicts, gains[_COLUMNS], gains[_ROWS], dict(auc), n_cells, n_folds, [*words, how])


# ---- an ensemble, which has hidden cells itself --------------------------------------------------------------------


def _fitted_to(data: BinaryData, model: FalseZeros, seed: int, *, n_jobs: int | None, verbose: int) -> FalseZeros:
    """The ensemble itself if these are the data of its fit; else another with its parameters, fitted to them."""
    if getattr(model, "data_checksum_", None) == data.fingerprint():
        return model
    fitted: FalseZeros = trials.prepared(model, seed)
    return fitted.set_params(n_jobs=model.n_jobs if n_jobs is None else n_jobs, verbose=verbose).fit(data)


def _of_ensemble(model: FalseZeros, data: BinaryData) -> Verdict:
    if model.n_folds is None:
        return _undecided("no cells were hidden and predicted; use n_folds (--folds), such as 5", 0, model)
    if model.gains_ is None:
        reason = _why_never(data) or degeneracy(data, None) or _too_few(data, model.n_folds)
        return _undecided(reason, model.n_folds, model)
    assert model.auc_ is not None
    gains = {name: Gain(**gain) for name, gain in model.gains_.items()}
    cells = "" if model.n_hidden_ == data.n_observed else f"{model.n_hidden_:,} of "
    how = _how(model.n_folds, f"by {counted(len(model.members_), 'member')} of the ensemble", cells)
    return _told(gains, model.auc_, model, n_cells=model.n_hidden_, n_folds=model.n_folds, how=how)


# ---- data of which it can't be told -------------------------------------------------------------------------------


def _why_not(folds: Folds) -> str:
    """Why nothing can be said about these data, and what would help; empty if something can."""
    data = folds.data
    assert isinstance(data, BinaryData)
    if reason := _why_never(data):
        return reason
    if min(np.bincount(folds.of_observed(), minlength=folds.n)) == 0:
        return _too_few(data, folds.n)
    return ""


def _why_never(data: BinaryData) -> str:
    """The same, whatever the folds."""
    for count, name in zip(data.shape, ("row", "column"), strict=True):
        if count < 2:
            return f"there is one {name} only, so no cell says anything about another; give at least two {name}s"
    if data.n_ones in (0, data.n_observed):
        value = int(data.n_ones > 0)
        return f"all observed cells are {value}, so there is nothing to predict; give a table with both values"
    return ""


def _too_few(data: BinaryData, n_folds: int) -> str:
    cells = f"{data.n_observed:,} observed cell{'s are' if data.n_observed != 1 else ' is'}"
    return f"{cells} too few to be hidden in {n_folds} parts; use fewer folds, or more data"


def _undecided(reason: str, n_folds: int, model: Any) -> Verdict:
    first = f"It can't be told whether this model predicts anything: {reason}. {_no_evidence(model).capitalize()}."
    return Verdict(None, None, None, {}, 0, n_folds, [first])


# ---- sentences ---------------------------------------------------------------------------------------------------


def _no_evidence(model: Any) -> str:
    if Ability.EXPLAIN_CELLS in abilities_of(model):
        return "the list below is no evidence of false zeros"
    if isinstance(model, CellModel):
        return "what the model says of single cells is no evidence of false zeros"
    return "the components describe these rows, and are no evidence of hidden causes"


def _findings(gains: Mapping[str, Gain], auc: Mapping[str, float]) -> list[str]:
    over = gains[_ROWS]
    first = (
        "There is something to find: hidden cells are predicted better than by the frequencies of columns, and of rows "
        f"and columns (AUC {over.auc:.2f} against {auc[_ROWS]:.2f}; {min(gain.z for gain in gains.values()):.1f} "
        "standard errors)."
    )
    second = f"Over rows and columns they gain {_number(over.gain, over.gain_se)} of log likelihood a cell"
    if over.trust >= OVERCONFIDENT:
        return [first, f"{second}."]
    third = (
        f"The model is overconfident: that is with {over.trust:.0%} of what it changes in their log odds; as they "
        f"stand, its probabilities, which are too near to 0 and 1, gain {_number(over.own_gain, over.own_gain_se)}."
    )
    return [first, f"{second}. {third}"]


def _no_findings(gains: Mapping[str, Gain], model: Any) -> list[str]:
    columns, rows = gains[_COLUMNS], gains[_ROWS]
    if columns.is_found:
        first = (
            "Rows differ in how many ones they have, and nothing beyond that is predicted: cells are predicted better "
            "than by the columns' own frequencies, but not than by those of rows and columns together; "
            f"{_no_evidence(model)}."
        )
    else:
        first = f"Nothing here predicts cells better than the columns' own frequencies; {_no_evidence(model)}."
    second = (
        f"The model's probabilities gain {_number(columns.own_gain, columns.own_gain_se)} of log likelihood a cell "
        f"over the columns' frequencies and {_number(rows.own_gain, rows.own_gain_se)} over those of rows and columns; "
        f"what it adds to them goes along with the hidden cells by {columns.z:.1f} and {rows.z:.1f} standard errors, "
        f"where more than {ENOUGH:g} would be a finding."
    )
    return [first, second]


def _number(value: float, error: float) -> str:
    """A number with its standard error, both rounded to the error's first two digits."""
    digits = 0 if error <= 0 else max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def _how(n_folds: int, fits: str, some: str = "") -> str:
    words = f"Each of {n_folds} parts of {some}the observed cells was hidden in turn and predicted from the rest"
    return f"({words}, {fits}.)" if fits else f"({words}.)"
