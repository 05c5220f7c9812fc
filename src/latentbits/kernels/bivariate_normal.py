"""The bivariate normal distribution function, and its inversion: the correlation behind a 2 x 2 table.

Plackett's identity says that the derivative of Phi2(h, k; rho) in rho is the bivariate density. With rho = cos(u) and
v = tan(u / 2), that is rho = (1 - v^2) / (1 + v^2), it integrates to

    Phi2(h, k; rho) = Phi(h) Phi(k) + int_v^1 g(w) dw,
    g(w) = exp(-a (1 + 1 / w^2) - b (1 + w^2)) / (pi (1 + w^2)),   a = (h - k)^2 / 8,   b = (h + k)^2 / 8,

one exponential and no trigonometry per node. v = 1 is independence and v = 0 a correlation of 1, where g is smooth
but not analytic; so [v, 1] is cut at 1/2, 1/4, 1/8, ..., each panel staying its own length away from 0, and a dozen
Gauss-Legendre nodes per panel are enough at any correlation. A negative correlation is a positive one with the sign
of k changed.
"""

from math import erfc, exp, pi, sqrt

import numba
import numpy as np

__all__ = ["LARGEST", "fit_tables", "normal_cdf2", "table_errors"]

LARGEST = 0.9999
"""The correlations that `fit_tables` gives lie within this and its negative."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
MAX_STEPS = 100  # of a bracketed search; a handful are made
ROUNDING = 1e-15
EDGE = 1e-10
"""A joint probability this near to its limits, as a share of their distance, counts as at the limit."""
CLOSE = 1e-5
"""A relative step of Halley's method after which the rest, its cube, is below rounding."""

