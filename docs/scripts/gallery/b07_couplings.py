"""
Which columns depend on each other?
===================================

Two columns can be associated only because both depend on a third. An Ising model considers all columns at once and
keeps the direct couplings. Left: the true couplings of this simulation. Right: the estimates from 800 rows.
"""

import numpy as np
from matplotlib.figure import Figure

import latentbits as lb

couplings = np.zeros((12, 12))
for a, b, strength in [
    (0, 1, 1.6),
    (1, 2, 1.6),
    (2, 3, 1.6),
    (4, 5, -1.5),
    (5, 6, 1.4),
    (8, 9, 2),
    (9, 10, 2),
    (8, 10, -1.5),
]:
    couplings[a, b] = couplings[b, a] = strength
truth = lb.simulate.ising(800, 12, couplings=couplings, random_state=0)
model = lb.IsingModel(ridge=3).fit(truth.X)

figure = Figure(figsize=(8, 3.6), layout="constrained")
for ax, values, title in zip(figure.subplots(1, 2), [couplings, model.couplings_], ["true", "found"], strict=True):
    picture = ax.imshow(values, cmap="RdBu_r", vmin=-2, vmax=2)
    ax.set(title=title, xlabel="column", ylabel="column")
figure.colorbar(picture, ax=figure.axes, label="coupling (log odds)", shrink=0.8)
figure
