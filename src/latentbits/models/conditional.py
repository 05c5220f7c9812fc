"""Models that predict each cell from the others of its row by couplings of columns: logistic (Ising) and linear (EASE).

Rows less the columns' means, missing cells at the mean: what a cell says beyond what is known of its column.

The Ising model by ridge pseudo-likelihood: each cell a logistic regression on the others, with symmetric couplings.

With z_ij = x_ij - mean_j (0 where missing), the log-odds of a 1 in cell ij are

    eta_ij = b_j + sum_k J_jk z_ik,    J symmetric, J_jj = 0,

and maximised is the penalised log pseudo-likelihood (Besag, 1975)

    sum of w_i log P(x_ij | rest of row i) over observed cells  -  ridge / 2 sum_{j<k} J_jk^2
        +  sum_j (s log p_j + (1 - s) log (1 - p_j))

with w_i the weight of row i, p_j = 1 / (1 + exp(-b_j)) and s the table's share of ones: every column gets the one cell
more that smooths its mean, in a row of means (z = 0), so that b_j is finite for a column of zeros. The function is
strictly concave, so there is one optimum. Without couplings it is at b_j = logit(mean_j), where the climb starts.

The linear autoencoder in closed form (EASE; Steck, 2019): each column a ridge regression on all others at once.

With Z the rows less the columns' means (0 where missing) and W the weights of rows on a diagonal,

    G = Z' W Z + ridge I,   P = inv(G),   B_jk = -P_jk / P_kk,   B_kk = 0:

column k of B is the ridge regression of column k of Z on the other columns (Steck, 2019, eq. 7 and 8), and 1 / P_kk -
ridge is what it leaves: the penalised sum of squares. The cells of a row are then predicted as mean + z B.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpocon
from scipy.special import expit, log_expit, logit
from sklearn.exceptions import ConvergenceWarning

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks
from latentbits.errors import DataError, warn_user
from latentbits.fitting.climb import Climbed, Monitor, ascend, flatten
from latentbits.fitting.restarts import Schedule, best_of
from latentbits.models.base import Renamed
from latentbits.models.cell_model import CellModel


def share_of_ones(data: BinaryData, row_weight: np.ndarray) -> float:
    """The share of ones in the table, never 0 or 1: half a 1 and half a 0 are added."""
    ones, observed = data.ones_per_column(row_weight).sum(), data.observed_per_column(row_weight).sum()
    return float((ones + 0.5) / (observed + 1))


def smoothed_means(data: BinaryData, row_weight: np.ndarray) -> np.ndarray:
    """The columns' shares of ones with one more cell in each column, of the table's share of ones."""
    ones, observed = data.ones_per_column(row_weight), data.observed_per_column(row_weight)
    return (ones + share_of_ones(data, row_weight)) / (observed + 1)


def centred(cells: np.ndarray, means: np.ndarray) -> np.ndarray:
    """z_ij = x_ij - mean_j, and 0 where the cell is missing."""
    return np.where(cells == MISSING, 0.0, cells - means)


def filled(sparse: sp.csr_array, means: np.ndarray) -> sp.csr_array:
    """Sparse rows with the columns' means in missing cells: less the means, they are `centred`."""
    values = np.where(sparse.data == MISSING, means[sparse.indices], 1.0)
    return sp.csr_array((values, sparse.indices, sparse.indptr.astype(sparse.indices.dtype)), shape=sparse.shape)


# ---- the Ising model ---------------------------------------------------------------------------------------------


class IsingState(NamedTuple):
    """b, and J_jk of the pairs j < k, row by row."""

    bias: np.ndarray
    pairs: np.ndarray


