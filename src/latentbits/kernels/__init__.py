"""Compiled loops as free functions on arrays. Each docstring states the NumPy equivalent."""
