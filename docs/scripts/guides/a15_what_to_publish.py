"""
What to publish
===============

A reader should be able to do it again, and to see how far to believe it. That takes a paragraph, two figures and a
file.
"""

import tempfile
from pathlib import Path

import latentbits as lb

digits = lb.datasets.load_digits(digits=[0, 1, 2])
noisy = lb.simulate.corrode(digits.X, 0.6, random_state=0)
model = lb.BetaICA(8, n_init=5, random_state=0, n_jobs=2).fit(noisy.X)

# %%
# **The paragraph.** What was fitted, to what, how, from which seed, whether it predicts anything, and whom to cite.
# It is made from the fit, so it says what was done. (If the number of components was chosen by `select_order`, give its
# result in place of the model, and the paragraph says how.)

answer = lb.verdict(model, noisy.X, n_folds=3, random_state=0, n_jobs=2)
print(lb.methods_text(model, verdict=answer))

# %%
# **The comparison.** Beside the model, at least the frequencies of the columns, and what your field would have used.
# If a simpler model predicts as well or better, say so.

models = {"aspects": model, "mixture": lb.BernoulliMixture(8, n_init=3), "frequencies": lb.IndependentBernoulli()}
compared = lb.compare(models, noisy.X, criterion="cells", n_folds=3, random_state=0, n_jobs=2)
compared.plot()

# %%
# **The figures**, as vector graphics. All use colours that everybody can tell apart, and have labels.

folder = Path(tempfile.mkdtemp())
figure = lb.plots.plot_components(model, shape=(8, 8))
figure.savefig(folder / "components.pdf")
figure

# %%
# **The files.** The model, which can be opened without running code from it, and the report.

lb.save_model(model, folder / "model")
model.report(noisy.X, folder / "report.html", shape=(8, 8))
sorted(file.name for file in folder.iterdir())

# %%
# Whoever has the file asks the model as you did:

same = lb.load_model(folder / "model")
same.suspects(noisy.X, top=5)

# %%
# Also say how many cells were missing, how the table was read (`summary.json` of a run folder has it), and which
# version was used: the paragraph above does. To cite the software, see `CITATION.cff` in the repository, or its "Cite
# this repository" button.
