"""
How many components?
====================

Real data have no true number of components, but some numbers are more useful than others. The most useful question is:
how many components best predict held-out cells?
"""

import latentbits as lb

truth = lb.simulate.aspect_bernoulli(200, 40, 4, concentration=0.2, sharpness=0.1, random_state=0)

found = lb.select_order(
    lb.BetaICA(n_init=2), truth.X, [2, 3, 4, 5, 6], criterion=["cells", "aic"], n_folds=4, random_state=0, n_jobs=2
)
found

# %%
# `table` has the details: for each number the criteria, its distance from the best (``cells_behind``) with a standard
# error, and the stability.

found.table.round(3)

# %%
# The same as a figure. Bars are standard errors of the *difference* from the best, which is what matters, because all
# numbers were evaluated on the same held-out cells. The last panel shows the stability of the components across
# restarts.

found.plot()

# %%
# Criteria need not agree. AIC asks how many components describe the rows; held-out cells ask how many improve
# prediction. Choose the smallest number within one standard error of the best (`rival` below), unless you have a reason
# to want more.

found.choices

# %%
# All these models are already fitted: `best_model` has the best number, `models` holds all of them. The stability of a
# component measures its agreement with the next best restarts: 1 means the same component in all of them, 0 means as
# similar as two different components of these fits are. Unrelated components score somewhat above 0, because each is
# matched with the most similar one. Judging stability takes about ten restarts: with two or three, one of them may have
# ended in another optimum. The data don't determine a component whose stability is far below the others'; don't build
# on it.

model = lb.BetaICA(found.choices["rival"][0], n_init=10, random_state=0, n_jobs=2).fit(truth.X)
lb.plots.plot_stability(lb.component_stability(model))

# %%
# For the paper, `methods_text` of the selection says how the number was chosen.

print(lb.methods_text(found).splitlines()[0])

# %%
# On the command line: ``latentbits select sites.csv --components 2:6 --criterion cells,aic``, or directly
# ``latentbits fit sites.csv --model aspect-bernoulli --components 2:6 --out run``.
