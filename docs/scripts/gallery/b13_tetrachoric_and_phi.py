"""
Tetrachoric and phi
===================

Two opinions have a correlation of 0.7. When they are cut into yes and no, the correlation of the answers (phi) shrinks,
the more so if one answer is rare. The tetrachoric correlation doesn't.
"""

import numpy as np
from matplotlib.figure import Figure

import latentbits as lb

rng = np.random.default_rng(0)
z = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=4000)
cuts = np.linspace(0, 2, 9)
found, phi = [], []
for cut in cuts:
    X = (z > cut).astype(int)
    answer = lb.tetrachoric(X)
    found.append((answer.correlations[0, 1], answer.standard_errors[0, 1]))
    phi.append(np.corrcoef(X.T)[0, 1])
found = np.array(found)

figure = Figure(figsize=(5.6, 3.4), layout="constrained")
ax = figure.subplots()
yes = [(z > cut).mean() for cut in cuts]
ax.errorbar(
    yes, found[:, 0], yerr=2 * found[:, 1], fmt="o-", color="#0072b2", label="tetrachoric (± 2 standard errors)"
)
ax.plot(yes, phi, "s--", color="#d55e00", label="phi")
ax.axhline(0.7, color="#8c8c8c", linewidth=0.8)
ax.set(xlabel="share of yes", ylabel="correlation", ylim=(0, 1), xscale="linear")
ax.invert_xaxis()
ax.legend(frameon=False, loc="lower left")
figure
