"""How a file is read: every option once, with its type, its default, its help and the formats that take it.

The signature of `read_table`, the options of the command line, the record that is kept of a reading and the checks of a
stored record are made from `ReadOptions`; which reader a file needs, and which options it takes, stands in `FORMATS`.
`FitReading` reads a file like that of a fit.
"""

from __future__ import annotations

import inspect
import json
import math
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from latentbits.data.codes import MISSING
from latentbits.data.messages import Origin, quoted
from latentbits.data.messages import option as spelled
from latentbits.errors import DataError, UnknownColumnError, UselessOptionError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

TEXT, COLUMNS, ARRAYS, SHEETS = "text", "columns", "arrays", "sheets"
_APPLIES = {
    TEXT: "to delimited text, not to .{} files",
    COLUMNS: "to files with column names, not to .{} files",
    ARRAYS: "to .npz files",
    SHEETS: "to .xlsx files",
}
"""What options are about, which not every format has; in an error message with the extension of a file without it."""


class Format(NamedTuple):
    """A format of files.

    Attributes
    ----------
    reader : str
        Module and name of a callable that takes (file, extension, ReadOptions, Origin); the module is imported when a
        file needs it. What it makes has the methods `read` and, if the format has columns, `collect` of `WideTable`.
    has : frozenset of str
        What it has of TEXT, COLUMNS, ARRAYS and SHEETS: options about anything else are refused.
    row : str
        What a row is called in error messages.
    """

    reader: str
    has: frozenset[str] = frozenset()
    row: str = "line"


_MATRIX = Format("matrix_files:MatrixFile")
_TYPED = Format("typed_tables:open_typed", frozenset({COLUMNS}), "row")
_SHEET = Format("text_reader:open_sheet", frozenset({COLUMNS, SHEETS}), "row")
DELIMITED = Format("text_reader:open_text", frozenset({COLUMNS, TEXT}))
"""The format of all files with other extensions."""

FORMATS = {
    "npz": _MATRIX._replace(has=frozenset({ARRAYS})),
    "npy": _MATRIX,
    "mtx": _MATRIX,
    "parquet": _TYPED,
    "feather": _TYPED,
    "arrow": _TYPED,
    "xlsx": _SHEET,
    "xlsm": _SHEET,
}
"""By the extension of the file, in lower case and without that of gzip."""

NOT_READ = {
    "xls": "save it as .xlsx or CSV",
    "xlsb": "save it as .xlsx or CSV",
    "ods": "save it as .xlsx or CSV",
    "rds": "use write.csv in R",
    "rda": "use write.csv in R",
    "rdata": "use write.csv in R",
    "sav": "save it as CSV",
    "dta": "save it as CSV",
}
"""Formats that are not read, and what to do about them."""


class Flag(NamedTuple):
    """What the command line and the readers know of an option, beside its type and default."""

    help: str
    metavar: str | None = None
    about: str | None = None
    of_numbers: bool = False
    help_of_no: str = ""
    choices: tuple[str, ...] = ()
    commas: bool = False


