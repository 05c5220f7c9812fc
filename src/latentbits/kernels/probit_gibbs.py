"""Gibbs sampling of probit factor analysis, with what is known of the rows.

Cell ij is 1 if z_ij > 0, where z_ij ~ N(eta_ij, 1) and eta_ij = g_i . theta_j. A row has the coordinates
g_i = (f_i, u_i, e_i): P features that are known, the first of them 1; its scores on K factors; its own effect. A column
has theta_j = (b_j, v_j, s): its responses to the features, its loadings on the factors and the size s of the rows' own
effects, which is the same in all columns (and left out of both where there are no row effects). So Q, the length of
both, is P + K + 1 or P + K. The priors are

    u_ik ~ N(c_ik, 1), e_i ~ N(c_i,K+1, 1);  v_jk ~ N(0, 1 / tau_k);  tau_k ~ Gamma(1, rate);  s ~ N(0, 1);
    b_jp ~ N(m_p, 1 / t_p);  m_p ~ N(0, 4);  t_0 ~ Gamma(1, 1);  t_p ~ Gamma(1, 0.02)

and given the others each of z_ij, (u_i, e_i), (b_j, v_j), s, tau, m and t has a normal or a Gamma distribution. Missing
cells are in none of the sums. The centres c are 0, or what neighbours in space have in common (`draw_centres`):

    c_.k = V_l a,  a_r ~ N(0, sigma_k lambda_lr),

where the columns of V_l are orthonormal functions of the places with variances lambda_l, for one of several spatial
scales l, and (l, sigma_k) has a uniform prior on a grid.
"""

from math import erfc, exp, log, sqrt

import numba
import numpy as np

from latentbits.kernels.probit_ep import ROOT_2PI, mills
from latentbits.kernels.random_stream import draw_signed, log_gamma_draw, mix, normal, uniform

__all__ = ["draw_centres", "probit_rows", "probit_sweeps"]

