"""
When it says 70 %, is it 70 %?
==============================

The weights of the `FalseZeros` ensemble are learned from held-out cells, so its probabilities can be checked: of the
cells to which it gives 70 %, about 70 % should be ones.
"""

import latentbits as lb

digits = lb.datasets.load_digits(digits=[1, 4, 7])
noisy = lb.simulate.corrode(digits.X[:250], 0.5, random_state=0)
model = lb.FalseZeros(3, members=["aspects_4", "ising", "linear_autoencoder"], random_state=0, n_jobs=2).fit(noisy.X)

lb.plots.plot_reliability(model)
