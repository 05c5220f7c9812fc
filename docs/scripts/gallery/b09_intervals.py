"""
How certain is a component?
===========================

Sampling from the posterior gives each probability of a component an interval. With 40 rows (left) intervals are wide,
with 400 (right) narrow. Dots are the truth. The data were drawn from the prior (Dirichlet weights, Beta probabilities);
with a prior that is far off, the intervals are too.
"""

import numpy as np
from matplotlib.figure import Figure

import latentbits as lb

figure = Figure(figsize=(8, 3.4), layout="constrained")
for ax, n_rows in zip(figure.subplots(1, 2, sharey=True), [40, 400], strict=True):
    truth = lb.simulate.aspect_bernoulli(n_rows, 16, 2, concentration=1.0, sharpness=1.0, random_state=1)
    model = lb.BetaICA(2, inference="gibbs", n_init=2, n_samples=100, n_burn=300, thin=5, random_state=0).fit(truth.X)
    low, high = model.components_interval(0.9)
    order = lb.metrics.match_components(truth.components, model.components_).order
    k = int(order[0])
    at = np.arange(16)
    ax.vlines(at, low[k], high[k], color="#0072b2", linewidth=4, alpha=0.5)
    ax.plot(at, truth.components[0], "o", color="#262626", markersize=4)
    inside = np.mean((low[k] <= truth.components[0]) & (truth.components[0] <= high[k]))
    ax.set(title=f"{n_rows} rows; {inside:.0%} inside 90 % intervals", xlabel="column", ylim=(0, 1))
figure.axes[0].set_ylabel("probability of a 1")
figure
