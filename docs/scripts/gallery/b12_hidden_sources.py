"""
Sources behind switches
=======================

Ten binary series in fifteen sessions, driven by two latent sources. Each panel shows a true column of the mixing matrix
(bars) and its estimate (dots), after matching order, sign and scale.
"""

import numpy as np
from matplotlib.figure import Figure

import latentbits as lb

truth = lb.simulate.binary_ica(400, 10, 2, 15, random_state=3)
model = lb.BinaryICA(2, n_init=2, random_state=0).fit(truth.X, segments=truth.segments)

figure = Figure(figsize=(8, 3), layout="constrained")
unit = lambda M: M / np.linalg.norm(M, axis=0)
A, B = unit(truth.mixing), unit(model.mixing_)
alike = A.T @ B
for j, ax in enumerate(figure.subplots(1, 2, sharey=True)):
    k = int(np.abs(alike[j]).argmax())
    ax.bar(range(10), A[:, j], color="#a6a6a6", label="true")
    ax.plot(range(10), np.sign(alike[j, k]) * B[:, k], "o", color="#0072b2", label="found")
    ax.set(title=f"source {j}: cosine similarity {abs(alike[j, k]):.3f}", xlabel="series")
figure.axes[0].set_ylabel("mixing (unit length)")
figure.axes[0].legend(frameon=False)
figure
