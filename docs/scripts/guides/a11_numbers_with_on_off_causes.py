"""
Numbers with on-off factors
===========================

Some measurements (spectra, the load of a power line, expression levels) are sums of patterns, each of which is either
present or not: an appliance is running or not, a compound is in the mixture or not. `BinaryFactorAnalysis` finds the
patterns, their number, and which of these factors are on in each row.
"""

import numpy as np

import latentbits as lb

# %%
# The electricity meter of a household: four appliances, each with its own daily curve.

hours = np.linspace(0, 24, 48)
curves = np.array(
    [np.exp(-((hours - centre) ** 2) / (2 * width**2)) for centre, width in [(7, 1), (12, 2), (18, 1.2), (21, 3)]]
)
curves *= np.array([[2.0], [1.2], [1.6], [1.0]])
rng = np.random.default_rng(0)
on = rng.random((400, 4)) < [0.5, 0.3, 0.6, 0.4]
load = on @ curves + 0.25 * rng.normal(size=(400, 48)) + 0.4

model = lb.BinaryFactorAnalysis(8, n_init=2, random_state=0).fit(load)
model.n_components_

# %%
# The fit began with eight factors and kept as many as the data support. The patterns that it found, and the true ones
# (dashed). Codes are -1 and 1, so switching a factor on adds twice its column of the mixing matrix:

from matplotlib.figure import Figure

figure = Figure(figsize=(6.4, 3.2), layout="constrained")
ax = figure.subplots()
for k, pattern in enumerate(model.mixing_.T):
    ax.plot(hours, 2 * np.sign(pattern.sum()) * pattern, label=f"factor {k}")
ax.plot(hours, curves.T, color="#8c8c8c", linestyle="--", linewidth=0.8)
ax.set(xlabel="hour of the day", ylabel="load added when on (kW)")
ax.legend(frameon=False, fontsize=8)
figure

# %%
# Which appliances were on? The order of the factors is arbitrary, and so is which of their two states is called *on*
# (here the rarer one), so each appliance is compared with the factor that agrees with it best.

codes = model.transform(load)
same = np.array([[(codes[:, k] > 0) == on[:, j] for k in range(codes.shape[1])] for j in range(4)]).mean(axis=2)
print("share of correct days:", np.maximum(same, 1 - same).max(axis=1).round(3))
