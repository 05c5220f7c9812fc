"""latentbits: the hidden causes in binary (0-1) data.

Public is what can be imported from `latentbits` (its `__all__`), the names in `__all__` of its modules `datasets`,
`metrics`, `plots`, `sequences` and `simulate`, and the public attributes and methods of what these return; every other
module is private and may change in any version.
"""

# Names are imported on first use: otherwise even `latentbits --help` would have to import Numba.

from importlib import import_module
from typing import TYPE_CHECKING, Any

from latentbits.models.registry import MODELS
from latentbits.version import __version__

if TYPE_CHECKING:
    from latentbits import datasets, metrics, plots, sequences, simulate
    from latentbits.correlations.factor_analysis import factor_analysis
    from latentbits.correlations.parallel_analysis import parallel_analysis
    from latentbits.correlations.repair import repair_correlation
    from latentbits.correlations.tetrachoric import tetrachoric
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.histories import Histories
    from latentbits.data.marks import apply_marks
    from latentbits.data.readers import read_histories, read_table
    from latentbits.data.row_facts import RowFacts
    from latentbits.data.segments import segments_by_length
    from latentbits.errors import DataError, DegenerateDataWarning, ModelFileError
    from latentbits.findings.account import Findings
    from latentbits.findings.analyse import analyse
    from latentbits.findings.methods import methods_text
    from latentbits.models.adapted import NMF, FastICA
    from latentbits.models.aspect.aspect_bernoulli import AspectBernoulli
    from latentbits.models.aspect.beta_ica import BetaICA
    from latentbits.models.bernoulli_nmf import BernoulliNMF
    from latentbits.models.binary_factors.encoders import solve_bqp
    from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
    from latentbits.models.binary_ica.blica import fit_blica
    from latentbits.models.binary_ica.estimator import BinaryICA
    from latentbits.models.binary_ica.identifiability import (
        identifiability,
        identifiability_rank,
        mean_cosine_similarity,
    )
    from latentbits.models.binary_ica.parameters import pairwise_from_model
    from latentbits.models.conditional import IsingModel, LinearAutoencoder
    from latentbits.models.false_zeros.ensemble import FalseZeros
    from latentbits.models.ica_mixture.estimator import ICAMixture
    from latentbits.models.independent import IndependentBernoulli, RowColumnBernoulli
    from latentbits.models.logistic_pca import LogisticPCA
    from latentbits.models.mixture import BernoulliMixture
    from latentbits.models.plsa import PLSA
    from latentbits.models.probit_factors import ProbitFactors
    from latentbits.models.repeated_survey import RepeatedSurvey
    from latentbits.storage.persistence import load_model, save_model
    from latentbits.tasks.associations import associations, weights_over
    from latentbits.tasks.check import check
    from latentbits.tasks.choose import choose
    from latentbits.tasks.compare import compare
    from latentbits.tasks.select import select_order
    from latentbits.tasks.stability import component_stability
    from latentbits.tasks.verdict import verdict

# A literal, which type checkers can read; a test compares it with the homes of the names.
__all__ = [
    "NMF",
    "PLSA",
    "AspectBernoulli",
    "BernoulliMixture",
    "BernoulliNMF",
    "BetaICA",
    "BinaryData",
    "BinaryFactorAnalysis",
    "BinaryICA",
    "DataError",
    "DegenerateDataWarning",
    "FalseZeros",
    "FastICA",
    "Findings",
    "Histories",
    "ICAMixture",
    "IndependentBernoulli",
    "IsingModel",
    "LinearAutoencoder",
    "LogisticPCA",
    "ModelFileError",
    "ProbitFactors",
    "RepeatedSurvey",
    "RowColumnBernoulli",
    "RowFacts",
    "__version__",
    "analyse",
    "apply_marks",
    "associations",
    "check",
    "choose",
    "compare",
    "component_stability",
    "datasets",
    "factor_analysis",
    "fit_blica",
    "identifiability",
    "identifiability_rank",
    "load_model",
    "mean_cosine_similarity",
    "methods_text",
    "metrics",
    "pairwise_from_model",
    "parallel_analysis",
    "plots",
    "read_histories",
    "read_table",
    "repair_correlation",
    "save_model",
    "segments_by_length",
    "select_order",
    "sequences",
    "simulate",
    "solve_bqp",
    "tetrachoric",
    "verdict",
    "weights_over",
]

_HOME = {
    "BinaryData": "latentbits.data.binary_data",
    "DataError": "latentbits.errors",
    "DegenerateDataWarning": "latentbits.errors",
    "Histories": "latentbits.data.histories",
    "ModelFileError": "latentbits.errors",
    "RowFacts": "latentbits.data.row_facts",
    "apply_marks": "latentbits.data.marks",
    "associations": "latentbits.tasks.associations",
    "weights_over": "latentbits.tasks.associations",
    "check": "latentbits.tasks.check",
    "choose": "latentbits.tasks.choose",
    "compare": "latentbits.tasks.compare",
    "component_stability": "latentbits.tasks.stability",
    "factor_analysis": "latentbits.correlations.factor_analysis",
    "fit_blica": "latentbits.models.binary_ica.blica",
    "identifiability": "latentbits.models.binary_ica.identifiability",
    "identifiability_rank": "latentbits.models.binary_ica.identifiability",
    "load_model": "latentbits.storage.persistence",
    "Findings": "latentbits.findings.account",
    "analyse": "latentbits.findings.analyse",
    "methods_text": "latentbits.findings.methods",
    "mean_cosine_similarity": "latentbits.models.binary_ica.identifiability",
    "parallel_analysis": "latentbits.correlations.parallel_analysis",
    "pairwise_from_model": "latentbits.models.binary_ica.parameters",
    "read_histories": "latentbits.data.readers",
    "read_table": "latentbits.data.readers",
    "repair_correlation": "latentbits.correlations.repair",
    "save_model": "latentbits.storage.persistence",
    "segments_by_length": "latentbits.data.segments",
    "select_order": "latentbits.tasks.select",
    "solve_bqp": "latentbits.models.binary_factors.encoders",
    "tetrachoric": "latentbits.correlations.tetrachoric",
    "verdict": "latentbits.tasks.verdict",
    **{spec.class_name: spec.module for spec in MODELS.values()},
}
_MODULES = ("datasets", "metrics", "plots", "sequences", "simulate")


if not TYPE_CHECKING:  # else type checkers would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"latentbits.{name}")
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        raise AttributeError(f"module 'latentbits' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
