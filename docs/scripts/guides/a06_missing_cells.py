"""
Missing cells
=============

A missing cell is neither 0 nor 1: nobody looked. Give it as NaN (or empty, in a file). Missing cells take no part in
the fit, so nothing has to be filled in before, and afterwards the model says what they probably are.
"""

import numpy as np

import latentbits as lb

digits = lb.datasets.load_digits(digits=[2, 3, 7])
rng = np.random.default_rng(0)
holes = rng.random(digits.X.shape) < 0.4
X = np.where(holes, np.nan, digits.X)

model = lb.BetaICA(10, n_init=3, random_state=0, n_jobs=2).fit(X)
probability = model.reconstruct(X)
filled = (probability > 0.5).astype(int)

# %%
# Four of ten pixels were missing (light); the model's guess in the middle, the truth below.

guess = np.where(holes, filled, digits.X)
lb.plots.plot_denoising(X, guess, clean=digits.X, shape=(8, 8), n=8)

# %%
# How reliable are its probabilities for the cells that were missing?

lb.plots.plot_reliability(lb.metrics.calibration_table(digits.X[holes], probability[holes]))

# %%
# Right more often than the column's frequency would be:

by_column = (np.nanmean(X, axis=0) > 0.5).astype(int)
right = (filled[holes] == digits.X[holes]).mean()
plain = (np.broadcast_to(by_column, X.shape)[holes] == digits.X[holes]).mean()
print(f"{right:.0%} of the missing cells guessed right; {plain:.0%} by the columns' frequencies")

# %%
# **Missing for a reason?** This treats cells as missing at random: whether a cell is missing may depend on its row
# and column, but not on what it would have been. If species are left out *because* they are absent, these zeros
# belong into the table.
