"""
How many clusters?
==================

A mixture always gives a number. Whether another start, another criterion or another number to begin with would have
given a different one is up to you to ask, and `ICAMixture` has the means. Here with measurements of wines, from three
cultivars, which no fit is told of.
"""

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

import latentbits as lb

wine = load_wine(as_frame=True)
X = wine.data

# %%
# **What a fit finds by itself.** It begins with more clusters than there should be, ten unless told otherwise, and
# removes those that others can replace. So `n_clusters` is where it begins, and `n_clusters_` (with an underscore) what
# it has found.

model = lb.ICAMixture(n_init=3, random_state=0, n_jobs=2).fit(X)
print(f"began with {model.n_clusters}, found {model.n_clusters_}")
print("of sizes", model.proportions_.round(2))

# %%
# Where did the others go? Every trial is on record: those that were not kept end with "undo".

moves = model.history_.query("move in ['delete', 'split']")
moves.groupby(["move", "kept"]).size().rename("trials").to_frame()

# %%
# **Other ways to ask.** Two clusters near each other can also be told as one, whose source has two humps, and that is
# cheaper: the second cluster has to pay for directions of its own. `criterion="clusters"`, the default, calls humps
# clusters; `criterion="bound"` takes what is cheaper. The last column is how far the groups agree with the cultivars
# (1 is perfect, 0 is chance), which you won't have.

ways = {
    "the fit above": model,
    "begun with six": lb.ICAMixture(6, n_init=3, random_state=0, n_jobs=2).fit(X),
    "cheapest": lb.ICAMixture(criterion="bound", n_init=5, random_state=0, n_jobs=2).fit(X),
}
pd.DataFrame(
    [(name, fit.n_clusters_, adjusted_rand_score(wine.target, fit.labels_)) for name, fit in ways.items()],
    columns=["fit", "clusters", "agreement"],
).round(2)

# %%
# **What predicts best?** A number of clusters is worth having if it tells more about wines that the fit hasn't seen.
# `select_order` fits each number, without splitting or removing any, and asks held-out rows ("cv"), beside the bound
# of the evidence.

found = lb.select_order(
    lb.ICAMixture(n_init=2), X, [2, 3, 4, 5], criterion=["cv", "evidence"], n_folds=5, random_state=0, n_jobs=2
)
found

# %%
# `rival` is the smallest number that isn't behind the best by more than one standard error. The evidence bound pays for
# every parameter of every cluster, which few rows have to tell, so it asks for the fewest (one cluster is tried, too).

found.choices

# %%
# The table has how far each number is behind (``cv_behind``), with the standard error of that. Where two numbers are
# that near, other folds may turn them round.

found.table.round(2)

# %%
# Bars are standard errors of the difference from the best, as all numbers were tried on the same rows.

found.plot()

# %%
# All of these fits are there already, and their agreement with the cultivars is:

pd.Series(
    {k: adjusted_rand_score(wine.target, fit.labels_) for k, fit in found.models.items()}, name="agreement"
).round(2)

# %%
# **Look at them, first at their sizes.** A cluster without rows, or with a handful of them, is a place for rows that
# fit nowhere: it may predict a little better, but it is no group. Take the largest number whose clusters all have rows
# enough to be described.

sizes = {k: pd.Series(fit.labels_).value_counts().tolist() for k, fit in found.models.items()}
enough = [k for k, n in sizes.items() if len(n) == k and min(n) >= len(X) // 10]
sizes

# %%
# A cluster that you can't describe is none that you should publish. Means of the clusters' rows, in standard
# deviations from the mean of all, the telling measurements first:

chosen = found.models[max(enough)]
lb.plots.plot_cluster_means(chosen, X)

# %%
# **Ask again with another seed**, and compare the groups of rows, not the numbers. (`component_stability` can't do it:
# starts may end with unlike numbers of clusters.)

again = lb.ICAMixture(chosen.n_clusters, n_init=2, split=False, delete=False, random_state=1, n_jobs=2).fit(X)
print(f"agreement of two seeds: {adjusted_rand_score(chosen.labels_, again.labels_):.2f}")

# %%
# In short: let the default find a number; ask held-out rows whether more predict better; take the smallest that isn't
# worse; if one of its clusters has hardly a row, or says nothing to you, take one fewer, and ask another seed. On the
# command line:
# ``latentbits select wine.csv --model ica-mixture --clusters 2:5 --criterion cv,evidence``.
