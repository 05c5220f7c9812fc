"""
Wines by what they have much of
===============================

Each measurement of scikit-learn's wines is split at its median, and a Bernoulli mixture groups the wines. Bars show
how probable a wine of the group is above the median, ticks how probable any wine is.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

import latentbits as lb

wine = load_wine()
above = pd.DataFrame((wine.data > np.median(wine.data, axis=0)).astype(int), columns=wine.feature_names)
model = lb.BernoulliMixture(3, n_init=10, random_state=0).fit(above)
print(pd.crosstab(model.predict(above), wine.target_names[wine.target], rownames=["group"], colnames=["cultivar"]))

lb.plots.plot_components(model, top=7)