def _option(default: Any, *flag: Any, **more: Any) -> Any:
    return field(default=default, metadata={"flag": Flag(*flag, **more)})


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a file is read; `read_table` says what each option means."""

    row_labels: str | int | bool | None = _option(
        None,
        "The column that names the rows.  [default: found]",
        "COLUMN",
        COLUMNS,
        of_numbers=True,
        help_of_no="No column names the rows.",
    )
    columns: Sequence[str] | None = _option(
        None, "Read only this column (may be repeated).", "COLUMN", COLUMNS, of_numbers=True
    )
    exclude: Sequence[str] | None = _option(
        None, "Leave this column out (may be repeated).", "COLUMN", COLUMNS, of_numbers=True
    )
    exclude_rows: Sequence[str] | None = _option(
        None, "Leave out the rows that begin with this text, such as Total (may be repeated).", "TEXT", COLUMNS
    )
    metadata: str | Sequence[str] | None = _option(
        None, "Keep this column beside the rows (may be repeated).  [default: text with repeats]", "COLUMN", COLUMNS
    )
    covariates: str | Sequence[str] | None = _option(
        None,
        "Columns that describe the rows, for models that use them; all for every column that is no data.",
        "COLUMN,...",
        COLUMNS,
        commas=True,
    )
    coordinates: Sequence[str] | None = _option(
        None, "The two columns that say where a row is, such as lon,lat.", "X,Y", COLUMNS, commas=True
    )
    effort: str | None = _option(
        None, "The column that says how much a row was looked at, such as minutes.", "COLUMN", COLUMNS
    )
    long: Sequence[str] | None = _option(
        None,
        "FILE has a line for each observation, with these columns; pairs that don't occur are 0.",
        "SITE SPECIES [VALUE]",
        COLUMNS,
    )
    missing: str | Sequence[str] | None = _option(
        None,
        "A marker of missing cells (may be repeated).  [default: empty, NA, NaN, ?, N/A, null, None]",
        "WORD",
        COLUMNS,
        of_numbers=True,
    )
    true: str | Sequence[str] | None = _option(None, "A further word for 1 (may be repeated).", "WORD", COLUMNS)
    false: str | Sequence[str] | None = _option(None, "A further word for 0 (may be repeated).", "WORD", COLUMNS)
    presence: str | None = _option(None, 'Cells with this mark, such as "x", are 1 and empty ones 0.', "MARK", COLUMNS)
    threshold: float | None = _option(None, "Numbers of at least this are 1, others 0.", "NUMBER")
    delimiter: str | None = _option(
        None, "What separates fields.  [default: found]", "CHARACTER", TEXT, of_numbers=True
    )
    encoding: str = _option("utf-8", "Of text files.", "NAME", of_numbers=True)
    decimal: str = _option(
        ".", "What separates the decimals of numbers.", None, TEXT, of_numbers=True, choices=(".", ",")
    )
    comment: str | None = _option(
        None, 'How lines begin that are skipped, "" for none.  [default: #]', "TEXT", TEXT, of_numbers=True
    )
    sheet: str | None = _option(None, "Which sheet of an .xlsx file.", "NAME", SHEETS, of_numbers=True)
    header: bool = _option(
        True, "", of_numbers=True, help_of_no="The first line is data; columns are called x1, x2, ..."
    )
    array: str | None = _option(None, "Which array of an .npz file.", "NAME", ARRAYS)
    missing_as: str | None = _option(
        None,
        "What cells of columns are that a model was fitted on and FILE lacks.  [default: refused]",
        None,
        COLUMNS,
        choices=("0", "unknown"),
    )

    @classmethod
    def of(cls, given: Mapping[str, Any], function: str = "read_table") -> ReadOptions:
        """The options of a call, as JSON has them: tuples and arrays as lists, NumPy's scalars as Python's own."""
        unknown = sorted(given.keys() - option_types().keys())
        if unknown:
            raise TypeError(f"{function} has no option {unknown[0]!r}; the options are {', '.join(option_types())}")
        return cls(**{name: _plain(value) for name, value in given.items()})

    @property
    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults, none of them None."""
        values = ((option, getattr(self, option.name)) for option in fields(self))
        return {option.name: value for option, value in values if value is not None and value != option.default}

    def check(self, origin: Origin) -> None:
        """Refuse values that can't be, and options that contradict each other."""
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise origin.error(f"threshold={self.threshold} is not a finite number; use for example threshold=1")
        if self.decimal not in (".", ","):
            raise origin.error(f"decimal={self.decimal!r} is neither a dot nor a comma; use {spelled('decimal', ',')}")
        if self.decimal == "," == self.delimiter:
            raise origin.error(f"a comma can't separate both fields and decimals; use {spelled('delimiter', ';')}")
        if self.missing_as not in (None, "0", "unknown"):
            raise origin.error(f"missing_as={self.missing_as!r} is unknown; use '0' or 'unknown'")

    def refuse_useless(self, kind: str, origin: Origin) -> None:
        """Refuse an option that is about something that files with this extension don't have."""
        for name in self.changed:
            about = flags()[name].about
            if about is not None and about not in FORMATS.get(kind, DELIMITED).has:
                raise useless_option(name, about, kind, origin)