@dataclass(frozen=True)
class PseudoLikelihood:
    """The penalised log pseudo-likelihood of a table, and its climb; w_i is `row_weight`, s is `share`."""

    data: BinaryData
    row_weight: np.ndarray
    ridge: float
    means: np.ndarray
    share: float

    @classmethod
    def of(cls, data: BinaryData, row_weight: np.ndarray, ridge: float) -> PseudoLikelihood:
        """With the means and the share of the table."""
        return cls(data, row_weight, ridge, smoothed_means(data, row_weight), share_of_ones(data, row_weight))

    def start(self) -> IsingState:
        """Independent columns."""
        D = len(self.means)
        return IsingState(logit(self.means), np.zeros(D * (D - 1) // 2))

    def climb(self, monitor: Monitor) -> Climbed[IsingState]:
        """By L-BFGS, from independent columns."""
        return ascend(self.value_and_gradient, self.start(), monitor)

    def value_and_gradient(self, state: IsingState) -> tuple[float, IsingState]:
        """The function and its derivatives by b and by J_jk."""
        b, J = state.bias, symmetric(state)
        value, by_b, by_J = self._added_cells(b), self.share - expit(b), np.zeros_like(J)
        for rows in row_blocks(*self.data.shape):
            cells, w = self.data.block(rows), self.row_weight[rows, None]
            z, seen = centred(cells, self.means), cells != MISSING
            eta = b + z @ J
            value += float(np.sum(w * log_expit(np.where(cells == 1, eta, -eta)), where=seen))
            residual = np.where(seen, w * ((cells == 1) - expit(eta)), 0.0)
            by_b += residual.sum(axis=0)
            by_J += z.T @ residual
        by_pairs = (by_J + by_J.T)[np.triu_indices(len(b), 1)] - self.ridge * state.pairs
        return value - self.ridge / 2 * float(state.pairs @ state.pairs), IsingState(by_b, by_pairs)

    def gradient_norm(self, state: IsingState) -> float:
        """The Euclidean norm of all derivatives: 0 at the optimum."""
        return float(np.linalg.norm(flatten(self.value_and_gradient(state)[1])))

    def _added_cells(self, b: np.ndarray) -> float:
        return float(np.sum(self.share * log_expit(b) + (1 - self.share) * log_expit(-b)))


def symmetric(state: IsingState) -> np.ndarray:
    """J as a matrix."""
    D = len(state.bias)
    upper = np.zeros((D, D))
    upper[np.triu_indices(D, 1)] = state.pairs
    return upper + upper.T


def log_odds(data: BinaryData, means: np.ndarray, bias: np.ndarray, couplings: np.ndarray) -> np.ndarray:
    """eta of every cell of these rows."""
    return bias + centred(data.dense(), means) @ couplings


# ---- the linear autoencoder --------------------------------------------------------------------------------------

SPARSE = 0.1
"""Up to this share of stored cells sparse products are faster than dense ones, which do many more sums in the same
time."""

DIGITS = 5
"""So many digits of couplings are right at least, after rounding."""


def gram(data: BinaryData, row_weight: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Z' W Z: of sparse data at the cost of their ones, without a dense table."""
    n_rows, n_columns = data.shape
    if data.sparse is not None and data.sparse.nnz <= SPARSE * n_rows * n_columns:
        # Z = Y - 1 means', with Y the ones and the means of missing cells.
        Y = filled(data.sparse, means)
        ones, total = row_weight @ Y, row_weight.sum()
        weighted = Y.multiply(row_weight[:, None]).tocsr()
        cross = np.outer(ones, means)
        return np.asarray((Y.T @ weighted).toarray() - cross - cross.T + total * np.outer(means, means))
    G = np.zeros((n_columns, n_columns))
    for rows in row_blocks(n_rows, n_columns):
        Z = centred(data.block(rows), means)
        G += Z.T @ (row_weight[rows, None] * Z)
    return G


def couplings_of(G: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """B, and the penalised sum of squares that it leaves in all columns together; `G` is Z' W Z.

    Refused if the ridge is so small beside columns that repeat each other that fewer than `DIGITS` of B would be right.
    """
    identity = np.eye(len(G))
    ridged = G + ridge * identity
    try:
        factor, lower = cho_factor(ridged, lower=True)
    except LinAlgError:
        reciprocal_condition = 0.0
    else:
        reciprocal_condition, _ = dpocon(factor, np.abs(ridged).sum(axis=0).max(), uplo="L")
    if reciprocal_condition < np.finfo(float).eps * 10**DIGITS:
        raise DataError(
            f"ridge={ridge:g} is lost to rounding beside columns that repeat each other; raise it, or take columns out"
        )
    P = cho_solve((factor, lower), identity)
    precision = np.diag(P)
    B = -P / precision
    np.fill_diagonal(B, 0.0)
    return B, float(np.sum(1 / precision - ridge))


def predicted(data: BinaryData, means: np.ndarray, couplings: np.ndarray) -> np.ndarray:
    """mean + z B of every cell of these rows, as it comes: not within 0 and 1."""
    if data.sparse is not None:
        return np.asarray(filled(data.sparse, means) @ couplings + (means - means @ couplings))
    return means + centred(data.dense(), means) @ couplings


# ---- the estimators ----------------------------------------------------------------------------------------------

MOST_COLUMNS = 5_000
"""Of an Ising model: L-BFGS keeps some 40 vectors of all couplings, here 4 GB."""

LONG = 5e9
"""So many rows x columns^2 take seconds per step and minutes in all, which is worth a warning."""

MOST_COLUMNS_OF_LINEAR = 20_000
"""The few matrices of couplings that are made at a time take 3 GB each then."""

SURE = 1e-4
"""Predictions of the linear model are kept this far from 0 and 1."""


class IsingModel(CellModel):
    """Couplings between columns: the log-odds of a 1 in a cell are a linear function of the other cells of its row.

    A positive coupling of two columns makes a 1 in one of them more likely where the other is 1, the rest of the row
    being the same; a negative one makes it less likely, and 0 says that they have nothing to do with each other beyond
    what the other columns explain. (In physics it is the Ising model, elsewhere a pairwise Markov random field.)
    Maximised is the pseudo-likelihood, the probability of each cell given the others of its row, less a penalty: one
    optimum, no restarts. Rows have no weights, so there is nothing to transform them into.

    Parameters
    ----------
    ridge : float, default=10.0
        The precision of the normal prior of couplings, at least 1e-3: larger ones hold them closer to 0.
    max_iter : int, default=500
        Largest number of L-BFGS iterations.
    tol : float, default=1e-8
        Converged when ten iterations raise the objective by less than this per observed cell.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.

    Attributes
    ----------
    couplings_ : ndarray of shape (n_features, n_features)
        What a 1 in one column adds to the log-odds of a 1 in another, compared with a 0; symmetric, 0 on the diagonal.
    intercepts_ : ndarray of shape (n_features,)
        The log-odds of a 1 in a row whose other cells are at the means of their columns.
    means_ : ndarray of shape (n_features,)
        The columns' shares of ones, by which rows are centred; a missing cell counts as the mean, and so says nothing.
    objective_ : float
        The penalised log pseudo-likelihood of the training rows.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each iteration; it never falls.
    gradient_norm_ : float
        The norm of the objective's derivatives at the solution, which is 0 at the optimum.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether it converged; False if it was stopped by `max_iter` or interrupted.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    n_rows_ : int
        Number of rows at the fit.
    n_features_in_ : int
        Number of columns at the fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    References
    ----------
    Besag, Statistical analysis of non-lattice data, The Statistician 24, 1975.

    Examples
    --------
    >>> from latentbits import IsingModel
    >>> model = IsingModel(ridge=1).fit([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> model.couplings_.round(1)
    array([[0. , 1.3, 0. ],
           [1.3, 0. , 0. ],
           [0. , 0. , 0. ]])
    >>> model.reconstruct([[1, None, 0]])[0, 1] > 0.5
    np.True_
    """

    bias_ = Renamed("intercepts_")

    def __init__(
        self, ridge: float = 10.0, *, max_iter: int = 500, tol: float = 1e-8, binarize: float | None = None
    ) -> None:
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize

    _sees_own_cell = False
    _coupled = "log odds"

    def _fit(self, data: BinaryData, row_weight: np.ndarray) -> None:
        _check_cost(*data.shape)
        likelihood = PseudoLikelihood.of(data, row_weight, self.ridge)
        n_cells = float(row_weight @ data.observed_per_row())
        schedule = Schedule(1, self.max_iter, self.tol, n_cells, if_interrupted="this is how far the fit had come")
        # One start, through the machinery of restarts for what it does about Ctrl-C; it draws nothing from the seed.
        run, _ = best_of(
            lambda workers: lambda rng, monitor: likelihood.climb(monitor),
            schedule,
            np.random.default_rng(0),
            1,
            likelihood.gradient_norm,
        )
        state: IsingState = run.state
        self.means_, self.intercepts_, self.couplings_ = likelihood.means, state.bias, symmetric(state)
        self.objective_, self.objective_history_ = run.objective, np.array(run.history)
        self.n_iter_, self.converged_, self.gradient_norm_ = run.n_iter, run.converged, run.kept
        if run.n_iter >= self.max_iter and not run.converged:
            warnings.warn(
                f"the fit made all max_iter={self.max_iter} iterations without converging; raise max_iter, or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _predict(self, data: BinaryData) -> np.ndarray:
        return expit(self._log_odds(data))

    def _log_probabilities(self, data: BinaryData) -> tuple[np.ndarray, np.ndarray]:
        odds = self._log_odds(data)
        return log_expit(odds), log_expit(-odds)

    def _log_odds(self, data: BinaryData) -> np.ndarray:
        return log_odds(data, self.means_, self.intercepts_, self.couplings_)


def _check_cost(n_rows: int, n_columns: int) -> None:
    """Refuse what exceeds the memory, and say beforehand what takes long."""
    if n_columns > MOST_COLUMNS:
        raise DataError(
            f"{n_columns:,} columns have {n_columns * (n_columns - 1) // 2:,} couplings, too many for IsingModel; give "
            f"at most {MOST_COLUMNS:,} columns, or use LinearAutoencoder (linear-autoencoder)"
        )
    if n_rows * n_columns**2 > LONG:
        warn_user(
            f"a step of IsingModel costs rows x columns^2, {n_rows * n_columns**2:.1g} here, so this fit takes minutes "
            "or hours; LinearAutoencoder (linear-autoencoder) predicts cells in much the same way, and is fast"
        )


class LinearAutoencoder(CellModel):
    """Each column predicted linearly from all others, by ridge regression, in closed form.

    The columns' regressions are solved together, by one inverse matrix (EASE). It is `IsingModel` with a straight line
    in place of the logistic function, and without symmetry; it takes sparse tables of hundreds of thousands of rows
    and thousands of columns at the cost of their ones. Rows have no weights, so there is nothing to transform them
    into.

    Parameters
    ----------
    ridge : float, default=60.0
        What is added to the diagonal of the columns' cross products, at least 1e-3: larger ones hold couplings closer
        to 0.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.

    Attributes
    ----------
    couplings_ : ndarray of shape (n_features, n_features)
        Row j, column k: what a 1 in column j adds to the probability of a 1 in column k, compared with a 0; 0 on the
        diagonal.
    means_ : ndarray of shape (n_features,)
        The columns' shares of ones, by which rows are centred; a missing cell counts as the mean, and so says nothing.
    objective_ : float
        Minus the sum of squares of the training rows' cells less their predictions (before these are kept within 0 and
        1; a missing cell is the mean), and minus `ridge` times that of the couplings, which the couplings maximise.
    data_checksum_ : str
        Checksum of the training data (`BinaryData.fingerprint`).
    n_rows_ : int
        Number of rows at the fit.
    n_features_in_ : int
        Number of columns at the fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    References
    ----------
    Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019.

    Examples
    --------
    >>> from latentbits import LinearAutoencoder
    >>> model = LinearAutoencoder(ridge=1).fit([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> model.couplings_[0].round(2) + 0.0
    array([0. , 0.5, 0. ])
    >>> model.reconstruct([[1, None, 0]]).round(2)
    array([[0.5 , 0.75, 0.5 ]])
    """

    def __init__(self, ridge: float = 60.0, *, binarize: float | None = None) -> None:
        self.ridge = ridge
        self.binarize = binarize

    _sees_own_cell = False
    _coupled = "probability"

    def _fit(self, data: BinaryData, row_weight: np.ndarray) -> None:
        if data.shape[1] > MOST_COLUMNS_OF_LINEAR:
            raise DataError(
                f"{data.shape[1]:,} columns have too many couplings for LinearAutoencoder; give at most "
                f"{MOST_COLUMNS_OF_LINEAR:,} columns, such as those with the most ones"
            )
        self.means_ = smoothed_means(data, row_weight)
        self.couplings_, left = couplings_of(gram(data, row_weight, self.means_), self.ridge)
        self.objective_ = -left

    def _predict(self, data: BinaryData) -> np.ndarray:
        return np.clip(predicted(data, self.means_, self.couplings_), SURE, 1 - SURE)
