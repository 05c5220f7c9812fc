"""Attributes of fitted models that the figures read, with defaults for models that lack them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latentbits.plots.style import KINDS
from latentbits.wording import place

__all__ = ["attribute", "components_of", "kinds_of", "names_of", "shares_of", "titles_of"]

Floats = NDArray[np.float64]


def attribute(model: Any, name: str) -> Any:
    """Return an attribute of a fitted model, or raise an error that names it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> attribute(SimpleNamespace(), "weights_")
    Traceback (most recent call last):
    AttributeError: SimpleNamespace has no weights_; give a fitted model that has it.
    """
    try:
        return getattr(model, name)
    except AttributeError:
        raise AttributeError(f"{type(model).__name__} has no {name}; give a fitted model that has it.") from None


def components_of(model: Any) -> Floats:
    """Return the components (K x D), which have to be probabilities.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> components_of(SimpleNamespace(components_=[[0, 0.5]]))
    array([[0. , 0.5]])
    """
    components = np.asarray(attribute(model, "components_"), dtype=float)
    if not np.all((components >= 0) & (components <= 1)):
        raise ValueError("components_ holds values outside 0 .. 1; only components of probabilities can be drawn.")
    return components


def kinds_of(model: Any, n_components: int) -> list[str]:
    """Return "content", "white", "black" or "extinct" for each component; all "content" for a model without phantoms.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> kinds_of(SimpleNamespace(), 2)
    ['content', 'content']
    """
    phantoms = getattr(model, "phantoms_", None)
    return ["content"] * n_components if phantoms is None else [str(kind) for kind in phantoms]


def shares_of(model: Any) -> Floats | None:
    """Return each component's share of the data, the rows' mean weight; None where weights of a row don't sum to 1.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> shares_of(SimpleNamespace(weights_=[[1, 0], [0.5, 0.5]]))
    array([0.75, 0.25])
    >>> shares_of(SimpleNamespace(weights_=[[20.0, 3.0]])) is None
    True
    """
    weights = np.asarray(getattr(model, "weights_", [[]]), dtype=float)
    if not np.allclose(weights.sum(axis=1), 1):
        return None
    return np.average(weights, axis=0, weights=getattr(model, "row_weight_", None))


def titles_of(model: Any, n_components: int, separator: str = ", ") -> list[str]:
    """Return a title for each component: its number, its share of the data, and which phantom it is.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> titles_of(SimpleNamespace(weights_=[[0.7, 0.3]], phantoms_=["content", "white"]), 2)
    ['component 0, 70 % of the data', 'component 1, 30 % of the data\\nwhite phantom']
    """
    shares = shares_of(model)
    titles = [f"component {k}" for k in range(n_components)]
    if shares is not None:
        titles = [
            f"{title}{separator}{_percent(share)} of the data" for title, share in zip(titles, shares, strict=True)
        ]
    kinds = kinds_of(model, n_components)
    return [f"{title}\n{KINDS[kind].words}".rstrip() for title, kind in zip(titles, kinds, strict=True)]


def _percent(share: float) -> str:
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def names_of(model: Any, names: Sequence[object] | None, n_columns: int) -> list[str]:
    """Return the names of the columns: those given, else those of the fit, else their numbers.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> names_of(SimpleNamespace(), None, 2)
    ['column 1', 'column 2']
    """
    found = getattr(model, "feature_names_in_", None) if names is None else names
    if found is None:
        return [place("column", j) for j in range(n_columns)]
    if len(found) != n_columns:
        raise ValueError(f"names has {len(found)} entries; give one for each of {n_columns} columns.")
    return [str(name) for name in found]
