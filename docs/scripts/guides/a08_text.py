"""
Text: which words belong here?
==============================

Each text is a row and each word a column, with a 1 where the word occurs. A word that is absent from a short text is
often one that its author could have used: a false zero. Finding such words is query expansion.

The texts here are docstrings of SciPy's functions, which everybody who runs this guide has.
"""

import inspect

import numpy as np
import scipy
from sklearn.feature_extraction.text import CountVectorizer

import latentbits as lb

modules = {
    "signal": scipy.signal,
    "stats": scipy.stats,
    "linalg": scipy.linalg,
    "ndimage": scipy.ndimage,
    "optimize": scipy.optimize,
}
texts, topic = [], []
for name, module in modules.items():
    for function in module.__all__:
        doc = inspect.getdoc(getattr(module, function)) or ""
        if inspect.isroutine(getattr(module, function)) and len(doc) > 400:
            texts.append(doc.partition("Examples\n")[0])
            topic.append(name)

words = CountVectorizer(binary=True, min_df=8, max_df=0.12, stop_words="english", token_pattern=r"[a-z]{4,}")
X = words.fit_transform(texts)
print(X.shape, f"{X.nnz / np.prod(X.shape):.1%} ones")

# %%
# A sparse table stays sparse: the cost of a pass is proportional to the number of ones.

names = words.get_feature_names_out().tolist()
data = lb.BinaryData.of(X, column_names=names)
model = lb.AspectBernoulli(8, n_init=3, max_iter=300, tol=1e-5, random_state=0, n_jobs=2).fit(data)
lb.plots.plot_components(model, top=6)

# %%
# Documents in a plane, coloured by module; the model has not seen the modules.

lb.plots.plot_ordination(model, groups=topic, n_named=10)

# %%
# Which words are missing? Words that are absent from a text although its content suggests them.

row = next(i for i, text in enumerate(texts) if text.startswith("Butterworth"))
first = lb.BinaryData.of(X[[row]], column_names=names)
print(texts[row].splitlines()[0])
model.suspects(first, top=8)[["column", "score"]].round(2)
