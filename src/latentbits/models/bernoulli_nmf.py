"""Nonnegative factors of 0-1 data, P = tanh(u/2) with u = W H + a tiny background, by a likelihood with pseudo-counts.

As 1 - tanh(u/2) = 2 / (1 + e^u), the log-likelihood of a cell is

    x log tanh(u/2) + (1 - x) log(1 - tanh(u/2)) = x log sinh(u/2) - (1 - x) u/2 - log cosh(u/2).

Each part has a lower bound that is tight at the current u0 and separates over the components, u = sum_k w_k h_k:

- log sinh(u/2) = log u + log(sinh(u/2) / u). The second part is convex, so it lies above its tangent, of slope
  s1 = coth(u0/2) / 2 - 1 / u0. For log u, by Jensen's inequality with q_k = w0_k h0_k / u0,
  log u >= sum_k q_k log(w_k h_k) + const.
- -log cosh(u/2) >= -lambda u^2 + const, lambda = tanh(u0/2) / (4 u0) (Jaakkola and Jordan), and by Jensen
  u^2 <= sum_k q_k (w_k h_k / q_k)^2 = u0 sum_k (w_k h_k)^2 / (w0_k h0_k).

The background is one more component, which is fixed. Then every w_ik maximises a log w + b w - c w^2, so that
w = (b + sqrt(b^2 + 8 a c)) / (4 c), with H fixed at a = w0 sum_j x h/u0, b = sum_j h (x s1 - (1 - x)/2),
c = (1/w0) sum_j lambda u0 h. The same for H.

Where all rows that have a component have a 1, the likelihood increases without limit in the entry. So H is at most 1
and W at most 1000 (30 would be enough for any single cell, but ratios between entries matter too). The bound is concave
in each entry, so its maximum within the limits is the closed form, clipped.

With pseudo-counts (`PseudoCounts`) a count is added to a, and a rate taken off b.

States hold logarithms, so that an extrapolation can't leave the domain. The likelihood has many optima, and
acceleration may amplify differences in rounding: a row of weight 2 and two equal rows make the same steps but for
rounding, and may yet end in different optima.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData, row_blocks
from latentbits.fitting.climb import ArrayLearner
from latentbits.fitting.restarts import Restart
from latentbits.fitting.rows import block_groups
from latentbits.fitting.workers import Workers
from latentbits.kernels.tanh_rows import BACKGROUND, tanh_bound, tanh_rows
from latentbits.models.factor_model import ClimbingFactorModel, PseudoCounts
from latentbits.models.solved_rows import RowSolver, Solution
from latentbits.numerics import RandomSource, kernel_array

LEAST = 1e-12
"""The smallest entry during a climb: updates are multiplicative, and 0 would stay 0. It is less than the background."""

MOST = 1e3
"""The largest weight; H is at most 1."""

GAP = 1e-10  # rows are solved for until at most this much log-likelihood per cell can be gained
MAX_STEPS = 300


class State(NamedTuple):
    """Logarithms of W (N, K), from LEAST to MOST, and of H (K, D), from LEAST to 1."""

    log_W: np.ndarray
    log_H: np.ndarray

    @classmethod
    def of(cls, W: np.ndarray, H: np.ndarray) -> State:
        """The state with these entries, the largest of each component 1, all within their limits."""
        scale = np.maximum(H.max(axis=1), LEAST)
        return cls(np.log(np.clip(W * scale, LEAST, MOST)), np.log(np.clip(H / scale[:, None], LEAST, 1.0)))


class Normalised(NamedTuple):
    """Components (K, D) whose largest entry is 1, by falling share in the data, and the rows' average weights (K,)."""

    components: np.ndarray
    average: np.ndarray


