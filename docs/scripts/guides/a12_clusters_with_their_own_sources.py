"""
Clusters with their own sources
===============================

Rows may fall into groups, and within each group the numbers may vary along their own directions: types of cells,
regimes of a market, stages of a disease. `ICAMixture` finds the groups, the directions within each, and the number of
both.
"""

import numpy as np

import latentbits as lb

turn = lambda angle: np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
mixing = [turn(0.3) * [1.0, 0.35], turn(1.4) * [1.2, 0.25], turn(2.3) * [0.8, 0.5]]
truth = lb.simulate.ica_mixture(mixing, n_points=250, separation=4, random_state=0)

model = lb.ICAMixture(6, 2, n_init=2, random_state=0, n_jobs=2).fit(truth.X)
lb.plots.plot_clusters(model, truth.X)

# %%
# The fit began with six clusters (`n_clusters`) and removed redundant ones. `n_clusters_` is the number that remains,
# and `n_sources_` is the number of directions of each.

print(f"{model.n_clusters_} clusters of sizes {model.proportions_.round(2)}, with {model.n_sources_} sources")

# %%
# The densities of the sources show what kind of variation it is: skewed, flat, heavy-tailed.

lb.plots.plot_source_densities(model, truth.X)

# %%
# What distinguishes the clusters: the means of their rows. With more than two columns, this is the figure to look at.

lb.plots.plot_cluster_means(model, truth.X)

# %%
# Clusters of new rows, and their probabilities:

new = truth.X[:5] + 0.05
print(model.predict(new))
model.predict_proba(new).round(2)

# %%
# How well were the groups recovered? 1 is perfect, up to their labels.

from sklearn.metrics import adjusted_rand_score

print(f"{adjusted_rand_score(truth.labels, model.predict(truth.X)):.3f}")

# %%
# These clusters are far apart. Where clusters overlap, their number depends on the start and on the criterion:
# :doc:`a12_how_many_clusters`.
