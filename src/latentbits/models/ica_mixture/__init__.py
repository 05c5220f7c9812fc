"""Variational mixtures of undercomplete, non-symmetric independent components, and of factor analysers."""
