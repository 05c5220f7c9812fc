"""Bernoulli NMF: nonnegative components whose sum is mapped to a probability by a saturating function."""
