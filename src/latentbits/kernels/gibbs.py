"""Collapsed Gibbs sampling of the causes of cells: weights and components are integrated out.

z_ij is the component that caused cell ij (-1: none yet, or the cell is missing). With c_ik cells of row i caused by
component k, and n1_jk ones and n0_jk zeros of column j,

    p(z_ij = k | all other z, X) ~ (c_ik + gamma) * (n1_jk + alpha) / (n1_jk + n0_jk + alpha + beta)    if x_ij = 1

(with n0_jk + beta above the line if x_ij = 0), the cell itself left out of the counts. A component whose probability
of a 1 is fixed at h_jk has h_jk (1 - h_jk) in place of the fraction. At temperature tau < 1 the fraction is raised to
the power tau, so that tau = 0 is the prior.

Where gamma isn't known, log gamma is normal with mean 0, between two limits. Given the causes, with weights integrated
out, the density of gamma has the factors

    prod_i  prod_{k, m < c_ik} (gamma + m)  /  prod_{m < n_i} (K gamma + m)

for n_i cells of row i, in which a factor occurs as often as there are counts above m.
"""

from math import exp, log

import numba
import numpy as np

from latentbits.kernels.random_stream import log_gamma_draw, mix, uniform

__all__ = ["draw_gamma", "gibbs_sweeps", "sample_rows"]

STEP = 0.5
"""First width of the slice in log gamma."""

_LOOP = {"nogil": True, "error_model": "numpy", "cache": True}


@numba.njit(nogil=True, error_model="numpy", cache=True, inline="always")
def _drawn(cumulative, state):
    """An index with probability proportional to the steps of `cumulative`."""
    last = cumulative.shape[0] - 1
    u = uniform(state) * cumulative[last]
    k = 0
    while k < last and cumulative[k] <= u:
        k += 1
    return k


@numba.njit(**_LOOP)
def _set_fractions(n1, n0, fixed, powers, tau, f1, f0):
    """f1, f0: the fractions of all components and columns for a 1 and a 0, to the power tau."""
    D, K = n1.shape
    for j in range(D):
        for k in range(K):
            h = fixed[j, k]
            if h >= 0.0:
                f1[j, k] = h**tau
                f0[j, k] = (1.0 - h) ** tau
            else:
                total = powers[2, n1[j, k] + n0[j, k]]
                f1[j, k] = powers[0, n1[j, k]] * total
                f0[j, k] = powers[1, n0[j, k]] * total


@numba.njit(**_LOOP)
def _log_likelihood(n1, n0, fixed, log_gammas):
    """log p(X | z): sum_jk log B(alpha + n1, beta + n0) / B(alpha, beta); of fixed components n1 log h + ..."""
    D, K = n1.shape
    total = 0.0
    for j in range(D):
        for k in range(K):
            ones, zeros, h = n1[j, k], n0[j, k], fixed[j, k]
            if h >= 0.0:
                total += ones * log(h) + zeros * log(1.0 - h) if ones + zeros > 0 else 0.0
            else:
                total += log_gammas[0, ones] + log_gammas[1, zeros] - log_gammas[2, ones + zeros]
    return total


@numba.njit(**_LOOP)
def _log_density(log_gamma, of_cells, of_rows, K, low, high, spread):
    """The log density of log gamma, but for a constant; of_cells[m], of_rows[m]: how many c_ik, n_i are above m."""
    if not low < log_gamma < high:
        return -np.inf
    gamma = exp(log_gamma)
    total = -0.5 * (log_gamma / spread) ** 2
    for m in range(of_rows.shape[0]):
        if of_cells[m] > 0:
            total += of_cells[m] * log(gamma + m)
        total -= of_rows[m] * log(K * gamma + m)
    return total


@numba.njit(**_LOOP)
def draw_gamma(c, log_gamma, low, high, spread, state):
    """The logarithm of gamma, drawn given the counts c (N x K) of the causes: a step of slice sampling (Neal 2003).

    `low`, `high` are the limits of log gamma, `spread` the standard deviation of its prior.
    """
    N, K = c.shape
    most = 0
    for i in range(N):
        most = max(most, c[i].sum())
    of_cells, of_rows = np.zeros(most), np.zeros(most)
    for i in range(N):
        n = 0
        for k in range(K):
            n += c[i, k]
            for m in range(c[i, k]):
                of_cells[m] += 1.0
        for m in range(n):
            of_rows[m] += 1.0
    level = _log_density(log_gamma, of_cells, of_rows, K, low, high, spread) + log(1.0 - uniform(state))
    left = log_gamma - STEP * uniform(state)
    right = left + STEP
    while _log_density(left, of_cells, of_rows, K, low, high, spread) > level:
        left -= STEP
    while _log_density(right, of_cells, of_rows, K, low, high, spread) > level:
        right += STEP
    while True:
        drawn = left + (right - left) * uniform(state)
        if _log_density(drawn, of_cells, of_rows, K, low, high, spread) > level:
            return drawn
        if drawn < log_gamma:
            left = drawn
        else:
            right = drawn
        if right - left < 1e-12:  # rounding: the slice is where the step began
            return log_gamma


