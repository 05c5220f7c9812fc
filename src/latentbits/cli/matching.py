"""A fitted model and a file of new rows, brought together: columns are matched by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbits.cli.options import Values, read
from latentbits.errors import DataError
from latentbits.findings.results import harmless

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

__all__ = ["refuse_without_phantoms", "rows_for"]


def refuse_without_phantoms(model: Any, place: Path) -> None:
    """Refuse a model that isn't of the aspect family."""
    if not hasattr(model, "suspects"):
        raise DataError(
            f"{place}: {type(model).__name__} knows no phantoms, by which cells are cleaned, suspected, explained and "
            "components rated; fit --model aspect-bernoulli or beta-ica"
        )


def rows_for(model: Any, file: Path, reading: Values) -> BinaryData:
    """The file's data with the model's columns."""
    names = getattr(model, "feature_names_in_", None)
    return _matched(_read_for(names, file, reading), names, file.name)


def _read_for(names: Any, file: Path, reading: Values) -> BinaryData:
    """The file's data; of a file that has the model's columns only those, unless the user says which."""
    if names is None or reading["columns"] or reading["exclude"]:
        return read(file, reading)
    try:
        return read(file, {**reading, "columns": tuple(names)})
    except DataError as error:
        try:  # they aren't all there: if the whole file can be read, more can be said about what is
            return read(file, reading)
        except DataError:
            raise error from None


def _matched(data: BinaryData, wanted: Any, file: str) -> BinaryData:
    """The data with their columns in the model's order; by position if either has no names."""
    import numpy as np

    from latentbits.data.messages import quoted

    if wanted is None or data.column_names is None or data.column_names == list(wanted):
        return data
    written = {str(harmless(name)): name for name in wanted}  # a file of ours may have an apostrophe before a name
    own = [written.get(name, name) for name in data.column_names]
    where = {name: j for j, name in enumerate(own)}
    lacking = [name for name in wanted if name not in where]
    extra = sorted(set(where) - set(wanted), key=where.__getitem__)
    if lacking:
        raise DataError(f"{file}: there is no column {_listed(lacking)}, which the model was fitted on; add it")
    if extra:
        flag = f"--exclude {quoted(extra[0])}"
        raise DataError(f"{file}: the model doesn't know the column {_listed(extra)}; use {flag} to leave it out")
    cells = np.ascontiguousarray(data.dense()[:, [where[name] for name in wanted]])
    return replace(data, cells=cells, sparse=None, column_names=list(wanted))


def _listed(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    from latentbits.data.messages import quoted

    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return quoted(names[0]) + more
