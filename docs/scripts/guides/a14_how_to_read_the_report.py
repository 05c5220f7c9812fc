"""
How to read the report
======================

Every fit on the command line leaves a `report.html`; ``model.report(X)`` shows the same page inside a notebook. It is
one file that needs no network, and computes by itself: move a slider, and everything follows.

Below is a real one. Try it.
"""

import pandas as pd

import latentbits as lb

truth = lb.simulate.aspect_bernoulli(
    60, 20, 4, white_phantom=True, concentration=0.5, sharpness=0.1, density=0.6, random_state=1
)
genera = [f"genus {letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
sites = pd.DataFrame(truth.X, index=[f"site {i + 1}" for i in range(60)], columns=genera)
model = lb.BetaICA(4, n_init=5, random_state=0).fit(sites)
model.report(sites)

# %%
# From top to bottom:
#
# **The answer.** One or two sentences. On the command line the verdict comes first: if nothing is predicted better
# than by frequencies, stop here.
#
# **Suspects.** Cells that are most likely wrong, to sort and to search. Mark those that you have looked up: *confirm*
# (the cell is wrong), *reject* (it is right), *unsure*. The browser keeps the marks; save them as `ratings.json` and
# give them to the next fit (``latentbits fit --marks ratings.json``).
#
# **Components.** Each is a list of columns with the probability of a 1. A *white phantom* makes zeros only, a *black*
# one ones only: noise, which the cleaned table leaves out. You decide: rate each component from 0 (noise) to 1
# (content).
#
# **Rows and cells.** Click a row or a cell to see which component has caused it.
#
# **How sure?** How many random starts agree, and how stable each component is. If starts disagree, trust the ranking
# more than single cells.
#
# **Files.** Everything that you have made, to download. ``latentbits denoise run sites.csv --ratings ratings.json
# --out clean.csv`` then makes the same table again.
