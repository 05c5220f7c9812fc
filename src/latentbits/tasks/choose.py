"""Which model a table needs, and with how many components: as few as predict held-out cells about as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from latentbits import views
from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.aspect.beta_ica import BetaICA
from latentbits.models.independent import IndependentBernoulli, RowColumnBernoulli
from latentbits.models.mixture import BernoulliMixture
from latentbits.models.view import n_agreeing
from latentbits.notes import Code, Note, Role
from latentbits.numerics import RandomSource, as_generator
from latentbits.plots import plot_comparison
from latentbits.sentences import sentence
from latentbits.tasks import trials
from latentbits.tasks.compare import Comparison, compare
from latentbits.tasks.select import check_orders

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPONENTS = (2, 3, 4, 5, 6)
"""The numbers that are tried if none are given."""

STARTS, TOL = 3, 1e-5
"""Restarts and tolerance of a fit that is only compared; the chosen model is fitted with its own."""

MORE, MOST_STARTS, STARTED_CELLS = 3, 90, 1_000_000
"""Restarts of the chosen model while no two end alike: so many times more, so many at most, of so many cells in all."""

MOST_CELLS = 200_000
"""Of a larger table, models are compared on a random part of the rows."""


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """Result of `choose`.

    Attributes
    ----------
    model : estimator
        What was chosen, fitted to all data.
    name : str
        What was chosen, as in the table: "BetaICA(3)".
    comparison : Comparison
        All candidates on the same held-out cells.
    n_rows : int
        Number of rows that they were compared on.
    note : Note
        Why it was chosen; `str` of the choice says it.

    Examples
    --------
    >>> from latentbits import choose, simulate
    >>> X = simulate.aspect_bernoulli(80, 15, 2, sharpness=0.1, random_state=0).X
    >>> found = choose(X, components=2, n_folds=3, random_state=0)
    >>> found.name, found.best_order
    ('BetaICA(2)', 2)
    """

    model: Any
    name: str
    comparison: Comparison
    n_rows: int
    note: Note

    @property
    def best_model(self) -> Any:
        """The same as `model`, by the name that `OrderSelection` has for it."""
        return self.model

    @property
    def best_order(self) -> int:
        """The number of components that was chosen; 1 for independent columns, and for rows and columns."""
        return len(self.model.components_)

    def plot(self) -> Figure:
        """Plot the scores of all candidates, fold by fold.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return plot_comparison(self.comparison)

    def __str__(self) -> str:
        return sentence(self.note)

    def __repr__(self) -> str:
        return f"ModelChoice({self.name})"

    def _repr_html_(self) -> str:
        table = self.comparison.table
        shown = ["model", "cells", "cells_se", "cells_behind", "auc"]
        return views.block(str(self), [], views.table(shown, table[shown].values.tolist()))


