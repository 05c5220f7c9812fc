"""What the library knows of a model without importing it: one record per model, one entry per parameter.

As `latentbits.constraints`, it imports nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from latentbits.constraints import Choice, Number
from latentbits.models.schema import PARAMETER_TYPES, Schema, check_fitted

if TYPE_CHECKING:
    from latentbits.models.abilities import Ability


@dataclass(frozen=True)
class Option:
    """How a parameter is given on the command line: behind `--name`; its help, without capital and full stop."""

    name: str
    help: str

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"the option {self.name!r} must be an identifier; --min-share is written min_share here")


@dataclass(frozen=True)
class Parameter:
    """What a constructor parameter may be (None: checked where it is used), and its option on the command line."""

    allowed: Number | Choice | None
    option: Option | None = None


def components(help_text: str = "how many", *, optional: bool = False) -> dict[str, Parameter]:
    """The parameter `n_components`, for a record's `parameters`."""
    return {"n_components": Parameter(Number(1, integer=True, optional=optional), Option("components", help_text))}


ITERATIONS: dict[str, Parameter] = {
    "max_iter": Parameter(Number(1, integer=True), Option("max_iter", "passes that a start may make")),
    "tol": Parameter(
        Number(0), Option("tol", "a start has converged when a cell's log likelihood rises by less than this")
    ),
}
"""The parameters of every model that is fitted step by step."""

RESTARTS: dict[str, Parameter] = {
    "n_init": Parameter(Number(1, integer=True), Option("restarts", "random starts")),
    **ITERATIONS,
    "random_state": Parameter(None, Option("seed", "same seed, same answer")),
    "n_jobs": Parameter(None, Option("jobs", "threads; -1 is all cores")),
}
"""The parameters of every model that is fitted with several restarts."""


@dataclass(frozen=True)
class ModelSpec:
    """One model, as the command line, model files, findings, comparisons and tests know it.

    Attributes
    ----------
    name : str
        On the command line and in model files.
    target : str
        "module:Class".
    data : "table", "segments", "numbers" or "visits"
        "table": 0-1 data, of which such models predict every cell; they can be compared.
        "segments": 0-1 data in segments. "numbers": continuous data. "visits": repeat visits to sites.
    findings : str
        The module of `latentbits.findings` that presents a fit.
    abilities : frozenset of Ability
        What it can do.
    takes_missing : bool
        Whether cells may be missing.
    on_cluster : bool
        Whether it can be fitted where the rows are on a Dask cluster.
    parameters : mapping of str to Parameter
        The constructor's parameters that are validated, and those of the command line.
    held : mapping of str to mapping
        The parameters that say how many, where these are not `n_components` alone, each with those by which a fit keeps
        that number: a model that finds it by itself is compared at several numbers with these.
    fitted : mapping of str to kind
        Every fitted attribute: what it is, and how its sizes fit to the others' (see `latentbits.models.schema`).
        Model files hold nothing else.
    sizes : mapping of str to tuple
        Sizes in `fitted` that parameters say: the sum of numbers and of parameters by their names.
    stored_types : tuple of str
        "module:NamedTuple" of what a fitted model holds beside arrays; model files may contain these.
    added : tuple of str
        Fitted attributes that older model files lack.
    renamed : mapping of str to str
        Fitted attributes by the names that older model files have for them.
    formerly : mapping of str to value
        Parameters that older model files lack, where fits of then were not what today's default makes.
    """

    name: str
    target: str
    data: Literal["table", "segments", "numbers", "visits"] = "table"
    findings: str = "factors"
    abilities: frozenset[Ability] = frozenset()
    takes_missing: bool = True
    on_cluster: bool = False
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    held: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fitted: Schema = field(default_factory=dict)
    sizes: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    stored_types: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    formerly: Mapping[str, Any] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """The class' name, under which it is public."""
        return self.target.partition(":")[2]

    @property
    def module(self) -> str:
        """Where the class is defined."""
        return self.target.partition(":")[0]

    @property
    def has_components(self) -> bool:
        """Whether a number of components can be given."""
        return "n_components" in self.parameters

    @property
    def orders(self) -> Mapping[str, Mapping[str, Any]]:
        """The parameters whose best number can be chosen, each with what holds the number; see `held`."""
        return self.held or ({"n_components": {}} if self.has_components else {})

    @property
    def needs_components(self) -> bool:
        """Whether a number of components must be given on the command line."""
        allowed = self.parameters["n_components"].allowed if self.has_components else None
        return isinstance(allowed, Number) and not allowed.optional

    @property
    def has_restarts(self) -> bool:
        """Whether it is fitted with restarts."""
        return "n_init" in self.parameters

    def load(self) -> type[Any]:
        """The class, imported now."""
        return resolve(self.target)

    def check(self, values: Mapping[str, Any]) -> None:
        """Refuse parameters outside their ranges, in the order of the record; others aren't looked at."""
        for name, parameter in self.parameters.items():
            if name in values and parameter.allowed is not None:
                parameter.allowed.check(name, values[name])

    def check_fitted(self, parameters: Mapping[str, Any], fitted: Mapping[str, Any]) -> None:
        """Refuse a fitted model that isn't what the record says, by a ValueError that names the parameter or attribute.

        Parameters
        ----------
        parameters, fitted : mapping of str to value
            The constructor's parameters and the fitted attributes.
        """
        self.check(parameters)
        for name, types in PARAMETER_TYPES.items():
            value = parameters.get(name)
            if value is not None and not isinstance(value, types):
                raise ValueError(f"{name} can't be a {type(value).__name__}")
            if (name == "n_jobs" and value == 0) or value != value or value in (inf, -inf):
                raise ValueError(f"{name} can't be {value}")
        sizes = {
            letter: sum(part if isinstance(part, int) else int(parameters[part]) for part in parts)
            for letter, parts in self.sizes.items()
        }
        check_fitted(self.fitted, fitted, sizes, self.added)


def spec_of(kind: type[Any]) -> ModelSpec | None:
    """The record of a class, or of the class that it is derived from; None if there is none."""
    from latentbits.models.registry import MODELS  # late: it imports the records, which are made of this module

    by_target = {spec.target: spec for spec in MODELS.values()}
    found = (by_target.get(f"{base.__module__}:{base.__qualname__}") for base in kind.__mro__)
    return next(filter(None, found), None)


def resolve(target: str) -> type[Any]:
    """The class that "module:Class" names.

    Parameters
    ----------
    target : str

    Returns
    -------
    type
    """
    module, _, name = target.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found