@dataclass(frozen=True)
class MaximumLikelihood(ArrayLearner[State]):
    """Maximisation of the bound in W, then in H."""

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    workers: Workers
    smoothing: float = 0.0

    @cached_property
    def prior(self) -> PseudoCounts:
        """What is counted beside the data."""
        return PseudoCounts.of(self.smoothing, self.data, self.row_weight)

    def initialise(self, rng: np.random.Generator) -> State:
        """Random components around the columns' shares of ones; equal weights, so the order of rows doesn't matter."""
        N, D = self.data.shape
        observed = self.data.observed_per_column(self.row_weight)
        share = (self.data.ones_per_column(self.row_weight) + 0.5) / (observed + 1.0)
        level = np.where(observed > 0, 2 * np.arctanh(share), 0.0)  # the u of this share: tanh(u/2) = share
        H = level * np.exp(rng.uniform(-1.0, 1.0, size=(self.n_components, D)))
        return State.of(np.full((N, self.n_components), 1 / self.n_components), H)

    def step(self, state: State) -> tuple[State, float]:
        """W given H, then H given W, in one pass: a block's rows are updated and add to the columns' sums at once."""
        W, H = np.exp(state.log_W), np.exp(state.log_H)
        N, D = self.data.shape
        new_W = np.empty_like(W)
        count, rate = self.prior.of_rows(self.row_weight @ W / self.row_weight.sum())

        def one(blocks: list[slice]) -> tuple[float, np.ndarray]:
            log_likelihood, sums = 0.0, np.zeros((3, *H.shape))
            for rows in blocks:
                cells, weight = self.data.block(rows), self.row_weight[rows]
                row_log, *bound = _bound(W[rows], H, cells)
                log_likelihood += float(weight @ row_log)
                A, B, C = (part @ H.T for part in bound)
                new_W[rows] = np.clip(W[rows] * _factors(A + count / W[rows], B - rate, C), LEAST, MOST)
                _, *bound = _bound(new_W[rows], H, cells)  # tight at the new W, for the update of H
                weighted = (weight[:, None] * new_W[rows]).T
                for total, part in zip(sums, bound, strict=True):
                    total += weighted @ part
            return log_likelihood, sums

        log_likelihoods, sums = zip(*self.workers.map(one, block_groups(N, D)), strict=True)
        A, B, C = np.sum(sums, axis=0)
        counts, rates = self.prior.of_components(H)
        new_H = np.clip(H * _factors(A + counts / H, B - rates, C), LEAST, 1.0)
        objective = sum(log_likelihoods) + self.prior.gain(W, H, self.row_weight)
        return State(np.log(new_W), np.log(new_H)), float(objective)

    def project(self, state: State) -> State:
        """Components with a largest entry of 1, and everything within its limits."""
        scale = state.log_H.max(axis=1)
        log_W = np.clip(state.log_W + scale, np.log(LEAST), np.log(MOST))  # the scale moves to W: W H is unchanged
        return State(log_W, np.clip(state.log_H - scale[:, None], np.log(LEAST), 0.0))

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """A row of weight 2 counts like two rows."""
        return self.row_weight[:, None], 1.0


def normalised(state: State, row_weight: np.ndarray) -> Normalised:
    """The state's components in their final form; entries at their lower limit become 0."""
    W, H = np.exp(state.log_W), np.where(state.log_H > np.log(2 * LEAST), np.exp(state.log_H), 0.0)
    scale = H.max(axis=1)
    components = H / np.where(scale > 0, scale, 1.0)[:, None]
    average = row_weight @ W / row_weight.sum() * scale
    order = np.argsort(-average * components.sum(axis=1), kind="stable")
    return Normalised(components[order], average[order])


