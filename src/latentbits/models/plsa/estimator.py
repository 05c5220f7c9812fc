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
from latentbits.models.factor_model import RestartedFactorModel
from latentbits.models.plsa.plsa import PoissonEM, State, chance_of_one, log_chances, solve_rows
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import RandomSource

__all__ = ["PLSA"]


class _Kept(NamedTuple):
    """H, in the order of the components' share of the ones, and the average W of the rows that have ones."""

    H: np.ndarray
    average: np.ndarray


class PLSA(RestartedFactorModel):
    """Probabilistic latent semantic analysis: the aspect model of the ones, in which zeros are not explained.

    A row with L ones throws each of them on a column, by ``weights_ @ components_``. The probability of a 1 in cell ij
    is that at least one of L falls there, ``1 - (1 - (weights_ @ components_)[i, j]) ** L``. Zeros have no cause of
    their own, so there are no phantoms: a model to compare with `AspectBernoulli`, whose passes visit only the ones.
    Fitted by maximum likelihood (EM, accelerated) from several random starts.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components.
    n_init : int, default=10
        Random starts. The best is kept, all are in `restarts_`.
    max_iter : int, default=3000
        Passes over the ones a start may make (a round of three is finished).
    tol : float, default=1e-6
        A start has converged when three passes raise the objective by less than this per observed cell.
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.
    random_state : None, int, Generator or RandomState
        The same seed gives the same answer on any number of jobs.
    n_jobs : int, optional
        Threads; -1 for all cores.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        How a component's ones are shared out among the columns; each row sums to 1. In the order of the components'
        share of the ones.
    weights_ : ndarray of shape (n_rows, n_components)
        Proportions of the components in the training rows; each row sums to 1. Rows without ones get the average.
    row_intensity_ : ndarray of shape (n_rows,)
        L: the number of ones of each training row or, if it misses cells, the number expected in the whole row. A row
        of which nothing is observed gets the average of those that have ones.
    objective_ : float
        The Poisson log likelihood of the best start: for complete data the multinomial one, and a constant.
        (`log_likelihood`, `aic` and `bic` are those of the cells, to be compared with other models.)
    objective_history_ : ndarray
        The best start's objective after each pass; it never falls, but for rounding.
    restarts_ : DataFrame
        Seed, objective, n_iter and converged of every start.
    n_iter_, converged_ : int, bool
        Of the best start.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

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

    # ---- fitting: inside, the coordinates of a row are proportions times intensity --------------------------------

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
        """A row's intensity is one of them: it is fitted, and the cells' probabilities depend on it."""
        K, D = self.components_.shape
        return K * (D - 1) + K * n_rows

    def _adopt_rows(self, data: BinaryData, row_weight: np.ndarray) -> None:
        super()._adopt_rows(data, row_weight)
        self.row_intensity_ = self._solved(data).coordinates.sum(axis=1)

    def _as_weights(self, coordinates: np.ndarray) -> np.ndarray:
        """Rows scaled to sum 1; those without ones get the average."""
        W = np.where(coordinates.sum(axis=1, keepdims=True) > 0, coordinates, self._average)
        W = np.where(W.sum(axis=1, keepdims=True) > 0, W, 1.0)  # no training row has a one
        return W / W.sum(axis=1, keepdims=True)

    @property
    def _training_coordinates(self) -> np.ndarray:
        return self.weights_ * self.row_intensity_[:, None]

    # ---- rows and cells ------------------------------------------------------------------------------------------

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of a 1 (n_rows x n_columns) for given proportions.

        Proportions don't tell how many ones a row has: each is taken to have as many as the average training row that
        has any. `reconstruct` knows the number of each row.
        """
        check_is_fitted(self)
        return super().inverse_transform(np.asarray(X, dtype=float) * self._average.sum())
