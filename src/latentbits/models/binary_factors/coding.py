"""Codes of rows under given parameters, also of rows with missing cells; and fits that start from them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import Encoder
from latentbits.models.binary_factors.binary_model import (
    EQUAL,
    Parameters,
    filled,
    linear_terms,
    mean_field,
    moments,
    noise_precision,
    program,
    seen_cells,
)
from latentbits.models.binary_factors.encoders import encode, round_codes, signs

FEW_FACTORS = 12
"""Up to this many factors, mean field starts from the best of all codes of a row."""


def codes_of(theta: Parameters, X: np.ndarray, encoder: Encoder, workers: Workers) -> NDArray[np.int8]:
    """The code of each row by its program (eq. 12 and 13), as `encoder` solves it.

    Rows with missing cells have a program of their own for each set of columns that is there. For rounding, which
    learning uses by default, all sets are solved at once.
    """
    seen = seen_cells(X)
    if seen is None or theta.A.shape[1] == 0:
        return encode(*program(theta, X), encoder, workers)
    F = linear_terms(theta, X)
    if encoder == "round":
        A = theta.A
        patterns, of_row = _patterns(seen)
        Q = np.einsum("pj,ji,jk->pik", patterns, A, theta.weighted, optimize=True)
        codes = round_codes(Q, F, of_row)
    else:
        codes = np.empty(F.shape, np.int8)
        for rows, part, some in _by_pattern(theta, X, seen):
            codes[rows] = encode(*program(part, some), encoder, workers)
    empty = ~seen.any(axis=1)
    codes[empty] = signs(F[empty])
    return codes


def expected_codes(theta: Parameters, X: np.ndarray) -> np.ndarray:
    """E[y] of rows by mean field, started from a good code: from even odds, correlated factors end in poor optima."""
    seen = seen_cells(X)
    if seen is None:
        return started_mean_field(*program(theta, X))
    mean = np.empty((len(X), theta.A.shape[1]))
    for rows, part, some in _by_pattern(theta, X, seen):
        mean[rows] = started_mean_field(*program(part, some))
    return mean


def projected(theta: Parameters, X: np.ndarray) -> np.ndarray:
    """Q^-1 A^T Phi (x - c) of each row, its cells that are there: its least squares if factors could have any value."""
    seen, no_odds = seen_cells(X), theta._replace(beta=np.full(len(theta.beta), 0.5))
    if seen is None:
        Q, F = program(no_odds, X)
        return np.asarray(F @ np.linalg.pinv(Q, hermitian=True))
    values = np.empty((len(X), theta.A.shape[1]))
    for rows, part, some in _by_pattern(no_odds, X, seen):
        Q, F = program(part, some)
        values[rows] = F @ np.linalg.pinv(Q, hermitian=True)
    return values


def started_mean_field(Q: np.ndarray, F: np.ndarray) -> np.ndarray:
    """`mean_field` of rows that share Q, from the best code, or a good one."""
    encoder: Encoder = "enum" if len(Q) <= FEW_FACTORS else "round"
    return mean_field(Q, F, encode(Q, F, encoder, Workers()).astype(float))


def _patterns(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of `seen`, and which of them each row is."""
    patterns, of_row = np.unique(seen, axis=0, return_inverse=True)
    return patterns, of_row.reshape(-1)


def _by_pattern(
    theta: Parameters, X: np.ndarray, seen: np.ndarray
) -> Iterator[tuple[np.ndarray, Parameters, np.ndarray]]:
    """Rows that have the same columns: which they are, the parameters of these columns, and the cells."""
    patterns, of_row = _patterns(seen)
    for number, pattern in enumerate(patterns):
        rows, columns = np.flatnonzero(of_row == number), np.flatnonzero(pattern)
        yield rows, theta.of_columns(columns), X[np.ix_(rows, columns)]


ROUGH_PASSES = 100  # at most: it ends when the codes repeat


def random_start(X: np.ndarray, n_components: int, rng: np.random.Generator, limit: np.ndarray = EQUAL) -> Parameters:
    """Even odds, noise with the variance of the (centred, scaled) data, and every column a random combination of rows.

    So the columns lie in the directions in which the data vary, and together have their total variance. (This worked
    better than random directions, which start with more noise, and than rotated principal axes, which confine the fit
    to as many axes as factors.)
    """
    N, n = X.shape
    A = filled(X).T @ rng.standard_normal((N, n_components)) / np.sqrt(N * n_components)
    return Parameters(A, np.zeros(n), np.ones(len(limit)), np.full(n_components, 0.5))


def rough_fit(
    X: np.ndarray, n_components: int, rng: np.random.Generator, workers: Workers, limit: np.ndarray = EQUAL
) -> tuple[Parameters, np.ndarray]:
    """Parameters and codes (N x m) by alternating least squares and rounding, until the codes repeat; odds stay even.

    A start for EM and variational Bayes, as k-means is for mixtures: from a random mixing they often end in poor
    optima, because the soft codes of several factors mix.
    """
    theta = random_start(X, n_components, rng, limit)
    Y = codes_of(theta, X, "round", workers).astype(np.float64)
    for _ in range(ROUGH_PASSES):
        sums = moments(X, Y)
        A, c = sums.regress()
        theta = Parameters(A, c, noise_precision(sums.squares(A, c), sums.cells, limit), theta.beta)
        last, Y = Y, codes_of(theta, X, "round", workers).astype(np.float64)
        if np.array_equal(last, Y):
            break
    return theta, Y
