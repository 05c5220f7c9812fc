"""Data with known causes, and noise with its mask."""

from latentbits.data.simulate.aspect import AspectTruth, Noisy, add_ones, add_zeros, aspect_bernoulli, corrode

__all__ = ["AspectTruth", "Noisy", "add_ones", "add_zeros", "aspect_bernoulli", "corrode"]
