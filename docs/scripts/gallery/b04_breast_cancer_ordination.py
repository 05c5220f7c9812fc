"""
Cell nuclei in a plane
======================

The breast cancer data that come with scikit-learn, with each measurement replaced by whether it is above its median.
The ordination uses the 0-1 table alone; the colours are the diagnoses, which the model has not seen.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import latentbits as lb

data = load_breast_cancer()
above = pd.DataFrame((data.data > np.median(data.data, axis=0)).astype(int), columns=data.feature_names)
model = lb.BetaICA(4, n_init=5, random_state=0, n_jobs=2).fit(above)

lb.plots.plot_ordination(model, groups=data.target_names[data.target], n_named=9)
