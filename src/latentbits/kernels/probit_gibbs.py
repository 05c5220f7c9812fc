"""Gibbs sampling of probit factor analysis.

Cell ij is 1 if z_ij > 0, where z_ij ~ N(eta_ij, 1) and eta_ij = g_i . theta_j. A row has the coordinates
g_i = (1, u_i, e_i), normal but for the 1; a column has theta_j = (b_j, v_j, s): its bias, its loadings on K factors and
the size s of the rows' own effects, which is the same in all columns (and left out of both where there are no row
effects). So Q, the length of both, is K + 2 or K + 1. The priors are

    u_ik, e_i ~ N(0, 1);  v_jk ~ N(0, 1 / tau_k);  tau_k ~ Gamma(1, 1);  s ~ N(0, 1);
    b_j ~ N(m, 1 / t);  m ~ N(0, 4);  t ~ Gamma(1, 1)

and given the others each of z_ij, g_i, (b_j, v_j), s, tau, m and t has a normal or a Gamma distribution. Missing cells
are in none of the sums.
"""

from math import erfc, exp, log, sqrt

import numba
import numpy as np

from latentbits.kernels.probit_ep import ROOT_2PI, mills
from latentbits.kernels.random_stream import draw_signed, log_gamma_draw, mix, normal, uniform

__all__ = ["probit_rows", "probit_sweeps"]

_LOOP = {"nogil": True, "error_model": "numpy", "cache": True}
_VECTORISED = {**_LOOP, "fastmath": {"reassoc", "contract", "nsz"}}
_ROOT_HALF = sqrt(0.5)
_PRECISION_OF_M = 0.25
_LOG_ROOT_2PI = log(ROOT_2PI)


@numba.njit(**_LOOP)
def _factorise(A):
    """The lower triangle of A becomes that of C with C C' = A; the upper one isn't looked at."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            if i == j:
                A[i, i] = sqrt(total)
            else:
                A[i, j] = total / A[j, j]


@numba.njit(**_LOOP)
def _halfway(C, x):
    """x becomes C^-1 x."""
    for i in range(x.shape[0]):
        total = x[i]
        for k in range(i):
            total -= C[i, k] * x[k]
        x[i] = total / C[i, i]


@numba.njit(**_LOOP)
def _draw_normal(C, x, state):
    """x = C^-1 y becomes a draw from N(A^-1 y, A^-1), where A = C C'."""
    n = x.shape[0]
    for i in range(n):
        x[i] += normal(state)
    for i in range(n - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, n):
            total -= C[k, i] * x[k]
        x[i] = total / C[i, i]


@numba.njit(**_LOOP)
def _draw_scale(n, a, b, state):
    """A number with the density c^(n - 1) exp(-a c^2 / 2 + b c) above 0, n > 1.

    Replacing log c by its tangent at the mode leaves a normal density, which is nowhere below: draws from that one are
    accepted or not, 7 in 10 where b = 0.
    """
    mode = (b + sqrt(b * b + 4.0 * a * (n - 1.0))) / (2.0 * a)
    while True:
        c = mode + normal(state) / sqrt(a)
        if c > 0.0 and log(1.0 - uniform(state)) < (n - 1.0) * (log(c / mode) - (c - mode) / mode):
            return c


@numba.njit(**_LOOP)
def _outer(x, packed):
    """packed = the lower triangle of x x', row by row."""
    at = 0
    for i in range(x.shape[0]):
        for j in range(i + 1):
            packed[at] = x[i] * x[j]
            at += 1


@numba.njit(**_LOOP)
def _unpack(packed, A):
    """The lower triangle of A, row by row, from one array."""
    at = 0
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] = packed[at]
            at += 1


@numba.njit(**_VECTORISED)
def _add(x, scale, y):
    """y += scale * x."""
    for j in range(x.shape[0]):
        y[j] += scale * x[j]


