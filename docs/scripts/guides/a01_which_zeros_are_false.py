"""
Which zeros are false?
======================

In a species list, a questionnaire or a log of events a 1 is usually certain, but a 0 may only mean that nobody
noticed. `FalseZeros` ranks the zeros of a table, the most likely false first. It needs no settings.

In this example the truth is known, so that we can check the list: 150 sites, 30 species, and up to half of the species
at a site were overlooked.
"""

import pandas as pd

import latentbits as lb

truth = lb.simulate.aspect_bernoulli(150, 30, 4, concentration=0.15, sharpness=0.15, density=0.4, random_state=3)
seen = lb.simulate.add_noise(truth.X, white=0.5, by="row", random_state=0)
sites = pd.DataFrame(
    seen.X, index=[f"site {i + 1}" for i in range(150)], columns=[f"species {j + 1}" for j in range(30)]
)
sites.iloc[:4, :8]

# %%
# Fit, and ask first whether there is anything to find. Cells were held out and predicted by the model; if it predicts
# them no better than row and column frequencies do, its list is no evidence of false zeros.

model = lb.FalseZeros(random_state=0, n_jobs=2).fit(sites)
answer = lb.verdict(model, sites)
answer

# %%
# The list. `score` ranks the cells. `P(1 | the rest)` is the probability of a 1 given the rest of the table, as if the
# cell itself had not been observed. The other columns are the predictions of the members of the ensemble.

suspects = model.suspects(sites, top=20)
suspects.iloc[:5, :4].round(2)

# %%
# The same list as a map: rings are suspects, grey cells are ones.

lb.plots.plot_suspects(model, sites.iloc[:40], top=25)

# %%
# How good is the list? In this simulation we know which ones were lost.

lost = pd.DataFrame(seen.lost, index=sites.index, columns=sites.columns)
true_hits = sum(lost.loc[row, column] for row, column in zip(suspects["row"], suspects["column"], strict=True))
share = seen.lost.sum() / (sites == 0).to_numpy().sum()
print(f"{true_hits} of the first 20 suspects are false zeros; of 20 random zeros about {20 * share:.0f} would be")

# %%
# In your own table nobody knows. But some of its ones can be knocked out, to see whether the list finds these:
# :func:`~latentbits.check` does so, and counts what column frequencies and chance would have found, too. Zeros that
# really hide a 1 count as mistakes here, and ones that are really missed may be harder to find than those at random.

checked = lb.check(sites, n_repeats=2, random_state=0, n_jobs=2)
print(checked)
checked.plot()

# %%
# Can its probabilities be trusted? The points are groups of held-out cells.

lb.plots.plot_reliability(model)

# %%
# **What the score is not.** One visit can't tell how many zeros are false: a species that is never seen where it
# lives looks like one that isn't there. If you know the detection rate of a visit, ``model.suspects(sites, rate=0.4)``
# gives the probability of presence. If some sites were visited again, pass these visits as `revisits`; if all were, use
# :class:`~latentbits.RepeatedSurvey`.
#
# On the command line: ``latentbits false-zeros sites.csv --top 20 --out run``, and
# ``latentbits check sites.csv``.
