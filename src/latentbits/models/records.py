"""The records of the models that have a module each; larger families have theirs in their `__init__`.

As `spec`, this imports nothing but the standard library: `latentbits fit --help` reads it. A new model adds its record
here, in the order in which the command line lists them.
"""

from __future__ import annotations

from typing import Any

from latentbits.constraints import Number
from latentbits.models.abilities import BY_CELL, WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.schema import (
    CELL_MODEL,
    COLUMNS,
    FACTOR_MODEL,
    RESTARTED,
    ROW_FACTS,
    Array,
    Items,
    Named,
    Value,
    sampled,
)
from latentbits.models.spec import ITERATIONS, RESTARTS, ModelSpec, Option, Parameter, components

_HERE = "latentbits.models"

# ---- models that are fitted from several starts ------------------------------------------------------------------

_CLIMBING = WITH_WEIGHTS | WITH_RESTARTS | {Ability.RESTART_COMPONENTS}
_SMOOTHING = {"smoothing": Parameter(Number(0), Option("smoothing", "ones and zeros added to each count"))}
_PSEUDO_COUNTS = {
    "smoothing": Parameter(
        Number(0), Option("smoothing", "what rows and components have seen beside the data; 0: maximum likelihood")
    )
}
_MAXIMUM_LIKELIHOOD = {"smoothing": 0.0}
"""What models that are smoothed by default were fitted by before they had the parameter."""

_PROBABILITIES = Array("K", "D", low=0, high=1)
_SHARES = Array("K", "D", low=1e-11, high=1, total=1)  # at least 1e-10 before they are made to sum to 1


def _restarted(component: Array, **more: Any) -> dict[str, Any]:
    """What a model from several starts holds, with such components."""
    kept = {"components_": component, "restart_components_": Items(component, "R")}
    return {**COLUMNS, **RESTARTED, **FACTOR_MODEL, **kept, **more}


_MIXTURE = ModelSpec(
    "bernoulli-mixture",
    f"{_HERE}.mixture:BernoulliMixture",
    abilities=_CLIMBING,
    parameters={**components(), **RESTARTS, **_SMOOTHING},
    fitted=_restarted(
        Array("K", "D", low=1e-11, high=1 - 1e-11),  # 1e-10 off 0 and 1: no row is impossible
        proportions_=Array("K", low=0, high=1, total=1),
        weights_=Array("N", "K", low=0, high=1, total=1),
    ),
)

_LOGISTIC_PCA = ModelSpec(
    "logistic-pca",
    f"{_HERE}.logistic_pca:LogisticPCA",
    abilities=_CLIMBING,
    parameters={
        **components(),
        **RESTARTS,
        "ridge": Parameter(
            Number(1e-3, optional=True), Option("ridge", "penalty; learned from held-out cells if not given")
        ),
    },
    fitted=_restarted(
        Array("K", "D"), ridge_=Value(float, low=0), singular_values_=Array("K", low=0), intercepts_=Array("D")
    ),
    added=("ridge_",),
    renamed={"bias_": "intercepts_"},
)

_BERNOULLI_NMF = ModelSpec(
    "bernoulli-nmf",
    f"{_HERE}.bernoulli_nmf:BernoulliNMF",
    abilities=_CLIMBING,
    parameters={**components(), **RESTARTS, **_PSEUDO_COUNTS},
    fitted=_restarted(
        _PROBABILITIES,
        average_weights_=Array("K", low=0),
        smoothing_=Value(float, low=0),
        weights_=Array("N", "K", low=0),
    ),
    added=("smoothing_",),
    formerly=_MAXIMUM_LIKELIHOOD,
)

_PLSA = ModelSpec(
    "plsa",
    f"{_HERE}.plsa:PLSA",
    abilities=_CLIMBING,
    parameters={**components(), **RESTARTS, **_PSEUDO_COUNTS},
    fitted=_restarted(
        _SHARES,
        weights_=Array("N", "K", low=0, high=1),
        row_intensity_=Array("N", low=0),
        smoothing_=Value(float, low=0),
        _average=Array("K", low=0),
    ),
    added=("smoothing_",),
    formerly=_MAXIMUM_LIKELIHOOD,
)

# ---- probit factors, which are sampled ---------------------------------------------------------------------------

_LARGEST_SAMPLE = 1e4
"""With scores beyond 40 a cell is certain, and far beyond a sampler of rows wouldn't end."""

