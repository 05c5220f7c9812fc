"""Selection of the number of components by several criteria, with standard errors and stability."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from latentbits import views
from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError, warn_user
from latentbits.fitting.held_out import Folds
from latentbits.fitting.workers import run_all
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.spec import spec_of
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.plots import plot_selection
from latentbits.tasks import trials
from latentbits.tasks.source_selection import SegmentedRows, pair_jobs
from latentbits.tasks.stability import component_stability
from latentbits.tasks.trials import HELD_OUT, LOWER_IS_BETTER, check_criteria, default_criterion
from latentbits.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class HeldOutCells:
    """What was predicted for every observed cell by the fit that didn't see it.

    Attributes
    ----------
    folds : Folds
        Which cells were hidden together.
    predicted : dict of int to ndarray
        Probabilities of a 1 by the number of components, the observed cells row by row.
    """

    folds: Folds
    predicted: dict[int, np.ndarray]


@dataclass(frozen=True, eq=False)
class OrderSelection:
    """Result of `select_order`.

    Attributes
    ----------
    table : DataFrame
        One line per number of components (or what `parameter` counts, after which the column is named): the value of
        each criterion; for an evidence that was integrated also its
        standard error (`evidence_se`); for held-out ones also the standard error
        (`cv_se`), the mean difference from the best (`cv_behind`) and its own standard error (`cv_behind_se`), which is
        smaller because the folds are the same for all; `stability` (the smallest over the components, see
        `component_stability`), `seconds` of the fit on all data and `converged`.
    choices : DataFrame
        One line per criterion: `best`; `rival`, the smallest number of components that is not behind the best by more
        than one standard error of the difference (for held-out criteria and integrated evidence; else the best); and
        `at_the_end`, whether the best is the largest number tried.
    folds : DataFrame
        The score of every fold: criterion, n_components, fold, score.
    stability : DataFrame
        The stability of every component: n_components, component, stability.
    best_order : int
        The choice of the first criterion.
    best_model : estimator
        Fitted to all data with `best_order` components; None for 0 sources of data in segments.
    models : dict
        All models fitted to all data, by their number of components.
    held_out : HeldOutCells or None
        With "cells", what each number of components predicts for the cells that were held out.
    parameter : str
        What was varied: "n_components", "n_clusters" or "n_sources".
    estimator : estimator
        What was given to `select_order`.
    random_state : int, Generator, RandomState or None
        The same.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, select_order, simulate
    >>> X = simulate.aspect_bernoulli(150, 30, 2, sharpness=0.1, random_state=0).X
    >>> found = select_order(AspectBernoulli(n_init=2), X, [2, 3], criterion="aic", random_state=0)
    >>> found.best_order, found.best_model.components_.shape
    (2, (2, 30))
    """

    table: pd.DataFrame
    choices: pd.DataFrame
    folds: pd.DataFrame
    stability: pd.DataFrame
    models: dict[int, Any]
    held_out: HeldOutCells | None = None
    parameter: str = "n_components"
    estimator: Any = None
    random_state: RandomSource = None

    @property
    def noun(self) -> str:
        """What was counted, in the singular, such as "component"."""
        return self.parameter.removeprefix("n_").removesuffix("s")

    @property
    def best_order(self) -> int:
        """The choice of the first criterion."""
        return int(self.choices["best"].iloc[0])

    @property
    def best_model(self) -> Any:
        """The model with `best_order` components."""
        return self.models[self.best_order]

    def plot(self) -> Figure:
        """Plot every criterion, and the stability, against the number of components.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return plot_selection(self)

    def __repr__(self) -> str:
        choices = ", ".join(f"{c.criterion} {c.best}" for c in self.choices.itertuples())
        return f"OrderSelection({choices})"

    def _repr_html_(self) -> str:
        chosen = [_chosen(choice) for choice in self.choices.itertuples()]
        shown = [name for name in self.table.columns if not name.endswith(("_behind", "_behind_se"))]
        lines = views.table(shown, self.table[shown].values.tolist())
        return views.block(f"{counted(self.best_order, self.noun)} chosen", chosen, lines)


def _chosen(choice: Any) -> str:
    rival = f", and {choice.rival} is no worse within one standard error" if choice.rival != choice.best else ""
    end = "; it is the largest number tried, so try more" if choice.at_the_end else ""
    return f"{choice.criterion} chooses {choice.best}{rival}{end}."


