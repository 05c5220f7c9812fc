"""Small numerical tools shared by every layer: random sources, validation of numbers, matching of components.

Functions of SciPy (``logsumexp``, ``xlogy``, the Hungarian method) are used directly and not wrapped here.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import betaln, digamma, gammaln, rel_entr

from latentbits.constraints import Number

RandomSource = None | int | np.random.Generator | np.random.RandomState
Similarity = Literal["l1", "correlation", "cosine"]

# A row whose centred length is at most this part of its own length is constant but for rounding.
_ROUNDING = 1e-12


def as_generator(random_state: RandomSource = None) -> np.random.Generator:
    """Return a NumPy generator for any of the accepted forms of `random_state`.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        None takes fresh entropy, an integer is a seed. A ``Generator`` is returned as it is, so that successive calls
        continue its stream; a ``RandomState`` seeds a new generator and is advanced by that.

    Returns
    -------
    numpy.random.Generator
        The generator.

    Examples
    --------
    >>> bool(as_generator(3).random() == as_generator(3).random())
    True
    >>> generator = as_generator(3)
    >>> as_generator(generator) is generator
    True
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.RandomState):
        # 128 bits: streams seeded with 32 bits may coincide.
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if isinstance(random_state, Integral) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state is {random_state!r}; give None, an integer >= 0, a NumPy Generator or a RandomState."
    )


def as_cells(values: ArrayLike, name: str) -> NDArray[np.generic]:
    """Return `values` as an array of 0, 1 and NaN (missing), or raise an error that names the first other value.

    Parameters
    ----------
    values : array-like of bool or numbers, any shape
        The cells.
    name : str
        Name of the array in the error message.

    Returns
    -------
    ndarray
        `values` with its own dtype; a copy only where NumPy needs one.

    Examples
    --------
    >>> as_cells([[0, 1], [1, float("nan")]], "X")
    array([[ 0.,  1.],
           [ 1., nan]])
    >>> as_cells([[0, 1], [2, 1]], "X")
    Traceback (most recent call last):
    ValueError: X[1, 0] is 2, but a cell is 0, 1 or NaN (missing).
    """
    cells = np.asarray(values)
    if cells.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has dtype {cells.dtype}; convert it to numbers or booleans, with NaN for missing cells."
        )
    wrong = (cells != 0) & (cells != 1) & ~np.isnan(cells)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"{name}{list(place)} is {cells[place]}, but a cell is 0, 1 or NaN (missing).")
    return cells


class Matching(NamedTuple):
    """Which row of B is matched to each row of A, and the similarity of the two.

    Attributes
    ----------
    order : ndarray of int, one for each row of A
        Index of the matched row of B, or -1 for an unmatched row.
    similarity : ndarray of float, one for each row of A
        Similarity of the pair, 0 for an unmatched row.

    Examples
    --------
    >>> from latentbits.metrics import match_components
    >>> match_components([[0, 1], [1, 0]], [[1, 0], [0, 1]]).order
    array([1, 0])
    """

    order: NDArray[np.intp]
    similarity: NDArray[np.float64]


def match_components(A: ArrayLike, B: ArrayLike, *, metric: Similarity = "l1") -> Matching:
    """Pair the rows of two component matrices one to one, so that the total similarity is largest.

    The order of latent components is arbitrary, so two fits, or a fit and the truth, can only be compared after such a
    matching. The assignment is optimal (Hungarian method), not greedy.

    Parameters
    ----------
    A : array-like of shape (n_components, n_columns)
        The first set of components.
    B : array-like of shape (n_other_components, n_columns)
        The second set of components. If the numbers of rows differ, the surplus rows stay unmatched.
    metric : {"l1", "correlation", "cosine"}, default="l1"
        "l1" is ``1 - mean |a - b|``, which for probabilities lies between 0 and 1 and is defined for phantoms (rows of
        all 0 or all 1) too. "correlation" is undefined for a constant row and "cosine" for a zero row; such a row has
        similarity 0 with every row.

    Returns
    -------
    Matching
        ``order`` and ``similarity``, both indexed by the rows of A.

    Examples
    --------
    >>> from latentbits.metrics import match_components
    >>> truth = [[0.9, 0.1, 0.1], [0.0, 0.0, 0.0]]
    >>> found = [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.9, 0.1, 0.4]]
    >>> order, similarity = match_components(truth, found)
    >>> order
    array([2, 0])
    >>> similarity.round(3)
    array([0.9, 1. ])
    """
    a, b = _as_rows(A, "A"), _as_rows(B, "B")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"A has {a.shape[1]} columns and B has {b.shape[1]}; only equal widths can be matched.")
    table = _similarity(a, b, metric)
    rows, partners = linear_sum_assignment(table, maximize=True)
    order = np.full(len(a), -1, dtype=np.intp)
    similarity = np.zeros(len(a))
    order[rows] = partners
    similarity[rows] = table[rows, partners]
    return Matching(order, similarity)


def _as_rows(values: ArrayLike, name: str) -> NDArray[np.float64]:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"{name} has shape {rows.shape}; components are the rows of a table that isn't empty.")
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} holds NaN or infinity; components are finite numbers.")
    return rows


def _similarity(a: NDArray[np.float64], b: NDArray[np.float64], metric: Similarity) -> NDArray[np.float64]:
    """Similarity of each row of `a` with each row of `b`, as a len(a) x len(b) table."""
    if metric == "l1":
        return 1.0 - cdist(a, b, "cityblock") / a.shape[1]
    if metric not in get_args(Similarity):
        raise ValueError(f"metric is {metric!r}; choose one of {', '.join(get_args(Similarity))}.")
    centred = metric == "correlation"
    return np.clip(_unit_rows(a, centred) @ _unit_rows(b, centred).T, -1.0, 1.0)


