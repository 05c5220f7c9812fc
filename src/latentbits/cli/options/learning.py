"""The options of fitting, whatever the model, and what they mean to each."""

from __future__ import annotations

import math

import click

from latentbits.cli.options.click_helpers import Values
from latentbits.cli.options.value_types import Numbers

__all__ = ["LEARNING", "parameters_of"]


def not_zero(ctx: click.Context, option: click.Parameter, value: int) -> int:
    """Refuse 0 jobs, which mean nothing; negative numbers count from all cores."""
    if value == 0:
        raise click.BadParameter("use 1 or more, or -1 for all cores", ctx, option)
    return value


def finite(ctx: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse infinity and NaN, which click's ranges let pass."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("this is not a finite number", ctx, option)
    return value


LEARNING: dict[str, Values] = {
    "components": {
        "type": Numbers(),
        "metavar": "NUMBER|RANGE",
        "help": "How many, phantoms included; of binary-factors at most. The best of a range 2:8 or a list 2,4,8 is "
        "chosen.  [required but for binary-ica, ica-mixture]",
    },
    "restarts": {
        "type": click.IntRange(min=1),
        "default": 10,
        "show_default": True,
        "help": "Random starts.",
    },
    "seed": {
        "type": click.IntRange(min=0),
        "default": 0,
        "show_default": True,
        "help": "Same seed, same answer.",
    },
    "jobs": {
        "type": int,
        "default": -1,
        "callback": not_zero,
        "help": "Threads; -1 is all cores.  [default: -1]",
    },
    "max_iter": {
        "type": click.IntRange(min=1),
        "help": "Passes a start may make.  [default: the model's own]",
    },
    "tol": {
        "type": click.FloatRange(min=0),
        "callback": finite,
        "help": "A start has converged when a cell's log likelihood rises less.  [default: the model's own]",
    },
    "inference": {
        "type": click.Choice(["vb", "em", "byy"]),
        "help": "beta-ica: variational Bayes or variational EM; binary-factors: those, or Bayesian Ying-Yang.",
    },
    "alpha": {"type": click.FloatRange(min=0.05), "callback": finite, "help": "beta-ica: prior weight of ones."},
    "beta": {"type": click.FloatRange(min=0.05), "callback": finite, "help": "beta-ica: prior weight of zeros."},
    "smoothing": {
        "type": click.FloatRange(min=0),
        "callback": finite,
        "help": "bernoulli-mixture: ones and zeros added to each count.",
    },
    "gamma": {"type": click.FloatRange(min=0.001), "callback": finite, "help": "beta-ica: prior of a row's weights."},
    "ridge": {"type": click.FloatRange(min=1e-6), "callback": finite, "help": "logistic-pca: penalty."},
    "method": {"type": click.Choice(["blica", "mle", "ivae"]), "help": "binary-ica: how to fit."},
    "encoder": {
        "type": click.Choice(["round", "cdual", "greedy", "enum"]),
        "help": "binary-factors: how byy finds codes.",
    },
    "clusters": {"type": click.IntRange(min=1), "help": "ica-mixture: how many to begin with."},
    "sources": {"type": click.IntRange(min=1), "help": "ica-mixture: of each cluster, at most."},
    "gaussians": {"type": click.IntRange(min=1), "help": "ica-mixture: of each source; 1 for factor analysers."},
}
"""The options of fitting, for `bundled`."""

_PARAMETERS = {
    "components": "n_components",
    "restarts": "n_init",
    "seed": "random_state",
    "jobs": "n_jobs",
    "clusters": "n_clusters",
    "sources": "n_sources",
    "gaussians": "n_gaussians",
}
_NUMBER_FREE = ("binary-ica", "ica-mixture")
"""Models that don't need to be told a number of components."""


def parameters_of(learning: Values, model: str, *, known_only: bool = False) -> Values:
    """The options of fitting as a model's parameters; what wasn't given is left to the model.

    An option that the model doesn't have is an error, or is left out if `known_only`.
    """
    from latentbits.models.registry import model_class

    if learning.get("components", 1) is None and model not in _NUMBER_FREE:
        raise click.UsageError("Missing option '--components'.")
    told = {_PARAMETERS.get(key, key): (key, value) for key, value in learning.items() if value is not None}
    known = model_class(model)().get_params()
    for parameter, (key, _) in told.items():
        if parameter not in known and not known_only:
            option = key.replace("_", "-")
            raise click.UsageError(f"--{option} is not an option of {model}; leave it out, or choose another --model")
    return {parameter: value for parameter, (_, value) in told.items() if parameter in known}
