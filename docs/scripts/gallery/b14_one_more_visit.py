"""
Is one more visit worth it?
===========================

How likely is a species to be present after one, two, three or four visits without a sighting? Each line is a species at
the sites where nobody saw it; the black line is their mean.
"""

import numpy as np
from matplotlib.figure import Figure

import latentbits as lb

truth = lb.simulate.repeated_surveys(150, 16, 4, rate=0.4, abundance=1.0, random_state=2)
lines = []
for n_visits in range(1, 5):
    histories = truth.histories[:, :n_visits]
    survey = lb.RepeatedSurvey(lb.BetaICA(3, n_init=2, random_state=0), rate=0.4).fit(histories)
    present, unseen = survey.predict_proba(), histories.max(axis=1) == 0
    lines.append([present[unseen[:, j], j].mean() for j in range(16)])
lines = np.array(lines)

figure = Figure(figsize=(5.6, 3.6), layout="constrained")
ax = figure.subplots()
ax.plot(range(1, 5), lines, color="#56b4e9", linewidth=0.8)
ax.plot(range(1, 5), lines.mean(axis=1), "o-", color="#262626", linewidth=2)
ax.set(xlabel="visits without a sighting", ylabel="probability of presence", xticks=range(1, 5), ylim=(0, None))
figure