def select_order(
    estimator: Any,
    X: Any,
    orders: Iterable[int] | int,
    *,
    criterion: str | Sequence[str] | None = None,
    n_folds: int = 10,
    parameter: str | None = None,
    segments: Any = None,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> OrderSelection:
    """Select the number of components by one or several criteria; 1 is always compared too, as the baseline.

    Parameters
    ----------
    estimator : estimator
        The model to fit. Its other parameters are used as they are, but for those by which two models find their
        number themselves: `BinaryFactorAnalysis` is fitted by maximum likelihood (``inference="em"``), and clusters of
        `ICAMixture` are neither split nor deleted.
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
        Data that the estimator can be fitted to.
    orders : iterable of int, or int
        The numbers of components to compare, for example ``range(2, 9)``; 1 for a model without such a number.
    criterion : str, sequence of str or None, default=None
        Any of "aic", "bic", "evidence" (of one fit each to all data); "cv": every row is held out once and scored by
        the model's `score` (for aspect models the empirical Bayes test likelihood); "cells": every cell is held out
        once and predicted from the rest of its row, which works for every model of 0-1 data.
        None means "cells" (for models of numbers "bic" or "evidence"), or with `segments` "pairs", the only one there:
        rows are held out within each segment, and the pairs of their cells predicted; 0 sources, which are independent
        columns, are then compared too.
        AIC, BIC and evidence take one fit for each number, "cv" and "cells" `n_folds` more each.
        They need not agree. AIC and "cv" measure how many components describe the rows, "cells" how many improve the
        prediction of a cell: there point estimates of short rows (`AspectBernoulli`, `LogisticPCA`) are overconfident
        and fewer components win; `BetaICA` does better. BIC and the evidence bound penalise the weights of every row,
        and prefer few components on most data. The evidence of ``BetaICA(inference="gibbs")`` is no bound: it is
        integrated over temperatures, and its standard error stands beside it.
    n_folds : int, default=10
        Number of folds of the held-out criteria.
    parameter : str or None, default=None
        The estimator's parameter to vary: None stands for "n_components", of `ICAMixture` for "n_clusters"; its
        "n_sources" can be compared too.
    segments : array-like of shape (n_rows,), str, int or None, default=None
        For `BinaryICA`, what its `fit` takes: labels, the name of a column of the frame X, or a number of windows.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds, and of the fits if the estimator has no `random_state` of its own.
    n_jobs : int or None, default=None
        Number of fits at the same time (threads): None means 1 unless a joblib context says otherwise, -1 means all
        cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Returns
    -------
    OrderSelection
        The table of criteria, the choices and the fitted models.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, select_order, simulate
    >>> truth = simulate.aspect_bernoulli(150, 30, 2, sharpness=0.1, random_state=0)
    >>> found = select_order(AspectBernoulli(n_init=3), truth.X, [2, 3], criterion=["aic", "bic"], random_state=0)
    >>> found.best_order
    2
    >>> found.table["n_components"].tolist()
    [1, 2, 3]
    """
    if segments is not None or Ability.PAIR_SCORES in abilities_of(estimator):
        return _select_sources(
            estimator,
            X,
            orders,
            segments,
            criterion,
            n_folds,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
    wanted = check_criteria(default_criterion(estimator) if criterion is None else criterion, estimator)
    numbers = sorted({1, *check_orders(orders)})
    spec = spec_of(type(estimator))
    known: Mapping[str, Mapping[str, Any]] = spec.orders if spec is not None else {}
    parameter = parameter or next(iter(known), "n_components")
    held = _held(estimator, known.get(parameter, {}))
    varies = parameter in estimator.get_params(deep=False)
    if not varies and numbers != [1]:
        raise DataError(f"{type(estimator).__name__} has no {parameter} to choose; give orders=1, or use compare")
    check_number("n_folds", n_folds, least=2, integer=True)
    # A seed of its own for the folds: `compare` and `select_order` with the same random_state use the same ones.
    fold_seed, seed = as_generator(random_state).integers(2**31, size=2).tolist()
    data = trials.data_for(estimator, X, max(numbers) if varies else None)
    whole = data if isinstance(data, BinaryData) else X  # so that the models know the names of its columns
    folds = Folds(data, n_folds, fold_seed)
    jobs: dict[tuple[str, int, int], Callable[[], trials.Outcome]] = {}
    for k in reversed(numbers):  # the longest first, so that no thread is left with it at the end
        make = partial(trials.prepared, estimator, seed, **({parameter: k, **held} if varies else {}))
        jobs["all", k, 0] = partial(_fit_all, make, whole, "evidence" in wanted)
        kept = held_out_jobs(make, k, data, folds, wanted, keep=True)
        jobs |= {(*place, fold): job for place, fold, job in kept}
    outcomes = run_all(list(jobs.values()), title="Selecting", n_jobs=n_jobs, verbose=bool(verbose))
    done = dict(zip(jobs, outcomes, strict=True))
    trials.sum_up_convergence([outcome.model for outcome in outcomes])
    models = {k: done["all", k, 0].model for k in numbers}
    scores = _scores(done)
    stability = pd.concat([_stability(k, model) for k, model in models.items()], ignore_index=True)
    table = _table(wanted, whole, {k: done["all", k, 0] for k in numbers}, scores, stability)
    held_out = _held_out(folds, numbers, done) if "cells" in wanted else None
    choices = _choices(wanted, table)
    table, scores, stability = (part.rename(columns={"n_components": parameter}) for part in (table, scores, stability))
    return OrderSelection(
        table, choices, scores, stability, models, held_out, parameter, estimator=estimator, random_state=random_state
    )


def _held(estimator: Any, held: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters by which a fit keeps its number, unless the caller has chosen others."""
    for name, value in held.items():
        own = getattr(estimator, name)
        if own not in (value, getattr(type(estimator)(), name)):
            raise DataError(f"with {name}={own!r} a fit finds its number itself; leave it out, or use {value!r}")
    return held


def _scores(done: dict[tuple[str, int, int], trials.Outcome]) -> pd.DataFrame:
    """A line for each fold of each held-out criterion."""
    rows = [
        (what, k, fold, outcome.scores[what])
        for (what, k, fold), outcome in sorted(done.items(), key=lambda item: item[0])
        if what in HELD_OUT
    ]
    return pd.DataFrame(rows, columns=["criterion", "n_components", "fold", "score"])


def _select_sources(
    estimator: Any,
    X: Any,
    orders: Iterable[int] | int,
    segments: Any,
    criterion: str | Sequence[str] | None,
    n_folds: int,
    *,
    random_state: RandomSource,
    n_jobs: int | None,
    verbose: int,
) -> OrderSelection:
    """`select_order` of a model of segments: by pairs, with 0 and 1 source as baselines."""
    if Ability.PAIR_SCORES not in abilities_of(estimator):
        raise DataError(f"{type(estimator).__name__} knows no segments; leave them out, or give BinaryICA()")
    wanted = check_criteria("pairs" if criterion is None else criterion, estimator)
    check_number("n_folds", n_folds, least=2, integer=True)
    fold_seed, seed = as_generator(random_state).integers(2**31, size=2).tolist()
    rows = SegmentedRows.of(X, segments, estimator, n_folds, fold_seed)
    asked, most = sorted({1, *check_orders(orders)}), rows.data.shape[1]
    numbers = [k for k in asked if k <= most]
    if len(numbers) < len(asked):
        warn_user(f"numbers of sources above {most}, the number of columns, were left out; ask for at most {most}")
    jobs = pair_jobs(rows, lambda k: partial(trials.prepared, estimator, seed, n_components=k), [0, *numbers], n_folds)
    outcomes = run_all(list(jobs.values()), title="Selecting", n_jobs=n_jobs, verbose=bool(verbose))
    done = dict(zip(jobs, outcomes, strict=True))
    trials.sum_up_convergence([outcome.model for outcome in outcomes])
    models = {0: None, **{k: done["all", k, 0].model for k in numbers}}
    stability = pd.concat([_stability(k, models[k]) for k in numbers], ignore_index=True)
    fits = {0: trials.Outcome(None, 0.0, {}), **{k: done["all", k, 0] for k in numbers}}
    scores = _scores(done)
    table = _table(wanted, rows.data, fits, scores, stability)
    choices = _choices(wanted, table)
    return OrderSelection(table, choices, scores, stability, models, estimator=estimator, random_state=random_state)


def _held_out(folds: Folds, numbers: list[int], done: dict[tuple[str, int, int], trials.Outcome]) -> HeldOutCells:
    predicted = {k: [done["cells", k, number].predicted for number in range(folds.n)] for k in numbers}
    return HeldOutCells(folds, {k: folds.together(parts) for k, parts in predicted.items()})


def held_out_jobs(
    make: Callable[[], Any],
    key: Any,
    data: Any,
    folds: Folds,
    criteria: Sequence[str],
    *,
    keep: bool = False,
) -> list[tuple[tuple[str, Any], int, Callable[[], trials.Outcome]]]:
    """The fits that held-out criteria need: ((criterion, key), fold, job); with `keep` they keep their predictions."""
    found: list[tuple[tuple[str, Any], int, Callable[[], trials.Outcome]]] = []
    if "cv" in criteria:
        for fold, (train, test) in enumerate(folds.rows()):
            found.append((("cv", key), fold, partial(_fit_without_rows, make, data, train, test)))
    if "cells" in criteria:
        folds.check_cells()
        for fold in range(folds.n):
            found.append((("cells", key), fold, partial(_fit_without_cells, make, data, folds, fold, keep)))
    return found


# Estimators are created inside the jobs, so that a waiting job costs no memory.


def _fit_all(make: Callable[[], Any], data: Any, with_evidence: bool) -> trials.Outcome:
    outcome = trials.fit_all(make(), data)
    return replace(outcome, scores=_evidence(outcome.model, data)) if with_evidence else outcome


def _evidence(model: Any, data: Any) -> dict[str, float]:
    """The evidence of a fit, and its standard error where it is integrated by sampling."""
    found = model.log_evidence(data)
    error = getattr(found, "error", None)
    return {"evidence": float(found)} | ({} if error is None else {"evidence_se": float(error)})


def _fit_without_rows(make: Callable[[], Any], data: Any, train: np.ndarray, test: np.ndarray) -> trials.Outcome:
    return trials.fit_without_rows(make(), data, train, test)


def _fit_without_cells(
    make: Callable[[], Any], data: BinaryData, folds: Folds, fold: int, keep: bool
) -> trials.Outcome:
    return trials.fit_without_cells(make(), data, folds.cells(fold), keep=keep)


def check_orders(orders: Iterable[int] | int) -> list[int]:
    """The numbers in order, each once."""
    numbers = sorted(set(orders)) if isinstance(orders, Iterable) else [orders]
    for number in numbers:
        check_number("an order", number, least=1, integer=True)
    if not numbers:
        raise DataError("orders is empty; name the numbers of components to compare, such as range(2, 9)")
    return [int(number) for number in numbers]


def _stability(k: int, model: Any) -> pd.DataFrame:
    if Ability.RESTART_COMPONENTS not in abilities_of(model) or len(model.restarts_) < 2:
        return pd.DataFrame({"n_components": [], "component": [], "stability": []})
    values = component_stability(model)
    return pd.DataFrame({"n_components": k, "component": np.arange(len(values)), "stability": values})


def _table(
    wanted: list[str],
    data: Any,
    fits: dict[int, trials.Outcome],
    scores: pd.DataFrame,
    stability: pd.DataFrame,
) -> pd.DataFrame:
    models = {k: fit.model for k, fit in fits.items()}
    columns: dict[str, Any] = {"n_components": list(models)}
    for name in wanted:
        if name in HELD_OUT:
            by_fold = scores[scores["criterion"] == name].pivot(index="fold", columns="n_components", values="score")
            columns |= {f"{name}{end}": part for end, part in paired_summary(by_fold[list(models)].to_numpy()).items()}
        elif name == "evidence":
            for part in next(iter(fits.values())).scores:
                columns[part] = [fit.scores[part] for fit in fits.values()]
        else:
            columns[name] = [float(getattr(model, name)(data)) for model in models.values()]
    least = stability.groupby("n_components")["stability"].min()
    columns["stability"] = [float(least.get(k, np.nan)) for k in models]
    columns["seconds"] = [fit.seconds for fit in fits.values()]
    columns["converged"] = [bool(getattr(model, "converged_", True)) for model in models.values()]
    table = pd.DataFrame(columns)
    return table if len(stability) else table.drop(columns="stability")


def paired_summary(by_fold: np.ndarray) -> dict[str, np.ndarray]:
    """Mean and standard error of each column of scores (folds x candidates), and of its distance from the best."""
    n = len(by_fold)
    mean = by_fold.mean(axis=0)
    # Paired by fold: folds differ far more from each other than candidates do.
    behind = by_fold[:, [int(mean.argmax())]] - by_fold
    return {
        "": mean,
        "_se": by_fold.std(axis=0, ddof=1) / np.sqrt(n),
        "_behind": behind.mean(axis=0),
        "_behind_se": behind.std(axis=0, ddof=1) / np.sqrt(n),
    }


def _choices(wanted: list[str], table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for name in wanted:
        values = table[name].to_numpy()
        best = int(values.argmin() if name in LOWER_IS_BETTER else values.argmax())
        rival = best
        if name in HELD_OUT:
            # The first True: orders ascend.
            rival = int(np.argmax(table[f"{name}_behind"] <= table[f"{name}_behind_se"]))
        elif f"{name}_se" in table:
            error = table[f"{name}_se"].to_numpy()
            rival = int(np.argmax(values[best] - values <= np.hypot(error, error[best])))
        orders = table["n_components"]
        rows.append((name, int(orders[best]), int(orders[rival]), bool(orders[best] == orders.max() > 1)))
    return pd.DataFrame(rows, columns=["criterion", "best", "rival", "at_the_end"])
