"""Probabilistic latent semantic analysis: the aspect model of the ones alone."""

from latentbits.models.spec import RESTARTS, ModelSpec, components

__all__ = ["SPECS"]

SPECS = (ModelSpec("plsa", "latentbits.models.plsa.estimator:PLSA", parameters={**components(), **RESTARTS}),)
