"""Options that several commands share, and how a file is read by them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.errors import DataError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable

__all__ = [
    "FILE_PATH",
    "LEARNING",
    "bundled",
    "force_option",
    "model_argument",
    "parameters_of",
    "read",
    "read_numbers",
    "read_with_segments",
    "reads_file",
    "table_options",
]

Command = Callable[..., Any]
Values = dict[str, Any]

FILE_PATH = click.Path(path_type=Path)
"""Not checked by click: the readers know better what to say about a file that isn't there."""

_READING: dict[str, Values] = {
    "row_labels": {"metavar": "COLUMN", "help": "The column that names the rows.  [default: found]"},
    "no_row_labels": {"is_flag": True, "help": "No column names the rows."},
    "columns": {"metavar": "COLUMN", "multiple": True, "help": "Read only this column (may be repeated)."},
    "exclude": {"metavar": "COLUMN", "multiple": True, "help": "Leave this column out (may be repeated)."},
    "missing": {
        "metavar": "WORD",
        "multiple": True,
        "help": "A marker of missing cells (may be repeated).  [default: empty, NA, NaN, ?, N/A, null, None]",
    },
    "true": {"metavar": "WORD", "multiple": True, "help": "A further word for 1 (may be repeated)."},
    "false": {"metavar": "WORD", "multiple": True, "help": "A further word for 0 (may be repeated)."},
    "presence": {"metavar": "MARK", "help": 'Cells with this mark, such as "x", are 1 and empty ones 0.'},
    "threshold": {"metavar": "NUMBER", "type": float, "help": "Numbers of at least this are 1, others 0."},
    "delimiter": {"metavar": "CHARACTER", "help": "What separates fields.  [default: found]"},
    "encoding": {"metavar": "NAME", "default": "utf-8", "show_default": True, "help": "Of text files."},
    "no_header": {"is_flag": True, "help": "The first line is data; columns are called x1, x2, ..."},
    "array": {"metavar": "NAME", "help": "Which array of an .npz file."},
}


