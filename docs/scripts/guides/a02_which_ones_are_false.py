"""
Which ones are false?
=====================

Sometimes the ones are in doubt: a misread label, a wrong click, a contaminated sample. Every model that ranks zeros can
also rank ones, with ``kind="presence"``.
"""

from sklearn.metrics import roc_auc_score

import latentbits as lb

digits = lb.datasets.load_digits(digits=[0, 1, 4])
noisy = lb.simulate.add_ones(digits.X, 0.7, random_state=0)

model = lb.AspectBernoulli(8, n_init=3, random_state=0, n_jobs=2).fit(noisy.X)
model.phantoms_

# %%
# "black" marks a noise component (the papers' *phantom*) that generates ones everywhere: dirt. The map rings the ones
# that the rest of their row doesn't explain.

lb.plots.plot_suspects(model, noisy.X[:60], kind="presence", top=60)

# %%
# The scans without the dirt; at the bottom, the truth. We know that there is much, so every scan is made anew from its
# content, ``threshold=0.5``; by default only cells change that are more likely false than not by held-out cells.

clean = model.denoise(noisy.X, threshold=0.5)
lb.plots.plot_denoising(noisy.X, clean, clean=digits.X, shape=(8, 8), n=8)

# %%
# The area under the ROC curve: how well false ones are ranked above true ones (0.5 is chance, 1 is perfect).

ones = noisy.X == 1
score = model.suspicion(noisy.X, kind="presence")
print(f"{roc_auc_score(noisy.changed[ones], score[ones]):.3f}")
