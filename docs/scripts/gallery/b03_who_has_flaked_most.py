"""
Which scans have lost most ink?
===============================

The weight of the noise component is the share of a scan's cells that it caused: the fewer ones are left, the larger it
is. It was learned without knowing how much ink was removed.
"""

import latentbits as lb

digits = lb.datasets.load_digits(digits=range(5))
noisy = lb.simulate.corrode(digits.X, 0.8, random_state=0)
model = lb.AspectBernoulli(8, n_init=3, random_state=0, n_jobs=2).fit(noisy.X)

lb.plots.plot_weights(model, ones=noisy.X.sum(axis=1))