def bundled(name: str, specification: dict[str, Values]) -> Callable[[Command], Command]:
    """Add options to a command, which gets their values as one dict argument `name`.

    `specification` has click's settings of each option, by the name of its value: row_labels is --row-labels.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gather(**values: Any) -> Any:
            chosen = {key: values.pop(key) for key in specification}
            return command(**values, **{name: chosen})

        decorated: Command = gather
        for key, settings in reversed(specification.items()):
            decorated = click.option(f"--{key.replace('_', '-')}", key, **settings)(decorated)
        return decorated

    return decorate


def reads_file(command: Command) -> Command:
    """Give a command the argument FILE and all options of reading it (as `reading`, for `read`)."""
    return click.argument("file", type=FILE_PATH)(bundled("reading", _READING)(command))


def model_argument(command: Command) -> Command:
    """Give a command the argument DIR, as `fitted`."""
    return click.argument("fitted", metavar="DIR", type=FILE_PATH)(command)


def force_option(help_text: str) -> Callable[[Command], Command]:
    """Give a command the flag --force."""
    return click.option("--force", is_flag=True, help=help_text)


def table_options(command: Command) -> Command:
    """Give a command the options of where its table goes."""
    out = click.option("--out", type=FILE_PATH, metavar="FILE.csv", help="Where to write.  [default: stdout, or -]")
    return out(force_option("Replace an existing FILE.csv.")(command))


def read(file: Path, reading: Values) -> BinaryData:
    """The data of a file, read by the options of `reads_file`."""
    from latentbits.data.readers import read_table

    chosen = {key: value for key, value in reading.items() if value not in ((), None)}
    header, labelled = not chosen.pop("no_header"), not chosen.pop("no_row_labels")
    if not labelled and "row_labels" in chosen:
        raise click.UsageError("give --row-labels or --no-row-labels, not both")
    if not labelled:
        chosen["row_labels"] = False
    return read_table(file, header=header, **chosen)


def read_numbers(file: Path, reading: Values) -> NumberTable:
    """The numbers of a file, read by those options of `reads_file` that make sense for them."""
    from latentbits.data import numbers

    useless = [key for key in ("missing", "true", "false", "presence", "threshold", "array") if reading[key]]
    if useless:
        raise click.UsageError(f"--{useless[0]} is about 0-1 data, and this model takes numbers; leave it out")
    chosen = {key: reading[key] for key in ("delimiter", "columns", "exclude", "encoding") if reading[key]}
    labels: str | bool | None = False if reading["no_row_labels"] else reading["row_labels"]
    return numbers.read_numbers(file, header=not reading["no_header"], row_labels=labels, **chosen)


def read_with_segments(file: Path, reading: Values, column: str) -> tuple[BinaryData, list[Any]]:
    """The data of a file without one of its columns, and that column: numbers if it holds only such, else texts."""
    data = read(file, {**reading, "exclude": (*reading["exclude"], column)})
    assert data.column_names is not None
    only = {**reading, "columns": (data.column_names[0],), "exclude": (), "row_labels": column, "no_row_labels": False}
    labels = read(file, only).row_names or []
    empty = next((i for i, label in enumerate(labels) if not label.strip()), None)
    if empty is not None:
        raise DataError(f'{file.name}: row {empty} (counted from 0) has nothing in the column "{column}"; fill it in')
    try:
        return data, [float(label) for label in labels]
    except ValueError:
        return data, labels


def not_zero(ctx: click.Context, option: click.Parameter, value: int) -> int:
    """Refuse 0 jobs, which mean nothing; negative numbers count from all cores."""
    if value == 0:
        raise click.BadParameter("use 1 or more, or -1 for all cores", ctx, option)
    return value


def finite(ctx: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse infinity and NaN, which click's ranges let pass."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("this is not a finite number", ctx, option)
    return value


LEARNING: dict[str, Values] = {
    "components": {
        "type": click.IntRange(min=1),
        "help": "How many, phantoms included; of binary-factors at most.  [required but for binary-ica, ica-mixture]",
    },
    "restarts": {
        "type": click.IntRange(min=1),
        "default": 10,
        "show_default": True,
        "help": "Random starts.",
    },
    "seed": {
        "type": click.IntRange(min=0),
        "default": 0,
        "show_default": True,
        "help": "Same seed, same answer.",
    },
    "jobs": {
        "type": int,
        "default": -1,
        "callback": not_zero,
        "help": "Threads; -1 is all cores.  [default: -1]",
    },
    "max_iter": {
        "type": click.IntRange(min=1),
        "help": "Passes a start may make.  [default: the model's own]",
    },
    "tol": {
        "type": click.FloatRange(min=0),
        "callback": finite,
        "help": "A start has converged when a cell's log likelihood rises less.  [default: the model's own]",
    },
    "inference": {
        "type": click.Choice(["vb", "em", "byy"]),
        "help": "beta-ica: variational Bayes or variational EM; binary-factors: those, or Bayesian Ying-Yang.",
    },
    "alpha": {"type": click.FloatRange(min=0.05), "callback": finite, "help": "beta-ica: prior weight of ones."},
    "beta": {"type": click.FloatRange(min=0.05), "callback": finite, "help": "beta-ica: prior weight of zeros."},
    "smoothing": {
        "type": click.FloatRange(min=0),
        "callback": finite,
        "help": "bernoulli-mixture: ones and zeros added to each count.",
    },
    "gamma": {"type": click.FloatRange(min=0.001), "callback": finite, "help": "beta-ica: prior of a row's weights."},
    "ridge": {"type": click.FloatRange(min=1e-6), "callback": finite, "help": "logistic-pca: penalty."},
    "method": {"type": click.Choice(["blica", "mle", "ivae"]), "help": "binary-ica: how to fit."},
    "encoder": {
        "type": click.Choice(["round", "cdual", "greedy", "enum"]),
        "help": "binary-factors: how byy finds codes.",
    },
    "clusters": {"type": click.IntRange(min=1), "help": "ica-mixture: how many to begin with."},
    "sources": {"type": click.IntRange(min=1), "help": "ica-mixture: of each cluster, at most."},
    "gaussians": {"type": click.IntRange(min=1), "help": "ica-mixture: of each source; 1 for factor analysers."},
}
"""The options of fitting, for `bundled`."""

_PARAMETERS = {
    "components": "n_components",
    "restarts": "n_init",
    "seed": "random_state",
    "jobs": "n_jobs",
    "clusters": "n_clusters",
    "sources": "n_sources",
    "gaussians": "n_gaussians",
}
_NUMBER_FREE = ("binary-ica", "ica-mixture")
"""Models that don't need to be told a number of components."""


def parameters_of(learning: Values, model: str, *, known_only: bool = False) -> Values:
    """The options of fitting as a model's parameters; what wasn't given is left to the model.

    An option that the model doesn't have is an error, or is left out if `known_only`.
    """
    from latentbits.models.registry import model_class

    if learning.get("components", 1) is None and model not in _NUMBER_FREE:
        raise click.UsageError("Missing option '--components'.")
    given = {_PARAMETERS.get(key, key): (key, value) for key, value in learning.items() if value is not None}
    known = model_class(model)().get_params()
    for parameter, (option, _) in given.items():
        if parameter not in known and not known_only:
            raise click.UsageError(f"--{option} is not an option of {model}; leave it out, or choose another --model")
    return {parameter: value for parameter, (_, value) in given.items() if parameter in known}
