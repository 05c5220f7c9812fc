"""A random stream of its own for each chain or row: xoshiro256++ (Blackman and Vigna), state in an array.

Numba's own generator is one for each thread, so what it draws would depend on which thread runs a chain.
"""

from math import exp, log, sqrt

import numba
import numpy as np

__all__ = ["log_gamma_draw", "mix", "normal", "positive_normal", "uniform"]

_WORD = np.uint64(64)
_TAIL = 0.45
"""A mean this far below 0: beyond it most normal numbers would be rejected."""
_INLINE = {"nogil": True, "cache": True, "inline": "always"}


@numba.njit(**_INLINE)
def _rotated(x, k):
    return (x << k) | (x >> (_WORD - k))


@numba.njit(nogil=True, cache=True)
def uniform(state):
    """The next number in [0, 1); `state` is 4 words of uint64, not all 0, and moves on."""
    result = _rotated(state[0] + state[3], np.uint64(23)) + state[0]
    t = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = _rotated(state[3], np.uint64(45))
    return (result >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@numba.njit(nogil=True, cache=True)
def mix(word):
    """The finaliser of splitmix64: neighbouring words become unrelated ones."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def normal(state):
    """A standard normal number, by Marsaglia's polar method."""
    while True:
        x = 2.0 * uniform(state) - 1.0
        y = 2.0 * uniform(state) - 1.0
        s = x * x + y * y
        if 0.0 < s < 1.0:
            return x * sqrt(-2.0 * log(s) / s)


@numba.njit(nogil=True, cache=True)
def positive_normal(mean, state):
    """A N(mean, 1) number given that it is above 0, right also where that is rare.

    Far in the tail exponential numbers are accepted or not (Robert 1995), their rate the best one, and it is the
    number itself that is drawn, not its distance from the mean: so no digit is lost.
    """
    if mean > -_TAIL:
        while True:
            t = mean + normal(state)
            if t > 0.0:
                return t
    rate = 0.5 * (sqrt(mean * mean + 4.0) - mean)
    while True:
        t = -log(1.0 - uniform(state)) / rate
        apart = t - 1.0 / rate  # 1 / rate = rate + mean
        if uniform(state) < exp(-0.5 * apart * apart):
            return t


@numba.njit(nogil=True, cache=True)
def log_gamma_draw(shape, state):
    """The logarithm of a Gamma(shape, 1) number (Marsaglia and Tsang 2000).

    The logarithm, because for a small shape most of the numbers themselves are below the smallest float.
    """
    small = 0.0
    if shape < 1.0:
        small = log(1.0 - uniform(state)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = normal(state)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = 1.0 - uniform(state)
            if log(u) < 0.5 * x * x + d - d * v + d * log(v):
                return small + log(d * v)
