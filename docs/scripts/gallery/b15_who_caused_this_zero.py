"""
What caused this zero?
======================

For each cell of a row the model gives the probability that a component caused it. One row of the table: blue and green
bars are content, orange is the noise component. A tall orange bar on a 0 marks a zero that the content of the row
doesn't explain.
"""

import numpy as np
from matplotlib.figure import Figure

import latentbits as lb

truth = lb.simulate.aspect_bernoulli(200, 24, 3, white_phantom=True, concentration=0.4, sharpness=0.1, random_state=0)
model = lb.AspectBernoulli(3, n_init=5, random_state=0).fit(truth.X)
row = int(np.argsort(-np.abs(model.weights_[:, model.phantoms_ == "white"].ravel() - 0.5))[-1])
causes = model.explain(truth.X, row=row)
table = causes.pivot(index="column", columns="component", values="probability").to_numpy()

figure = Figure(figsize=(8, 3), layout="constrained")
ax = figure.subplots()
below = np.zeros(24)
blues = iter(["#0072b2", "#56b4e9", "#009e73"])
for k, kind in enumerate(model.phantoms_):
    colour = "#e69f00" if kind == "white" else next(blues)
    ax.bar(range(24), table[:, k], bottom=below, color=colour, label=f"component {k} ({kind})")
    below += table[:, k]
ax.set(xticks=range(24), xticklabels=truth.X[row], xlabel="the 24 cells of the row", ylabel="posterior probability")
figure.legend(loc="outside upper center", ncols=3, frameon=False)
figure
