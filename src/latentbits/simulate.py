"""Data with known causes, and noise with its mask."""

# ruff: noqa: F403  (each name stands once, in `__all__` of the module that defines it)

from latentbits.data.simulate import aspect as _aspect
from latentbits.data.simulate import binary_factors as _binary_factors
from latentbits.data.simulate import binary_ica as _binary_ica
from latentbits.data.simulate import ica_mixture as _ica_mixture
from latentbits.data.simulate import ising as _ising
from latentbits.data.simulate import noise as _noise
from latentbits.data.simulate import probit_factors as _probit_factors
from latentbits.data.simulate import surveys as _surveys
from latentbits.data.simulate.aspect import *
from latentbits.data.simulate.binary_factors import *
from latentbits.data.simulate.binary_ica import *
from latentbits.data.simulate.ica_mixture import *
from latentbits.data.simulate.ising import *
from latentbits.data.simulate.noise import *
from latentbits.data.simulate.probit_factors import *
from latentbits.data.simulate.surveys import *

__all__: list[str] = []
__all__ += _aspect.__all__
__all__ += _binary_factors.__all__
__all__ += _binary_ica.__all__
__all__ += _ica_mixture.__all__
__all__ += _ising.__all__
__all__ += _noise.__all__
__all__ += _probit_factors.__all__
__all__ += _surveys.__all__
