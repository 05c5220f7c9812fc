"""Which components go with which covariates, after a fit that knew nothing of them."""

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

__all__ = ["associations"]

N_FOLDS, LEAST_ROWS = 5, 10


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
    check_number("level", level, least=0, below=1, above=True)
    W, facts = np.asarray(weights, dtype=float), RowFacts.of(rows)
    if W.ndim != 2 or len(W) != len(facts):
        raise DataError(
            f"weights have the shape {W.shape}, and rows {len(facts)} lines; give a row of weights per line"
        )
    lines = [
        (k, name, category, *_correlation(W[kept, k], x, level), skill[k])
        for name, category, x, kept, skill in _described(W, facts)
        for k in range(W.shape[1])
    ]
    columns = ["component", "covariate", "category", "correlation", "lower", "upper", "skill"]
    return pd.DataFrame(lines, columns=columns).sort_values(["component", "covariate", "category"], ignore_index=True)


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
