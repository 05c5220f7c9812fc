"""What a notebook shows of a model: what it was fitted to, what it has found, how sure that is, and its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from latentbits import sentences, views
from latentbits.wording import place

MOST_ROWS = 12
"""Components in the table."""

N_NAMES = 5
"""Columns that a component is told by."""

AGREEMENT = 1e-4
"""Relative distance from the best objective within which a restart agrees with it."""


class ShownModel(BaseEstimator):
    """An estimator that a notebook shows with what it has found; unfitted, as scikit-learn does."""

    def _html_repr(self) -> str:
        inner: str = super()._html_repr()
        try:
            check_is_fitted(self)
        except Exception:  # scikit-learn's NotFittedError, or a class of the user's that can't be asked
            return inner
        folded = f"<details><summary>parameters</summary>{inner}</details>"
        return views.block(_title(self), list(_lines(self)), _content(self), folded)


def n_agreeing(model: Any) -> int:
    """How many restarts came as far as the best."""
    best = model.objective_
    return int((best - model.restarts_["objective"] <= AGREEMENT * abs(best)).sum())


def n_rows(model: Any) -> int | None:
    """How many rows it was fitted to: as it says, or as many as there are weights or labels; None if nothing tells."""
    if hasattr(model, "n_rows_"):
        return int(model.n_rows_)
    of_rows = getattr(model, "weights_", getattr(model, "labels_", None))
    return None if of_rows is None or hasattr(model, "members_") else len(of_rows)


def largest_r_hat(model: Any) -> float:
    """The largest R-hat of all that was sampled."""
    return max(float(np.max(values)) for values in model.r_hat_.values())


def _title(model: Any) -> str:
    return sentences.fitted_to(type(model).__name__, n_rows(model), getattr(model, "n_features_in_", None))


def _lines(model: Any) -> Iterator[str]:
    if hasattr(model, "restarts_") and len(model.restarts_) > 1 and hasattr(model, "objective_"):
        yield sentences.restarts(len(model.restarts_), n_agreeing(model))
    if getattr(model, "r_hat_", None) is not None:
        yield sentences.largest_r_hat(largest_r_hat(model))
    gains = getattr(model, "gains_", None)
    if gains:
        yield sentences.gained(min(gain["z"] for gain in gains.values()))


def _content(model: Any) -> str:
    """A table of what was found, by what the model has."""
    if hasattr(model, "members_"):
        rows = sorted(zip(model.members_, model.member_weights_, strict=True), key=lambda pair: -pair[1])
        return views.table(["member", "weight"], [[name, views.Bar(weight)] for name, weight in rows])
    components = getattr(model, "components_", None)
    if isinstance(components, np.ndarray) and components.ndim == 2 and len(components):
        return _component_table(model, components)
    return ""


def _component_table(model: Any, components: np.ndarray) -> str:
    """Components, the largest first, each told by the columns in which it differs most from all others."""
    shares = getattr(model, "shares_", getattr(model, "proportions_", None))
    kinds = getattr(model, "phantoms_", None)
    order = np.arange(len(components)) if shares is None else np.argsort(-np.asarray(shares), kind="stable")
    names = getattr(model, "feature_names_in_", None)
    names = [place("column", j) for j in range(components.shape[1])] if names is None else list(map(str, names))
    apart = components - components.mean(axis=0)
    rows = []
    for k in order[:MOST_ROWS]:
        told = [names[j] for j in np.argsort(-apart[k], kind="stable")[:N_NAMES]]
        rows.append(
            [
                int(k) + 1,
                *([] if shares is None else [views.Bar(shares[k])]),
                *([] if kinds is None else [kinds[k]]),
                ", ".join(told),
            ]
        )
    header = ["component", *([] if shares is None else ["share"]), *([] if kinds is None else ["kind"]), "told by"]
    return views.table(header, rows, more=len(components) - MOST_ROWS)
