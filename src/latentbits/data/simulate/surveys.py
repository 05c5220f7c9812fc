"""Surveys with repeat visits, of which it is known what was there: draws from the Royle-Nichols model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latentbits.numerics import RandomSource, as_generator

__all__ = ["SurveyTruth", "repeated_surveys"]


@dataclass(frozen=True, eq=False)
class SurveyTruth:
    """Histories of sites and species, with everything that made them.

    Attributes
    ----------
    histories : ndarray of shape (n_sites, n_visits, n_species)
        1 seen, 0 not seen, NaN where the visit wasn't made; int8 if all visits were made.
    expected : ndarray of shape (n_sites, n_species)
        Expected number of individuals.
    abundance : ndarray of int, shape (n_sites, n_species)
        Number of individuals.
    rates : ndarray of shape (n_species,)
        Probability that a visit sees an individual.

    Examples
    --------
    >>> from latentbits.simulate import repeated_surveys
    >>> truth = repeated_surveys(20, 5, 3, random_state=0)
    >>> truth.histories.shape, truth.abundance.shape, truth.rates
    ((20, 3, 5), (20, 5), array([0.4, 0.4, 0.4, 0.4, 0.4]))
    >>> bool(truth.histories[:, :, 0][~truth.presence[:, 0]].any())
    False
    """

    histories: NDArray[np.int8] | NDArray[np.float64]
    expected: NDArray[np.float64]
    abundance: NDArray[np.int_]
    rates: NDArray[np.float64]

    @property
    def presence(self) -> NDArray[np.bool_]:
        """Whether a species is there, seen or not: sites x species."""
        there: NDArray[np.bool_] = self.abundance > 0
        return there


def repeated_surveys(
    n_sites: int,
    n_species: int,
    n_visits: int,
    *,
    n_components: int = 3,
    abundance: float = 0.8,
    rate: ArrayLike = 0.4,
    unmade: float = 0.0,
    random_state: RandomSource = None,
) -> SurveyTruth:
    """Draw a survey with repeat visits.

    Each site mixes `n_components` kinds of habitat, each habitat has an expected number of individuals of each species,
    the number at a site is Poisson distributed about the mixture, and each visit sees each individual with the
    probability `rate`: the model of Royle and Nichols (2003).

    Parameters
    ----------
    n_sites, n_species, n_visits : int
        Sizes, each at least 1.
    n_components : int, default=3
        Kinds of habitat.
    abundance : float, default=0.8
        Expected number of individuals of a species at a site, on average.
    rate : float or array-like of shape (n_species,), default=0.4
        Probability that a visit sees an individual.
    unmade : float, default=0.0
        Probability that a visit to a site isn't made. With the same seed, those that stay are the ones of the complete
        survey.
    random_state : None, int, Generator or RandomState, optional
        Seed or source of the random numbers; None draws differently each time.

    Returns
    -------
    SurveyTruth
        The histories with what made them.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits.simulate import repeated_surveys
    >>> truth = repeated_surveys(100, 10, 3, rate=0.3, unmade=0.2, random_state=0)
    >>> bool(np.isnan(truth.histories).any())
    True
    """
    sizes = {"n_sites": n_sites, "n_species": n_species, "n_visits": n_visits, "n_components": n_components}
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} is {size}; it must be at least 1.")
    rates = np.array(np.broadcast_to(np.asarray(rate, float), (n_species,)))
    if not ((rates > 0) & (rates <= 1)).all():
        raise ValueError(f"rate is {rate!r}; it must be above 0 and at most 1.")
    if not 0 < abundance < np.inf:
        raise ValueError(f"abundance is {abundance}; it must be positive and finite.")
    if not 0 <= unmade < 1:
        raise ValueError(f"unmade is {unmade}; it is a probability from 0 to below 1.")
    rng = as_generator(random_state)
    habitats = rng.dirichlet(np.full(n_components, 0.5), size=n_sites)
    # A Gamma distribution of shape 1/4: most species live in few of the habitats.
    expected = habitats @ rng.gamma(0.25, 4 * abundance, (n_components, n_species))
    individuals = rng.poisson(expected)
    missed = (1 - rates) ** individuals
    seen = rng.random((n_sites, n_visits, n_species)) >= missed[:, None]
    if unmade == 0:
        return SurveyTruth(seen.astype(np.int8), expected, individuals, rates)
    # Drawn last, so that asking for visits that weren't made doesn't change the others.
    made = rng.random((n_sites, n_visits, 1)) >= unmade
    return SurveyTruth(np.where(made, seen, np.nan), expected, individuals, rates)
