"""
How many components?
====================

There is no true number in real data, but there are numbers that help. The most useful question is: how many
components predict a cell best that the model hasn't seen?
"""

import latentbits as lb

truth = lb.simulate.aspect_bernoulli(200, 40, 4, concentration=0.2, sharpness=0.1, random_state=0)

found = lb.select_order(
    lb.BetaICA(n_init=2), truth.X, [2, 3, 4, 5, 6], criterion=["cells", "aic"], n_folds=4, random_state=0, n_jobs=2
)
found

# %%
# The same as a picture. Bars are standard errors of the *difference* from the best, which is what matters, as all
# numbers were tried on the same hidden cells. The last panel shows how stable the components are from start to start.

found.plot()

# %%
# Criteria need not agree. AIC asks how many components describe the rows; hidden cells ask how many still help to
# predict. Take the smallest number that isn't worse than the best by more than its error (`rival` below), unless you
# have a reason to want more.

found.choices

# %%
# The model with that number is fitted already.

model = found.best_model
lb.plots.plot_stability(lb.component_stability(model))

# %%
# On the command line: ``latentbits select sites.csv --components 2:6 --criterion cells,aic``, or directly
# ``latentbits fit sites.csv --components 2:6 --out run``.
