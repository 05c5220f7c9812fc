"""
Irises: clusters with their own directions
==========================================

`ICAMixture` finds the number of groups and the directions along which flowers of a group differ (arrows). The fit began
with six clusters.
"""

from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

import latentbits as lb

iris = load_iris(as_frame=True)
model = lb.ICAMixture(6, 2, n_init=5, random_state=0, n_jobs=2).fit(iris.data)
groups = model.predict(iris.data)
print(f"{len(model.proportions_)} clusters; agreement with the species {adjusted_rand_score(iris.target, groups):.2f}")

lb.plots.plot_clusters(model, iris.data, columns=(2, 3))