def rates(W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """u of the cells: W H and the background."""
    return W @ H + BACKGROUND


def solve_rows(
    data: BinaryData, components: np.ndarray, average: np.ndarray, workers: Workers, smoothing: float = 0.0
) -> Solution:
    """Each row's optimal weights, the components fixed, and an upper bound of the remaining gain per cell.

    Rows without observed cells get the average weights.
    """
    N, D = data.shape
    rate = smoothing / np.maximum(average, LEAST)
    H, start = kernel_array(components), kernel_array(average)
    W, gap = np.empty((N, len(H))), np.empty(N)

    def one(rows: slice) -> None:
        tanh_rows(data.block(rows), H, start, float(smoothing), rate, MOST, GAP, MAX_STEPS, W[rows], gap[rows])

    workers.map(one, list(row_blocks(N, D)))
    return Solution(W, gap)


def _bound(W: np.ndarray, H: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows' log-likelihoods, and x/u, x s1 - (1 - x)/2 and lambda u of the cells."""
    u = rates(W, H)
    row_log, ratio, slope, level = np.empty(len(u)), np.empty_like(u), np.empty_like(u), np.empty_like(u)
    tanh_bound(u, cells, row_log, ratio, slope, level)
    return row_log, ratio, slope, level


def _factors(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """w / w0 = (B + sqrt(B^2 + 8 A C)) / (4 C), where a = w0 A, b = B and c = C / w0; 1 where nothing is observed.

    For negative B the same root is written without the difference of two nearly equal numbers.
    """
    root = np.sqrt(B**2 + 8 * A * C)
    above, below = np.where(B > 0, B + root, 2 * A), np.where(B > 0, 4 * C, root - B)
    return np.divide(above, below, out=np.ones_like(A), where=below > 0)


# ---- the estimator -----------------------------------------------------------------------------------------------


class BernoulliNMF(ClimbingFactorModel):
    """Bernoulli NMF: nonnegative causes add up, and the sum saturates to the probability of a 1.

    ``P = tanh(u/2)`` with ``u = weights_ @ components_``, both nonnegative: a component can only raise the probability
    of a 1, and a row may have several at full strength. Every cell also has a background of 1e-10 in u, so that no 1 is
    impossible (its log probability is at least -23.8). Fitted by closed-form updates of a lower bound of a likelihood
    that is slightly smoothed, accelerated; with ``smoothing=0`` by maximum likelihood.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components.
    smoothing : float, default=0.7
        Pseudo-counts: what each row has seen of every component, in the proportions of the average row, and each
        component of every column, as often 1 as the column is. Likelihood alone is too sure of rows with few cells, and
        often predicts held-out cells worse than the frequencies of the columns. 0 is maximum likelihood.
    n_init : int, default=10
        Number of restarts; the best is kept.
    max_iter : int, default=3000
        Largest number of passes over the data per restart. They come in rounds of three, and a round is always
        finished.
    tol : float, default=1e-6
        A restart has converged when three passes raise the log-likelihood by less than this per observed cell.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the restarts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Nonnegative, the largest entry of each component being 1 (an unused one is 0 everywhere), by falling share in
        u. Columns that are never observed have 0.
    weights_ : ndarray of shape (n_rows, n_components)
        Weights of the training rows, from 0 to 1000: the optimal weight on a component all of whose cells are 1 would
        be infinite.
    weights_gap_ : float
        Certificate of `weights_`: no row can gain more than this log-likelihood per observed cell by other weights.
    average_weights_ : ndarray of shape (n_components,)
        Mean weights of the training rows at the end of the iterations; rows without observed cells get these.
    smoothing_ : float
        The `smoothing` of the fit.
    objective_ : float
        Log-likelihood of the best restart at the end of the iterations, with what the pseudo-counts add to it.
        (`weights_` are then solved for exactly, so it would be slightly higher with them.)
    objective_history_ : ndarray of shape (n_iter_,)
        The best restart's objective after each pass; it never falls, except by rounding.
    restarts_ : DataFrame
        One line per restart: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The objective after each pass of every restart, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every restart, in the order of `restarts_`.
    n_iter_ : int
        Passes over the data made by the best restart.
    converged_ : bool
        Whether the best restart converged; False if it was stopped by `max_iter` or interrupted.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: `sample_weight`, or all 1.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import BernoulliNMF
    >>> rng = np.random.default_rng(0)
    >>> has = rng.random((200, 2)) < 0.5
    >>> u = 3 * has @ np.kron(np.eye(2), np.ones(4))
    >>> X = rng.random((200, 8)) < np.tanh(u / 2)
    >>> model = BernoulliNMF(2, n_init=3, random_state=0).fit(X)
    >>> sorted((model.components_ > 0.3).astype(int).tolist())
    [[0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0]]
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        smoothing: float = 0.7,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-6,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.smoothing = smoothing
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> MaximumLikelihood:
        return MaximumLikelihood(data, row_weight, self.n_components, workers, self.smoothing)

    def _keep(self, state: State, row_weight: np.ndarray) -> Normalised:
        return normalised(state, row_weight)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.components_ = best.kept.components
        self.average_weights_ = best.kept.average
        self.smoothing_ = float(self.smoothing)
        self.restart_components_ = [run.kept.components for run in runs]

    def _row_solver(self) -> RowSolver:
        smoothing = vars(self).get("smoothing_", 0.0)  # models stored by earlier versions have none
        return partial(solve_rows, components=self.components_, average=self.average_weights_, smoothing=smoothing)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = rates(W, self.components_)
        return np.log(np.tanh(u / 2)), np.log(2) - np.logaddexp(0.0, u)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return np.tanh(rates(np.maximum(W, 0.0), self.components_) / 2)

    def _n_parameters(self, n_rows: int) -> int:
        """Weights and components, up to the scale of each component."""
        K, D = self.components_.shape
        return K * (n_rows + D) - K
