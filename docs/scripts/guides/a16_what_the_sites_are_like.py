"""
I know more about my sites
==========================

Elevation, habitat, where a site is and how long somebody looked: all of it says something about the species there. Give
it beside the table, and it helps to find false zeros, to predict sites that nobody has visited, and to tell what goes
with what.

The sites here are simulated, so that we know which zeros are false.
"""

import numpy as np
import pandas as pd

import latentbits as lb

rng = np.random.default_rng(1)
n = 200
sites = pd.DataFrame(
    {
        "lon": rng.uniform(6.5, 9.5, n).round(3),
        "lat": rng.uniform(46.2, 47.5, n).round(3),
        "elevation": rng.gamma(4, 250, n).round(),
        "habitat": rng.choice(["forest", "meadow", "wetland"], n),
        "minutes": rng.choice([30, 60, 120], n),
    }
)
height = (sites["elevation"] - sites["elevation"].mean()) / sites["elevation"].std()
east = np.sin(2.5 * sites["lon"])
score = (
    rng.normal(-0.2, 0.5, 24)
    + np.outer(height, rng.normal(0, 0.9, 24))
    + np.outer(sites["habitat"] == "forest", rng.normal(0, 0.8, 24))
    + np.outer(east, rng.normal(0, 0.6, 24))
)
there = score + rng.normal(size=score.shape) > 0
seen = there & (rng.random(there.shape) < 1 - 0.6 ** (sites["minutes"].to_numpy()[:, None] / 45))
species = pd.DataFrame(seen.astype(int), columns=[f"species {j + 1}" for j in range(24)])
pd.concat([sites, species.iloc[:, :4]], axis=1).head()

# %%
# Tell what the columns are. Numbers and categories are covariates; coordinates are where, `effort` is how much a site
# was looked at. Missing values are replaced by the median, with a warning; columns that are constant, copies or names
# of rows are left out, with a warning too.

rows = lb.RowFacts.of(sites, coordinates=("lon", "lat"), effort="minutes")
rows

# %%
# A table in one file needs one command:
#
# .. code-block:: bash
#
#    latentbits false-zeros sites.csv --covariates all --effort minutes --out run
#
# The folder has the list of suspects with their coordinates, and a report with a map, curves and shares of variation;
# ``latentbits suspects run other.csv`` reads another file in the same way.
#
# In Python it is `rows`. Two members of the ensemble know of the rows; held-out cells decide how much they count.

model = lb.FalseZeros(2, members=["covariates_2", "aspects_4", "linear_autoencoder"], noise=None, random_state=0)
model.fit(species, rows=rows)
model.member_scores_.round(3)

# %%
# What the list is worth: of the first 50 suspects so many are false zeros, with and without knowing of the sites.

without = lb.FalseZeros(2, members=["aspects_4", "linear_autoencoder"], noise=None, random_state=0).fit(species)
for name, one in {"with": model, "without": without}.items():
    score = one.suspicion(species)
    best = np.argsort(-score, axis=None)[:50]
    print(name, int((there & ~seen).ravel()[best].sum()), "of 50")

# %%
# Why a cell is suspected: columns of its row, covariates, the place, its neighbours, and rows like it.

first = model.suspects(species, top=1).iloc[0]
model.explain(species, first["row"], first["column"], top=3)

# %%
# How species respond, with bands that hold 90 % of the posterior, and what explains them.

lb.plots.plot_responses(model, "elevation")

# %%

lb.plots.plot_variation(model)

# %%
# The probability of species at sites that nobody has visited, on a map. Effort is part of it: it is the probability to
# *see* the species in so many minutes. On the command line it is ``latentbits predict run unvisited.csv``.

grid = pd.DataFrame({"lon": rng.uniform(6.5, 9.5, 400), "lat": rng.uniform(46.2, 47.5, 400)})
grid = grid.assign(elevation=800, habitat="forest", minutes=60)
probability = model.predict_rows(grid)
lb.plots.plot_map(lb.RowFacts.of(grid, coordinates=("lon", "lat")), probability["species 1"], label="species 1")

# %%
# **Components first, covariates afterwards.** An aspect model knows nothing of the sites; which of its components go
# with what is a question for `associations`: rank correlations with intervals, and the share of each weight's variance
# that a covariate predicts in held-out rows.

aspects = lb.AspectBernoulli(3, n_init=3, random_state=0).fit(species)
lb.associations(aspects.weights_, rows).round(2)

# %%
# **What it can't do.** Covariates of *detection* that differ from visit to visit belong in an occupancy model;
# `RepeatedSurvey` takes repeat visits, and no covariates yet.
