"""What a fit of binary ICA refuses or warns about: sizes, columns, and strengths that the data can't tell."""

from __future__ import annotations

import warnings

import numpy as np

from latentbits.correlations.parallel_analysis import average_correlations
from latentbits.correlations.tetrachoric import Tetrachoric
from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import SHOWN, quoted
from latentbits.errors import DataError
from latentbits.models.binary_ica.identifiability import identifiability, rows_needed
from latentbits.models.binary_ica.parameters import LINK, Parameters
from latentbits.wording import counted, place

__all__ = ["check_size", "column_names", "warn_about_copies", "warn_about_size", "warn_about_strength"]

RUNAWAY = 60.0
"""c times an entry of the mixing, from which cells are practically a function of the source: two such columns have a
correlation above 0.9997, and no table tells that from 1."""

COPIES = 0.98
"""A correlation, on average over segments, from which columns are almost copies: 95 % of equal cells have 0.988."""


def column_names(data: BinaryData, *, quote: bool = True) -> list[str]:
    """The names of the columns, in quotes for a sentence; "column 3" if they have none."""
    if data.column_names is None:
        return [place("column", j) for j in range(data.shape[1])]
    return [quoted(name) for name in data.column_names] if quote else list(data.column_names)


def check_size(data: BinaryData, n_components: int | None) -> None:
    """Refuse one column, and more sources than columns."""
    n = data.shape[1]
    if n == 1:
        raise DataError("X has 1 feature(s), and what goes together needs two columns at least; give more columns")
    if n_components is not None and n_components > n:
        raise DataError(
            f"n_components={n_components} (--components) is more than the {counted(n, 'column')}, and binary ICA finds "
            f"at most as many sources as columns; use at most {n}"
        )


def warn_about_size(n: int, m: int, U: int, rows: float, *, stacklevel: int) -> None:
    """Warn if there are too few rows, columns or segments for so many sources."""
    if rows < rows_needed(n, m):
        warnings.warn(
            f"{counted(U, 'segment')} with {rows:.1f} rows each on average are too few for {counted(m, 'source')} of "
            f"{counted(n, 'column')}, which take about {rows_needed(n, m)} rows a segment; use fewer segments or "
            "sources",
            stacklevel=stacklevel,
        )
    if n == 2:
        reason = "with two columns the order of its rows is not identifiable; use more columns"
    elif U == 1 and m > 1:
        reason = "one segment does not identify the sources' rotation; give segments between which they change"
    elif identifiability(n, m, U) < 0:
        reason = f"{n} columns in {U} segments are few for {counted(m, 'source')}; use more of these, or fewer sources"
    else:
        return
    warnings.warn(f"mixing_ may be one of many that fit equally well: {reason}", stacklevel=stacklevel)


def warn_about_copies(found: Tetrachoric, names: list[str], *, stacklevel: int) -> None:
    """Warn about columns that are almost copies of each other or of each other's opposite.

    A source of their own explains them best, and the mixing of all other columns suffers.
    """
    C, _ = average_correlations(found)
    copies = np.argwhere(np.triu(np.abs(C) > COPIES, 1))
    if len(copies) == 0:
        return
    listed = ", ".join(f"{names[i]} and {names[j]}" for i, j in copies[:SHOWN])
    more = f" and {len(copies) - SHOWN} more" if len(copies) > SHOWN else ""
    warnings.warn(
        f"almost copies of each other, or of each other's opposite: {listed}{more}, with correlations above {COPIES}, "
        "which draw sources to themselves; leave one of each out",
        stacklevel=stacklevel,
    )


def warn_about_strength(parameters: Parameters, names: list[str], *, stacklevel: int) -> None:
    """Warn about entries of the mixing so large that the data can't tell them from infinite ones."""
    size = LINK * np.abs(parameters.mixing)
    if size.max(initial=0.0) < RUNAWAY:
        return
    i, k = np.unravel_index(int(size.argmax()), size.shape)
    warnings.warn(
        f"an entry of mixing_ is {parameters.mixing[i, k]:.0f} ({names[i]}, source {k}), where cells are practically a "
        "function of the source and the data can't tell its size; raise prior (with shrinkage='matched'), or leave out "
        "columns that are almost copies",
        stacklevel=stacklevel,
    )
