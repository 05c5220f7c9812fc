"""
Yes-no items: correlations and factors
======================================

Answers to yes-no questions are usually modelled as continuous opinions cut at a threshold. The correlation of the
underlying opinions is the *tetrachoric* correlation; that of the zeros and ones (phi) is too small, all the more so the
more one-sided the questions are.
"""

import numpy as np

import latentbits as lb

# %%
# Twelve items that depend on two opinions.

rng = np.random.default_rng(0)
loadings = np.zeros((2, 12))
loadings[0, :6] = rng.uniform(0.8, 1.6, 6)
loadings[1, 6:] = rng.uniform(0.8, 1.6, 6)
opinions = rng.normal(size=(600, 2)) @ loadings + rng.normal(size=(600, 12)) - rng.normal(0.4, 0.6, 12)
names = [f"politics {i + 1}" for i in range(6)] + [f"cooking {i + 1}" for i in range(6)]
answers = lb.BinaryData.of((opinions > 0).astype(int), column_names=names)

found = lb.tetrachoric(answers)
found

# %%
# As a table with the items' names (`to_pairs()` has one line per pair, with its standard error):

found.to_frame().iloc[:4, :4].round(2)

# %%
# How many factors? Parallel analysis keeps those whose eigenvalues are larger than expected by chance.

scree = lb.parallel_analysis(answers, n_draws=30)
scree

# %%

lb.plots.plot_scree(scree)

# %%
# Which items belong to which factor? Loadings after an oblique rotation, so that factors may be correlated.

factors = lb.factor_analysis(answers, 2, n_samples=20, n_jobs=2)
factors

# %%
# A table for the paper, with bootstrap standard errors (without `n_samples` there are none):

factors.to_frame().round(2)

# %%
# Correlations of the factors (the opinions were simulated as independent):

factors.factor_correlations.round(2)

# %%
# Four counts are enough: how many answered no-no, no-yes, yes-no and yes-yes.

counts, cells = [40, 10, 10, 40], [[0, 0], [0, 1], [1, 0], [1, 1]]
phi = np.corrcoef(np.repeat(cells, counts, axis=0).T)[0, 1]
print(f"tetrachoric {lb.tetrachoric(cells, weights=counts).correlations[0, 1]:.3f}, phi {phi:.3f}")

# %%
# On the command line: ``latentbits tetrachoric answers.csv --out correlations.csv``.
