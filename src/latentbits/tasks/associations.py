"""Which components go with which covariates, and how, after a fit that knew nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import rankdata

from latentbits.data.row_facts import RowFacts
from latentbits.errors import DataError
from latentbits.numerics import check_number
from latentbits.wording import place

__all__ = ["associations", "weights_over"]

N_FOLDS, LEAST_ROWS = 5, 10
PER_BIN, MOST_BINS = 15, 12
"""Rows of a bin of a number, and bins; a number with few values has one for each."""


def associations(weights: Any, rows: Any, *, level: float = 0.9) -> pd.DataFrame:
    """Which components go with which covariates: rank correlations with intervals, and skill on held-out rows.

    Parameters
    ----------
    weights : array-like of shape (n_rows, n_components)
        Of the rows, such as `model.weights_` or `model.transform(X)`.
    rows : data frame or RowFacts
        What is known of the rows, in the same order.
    level : float, default=0.9
        Confidence of each interval, between 0 and 1.

    Returns
    -------
    DataFrame
        A line for each component and numeric covariate, or category of another: component, covariate, category (empty
        for numbers), correlation (Spearman's; with the membership of a category), lower, upper, and skill: the share of
        the weight's variance that the covariate predicts in held-out rows (five folds; a parabola of a number, the
        means of categories), which is 0 or below where it predicts nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from latentbits import AspectBernoulli, associations
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(0, 10, 200)
    >>> X = (rng.random((200, 8)) < np.where(np.arange(8) < 4, age[:, None] / 10, 1 - age[:, None] / 10)).astype(int)
    >>> model = AspectBernoulli(2, n_init=3, random_state=0).fit(X)
    >>> found = associations(model.weights_, pd.DataFrame({"age": age}))
    >>> bool((found["correlation"].abs() > 0.5).all()), bool((found["skill"] > 0.3).all())
    (True, True)
    """
    W, facts = _checked(weights, rows, level)
    lines = [
        (k, name, category, *_correlation(W[kept, k], x, level), skill[k])
        for name, category, x, kept, skill in _described(W, facts)
        for k in range(W.shape[1])
    ]
    columns = ["component", "covariate", "category", "correlation", "lower", "upper", "skill"]
    return pd.DataFrame(lines, columns=columns).sort_values(["component", "covariate", "category"], ignore_index=True)


def weights_over(weights: Any, rows: Any, *, level: float = 0.9) -> pd.DataFrame:
    """The mean weight of each component along each covariate, with intervals, as `plots.plot_responses` draws it.

    Parameters
    ----------
    weights : array-like of shape (n_rows, n_components)
        Of the rows, such as `model.weights_` or `model.transform(X)`.
    rows : data frame or RowFacts
        What is known of the rows, in the same order.
    level : float, default=0.9
        Confidence of each interval of a mean, between 0 and 1.

    Returns
    -------
    DataFrame
        With the columns covariate, value (the mean of rows with similar numbers, or a category), column (the component,
        from 1), weight (the mean of these rows), lower and upper.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import weights_over
    >>> age = np.arange(60.0)
    >>> found = weights_over(np.column_stack([age / 60, 1 - age / 60]), {"age": age})
    >>> found.loc[found["column"] == "component 1", "weight"].round(2).tolist()
    [0.12, 0.37, 0.62, 0.87]
    """
    W, facts = _checked(weights, rows, level)
    wide, lines = ndtri((1 + level) / 2), []
    for name, values, kept in _bins(facts):
        for k, w in enumerate(W[kept].T):
            for value, own in values:
                mean, error = w[own].mean(), w[own].std(ddof=1) / np.sqrt(own.sum())
                lines.append((name, value, place("component", k), mean, mean - wide * error, mean + wide * error))
    columns = ["covariate", "value", "column", "weight", "lower", "upper"]
    return pd.DataFrame(lines, columns=columns).astype({"value": object})


def _bins(facts: RowFacts) -> Iterator[tuple[str, list[tuple[Any, np.ndarray]], np.ndarray]]:
    """Names, values with the rows that have them, and which rows have any; values of two rows at least."""
    for name, numbers in facts.numbers.items():
        kept = ~np.isnan(numbers)
        x = numbers[kept]
        different, n_bins = np.unique(x), min(MOST_BINS, len(x) // PER_BIN)
        if len(different) > MOST_BINS:
            different = np.unique(np.quantile(x, np.arange(1, max(n_bins, 1)) / max(n_bins, 1)))
        at = np.searchsorted(different, x)
        parts = [at == b for b in np.unique(at)]
        if len(parts) > 1:
            yield name, [(float(x[own].mean()), own) for own in parts if own.sum() > 1], kept
    for name, texts in facts.categories.items():
        kept = texts != ""
        levels, counts = np.unique(texts[kept].astype(str), return_counts=True)
        if 1 < len(levels) <= kept.sum() / 2:
            yield name, [(str(one), texts[kept] == one) for one in levels[counts > 1]], kept


def _checked(weights: Any, rows: Any, level: float) -> tuple[np.ndarray, RowFacts]:
    check_number("level", level, least=0, below=1, above=True)
    W, facts = np.asarray(weights, dtype=float), RowFacts.of(rows)
    if W.ndim != 2 or len(W) != len(facts):
        raise DataError(
            f"weights have the shape {W.shape}, and rows {len(facts)} lines; give a row of weights per line"
        )
    return W, facts


def _described(W: np.ndarray, facts: RowFacts) -> Iterator[tuple[str, str, np.ndarray, np.ndarray, np.ndarray]]:
    """Names, the values to correlate with, which rows have them, and the skill for each component."""
    for name, values in facts.numbers.items():
        kept = ~np.isnan(values)
        x = values[kept]
        if kept.sum() >= LEAST_ROWS and np.ptp(x) > 0:
            z = (x - x.mean()) / x.std()
            yield name, "", x, kept, _skill(W[kept], np.column_stack([np.ones_like(z), z, z**2]))
    for name, texts in facts.categories.items():
        kept = texts != ""
        levels = sorted(set(texts[kept]))
        if kept.sum() < LEAST_ROWS or not 1 < len(levels) <= kept.sum() / 2:
            continue
        members = np.stack([texts[kept] == one for one in levels], axis=1).astype(float)
        skill = _skill(W[kept], members)
        for at, one in enumerate(levels):
            yield name, one, members[:, at], kept, skill


def _correlation(w: np.ndarray, x: np.ndarray, level: float) -> tuple[float, float, float]:
    """Spearman's correlation with Fisher's interval, whose standard error is that of Bonett and Wright (2000)."""
    a, b = rankdata(w), rankdata(x)
    if np.ptp(a) == 0 or len(a) < 4:
        return 0.0, -1.0, 1.0
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -1 + 1e-12, 1 - 1e-12))
    error = ndtri((1 + level) / 2) * np.sqrt((1 + r**2 / 2) / (len(a) - 3))
    return r, float(np.tanh(np.arctanh(r) - error)), float(np.tanh(np.arctanh(r) + error))


def _skill(W: np.ndarray, F: np.ndarray) -> np.ndarray:
    """1 - squared error of held-out weights / that of the mean of the other rows, for each component."""
    fold = np.random.default_rng(0).permutation(len(W)) % N_FOLDS
    error, base = np.zeros(W.shape[1]), np.zeros(W.shape[1])
    for f in range(N_FOLDS):
        new, old = fold == f, fold != f
        coefficients = np.linalg.lstsq(F[old], W[old], rcond=None)[0]
        error += ((W[new] - F[new] @ coefficients) ** 2).sum(axis=0)
        base += ((W[new] - W[old].mean(axis=0)) ** 2).sum(axis=0)
    return np.where(base > 0, 1 - error / np.where(base > 0, base, 1), 0.0)
