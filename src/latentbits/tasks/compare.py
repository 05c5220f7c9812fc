"""Comparison of models on the same held-out rows and cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from latentbits import views
from latentbits.errors import DataError
from latentbits.fitting.held_out import Folds
from latentbits.fitting.workers import run_all
from latentbits.models.abilities import Ability, abilities_of
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.plots import plot_comparison
from latentbits.tasks import trials
from latentbits.tasks.select import HELD_OUT, check_criteria, held_out_jobs, paired_summary
from latentbits.tasks.source_selection import SegmentedRows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHOUT = "independent columns"
"""The name of the baseline of segments."""

TEST = "corrected resampled t-test (Nadeau and Bengio 2003) of the differences from the best, fold by fold"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of `compare`.

    Attributes
    ----------
    table : DataFrame
        One line per model, the best by the first criterion first: `model`, `n_components`; for each criterion mean,
        standard error (`cv_se`), mean difference from the best (`cv_behind`) with its standard error (`cv_behind_se`),
        and `cv_p`, the two-sided p value of the corrected resampled t-test against the best (1 for the best itself);
        with "cells" also `auc`, the area under the ROC curve of the held-out cells; `seconds`, the median time of a
        fit.
    folds : DataFrame
        The score of every fold: criterion, model, fold, score, seconds.

    Notes
    -----
    Models are scored on the same folds, so their differences are tested fold by fold. The training sets of two folds
    overlap, which makes the differences depend on each other: Nadeau and Bengio (Machine Learning 52, 239-281, 2003)
    therefore divide the mean difference by ``sqrt((1/k + n_test/n_train) * variance)``, here with k folds and
    n_test/n_train = 1/(k - 1), and compare it with Student's t of k - 1 degrees of freedom.

    Examples
    --------
    >>> from latentbits import IndependentBernoulli, RowColumnBernoulli, compare, simulate
    >>> X = simulate.probit_factors(100, 20, 1, random_state=0).X
    >>> found = compare([IndependentBernoulli(), RowColumnBernoulli()], X, criterion="cells", n_folds=3, random_state=0)
    >>> found.best, len(found.table), found.folds["fold"].nunique()
    ('RowColumnBernoulli', 2, 3)
    """

    table: pd.DataFrame
    folds: pd.DataFrame

    @property
    def best(self) -> str:
        """The model that is best by the first criterion."""
        return str(self.table["model"].iloc[0])

    def plot(self) -> Figure:
        """Plot the scores of all folds, model by model.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return plot_comparison(self)

    def __repr__(self) -> str:
        return f"Comparison({len(self.table)} models, best {self.best})"

    def _repr_html_(self) -> str:
        shown = [name for name in self.table.columns if not name.endswith("_behind_se")]
        return views.block(
            f"{self.best} is best", [f"p: {TEST}."], views.table(shown, self.table[shown].values.tolist())
        )


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    X: Any,
    *,
    segments: Any = None,
    criterion: str | Sequence[str] | None = None,
    n_folds: int = 10,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare several models on the same held-out cells and rows.

    Parameters
    ----------
    models : mapping of names to estimators, or sequence of estimators
        The models, at least two. Estimators in a sequence are named by their class, and by their number of components
        where that is ambiguous.
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
        Data that all of them can be fitted to.
    segments : array-like of shape (n_rows,), str, int or None, default=None
        Of models of segments (`BinaryICA`): a label for each row, the name of a column of the frame X, or a number of
        windows of equal length. Rows are then held out within segments and judged by "pairs" alone, and independent
        columns, whose shares of ones are those of each segment, are compared as well.
    criterion : str or sequence of str or None, default=None
        None means "cells" and "cv", and "pairs" with segments. "cells": mean log likelihood of held-out cells,
        predicted from the rest of their row (and the area under the ROC curve, which depends on their order alone).
        "cv": mean log likelihood of held-out rows, by each model's `score`. "cells" needs a model with `reconstruct`,
        "cv" one with `score_samples` of whole rows, which models of single cells given the others (`IsingModel`,
        `LinearAutoencoder`) don't have. Point estimates of a row's weights (`AspectBernoulli`, `LogisticPCA`) give
        overconfident probabilities where rows are short, which lowers "cells"; consider the area under the ROC curve as
        well. Reconstructions of `NMF` and `FastICA` are not probabilities; they are clipped to [0.001, 0.999].
    n_folds : int, default=10
        Number of folds.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds, and of the fits of estimators that have no `random_state` of their own.
    n_jobs : int or None, default=None
        Number of fits at the same time (threads): None means 1 unless a joblib context says otherwise, -1 means all
        cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Returns
    -------
    Comparison
        The table of scores, and the scores of every fold.

    Examples
    --------
    >>> from latentbits import BetaICA, IndependentBernoulli, compare, simulate
    >>> X = simulate.aspect_bernoulli(120, 30, 3, sharpness=0.1, random_state=0).X
    >>> models = {"aspects": BetaICA(3, n_init=3), "independent columns": IndependentBernoulli()}
    >>> compare(models, X, criterion="cells", n_folds=3, random_state=0).best
    'aspects'

    With segments:

    >>> from latentbits import BinaryICA
    >>> truth = simulate.binary_ica(60, 6, 2, 6, random_state=0)
    >>> models = {"one source": BinaryICA(1, n_init=1), "two": BinaryICA(2, n_init=1)}
    >>> compare(models, truth.X, segments=truth.segments, n_folds=3, random_state=0).table["model"].tolist()
    ['two', 'one source', 'independent columns']
    """
    if segments is not None or np.ndim(X) == 3:  # sessions of three-dimensional data are segments by themselves
        return _compare_pairs(models, X, segments, criterion, n_folds, random_state, n_jobs, verbose)
    criterion = ("cells", "cv") if criterion is None else criterion
    named = _named(models)
    wanted = check_criteria(criterion)
    if not set(wanted) <= set(HELD_OUT):
        raise DataError(f"criterion={criterion!r}: models are compared on held-out data; use cells, cv or both")
    check_criteria(criterion, *named.values())
    _check_comparable(named)
    check_number("n_folds", n_folds, least=2, integer=True)
    fold_seed, seed = as_generator(random_state).integers(2**31, size=2).tolist()
    jobs: dict[tuple[str, str, int], Callable[[], trials.Outcome]] = {}
    for name, estimator in named.items():
        data = trials.data_for(estimator, X, getattr(estimator, "n_components", None))
        folds = Folds(data, n_folds, fold_seed)
        make = partial(trials.prepared, estimator, seed)
        jobs |= {(*place, fold): job for place, fold, job in held_out_jobs(make, name, data, folds, wanted)}
    return _run(jobs, wanted, named, n_jobs, verbose)