def choose(
    X: Any,
    models: Sequence[Any] | None = None,
    *,
    components: Iterable[int] | int = COMPONENTS,
    n_folds: int = 10,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ModelChoice:
    """Choose a model and its number of components by held-out cells, and fit it.

    All candidates predict the same held-out cells (see `compare`). Of those behind the best by at most one standard
    error of their difference over the folds, the ones with the fewest components are simplest, and the one of these
    that predicts best is chosen. Candidates without a number of components come before all others, in the order in
    which they are given. The chosen model is fitted to all data, on small tables from up to 90 starts, until two of
    them end at the best answer, so that it isn't an accident of the starts.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
        0-1 data. Of more than 200,000 cells, the models are compared on a random part of the rows.
    models : sequence of estimators or None, default=None
        What to choose among, each tried with all numbers of `components` if it has such a number. None stands for
        independent columns, rows and columns (`RowColumnBernoulli`), classes (`BernoulliMixture`) and aspects
        (`BetaICA`). Compared are shorter fits (3 restarts at most, a `tol` of at least 1e-5).
    components : iterable of int, or int, default=(2, 3, 4, 5, 6)
        Numbers of components to try.
    n_folds : int, default=10
        Number of parts of the cells, each of which is held out in turn.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds, and of the fits if a model has no `random_state` of its own.
    n_jobs : int or None, default=None
        Number of fits at the same time (threads): None means 1 unless a joblib context says otherwise, -1 means all
        cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Returns
    -------
    ModelChoice
        The fitted model, the comparison, and a sentence on why it was chosen; `analyse` takes it as it takes a model.

    Examples
    --------
    >>> from latentbits import choose, simulate
    >>> X = simulate.aspect_bernoulli(150, 20, 3, sharpness=0.1, random_state=0).X
    >>> found = choose(X, components=[2, 3], n_folds=3, random_state=0)
    >>> found.best_order
    3
    >>> print(found)  # doctest: +ELLIPSIS
    BetaICA with 3 components was chosen among 6 models: it predicts held-out cells best (log-likelihood per cell ...
    """
    seed, own_seed, sample_seed = as_generator(random_state).integers(2**31, size=3).tolist()
    candidates = _candidates(_known(models), check_orders(components))
    if not candidates:
        raise DataError("choose names no model; give some, or leave models out for the usual ones")
    data = trials.data_for(next(iter(candidates.values())), X)
    assert isinstance(data, BinaryData)  # `compare` refuses models of numbers
    part = _part(data, sample_seed)
    found = compare(
        {name: _made_short(model) for name, model in candidates.items()},
        part,
        criterion="cells",
        n_folds=n_folds,
        random_state=seed,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    name = _simplest(found, candidates)
    model = trials.prepared(candidates[name], own_seed)
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=n_jobs)
    return ModelChoice(
        _fitted(model, data),
        name,
        found,
        part.shape[0],
        _why(found, name, candidates, None if part is data else part.shape[0]),
    )


def _known(models: Sequence[Any] | None) -> Sequence[Any]:
    return [IndependentBernoulli(), RowColumnBernoulli(), BernoulliMixture(), BetaICA()] if models is None else models


def _candidates(models: Sequence[Any], numbers: list[int]) -> dict[str, Any]:
    """All that is compared, the simplest first, by the names of the table."""
    counted = [model for model in models if "n_components" in model.get_params(deep=False)]
    plain = {type(model).__name__: model for model in models if not any(model is one for one in counted)}
    return plain | {
        f"{type(model).__name__}({k})": clone(model).set_params(n_components=k) for k in numbers for model in counted
    }


def _part(data: BinaryData, seed: int) -> BinaryData:
    """As many rows, drawn at random, as there is room for."""
    n_rows, n_columns = data.shape
    most = max(1, MOST_CELLS // n_columns)
    if n_rows <= most:
        return data
    return data.rows(np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False)))


def _made_short(model: Any) -> Any:
    own = model.get_params(deep=False)
    shorter = {"n_init": min(own.get("n_init", STARTS), STARTS), "tol": max(own.get("tol", TOL), TOL)}
    return clone(model).set_params(**{name: value for name, value in shorter.items() if name in own})


def _simplest(found: Comparison, candidates: dict[str, Any]) -> str:
    """Of those that aren't behind the best by more than one standard error: the best with the fewest components."""
    table = found.table.set_index("model")
    near = [name for name in candidates if table["cells_behind"][name] <= table["cells_behind_se"][name]]
    plain = [name for name in near if _number(candidates[name]) == 0]
    if plain:
        return plain[0]
    fewest = min(_number(candidates[name]) for name in near)
    return max((name for name in near if _number(candidates[name]) == fewest), key=table["cells"].__getitem__)


def _number(model: Any) -> int:
    """Of components; 0 for models that have none."""
    return int(getattr(model, "n_components", 0))


def _fitted(model: Any, data: BinaryData) -> Any:
    """The model, fitted from more and more starts until two of them end at the best answer."""
    most = min(MOST_STARTS, STARTED_CELLS // (data.shape[0] * data.shape[1]))
    model.fit(data)
    climbs = Ability.RESTARTS in abilities_of(model) and getattr(model, "r_hat_", None) is None  # no chains of samples
    while climbs and n_agreeing(model) == 1 and MORE * model.n_init <= most:
        model.set_params(n_init=MORE * model.n_init).fit(data)  # the starts before are among these
    return model


def _why(found: Comparison, name: str, candidates: dict[str, Any], some_rows: int | None) -> Note:
    table = found.table.set_index("model")
    arguments = {
        "model": type(candidates[name]).__name__,
        "components": getattr(candidates[name], "n_components", None),
        "tried": len(candidates),
        "some_rows": some_rows,
        "score": float(table["cells"][name]),
        "simplest": next(iter(candidates)),
        "simplest_score": float(table["cells"][next(iter(candidates))]),
        "is_best": found.best == name,
        "at_the_end": _is_at_the_end(candidates, name),
    }
    return Note(Code.MODEL_CHOSEN, arguments, Role.LEAD)


def _is_at_the_end(candidates: dict[str, Any], name: str) -> bool:
    """Whether it has the largest of several numbers of components that were tried."""
    numbers = {getattr(model, "n_components", 1) for model in candidates.values()}
    return len(numbers) > 2 and getattr(candidates[name], "n_components", 1) == max(numbers)
