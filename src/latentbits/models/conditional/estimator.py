"""The estimators that predict each cell from the others of its row by couplings of columns."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import expit, log_expit
from sklearn.exceptions import ConvergenceWarning

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError, warn_user
from latentbits.fitting.restarts import Schedule, best_of
from latentbits.models.cell_model import CellModel
from latentbits.models.conditional.centred import smoothed_means
from latentbits.models.conditional.ising import IsingState, PseudoLikelihood, log_odds, symmetric
from latentbits.models.conditional.linear import couplings_of, gram, predicted
from latentbits.models.deprecated import Renamed

__all__ = ["IsingModel", "LinearAutoencoder"]

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
