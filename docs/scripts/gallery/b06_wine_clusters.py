"""
Wines: what sets clusters apart
===============================

`ICAMixture` with three clusters (:doc:`../guides/a12_how_many_clusters` tells why), set beside the cultivars, of which
it wasn't told. The picture shows in which measurements the clusters lie above (red) or
below (blue) the mean of all wines.
"""

import pandas as pd
from sklearn.datasets import load_wine

import latentbits as lb

wine = load_wine(as_frame=True)
model = lb.ICAMixture(3, n_init=2, split=False, delete=False, random_state=0, n_jobs=2).fit(wine.data)
cultivar = pd.Series(wine.target_names[wine.target], name="cultivar")
print(pd.crosstab(pd.Series(model.labels_, name="cluster"), cultivar))

lb.plots.plot_cluster_means(model, wine.data)
