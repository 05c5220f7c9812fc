"""What both aspect models share: hooks of learning, and the questions that `AspectRows` answers."""

from __future__ import annotations

import copy
import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.climb import Learner
from latentbits.fitting.cluster import ClusterData
from latentbits.fitting.restarts import Restart, Runner
from latentbits.fitting.rows import active_client, is_dask_array
from latentbits.fitting.workers import Workers, n_workers, stopped_together
from latentbits.models.aspect.aspect_rows import AspectRows, is_stuck
from latentbits.models.aspect.noise_components import (
    CONTENT,
    EXTINCT,
    NESTED,
    NO_NOISE,
    NoiseComponents,
    find_phantoms,
    noise_trials,
)
from latentbits.models.aspect.online import OnlineModel
from latentbits.models.aspect.statistics import shrink_to_average
from latentbits.models.cell_ranking import Kind
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import as_generator
from latentbits.storage.checkpoints import ProblemCheckpoints

NEGLIGIBLE = 0.001
"""A component of a smaller share of the data says nothing about how full content is."""


_NOT_OF_THE_PROBLEM = ("n_jobs", "verbose", "checkpoint", "binarize", "phantom_threshold")
"""Parameters on which no run depends beside its data."""


class Components(NamedTuple):
    """K components in the forms that answers need, each K x D.

    mean: probabilities of a 1; H1, H0: what goes into the pass; share: (K,) average weights of the training rows;
    alpha, beta: the posterior, where there is one; kinds: (K,) "content", "white" or "black" if there was a choice of
    noise components (the others have content), None if noise components are to be found among the free ones;
    gamma: of the prior of weights with them, if weights have a posterior.
    """

    mean: np.ndarray
    H1: np.ndarray
    H0: np.ndarray
    share: np.ndarray
    alpha: np.ndarray | None = None
    beta: np.ndarray | None = None
    kinds: np.ndarray | None = None
    gamma: float | None = None

    def take(self, which: np.ndarray) -> Components:
        """These components, in this order."""
        parts: list[Any] = [None if part is None else part[which] for part in self[:-1]]
        return Components(*parts)._replace(gamma=self.gamma)


