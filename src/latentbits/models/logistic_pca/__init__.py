"""Logistic PCA: low rank on the scale of log odds."""
