"""The aspect family: every cell of a row picks its own cause from the row's mixture of components."""

from typing import Any, Literal, get_args

from latentbits.constraints import Choice, Number
from latentbits.models.abilities import WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.schema import (
    COLUMNS,
    FACTOR_MODEL,
    RESTARTED,
    Array,
    Entries,
    Frame,
    Items,
    Named,
    Same,
    Texts,
    Value,
    sampled,
)
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS", "EvidenceMethod", "Inference", "Noise", "Zeros"]

Inference = Literal["vb", "em", "gibbs"]
EvidenceMethod = Literal["bound", "ti"]

Noise = Literal["white", "black", "both", "auto"]
Zeros = Literal["auto", "exact", "expanded"]

_SHARED = {
    **components("how many, phantoms included but for --noise"),
    **RESTARTS,
    "phantom_threshold": Parameter(Number(0, below=1)),
    "noise": Parameter(
        Choice(get_args(Noise), optional=True),
        Option(
            "noise",
            "blank (white) or full components beside the others; auto keeps those that the data need: better at "
            "finding false cells, seldom at predicting, four fits",
        ),
    ),
    "noise_rate": Parameter(Number(1e-9, below=0.1, optional=True)),
    "batch_size": Parameter(
        Number(1, integer=True, optional=True),
        Option("batch_size", "begin with steps on random batches of so many rows, for large tables"),
    ),
    "learning_decay": Parameter(Number(0, below=1)),
    "learning_offset": Parameter(Number(0)),
    "total_samples": Parameter(Number(0, above=True, optional=True)),
    "warm_start": Parameter(None),
    "checkpoint": Parameter(
        None,
        Option("checkpoint", "a folder for positions of the starts: an interrupted fit, made again, goes on there"),
    ),
}
_HERE = "latentbits.models.aspect"
_STORED = (f"{_HERE}.aspect_model:Components", f"{_HERE}.online:RunningSums")

_PROBABILITIES = Array("K", "D", low=0, high=1)
_COMPONENTS: dict[str, Any] = {
    "mean": _PROBABILITIES,
    "H1": _PROBABILITIES,
    "H0": _PROBABILITIES,
    "share": Array("K", low=0, high=1),  # of all: what was pruned had a share too
    "kinds": Texts("K", ("content", "white", "black"), optional=True),
}
_POSTERIOR: dict[str, Any] = {
    **{name: Array("K", "D", low=0, optional=True) for name in ("alpha", "beta")},
    "gamma": Value(float, low=0, optional=True),
}

NOISE_TRIALS = Frame(
    None,
    optional=True,
    model=Texts("n"),
    objective=Array("n"),
    gain_per_row=Array("n"),
    needed=Array("n"),
    kept=Array("n", dtype="bool"),
)


def _fitted(**components: Any) -> dict[str, Any]:
    """What both models hold, with these components."""
    return {
        **COLUMNS,
        **RESTARTED,
        **FACTOR_MODEL,
        "_components": Named("Components", **components),
        "_restart_components": Items(Named("Components", **components), "R", own="K"),
        "components_": Same("_components", "mean"),
        "phantoms_": Texts("K", ("content", "white", "black", "extinct")),
        "weights_": Array("N", "K", low=0, high=1, total=1),
        "noise_trials_": NOISE_TRIALS,
        "_running_sums": Named(
            "RunningSums",
            optional=True,
            n1=Array("K", "D", low=0),
            n0=Array("K", "D", low=0),
            n_steps=Value(int, low=0),
            weight=Value(float, low=0),
            log_weight=Value(float, high=0, optional=True),
        ),
    }


_ABILITIES = WITH_WEIGHTS | WITH_RESTARTS
_ABILITIES |= {Ability.RESTART_COMPONENTS, Ability.EXPLAIN_CELLS, Ability.DENOISE}

SPECS = (
    ModelSpec(
        "aspect-bernoulli",
        f"{_HERE}.aspect_bernoulli:AspectBernoulli",
        abilities=_ABILITIES,
        findings="aspect",
        on_cluster=True,
        parameters={
            **_SHARED,
            "smoothing": Parameter(
                Number(0),
                Option("smoothing", "cells at the column's frequency added to each component's; 0: maximum likelihood"),
            ),
            "zeros": Parameter(
                Choice(get_args(Zeros)),
                Option("zeros", "sparse data: visit all zeros, or expand them with a bounded error; auto by the cost"),
            ),
        },
        fitted={
            **_fitted(**_COMPONENTS),
            "expansion_": Entries(
                {"log_likelihood": Value(float), "bound": Value(float), "exact_columns": Value(int)}, optional=True
            ),
        },
        stored_types=_STORED,
        formerly={"smoothing": 0.0},
    ),
    ModelSpec(
        "beta-ica",
        f"{_HERE}.beta_ica:BetaICA",
        abilities=_ABILITIES | {Ability.EVIDENCE, Ability.INTERVALS, Ability.CHAINS, Ability.FIND_NUMBER},
        findings="aspect",
        on_cluster=True,
        parameters={
            **_SHARED,
            "inference": Parameter(
                Choice(get_args(Inference)),
                Option(
                    "inference", "variational Bayes, variational EM, or sampling (gibbs; --restarts are its chains)"
                ),
            ),
            # Below these the exponentiated expected logarithms underflow, and unseen values become impossible.
            "alpha": Parameter(Number(0.05), Option("alpha", "prior weight of ones")),
            "beta": Parameter(Number(0.05), Option("beta", "prior weight of zeros")),
            "gamma": Parameter(
                Number(0.001, optional=True), Option("gamma", "prior of a row's weights, learned unless it is given")
            ),
            "inner_max_iter": Parameter(Number(1, integer=True)),
            "inner_tol": Parameter(Number(0)),
            "n_samples": Parameter(Number(1, integer=True), Option("samples", "posterior samples of a chain (gibbs)")),
            "n_burn": Parameter(Number(0, integer=True), Option("burn", "sweeps before the first sample (gibbs)")),
            "thin": Parameter(Number(1, integer=True), Option("thin", "sweeps from a sample to the next (gibbs)")),
        },
        fitted={
            **_fitted(**_COMPONENTS, **_POSTERIOR),
            "_samples": Named(
                "Posterior",
                optional=True,
                **sampled(),
                H=Array("S", "K", "D", dtype="float32", low=0, high=1),
                gamma=Array("S", low=0, optional=True),
            ),
        },
        stored_types=(*_STORED, f"{_HERE}.gibbs:Posterior"),
    ),
)