def _run(
    jobs: dict[tuple[str, str, int], Callable[[], trials.Outcome]],
    wanted: list[str],
    named: dict[str, Any],
    n_jobs: int | None,
    verbose: int,
) -> Comparison:
    outcomes = run_all(list(jobs.values()), title="Comparing", n_jobs=n_jobs, verbose=bool(verbose))
    trials.sum_up_convergence([outcome.model for outcome in outcomes if outcome.model is not None])
    rows = [
        (what, name, fold, score, outcome.seconds)
        for (_, name, fold), outcome in zip(jobs, outcomes, strict=True)
        for what, score in outcome.scores.items()
    ]
    scores = pd.DataFrame(rows, columns=["criterion", "model", "fold", "score", "seconds"])
    return Comparison(_table(wanted, named, scores), scores)


def _compare_pairs(
    models: Mapping[str, Any] | Sequence[Any],
    X: Any,
    segments: Any,
    criterion: str | Sequence[str] | None,
    n_folds: int,
    random_state: RandomSource,
    n_jobs: int | None,
    verbose: int,
) -> Comparison:
    """Models of segments, and independent columns, by pairs of cells of rows that were held out."""
    named = _named(models, least=1)
    if check_criteria(criterion or "pairs", *named.values()) != ["pairs"]:
        raise DataError(f"criterion={criterion!r}: rows of segments are judged by their pairs; use pairs")
    _check_comparable(named)
    fold_seed, seed = as_generator(random_state).integers(2**31, size=2).tolist()
    rows = SegmentedRows.of(X, segments, next(iter(named.values())), n_folds, fold_seed)
    jobs: dict[tuple[str, str, int], Callable[[], trials.Outcome]] = {}
    for name, estimator in named.items():
        make = partial(trials.prepared, estimator, seed)
        jobs |= {("pairs", name, fold): partial(rows.held_out, make, fold) for fold in range(n_folds)}
    jobs |= {("pairs", WITHOUT, fold): partial(rows.without_sources, fold) for fold in range(n_folds)}
    return _run(jobs, ["pairs"], {**named, WITHOUT: None}, n_jobs, verbose)