_LOOP = {"nogil": True, "error_model": "numpy", "cache": True}
_VECTORISED = {**_LOOP, "fastmath": {"reassoc", "contract", "nsz"}}
_ROOT_HALF = sqrt(0.5)
_PRECISION_OF_M = 0.25
_RATE_OF_T = 0.02
"""Of responses to features: small, so that a feature that says nothing is all but left out."""
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
def _of_columns(theta, P):
    """What every row needs of the columns: by_kind, outer, cross, complete and factor.

    by_kind = theta' (Q x D); outer_j = theta_j theta_j' of what is drawn (behind the first P), packed; cross = sum_j
    b_j theta_j' of that, which the known features take from a row with no cell missing; complete, packed, and factor:
    the precision 1 + sum_j outer_j of its coordinates, and the Cholesky factor of that.
    """
    D, Q = theta.shape
    n = Q - P
    by_kind, outer, cross = np.empty((Q, D)), np.empty((D, n * (n + 1) // 2)), np.empty((P, n))
    complete, factor = np.zeros(n * (n + 1) // 2), np.empty((n, n))
    at = -1
    for q in range(n):
        at += q + 1
        complete[at] = 1.0
    for j in range(D):
        for q in range(Q):
            by_kind[q, j] = theta[j, q]
        _outer(theta[j, P:], outer[j])
        _add(outer[j], 1.0, complete)
    for p in range(P):
        for q in range(n):
            cross[p, q] = _dot(by_kind[p], by_kind[P + q])
    _unpack(complete, factor)
    _factorise(factor)
    return by_kind, outer, cross, complete, factor


@numba.njit(**_LOOP)
def _for_work(D, n):
    """eta, what the features give it, and z, of a row's cells; a precision of its coordinates, and the same packed."""
    return np.empty(D), np.empty(D), np.empty(D), np.empty((n, n)), np.empty(n * (n + 1) // 2)


@numba.njit(**_LOOP)
def _draw_row(x, columns, state, g, centre, work):
    """z of a row given g, then what is drawn of g given z, both in place, as eta (of the old g) is.

    `columns` is what `_of_columns` returns, and `work`, of `_for_work`, has eta and z. Returns whether one is missing.
    """
    by_kind, outer, cross, complete, factor = columns
    eta, known, z, A, packed = work
    D, P, n = by_kind.shape[1], cross.shape[0], cross.shape[1]
    for j in range(D):
        known[j] = by_kind[0, j]
    for p in range(1, P):
        _add(by_kind[p], g[p], known)
    for j in range(D):
        eta[j] = known[j]
    for q in range(P, P + n):
        _add(by_kind[q], g[q], eta)
    missing = draw_signed(x, eta, state, z)
    new = g[P:]
    for q in range(n):
        new[q] = _dot(z, by_kind[P + q]) + centre[q]
        for p in range(P):
            new[q] -= g[p] * cross[p, q]
    if missing:
        for k in range(packed.shape[0]):
            packed[k] = complete[k]
        for j in range(D):
            if x[j] < 0:
                _add(outer[j], -1.0, packed)
                for q in range(n):
                    new[q] += known[j] * by_kind[P + q, j]
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
def _draw_rows(cells, g, centres, theta, state, G, lost, r, squares, wanted):
    """All rows, and the sums over them that the columns need: G = sum_i g_i g_i', r_j = sum_i z_ij g_i, sum_i z_ij^2.

    Column j's own sum is G - lost_j, the sum over the rows in which it is missing. Returns log p(X | g, theta) of the
    rows as they were, if it is `wanted`.
    """
    N, D = cells.shape
    Q = theta.shape[1]
    n_all = Q * (Q + 1) // 2
    n = centres.shape[1]
    columns, work = _of_columns(theta, Q - n), _for_work(D, n)
    eta, _, z, _, _ = work
    products, total, missed, sums = np.empty(n_all), np.zeros(n_all), np.zeros((D, n_all)), np.zeros((Q, D))
    squares[:] = 0.0
    log_likelihood = 0.0
    for i in range(N):
        missing = _draw_row(cells[i], columns, state, g[i], centres[i], work)
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
def _draw_columns(theta, tau, means, precisions, G, lost, r, squares, state):
    """Responses and loadings of all columns given the sums over rows, then the size of the row effects.

    First the z of a column are all multiplied by one number, drawn given them with responses and loadings integrated
    out: a move that leaves the posterior as it is (Liu and Wu 1999), without which columns of few ones hardly move.
    """
    D, Q = theta.shape
    P = means.shape[0]
    n = P + tau.shape[0]
    A, x, offset = np.empty((n, n)), np.empty(n), np.empty(n)
    weight, pull = 1.0, 0.0
    for j in range(D):
        for q in range(n):
            x[q] = r[j, q]
            offset[q] = -theta[j, n] * (G[n, q] + lost[j, n, q]) if n < Q else 0.0
            for k in range(q + 1):
                A[q, k] = G[q, k] + lost[j, q, k]
            if q < P:
                A[q, q] += precisions[q]
                offset[q] += means[q] * precisions[q]
            else:
                A[q, q] += tau[q - P]
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
def _rescale(g, centres, theta, tau, rate, state):
    """The rows' coordinates on each factor times c, its loadings divided by c and tau_k times c^2: no score changes.

    Given all but such a number, c has the density of `_draw_scale`. Without it, rows and columns would change their
    common scale in small steps only, as each is drawn given the other. The row effects' s has a prior of a known scale;
    for them c is drawn without it, and accepted by what it makes of the prior (Metropolis).
    """
    N, Q = g.shape
    P, K = Q - centres.shape[1], tau.shape[0]
    for k in range(Q - P):
        q = P + k
        squares, along = 0.0, 0.0
        for i in range(N):
            squares += g[i, q] ** 2
            along += g[i, q] * centres[i, k]
        if k < K:
            c = _draw_scale(N + 2.0, squares + 2.0 * rate * tau[k], along, state)
            tau[k] *= c * c
        elif N > 2:
            c = _draw_scale(N - 1.0, squares, along, state)
            if log(1.0 - uniform(state)) >= 0.5 * theta[0, q] ** 2 * (1.0 - 1.0 / (c * c)):
                continue
        else:
            continue
        for i in range(N):
            g[i, q] *= c
        for j in range(theta.shape[0]):
            theta[j, q] /= c


@numba.njit(**_LOOP)
def _shift(g, centres, theta, means, precisions, state):
    """d times a feature added to all rows' coordinates of a kind, and taken from the responses to it as d times the
    loadings: no score changes.

    Given all but such a number, d is normal; it is what `_rescale` is to scales.
    """
    N, D = g.shape[0], theta.shape[0]
    P = means.shape[0]
    for q in range(P, g.shape[1]):
        for p in range(P):
            m, t = means[p], precisions[p]
            precision, pull = 0.0, 0.0
            for i in range(N):
                precision += g[i, p] ** 2
                pull -= g[i, p] * (g[i, q] - centres[i, q - P])
            for j in range(D):
                precision += t * theta[j, q] ** 2
                pull += t * theta[j, q] * (theta[j, p] - m)
            d = pull / precision + normal(state) / sqrt(precision)
            for i in range(N):
                g[i, q] += d * g[i, p]
            for j in range(D):
                theta[j, p] -= d * theta[j, q]


@numba.njit(**_LOOP)
def _draw_hyper(theta, tau, rate, means, precisions, state):
    """tau given the loadings; means and precisions given the responses."""
    D = theta.shape[0]
    P = means.shape[0]
    for k in range(tau.shape[0]):
        squares = 0.0
        for j in range(D):
            squares += theta[j, P + k] ** 2
        tau[k] = exp(log_gamma_draw(1.0 + 0.5 * D, state)) / (rate + 0.5 * squares)
    for p in range(P):
        precision = _PRECISION_OF_M + D * precisions[p]
        means[p] = precisions[p] * theta[:, p].sum() / precision + normal(state) / sqrt(precision)
        squares = 0.0
        for j in range(D):
            squares += (theta[j, p] - means[p]) ** 2
        precisions[p] = exp(log_gamma_draw(1.0 + 0.5 * D, state)) / ((1.0 if p == 0 else _RATE_OF_T) + 0.5 * squares)


@numba.njit(**_LOOP)
def draw_centres(g, centres, vectors, variances, sizes, coefficients, chosen, state):
    """What neighbours have in common in each kind of coordinate: its scale and size, then the centres given these.

    In the basis of a scale everything is independent, so that the probability of each scale and size is a sum, the
    coefficients being integrated out.

    Parameters
    ----------
    g : (N, Q)
        The coordinates, of which the last n are drawn.
    centres : (N, n)
        Changed in place, as all is that follows but the bases and sizes.
    vectors, variances : (L, R, N), (L, R)
        Orthonormal functions of the places for each of L scales, with a variance of 0 where a scale has fewer.
    sizes : (S,)
        The sizes that there may be.
    coefficients : (n, R)
        Of the functions of the scale that was chosen.
    chosen : (n, 2) int64
        Which scale, and which size.
    state : (4,) uint64
    """
    N, n = centres.shape
    L, R = variances.shape
    S = sizes.shape[0]
    first = g.shape[1] - n
    u, along, log_p = np.empty(N), np.empty((L, R)), np.empty((L, S))
    for k in range(n):
        for i in range(N):
            u[i] = g[i, first + k]
        largest = -np.inf
        for m in range(L):
            for r in range(R):
                along[m, r] = _dot(vectors[m, r], u) if variances[m, r] > 0.0 else 0.0
            for s in range(S):
                total = 0.0
                for r in range(R):
                    variance = sizes[s] * variances[m, r]
                    total += along[m, r] ** 2 * variance / (1.0 + variance) - log(1.0 + variance)
                log_p[m, s] = 0.5 * total
                largest = max(largest, log_p[m, s])
        total = 0.0
        for m in range(L):
            for s in range(S):
                log_p[m, s] = exp(log_p[m, s] - largest)
                total += log_p[m, s]
        left = uniform(state) * total
        m, s = 0, 0
        for at in range(L * S):
            m, s = at // S, at % S
            left -= log_p[m, s]
            if left < 0.0:
                break
        chosen[k, 0], chosen[k, 1] = m, s
        for i in range(N):
            u[i] = 0.0
        for r in range(R):
            variance = sizes[s] * variances[m, r]
            share = variance / (1.0 + variance)
            coefficients[k, r] = share * along[m, r] + sqrt(share) * normal(state)
            if variance > 0.0:
                _add(vectors[m, r], coefficients[k, r], u)
        for i in range(N):
            centres[i, k] = u[i]


@numba.njit(**_LOOP)
def probit_sweeps(cells, g, centres, theta, tau, rate, means, precisions, space, G, lost, r, squares, state, n_sweeps):
    """Draw everything anew `n_sweeps` times: columns given the rows, then rows given the columns.

    Parameters
    ----------
    cells : (N, D) int8
        0, 1, or below 0 where missing.
    g : (N, Q)
        Coordinates of rows: P known features, the first of them 1, and those that are drawn; this and all that follows,
        but `rate` and the bases in `space`, is changed in place.
    centres : (N, Q - P)
        Prior means of what is drawn.
    theta : (D, Q)
        Responses to the features, loadings, size of the row effects.
    tau : (K,)
        Precisions of the loadings; with row effects Q = P + K + 1, else P + K.
    rate : float
        Of the Gamma prior of tau.
    means, precisions : (P,)
        Of the responses.
    space : tuple of ndarray
        vectors, variances, sizes, coefficients and chosen, as of `draw_centres`; without vectors there is no space.
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
    vectors, variances, sizes, coefficients, chosen = space
    if G[0, 0] == 0.0:
        _draw_rows(cells, g, centres, theta, state, G, lost, r, squares, False)
    log_likelihood = 0.0
    for sweep in range(n_sweeps):
        _draw_columns(theta, tau, means, precisions, G, lost, r, squares, state)
        _draw_hyper(theta, tau, rate, means, precisions, state)
        _rescale(g, centres, theta, tau, rate, state)
        _shift(g, centres, theta, means, precisions, state)
        if vectors.shape[0] > 0:
            draw_centres(g, centres, vectors, variances, sizes, coefficients, chosen, state)
        wanted = sweep == n_sweeps - 1
        log_likelihood = _draw_rows(cells, g, centres, theta, state, G, lost, r, squares, wanted)
    return log_likelihood


@numba.njit(**_LOOP)
def probit_rows(cells, features, centres, theta, seed, burn, sweeps, W):
    """Coordinates of rows, drawn from their posterior given each of S draws of the columns.

    A row is swept `burn` times by the first draw and `sweeps` times by every draw, each going on where the last one has
    ended. The random stream of a row is made from `seed` and its cells, so that a row's answer depends on no other row,
    nor on its place.

    Parameters
    ----------
    cells : (N, D) int8
    features : (N, P)
        What is known of the rows; features[:, 0] = 1.
    centres : (N, S, Q - P)
    theta : (S, D, Q)
    seed : uint64
    burn, sweeps : int
    W : (N, S, Q - P) float32
        The draws.
    """
    N, D = cells.shape
    S, _, Q = theta.shape
    P = features.shape[1]
    states = np.empty((N, 4), np.uint64)
    for i in range(N):
        word = seed
        for j in range(D):
            word = mix(word ^ np.uint64(cells[i, j] + 2))
        for part in range(4):
            word = mix(word)
            states[i, part] = word
    g, work = np.zeros((N, Q)), _for_work(D, Q - P)
    for i in range(N):
        for p in range(P):
            g[i, p] = features[i, p]
    for s in range(S):  # draws outside, rows inside: a draw's columns stay in the processor's cache
        columns = _of_columns(theta[s], P)
        for i in range(N):
            for _ in range(sweeps + burn if s == 0 else sweeps):
                _draw_row(cells[i], columns, states[i], g[i], centres[i, s], work)
            for q in range(Q - P):
                W[i, s, q] = g[i, P + q]