_LOOP = {"nogil": True, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _phi(x):
    """scipy.special.ndtr(x)"""
    return 0.5 * erfc(-x / sqrt(2.0))


@numba.njit(**_LOOP)
def _g(w, a, b):
    """The integrand of the module's docstring."""
    square = w * w
    return exp(-a * (1.0 + 1.0 / square) - b * (1.0 + square)) / (pi * (1.0 + square))


@numba.njit(**_LOOP)
def _area(low, high, a, b):
    """scipy.integrate.quad(g, low, high), exact to rounding if 0 < high / 2 <= low."""
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    total = 0.0
    for m in range(NODES.shape[0]):
        total += WEIGHTS[m] * _g(middle + half * NODES[m], a, b)
    return half * total


@numba.njit(**_LOOP)
def _cdf(h, k, rho):
    """Phi2 for one point."""
    p, q = _phi(h), _phi(k)
    if rho >= 1.0:
        return min(p, q)
    if rho <= -1.0:
        return max(0.0, p - _phi(-k))
    sign = 1.0 if rho >= 0.0 else -1.0
    a, b = (h - sign * k) ** 2 / 8.0, (h + sign * k) ** 2 / 8.0
    v = sqrt((1.0 - abs(rho)) / (1.0 + abs(rho)))
    total, high = 0.0, 1.0
    while high > v:
        low = max(v, 0.5 * high)
        total += _area(low, high, a, b)
        high = low
    return p * q + sign * total


@numba.njit(**_LOOP)
def _solve_area(area, a, b, smallest):
    """v with int_v^1 g = area, at least `smallest`: its panel, then Halley's method inside, bracketed."""
    left, high = area, 1.0
    while True:
        low = max(smallest, 0.5 * high)
        panel = _area(low, high, a, b)
        if panel >= left:
            break
        if low == smallest:
            return smallest
        left, high = left - panel, low
    v = high - (high - low) * left / panel if panel > 0.0 else high
    excess = _area(v, high, a, b) - left
    for _ in range(MAX_STEPS):
        if excess > 0.0:
            low = v
        else:
            high = v
        slope = _g(v, a, b)
        bend = a / v**3 - b * v - v / (1.0 + v * v)  # g'(v) / (2 g(v))
        new = v + excess / (slope + excess * bend) if slope > 0.0 else np.inf
        if low <= new <= high:  # else bisection
            close = abs(new - v) <= CLOSE * v
        else:
            new = 0.5 * (low + high)
            close = high - low <= ROUNDING * v
        if close:
            return new
        # Only the short interval between the iterates is integrated: cheap, and the rounding doesn't grow.
        excess += _area(new, v, a, b)
        v = new
    return v


@numba.njit(**_LOOP)
def _joint(n11, n10, n01, n00, p, q):
    """P11 maximising n11 log P11 + n10 log(p - P11) + n01 log(q - P11) + n00 log(1 - p - q + P11), which is concave.

    That is n11 / n if the table has the margins p and q itself, and a compromise if it was smoothed or if the
    margins come from other rows too. Also returns -1 or 1 if the maximum is at the lower or upper limit, else 0.
    """
    low, high = max(0.0, p + q - 1.0), min(p, q)
    edge = EDGE * (high - low)
    least, most = low + edge, high - edge
    x = min(max(n11 / (n11 + n10 + n01 + n00), least), most)
    for _ in range(MAX_STEPS):
        P11, P10, P01, P00 = x, p - x, q - x, 1.0 - p - q + x
        slope = n11 / P11 - n10 / P10 - n01 / P01 + n00 / P00
        if slope > 0.0:
            low = x
        else:
            high = x
        curvature = n11 / P11**2 + n10 / P10**2 + n01 / P01**2 + n00 / P00**2
        new = x + slope / curvature
        if not low <= new <= high:
            new = 0.5 * (low + high)
        step, x = abs(new - x), new
        if step <= ROUNDING * x:
            break
    return x, -1.0 if x < least else (1.0 if x > most else 0.0)


@numba.njit(**_LOOP)
def _standard_error(P11, p, q, h, k, rho, n):
    """sqrt(Var(x y - alpha x - beta y) / n) / density(h, k, rho), at most 1: Pearson's formula (delta method).

    alpha and beta are the derivatives of Phi2 in p and q, so the thresholds count as estimated from the same rows.
    """
    root = sqrt(1.0 - rho * rho)
    density = exp(-0.5 * (h * h + k * k - 2.0 * rho * h * k) / (root * root)) / (2.0 * pi * root)
    alpha, beta = _phi((k - rho * h) / root), _phi((h - rho * k) / root)
    both = 1.0 - alpha - beta
    mean = P11 * both - (p - P11) * alpha - (q - P11) * beta
    square = P11 * both * both + (p - P11) * alpha * alpha + (q - P11) * beta * beta
    deviation = sqrt(max(0.0, square - mean * mean) / n)
    # Compared before the division: the density underflows far from the diagonal.
    return deviation / density if deviation < density else 1.0


@numba.njit(**_LOOP)
def normal_cdf2(h, k, rho, out):
    """out = P(x <= h, y <= k) of standard normal x and y with correlation rho, elementwise over 1-D float64 arrays.

    NumPy equivalent: scipy.stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([h, k]), point by point.
    """
    for i in range(h.shape[0]):
        out[i] = _cdf(h[i], k[i], rho[i])


@numba.njit(**_LOOP)
def fit_tables(counts, n, p, q, h, k, rho, error):
    """Tetrachoric correlations `rho` and their standard errors `error` of 2 x 2 tables, the thresholds given.

    The likelihood is maximised over the one probability P11 that the margins leave free, and Phi2(h, k; rho) = P11
    is solved for rho within -LARGEST and LARGEST, which are the answers if an empty cell puts P11 at its limits.
    NumPy equivalent: scipy.optimize.minimize_scalar(lambda r: -counts[i] @ log(cells(h[i], k[i], r))) for each i.

    Parameters
    ----------
    counts : float64 array, tables x 4
        n11, n10, n01 and n00, not all 0.
    n : float64 array
        Rows behind each table, for the standard error.
    p, q, h, k : float64 arrays
        Probabilities of a 1 of the first and second column, strictly between 0 and 1; h = ndtri(p), k = ndtri(q).
    rho, error : float64 arrays
        Results.
    """
    smallest = sqrt((1.0 - LARGEST) / (1.0 + LARGEST))
    for i in range(counts.shape[0]):
        P11, limit = _joint(counts[i, 0], counts[i, 1], counts[i, 2], counts[i, 3], p[i], q[i])
        surplus = P11 - p[i] * q[i]
        sign = limit if limit != 0.0 else (1.0 if surplus >= 0.0 else -1.0)
        a, b = (h[i] - sign * k[i]) ** 2 / 8.0, (h[i] + sign * k[i]) ** 2 / 8.0
        v = _solve_area(abs(surplus), a, b, smallest) if limit == 0.0 else smallest
        rho[i] = sign * (1.0 - v) * (1.0 + v) / (1.0 + v * v)  # 1 - v * v would lose digits of a rho near 0
        at_limit = abs(rho[i]) >= LARGEST - 1e-12  # a clipped estimate has no asymptotic standard error
        error[i] = 1.0 if at_limit else _standard_error(P11, p[i], q[i], h[i], k[i], rho[i], n[i])


@numba.njit(**_LOOP)
def table_errors(h, k, rho, n, error):
    """Standard errors of tetrachoric correlations of n rows whose true values are the thresholds h, k and rho.

    P(1) = Phi(h) and Phi(k); 1-D float64 arrays, |rho| < 1. NumPy equivalent: Pearson's formula (`_standard_error`).
    """
    for i in range(h.shape[0]):
        joint = _cdf(h[i], k[i], rho[i])
        error[i] = _standard_error(joint, _phi(h[i]), _phi(k[i]), h[i], k[i], rho[i], n[i])
