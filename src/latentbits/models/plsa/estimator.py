"""The estimator of PLSA."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.restarts import Restart
from latentbits.fitting.workers import Workers
from latentbits.models.factor_model import ClimbingFactorModel
from latentbits.models.plsa.plsa import PoissonEM, State, chance_of_one, log_chances, solve_rows
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import RandomSource

__all__ = ["PLSA"]


class _Kept(NamedTuple):
    """H, in the order of the components' share of the ones, and the average W of the rows that have ones."""

    H: np.ndarray
    average: np.ndarray


class PLSA(ClimbingFactorModel):
    """Probabilistic latent semantic analysis: the aspect model of the ones, in which zeros are not explained.

    Each of the L ones of a row is drawn on a column with probabilities ``weights_ @ components_``. The probability of a
    1 in cell ij is that at least one of the L falls there, ``1 - (1 - (weights_ @ components_)[i, j]) ** L``. Zeros
    have no cause of their own, so there are no noise components: a baseline for `AspectBernoulli`. Passes visit only
    the ones. Fitted by maximum likelihood (accelerated EM) with several restarts.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components.
    n_init : int, default=10
        Number of restarts; the best is kept.
    max_iter : int, default=3000
        Largest number of passes over the ones per restart. They come in rounds of three, and a round is always
        finished.
    tol : float, default=1e-6
        A restart has converged when three passes raise the objective by less than this per observed cell.
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
        Distribution of each component's ones over the columns; each row sums to 1. By falling share of the ones.
    weights_ : ndarray of shape (n_rows, n_components)
        Proportions of the components in the training rows; each row sums to 1. Rows without ones get the average.
    weights_gap_ : float
        Certificate of `weights_`: no row can gain more than this log-likelihood per one by other weights.
    row_intensity_ : ndarray of shape (n_rows,)
        L: the number of ones of each training row or, if it has missing cells, the number expected in the whole row. A
        row without observed cells gets the average of those that have ones.
    objective_ : float
        The Poisson log-likelihood of the best restart: for complete data the multinomial one plus a constant.
        (`log_likelihood`, `aic` and `bic` are those of the cells, for comparison with other models.)
    objective_history_ : ndarray of shape (n_iter_,)
        The best restart's Poisson log-likelihood after each pass; it never falls, except by rounding.
    restarts_ : DataFrame
        One line per restart: seed, objective, n_iter and converged.
    restart_histories_ : list of ndarray
        The objective after each pass of every restart, in the order of `restarts_`.
    restart_components_ : list of ndarray
        The components of every restart, in the order of `restarts_`.
    n_iter_ : int
        Passes over the ones made by the best restart.
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

    References
    ----------
    Hofmann, Unsupervised learning by probabilistic latent semantic analysis. Reconstruction: eq. 28 of Bingham, Kaban
    and Fortelius, The aspect Bernoulli model: multiple causes of presences and absences.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import PLSA
    >>> X = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]])
    >>> model = PLSA(2, n_init=5, random_state=0).fit(X)
    >>> model.transform([[0, 1, 1, 0, 0, 0]]).round(2).max().item()
    1.0
    >>> model.row_intensity_.round(6).tolist()
    [3.0, 2.0, 3.0, 2.0]
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-6,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- fitting: internally, the coordinates of a row are proportions times intensity -------------------------------

    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> PoissonEM:
        return PoissonEM(data, row_weight, self.n_components, workers)

    def _keep(self, state: State, row_weight: np.ndarray) -> _Kept:
        total = row_weight @ state.W
        order = np.argsort(-total, kind="stable")
        n_rows = row_weight[state.W.sum(axis=1) > 0].sum()
        return _Kept(state.H[order], total[order] / n_rows if n_rows > 0 else total)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.components_ = best.kept.H
        self.restart_components_ = [run.kept.H for run in runs]
        self._average = best.kept.average

    def _row_solver(self) -> RowSolver:
        return partial(solve_rows, H=self.components_, blank=self._average)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        return chance_of_one(W, self.components_)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return log_chances(W, self.components_)

    def _n_parameters(self, n_rows: int) -> int:
        """K for each row, not K - 1: its intensity is fitted too, and the cells' probabilities depend on it."""
        K, D = self.components_.shape
        return K * (D - 1) + K * n_rows

    def _adopt_coordinates(self, coordinates: np.ndarray) -> None:
        self.row_intensity_ = coordinates.sum(axis=1)

    def _as_weights(self, coordinates: np.ndarray) -> np.ndarray:
        """Rows scaled to sum 1; those without ones get the average."""
        W = np.where(coordinates.sum(axis=1, keepdims=True) > 0, coordinates, self._average)
        W = np.where(W.sum(axis=1, keepdims=True) > 0, W, 1.0)  # no training row has a one
        return W / W.sum(axis=1, keepdims=True)

    @property
    def _training_coordinates(self) -> np.ndarray:
        return self.weights_ * self.row_intensity_[:, None]

    # ---- rows and cells ------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Proportions of the components in rows, the components fixed.

        Each row is solved for separately, so the result does not depend on the other rows, and for the training rows it
        is `weights_`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_features)
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Proportions; each row sums to 1. Rows without ones get the average of the training rows.
        """
        return super().transform(X)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of a 1 for given proportions of the components.

        Proportions do not determine the number of ones of a row: every row is taken to have as many as the average
        training row that has any. `reconstruct` uses the number of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)
            Proportions, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
        check_is_fitted(self)
        return super().inverse_transform(np.asarray(X, dtype=float) * self._average.sum())
