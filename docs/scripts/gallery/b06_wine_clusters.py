"""
Wines: what distinguishes clusters
==================================

`ICAMixture` with three clusters (:doc:`../guides/a12_how_many_clusters` explains why), compared with the cultivars,
which the model has not seen. The figure shows in which measurements the clusters lie above (red) or below (blue) the
mean of all wines.
"""

import pandas as pd
from sklearn.datasets import load_wine

import latentbits as lb

wine = load_wine(as_frame=True)
model = lb.ICAMixture(3, n_init=2, split=False, delete=False, random_state=0, n_jobs=2).fit(wine.data)
cultivar = pd.Series(wine.target_names[wine.target], name="cultivar")
print(pd.crosstab(pd.Series(model.labels_, name="cluster"), cultivar))

lb.plots.plot_cluster_means(model, wine.data)
