"""The aspect Bernoulli model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.restarts import Restart
from latentbits.fitting.workers import Workers, n_workers, one_blas_thread
from latentbits.models.aspect import Noise, Zeros
from latentbits.models.aspect.aspect_model import AspectModel, Components
from latentbits.models.aspect.maximum_likelihood import (
    ExpandedState,
    ExpandedZeros,
    MaximumLikelihood,
    State,
    worth_expanding,
)
from latentbits.models.aspect.noise_components import NESTED, NO_NOISE, NoiseComponents
from latentbits.models.aspect.statistics import solve_weights
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import RandomSource


class AspectBernoulli(AspectModel):
    """Aspect Bernoulli: each cell of a row is caused by one of K components, picked by the row's own weights.

    Cell ij is 1 with probability ``(weights_ @ components_)[i, j]``. Components that are 0 (or 1) nearly everywhere
    are *phantoms*: they explain zeros (ones) that the other components of a row do not, which may therefore be false.
    Fitted by accelerated EM from several random starts, by a likelihood that is slightly smoothed; with ``smoothing=0``
    by maximum likelihood, as published.

    Parameters
    ----------
    n_components : int, default=5
        K, the number of components, phantoms included unless `noise` is given: noise components come in addition.
    n_init : int, default=10
        Number of random starts. The best is kept; `suspects` averages over all that end near it.
    max_iter : int, default=3000
        Largest number of passes over the data per start. They come in rounds of three, and a round is always finished.
    tol : float, default=1e-6
        A start has converged when three passes raise the log likelihood by less than this per observed cell.
        A start that is better than all before it then goes on, until a hundredth of this.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    phantom_threshold : float, default=0.2
        A component with no column above 1/2 (1 % excepted) is a white phantom when its mean probability of a 1 is at
        most this share of the highest mean of any component. Black phantoms: the same rule with 0 and 1 exchanged.
    smoothing : float, default=1.0
        How many cells of each column every component has seen before the data, at the column's own frequency of ones.
        With few rows a component that was fitted by likelihood alone is too sure of itself: on small tables it then
        often predicts held-out cells worse than the frequencies of the columns, which is what strong smoothing ends
        at. 0 is maximum likelihood, the published model; with many components it may rank false zeros a little better
        (birds of one visit: AUC 0.842 against 0.839 with 8). Noise components are not smoothed, and neither are weights
        of rows: rows of only four or five cells are fitted exactly by as many components, and their held-out cells
        predicted far worse than by frequencies. Take one or two components there, or `BetaICA`.
    noise : {"white", "black", "both", "auto"} or None, default=None
        Components that are blank ("white") or full ("black") in all columns by construction, beside the K others,
        which are then content. A free component can't become black where another one is blank: its level isn't
        identified. "auto" fits the models without, with either and with both from the same starts, and keeps a noise
        component only if it gains enough likelihood (`noise_trials_`): four fits. In small sparse tables (200 x 50,
        5 % ones) it usually misses white noise that differs by row and column, and keeps white in some clean ones
        whose components are faint (0.2 to 0.5): both gain the same. None looks for phantoms among the free
        components, by `phantom_threshold`; it is the default because "auto" ranks false cells better but predicts
        held-out cells no better on most tables, and takes four to five times as long.
    noise_rate : float or None, default=0.001
        A white component's probability of a 1 and a black one's of a 0, 1e-9 to 0.1. None learns it, up to 0.05.
    zeros : {"auto", "exact", "expanded"}, default="auto"
        How zeros are counted while learning. "exact" visits every cell in each pass. "expanded" visits the ones: in
        columns where no component exceeds 0.2 a zero's log(1 - p) is replaced by a quadratic lower bound, which is off
        by 0.079 p^2 at most, so the climb raises a lower bound of the log likelihood (see `expansion_`); other columns
        are exact. "auto" expands the zeros of sparse data if a pass is predicted to be at least 3 times cheaper and
        the table isn't small; dense data and small tables are exact. Noise components are fitted exactly, unless they
        are white with a given rate; so are fits that begin with batches or go on from others.
    batch_size : int or None, default=None
        A fit begins with steps on random batches of so many rows (stochastic EM), until 500 of them (or a round through
        all rows, if that is less) gain less than 1e-4 per cell, and goes on with passes over all rows as without. It
        pays where a table makes hundreds of batches. The order of the rows is shuffled by the seed. In `partial_fit`,
        rows of a step at most.
    learning_decay : float, default=0.5
        Step t on a batch moves the components by the rate ``(t + learning_offset) ** -learning_decay`` towards what the
        batch says of them; from 0 (the last batch alone counts) to below 1. Higher values forget more slowly.
    learning_offset : float, default=1.0
        Larger values make the first batches count less.
    total_samples : float or None, default=None
        Number of rows that the blocks given to `partial_fit` come from, beside which the cells of `smoothing` count;
        None is the number of rows seen so far.
    warm_start : bool, default=False
        Whether `fit` goes on from the components of the last fit (or `partial_fit`), with one start and without
        `batch_size`: for more rows, or a smaller `tol`. A large table is fitted in about half of the time by a fit to
        a tenth of its rows, drawn at random, and another to all of them.
    checkpoint : str, Path or None, default=None
        A folder to which the positions of the starts are written every minute. A fit that was interrupted or killed
        goes on from there when it is made again with the same data and parameters, and its answer is the same as
        without the interruption. Fits of other data or parameters may use the same folder; delete it when the model
        has been saved.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Probability of a 1, by falling share of the data; those of `noise` are among them.
    weights_ : ndarray of shape (n_rows, n_components)
        Mixing weights of the training rows; each row sums to 1. After `partial_fit` those of the last batch.
    weights_gap_ : float
        Certificate of `weights_`: no row can gain more than this log likelihood per observed cell by other weights.
    shares_ : ndarray of shape (n_components,)
        Each component's share of the training data: the mean of its weights at the end of EM.
    phantoms_ : ndarray of str, shape (n_components,)
        "content", "white" or "black" for each component.
    noise_trials_ : DataFrame or None
        With `noise="auto"` a line for each model that was tried: model, objective, gain_per_row (over the one
        without noise, in nats), needed (in nats a row) and kept. None otherwise.
    objective_ : float
        Log likelihood of the best start at the end of EM, less what smoothing takes off: `smoothing` times the
        Kullback-Leibler divergences of the components from the columns' frequencies. With expanded zeros a lower bound
        of it. (`weights_` are then solved for exactly, so it would be slightly higher with them.)
    expansion_ : dict or None
        None if all zeros were exact. Otherwise "log_likelihood": the objective with all zeros exact where the best
        start ended; "bound": `objective_` is lower than it by no more than this; "exact_columns": how many columns were
        exact there.
    objective_history_ : ndarray of shape (n_iter_,)
        The best start's objective after each pass; it never falls, except by rounding.
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
    data_checksum_ : str or None
        Identifies the training data (`BinaryData.fingerprint`); None after a fit on a cluster.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; set only if the training data have names that are all strings.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    References
    ----------
    Bingham, Kaban and Fortelius, The aspect Bernoulli model: multiple causes of presences and absences.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, simulate
    >>> truth = simulate.aspect_bernoulli(200, 30, 3, white_phantom=True, random_state=0)
    >>> model = AspectBernoulli(3, n_init=5, random_state=0).fit(truth.X)
    >>> sorted(model.phantoms_.tolist())
    ['content', 'content', 'white']
    >>> model.suspects(truth.X, top=3).columns.tolist()
    ['row', 'column', 'score', 'phantom']
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        n_init: int = 10,
        max_iter: int = 3000,
        tol: float = 1e-6,
        binarize: float | None = None,
        phantom_threshold: float = 0.2,
        smoothing: float = 1.0,
        noise: Noise | None = None,
        noise_rate: float | None = 0.001,
        zeros: Zeros = "auto",
        batch_size: int | None = None,
        learning_decay: float = 0.5,
        learning_offset: float = 1.0,
        total_samples: float | None = None,
        warm_start: bool = False,
        checkpoint: str | Path | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.binarize = binarize
        self.phantom_threshold = phantom_threshold
        self.smoothing = smoothing
        self.noise = noise
        self.noise_rate = noise_rate
        self.zeros = zeros
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.total_samples = total_samples
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learner(
        self, data: BinaryData, row_weight: np.ndarray, workers: Workers, noise: NoiseComponents = NO_NOISE
    ) -> MaximumLikelihood | ExpandedZeros:
        kind = ExpandedZeros if self._expands(data) else MaximumLikelihood
        return kind(data, row_weight, self.n_components, workers, noise, self.smoothing)

    def _batch_learner(
        self, data: BinaryData, row_weight: np.ndarray, workers: Workers, noise: NoiseComponents
    ) -> MaximumLikelihood:
        return MaximumLikelihood(data, row_weight, self.n_components, workers, noise, self.smoothing)

    def _noise_judge(self) -> AspectModel:
        """Maximum likelihood: what noise has to gain was chosen for it."""
        return clone(self).set_params(smoothing=0.0) if self.smoothing and not self._goes_on else self

    def _expands(self, data: BinaryData) -> bool:
        """Whether zeros are expanded: not with learned rates, nor where a full component makes every column exact.

        Nor for the choice of noise components, which compares objectives, nor where sums over all zeros are kept.
        """
        if self._goes_on or self.batch_size is not None:
            return False
        if self.zeros == "exact" or self.noise not in (None, "white") or (self.noise and self.noise_rate is None):
            return False
        return self.zeros == "expanded" or worth_expanding(data, self.n_components)

    def _runs(self, data: BinaryData, row_weight: np.ndarray) -> tuple[Restart[Any], list[Restart[Any]]]:
        best, runs = super()._runs(data, row_weight)
        self.expansion_: dict[str, float] | None = None
        if isinstance(best.state, ExpandedState):
            noise = NoiseComponents(NESTED[self.noise or "none"], self.noise_rate)
            with Workers(n_workers(self.n_jobs)) as workers, one_blas_thread():
                learner = ExpandedZeros(data, row_weight, self.n_components, workers, noise, self.smoothing)
                self.expansion_ = learner.summary(best.state)
        return best, runs

    def _components_of(self, state: State | ExpandedState, share: np.ndarray, noise: NoiseComponents) -> Components:
        return Components(state.H, state.H, 1 - state.H, share)

    def _arrays_of(self, components: Components) -> tuple[np.ndarray, ...]:
        return (components.mean,)

    def _weights_solver(self, components: Components) -> RowSolver:
        return partial(solve_weights, H1=components.H1, H0=components.H0)
