"""scikit-learn's factorisations behind this library's interface, to be compared with its own models."""

from latentbits.models.spec import RESTARTS, ModelSpec, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec("nmf", "latentbits.models.adapted.estimator:NMF", parameters={**components(), **RESTARTS}),
    ModelSpec("fast-ica", "latentbits.models.adapted.estimator:FastICA", parameters={**components(), **RESTARTS}),
)
