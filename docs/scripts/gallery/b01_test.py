"""
Which zeros are false?
======================

Test.
"""

import latentbits as lb

digits = lb.datasets.load_digits()
lb.BernoulliMixture(3, n_init=1, random_state=0).fit(digits.X)

# %%
# Look.

lb.plots.plot_denoising(digits.X[:3], digits.X[:3], shape=(8, 8))
