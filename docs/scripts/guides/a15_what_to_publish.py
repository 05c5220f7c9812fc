"""
What to publish
===============

A reader should be able to reproduce the analysis and to judge how far to trust it. That takes a paragraph, two figures
and a file.
"""

import tempfile
from pathlib import Path

import latentbits as lb

digits = lb.datasets.load_digits(digits=[0, 1, 2])
noisy = lb.simulate.corrode(digits.X, 0.6, random_state=0)
model = lb.BetaICA(8, n_init=5, random_state=0, n_jobs=2).fit(noisy.X)

# %%
# **The paragraph.** What was fitted, to which data, how, with which seed, whether it predicts held-out cells, and what
# to cite. It is generated from the fit, so it says what was actually done. (If `select_order` chose the number of
# components, pass its result instead of the model, and the paragraph says how.)

answer = lb.verdict(model, noisy.X, n_folds=3, random_state=0, n_jobs=2)
print(lb.methods_text(model, verdict=answer))

# %%
# **The comparison.** Compare the model at least with column frequencies and with the usual method of your field. If a
# simpler model predicts as well or better, say so.

models = {"aspects": model, "mixture": lb.BernoulliMixture(8, n_init=3), "frequencies": lb.IndependentBernoulli()}
compared = lb.compare(models, noisy.X, criterion="cells", n_folds=3, random_state=0, n_jobs=2)
compared.plot()

# %%
# **The figures**, as vector graphics. All have labels and colours that are safe for colour-blind readers.

folder = Path(tempfile.mkdtemp())
figure = lb.plots.plot_components(model, shape=(8, 8))
figure.savefig(folder / "components.pdf")
figure

# %%
# **The files.** The model, whose file runs no code when opened, and the report.

lb.save_model(model, folder / "model")
model.report(noisy.X, folder / "report.html", shape=(8, 8))
sorted(file.name for file in folder.iterdir())

# %%
# Anyone who has the file can query the model as you did:

same = lb.load_model(folder / "model")
same.suspects(noisy.X, top=5)

# %%
# Also state how many cells were missing, how the table was read (see `summary.json` of a run folder), and which version
# was used (the paragraph above does). To cite the software, see `CITATION.cff` in the repository, or its "Cite this
# repository" button.
