"""A random stream of its own for each chain or row: xoshiro256++ (Blackman and Vigna), state in an array.

Numba's own generator is one for each thread, so what it draws would depend on which thread runs a chain.
"""

from math import erfc, exp, log, pi, sqrt

import numba
import numpy as np

__all__ = ["LAYERS", "draw_signed", "layers", "log_gamma_draw", "mix", "normal", "positive_normal", "uniform"]

_WORD = np.uint64(64)
_UNIT = 1.0 / 9007199254740992.0
_TAIL = 0.45
"""A mean this far below 0: beyond it most normal numbers would be rejected."""
_INLINE = {"nogil": True, "cache": True, "inline": "always"}

LAYERS = 256
_BASE = 3.6541528853610088
"""Where the lowest of 256 layers ends, for which all have the same area (Marsaglia and Tsang 2000)."""


def layers() -> tuple[np.ndarray, np.ndarray]:
    """Widths of the layers of equal area under exp(-x^2 / 2), wide ones first, and the next width as a share of each.

    The first is as wide as a rectangle would be with the area of the lowest layer, its tail included.
    """
    area = _BASE * exp(-0.5 * _BASE**2) + sqrt(pi / 2) * erfc(_BASE / sqrt(2))
    width = np.zeros(LAYERS + 1)
    width[0], width[1] = area / exp(-0.5 * _BASE**2), _BASE
    for i in range(2, LAYERS):
        width[i] = sqrt(-2.0 * log(area / width[i - 1] + exp(-0.5 * width[i - 1] ** 2)))
    return width, width[1:] / width[:-1]


_WIDTH, _INNER = layers()


@numba.njit(**_INLINE)
def _rotated(x, k):
    return (x << k) | (x >> (_WORD - k))


@numba.njit(**_INLINE)
def _next(a, b, c, d):
    """The next 64 bits, and the state that follows the state a, b, c, d."""
    result = _rotated(a + d, np.uint64(23)) + a
    t = b << np.uint64(17)
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    return result, a, b, c ^ t, _rotated(d, np.uint64(45))


@numba.njit(**_INLINE)
def _word(state):
    """The next 64 bits; `state` is 4 words of uint64, not all 0, and moves on."""
    result, state[0], state[1], state[2], state[3] = _next(state[0], state[1], state[2], state[3])
    return result


@numba.njit(**_INLINE)
def _layer_and_place(word):
    """A layer from 8 bits of a word, and a place between -1 and 1 from 53 others."""
    return np.int64(word & np.uint64(LAYERS - 1)), 2.0 * ((word >> np.uint64(11)) * _UNIT) - 1.0


@numba.njit(nogil=True, cache=True)
def uniform(state):
    """The next number in [0, 1)."""
    return (_word(state) >> np.uint64(11)) * _UNIT


@numba.njit(nogil=True, cache=True)
def mix(word):
    """The finaliser of splitmix64: neighbouring words become unrelated ones."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def _at_the_edge(i, u, state):
    """A normal number where a draw lies in layer i, but not in the part that is under the curve as a whole."""
    while True:
        if i == 0:  # the tail, by exponential numbers
            while True:
                beyond = -log(1.0 - uniform(state)) / _BASE
                if -2.0 * log(1.0 - uniform(state)) > beyond * beyond:
                    return _BASE + beyond if u > 0.0 else -_BASE - beyond
        x = u * _WIDTH[i]
        low, high = exp(-0.5 * _WIDTH[i] ** 2), exp(-0.5 * _WIDTH[i + 1] ** 2)
        if low + uniform(state) * (high - low) < exp(-0.5 * x * x):
            return x
        i, u = _layer_and_place(_word(state))
        if abs(u) < _INNER[i]:
            return u * _WIDTH[i]


@numba.njit(nogil=True, cache=True)
def normal(state):
    """A standard normal number, by the ziggurat of Marsaglia and Tsang."""
    i, u = _layer_and_place(_word(state))
    if abs(u) < _INNER[i]:
        return u * _WIDTH[i]
    return _at_the_edge(i, u, state)


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


@numba.njit(nogil=True, cache=True, error_model="numpy")
def draw_signed(signs, means, state, out):
    """out_j ~ N(means_j, 1), given that it is above 0 where signs_j is 1 and below 0 where it is 0; 0 where it is less.

    The numbers are those that `positive_normal` would draw one after the other. Here the state stays in registers,
    which halves the time. Returns whether a sign was below 0.
    """
    a, b, c, d = state[0], state[1], state[2], state[3]
    skipped = False
    for j in range(signs.shape[0]):
        if signs[j] < 0:
            out[j] = 0.0
            skipped = True
            continue
        sign = 1.0 if signs[j] == 1 else -1.0
        mean = sign * means[j]
        t = -1.0
        while t <= 0.0:
            if mean > -_TAIL:
                word, a, b, c, d = _next(a, b, c, d)
                i, u = _layer_and_place(word)
                if abs(u) < _INNER[i]:
                    t = mean + u * _WIDTH[i]
                    continue
            state[0], state[1], state[2], state[3] = a, b, c, d
            t = mean + _at_the_edge(i, u, state) if mean > -_TAIL else positive_normal(mean, state)
            a, b, c, d = state[0], state[1], state[2], state[3]
        out[j] = sign * t
    state[0], state[1], state[2], state[3] = a, b, c, d
    return skipped


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
