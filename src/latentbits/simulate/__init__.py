"""Data with known causes, and noise with its mask."""

from latentbits.simulate.false_cells import (
    FalseCells,
    Noisy,
    SurveyTruth,
    add_noise,
    add_ones,
    add_zeros,
    corrode,
    repeated_surveys,
)
from latentbits.simulate.mixed_sources import (
    BinaryFactorsTruth,
    BinaryICATruth,
    ICAMixtureTruth,
    binary_factors,
    binary_ica,
    ica_mixture,
)
from latentbits.simulate.zero_one_tables import (
    AspectTruth,
    IsingTruth,
    ProbitFactorsTruth,
    aspect_bernoulli,
    ising,
    probit_factors,
)

__all__ = [
    "AspectTruth",
    "BinaryFactorsTruth",
    "BinaryICATruth",
    "FalseCells",
    "ICAMixtureTruth",
    "IsingTruth",
    "Noisy",
    "ProbitFactorsTruth",
    "SurveyTruth",
    "add_noise",
    "add_ones",
    "add_zeros",
    "aspect_bernoulli",
    "binary_factors",
    "binary_ica",
    "corrode",
    "ica_mixture",
    "ising",
    "probit_factors",
    "repeated_surveys",
]
