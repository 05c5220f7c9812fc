"""Figures of fitted models and of cleaned data.

Every function returns a `matplotlib.figure.Figure` and does not touch pyplot, its backend or its settings: a
notebook shows the returned figure, and ``figure.savefig("name.png")`` works without a display. Those of one panel draw
into axes that you give, those of several into your `figure` or a part of it. The style in use is followed.
"""

from latentbits.plots.clusters import (
    plot_bound,
    plot_cluster_means,
    plot_clusters,
    plot_source_densities,
    plot_source_effects,
    plot_strengths,
)
from latentbits.plots.components import plot_components, plot_weights
from latentbits.plots.denoising import plot_denoising
from latentbits.plots.maps import plot_map, plot_responses, plot_variation
from latentbits.plots.mixing import (
    plot_causes,
    plot_loadings,
    plot_mixing,
    plot_pair_fit,
    plot_projections,
    plot_scree,
    plot_sizes,
    plot_source_scales,
)
from latentbits.plots.ordination import plot_ordination, plot_stability
from latentbits.plots.selection import plot_comparison, plot_objective, plot_selection
from latentbits.plots.suspects import plot_check, plot_couplings, plot_member_weights, plot_reliability, plot_suspects

__all__ = [
    "plot_bound",
    "plot_causes",
    "plot_check",
    "plot_cluster_means",
    "plot_clusters",
    "plot_comparison",
    "plot_components",
    "plot_couplings",
    "plot_denoising",
    "plot_loadings",
    "plot_map",
    "plot_member_weights",
    "plot_mixing",
    "plot_objective",
    "plot_ordination",
    "plot_pair_fit",
    "plot_projections",
    "plot_reliability",
    "plot_responses",
    "plot_scree",
    "plot_selection",
    "plot_sizes",
    "plot_source_densities",
    "plot_source_effects",
    "plot_source_scales",
    "plot_stability",
    "plot_strengths",
    "plot_suspects",
    "plot_variation",
    "plot_weights",
]
