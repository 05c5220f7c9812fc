"""Positions of long fits in files, so that an interrupted fit can be resumed, with the same answer.

A folder holds a folder for each problem (data and parameters, by their checksum), which has the seeds of its runs
and a file for each run. Every file is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latentbits.errors import DataError
from latentbits.fitting.climb import Position
from latentbits.storage.archives import DAMAGE, read_archive, write_archive
from latentbits.storage.files import atomic_file
from latentbits.version import __version__
from latentbits.wording import counted

EVERY = 60.0
"""Seconds from a position that is saved to the next."""

FINISHED = "is finished"
_SEEDS = "seeds.json"


class ProblemCheckpoints:
    """The runs of one problem.

    Parameters
    ----------
    folder : str or Path
        Where problems are kept; made if needed.
    problem : list
        All that the answer depends on, as JSON: parameters, and checksums of the data.
    """

    def __init__(self, folder: str | Path, problem: Sequence[Any]) -> None:
        identity = json.dumps([__version__, *problem], sort_keys=True, default=str)
        self.folder = Path(folder) / hashlib.sha256(identity.encode()).hexdigest()[:16]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise DataError(f"checkpoint={str(folder)!r} can't be a folder ({reason}); name another one") from None

    def seeds(self, drawn: list[int], *, fixed: bool) -> list[int]:
        """The seeds of the runs: those of the fit that is resumed, or else the ones drawn now.

        Without a fixed seed a fit that was finished isn't resumed: another one is wanted.
        """
        file = self.folder / _SEEDS
        known = self._known_seeds(file) if file.exists() else None
        if known is not None and not fixed and self._is_finished(len(known)):
            known = None
            for index in range(len(drawn)):
                for part in (self.of_run(index), self.of_refinement(index)):
                    part.file.unlink(missing_ok=True)
        if known is None:
            with atomic_file(file) as draft:
                draft.write_text(json.dumps(drawn), encoding="utf-8")
            return drawn
        if len(known) != len(drawn):
            raise _damaged(file)
        return known

    def _known_seeds(self, file: Path) -> list[int]:
        try:
            seeds = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(seeds, list) and all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds):
                return seeds
        except DAMAGE:
            pass
        raise _damaged(file)

    def _is_finished(self, n_runs: int) -> bool:
        refined = [self.of_refinement(index).progress() for index in range(n_runs)]
        return all(self.of_run(index).progress() == FINISHED for index in range(n_runs)) and {*refined} <= {
            None,
            FINISHED,
        }

    def message(self, n_runs: int) -> str | None:
        """Where a fit resumes; that it starts from the beginning, if the folder has other problems only; else None."""
        progress = {index + 1: self.of_run(index).progress() for index in range(n_runs)}
        begun = [f"restart {number} {found}" for number, found in progress.items() if found is not None]
        if begun:
            return f"resuming from the checkpoint: {', '.join(begun)}"
        others = [other for other in self.folder.parent.iterdir() if other != self.folder and (other / _SEEDS).exists()]
        if others:
            return "the checkpoint folder only has fits of other data or parameters, so this one starts anew"
        return None

    def of_run(self, index: int) -> RunCheckpoint:
        """The positions of one run."""
        return RunCheckpoint(self.folder / f"run-{index}.npz")

    def of_refinement(self, index: int) -> RunCheckpoint:
        """The positions of one run that continues to a tighter tolerance."""
        return RunCheckpoint(self.folder / f"run-{index}-refined.npz")


class RunCheckpoint:
    """The last position of a run, in one file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._saved_at = time.monotonic()

    def is_due(self) -> bool:
        """Whether enough time has passed since the last one."""
        return time.monotonic() - self._saved_at >= EVERY

    def save(self, position: Position) -> None:
        """Replace the last position by this one."""
        about = {**position._asdict(), "n_arrays": len(position.state)}
        arrays = {f"state_{number}": array for number, array in enumerate(about.pop("state"))}
        arrays["history"] = np.asarray(about.pop("history"))
        # Infinity (the longest step, at first) isn't JSON, but Python writes and reads it.
        arrays["about"] = np.frombuffer(json.dumps(about).encode("ascii"), np.uint8)
        with atomic_file(self.file) as draft:
            write_archive(draft, arrays)
        self._saved_at = time.monotonic()

    def progress(self) -> str | None:
        """How far the run has come, in words; None if nothing is saved."""
        if not self.file.exists():
            return None
        position = self._read()
        return FINISHED if position.objective is not None else f"after pass {len(position.history)}"

    def exists(self) -> bool:
        """Whether a position is saved."""
        return self.file.exists()

    def load(self, like: tuple[np.ndarray, ...]) -> Position:
        """The last position, with a state of the same form as the fresh state `like`.

        Anybody may have written the file, and compiled code trusts shapes: arrays of another form are refused.
        """
        position = self._read()
        names = getattr(like, "_fields", range(len(like)))
        if len(position.state) != len(like):
            raise self.refused(f"it has {counted(len(position.state), 'array')}; {len(like)} were expected")
        for name, array, fresh in zip(names, position.state, like, strict=True):
            if array.dtype != fresh.dtype or array.shape != fresh.shape:
                raise self.refused(
                    f"{name} has shape {array.shape} and type {array.dtype}; {fresh.shape} and {fresh.dtype} were "
                    "expected"
                )
        state = [np.require(array, requirements=["C", "W"]) for array in position.state]
        return position._replace(state=type(like)(*state) if hasattr(like, "_fields") else tuple(state))

    def refused(self, reason: str) -> DataError:
        """The error of a position that isn't one of this fit."""
        return DataError(
            f"the checkpoint {self.file} is not of this fit ({reason}); delete the folder {self.file.parent} to "
            "start again"
        )

    def _read(self) -> Position:
        try:
            stored, has_checksum = read_archive(self.file)
            about = json.loads(stored["about"].tobytes())
            state = [stored[f"state_{number}"] for number in range(about.pop("n_arrays"))]
            position = Position(state=state, history=stored["history"].tolist(), **about)
            good = has_checksum and _is_position(position)
        except DAMAGE:
            good = False
        if not good:
            raise _damaged(self.file)
        return position


def _is_position(position: Position) -> bool:
    """Whether the parts are what they should be, in a file that anybody may have written."""
    state, longest, history, last_checked, converged, objective = position
    return (
        all(array.dtype.kind in "biuf" and np.isfinite(array).all() for array in state)
        and all(type(number) is float for number in (longest, last_checked))
        and longest >= 1  # infinite at first
        and last_checked < math.inf  # and this minus infinity
        and all(type(value) is float and math.isfinite(value) for value in history)
        and type(converged) is bool
        and (objective is None or (type(objective) is float and history[-1:] == [objective]))
    )


def _damaged(file: Path) -> DataError:
    return DataError(f"the checkpoint {file} is damaged; delete the folder {file.parent} to start again")
