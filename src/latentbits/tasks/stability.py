"""How far the best restarts of a fit agree about the components."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentbits.errors import DataError
from latentbits.models.abilities import Ability, abilities_of
from latentbits.numerics import Similarity, check_number, match_components


def component_stability(model: Any, *, top: int = 5) -> np.ndarray:
    """Stability of each component of a fitted model: how well the next best restarts reproduce it.

    Each of the `top` best restarts but the best is matched one to one with the best (Hungarian method). A component's
    stability is the mean similarity with its partners, on a scale where 1 is the same component and 0 is the mean
    similarity of two *different* components of these fits; below 0 it has no counterpart at all. (Unrelated components
    score somewhat above 0, up to about 0.3, because the matching takes the best of several partners.)

    Parameters
    ----------
    model : estimator
        A fitted model with `components_` (or a `mixing_`, whose columns are compared then), `restarts_` and
        `restart_components_`. With a single restart, or a single component, the stability is 1 by definition and says
        nothing.
    top : int, default=5
        Number of restarts to compare, the best included.

    Returns
    -------
    ndarray of shape (n_components,)
        The stability of each component.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, component_stability, simulate
    >>> truth = simulate.aspect_bernoulli(300, 30, 3, sharpness=0.1, concentration=0.2, random_state=0)
    >>> model = AspectBernoulli(3, n_init=5, random_state=0).fit(truth.X)
    >>> bool(component_stability(model).min() > 0.9)
    True
    """
    check_is_fitted(model)
    check_number("top", top, least=2, integer=True)
    best = _components(model)
    order = np.argsort(-model.restarts_["objective"].to_numpy(), kind="stable")[1:top]
    others = [model.restart_components_[run] for run in order]
    if not others or len(best) < 2:
        return np.ones(len(best))
    metric: Similarity = getattr(model, "similarity_", "cosine")
    alike, unlike = [], []
    for other in others:
        if metric == "cosine":  # a direction and its opposite are the same component
            other = _turned(best, other)
        matched = match_components(best, other, metric=metric)
        gone = ~best.any(axis=1) & ~other[matched.order].any(axis=1)  # zero in both: the same, but cosine gives 0
        alike.append(np.where(gone, 1.0, matched.similarity))
        for k in range(len(best)):
            rest = np.delete(matched.order, k)
            unlike.append(_similarities(best[k], other[rest[rest >= 0]], metric))
    chance = float(np.mean(np.concatenate(unlike)))
    room = 1.0 - chance
    if room <= 1e-9:  # all components are the same
        return np.ones(len(best))
    return (np.mean(alike, axis=0) - chance) / room


def _components(model: Any) -> np.ndarray:
    """The components of the best restart, as rows; those of a model of sources are the columns of its mixing."""
    if getattr(model, "restart_components_", None) is None:
        raise DataError(f"{type(model).__name__} {_why_not(abilities_of(model))}")
    return np.asarray(model.components_ if Ability.COMPONENTS in abilities_of(model) else model.mixing_.T)


def _why_not(abilities: frozenset[Ability]) -> str:
    """Why a model has no components of its restarts, and what to do."""
    if Ability.RESTART_COMPONENTS in abilities:
        return "was stored by an older version, without the components of its restarts; fit it again"
    if Ability.CLUSTERS in abilities:
        return (
            "has restarts that end with different numbers of clusters, which can't be matched; fit it with several "
            "seeds and compare labels_ by sklearn.metrics.adjusted_rand_score"
        )
    if Ability.FIND_NUMBER in abilities:
        return (
            "has restarts that end with different numbers of components, which can't be matched; restarts_ has them, "
            "and how far each restart came"
        )
    return "has no components that restarts could reproduce; give a model such as AspectBernoulli or BinaryICA"


def _turned(best: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Each row of `other` with the sign by which it is most like some row of `best`."""
    cosine = best @ other.T
    nearest = np.abs(cosine).argmax(axis=0)
    sign = np.sign(cosine[nearest, np.arange(len(other))])
    return other * np.where(sign == 0, 1.0, sign)[:, None]


def _similarities(row: np.ndarray, rows: np.ndarray, metric: Similarity) -> np.ndarray:
    return np.array([match_components(row[None], other[None], metric=metric).similarity[0] for other in rows])
