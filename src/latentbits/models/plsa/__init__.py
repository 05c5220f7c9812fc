"""Probabilistic latent semantic analysis: the aspect model of the ones alone."""
