"""What was found, as data: one frozen object, built once by `analyse`; words are made from it at the very end."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np
import pandas as pd

from latentbits.models.abilities import Ability, abilities_of
from latentbits.notes import Code, Level, Note, Role, frozen
from latentbits.wording import place

if TYPE_CHECKING:
    from matplotlib import figure

    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable
    from latentbits.report import Report
    from latentbits.tasks.verdict import Verdict

Data = Union["BinaryData", "NumberTable"]
N_SUSPECTS = 1000
"""Cells in suspects.csv of each kind, at most."""

SCHEMA = 1
"""Of summary.json: raised when a key changes its meaning or goes."""


class Unit(StrEnum):
    """What a number is a number of."""

    COUNT = auto()
    SHARE = auto()
    NATS = auto()
    STABILITY = auto()
    PRECISION = auto()
    STANDARD_ERRORS = auto()
    NONE = auto()


@dataclass(frozen=True)
class Fact:
    """A value that was found, with its unit and how uncertain it is.

    Attributes
    ----------
    value : number, text, bool, None, or a tuple or mapping of these
        Read-only.
    unit : Unit
        Of the numbers.
    error : float or None
        Standard error, where one is known.
    interval : tuple of float or None
        Lower and upper end, where they are known.
    """

    value: Any
    unit: Unit = Unit.NONE
    error: float | None = None
    interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", frozen(self.value))


class ModelSummary(NamedTuple):
    """A model in a few words: its name, its class, whose findings these are, its parameters, and versions.

    Attributes
    ----------
    name : str or None
        As on the command line; None for a class of the user's own.
    class_name : str
        Of the estimator.
    family : str
        The module of `latentbits.findings` that asked it.
    parameters : mapping of str to value
        Those of the constructor.
    versions : mapping of str to str
        Of this library, Python, and what it is built on.
    """

    name: str | None
    class_name: str
    family: str
    parameters: Mapping[str, Any]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class DataSummary:
    """The rows that findings are about.

    Attributes
    ----------
    checksum : str
        By which the same cells are known again.
    rows, columns, missing : int
        How many; of cells those that are missing.
    ones, zeros, density, constant_columns : number or None
        Of 0-1 data: counts, the share of ones among the observed cells, and columns without both values.
    is_fitted : bool
        Whether the model was fitted to these rows.
    file : str or None
        Where they came from.
    reading : mapping or None
        How that file is read again.
    marks : mapping or None
        The file of cells that were looked up, and how many there are of each kind.
    """

    checksum: str
    rows: int
    columns: int
    missing: int
    ones: int | None = None
    zeros: int | None = None
    density: float | None = None
    constant_columns: int | None = None
    is_fitted: bool = True
    file: str | None = None
    reading: Mapping[str, Any] | None = None
    marks: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class SuspectList:
    """Cells that may be false, by position; the most suspected first.

    Attributes
    ----------
    kind : str
        "absence" for zeros that may hide a 1, "presence" for ones that may be false.
    rows, columns : ndarray of int
        Positions.
    score : ndarray of float
        By which they are ranked.
    probability : ndarray of float or None
        Of what `meaning` says.
    meaning : str or None
        The name of the probability, such as "P(1 | the rest)".
    """

    kind: str
    rows: np.ndarray
    columns: np.ndarray
    score: np.ndarray
    probability: np.ndarray | None = None
    meaning: str | None = None

    def __len__(self) -> int:
        return len(self.rows)


class Figure(NamedTuple):
    """A picture that is drawn when it is wanted.

    Attributes
    ----------
    key : str
        The name of its file.
    draw : callable
        Makes it.
    shows : Code
        Of the note that it is about, which is its alternative text.
    takes_shape : bool
        Whether it can show columns as the pixels of an image.
    """

    key: str
    draw: Callable[..., figure.Figure]
    shows: Code
    takes_shape: bool = False


class Selection(NamedTuple):
    """How the number of components was chosen: the numbers tried, the best, the seed, and each criterion's choice.

    Attributes
    ----------
    tried : tuple of int
        The numbers.
    best : int or None
        The one that was taken, if that is known.
    seed : int or None
        That was given.
    choices : tuple of mappings
        With "criterion" and "best", and perhaps "rival" and "at_the_end".
    table : DataFrame or None
        A line for each number, a column for each criterion.
    """

    tried: tuple[int, ...]
    best: int | None
    seed: int | None
    choices: tuple[Mapping[str, Any], ...]
    table: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class Subject:
    """What was asked: the estimator and the rows, with what `fit` was given beside them.

    Attributes
    ----------
    model : fitted estimator
        Not to be changed.
    data : BinaryData or NumberTable
        The rows.
    fit_params : mapping
        What `fit` was given beside the data, such as segments.
    solved : SolvedRows or None
        Model and rows with all that has been solved for, where rows have weights on components.
    """

    model: Any
    data: Any
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    solved: Any = None


class Provenance(NamedTuple):
    """What is known of data and fit from before: a file and its reading, marks, a question as typed, time, warnings.

    Attributes
    ----------
    file : str or None
        The name of the file of the data.
    reading : mapping or None
        How it is read again; by default what the data themselves know.
    marks : str or None
        The file of the marks.
    asked : mapping or None
        What an ensemble was asked, as options have it: numbers and texts.
    seconds : mapping of str to float
        What has taken how long.
    warnings : tuple of Warning
        Those that were shown.
    """

    file: str | None = None
    reading: Mapping[str, Any] | None = None
    marks: str | None = None
    asked: Mapping[str, Any] | None = None
    seconds: Mapping[str, float] = frozen({})
    warnings: tuple[Warning, ...] = ()


class Parts(NamedTuple):
    """What a family has to say: the parts of findings that only it knows; `fitted` is the note of what was fitted."""

    fitted: Note
    facts: Mapping[str, Fact]
    tables: Mapping[str, pd.DataFrame]
    figures: tuple[Figure, ...]
    notes: tuple[Note, ...]
    suspects: tuple[SuspectList, ...] = ()


@dataclass(frozen=True, eq=False)
class Findings:
    """What a model has found in data: the result of `analyse`. Nothing in it can be changed.

    Attributes
    ----------
    model : ModelSummary
        Name, parameters and versions.
    data : DataSummary
        Rows, columns, counts, checksum; where they came from.
    verdict : Verdict or None
        Whether the model predicts held-out cells, with numbers and a level; None if that wasn't asked, or can't be.
    facts : mapping of str to Fact
        Named values with units and uncertainty.
    suspects : tuple of SuspectList
        Cells that may be false, by position.
    tables : mapping of str to DataFrame
        By the names of their files.
    figures : tuple of Figure
        Drawn when they are wanted.
    notes : tuple of Note
        All that can be said, as codes with arguments.
    subject : Subject
        The estimator and the rows.
    selection : Selection or None
        How the number of components was chosen.
    part : mapping or None
        Of a large table the number of rows that most answers are about ("rows") and of all ("of").
    shape : tuple of int or None
        Rows and columns of the images that the columns are pixels of.
    seconds : mapping of str to float
        What took how long.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, analyse, simulate
    >>> X = simulate.aspect_bernoulli(100, 20, 2, sharpness=0.1, random_state=0).X
    >>> found = analyse(AspectBernoulli(2, n_init=2, random_state=0), X)
    >>> str(found.verdict.level), found.facts["restarts"].value["made"], len(found.tables["components"])
    ('weak', 2, 2)
    """

    model: ModelSummary
    data: DataSummary
    verdict: Verdict | None
    facts: Mapping[str, Fact]
    suspects: tuple[SuspectList, ...]
    tables: Mapping[str, pd.DataFrame]
    figures: tuple[Figure, ...]
    notes: tuple[Note, ...]
    subject: Subject
    selection: Selection | None = None
    part: Mapping[str, int] | None = None
    shape: tuple[int, int] | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("facts", "tables", "part", "seconds"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def predicts(self) -> bool:
        """Whether what was found may be taken as evidence: no verdict has said otherwise."""
        return self.verdict is None or bool(self.verdict.predicts)

    @property
    def level(self) -> Level:
        """How clear the finding is: by the verdict or, of a model that has none, by its own fact "level"."""
        if self.verdict is not None:
            return self.verdict.level
        return Level(self.facts["level"].value) if "level" in self.facts else Level.UNKNOWN

    @property
    def has_evidence(self) -> bool:
        """Whether there is something to show: the level is neither none nor that of neighbours alone."""
        return self.level not in (Level.NONE, Level.NEIGHBOURS)

    def said(self, *roles: Role) -> Iterator[Note]:
        """The notes of these roles; without evidence where the verdict finds none.

        Parameters
        ----------
        *roles : Role
            Of which notes.

        Returns
        -------
        iterator of Note
            In order.
        """
        return (note for note in self.notes if note.role in roles and (self.predicts or not note.is_evidence))

    def has(self, code: Code) -> bool:
        """Whether something is among the notes.

        Parameters
        ----------
        code : Code
            What.

        Returns
        -------
        bool
            True if it is.
        """
        return any(note.code is code for note in self.notes)

    def to_dict(self) -> dict[str, Any]:
        """What summary.json holds: numbers, texts and None, by documented keys.

        Returns
        -------
        dict
            For JSON; a copy.
        """
        from latentbits.render import summary

        return summary(self)

    def report(self) -> Report:
        """Make a page of it, which needs nothing else.

        Returns
        -------
        Report
            To be shown, saved or opened.
        """
        from latentbits.report import render_report

        return render_report(self)

    def __repr__(self) -> str:
        verdict = "" if self.verdict is None else f", {self.verdict.level}"
        return f"Findings({self.model.class_name}, {self.data.rows:,} x {self.data.columns:,} cells{verdict})"

    def __str__(self) -> str:
        from latentbits.render import lines

        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        from latentbits.render import block

        return block(self)


# ---- tables ----------------------------------------------------------------------------------------------------------


def data_table(cells: np.ndarray, data: Data) -> pd.DataFrame:
    """Cells of the shape of the data, with their labels."""
    return labelled(cells, attributes(data), data)


def cell_probabilities(model: Any, data: Data) -> np.ndarray:
    """The probability of a 1 in each cell; an ensemble's is P(1 | the rest), as its `reconstruct` is the score."""
    P = model.predict_proba(data) if Ability.MEMBERS in abilities_of(model) else model.reconstruct(data)
    return np.asarray(P)


