"""digamma and log gamma of positive numbers, both at once: they share a logarithm, and the loop has no branches.

With y = x + 6 the asymptotic series of both (Abramowitz and Stegun 6.1.41, 6.3.18) are left with less than 1e-13 after
eight terms, and recurrences (6.1.16, 6.3.6) lead back to x: with P(x) = x (x + 1) ... (x + 5),

    log Gamma(x) = log Gamma(y) - log P(x),    digamma(x) = digamma(y) - P'(x) / P(x)
"""

from math import log, pi

import numba
import numpy as np

__all__ = ["gamma_functions"]

LARGE = 1e40  # P beyond it would overflow, and changes no digit of either function

_HALF_LOG_2PI = 0.5 * log(2.0 * pi)
_LN2 = log(2.0)
_ROOT_HALF = np.float64(0.5**0.5).view(np.int64)
_MANTISSA = 52  # bits

# No reassociation: a number's results are the same whether it is computed in a vector or alone.
_LOOP = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _log(x):
    """log(x) of a positive normal number: unlike the library's, a loop around it becomes vector instructions.

    x = 2^e m with m between the roots of 1/2 and 2, and log m = 2 artanh s, s = (m - 1) / (m + 1), |s| < 0.172.
    """
    bits = np.float64(x).view(np.int64)
    e = (bits - _ROOT_HALF) >> _MANTISSA
    m = np.int64(bits - (e << _MANTISSA)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1 / 13 + z * (1 / 15 + z * (1 / 17 + z * (1 / 19 + z * (1 / 21))))
    series = z * (1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z * series)))))
    return np.float64(e) * _LN2 + 2.0 * (s + s * series)


@numba.njit(**_LOOP)
def gamma_functions(x, psi, log_gamma):
    """Write digamma(x) and gammaln(x) of scipy.special, for 1e-300 < x < 1e300; all are arrays of one dimension."""
    for i in range(x.shape[0]):
        t = min(x[i], LARGE)
        # P = a b c, the derivative of each factor is 2 x + 5, and so P' / P = (2 x + 5) (1/a + 1/b + 1/c).
        a = t * (t + 5.0)
        b, c = a + 4.0, a + 6.0
        product = a * b * c
        y = x[i] + 6.0
        v = 1.0 / y
        z = v * v
        log_y = _log(y)
        series = 1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z * (1 / 12 - z * (3617 / 8160)))))
        below = (2.0 * t + 5.0) * (b * c + a * c + a * b) / product
        psi[i] = log_y - 0.5 * v - z * (1 / 12 - z * (1 / 120 - z * series)) - below
        series = 1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z * (1 / 156 - z * (3617 / 122400)))))
        stirling = (y - 0.5) * log_y - y + _HALF_LOG_2PI + v * (1 / 12 - z * (1 / 360 - z * series))
        log_gamma[i] = stirling - _log(product)
