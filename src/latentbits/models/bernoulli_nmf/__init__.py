"""Bernoulli NMF: nonnegative causes that add up before they saturate."""
