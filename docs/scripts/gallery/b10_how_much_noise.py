"""
How much may be missing?
========================

More and more ink is removed from scans. How well are missing pixels distinguished from true zeros? 0.5 is chance, 1 is
perfect. The dashed line ranks pixels by how often they are inked at all.
"""

import numpy as np
from matplotlib.figure import Figure

import latentbits as lb

digits = lb.datasets.load_digits(digits=[0, 2, 4, 6]).X[:400]
shares, scores = np.array([0.2, 0.5, 0.8, 1.0]), []
for share in shares:
    noisy = lb.simulate.corrode(digits, share, random_state=0).X
    model = lb.BetaICA(8, n_init=2, random_state=0, n_jobs=2).fit(noisy)
    by_frequency = np.broadcast_to(noisy.mean(axis=0), noisy.shape)
    scores.append([lb.metrics.denoising_auc(digits, noisy, s) for s in (model.suspicion(noisy), by_frequency)])

figure = Figure(figsize=(5.6, 3.4), layout="constrained")
ax = figure.subplots()
ax.plot(shares, np.array(scores)[:, 0], "o-", color="#0072b2", label="score (BetaICA)")
ax.plot(shares, np.array(scores)[:, 1], "s--", color="#8c8c8c", label="frequency of the pixel")
ax.set(xlabel="largest share of ink removed from a scan", ylabel="area under the ROC curve", ylim=(0.8, 1))
ax.legend(frameon=False, loc="lower left")
figure
