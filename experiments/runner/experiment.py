"""What an experiment declares, and where experiments are found."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.runner.published import PUBLISHED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from experiments.runner.claims import Claim

__all__ = ["Experiment", "ExperimentError", "Found", "find", "load"]

DECLARATION = "EXPERIMENT"
_NO_FAMILIES = ("runner", "results")

Job = dict[str, Any]
Row = dict[str, Any]


class ExperimentError(Exception):
    """An experiment that can't be run, or whose declaration is inconsistent."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One published table or figure: its work in independent pieces, and what is made of their rows.

    Attributes
    ----------
    title : one line.
    jobs : (full) -> keyword arguments of `run`, one dict a job; JSON-able, with the seed among them (0, 1, 2, ...).
    run : (**job) -> rows, one dict each; a row of the table is the job's arguments and then these. NumPy values are
        welcome, NaN becomes an empty cell. Columns whose name begins with "_" may hold arrays for `draw` and `judge`
        and are left out of the stored table.
    judge : (table) -> claims; at least one for each of `results`.
    draw : (table) -> figures by name.
    results : the published results it covers, such as ("AB 1",); empty if it goes beyond the papers.
    """

    title: str
    jobs: Callable[[bool], Iterable[Job]]
    run: Callable[..., Iterable[Row]]
    judge: Callable[[pd.DataFrame], list[Claim]]
    draw: Callable[[pd.DataFrame], dict[str, Figure]] | None = None
    results: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for result in self.results:
            if result not in PUBLISHED:
                raise ExperimentError(f'there is no published result "{result}"; see runner/published.py for the list')


class Found(NamedTuple):
    """An experiment by its name, such as "ab/order", and its file; not yet imported."""

    name: str
    file: Path

    @property
    def family(self) -> str:
        """The folder it is in."""
        return self.file.parent.name

    @property
    def stem(self) -> str:
        """What its result files are called, without their ending."""
        return self.name.replace("/", "_")


def find(folder: Path) -> list[Found]:
    """All experiments of a folder: FAMILY/NAME.py, names that begin with "_" left out."""
    files = sorted(folder.glob("[!_.]*/[!_.]*.py"))
    return [Found(f"{file.parent.name}/{file.stem}", file) for file in files if file.parent.name not in _NO_FAMILIES]


def load(file: Path) -> Experiment:
    """Import an experiment's file and return its declaration.

    It is imported by its path, so that a process that has seen an older version, or another folder's experiment of
    the same name, gets this one.
    """
    name = f"experiments.{file.parent.name}.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ExperimentError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ExperimentError(f"{file} can't be imported: {type(error).__name__}: {error}") from error
    declared = getattr(module, DECLARATION, None)
    if not isinstance(declared, Experiment):
        raise ExperimentError(f'{file} declares no {DECLARATION}; begin its name with "_" if it is a helper')
    return declared
