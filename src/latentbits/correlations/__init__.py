"""Correlations behind yes-no items: tetrachoric correlations, how many factors, which ones."""