def useless_option(name: str, about: str, kind: str, origin: Origin) -> UselessOptionError:
    """The error for an option that is about something that files with this extension don't have."""
    message = f"the option {name} applies only {_APPLIES[about].format(kind)}; leave it out"
    return UselessOptionError(str(origin.error(message)), name)


def flags() -> dict[str, Flag]:
    """What the command line shows of each option."""
    return {option.name: option.metadata["flag"] for option in fields(ReadOptions)}


@cache
def option_types() -> dict[str, Any]:
    """The type of each option."""
    hints = get_type_hints(ReadOptions)
    return {option.name: hints[option.name] for option in fields(ReadOptions)}


def _plain(value: Any) -> Any:
    def convert(other: Any) -> Any:
        return other.tolist() if hasattr(other, "tolist") else list(other)

    return json.loads(json.dumps(value, default=convert))


# ---- the signature of read_table ----


@dataclass(frozen=True)
class _Call(ReadOptions):
    """What `read_table` takes: this class has its signature."""

    path: str | Path
    like: Any = field(default=None, kw_only=True)


Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")


def _with_signature_of(
    call: Callable[Arguments, Any],
) -> Callable[[Callable[..., Made]], Callable[Arguments, Made]]:
    def decorate(read: Callable[..., Made]) -> Callable[Arguments, Made]:
        hints = get_type_hints(call)
        parameters = [
            parameter.replace(annotation=hints[name]) for name, parameter in inspect.signature(call).parameters.items()
        ]
        read.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return cast("Callable[Arguments, Made]", read)

    return decorate


takes_read_options = _with_signature_of(_Call)
"""Gives a function of (path, **given) the signature of `read_table`, for people and type checkers."""


# ---- the record of a reading ----


def reading_record(options: ReadOptions, data: BinaryData) -> dict[str, Any]:
    """The options by which another file can be read like this one, all of them plain JSON.

    The name of the label column stands for its position, or for what was found.
    """
    record = options.changed
    record.pop("missing_as", None)  # each file says anew what it lacks
    if data.row_label is not None and "long" not in record:  # which says itself where the rows' names are
        record["row_labels"] = data.row_label
    elif type(record.get("row_labels")) is int:
        record["row_labels"] = ""  # the column at that position has no name
    if options.threshold is not None and data.metadata:
        record["metadata"] = list(data.metadata)  # another file shouldn't decide anew which columns are counts
    if (facts := data.facts) is not None:  # where all are asked for, those of this file
        record["covariates"] = [*facts.numbers, *facts.categories]
        if facts.coordinate_names:
            record["coordinates"] = list(facts.coordinate_names)
    return record


def checked_reading(content: Any) -> dict[str, Any] | None:
    """A record of reading that came from a file, or None if there is none.

    It is taken as a whole or not at all: half of the options would read other data.

    Examples
    --------
    >>> checked_reading({"threshold": 1, "exclude": ["age"]})
    {'threshold': 1, 'exclude': ['age']}
    >>> checked_reading({"threshold": "1"}) is None
    True
    """
    hints = option_types()
    if not isinstance(content, dict) or not content.keys() <= hints.keys():
        return None
    labels = content.get("row_labels", False)
    if labels is not False and not isinstance(labels, str):  # a position would be that of another file
        return None
    return dict(content) if all(_fits(hints[name], value) for name, value in content.items()) else None


