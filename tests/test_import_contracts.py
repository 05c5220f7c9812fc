"""The import contracts of pyproject.toml, which `make check` runs, cover everything that they should."""

import tomllib
from pathlib import Path

from latentbits.models.registry import MODELS

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def modules_in(folder: str) -> set[str]:
    """Names of the modules and packages in a folder of the library."""
    entries = (ROOT / "src" / "latentbits" / folder).iterdir()
    return {entry.stem for entry in entries if entry.suffix == ".py" or (entry / "__init__.py").exists()} - {"__init__"}


def test_every_family_of_models_is_independent_of_the_others():
    """All modules are held apart by one pattern; the exceptions are what families are built on, and two above them."""
    (contract,) = (c for c in CONTRACTS if c["type"] == "independence")
    assert contract["modules"] == ["latentbits.models.*"]
    inside = [pair.split(" -> ") for pair in contract["ignore_imports"] if pair.count("latentbits.models.") == 2]
    shared = {target for source, target in inside if source == "latentbits.models.**"}
    assert not {spec.module for spec in MODELS.values()} & shared, "a family is known to no other"
    above = {source.removesuffix(".**") for source, target in inside if target == "latentbits.models.**"}
    assert above == {"latentbits.models.registry", "latentbits.models.false_zeros"}


def test_every_part_of_the_library_has_its_layer():
    contract, inside = (c for c in CONTRACTS if c["type"] == "layers")
    assert set(inside["layers"]) == {f"latentbits.cli.{name}" for name in modules_in("cli")}
    placed = {name.strip() for layer in contract["layers"] for name in layer.split(":")}
    anywhere = {"version"}  # a constant
    parts = {f"latentbits.{name}" for name in modules_in(".") - anywhere - {"storage"}}
    assert placed == parts | {f"latentbits.storage.{name}" for name in modules_in("storage")}