_PROBIT_FACTORS = ModelSpec(
    "probit-factors",
    f"{_HERE}.probit_factors:ProbitFactors",
    abilities=_CLIMBING | {Ability.INTERVALS, Ability.CHAINS, Ability.KNOW_ROWS},
    parameters={
        **components("at most: needless ones shrink"),
        "row_effects": Parameter(None),
        "n_samples": Parameter(Number(1, integer=True), Option("samples", "posterior samples of a chain")),
        "n_burn": Parameter(Number(0, integer=True), Option("burn", "sweeps before the first sample")),
        "thin": Parameter(Number(1, integer=True), Option("thin", "sweeps from a sample to the next")),
        **{name: RESTARTS[name] for name in ("n_init", "random_state", "n_jobs")},
    },
    fitted=_restarted(
        Array("K", "D"),
        relevance_=Array("K", low=0),
        intercepts_=Array("D"),
        row_effects_=Array("N"),
        _row_facts=ROW_FACTS,
        _n_known=Value(int, low=0, high=10**6, size="F"),
        _training_draws=Array("N", None, ("P", "F"), dtype="float32", low=-_LARGEST_SAMPLE, high=_LARGEST_SAMPLE),
        _samples=Named(
            "FactorSamples",
            **sampled("bias"),
            theta=Array("S", "D", ("Q", "F"), dtype="float32", low=-_LARGEST_SAMPLE, high=_LARGEST_SAMPLE),
        ),
        _space=Named(
            "SpaceSamples",
            optional=True,
            scales=Array("S", "P", dtype="int64", low=0, high=4),
            coefficients=Array("S", "P", None, dtype="float32"),
            turns=Array("S", "K", "K", dtype="float32"),
        ),
    ),
    sizes={"K": ("n_components",), "P": ("n_components", "row_effects"), "Q": (1, "n_components", "row_effects")},
    added=("_n_known", "_space"),
    renamed={"bias_": "intercepts_"},
    stored_types=(f"{_HERE}.probit_sampler:FactorSamples", f"{_HERE}.probit_sampler:SpaceSamples"),
)

# ---- factorisations of scikit-learn, which are not generative ----------------------------------------------------

_ADAPTED = _CLIMBING - {Ability.SAMPLE, Ability.INFORMATION_CRITERIA}

_NMF = ModelSpec(
    "nmf",
    f"{_HERE}.adapted:NMF",
    abilities=_ADAPTED,
    parameters={**components(), **RESTARTS},
    fitted=_restarted(
        Array("K", "D", low=0),
        column_share_=Array("D", low=0, high=1),
        weights_=Array("N", "K", low=0),
        _unmixing=Array(0, 0),
    ),
)

_FAST_ICA = ModelSpec(
    "fast-ica",
    f"{_HERE}.adapted:FastICA",
    abilities=_ADAPTED,
    parameters={**components(), **RESTARTS},
    fitted=_restarted(Array("K", "D"), column_share_=Array("D", low=0, high=1), _unmixing=Array("K", "D")),
)

# ---- models without hidden causes --------------------------------------------------------------------------------

_INDEPENDENT = ModelSpec(
    "independent",
    f"{_HERE}.independent:IndependentBernoulli",
    abilities=WITH_WEIGHTS,
    parameters=_SMOOTHING,
    fitted={
        **COLUMNS,
        **FACTOR_MODEL,
        "components_": Array(1, "D", low=0, high=1),
        "weights_": Array("N", 1, low=1, high=1),
        "objective_": Value(float),
    },
)

_ROW_COLUMN = ModelSpec(
    "row-column",
    f"{_HERE}.independent:RowColumnBernoulli",
    abilities=WITH_WEIGHTS,
    parameters={
        "ridge": Parameter(
            Number(1e-6, optional=True),
            Option("ridge", "how strongly rows are held to be alike; chosen from the data if not given"),
        ),
        "smoothing": Parameter(
            Number(1e-6), Option("smoothing", "half the cells, of the table's share of ones, added to each column")
        ),
    },
    fitted={
        **COLUMNS,
        **FACTOR_MODEL,
        "components_": Array(1, "D", low=1e-15, high=1 - 1e-15),
        "weights_": Array("N", 1),
        "ridge_": Value(float, low=0),
        "objective_": Value(float),
    },
)

# ---- models that predict each cell from the others of its row, by couplings of columns ---------------------------

_RIDGE = {"ridge": Parameter(Number(1e-3), Option("ridge", "how strongly couplings are held to 0"))}

_COUPLED = {
    **COLUMNS,
    **CELL_MODEL,
    "means_": Array("D", low=0, high=1),
    "couplings_": Array("D", "D"),
    "objective_": Value(float),
}

_ISING = ModelSpec(
    "ising",
    f"{_HERE}.conditional:IsingModel",
    abilities=BY_CELL | {Ability.COUPLINGS, Ability.ITERATE},
    findings="cells",
    parameters={**_RIDGE, **ITERATIONS},
    fitted={
        **_COUPLED,
        **{name: RESTARTED[name] for name in ("objective_history_", "n_iter_", "converged_")},
        "intercepts_": Array("D"),
        "gradient_norm_": Value(float, low=0),
    },
    added=("n_rows_",),
    renamed={"data_fingerprint_": "data_checksum_", "bias_": "intercepts_"},
)

_LINEAR_AUTOENCODER = ModelSpec(
    "linear-autoencoder",
    f"{_HERE}.conditional:LinearAutoencoder",
    abilities=BY_CELL | {Ability.COUPLINGS},
    findings="cells",
    parameters=_RIDGE,
    fitted=_COUPLED,
    added=("n_rows_",),
    renamed={"data_fingerprint_": "data_checksum_"},
)

SPECS = (
    _MIXTURE,
    _LOGISTIC_PCA,
    _BERNOULLI_NMF,
    _PLSA,
    _PROBIT_FACTORS,
    _NMF,
    _FAST_ICA,
    _INDEPENDENT,
    _ROW_COLUMN,
    _ISING,
    _LINEAR_AUTOENCODER,
)