@numba.njit(**_LOOP)
def gibbs_sweeps(cells, z, c, n1, n0, fixed, powers, log_gammas, gamma, tau, state, trace):
    """Draw every cause anew from its conditional, row by row, as often as `trace` is long.

    Parameters
    ----------
    cells : (N, D) int8
        0, 1, or below 0 where missing.
    z : (N, D) int16
        The causes, changed in place; a cell with z < 0 is in no count yet and gets its first cause.
    c, n1, n0 : (N, K), (D, K), (D, K) int32
        The counts that belong to z, changed in place.
    fixed : (D, K)
        Probabilities of a 1 that are known, strictly between 0 and 1; below 0 where they are not.
    powers : (3, N + 1)
        (n + alpha)^tau, (n + beta)^tau, (n + alpha + beta)^-tau for n = 0..N: counts are whole, so a table has them.
    log_gammas : (3, N + 1)
        log Gamma(n + alpha) - log Gamma(alpha), and so on, for n = 0..N.
    gamma, tau : float
    state : (4,) uint64
        Of the random stream, changed in place.
    trace : (n_sweeps,)
        log p(X | z) after each sweep.
    """
    N, D = cells.shape
    K = c.shape[1]
    f1, f0 = np.empty((D, K)), np.empty((D, K))
    _set_fractions(n1, n0, fixed, powers, tau, f1, f0)
    weight, cumulative = np.empty(K), np.empty(K)
    for sweep in range(trace.shape[0]):
        for i in range(N):
            for k in range(K):
                weight[k] = c[i, k] + gamma
            for j in range(D):
                x = cells[i, j]
                if x < 0:
                    continue
                old = z[i, j]
                count = n1 if x == 1 else n0
                fraction = f1 if x == 1 else f0
                if old >= 0:
                    weight[old] -= 1.0
                    count[j, old] -= 1
                    if fixed[j, old] < 0.0:
                        total = powers[2, n1[j, old] + n0[j, old]]
                        f1[j, old] = powers[0, n1[j, old]] * total
                        f0[j, old] = powers[1, n0[j, old]] * total
                running = 0.0
                for k in range(K):
                    running += weight[k] * fraction[j, k]
                    cumulative[k] = running
                new = _drawn(cumulative, state)
                z[i, j] = new
                weight[new] += 1.0
                count[j, new] += 1
                if fixed[j, new] < 0.0:
                    total = powers[2, n1[j, new] + n0[j, new]]
                    f1[j, new] = powers[0, n1[j, new]] * total
                    f0[j, new] = powers[1, n0[j, new]] * total
            for k in range(K):
                c[i, k] = round(weight[k] - gamma)
        trace[sweep] = _log_likelihood(n1, n0, fixed, log_gammas)


@numba.njit(**_LOOP)
def _draw_weights(weight, state, W):
    """W ~ Dirichlet(weight)."""
    K = weight.shape[0]
    logs = np.empty(K)
    for k in range(K):
        logs[k] = log_gamma_draw(weight[k], state)
    top = logs.max()
    total = 0.0
    for k in range(K):
        logs[k] = exp(logs[k] - top)
        total += logs[k]
    for k in range(K):
        W[k] = logs[k] / total


@numba.njit(**_LOOP)
def sample_rows(cells, H, gamma, seed, burn, sweeps, W):
    """Weights of rows, drawn from their posterior given each of S draws of the components.

    The causes of a row are swept `burn` times by the first draw and `sweeps` times by every draw, each going on where
    the last one has ended, and the weights are drawn from Dirichlet(gamma + counts). The random stream of a row is made
    from `seed` and its cells, so that a row's answer depends on no other row, nor on its place.

    Parameters
    ----------
    cells : (N, D) int8
    H : (S, D, K)
        Probabilities of a 1, strictly between 0 and 1.
    gamma : (S,)
        With each draw of the components.
    seed : uint64
    burn, sweeps : int
    W : (N, S, K) float32
        The draws.
    """
    N, D = cells.shape
    S, _, K = H.shape
    z = np.empty(D, np.int16)
    caused = np.empty(K, np.int64)
    weight, cumulative, drawn = np.empty(K), np.empty(K), np.empty(K)
    state = np.empty(4, np.uint64)
    for i in range(N):
        word = seed
        for j in range(D):
            word = mix(word ^ np.uint64(cells[i, j] + 2))
            z[j] = -1
        for part in range(4):
            word = mix(word)
            state[part] = word
        caused[:] = 0
        for s in range(S):
            for k in range(K):
                weight[k] = caused[k] + gamma[s]
            for _ in range(sweeps + burn if s == 0 else sweeps):
                for j in range(D):
                    x = cells[i, j]
                    if x < 0:
                        continue
                    if z[j] >= 0:
                        weight[z[j]] -= 1.0
                    running = 0.0
                    for k in range(K):
                        h = H[s, j, k]
                        running += weight[k] * (h if x == 1 else 1.0 - h)
                        cumulative[k] = running
                    z[j] = _drawn(cumulative, state)
                    weight[z[j]] += 1.0
            _draw_weights(weight, state, drawn)
            for k in range(K):
                W[i, s, k] = drawn[k]
                caused[k] = round(weight[k] - gamma[s])
