"""A fitted model and a file of rows for it, opened together: columns are matched by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbits.cli.options.click_helpers import Values
from latentbits.cli.options.reading import check_file, read
from latentbits.cli.output_file import check_target
from latentbits.errors import DataError
from latentbits.files import escape_formula
from latentbits.run_folder import RunFolder

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

__all__ = ["open_model_and_rows", "refuse_without_phantoms", "rows_for"]


def open_model_and_rows(
    fitted: Path, file: Path, reading: Values, *, out: Path | None, force: bool
) -> tuple[Any, BinaryData]:
    """A model that knows phantoms, and the file's rows for it.

    What needs no reading is refused first: a path that isn't there, and an `out` that may not be written.
    """
    run = RunFolder.open(fitted)
    check_file(file)
    if out is not None:
        check_target(out, force=force)
    model = run.load_model()
    refuse_without_phantoms(model, fitted)
    return model, rows_for(model, file, reading)


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
    if names is None:
        return read(file, reading)
    return _in_order_of(list(names), _read_columns(names, file, reading), file.name)


def _read_columns(names: Sequence[str], file: Path, reading: Values) -> BinaryData:
    """The file's data; of a file that has the model's columns only those, unless the user says which."""
    if reading["columns"] or reading["exclude"]:
        return read(file, reading)
    try:
        return read(file, {**reading, "columns": tuple(names)})
    except DataError as error:
        try:  # they aren't all there: if the whole file can be read, more can be said about what is
            return read(file, reading)
        except DataError:
            raise error from None


def _in_order_of(wanted: list[str], data: BinaryData, file: str) -> BinaryData:
    """The data with their columns in the model's order; as they are if they have no names."""
    import numpy as np

    from latentbits.data.messages import quoted

    if data.column_names is None or data.column_names == wanted:
        return data
    written = {str(escape_formula(name)): name for name in wanted}  # a file of ours may have an apostrophe in front
    where = {written.get(name, name): j for j, name in enumerate(data.column_names)}
    lacking = [name for name in wanted if name not in where]
    extra = sorted(set(where) - set(wanted), key=where.__getitem__)
    if lacking:
        raise DataError(f"{file}: there is no column {_listed(lacking)}, which the model was fitted on; add it")
    if extra:
        flag = f"--exclude {quoted(extra[0])}"
        raise DataError(f"{file}: the model doesn't know the column {_listed(extra)}; use {flag} to leave it out")
    cells = np.ascontiguousarray(data.dense()[:, [where[name] for name in wanted]])
    return replace(data, cells=cells, sparse=None, column_names=wanted)


def _listed(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    from latentbits.data.messages import quoted

    return quoted(names[0]) + (f" (and {len(names) - 1} more)" if len(names) > 1 else "")
