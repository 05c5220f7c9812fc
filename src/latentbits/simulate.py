"""Data with known causes, and noise with its mask."""

from latentbits.data.simulate.aspect import AspectTruth, Noisy, add_ones, add_zeros, aspect_bernoulli, corrode
from latentbits.data.simulate.binary_factors import BinaryFactorsTruth, binary_factors
from latentbits.data.simulate.binary_ica import BinaryICATruth, binary_ica
from latentbits.data.simulate.ica_mixture import ICAMixtureTruth, ica_mixture

__all__ = [
    "AspectTruth",
    "BinaryFactorsTruth",
    "BinaryICATruth",
    "ICAMixtureTruth",
    "Noisy",
    "add_ones",
    "add_zeros",
    "aspect_bernoulli",
    "binary_factors",
    "binary_ica",
    "corrode",
    "ica_mixture",
]
