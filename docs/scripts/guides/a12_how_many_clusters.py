"""
How many clusters?
==================

A mixture always returns a number of clusters. You should ask whether another seed, another criterion or another
starting number would have given a different one, and this guide shows how, with measurements of wines from three
cultivars, which the model doesn't see.
"""

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

import latentbits as lb

wine = load_wine(as_frame=True)
X = wine.data

# %%
# **What a fit finds by default.** It begins with more clusters than expected (ten by default) and removes redundant
# ones. `n_clusters` is the number at the start, `n_clusters_` (with an underscore) the number found.

model = lb.ICAMixture(n_init=3, random_state=0, n_jobs=2).fit(X)
print(f"began with {model.n_clusters}, found {model.n_clusters_}")
print("of sizes", model.proportions_.round(2))

# %%
# What happened to the others? Every trial is recorded; those that were not kept end with "undo".

moves = model.history_.query("move in ['delete', 'split']")
moves.groupby(["move", "kept"]).size().rename("trials").to_frame()

# %%
# **Other criteria.** Two neighbouring clusters can also be described as one whose source has two humps, which needs
# fewer parameters: a second cluster has its own directions. `criterion="clusters"`, the default, treats humps as
# clusters; `criterion="bound"` prefers the cheaper description. The last column is the agreement of the groups with the
# cultivars (1 is perfect, 0 is chance), which you won't have in practice.

ways = {
    "the fit above": model,
    "started with six": lb.ICAMixture(6, n_init=3, random_state=0, n_jobs=2).fit(X),
    "by the bound": lb.ICAMixture(criterion="bound", n_init=5, random_state=0, n_jobs=2).fit(X),
}
pd.DataFrame(
    [(name, fit.n_clusters_, adjusted_rand_score(wine.target, fit.labels_)) for name, fit in ways.items()],
    columns=["fit", "clusters", "agreement"],
).round(2)

# %%
# **What predicts best?** More clusters are justified if they better predict wines that the fit hasn't seen.
# `select_order` fits each number, without splitting or removing clusters, and evaluates held-out rows ("cv") as well as
# the bound on the evidence.

found = lb.select_order(
    lb.ICAMixture(n_init=2), X, [2, 3, 4, 5], criterion=["cv", "evidence"], n_folds=5, random_state=0, n_jobs=2
)
found

# %%
# `rival` is the smallest number within one standard error of the best. The evidence bound penalises every parameter of
# every cluster, and there are few rows to estimate them from, so it selects the fewest (one cluster is tried, too).

found.choices

# %%
# The table has each number's distance from the best (``cv_behind``) with its standard error. Where two numbers are that
# close, other folds may reverse their order.

found.table.round(2)

# %%
# Bars are standard errors of the difference from the best, as all numbers were evaluated on the same rows.

found.plot()

# %%
# All of these models are already fitted; their agreement with the cultivars is:

pd.Series(
    {k: adjusted_rand_score(wine.target, fit.labels_) for k, fit in found.models.items()}, name="agreement"
).round(2)

# %%
# **Look at the clusters, first at their sizes.** A cluster with no rows, or only a handful, collects rows that fit
# nowhere else: it may improve prediction slightly, but it is not a group. Choose the largest number whose clusters all
# have enough rows to be described.

sizes = {k: pd.Series(fit.labels_).value_counts().tolist() for k, fit in found.models.items()}
enough = [k for k, n in sizes.items() if len(n) == k and min(n) >= len(X) // 10]
sizes

# %%
# Don't publish a cluster that you can't describe. Cluster means, in standard deviations from the overall mean, the most
# distinctive measurements first:

chosen = found.models[max(enough)]
lb.plots.plot_cluster_means(chosen, X)

# %%
# **Repeat with another seed**, and compare the groups of rows, not the numbers. (`component_stability` can't be used:
# restarts may end with different numbers of clusters.)

again = lb.ICAMixture(chosen.n_clusters, n_init=2, split=False, delete=False, random_state=1, n_jobs=2).fit(X)
print(f"agreement of two seeds: {adjusted_rand_score(chosen.labels_, again.labels_):.2f}")

# %%
# In short: let the default find a number; check on held-out rows whether more clusters predict better; choose the
# smallest number that isn't worse; if one of its clusters has hardly any rows, or can't be described, choose one fewer;
# and repeat with another seed. On the command line:
# ``latentbits select wine.csv --model ica-mixture --clusters 2:5 --criterion cv,evidence``.
