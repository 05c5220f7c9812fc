"""
I know more about my sites
==========================

Elevation, habitat, moisture, where a site is and how long somebody looked: all of it says something about the species
there. Give it beside the table, and it helps to find false zeros, to predict sites that nobody has visited, and to tell
what goes with what.

First a classic: which of 30 plants grow on 20 dune meadows of the island of Terschelling (Jongman, ter Braak and van
Tongeren 1987), how thick the A1 horizon of the soil is, how moist it is (1 to 5), and who manages the meadow:
biological farming, hobby farming, nature conservation, standard farming.
"""

import numpy as np
import pandas as pd

import latentbits as lb

MEADOWS = """
Belper Empnig Junbuf Junart Airpra Elepal Rumace Viclat Brarut Ranfla Cirarv Hyprad Leoaut Potpal Poapra
Calcus Tripra Trirep Antodo Salrep Achmil Poatri Chealb Elyrep Sagpro Plalan Agrsto Lolper Alogen Brohor
2 3.5 1 BF 100000000000101001001101000111
13 6.0 5 SF 001000000100101001000110101010
4 4.2 2 SF 100000001010101001000101101111
16 5.7 5 SF 000101001100000100000100001010
6 4.3 1 HF 000000101000101011101100010100
1 2.8 1 SF 000000000000001000001101000100
8 4.2 5 HF 000101001100101001000100101110
5 6.3 1 HF 100000101000101011101101010101
17 4.0 2 NM 000010000001101000101000010000
15 11.5 5 NM 000101001100110001000000001000
10 3.3 2 BF 100000011000101001101100010101
11 3.5 1 BF 000000011001101001000000110100
9 3.7 4 HF 001100101000101001000101101110
18 4.6 1 NM 100000011000101001010000010100
3 4.3 2 SF 100000001000101001000101001110
20 3.5 5 NM 000101001100100100010000001000
14 9.3 5 NM 000001000100110101000000001000
19 3.7 5 NM 010010001001100001110000100000
12 5.8 4 SF 001000101000100001000100101010
7 2.8 1 HF 001000101000101011101100010101
"""
first, second, *lines = MEADOWS.strip().split("\n")
meadows = pd.DataFrame([line.split() for line in lines])
meadows.columns = ["meadow", "A1", "moisture", "management", "plants"]
meadows = meadows.set_index("meadow").astype({"A1": float, "moisture": int})
plants = pd.DataFrame(
    [list(map(int, row)) for row in meadows["plants"]], columns=[*first.split(), *second.split()], index=meadows.index
)
about = lb.RowFacts.of(meadows[["A1", "moisture", "management"]])
about

# %%
# **Components first, covariates afterwards.** An aspect model knows nothing of the meadows; which of its components go
# with what is a question for `associations`: rank correlations with intervals, and the share of each weight's variance
# that a covariate predicts in held-out rows. Here the first thing that plants say is how moist it is.

aspects = lb.AspectBernoulli(2, n_init=5, random_state=0).fit(plants)
lb.associations(aspects.weights_, about).round(2).head(6)

# %%

lb.plots.plot_responses(lb.weights_over(aspects.weights_, about), "moisture")

# %%
# **Covariates inside.** With `rows` the ensemble has two more members, joint models of plants and covariates, and
# held-out cells decide how much they count. On 20 meadows they know nothing that the other plants don't say already:
# alone "covariates_8" predicts held-out cells no better than "probit_factors", which knows nothing of the meadows.

model = lb.FalseZeros(members=["probit_factors", "covariates_8", "aspects_2"], noise=None, random_state=0)
model.fit(plants, rows=about)
model.member_scores_.round(3)

# %%
# What they give beside the prediction: how plants respond, with bands that hold 90 % of the posterior (wide ones, as
# there are 20 meadows), and a meadow that nobody has looked at.

lb.plots.plot_responses(model, "moisture")

# %%

wet = pd.DataFrame({"A1": [4.0, 4.0], "moisture": [1, 5], "management": "NM"})
predicted = model.predict_rows(wet).set_axis(["dry", "wet"]).T
predicted.round(2).sort_values("wet").iloc[[0, 1, 2, -3, -2, -1]]

# %%
# **Sites with coordinates and effort.** In which cells a species was overlooked nobody knows of the meadows, so the
# other sites here are simulated, and we know.

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
#    latentbits false-zeros sightings.csv --long site species --covariates all --out run
#
# The second file has a line for each sighting, which also says what its site is like. The folder has the list of
# suspects with their coordinates, and a report with a map, curves and shares of variation;
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
# What explains the species:

lb.plots.plot_variation(model)

# %%
# The probability of species at sites that nobody has visited, on a map. Effort is part of it: it is the probability to
# *see* the species in so many minutes. On the command line it is ``latentbits predict run unvisited.csv``.

grid = pd.DataFrame({"lon": rng.uniform(6.5, 9.5, 400), "lat": rng.uniform(46.2, 47.5, 400)})
grid = grid.assign(elevation=800, habitat="forest", minutes=60)
probability = model.predict_rows(grid)
lb.plots.plot_map(lb.RowFacts.of(grid, coordinates=("lon", "lat")), probability["species 1"], label="species 1")

# %%
# **What it can't do.** What differs from visit to visit, such as the hour or the observer, is no fact of a site:
# `RepeatedSurvey.fit(histories, rows=..., effort=..., visit_facts=...)` takes both. There are no formulas and no
# interactions; for traits and phylogenies use Hmsc.
