"""
Missing cells
=============

A missing cell is neither 0 nor 1: nobody looked. Write it as NaN (in a file, leave it empty). Missing cells take no
part in the fit, so nothing has to be imputed beforehand, and the fitted model predicts them.
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
# Four of ten pixels were missing (light); the model's predictions are in the middle, the truth at the bottom.

guess = np.where(holes, filled, digits.X)
lb.plots.plot_denoising(X, guess, clean=digits.X, shape=(8, 8), n=8)

# %%
# How reliable are its probabilities for the missing cells?

lb.plots.plot_reliability(lb.metrics.calibration_table(digits.X[holes], probability[holes]))

# %%
# Its predictions are right more often than those by column frequency:

by_column = (np.nanmean(X, axis=0) > 0.5).astype(int)
right = (filled[holes] == digits.X[holes]).mean()
plain = (np.broadcast_to(by_column, X.shape)[holes] == digits.X[holes]).mean()
print(f"{right:.0%} of the missing cells predicted correctly; {plain:.0%} by column frequencies")

# %%
# **Missing for a reason?** The model assumes that cells are missing at random: whether a cell is missing may depend on
# its row and column, but not on its value. If species were left out *because* they were absent, enter these cells as
# zeros.
