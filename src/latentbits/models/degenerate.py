"""Tables that leave nothing to be learned, or fewer causes than are asked for: one sentence each, with the way out."""

from __future__ import annotations

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import quoted
from latentbits.wording import counted, place

__all__ = ["degeneracy"]


def degeneracy(data: BinaryData, n_components: int | None) -> str:
    """Why a model of this table says little or nothing, in one sentence; empty if there is no such reason.

    Constant columns alone are no reason: they are usual (border pixels, species that a region lacks) and do no harm.
    """
    ones, seen = data.ones_per_column(), data.observed_per_column()
    varying = np.flatnonzero((ones > 0) & (ones < seen))
    if len(varying) == 0:
        return _without_variation(data)
    if len(varying) == 1:
        name = data.column_names[varying[0]] if data.column_names else None
        which = place("column", int(varying[0])) if name is None else f"the column {quoted(name)}"
        return f"only {which} has both a 0 and a 1, so no columns can go together; give a table with more such columns"
    most = min(data.shape[0], len(varying))
    if n_components is not None and n_components > most:
        few_rows = most == data.shape[0]
        what = counted(most, "row") if few_rows else f"{counted(most, 'column')} that have both a 0 and a 1"
        return (
            f"n_components={n_components} (--components) is more than the {what}, so some components are copies or "
            f"accidents; use at most {most}"
        )
    return ""


def _without_variation(data: BinaryData) -> str:
    cells = counted(data.n_observed, "observed cell")
    if data.n_ones in (0, data.n_observed):
        value = int(data.n_ones > 0)
        which = f"all {cells} are {value}" if data.n_observed > 1 else f"the only observed cell is {value}"
        return f"{which}, so there is nothing to learn; check how the data were read, or give a table with 0 and 1"
    if data.shape[0] == 1:
        return "the table has one row, so nothing tells which columns go together; give more rows"
    return "all rows are alike: no column has both a 0 and a 1, so there is nothing to learn; give rows that differ"
