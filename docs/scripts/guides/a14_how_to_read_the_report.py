"""
How to read the report
======================

Every fit on the command line writes a `report.html`; ``model.report(X)`` shows the same page inside a notebook. It is a
single file that works offline and does its own computations: move a slider, and all results follow.

Below is a working report. Try it.
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
# **The answer.** One or two sentences. On the command line the verdict comes first: if held-out cells are predicted no
# better than by frequencies, stop here.
#
# **Suspects.** The cells that are most likely wrong, in a list that can be sorted and searched. Mark those that you
# have checked: *confirm* (the cell is wrong), *reject* (it is right), *unsure*. The browser keeps the marks; save them
# as `ratings.json` and pass them to the next fit (``latentbits fit --marks ratings.json``).
#
# **Components.** Each is a list of columns with the probability of a 1. Noise components (the papers' *phantoms*)
# generate only zeros (*white*) or only ones (*black*). The denoised table changes the cells that are more likely false
# than not by held-out cells, and no others. The decision is yours: rate each component from 0 (noise) to 1 (content);
# then the table is made by your ratings.
#
# **Rows and cells.** Click a row or a cell to see which component caused it.
#
# **How sure?** How many restarts agree, and the stability of each component. If restarts disagree, trust the ranking
# more than single cells.
#
# **Files.** Download the results of your work. ``latentbits denoise run sites.csv --ratings ratings.json --out
# clean.csv`` reproduces the same table.
