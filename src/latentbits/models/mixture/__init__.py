"""Mixtures of Bernoulli products: every row belongs to one component."""
