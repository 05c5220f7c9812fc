"""
Is there anything to find at all?
=================================

Every factorisation finds components, even in noise. So before looking at them, ask: does the model predict held-out
cells better than row and column frequencies do?
"""

import numpy as np

import latentbits as lb

rng = np.random.default_rng(0)
nothing = (rng.random((150, 25)) < rng.beta(1, 2, 25)).astype(int)  # independent columns
something = lb.simulate.aspect_bernoulli(150, 25, 3, concentration=0.2, sharpness=0.1, random_state=0).X

model = lb.AspectBernoulli(3, n_init=3, random_state=0)
lb.verdict(model, nothing, random_state=0, n_jobs=2)

# %%
# There is nothing to find, and the verdict says so. The other table:

lb.verdict(model, something, random_state=0, n_jobs=2)

# %%
# The components of the first table look as convincing as any:

lb.plots.plot_components(model.fit(nothing), top=6)

# %%
# **A table whose rows differ only in their number of ones** (good and bad surveyors, long and short answers) has no
# components either, and the verdict recognises this case: its second baseline uses row *and* column frequencies.

full = np.clip(rng.beta(2, 3, (150, 1)) + rng.normal(0, 0.15, (1, 25)), 0.02, 0.98)
lb.verdict(model, (rng.random((150, 25)) < full).astype(int), random_state=0, n_jobs=2)
