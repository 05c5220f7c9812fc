"""
What digits are made of
=======================

Components of damaged scans: parts of strokes, and an empty one. Each image shows probabilities; the framed one is the
noise component that accounts for the missing ink.
"""

import latentbits as lb

digits = lb.datasets.load_digits()
noisy = lb.simulate.corrode(digits.X, 0.6, random_state=0)
model = lb.AspectBernoulli(12, n_init=3, random_state=0, n_jobs=2).fit(noisy.X)

lb.plots.plot_components(model, shape=(8, 8))
