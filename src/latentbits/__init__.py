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
    from latentbits.models.mixture.estimator import BernoulliMixture
    from latentbits.persistence import load_model, save_model
    from latentbits.tasks.compare import compare
    from latentbits.tasks.select import select_order
    from latentbits.tasks.stability import component_stability

_HOME = {
    "AspectBernoulli": "latentbits.models.aspect.estimator",
    "BernoulliMixture": "latentbits.models.mixture.estimator",
    "BetaICA": "latentbits.models.aspect.estimator",
    "BinaryData": "latentbits.data.binary_data",
    "DataError": "latentbits.errors",
    "ModelFileError": "latentbits.errors",
    "compare": "latentbits.tasks.compare",
    "component_stability": "latentbits.tasks.stability",
    "load_model": "latentbits.persistence",
    "read_table": "latentbits.data.readers",
    "save_model": "latentbits.persistence",
    "select_order": "latentbits.tasks.select",
}
_MODULES = ("datasets", "metrics", "plots", "simulate")

__all__ = [
    "AspectBernoulli",
    "BernoulliMixture",
    "BetaICA",
    "BinaryData",
    "DataError",
    "ModelFileError",
    "__version__",
    "compare",
    "component_stability",
    "datasets",
    "load_model",
    "metrics",
    "plots",
    "read_table",
    "save_model",
    "select_order",
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
