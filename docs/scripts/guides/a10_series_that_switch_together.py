"""
Series that switch together
===========================

Sensors that are on or off, votes that are yes or no, neurons that fire: several binary series, observed in several
situations (days, sessions, sites). If latent sources drive them, and the sources' strengths differ between situations,
`BinaryICA` can separate the sources. Ordinary ICA and factor analysis can't, because zeros and ones don't reveal the
shape of the sources' distributions.
"""

import latentbits as lb

truth = lb.simulate.binary_ica(300, 10, 3, 12, random_state=0)  # 12 sessions of 300 rows, 10 series, 3 sources
X, session = truth.X, truth.segments

# %%
# How many sources? Pairs of series in held-out rows decide; 0 sources means independent series.

found = lb.select_order(lb.BinaryICA(n_init=2), X, range(1, 5), segments=session, n_folds=3, random_state=0, n_jobs=2)
found

# %%
# Which series does each source drive, and how strongly in each session?

model = lb.BinaryICA(3, n_init=3, random_state=0).fit(X, segments=session)
lb.plots.plot_mixing(model)

# %%

lb.plots.plot_source_scales(model)

# %%
# Does the model fit? Each point is a pair of series in a session: the correlation under the model against the observed
# one.

fit = model.goodness_of_fit(X, segments=session)
fit.plot()

# %%
# The truth is known here: 1 would be a perfect recovery of all three sources, up to order, sign and scale.

print(f"{lb.mean_cosine_similarity(truth.mixing, model.mixing_):.3f}")

# %%
# **When it can't work.** If the sources are equally strong in all situations, they can't be separated, whatever the
# number of rows. :func:`~latentbits.identifiability` counts equations and unknowns for your numbers of series, sources
# and sessions:

print(lb.identifiability(10, 3, 12), "more equations than unknowns")
