"""Attacks: random hostile cases, each of which must end in a right answer or in one sentence.

An attack is a module `attack_NAME.py` in this folder; its docstring says what is attacked and what may come out.
It is found by its name, and has

    case(rng)   makes one case from a NumPy Generator and tries it; raises whatever it likes if the outcome is wrong
    SMALL       how many cases `make test` tries; together they take some seconds
    LARGE       how many cases `make attack` tries, times its dose
    SECONDS     optional: a case whose process computes longer has failed (60); or takes ten times as long by the clock,
                which is for what waits or runs in other processes, on a machine that may be busy with something else

Case i of seed s is the same on every machine: `python -m tests.attacks NAME --seed s --case i` replays it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import signal
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from latentbits.storage.files import atomic_file

HERE = Path(__file__).parent
PREFIX = "attack_"


@dataclass(frozen=True)
class Attack:
    """One module of this folder; the docstring above says what each part is."""

    name: str
    about: str
    case: Callable[[np.random.Generator], None]
    small: int
    large: int
    seconds: float

    def try_case(self, seed: int, number: int) -> None:
        """One case within its time, warnings ignored: a case that forbids some says so itself."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), number])
        with time_limit(self.seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.case(rng)


def attack_names() -> list[str]:
    """All attacks, by the names of their files."""
    return sorted(file.stem.removeprefix(PREFIX) for file in HERE.glob(f"{PREFIX}*.py"))


def load_attack(name: str) -> Attack:
    """The attack of this name."""
    module: Any = importlib.import_module(f"tests.attacks.{PREFIX}{name}")
    seconds = getattr(module, "SECONDS", 60)
    return Attack(name, module.__doc__.splitlines()[0], module.case, module.SMALL, module.LARGE, seconds)


BUSY = 10
"""How many times as long as it computes a process may take by the clock, waiting for others."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise AssertionError in the main thread when the process has computed so long, or `BUSY` times that have passed.

    Compiled code is interrupted when it returns.
    """

    def stop(number: int, _: Any) -> None:
        spent = f"{seconds:g} CPU seconds" if number == signal.SIGPROF else f"{BUSY * seconds:g} seconds"
        raise AssertionError(f"took longer than {spent}")

    limits = [
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, BUSY * seconds),
    ]
    before = [signal.signal(number, stop) for number, _, _ in limits]
    for _, timer, limit in limits:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


@dataclass
class Record:
    """How far an attack has come with one seed, kept in a file: cases are tried in order, so a number is enough.

    Attributes
    ----------
    file : where it is kept
    done : cases tried, from 0 on
    failed : what went wrong, by the number of the case
    seconds : CPU time of this process that they took, together; that of children isn't counted
    """

    file: Path
    done: int = 0
    failed: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def at(cls, file: Path) -> Record:
        """As it was when the file was written last; empty without one."""
        if not file.exists():
            return cls(file)
        kept = json.loads(file.read_text())
        failed = {int(number): reason for number, reason in kept["failed"].items()}
        return cls(file, kept["done"], failed, kept["seconds"])

    def save(self) -> None:
        """Write the file, whole."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.file) as draft:
            draft.write_text(json.dumps({"done": self.done, "failed": self.failed, "seconds": self.seconds}))