def labelled(values: np.ndarray, names: list[str], data: Data) -> pd.DataFrame:
    """A table with the rows' labels, or what rows without one are called, in front."""
    table = pd.DataFrame(values, columns=names)
    labels = data.row_names if data.row_names is not None else [place("row", i) for i in range(len(values))]
    table.insert(0, unused(data.row_label or "row", names), labels)
    return table


def attributes(data: Data) -> list[str]:
    """The columns' names, or what columns without one are called."""
    return data.column_names if data.column_names is not None else [place("column", j) for j in range(data.shape[1])]


def with_names(table: pd.DataFrame) -> pd.DataFrame:
    """A table of cells (suspects, explanations) for people: positions, which Python counts from 0, become "row 1"."""
    named = table.copy()
    for what in ("row", "column"):
        if table[what].dtype.kind == "i":
            named[what] = [place(what, position) for position in table[what]]
    return named


def from_one(table: pd.DataFrame) -> pd.DataFrame:
    """A table for people, who count components from 1; Python counts them from 0, and -1 is none."""
    numbered = [name for name in ("component", "cluster", "other", "source", "factor") if name in table]
    whole = {name: table[name] for name in numbered if table[name].dtype.kind in "iu"}
    return table.assign(**{name: (k + 1).where(k >= 0, "") if (k < 0).any() else k + 1 for name, k in whole.items()})


def factors_from_one(table: pd.DataFrame) -> pd.DataFrame:
    """The same of a factor analysis, whose columns are named by factors: "se_factor_0" becomes "se_factor_1"."""
    names = [re.sub(r"(?<=factor_)\d+$", lambda k: str(int(k[0]) + 1), str(name)) for name in table]
    return table.set_axis(names, axis=1)


def components_checksum(model: Any) -> str:
    """16 hex digits that identify the components of a fit: what ratings are about."""
    return hashlib.sha256(np.ascontiguousarray(model.components_, "<f8").tobytes()).hexdigest()[:16]


def unused(name: str, taken: list[str]) -> str:
    """The name, with underscores behind it until no column is called so."""
    while name in taken:
        name += "_"
    return name
