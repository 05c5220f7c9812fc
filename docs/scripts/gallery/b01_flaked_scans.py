"""
Scans whose ink has flaked off
==============================

Up to 80 % of the ink of each scan is missing. The model has seen no clean scan; a noise component (the papers' *white
phantom*) accounts for the missing ink, and without it the digits reappear.
"""

import latentbits as lb

digits = lb.datasets.load_digits()
noisy = lb.simulate.corrode(digits.X, 0.8, random_state=0)
model = lb.AspectBernoulli(10, n_init=3, random_state=0, n_jobs=2).fit(noisy.X)

lb.plots.plot_denoising(noisy.X, model.denoise(noisy.X, threshold=0.5), clean=digits.X, shape=(8, 8), n=10)
