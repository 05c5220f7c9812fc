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
# `table` has everything: for each number the criteria, how far it is behind the best (``cells_behind``) with the
# standard error of that, and the stability.

found.table.round(3)

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
# All these models are fitted already: `best_model` has the best number, `models` all of them. The stability of a
# component is how well the next best starts found it again: 1 is the same component in all of them, 0 is as alike as
# two different components of these fits are, and unrelated ones come out somewhat above 0, as each is matched with its
# nearest. It takes ten starts or so to be judged: with two or three, one of them may have ended elsewhere. A component
# far below the others is then one that the data don't fix; don't build on it.

model = lb.BetaICA(found.choices["rival"][0], n_init=10, random_state=0, n_jobs=2).fit(truth.X)
lb.plots.plot_stability(lb.component_stability(model))

# %%
# For the paper, `methods_text` of the selection tells how the number was chosen.

print(lb.methods_text(found).splitlines()[0])

# %%
# On the command line: ``latentbits select sites.csv --components 2:6 --criterion cells,aic``, or directly
# ``latentbits fit sites.csv --components 2:6 --out run``.