def _named(models: Mapping[str, Any] | Sequence[Any], least: int = 2) -> dict[str, Any]:
    if isinstance(models, str) or not isinstance(models, Iterable):
        raise DataError("compare needs at least two models; give a list of them, or a dict of names and models")
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        named = dict(zip(_names(models), models, strict=True))
    if len(named) < least:
        raise DataError(
            "compare needs at least two models; add IndependentBernoulli(), the independent columns, as a baseline"
        )
    return named


def _check_comparable(named: dict[str, Any]) -> None:
    """Refuse models that would be scored on different data: log probabilities and log densities are not comparable."""
    if len({Ability.READ_ZERO_ONE in abilities_of(model) for model in named.values()}) > 1:
        raise DataError("models of 0-1 data and of numbers can't be compared; compare them among themselves")
    if len({getattr(model, "binarize", None) for model in named.values()}) > 1:
        raise DataError("the models have different values of binarize, so they would see different data; use one")


def _names(models: Sequence[Any]) -> list[str]:
    """Class names; with the number of components where a class occurs twice, or else the position."""
    names = [type(model).__name__ for model in models]
    often = Counter(names)
    names = [
        f"{name}({K})" if often[name] > 1 and K is not None else name
        for name, K in zip(names, (getattr(model, "n_components", None) for model in models), strict=True)
    ]
    often = Counter(names)
    return [f"{name} #{place}" if often[name] > 1 else name for place, name in enumerate(names)]


def _table(wanted: list[str], named: dict[str, Any], scores: pd.DataFrame) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "model": list(named),
        "n_components": pd.array([_n_components(model) for model in named.values()], dtype="Int64"),
    }
    for what in wanted:
        by_fold = _by_fold(scores, what)[list(named)].to_numpy()
        columns |= {f"{what}{end}": part for end, part in paired_summary(by_fold).items()}
        columns[f"{what}_p"] = _p_values(by_fold)
    if "cells" in wanted:
        columns["auc"] = _by_fold(scores, "auc")[list(named)].mean().to_numpy()
    fits = scores[scores["criterion"] != "auc"]  # which comes from the same fits as "cells"
    columns["seconds"] = fits.groupby("model")["seconds"].median()[list(named)].to_numpy()
    return pd.DataFrame(columns).sort_values(wanted[0], ascending=False, kind="stable", ignore_index=True)


def _p_values(by_fold: np.ndarray) -> np.ndarray:
    """Two-sided, of each column of scores (folds x models) against the best; see the notes of `Comparison`."""
    n = len(by_fold)
    behind = by_fold[:, [int(by_fold.mean(axis=0).argmax())]] - by_fold
    error = np.sqrt((1 / n + 1 / (n - 1)) * behind.var(axis=0, ddof=1))
    difference = behind.mean(axis=0)
    certain = np.where(difference > 0, np.inf, 0.0)  # where all folds differ by the same
    ratio = np.divide(difference, error, out=certain, where=error > 0)
    return 2 * student.sf(ratio, n - 1)


def _n_components(model: Any) -> int | None:
    """How many were asked for; a model of tables without such a number has one."""
    if model is None:  # independent columns of segments
        return 0
    return getattr(model, "n_components", 1 if Ability.COMPONENTS in abilities_of(model) else None)


def _by_fold(scores: pd.DataFrame, what: str) -> pd.DataFrame:
    return scores[scores["criterion"] == what].pivot(index="fold", columns="model", values="score")
