"""Fitting, whatever the model: the accelerated iteration, its monitor, restarts, threads, progress."""