class AspectModel(OnlineModel):
    """Base of the aspect models; see `AspectBernoulli` for parameters and attributes."""

    phantom_threshold: float
    checkpoint: str | Path | None

    # ---- what a subclass brings ----------------------------------------------------------------------------------

    @abstractmethod
    def _learner(
        self, data: BinaryData, row_weight: np.ndarray, workers: Workers, noise: NoiseComponents = NO_NOISE
    ) -> Learner[Any]:
        """The learner that the restarts run, with these noise components."""

    @abstractmethod
    def _components_of(self, state: Any, share: np.ndarray, noise: NoiseComponents) -> Components:
        """What is kept of every restart: the components in the forms that answers need."""

    @abstractmethod
    def _weights_solver(self, components: Components) -> RowSolver:
        """How weights of rows are found, these components fixed. Rows with no observed cell get equal weights."""

    def _cause_weights(self, rows: AspectRows) -> np.ndarray:
        """The weights by which components share the responsibility for a cell."""
        return rows.weights

    @property
    def _ensemble(self) -> str:
        """What the members are, in words."""
        return "random starts"

    def _members(self, rows: AspectRows) -> Iterator[tuple[Components, np.ndarray, np.ndarray]]:
        """The ensemble that suspicion is averaged over: components, weights of the rows, 1 where content; restarts."""
        return rows.by_restarts()

    # ---- data on a cluster ---------------------------------------------------------------------------------------

    def _data(self, X: Any, *, reset: bool = False) -> Any:
        """In a fit a Dask array stays where it is; to be asked about, rows come here."""
        if reset and self._goes_on:  # a refused fit must leave the model as it was
            super()._data(X)
        return super()._data(self._on_cluster(X) if reset else X, reset=reset)

    def _on_cluster(self, X: Any) -> Any:
        """A Dask array in the context of a client as data of its cluster; anything else as it is."""
        client = active_client() if is_dask_array(X) else None
        return X if client is None else ClusterData.of_array(X, client, binarize=self.binarize)

    def transform(self, X: Any) -> np.ndarray:
        """The weights of rows, the components fixed.

        Each row is solved for on its own, so the answer doesn't depend on the other rows, and for the training rows it
        is `weights_`.

        Parameters
        ----------
        X : array, SciPy sparse, data frame, BinaryData or blocks of rows
            0-1 data with the columns of the fit. The rows of a Dask array are solved for where they are.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The weights, as in `weights_`.
        """
        check_is_fitted(self)
        return AspectRows(self, self._data(self._on_cluster(X))).weights.copy()

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _runs(self, data: BinaryData, row_weight: np.ndarray) -> tuple[Restart[Any], list[Restart[Any]]]:
        """The best run and all of them; with `noise="auto"` those of the nested model that is kept."""
        rng = as_generator(self.random_state)
        self.noise_trials_ = None
        if self.noise != "auto":
            return self._runs_with(self.noise or "none", data, row_weight, rng)
        judge = self._noise_judge()
        with stopped_together() as stopped:
            found = {}
            for name in NESTED:
                found[name] = judge._runs_with(name, data, row_weight, copy.deepcopy(rng))  # the same starts for all
                if stopped.is_set():
                    break
            objectives = {name: best.objective for name, (best, _) in found.items()}
            density = float(row_weight @ data.ones_per_row() / max(row_weight @ data.observed_per_row(), 1.0))
            self.noise_trials_ = noise_trials(objectives, float(row_weight.sum()), density)
            (kept,) = self.noise_trials_["model"][self.noise_trials_["kept"]]
            if judge is not self:
                found[kept] = self._runs_with(kept, data, row_weight, rng)
            return found[kept]

    def _runs_with(
        self, name: str, data: BinaryData, row_weight: np.ndarray, rng: np.random.Generator
    ) -> tuple[Restart[Any], list[Restart[Any]]]:
        """The same for one of the nested models."""
        noise = NoiseComponents(NESTED[name], self.noise_rate)
        return self._best_run(
            self._runner_maker(data, row_weight, noise),
            n_cells=float(row_weight @ data.observed_per_row()),
            keep=partial(self._keep, row_weight=row_weight, noise=noise),
            rng=rng,
            checkpoints=self._checkpoints(name, data, row_weight),
            n_threads=n_workers(self.n_jobs) if isinstance(data, BinaryData) else 1,
            n_init=1 if self._goes_on else None,
        )

    def _checkpoints(self, name: str, data: BinaryData, row_weight: np.ndarray) -> ProblemCheckpoints | None:
        """Where the runs of one of the nested models are kept, by all that their answers depend on."""
        if self.checkpoint is None:
            return None
        parameters = {key: value for key, value in self.get_params().items() if key not in _NOT_OF_THE_PROBLEM}
        parameters["random_state"] = joblib.hash(self.random_state)  # also of the state that a generator is in
        weights = hashlib.sha256(np.ascontiguousarray(row_weight).tobytes()).hexdigest()
        start = (
            [hashlib.sha256(array.tobytes()).hexdigest() for array in self._content_arrays()] if self._goes_on else []
        )
        learner = self._learner(data, row_weight, Workers(), NoiseComponents(NESTED[name], self.noise_rate))
        form = type(learner).__name__  # sparse and dense data have the same checksum, but perhaps not this
        problem = [type(self).__name__, form, name, parameters, data.fingerprint(), weights, *start]
        return ProblemCheckpoints(self.checkpoint, problem)

    def _runner_maker(
        self, data: BinaryData, row_weight: np.ndarray, noise: NoiseComponents = NO_NOISE
    ) -> Callable[[Workers], Runner[Any]]:
        return self._climber(partial(self._learner, data, row_weight, noise=noise))

    def _noise_judge(self) -> AspectModel:
        """The model by whose fits `noise="auto"` decides."""
        return self

    def _keep(self, state: Any, row_weight: np.ndarray, noise: NoiseComponents = NO_NOISE) -> Components:
        return self._kept(state, row_weight @ state.W / row_weight.sum(), noise)

    def _kept(self, state: Any, share: np.ndarray, noise: NoiseComponents) -> Components:
        return self._with_kinds(self._components_of(state, share, noise), noise)

    def _with_kinds(self, components: Components, noise: NoiseComponents) -> Components:
        """What each is, if there was a choice of noise components."""
        return components if self.noise is None else components._replace(kinds=noise.kinds_of(len(components.mean)))

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        """Take over the best run, components in the order of their share of the data."""
        self._set_components(best.kept.take(np.argsort(-best.kept.share, kind="stable")), runs)
        self._running_sums = None

    def _set_components(self, components: Components, runs: Sequence[Restart[Any]]) -> None:
        self._components = components
        self._restart_components = [run.kept for run in runs]
        self.components_ = self._components.mean
        self.phantoms_ = self._kinds_of(self._components)

    def _kinds_of(self, components: Components) -> np.ndarray:
        """Which components are content, which are noise, and which extinct."""
        extinct = self._are_extinct(components)
        if components.kinds is not None:
            kinds = components.kinds.copy()
        else:
            reference = ~extinct & (components.share >= NEGLIGIBLE)
            reference = reference if reference.any() else ~extinct
            kinds = find_phantoms(components.mean, self.phantom_threshold, reference)
        kinds[extinct] = EXTINCT
        return kinds

    def _are_extinct(self, components: Components) -> np.ndarray:
        """Which components explain nothing; without a prior there is none to which they could return."""
        return np.zeros(len(components.mean), dtype=bool)

    def _row_solver(self) -> RowSolver:
        return self._weights_solver(self._components)

    def _n_parameters(self, n_rows: int) -> int:
        K, D = self.components_.shape
        kinds = self._components.kinds
        n_noise = 0 if kinds is None else int(np.sum(kinds != CONTENT))
        return D * (K - n_noise) + n_noise * (self.noise_rate is None) + (K - 1) * n_rows

    def _solved(self, X: Any, marks: Any = None) -> AspectRows:
        check_is_fitted(self)
        return AspectRows(self, self._marked(X, marks))

    @property
    def shares_(self) -> np.ndarray:
        """Each component's share of the training data: the average of its weights."""
        return self._components.share

    @property
    def restart_components_(self) -> list[np.ndarray]:
        """The components of every restart, in the order of `restarts_`."""
        return [components.mean for components in self._restart_components]

    # ---- answers -------------------------------------------------------------------------------------------------

    def reconstruct(self, X: Any, ratings: ArrayLike | None = None) -> np.ndarray:
        """The probability of a 1 in each cell, after the analyst's ratings of the components.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        ratings : array-like of shape (n_components,) or (n_rows, n_components), optional
            How much of each component to keep, from 0 (remove it) to 1 (the default for all). The weights are
            multiplied by the ratings and normalised again.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
        return self._solved(X).reconstruct(ratings)

    def average_reconstruction(self, X: Any) -> np.ndarray:
        """The probability of a 1 in each cell, averaged over the restarts (or the posterior samples).

        Restarts end in different optima, and their disagreements cancel: the average predicts better than the best of
        them. Restarts that ended far below the best don't count, and rows with little information are shrunk towards
        the average row, as in `suspicion`, which is the same without the noise components.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
        return self._solved(X).average_reconstruction()

    def _completed(self, data: BinaryData, row_weight: np.ndarray) -> np.ndarray:
        """`average_reconstruction` of the rows of a fit that is asked nothing else, by the weights it ended with."""
        best, runs = self._runs(data, row_weight)
        n_observed = data.observed_per_row()[:, None]
        total, n = np.zeros(data.shape), 0
        for run in runs:
            if not is_stuck(run.objective, best.objective):
                share = run.kept.share
                total += shrink_to_average(run.state.W * n_observed, share, np.ones_like(share)) @ run.kept.mean
                n += 1
        return np.clip(total / n, 0.0, 1.0)

    def denoise(
        self,
        X: Any,
        *,
        level: float = 0.5,
        threshold: float | None = None,
        ratings: ArrayLike | None = None,
        change: str = "auto",
        judged_on: Any = None,
        marks: Any = None,
    ) -> Any:
        """0-1 data without the noise components: cells that are more likely false than not change, where that is known.

        By default, cells change with evidence from held-out cells. A component that looks like noise (`phantoms_`)
        counts as such if the model predicts held-out cells as well with blank noise components in the place of free
        ones, within one standard error; content that happens to be sparse doesn't. Then a 0 becomes 1 where both the
        probability of a 1 by the rest of the table, calibrated on held-out cells, and the probability that noise made
        the 0 are above `level`. If no cell changes, a warning says why. This takes ten short fits.

        With a `threshold`, `ratings`, or a `change` other than "auto" they are followed instead: `reconstruct` without
        the noise components, cut at the threshold. That is the papers' rule; ``threshold=0.5`` is enough to get it.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        level : float, default=0.5
            The probability above which an observed cell is changed.
        threshold : float, optional
            Reconstructed probabilities of at least this become 1; 0.5 with `ratings` or `change`.
        ratings : array-like, optional
            As in `reconstruct`; by default 0 for every noise component (`phantoms_`) and 1 for the rest.
        change : "auto", "both", "absence" or "presence", default="auto"
            Which observed cells may change. "absence" only turns zeros into ones, "presence" only ones into zeros,
            "both" rounds the whole reconstruction. "auto" allows changes to cells that noise components explain: zeros
            if all of these are white, ones if all are black, both if there are both, and (with a warning) no observed
            cell if there is no noise component.
        judged_on : array, SciPy sparse, data frame or BinaryData, optional
            Rows whose held-out cells are the evidence, such as those of the fit, if X has few; X by default.
        marks : path, dict or list of dict, optional
            Cells that somebody has checked, as in `apply_marks`: confirmed ones are 1 and rejected ones 0, whatever the
            reconstruction says. Other cells are as without marks; refit to `apply_marks(X, marks)` to learn from them.

        Returns
        -------
        DataFrame or ndarray of int8
            A pandas frame with its names if X is one, else an array.
        """
        judge = None if judged_on is None else self._solved(judged_on)
        cells = self._solved(X, marks).denoise(
            level=level, threshold=threshold, ratings=ratings, change=change, judged_on=judge
        )
        return pd.DataFrame(cells, index=X.index, columns=X.columns) if isinstance(X, pd.DataFrame) else cells

    def explain(
        self,
        X: Any,
        *,
        row: int | str | None = None,
        cells: Sequence[tuple[int | str, int | str]] | None = None,
    ) -> pd.DataFrame:
        """Which component caused a cell: a table with one line per cell and component.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        row : int or str, optional
            Explain all cells of this row (its position, or its name in the data).
        cells : list of (row, column), optional
            Explain these cells; rows and columns by position or name.

        Returns
        -------
        DataFrame
            With the columns row, column, value (0, 1, or <NA> when missing), component, kind (content, white, black),
            probability (the posterior that this component caused the value; for a missing cell the row's weight),
            weight (of the component in the row) and gives_one (the component's probability of a 1 in this column).
        """
        return self._solved(X).explain(row=row, cells=cells)

    def suspicion(self, X: Any, *, kind: Kind = "absence", ratings: ArrayLike | None = None) -> np.ndarray:
        """The score by which observed zeros (or, kind="presence", ones) are ranked as false.

        The score is the probability that the content of the row would put a 1 there: the reconstruction without the
        noise components, averaged over the restarts (except those that ended far below the best), whose disagreements
        cancel; rows with little information about their content are shrunk towards the average row. Read it as the
        probability that the 0 is false *when the 0 itself is no evidence*. It is meant for ranking: where few zeros are
        false it is too high, where most are it may be too low, and attributes that are hard to detect rank below easy
        ones. experiments/ compares it with the truth.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        kind : "absence" or "presence", default="absence"
            Zeros that may be false, or ones that may be.
        ratings : array-like of shape (n_components,), optional
            As in `reconstruct`: they decide what counts as content; as they refer to the components of the best
            restart, the other restarts don't count.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Scores from 0 to 1; 0 for cells of the other value, and for missing ones.
        """
        return self._solved(X).suspicion(kind=kind, ratings=ratings)

    def suspects(
        self,
        X: Any,
        *,
        kind: Kind = "absence",
        top: int | None = 100,
        ratings: ArrayLike | None = None,
        marks: Any = None,
    ) -> pd.DataFrame:
        """The cells most likely to be false, the highest score first.

        This is the fast way, and components explain the result (`explain`). If you only need the list, `FalseZeros`
        ranks better and needs no number of components.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        kind : "absence" or "presence", default="absence"
            Zeros that may be false, or ones that may be.
        top : int, default=100
            How many cells; None for all.
        ratings : array-like of shape (n_components,), optional
            As in `suspicion`.
        marks : path, dict or list of dict, optional
            Cells that somebody has checked, as in `apply_marks`: confirmed and rejected ones are left out.

        Returns
        -------
        DataFrame
            With the columns row, column, score (see `suspicion`) and phantom: the posterior probability, in the best
            restart, that a noise component of that kind caused the cell. With marks also the column mark: "unsure", or
            empty.
        """
        return self._solved(X, marks).suspects(kind=kind, top=top, ratings=ratings)
