"""Logistic PCA by the bound of Jaakkola and Jordan (Tipping 1999; Schein, Saul and Ungar 2003).

The model is logit P = theta = U V + b: rows have coordinates U (N x K), columns V (K x D) and a bias b (D). Per cell

    log P(x) = (x - 1/2) theta - log(2 cosh(theta/2))
            >= (x - 1/2) theta - lambda(t) theta^2 + const,      lambda(t) = tanh(t/2) / (4 t),  1/8 at 0,

with equality at theta = +-t. For fixed t that is weighted least squares, in U and in (V, b) by turns. A step does both
on one bound, which costs one exponential per cell; making the bound tight again in between saves few.

The objective is the log likelihood minus ridge/2 (sum_i r_i |u_i|^2 + |V|^2), r_i the weight of row i. Moves that
leave U V + b as it is can only gain by lowering the penalty: shifting U into the bias is best where U is centred
(sum_i r_i u_i = 0), and U A, A^-1 V is best where U'RU = VV' ("balanced"; R = diag(r)). There the penalty is
ridge sum_k s_k with s the singular values of R^(1/2) U V. So it is known from which ridge on nothing but b is left: the
largest singular value of R^(1/2) (x - column frequencies). Ridges are learned among parts of it, by held-out cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks
from latentbits.fitting.climb import ArrayLearner, Monitor, climb
from latentbits.fitting.held_out import SURE
from latentbits.fitting.restarts import Restart, Runner
from latentbits.fitting.rows import block_groups
from latentbits.fitting.workers import Workers, n_workers, one_blas_thread
from latentbits.kernels.logistic_rows import logistic_bound, logistic_rows
from latentbits.models.base import Renamed
from latentbits.models.factor_model import ClimbingFactorModel
from latentbits.models.solved_rows import RowSolver, Solution
from latentbits.numerics import RandomSource, as_generator, kernel_array

FARTHEST = 500.0
"""An extrapolated bias stays within this: the optimal bias of a constant column is infinite."""

DEAD = 1e-9
"""A singular value below this part of the largest counts as 0."""

GAP = 1e-16  # half of Newton's decrement at which a row's solution is exact to rounding
MAX_STEPS = 200


FARTHEST_INTERCEPT, HALVINGS = 200.0, 60
"""Of the search for the intercepts of a deviance."""

PARTS, MOST_HIDDEN = 10, 20_000
"""To learn a ridge, each tenth of the cells is hidden in turn; of larger tables fewer parts, so many cells in all."""

FIRST, STEP, FALLS, LEAST_RIDGE = 0.8, 0.7, 2, 1e-3
"""Ridges begin at this part of the one that leaves nothing, and fall by this factor until so many were no better."""

ROUGH, ROUGH_PASSES, STIR = 1e-4, 300, 0.1
"""Tolerance and passes of a fit that tries a ridge, and the size of the changes of V that it starts with."""

SUREST = float(logit(1 - SURE))
POWERS = 20


class State(NamedTuple):
    """U: (N, K). V: (K, D). b: (D,)."""

    U: np.ndarray
    V: np.ndarray
    b: np.ndarray


class PrincipalForm(NamedTuple):
    """The centred U V as scores @ components, with singular values and bias.

    components: (K, D) orthonormal rows by falling singular value, the largest entry of each positive; zero where the
    rank is lower than K. singular_values: (K,) of R^(1/2) U V. scores: (N, K). bias: (D,).
    """

    components: np.ndarray
    singular_values: np.ndarray
    scores: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class PenalisedLikelihood(ArrayLearner[State]):
    """Alternating weighted least squares on the bound."""

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    ridge: float
    workers: Workers

    def initialise(self, rng: np.random.Generator) -> State:
        """Random V and the columns' own log odds; U = 0, so equal rows stay equal and their order doesn't matter."""
        N, D = self.data.shape
        ones = self.data.ones_per_column(self.row_weight)
        share = (ones + 0.5) / (self.data.observed_per_column(self.row_weight) + 1.0)
        # V must not be 0 as well: U = V = 0 is a stationary point.
        return State(np.zeros((N, self.n_components)), rng.normal(size=(self.n_components, D)), logit(share))

    def step(self, state: State) -> tuple[State, float]:
        """U given V and b, then V and b given U, then the balanced form of the same U V + b.

        One pass: a block's rows are solved for, and their share in the columns' equations is added up at once.
        """
        U, V, b = state
        N, D = self.data.shape
        K = self.n_components
        new_U = np.empty_like(U)
        pairs = _pairs(V.T)  # makes the K x K systems of all rows one matrix product

        def one(blocks: list[slice]) -> tuple[float, np.ndarray, np.ndarray]:
            log_likelihood, A, y = 0.0, np.zeros((D, (K + 1) * (K + 2) // 2)), np.zeros((D, K + 1))
            for rows in blocks:
                theta = U[rows] @ V + b
                row_log, slack, target = np.empty(len(theta)), np.empty_like(theta), np.empty_like(theta)
                logistic_bound(theta, self.data.block(rows), b, row_log, slack, target)
                log_likelihood += float(self.row_weight[rows] @ row_log)
                u = new_U[rows] = _solve_u(slack, target, V, pairs, self.ridge)
                with_one = np.column_stack([u, np.ones(len(u))])
                A += slack.T @ (self.row_weight[rows, None] * _pairs(with_one))
                y += target.T @ (self.row_weight[rows, None] * with_one)
            return log_likelihood, A, y

        log_likelihoods, As, ys = zip(*self.workers.map(one, block_groups(N, D)), strict=True)
        # Of the state that went in, as the log likelihood is.
        penalty = self.ridge / 2 * (self.row_weight @ (U**2).sum(axis=1) + (V**2).sum())
        new_V, new_b = _solve_v(np.sum(As, axis=0), np.sum(ys, axis=0), b, self.ridge)
        return self._balanced(State(new_U, new_V, new_b)), float(sum(log_likelihoods) - penalty)

    def project(self, state: State) -> State:
        """The balanced form of an extrapolated state, its bias within limits."""
        return self._balanced(state._replace(b=np.clip(state.b, -FARTHEST, FARTHEST)))

    def _balanced(self, state: State) -> State:
        """The centred and balanced form of U V + b whose V is nearest to the given one, so that states stay comparable.

        It raises the objective unless it leaves the state as it is.
        """
        form = principal_form(state, self.row_weight)
        root = np.sqrt(form.singular_values)
        V = root[:, None] * form.components
        # Orthogonal Procrustes: extrapolation needs successive states in the same rotation.
        left, _, right = np.linalg.svd(state.V @ V.T)
        turn = left @ right
        U = np.divide(form.scores, root, out=np.zeros_like(form.scores), where=root > 0)
        return State(U @ turn.T, turn @ V, form.bias)

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """A row of weight 2 counts like two rows."""
        return self.row_weight[:, None], 1.0, 1.0


def principal_form(state: State, row_weight: np.ndarray) -> PrincipalForm:
    """Singular value decomposition of the centred R^(1/2) U V, from two thin QR decompositions."""
    U, V, b = state
    K, D = V.shape
    centre = row_weight @ U / row_weight.sum()
    U = U - centre
    basis, V_in_basis = np.linalg.qr(V.T)
    U_triangle = np.linalg.qr(np.sqrt(row_weight)[:, None] * U, mode="r")
    _, s, right = np.linalg.svd(U_triangle @ V_in_basis.T, full_matrices=False)
    alive = s > DEAD * s[0]
    n = int(alive.sum())
    found = right[:n] @ basis.T
    # The sign of a component is free; fixed here, so that fits can be compared.
    signs = np.sign(found[np.arange(n), np.abs(found).argmax(axis=1)])
    components, values, scores = np.zeros((K, D)), np.zeros(K), np.zeros((len(U), K))
    components[:n] = signs[:, None] * found
    values[:n] = s[:n]
    scores[:, :n] = U @ (V @ components[:n].T)
    return PrincipalForm(components, values, scores, b + centre @ V)


def solve_rows(
    data: BinaryData,
    components: np.ndarray,
    singular_values: np.ndarray,
    bias: np.ndarray,
    ridge: float,
    workers: Workers,
) -> Solution:
    """Scores of rows, components and bias fixed, and an estimate of the gain per cell of each row's last step.

    In the balanced form u = score / sqrt(s), so the ridge on a score w is ridge/2 sum_k w_k^2 / s_k.
    """
    N, D = data.shape
    root = np.sqrt(singular_values)
    V, b, ridge = kernel_array(root[:, None] * components), kernel_array(bias), float(ridge)
    U, gap = np.empty((N, len(V))), np.empty(N)

    def one(rows: slice) -> None:
        cells = data.block(rows)
        logistic_rows(cells, V, b, ridge, GAP, MAX_STEPS, U[rows], gap[rows])

    workers.map(one, list(row_blocks(N, D)))
    return Solution(U * root, gap / np.maximum(data.observed_per_row(), 1))


def _solve_u(slack: np.ndarray, target: np.ndarray, V: np.ndarray, pairs: np.ndarray, ridge: float) -> np.ndarray:
    """u_i from (sum_j 2 lambda_ij v_j v_j' + ridge I) u_i = sum_j (x_ij - 1/2 - 2 lambda_ij b_j) v_j."""
    K = len(V)
    A = (slack @ pairs)[:, _places(K)] + ridge * np.eye(K)
    return np.linalg.solve(A, (target @ V.T)[:, :, None])[:, :, 0]


def _solve_v(A: np.ndarray, y: np.ndarray, b: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """V and the new bias from the columns' equations, with a_i = (u_i, 1) and the ridge on all but the last:

    (sum_i r_i 2 lambda_ij a_i a_i' + ridge) (v_j, b'_j) = sum_i r_i (x_ij - 1/2) a_i. The sums on the left come packed
    as A; y is made of x - 1/2 - 2 lambda b instead of x - 1/2. A bias stays where nothing is seen.
    """
    K = y.shape[1] - 1
    full = A[:, _places(K + 1)]
    right = y + b[:, None] * full[:, :, K]
    full[:, range(K), range(K)] += ridge
    unseen = full[:, K, K] <= 0  # columns without observed cells would make the system singular
    full[unseen, K, K] = 1.0
    right[unseen, K] = b[unseen]
    answer = np.linalg.solve(full, right[:, :, None])[:, :, 0]
    return np.ascontiguousarray(answer[:, :K].T), np.ascontiguousarray(answer[:, K])


def _pairs(vectors: np.ndarray) -> np.ndarray:
    """The products v_k v_l, k <= l, of each row v: n x K -> n x K (K + 1) / 2."""
    first, second = np.triu_indices(vectors.shape[1])
    return vectors[:, first] * vectors[:, second]


def _places(K: int) -> np.ndarray:
    """Where v_k v_l is among the pairs: K x K."""
    places = np.zeros((K, K), dtype=np.intp)
    places[np.triu_indices(K)] = np.arange(K * (K + 1) // 2)
    return np.maximum(places, places.T)


# ---- a ridge that is learned ---------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A table without some of its cells, and these: where they are, their values, and how much they count."""

    data: BinaryData
    cells: tuple[np.ndarray, np.ndarray]
    x: np.ndarray
    weight: np.ndarray


def learned_ridge(
    data: BinaryData, row_weight: np.ndarray, n_components: int, rng: np.random.Generator, workers: Workers
) -> float:
    """The ridge with which held-out cells are predicted best, from nearly independent columns down.

    Fits are rough, and begin where those with the ridge before have ended.
    """
    parts = _parts(data, row_weight, rng)
    learner = PenalisedLikelihood(data, row_weight, n_components, 1.0, workers)
    states = [learner.initialise(rng) for _ in parts]
    stir = STIR * rng.normal(size=(n_components, data.shape[1]))
    ridge = best = max(FIRST * vanishing_ridge(data, row_weight), LEAST_RIDGE)
    least, falls = np.inf, 0
    while ridge >= LEAST_RIDGE and falls < FALLS:
        learners = [replace(learner, data=part.data, ridge=ridge) for part in parts]
        states = [_tried(each, state, stir) for each, state in zip(learners, states, strict=True)]
        loss = sum(_loss(part, state) for part, state in zip(parts, states, strict=True))
        best, least, falls = (ridge, loss, 0) if loss < least else (best, least, falls + 1)
        ridge *= STEP
    return float(best)


def vanishing_ridge(data: BinaryData, row_weight: np.ndarray) -> float:
    """The ridge from which on nothing but intercepts is left, nearly: by a few rounds of the power method."""
    observed = data.observed_per_column(row_weight)
    share = np.divide(data.ones_per_column(row_weight), observed, out=np.zeros(len(observed)), where=observed > 0)
    v, size = np.random.default_rng(0).normal(size=len(share)), 0.0
    for _ in range(POWERS):
        product = np.zeros(len(share))
        for rows in row_blocks(*data.shape):
            cells = data.block(rows)
            apart = np.where(cells == MISSING, 0.0, cells - share)
            product += (row_weight[rows] * (apart @ v)) @ apart
        size = float(np.linalg.norm(product))
        v = product / max(size, np.finfo(float).tiny)
    return float(np.sqrt(size))


def _parts(data: BinaryData, row_weight: np.ndarray, rng: np.random.Generator) -> list[_Part]:
    N, D = data.shape
    chosen = rng.choice(N * D, min(N * D, MOST_HIDDEN), replace=False)
    n_parts = int(np.clip(PARTS * MOST_HIDDEN // (N * D), 1, PARTS))
    parts = []
    for part in np.array_split(chosen, n_parts):
        cells = part // D, part % D
        hidden = np.zeros((N, D), dtype=bool)
        hidden[cells] = True
        x = data.dense()[cells]
        parts.append(_Part(data.hide(hidden), cells, x, row_weight[cells[0]] * (x != MISSING)))
    return parts


def _tried(learner: PenalisedLikelihood, state: State, stir: np.ndarray) -> State:
    """Where a rough fit ends. It starts beside the state: what has shrunk to 0 would stay there."""
    monitor = Monitor(ROUGH, ROUGH_PASSES, float(learner.row_weight @ learner.data.observed_per_row()))
    return climb(learner, state._replace(V=state.V + stir), monitor).state


def _loss(part: _Part, state: State) -> float:
    """Minus the log-likelihood of the held-out cells."""
    rows, columns = part.cells
    theta = np.sum(state.U[rows] * state.V[:, columns].T, axis=1) + state.b[columns]
    theta = np.clip(theta, -SUREST, SUREST)
    return -float(part.weight @ log_expit(np.where(part.x == 1, theta, -theta)))


# ---- the estimator -----------------------------------------------------------------------------------------------


class LogisticPCA(ClimbingFactorModel):
    """Logistic PCA: the log odds of the cells are a table of rank K plus an intercept for each column.

    ``logit P = weights_ @ components_ + intercepts_``. The counterpart of PCA for 0-1 data: components add and cancel
    on the scale of log odds, so they predict well but are hard to interpret as causes. Fitted by accelerated
    alternating least squares on a bound of the likelihood. A ridge penalty, learned from held-out cells, keeps the
    log odds of separable data finite and those of small tables sober.

    Parameters
    ----------
    n_components : int, default=5
        K, the rank of the table of log odds, the bias left out.
    ridge : float or None, default=None
        Strength of the penalty, at least 1e-3. The objective is the log likelihood minus ``ridge`` times the sum of the
        singular values of the centred table of log odds (the same as ridge/2 times the squares of both factors).
        Rounding grows with 1 / ridge^2, and is below 1e-6 in probabilities at 1e-3. None learns it: tenths of the cells
        (20,000 at most) are held out, and of ridges from nearly independent columns down, each 0.7 times the one
        before, the one that predicts them best is kept.
    n_init : int, default=3
        Number of random starts; the best is kept. They seldom end far apart.
    max_iter : int, default=1000
        Largest number of passes over the data per start. They come in rounds of three, and a round is always finished.
    tol : float, default=1e-6
        A start has converged when three passes raise the objective by less than this per observed cell.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows in the order of `singular_values_`; the entry of each that is largest in size is positive. If
        the rank is lower than K, the last rows are zero.
    weights_ : ndarray of shape (n_rows, n_components)
        Coordinates of the training rows, of either sign.
    weights_gap_ : float
        What the last Newton step of a row gained per observed cell, at most.
    intercepts_ : ndarray of shape (n_features,)
        Log odds of the columns at the mean of the rows' coordinates.
    ridge_ : float
        The ridge that was given or learned.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred table of log odds (rows times the root of their weight) at the end of the
        iterations.
    objective_ : float
        Penalised log likelihood of the best start at the end of the iterations.
    objective_history_ : ndarray of shape (n_iter_,)
        The best start's penalised log likelihood after each pass; it never falls, except by rounding.
    restarts_ : DataFrame
        One line per start: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The objective after each pass of every start, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every start, in the order of `restarts_`.
    n_iter_ : int
        Passes over the data made by the best start.
    converged_ : bool
        Whether the best start converged; False if it was stopped by `max_iter` or interrupted.
    row_weight_ : ndarray of shape (n_rows,)
        Weights of the training rows: `sample_weight`, or all 1.
    data_checksum_ : str
        Identifies the training data (`BinaryData.fingerprint`).
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    References
    ----------
    Tipping, Probabilistic visualisation of high-dimensional binary data, NIPS 1999. Schein, Saul and Ungar, A
    generalized linear model for principal component analysis of binary data, AISTATS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import LogisticPCA
    >>> side = np.repeat([-1, 1], 50)
    >>> log_odds = 3 * np.outer(side, [1, 1, -1, -1]) + [0, 1, 0, 1]
    >>> X = np.random.default_rng(0).random((100, 4)) < 1 / (1 + np.exp(-log_odds))
    >>> model = LogisticPCA(1, random_state=0).fit(X)
    >>> (model.components_[0] > 0).tolist()
    [False, False, True, True]
    >>> bool(np.abs(model.reconstruct(X) - 1 / (1 + np.exp(-log_odds))).mean() < 0.1)
    True
    """

    similarity_ = "cosine"
    bias_ = Renamed("intercepts_")

    def __init__(
        self,
        n_components: int = 5,
        *,
        ridge: float | None = None,
        n_init: int = 3,
        max_iter: int = 1000,
        tol: float = 1e-6,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _runner_maker(self, data: BinaryData, row_weight: np.ndarray) -> Callable[[Workers], Runner[Any]]:
        self.ridge_ = float(self.ridge or self._learned_ridge(data, row_weight))
        return super()._runner_maker(data, row_weight)

    def _learned_ridge(self, data: BinaryData, row_weight: np.ndarray) -> float:
        rng = np.random.default_rng(as_generator(self.random_state).integers(2**31))
        with Workers(n_workers(self.n_jobs)) as workers, one_blas_thread():
            return learned_ridge(data, row_weight, self.n_components, rng, workers)

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> PenalisedLikelihood:
        return PenalisedLikelihood(data, row_weight, self.n_components, self._ridge, workers)

    @property
    def _ridge(self) -> float:
        """Models stored by earlier versions have the one that was given alone."""
        return float(vars(self).get("ridge_", self.ridge))

    def _keep(self, state: State, row_weight: np.ndarray) -> PrincipalForm:
        return principal_form(state, row_weight)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.components_ = best.kept.components
        self.singular_values_ = best.kept.singular_values
        self.intercepts_ = best.kept.bias
        self.restart_components_ = [run.kept.components for run in runs]

    def _row_solver(self) -> RowSolver:
        return partial(
            solve_rows,
            components=self.components_,
            singular_values=self.singular_values_,
            bias=self.intercepts_,
            ridge=self._ridge,
        )

    def _log_odds(self, W: np.ndarray) -> np.ndarray:
        return W @ self.components_ + self.intercepts_

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = self._log_odds(W)
        return log_expit(theta), log_expit(-theta)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return expit(self._log_odds(W))

    def deviance_shares(self, X: Any) -> np.ndarray:
        """The share of the deviance that each component explains, one after the other.

        The deviance of the columns' frequencies alone is the whole. Components are added from the first on, the rows'
        weights found for these and the intercepts adapted each time; the sum of the shares is what all of them explain.
        (Components go by the size of their log odds, so that a later one may explain more.)

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit, as a rule the rows of the fit.

        Returns
        -------
        ndarray of shape (n_components,)
            Shares, at most 1 in all.

        Examples
        --------
        >>> from latentbits import LogisticPCA, simulate
        >>> X = simulate.binary_ica(200, 8, 2, 1, random_state=0).X
        >>> shares = LogisticPCA(2, random_state=0).fit(X).deviance_shares(X)
        >>> bool((shares > 0).all() and shares.sum() < 1)
        True
        """
        data = self._solved(X).data
        left = [_deviance(data.dense(), np.zeros((1, data.shape[1])))]
        with Workers(n_workers(self.n_jobs)) as workers:
            for k in range(1, len(self.components_) + 1):
                first = {"components": self.components_[:k], "singular_values": self.singular_values_[:k]}
                W = solve_rows(data, bias=self.intercepts_, ridge=self._ridge, workers=workers, **first).coordinates
                left.append(_deviance(data.dense(), W @ self.components_[:k]))
        return -np.diff(left) / max(left[0], 1e-300)

    def _n_parameters(self, n_rows: int) -> int:
        """Those of a bias and a centred table of rank K (or of what rank the table can have)."""
        K, D = self.components_.shape
        rank = min(K, n_rows - 1, D)
        return D + rank * (n_rows - 1) + rank * D - rank**2


def _deviance(cells: np.ndarray, offset: np.ndarray) -> float:
    """-2 log likelihood of cells (other than 0 and 1 missing) with these log odds plus the columns' best intercepts."""
    seen = (cells == 0) | (cells == 1)
    ones = (cells == 1).sum(axis=0)
    low, high = np.full((2, cells.shape[1]), [[-FARTHEST_INTERCEPT], [FARTHEST_INTERCEPT]])
    for _ in range(HALVINGS):  # the slope falls with the intercept, so its zero can be bracketed
        middle = (low + high) / 2
        more = ones > np.sum(seen * expit(offset + middle), axis=0)
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    theta = offset + (low + high) / 2
    return float(-2 * np.sum(seen * log_expit(np.where(cells == 1, theta, -theta))))
