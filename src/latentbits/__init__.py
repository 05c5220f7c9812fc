"""latentbits: the hidden causes in binary (0-1) data.

Public names are imported when first used: the command line would otherwise pay for the compiler on `--help`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from latentbits.version import __version__

if TYPE_CHECKING:
    from latentbits import datasets, metrics, plots, simulate
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.readers import read_table
    from latentbits.errors import DataError, ModelFileError
    from latentbits.models.aspect.estimator import AspectBernoulli, BetaICA
    from latentbits.persistence import load_model, save_model

_HOME = {
    "AspectBernoulli": "latentbits.models.aspect.estimator",
    "BetaICA": "latentbits.models.aspect.estimator",
    "BinaryData": "latentbits.data.binary_data",
    "DataError": "latentbits.errors",
    "ModelFileError": "latentbits.errors",
    "load_model": "latentbits.persistence",
    "read_table": "latentbits.data.readers",
    "save_model": "latentbits.persistence",
}
_MODULES = ("datasets", "metrics", "plots", "simulate")

__all__ = [
    "AspectBernoulli",
    "BetaICA",
    "BinaryData",
    "DataError",
    "ModelFileError",
    "__version__",
    "datasets",
    "load_model",
    "metrics",
    "plots",
    "read_table",
    "save_model",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"latentbits.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'latentbits' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
