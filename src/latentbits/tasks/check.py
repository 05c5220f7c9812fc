"""How well a list of suspects would find ones of the user's own table, if these had been missed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from latentbits import views
from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.workers import run_all
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.base import check_estimator
from latentbits.models.false_zeros.ensemble import FalseZeros
from latentbits.notes import Code, Note, Role
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.plots import plot_check
from latentbits.sentences import sentence
from latentbits.tasks import trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = (20, 50, 100)
"""Lengths of the list at which precision is told, as far as so many ones were knocked out."""

LEAST = 20
"""Ones to knock out, where a tenth would be fewer and half of the ones are enough."""

N_STEPS = 60
"""Points of a curve, at most."""


@dataclass(frozen=True, eq=False)
class Check:
    """Result of `check`.

    Attributes
    ----------
    table : DataFrame
        For the first 20, 50 and 100 suspects (as far as so many ones were knocked out) and for as many as were knocked
        out: how many of them are knocked-out ones ("found", mean over the repeats, with its standard deviation),
        "precision", "recall", and how many there are "by_columns" (zeros ranked by their columns' shares of ones) and
        "by_chance".
    curves : DataFrame
        For each repeat and length of the list ("first") the same three counts.
    n_knocked_out : int
        How many ones were knocked out in each repeat.
    n_zeros : int
        How many zeros were ranked with them.
    note : Note
        The finding; `str` says it.

    Examples
    --------
    >>> from latentbits import FalseZeros, check, simulate
    >>> X = simulate.aspect_bernoulli(60, 20, 2, sharpness=0.1, random_state=0).X
    >>> found = check(X, FalseZeros(n_folds=None, members=["aspects_2"]), n_repeats=2, random_state=0)
    >>> found.n_knocked_out, found.table["first"].tolist()
    (62, [20, 50, 62])
    """

    table: pd.DataFrame
    curves: pd.DataFrame
    n_knocked_out: int
    n_zeros: int
    note: Note

    def plot(self) -> Figure:
        """Plot how many knocked-out ones a list finds, by its length.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return plot_check(self)

    def __str__(self) -> str:
        return sentence(self.note)

    def __repr__(self) -> str:
        return f"Check({self.n_knocked_out} ones knocked out, {self.n_zeros} zeros)"

    def _repr_html_(self) -> str:
        return views.block(str(self), [], views.table(list(self.table.columns), self.table.values.tolist()))


def check(
    X: Any,
    model: Any = None,
    *,
    n_knocked_out: int | None = None,
    n_repeats: int = 3,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Check:
    """Knock known ones out of a table, rank its zeros, and see how many of the first suspects are those.

    The ones are drawn at random, each with the same probability, and set to 0; the model sees the table without them,
    and nothing else. Zeros that really hide a 1 count as mistakes here, so precision is too low rather than too high.
    Ones that are really missed may be harder to find than those drawn at random.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
        0-1 data.
    model : estimator or None, default=None
        Not changed; clones of it are fitted. Any that ranks cells; None means `FalseZeros`.
    n_knocked_out : int or None, default=None
        How many ones to knock out. None: a tenth of them, but at least 20 (of fewer than 40 ones, half of them).
    n_repeats : int, default=3
        How many times, each with other ones.
    random_state : int, Generator, RandomState or None, default=None
        Seed of what is knocked out, and of the fits.
    n_jobs : int or None, default=None
        Number of fits at the same time (threads): None means 1 unless a joblib context says otherwise, -1 means all
        cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Returns
    -------
    Check
        Precision and recall beside those by column frequencies and by chance, in a sentence, a table and a plot.

    Examples
    --------
    >>> from latentbits import check, simulate
    >>> X = simulate.aspect_bernoulli(60, 20, 2, sharpness=0.1, random_state=0).X
    >>> found = check(X, n_repeats=2, random_state=0)
    >>> str(found).partition(" of the first ")[2][:46]
    '20 suspects are ones that had been knocked out'
    """
    model = FalseZeros() if model is None else model
    check_estimator(model)
    if Ability.RANK_CELLS not in abilities_of(model):
        raise DataError(f"{type(model).__name__} ranks no cells; give FalseZeros(), or another model of 0-1 tables")
    check_number("n_repeats", n_repeats, least=1, integer=True)
    data = trials.data_for(model, X)
    assert isinstance(data, BinaryData)  # models that rank cells read 0-1 data
    cells = data.dense()
    n = _number(cells, n_knocked_out)
    rng = as_generator(random_state)
    seeds = [rng.integers(2**31, size=2).tolist() for _ in range(n_repeats)]
    jobs = [partial(_repeat, model, data, n, *pair) for pair in seeds]
    curves = run_all(jobs, title="Checking", n_jobs=n_jobs, verbose=bool(verbose))
    found = pd.concat([curve.assign(repeat=r) for r, curve in enumerate(curves)], ignore_index=True)
    found = found[["repeat", "first", "found", "by_columns", "by_chance"]]
    table, n_zeros = _table(found, n), int((cells == 0).sum())
    return Check(table, found, n, n_zeros, _note(type(model).__name__, table, found, n))


def _number(cells: np.ndarray, wanted: int | None) -> int:
    """How many ones to knock out; tables with too few ones or zeros for that are refused."""
    n_ones, n_zeros = int((cells == 1).sum()), int((cells == 0).sum())
    if n_ones < 2:
        raise DataError(f"there {'is one 1' if n_ones else 'is no 1'} in the table; check knocks ones out, and needs 2")
    if n_zeros == 0:
        raise DataError("every observed cell is a 1; check ranks zeros, so give a table that has some")
    if wanted is None:
        return min(max(round(n_ones / 10), LEAST), n_ones // 2)
    check_number("n_knocked_out", wanted, least=1, integer=True)
    if wanted >= n_ones:
        raise DataError(f"n_knocked_out={wanted} must be less than the number of ones, {n_ones}")
    return wanted


def _repeat(model: Any, data: BinaryData, n: int, seed: int, fit_seed: int) -> pd.DataFrame:
    """What lists of all lengths find of the ones that this seed knocks out."""
    cells = data.dense().copy()
    ones = np.flatnonzero(cells == 1)
    cells.flat[np.random.default_rng(seed).choice(ones, n, replace=False)] = 0
    # Marks are left behind: what somebody has looked up would tell which of the new zeros are false.
    seen = BinaryData(cells, facts=data.facts)
    zero = cells == 0
    is_knocked_out = data.dense()[zero] == 1
    frequency = seen.ones_per_column() / np.maximum(seen.observed_per_column(), 1)
    fitted = trials.prepared(model, fit_seed).fit(seen)
    scores = {
        "found": fitted.suspicion(seen, kind="absence")[zero],
        "by_columns": np.broadcast_to(frequency, cells.shape)[zero],
        "by_chance": np.zeros(len(is_knocked_out)),
    }
    first = _lengths(n)
    return pd.DataFrame({"first": first} | {how: _found(score, is_knocked_out, first) for how, score in scores.items()})


def _lengths(n: int) -> np.ndarray:
    """Lengths of the list, up to as many as were knocked out."""
    steps = np.linspace(1, n, min(n, N_STEPS)).round().astype(int)
    return np.union1d(steps, [k for k in FIRST if k <= n])


def _found(scores: np.ndarray, is_sought: np.ndarray, first: np.ndarray) -> np.ndarray:
    """How many of the first suspects are sought; of equal scores any order is as likely.

    Examples
    --------
    >>> _found(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]), np.array([1, 2, 3]))
    array([1. , 1.5, 2. ])
    """
    values, place = np.unique(-scores, return_inverse=True)
    size, hits = np.bincount(place), np.bincount(place, is_sought, minlength=len(values))
    return np.interp(first, np.concatenate([[0], np.cumsum(size)]), np.concatenate([[0.0], np.cumsum(hits)]))


def _table(curves: pd.DataFrame, n: int) -> pd.DataFrame:
    by_length = curves.groupby("first")
    mean, spread = by_length.mean(), by_length["found"].std(ddof=1).fillna(0.0)
    first = sorted({*(k for k in FIRST if k <= n), n})
    table = mean.loc[first, ["found"]].assign(found_sd=spread[first])
    table["precision"] = table["found"] / table.index
    table["recall"] = table["found"] / n
    return table.join(mean[["by_columns", "by_chance"]]).reset_index()


def _note(ranked_by: str, table: pd.DataFrame, curves: pd.DataFrame, n: int) -> Note:
    shortest = table.iloc[0]
    of_length = curves[curves["first"] == shortest["first"]]
    found = of_length["found"]
    arguments = {
        "ranked_by": ranked_by,
        "first": int(shortest["first"]),
        **{how: float(shortest[how]) for how in ("found", "by_columns", "by_chance")},
        "least": float(found.min()),
        "most": float(found.max()),
        "repeats_ahead": int((found > of_length["by_columns"]).sum()),
        "knocked_out": n,
        "repeats": len(found),
    }
    return Note(Code.CHECKED, arguments, Role.LEAD)
