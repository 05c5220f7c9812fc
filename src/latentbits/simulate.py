"""Data with known causes, and noise with its mask: the public name of `latentbits.data.simulate`."""

from latentbits.data.simulate import AspectTruth, Noisy, add_ones, add_zeros, aspect_bernoulli, corrode

__all__ = ["AspectTruth", "Noisy", "add_ones", "add_zeros", "aspect_bernoulli", "corrode"]