def _fits(hint: Any, value: Any) -> bool:
    """Whether a value of JSON is of the annotated type; None is no value, as an option without one isn't recorded."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(part, value) for part in get_args(hint))
    if origin is not None:
        return isinstance(value, list) and all(_fits(get_args(hint)[0], item) for item in value)
    if hint in (int, float):
        return type(value) in (int, hint) and math.isfinite(value)
    return hint in (str, bool) and type(value) is hint


UNREAD = "not read: "
"""How the note begins about columns that are passed over."""

Options = dict[str, Any]
_DISPENSABLE = {"exclude", "metadata", "covariates", "coordinates", "effort"}
"""Options with names of columns that are no data: a file needn't have them, and a model that needs one says so."""


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
    if like is None and given.get("missing_as") is not None:
        raise DataError("missing_as says what a file lacks of a fit's columns; give the fit as like, or leave it out")
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
            filling = self.given.get("missing_as") or "0"
            return _in_order_of(names, _completed(names, self._read_or_blame(), filling), file)
        data = self._filled(names)
        for note in data.notes:
            if note.startswith(UNREAD):
                warnings.warn(f"{file}: {note}, which the model doesn't know", stacklevel=4)
        return _in_order_of(names, data, file)

    def _filled(self, names: list[str]) -> BinaryData:
        """The fit's columns; those that the file lacks are filled if the caller says by what."""
        filling = self.given.get("missing_as")
        if filling is None:
            return self._read_columns(names)
        wanted = list(names)
        while wanted:
            try:
                return _completed(names, self._attempt(self._remembered, columns=wanted), filling)
            except UnknownColumnError as error:
                if error.column not in wanted:
                    raise
                wanted.remove(error.column)
        raise DataError(f"{self.reader.file}: it has no column that the model was fitted on; give another file")

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
        if others and (option != "coordinates" or others == names):
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


def _completed(wanted: list[str], data: BinaryData, filling: str) -> BinaryData:
    """Data with all of the fit's columns, those that they lack filled; of long data, in which what wasn't seen is 0."""
    import numpy as np

    where = {name: j for j, name in enumerate(data.column_names or [])}
    known = [name for name in wanted if name in where]
    lacking = [name for name in wanted if name not in where]
    if not known or not lacking:
        return data
    cells = np.full((data.shape[0], len(wanted)), 0 if filling == "0" else MISSING, dtype=np.int8)
    cells[:, : len(known)] = data.dense()[:, [where[name] for name in known]]
    note = f"the file lacks {_listed(lacking)}, taken as {filling}"
    names = [*known, *lacking]
    return replace(data, cells=cells, sparse=None, packed=None, column_names=names, notes=(*data.notes, note))


def _in_order_of(wanted: list[str], data: BinaryData, file: str) -> BinaryData:
    """The data with their columns in the fit's order; as they are if they have no names."""
    import numpy as np  # late: a file that is refused shouldn't wait for it

    if data.column_names is None or data.column_names == wanted:
        return data
    where = {name: j for j, name in enumerate(data.column_names)}
    lacking = [name for name in wanted if name not in where]
    extra = sorted(set(where) - set(wanted), key=where.__getitem__)
    if lacking:
        raise DataError(
            f"{file}: there is no column {_listed(lacking)}, which the model was fitted on; add it, or use "
            f"{spelled('missing_as', '0')} if it would have been noticed, {spelled('missing_as', 'unknown')} if not"
        )
    if extra:
        flag = f"--exclude {quoted(extra[0])}"
        raise DataError(f"{file}: the model doesn't know the column {_listed(extra)}; use {flag} to leave it out")
    cells = np.ascontiguousarray(data.dense()[:, [where[name] for name in wanted]])
    return replace(data, cells=cells, sparse=None, column_names=wanted)


def _listed(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    return quoted(names[0]) + (f" (and {len(names) - 1} more)" if len(names) > 1 else "")
