"""The code that a job's result depends on: a change of it, and of nothing else, makes the job run again.

A full run takes hours, and the wording of a claim or the colour of a line should not cost them again. So the
fingerprint covers what `run` names, directly or through other functions, constants and helper modules of the
experiments' folder; comments, docstrings, claims and figures are not part of it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from experiments.runner.experiment import DECLARATION

__all__ = ["fingerprint", "library_digest"]

_PACKAGE = "experiments"
_ENTRY = "run"
_UNRELATED = ("cli", "findings", "plots", "report")
"""Packages of the library that only present results."""


class Module(NamedTuple):
    """named: the top-level statements that give a name its value. always: those that give none, and are executed."""

    named: dict[str, list[ast.stmt]]
    always: list[ast.stmt]


def fingerprint(file: Path) -> str:
    """A digest of the code that the `run` of an experiment's file is made of."""
    folder = file.resolve().parents[1]
    seen: dict[tuple[Path, str], str] = {}
    _follow(file.resolve(), _entry_names(file), folder, seen)
    return _digest(text for _, text in sorted(seen.items()))


def library_digest() -> str:
    """A digest of the library's own code, but for what only shows results."""
    import latentbits

    root = Path(latentbits.__file__).parent
    files = sorted(file for file in root.rglob("*.py") if file.relative_to(root).parts[0] not in _UNRELATED)
    return _digest(file.read_text(encoding="utf-8") for file in files)


def _follow(file: Path, names: Iterable[str], folder: Path, seen: dict[tuple[Path, str], str]) -> None:
    """Add the statements behind these names of a file, and behind all names in those; "" is what has no name."""
    module = _parsed(file)
    for name in (*names, ""):
        place = (file.relative_to(folder), name)
        if place in seen or (name and name not in module.named):
            continue
        statements = module.named[name] if name else module.always
        seen[place] = "\n".join(ast.unparse(statement) for statement in statements)
        for statement in statements:
            for source, wanted in _sources(statement, name, file, folder):
                _follow(source, wanted, folder, seen)
            _follow(file, _names_in(statement), folder, seen)


def _sources(statement: ast.stmt, name: str, file: Path, folder: Path) -> Iterable[tuple[Path, Iterable[str]]]:
    """The files of the folder that a statement of `file` imports from, and which of their names.

    Of an import on top level only what it calls `name` counts; one inside a function counts as a whole.
    """
    for part in ast.walk(statement):
        if not isinstance(part, ast.Import | ast.ImportFrom):
            continue
        for alias in part.names:
            if part is statement and name != (alias.asname or alias.name).partition(".")[0]:
                continue
            package = _package(part, file, folder) if isinstance(part, ast.ImportFrom) else ""
            if (whole := _file_of(f"{package}.{alias.name}".lstrip("."), folder)) is not None:
                yield whole, _parsed(whole).named
            elif (source := _file_of(package, folder)) is not None:
                yield source, [alias.name]


def _package(part: ast.ImportFrom, file: Path, folder: Path) -> str:
    """What "from ... import" takes names from, its dots resolved."""
    inside = [_PACKAGE, *file.relative_to(folder).parts]
    return ".".join([*(inside[: -part.level] if part.level else []), *([part.module] if part.module else [])])


def _file_of(module: str, folder: Path) -> Path | None:
    """The file of a module of the experiments' folder, the runner's own left out."""
    package, *parts = module.split(".")
    if package != _PACKAGE or not parts or parts[0] == "runner":
        return None
    file = folder.joinpath(*parts).with_suffix(".py")
    return file if file.is_file() else None


def _entry_names(file: Path) -> list[str]:
    """The names in the declaration's argument `run`."""
    for statement in _parsed(file.resolve()).named.get(DECLARATION, []):
        for part in ast.walk(statement):
            if isinstance(part, ast.keyword) and part.arg == _ENTRY:
                return _names_in(part.value)
    return []


def _names_in(node: ast.AST) -> list[str]:
    return sorted({part.id for part in ast.walk(node) if isinstance(part, ast.Name)})


def _parsed(file: Path) -> Module:
    return _parse(file.read_text(encoding="utf-8"))


@cache
def _parse(source: str) -> Module:
    module = Module({}, [])
    for statement in _without_docstrings(ast.parse(source)).body:
        names = _names_given(statement)
        for name in names:
            module.named.setdefault(name, []).append(statement)
        if not names:
            module.always.append(statement)
    return module


def _names_given(statement: ast.stmt) -> list[str]:
    """The names that a top-level statement gives a value."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=parts) | ast.ImportFrom(names=parts):
            return [(part.asname or part.name).partition(".")[0] for part in parts]
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            inner = ast.walk(statement)
            return [part.id for part in inner if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        case _:
            return []


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """The same code without docstrings and other bare strings, which have no effect."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
