"""
Models side by side
===================

Seven models predict the same held-out pixels of scans. Further right is better; dots are folds. Where a simple model is
as good, use the simple one.
"""

import latentbits as lb

digits = lb.datasets.load_digits(digits=[1, 3, 5]).X[:200]
models = {
    "FalseZeros (three members)": lb.FalseZeros(2, noise=None, members=["aspects_4", "ising", "linear_autoencoder"]),
    "aspects (BetaICA)": lb.BetaICA(8, n_init=2),
    "mixture": lb.BernoulliMixture(12, n_init=3),
    "logistic PCA": lb.LogisticPCA(4, ridge=1.0, n_init=1),
    "Ising": lb.IsingModel(ridge=10),
    "linear autoencoder": lb.LinearAutoencoder(ridge=30),
    "frequencies": lb.IndependentBernoulli(),
}
found = lb.compare(models, digits, criterion="cells", n_folds=3, random_state=0, n_jobs=2)
found.plot()