def _unit_rows(rows: NDArray[np.float64], centred: bool) -> NDArray[np.float64]:
    """Rows scaled to length 1, after removing their mean if `centred`; rows without a direction become 0."""
    directions = rows - rows.mean(axis=1, keepdims=True) if centred else rows
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    # Relative to the row itself: what is left of a constant row after centring is rounding, not a direction.
    flat = lengths <= _ROUNDING * np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(flat, 0.0, directions / np.where(flat, 1.0, lengths))


def check_number(
    name: str, value: object, *, least: float, below: float = np.inf, above: bool = False, integer: bool = False
) -> None:
    """Raise a ValueError unless `value` is a number (or integer) in [least, below), or in (least, below) if `above`.

    Examples
    --------
    >>> check_number("n_init", 0, least=1, integer=True)
    Traceback (most recent call last):
    ...
    latentbits.errors.DataError: n_init=0 must be a whole number of at least 1
    """
    Number(least, below, above, integer).check(name, value)


def expected_log_beta(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """E[log b] and E[log(1 - b)] for b ~ Beta(alpha, beta).

    Examples
    --------
    >>> low, high = expected_log_beta(np.array([1.0]), np.array([1.0]))
    >>> low.tolist(), high.tolist()
    ([-1.0], [-1.0])
    """
    total = digamma(alpha + beta)
    return digamma(alpha) - total, digamma(beta) - total


def expected_log_dirichlet(gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    """E[log a_k] for each row a ~ Dirichlet(gamma).

    Examples
    --------
    >>> expected_log_dirichlet(np.array([[1.0, 1.0]])).tolist()
    [[-1.0, -1.0]]
    """
    return digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))


def kl_beta(
    alpha: NDArray, beta: NDArray, alpha0: float, beta0: float, known: tuple[NDArray, NDArray, NDArray] | None = None
) -> NDArray[np.float64]:
    """KL(Beta(alpha, beta) || Beta(alpha0, beta0)), element by element.

    `known`: E[log b], E[log(1 - b)] and log B(alpha, beta), if they are.

    Examples
    --------
    >>> kl_beta(np.array([0.5, 3.0]), np.array([0.5, 1.0]), 0.5, 0.5).round(3).tolist()
    [0.0, 0.493]
    """
    log_b, log_not_b, norm = known or (*expected_log_beta(alpha, beta), betaln(alpha, beta))
    return betaln(alpha0, beta0) - norm + (alpha - alpha0) * log_b + (beta - beta0) * log_not_b


def bernoulli_kl(m: NDArray[np.float64], h: NDArray[np.float64]) -> NDArray[np.float64]:
    """KL(Bernoulli(m) || Bernoulli(h)), elementwise; h strictly between 0 and 1.

    Examples
    --------
    >>> bernoulli_kl(np.array([0.5, 0.0]), np.array([0.5, 0.1])).round(3).tolist()
    [0.0, 0.105]
    """
    return rel_entr(m, h) + rel_entr(1 - m, 1 - h)


def kl_dirichlet(gamma: NDArray, gamma0: float, known: tuple[NDArray, NDArray] | None = None) -> NDArray[np.float64]:
    """KL(Dirichlet(gamma) || Dirichlet(gamma0, ..., gamma0)) of each row.

    `known`: E[log a] and log B(gamma), the logarithm of the norm of each row's density, if they are.

    Examples
    --------
    >>> kl_dirichlet(np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]), 1.0).round(3).tolist()
    [0.0, 0.265]
    """
    K = gamma.shape[1]
    if known is None:
        known = expected_log_dirichlet(gamma), gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))
    log_a, norm = known
    return K * gammaln(gamma0) - gammaln(K * gamma0) - norm + np.einsum("ik,ik->i", gamma - gamma0, log_a)


LOG_ROOT_2PI = float(np.log(2 * np.pi)) / 2


def normalised(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log sum_p exp(joint_rp) of each row r, and the shares exp(joint_rp) / sum; the exponential is taken once.

    Examples
    --------
    >>> total, share = normalised(np.array([[-1000.0, -1000.0]]))
    >>> total.round(3).tolist(), share.tolist()
    ([-999.307], [[0.5, 0.5]])
    """
    largest = joint.max(axis=1, keepdims=True)
    weight = np.exp(joint - largest)
    total = weight.sum(axis=1, keepdims=True)
    weight /= total
    return (largest + np.log(total))[:, 0], weight


def kernel_array(values: Any, dtype: Any = np.float64) -> np.ndarray:
    """An array of `dtype` in C order that may be written to; a copy only if `values` isn't one.

    Numba compiles a kernel again, which takes seconds, for any other order, and also for read-only arrays: those of a
    model in shared memory, or of an estimator that joblib hands to another process.

    Examples
    --------
    >>> kernel_array(np.broadcast_to(1, (2, 2))).flags.writeable
    True
    """
    return np.require(values, dtype, ["C", "W"])


def aligned_zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that begin where a line of the processor's cache does, so that a vector needn't be written to two lines.

    Examples
    --------
    >>> aligned_zeros((3, 8)).ctypes.data % 64
    0
    """
    size = math.prod(shape)
    memory = np.zeros(size + 8)
    first = -memory.ctypes.data % 64 // 8
    return memory[first : first + size].reshape(shape)
