"""`read_table(..., like=...)`: another file, read as the one of a fit was read, with the columns of the fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from latentbits.data.messages import quoted
from latentbits.data.read_options import ReadOptions, checked_reading, reading_record
from latentbits.errors import DataError, UnknownColumnError, UselessOptionError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

Options = dict[str, Any]
_DISPENSABLE = {"exclude", "metadata"}
"""Options with names of columns that are no data: a file needn't have them."""


class FitReading(NamedTuple):
    """What a fit knows about reading: how its file was read, and the names of its columns; None where it doesn't."""

    reading: Options | None = None
    columns: list[str] | None = None

    @classmethod
    def of(cls, like: Any) -> FitReading:
        """What a model, the folder of a fit or a record says; anything else is refused."""
        if isinstance(like, FitReading):
            return like
        if isinstance(like, str | Path):
            from latentbits.storage.run_folder import RunFolder  # late, and upwards: only here a path stands for a fit

            run = RunFolder.open(like)
            return cls.of_model(model := run.load_model(), run.reading_of(model))
        if isinstance(like, Mapping):
            reading = checked_reading(dict(like))
            if reading is None:
                raise DataError("like: this is no record of reading; give that of a model (reading_) or BinaryData")
            return cls(reading)
        if not hasattr(like, "n_features_in_"):
            raise DataError("like must be a fitted model, the folder of a fit or a record of reading; give one of them")
        return cls.of_model(like, checked_reading(getattr(like, "reading_", None)))

    @classmethod
    def of_model(cls, model: Any, reading: Options | None) -> FitReading:
        """The record, and the columns of a fitted model."""
        names = getattr(model, "feature_names_in_", None)
        return cls(reading, None if names is None else [str(name) for name in names])


def read_like(read: Callable[[ReadOptions], BinaryData], file: str, given: Options, like: Any) -> BinaryData:
    """Read a file by the options that are given and those of a fit, if there is one; the data have the record."""
    reader = _Reader(read, file)
    return reader.read(given) if like is None else _LikeReader(reader, given, FitReading.of(like)).read()


@dataclass(frozen=True)
class _Reader:
    """A file, to be read with various options."""

    function: Callable[[ReadOptions], BinaryData]
    file: str

    def read(self, given: Options, **unrecorded: Any) -> BinaryData:
        data = self.function(ReadOptions.of({**given, **unrecorded}))
        return replace(data, reading=reading_record(ReadOptions.of(given), data))


@dataclass(frozen=True)
class _LikeReader:
    """One file, read with the options that are given and those of the fit, where none is given."""

    reader: _Reader
    given: Options
    fit: FitReading

    def read(self) -> BinaryData:
        """The data; with the columns of the fit in their order, if it knows their names."""
        names = self.fit.columns
        if names is None:
            return self._read_or_blame()
        file = self.reader.file
        if {**self._remembered, **self.given}.get("long") is not None:
            return _in_order_of(names, _completed(names, self._read_or_blame()), file)
        return _in_order_of(names, self._read_columns(names), file)

    @property
    def _remembered(self) -> Options:
        """The options of the fit that count. Its columns don't if their names are known: these are asked for anyway."""
        passed_over = {*self.given, *(["columns"] if self.fit.columns is not None else [])}
        return {name: value for name, value in (self.fit.reading or {}).items() if name not in passed_over}

    def _read_columns(self, names: list[str]) -> BinaryData:
        """The fit's columns of the file, unless the caller says which; other columns are passed over."""
        if self.given.get("columns") is not None:
            return self._read_or_blame()
        try:
            return self._attempt(self._remembered, columns=names)
        except DataError as error:
            # They aren't all there, or not by these names: if the whole file can be read, more can be said.
            has_names = not (isinstance(error, UselessOptionError) and error.option == "columns")
            return self._read_or_blame(error if has_names else None)

    def _read_or_blame(self, earlier: DataError | None = None) -> BinaryData:
        """All columns; if they can't be read, an error that names the options of the fit without which they could."""
        try:
            return self._attempt(self._remembered)
        except DataError as error:
            culprits = [name for name in self._remembered if self._can_be_read_without(name)]
            raise (_blaming(earlier or error, {name: self._remembered[name] for name in culprits})) from None

    def _can_be_read_without(self, option: str) -> bool:
        try:
            self._attempt({name: value for name, value in self._remembered.items() if name != option})
        except DataError:
            return False
        return True

    def _attempt(self, remembered: Options, **columns: list[str]) -> BinaryData:
        """Read; what the fit's options say about columns or formats that this file doesn't have doesn't count."""
        remembered = dict(remembered)
        while True:
            try:
                data = self.reader.read({**self.given, **remembered}, **columns)
                break
            except UnknownColumnError as error:
                if not _forget_column(remembered, error.column):
                    raise
            except UselessOptionError as error:
                if error.option not in remembered:
                    raise
                del remembered[error.option]
        if data.row_label in (self.fit.columns or []) and not {"row_labels"} & {*remembered, *self.given}:
            # What was data in the fit is no label, whatever its few values in this file look like.
            return self.reader.read({**self.given, **remembered, "row_labels": False}, **columns)
        return data


def _forget_column(remembered: Options, column: str) -> bool:
    """Take a column that isn't there out of the options that can do without it."""
    if remembered.get("row_labels") == column:
        del remembered["row_labels"]
        return True
    for option in _DISPENSABLE & remembered.keys():
        names = remembered.pop(option)
        names = [names] if isinstance(names, str) else names
        others = [name for name in names if name != column]
        if others:
            remembered[option] = others
        if others != names:
            return True
    return False


def _blaming(error: DataError, culprits: Options) -> DataError:
    """The error, and which options of the fit can be blamed for it."""
    if not culprits:
        return error
    spelled = " or ".join(f"{name}={value!r}" for name, value in culprits.items())
    valued = [name for name, value in culprits.items() if not isinstance(value, bool)]
    flags = " or ".join(f"{name} (--{name.replace('_', '-')})" for name in valued)
    anew = f"give another {flags}, or " if flags else ""
    return DataError(
        f"{error}; it was tried with {spelled} as for the fit: {anew}read the file by its own options "
        "(--read-afresh, or without like=)"
    )


def _completed(wanted: list[str], data: BinaryData) -> BinaryData:
    """Long data with the fit's columns: one that was not observed at all is 0, as every pair that doesn't occur."""
    import numpy as np

    where = {name: j for j, name in enumerate(data.column_names or [])}
    known = [name for name in wanted if name in where]
    if not known:
        return data
    lacking = [name for name in wanted if name not in where]
    cells = np.zeros((data.shape[0], len(wanted)), dtype=np.int8)
    cells[:, : len(known)] = data.dense()[:, [where[name] for name in known]]
    return replace(data, cells=cells, sparse=None, column_names=[*known, *lacking])


def _in_order_of(wanted: list[str], data: BinaryData, file: str) -> BinaryData:
    """The data with their columns in the fit's order; as they are if they have no names."""
    import numpy as np  # late: a file that is refused shouldn't wait for it

    if data.column_names is None or data.column_names == wanted:
        return data
    where = {name: j for j, name in enumerate(data.column_names)}
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
    return quoted(names[0]) + (f" (and {len(names) - 1} more)" if len(names) > 1 else "")