@numba.njit(**_VECTORISED)
def _dot(x, y):
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@numba.njit(**_LOOP)
def _of_columns(theta):
    """What every row needs of the columns: by_kind, outer, pull, complete and factor.

    by_kind = theta' (Q x D); outer_j = theta_j theta_j' without the bias, packed; pull = sum_j b_j theta_j, what the
    biases take from a row with no cell missing; complete, packed, and factor: the precision 1 + sum_j outer_j of its
    coordinates, and the Cholesky factor of that.
    """
    D, Q = theta.shape
    by_kind, outer, pull = np.empty((Q, D)), np.empty((D, (Q - 1) * Q // 2)), np.empty(Q - 1)
    complete, factor = np.zeros((Q - 1) * Q // 2), np.empty((Q - 1, Q - 1))
    at = -1
    for q in range(Q - 1):
        at += q + 1
        complete[at] = 1.0
    for j in range(D):
        for q in range(Q):
            by_kind[q, j] = theta[j, q]
        _outer(theta[j, 1:], outer[j])
        _add(outer[j], 1.0, complete)
    for q in range(Q - 1):
        pull[q] = _dot(by_kind[0], by_kind[q + 1])
    _unpack(complete, factor)
    _factorise(factor)
    return by_kind, outer, pull, complete, factor


@numba.njit(**_LOOP)
def _for_work(D, Q):
    """eta and z of a row's cells; a precision of its coordinates, and the same packed."""
    return np.empty(D), np.empty(D), np.empty((Q - 1, Q - 1)), np.empty((Q - 1) * Q // 2)


@numba.njit(**_LOOP)
def _draw_row(x, columns, state, g, work):
    """z of a row given g, then g given z, both in place, as eta (of the old g) is; whether a cell is missing.

    `columns` is what `_of_columns` returns, and `work`, of `_for_work`, has eta and z.
    """
    by_kind, outer, pull, complete, factor = columns
    eta, z, A, packed = work
    Q, D = by_kind.shape
    for j in range(D):
        eta[j] = by_kind[0, j]
    for q in range(1, Q):
        _add(by_kind[q], g[q], eta)
    missing = draw_signed(x, eta, state, z)
    new = g[1:]
    for q in range(Q - 1):
        new[q] = _dot(z, by_kind[q + 1]) - pull[q]
    if missing:
        for k in range(packed.shape[0]):
            packed[k] = complete[k]
        for j in range(D):
            if x[j] < 0:
                _add(outer[j], -1.0, packed)
                for q in range(Q - 1):
                    new[q] += by_kind[0, j] * by_kind[q + 1, j]
        _unpack(packed, A)
        _factorise(A)
        _halfway(A, new)
        _draw_normal(A, new, state)
    else:
        _halfway(factor, new)
        _draw_normal(factor, new, state)
    return missing


@numba.njit(**_LOOP)
def _log_likelihood(x, eta):
    """sum over a row's observed cells of log Phi(eta) or log Phi(-eta)."""
    total, product = 0.0, 1.0
    for j in range(x.shape[0]):
        if x[j] < 0:
            continue
        score = eta[j] if x[j] == 1 else -eta[j]
        if score < -6.0:
            total -= 0.5 * score * score + _LOG_ROOT_2PI + log(mills(score))
            continue
        product *= 0.5 * erfc(-score * _ROOT_HALF)
        if product < 1e-200:  # one logarithm for many cells
            total += log(product)
            product = 1.0
    return total + log(product)


@numba.njit(**_LOOP)
def _draw_rows(cells, g, theta, state, G, lost, r, squares, wanted):
    """All rows, and the sums over them that the columns need: G = sum_i g_i g_i', r_j = sum_i z_ij g_i, sum_i z_ij^2.

    Column j's own sum is G - lost_j, the sum over the rows in which it is missing. Returns log p(X | g, theta) of the
    rows as they were, if it is `wanted`.
    """
    N, D = cells.shape
    Q = theta.shape[1]
    n_all = Q * (Q + 1) // 2
    columns, work = _of_columns(theta), _for_work(D, Q)
    eta, z, _, _ = work
    products, total, missed, sums = np.empty(n_all), np.zeros(n_all), np.zeros((D, n_all)), np.zeros((Q, D))
    squares[:] = 0.0
    log_likelihood = 0.0
    for i in range(N):
        missing = _draw_row(cells[i], columns, state, g[i], work)
        if wanted:
            log_likelihood += _log_likelihood(cells[i], eta)
        _outer(g[i], products)
        _add(products, 1.0, total)
        if missing:
            for j in range(D):
                if cells[i, j] < 0:
                    _add(products, -1.0, missed[j])
        for j in range(D):
            squares[j] += z[j] * z[j]
        for q in range(Q):
            _add(z, g[i, q], sums[q])
    _unpack(total, G)
    for j in range(D):
        _unpack(missed[j], lost[j])
        for q in range(Q):
            r[j, q] = sums[q, j]
    return log_likelihood


@numba.njit(**_LOOP)
def _draw_columns(theta, tau, hyper, G, lost, r, squares, state):
    """Bias and loadings of all columns given the sums over rows, then the size of the row effects.

    First the z of a column are all multiplied by one number, drawn given them with bias and loadings integrated out: a
    move that leaves the posterior as it is (Liu and Wu 1999), without which columns of few ones hardly move.
    """
    D, Q = theta.shape
    n = tau.shape[0] + 1
    A, x, offset = np.empty((n, n)), np.empty(n), np.empty(n)
    m, t = hyper[0], hyper[1]
    weight, pull = 1.0, 0.0
    for j in range(D):
        for q in range(n):
            x[q] = r[j, q]
            offset[q] = -theta[j, n] * (G[n, q] + lost[j, n, q]) if n < Q else 0.0
            for k in range(q + 1):
                A[q, k] = G[q, k] + lost[j, q, k]
            A[q, q] += t if q == 0 else tau[q - 1]
        offset[0] += m * t
        _factorise(A)
        _halfway(A, x)
        _halfway(A, offset)
        c = 1.0
        n_seen = G[0, 0] + lost[j, 0, 0]
        if n_seen > 1.5:
            a, b = squares[j], theta[j, n] * r[j, n] if n < Q else 0.0
            for q in range(n):
                a -= x[q] * x[q]
                b += x[q] * offset[q]
            if a > 1e-12 * squares[j]:  # else all digits of the difference are lost
                c = _draw_scale(n_seen, a, b, state)
        for q in range(n):
            x[q] = c * x[q] + offset[q]
        _draw_normal(A, x, state)
        for q in range(n):
            theta[j, q] = x[q]
        if n < Q:
            weight += G[n, n] + lost[j, n, n]
            pull += c * r[j, n]
            for q in range(n):
                pull -= x[q] * (G[n, q] + lost[j, n, q])
    if n < Q:
        theta[:, n] = pull / weight + normal(state) / sqrt(weight)


@numba.njit(**_LOOP)
def _rescale(g, theta, tau, state):
    """The rows' coordinates on each factor times c, its loadings divided by c and tau_k times c^2: no score changes.

    Given all but such a number, c^2 has a Gamma distribution. Without it, rows and columns would change their common
    scale in small steps only, as each is drawn given the other. The row effects' s has a prior of a known scale; for
    them c^2 is drawn without it, and accepted by what it makes of the prior (Metropolis).
    """
    N, Q = g.shape
    K = tau.shape[0]
    for q in range(1, Q):
        squares = 0.0
        for i in range(N):
            squares += g[i, q] ** 2
        if q <= K:
            c2 = exp(log_gamma_draw(0.5 * N + 1.0, state)) / (0.5 * squares + tau[q - 1])
            tau[q - 1] *= c2
        elif N > 1:
            c2 = exp(log_gamma_draw(0.5 * (N - 1.0), state)) / (0.5 * squares)
            if log(1.0 - uniform(state)) >= 0.5 * theta[0, q] ** 2 * (1.0 - 1.0 / c2):
                continue
        else:
            continue
        for i in range(N):
            g[i, q] *= sqrt(c2)
        for j in range(theta.shape[0]):
            theta[j, q] /= sqrt(c2)


@numba.njit(**_LOOP)
def _shift(g, theta, hyper, state):
    """d added to all rows' coordinates of a kind, and taken from the biases as d times the loadings: no score changes.

    Given all but such a number, d is normal; it is what `_rescale` is to scales.
    """
    N, D = g.shape[0], theta.shape[0]
    m, t = hyper[0], hyper[1]
    for q in range(1, g.shape[1]):
        precision, pull = float(N), 0.0
        for i in range(N):
            pull -= g[i, q]
        for j in range(D):
            precision += t * theta[j, q] ** 2
            pull += t * theta[j, q] * (theta[j, 0] - m)
        d = pull / precision + normal(state) / sqrt(precision)
        for i in range(N):
            g[i, q] += d
        for j in range(D):
            theta[j, 0] -= d * theta[j, q]


@numba.njit(**_LOOP)
def _draw_hyper(theta, tau, hyper, state):
    """tau given the loadings; m and t given the biases."""
    D = theta.shape[0]
    for k in range(tau.shape[0]):
        squares = 0.0
        for j in range(D):
            squares += theta[j, k + 1] ** 2
        tau[k] = exp(log_gamma_draw(1.0 + 0.5 * D, state)) / (1.0 + 0.5 * squares)
    precision = _PRECISION_OF_M + D * hyper[1]
    hyper[0] = hyper[1] * theta[:, 0].sum() / precision + normal(state) / sqrt(precision)
    squares = 0.0
    for j in range(D):
        squares += (theta[j, 0] - hyper[0]) ** 2
    hyper[1] = exp(log_gamma_draw(1.0 + 0.5 * D, state)) / (1.0 + 0.5 * squares)


@numba.njit(**_LOOP)
def probit_sweeps(cells, g, theta, tau, hyper, G, lost, r, squares, state, n_sweeps):
    """Draw everything anew `n_sweeps` times: columns given the rows, then rows given the columns.

    Parameters
    ----------
    cells : (N, D) int8
        0, 1, or below 0 where missing.
    g : (N, Q)
        Coordinates of rows, g[:, 0] = 1; this and all that follows is changed in place.
    theta : (D, Q)
        Biases, loadings, size of the row effects.
    tau : (K,)
        Precisions of the loadings; with row effects Q = K + 2, else K + 1.
    hyper : (2,)
        Mean and precision of the biases.
    G, lost, r, squares : (Q, Q), (D, Q, Q), (D, Q), (D,)
        Sums over rows, kept from one call to the next; before the first call G[0, 0] = 0, which stands for no sums, and
        then rows are drawn first.
    state : (4,) uint64
        Of the random stream.
    n_sweeps : int

    Returns
    -------
    float
        log p(X | g, theta) in the last sweep, between columns and rows.
    """
    if G[0, 0] == 0.0:
        _draw_rows(cells, g, theta, state, G, lost, r, squares, False)
    log_likelihood = 0.0
    for sweep in range(n_sweeps):
        _draw_columns(theta, tau, hyper, G, lost, r, squares, state)
        _draw_hyper(theta, tau, hyper, state)
        _rescale(g, theta, tau, state)
        _shift(g, theta, hyper, state)
        log_likelihood = _draw_rows(cells, g, theta, state, G, lost, r, squares, sweep == n_sweeps - 1)
    return log_likelihood


@numba.njit(**_LOOP)
def probit_rows(cells, theta, seed, burn, sweeps, W):
    """Coordinates of rows, drawn from their posterior given each of S draws of the columns.

    A row is swept `burn` times by the first draw and `sweeps` times by every draw, each going on where the last one has
    ended. The random stream of a row is made from `seed` and its cells, so that a row's answer depends on no other row,
    nor on its place.

    Parameters
    ----------
    cells : (N, D) int8
    theta : (S, D, Q)
    seed : uint64
    burn, sweeps : int
    W : (N, S, Q - 1) float32
        The draws, without the 1.
    """
    N, D = cells.shape
    S, _, Q = theta.shape
    states = np.empty((N, 4), np.uint64)
    for i in range(N):
        word = seed
        for j in range(D):
            word = mix(word ^ np.uint64(cells[i, j] + 2))
        for part in range(4):
            word = mix(word)
            states[i, part] = word
    g, work = np.zeros((N, Q)), _for_work(D, Q)
    g[:, 0] = 1.0
    for s in range(S):  # draws outside, rows inside: a draw's columns stay in the processor's cache
        columns = _of_columns(theta[s])
        for i in range(N):
            for _ in range(sweeps + burn if s == 0 else sweeps):
                _draw_row(cells[i], columns, states[i], g[i], work)
            for q in range(Q - 1):
                W[i, s, q] = g[i, q + 1]
