"""latentbits: the hidden causes in binary (0-1) data.

Public names are imported when first used: the command line would otherwise pay for the compiler on `--help`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from latentbits.version import __version__

if TYPE_CHECKING:
    from latentbits import datasets, metrics, plots, sequences, simulate
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.readers import read_table
    from latentbits.errors import DataError, ModelFileError
    from latentbits.models.adapted.estimator import NMF, FastICA
    from latentbits.models.aspect.estimator import AspectBernoulli, BetaICA
    from latentbits.models.bernoulli_nmf.estimator import BernoulliNMF
    from latentbits.models.binary_ica.tetrachoric import tetrachoric
    from latentbits.models.logistic_pca.estimator import LogisticPCA
    from latentbits.models.mixture.estimator import BernoulliMixture
    from latentbits.models.plsa.estimator import PLSA
    from latentbits.persistence import load_model, save_model
    from latentbits.tasks.compare import compare
    from latentbits.tasks.select import select_order
    from latentbits.tasks.stability import component_stability

_HOME = {
    "NMF": "latentbits.models.adapted.estimator",
    "PLSA": "latentbits.models.plsa.estimator",
    "AspectBernoulli": "latentbits.models.aspect.estimator",
    "BernoulliMixture": "latentbits.models.mixture.estimator",
    "BernoulliNMF": "latentbits.models.bernoulli_nmf.estimator",
    "BetaICA": "latentbits.models.aspect.estimator",
    "BinaryData": "latentbits.data.binary_data",
    "DataError": "latentbits.errors",
    "FastICA": "latentbits.models.adapted.estimator",
    "LogisticPCA": "latentbits.models.logistic_pca.estimator",
    "ModelFileError": "latentbits.errors",
    "compare": "latentbits.tasks.compare",
    "component_stability": "latentbits.tasks.stability",
    "load_model": "latentbits.persistence",
    "read_table": "latentbits.data.readers",
    "save_model": "latentbits.persistence",
    "select_order": "latentbits.tasks.select",
    "tetrachoric": "latentbits.models.binary_ica.tetrachoric",
}
_MODULES = ("datasets", "metrics", "plots", "sequences", "simulate")

__all__ = [
    "NMF",
    "PLSA",
    "AspectBernoulli",
    "BernoulliMixture",
    "BernoulliNMF",
    "BetaICA",
    "BinaryData",
    "DataError",
    "FastICA",
    "LogisticPCA",
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
    "sequences",
    "simulate",
    "tetrachoric",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"latentbits.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'latentbits' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
