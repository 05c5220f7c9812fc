"""What the estimators of the family share: the whole interface, and every answer. Subclasses bring the learning."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.errors import DataError
from latentbits.fitting.restarts import Restart
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models.aspect import answers
from latentbits.models.aspect.phantoms import BLACK, CONTENT, WHITE, find_phantoms
from latentbits.models.base import FactorModel
from latentbits.numerics import check_number

__all__ = ["AspectModel"]

Kind = Literal["absence", "presence"]
STUCK = 0.03
"""A restart whose objective is this much (relative) below the best has found another, poorer picture. Restarts that
are merely somewhat behind (up to 2.4 % on birds, digits and fossils) improve the consensus."""
NOISE_OF: dict[Kind, str] = {"absence": WHITE, "presence": BLACK}


class Components(NamedTuple):
    """K components in the forms that answers need, each K x D.

    mean: probabilities of a 1; H1, H0: what goes into the pass; share: (K,) average weights of the training rows;
    alpha, beta: the posterior, where there is one.
    """

    mean: np.ndarray
    H1: np.ndarray
    H0: np.ndarray
    share: np.ndarray
    alpha: np.ndarray | None = None
    beta: np.ndarray | None = None

    def take(self, which: np.ndarray) -> Components:
        """These components, in this order."""
        alpha, beta = (None if part is None else part[which] for part in (self.alpha, self.beta))
        return Components(self.mean[which], self.H1[which], self.H0[which], self.share[which], alpha, beta)


class AspectModel(FactorModel):
    """Base of the aspect models; see `AspectBernoulli` for parameters and attributes."""

    phantom_threshold: float

    # ---- what a subclass brings ----------------------------------------------------------------------------------

    @abstractmethod
    def _components_of(self, state: Any, share: np.ndarray) -> Components:
        """What is kept of every restart: the components in the forms that answers need."""

    @abstractmethod
    def _weights_of(self, data: BinaryData, components: Components, workers: Workers) -> np.ndarray:
        """Weights of rows, the components fixed; each row on its own. Rows with no observed cell get equal weights."""

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("phantom_threshold", self.phantom_threshold, least=0, below=1)

    def _keep(self, state: Any, row_weight: np.ndarray) -> Components:
        return self._components_of(state, row_weight @ state.W / row_weight.sum())

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        """Take over the best run, components in the order of their share of the data."""
        order = np.argsort(-best.kept.share, kind="stable")
        self._components = best.kept.take(order)
        self._restart_components = [run.kept for run in runs]
        self.components_ = self._components.mean
        self.phantoms_ = find_phantoms(self.components_, self.phantom_threshold)

    @property
    def shares_(self) -> np.ndarray:
        """Each component's share of the training data: the average of its weights."""
        return self._components.share

    @property
    def restart_components_(self) -> list[np.ndarray]:
        """The components of every restart, in the order of `restarts_`."""
        return [components.mean for components in self._restart_components]

    def _weights_by(self, data: BinaryData, components: Components) -> np.ndarray:
        with Workers(n_workers(self.n_jobs)) as workers:
            return self._weights_of(data, components, workers)

    def _coordinates(self, data: BinaryData, workers: Workers) -> np.ndarray:
        return self._weights_of(data, self._components, workers)

    def _cause_weights(self, data: BinaryData) -> np.ndarray:
        """The weights by which components share the responsibility for a cell."""
        return self._solve(data)

    def _n_parameters(self, n_rows: int) -> int:
        K, D = self.components_.shape
        return D * K + (K - 1) * n_rows

    # ---- reconstruction ------------------------------------------------------------------------------------------

    def reconstruct(self, X: Any, ratings: ArrayLike | None = None) -> np.ndarray:
        """The probability of a 1 in each cell, after the analyst's ratings of the components.

        Parameters
        ----------
        X : 0-1 data
        ratings : array-like of shape (n_components,) or (n_rows, n_components), optional
            How much of each component to keep, from 0 (remove it) to 1 (the default for all). The weights are
            multiplied by the ratings and normalised again.
        """
        check_is_fitted(self)
        return self._reconstruct(self._solve(self._data(X)), ratings)

    def _reconstruct(self, W: np.ndarray, ratings: ArrayLike | None) -> np.ndarray:
        if ratings is None:
            return self.inverse_transform(W)
        kept, lost = answers.reweight(W, self._checked_ratings(ratings, len(W)), self._components.share)
        if lost.any():
            warnings.warn(
                f"{lost.sum()} rows have no weight on any kept component; they get the average kept weights",
                stacklevel=3,
            )
        return self.inverse_transform(kept)

    def _checked_ratings(self, ratings: ArrayLike, n_rows: int | None = None) -> np.ndarray:
        """Ratings of the components; with `n_rows`, each row may have its own."""
        r = np.asarray(ratings, dtype=float)
        K = len(self.components_)
        shapes = [(K,)] if n_rows is None else [(K,), (n_rows, K)]
        if r.shape not in shapes or not np.all((r >= 0) & (r <= 1)) or not r.any(axis=-1).all():
            each = "one for each component" + (", or for each row and component" if n_rows is not None else "")
            raise DataError(f"ratings must be {K} numbers from 0 to 1 ({each}), not all of them 0")
        return r

    def denoise(
        self,
        X: Any,
        *,
        threshold: float = 0.5,
        ratings: ArrayLike | None = None,
        change: str = "auto",
    ) -> Any:
        """0-1 data with the phantoms removed: `reconstruct` without them, cut at `threshold`. Missing cells are filled.

        Parameters
        ----------
        X : 0-1 data
        threshold : float, default=0.5
            Reconstructed probabilities of at least this become 1.
        ratings : array-like, optional
            As in `reconstruct`; by default 0 for every phantom of `phantoms_` and 1 for the rest.
        change : "auto", "both", "absence" or "presence", default="auto"
            Which observed cells may change. "absence" only fills zeros in (every observed 1 stays), "presence" only
            takes ones away, "both" is the reconstruction as it is (the papers' rule). "auto" changes what the phantoms
            can have falsified: zeros if all of them are white, ones if all are black, both if there are both, and
            (with a warning) no observed cell if there is no phantom.

        Returns
        -------
        A pandas frame with its names if X is one, else an int8 array.
        """
        check_is_fitted(self)
        if change not in ("auto", "both", "absence", "presence"):
            raise DataError(f'change={change!r} is unknown; use "auto", "both", "absence" or "presence"')
        data = self._data(X)
        rated = None if ratings is None else self._checked_ratings(ratings, data.shape[0])
        found = [kind for kind, phantom in NOISE_OF.items() if phantom in self.phantoms_]
        if change == "auto":
            change = found[0] if len(found) == 1 else "both" if found else "nothing"
            if not found:
                warnings.warn(
                    "no phantom was found, so no observed cell is changed; if zeros or ones may be false all the same, "
                    'say so: change="absence", "presence" or "both" (--change)',
                    stacklevel=2,
                )
        if rated is None:
            rated = (self.phantoms_ == CONTENT).astype(float)
        cells = (self._reconstruct(self._solve(data), rated) >= threshold).astype(np.int8)
        observed = data.dense()
        for trusted in (0, 1):
            if change == "nothing" or change == ("absence" if trusted == 1 else "presence"):
                cells[observed == trusted] = trusted
        if isinstance(X, pd.DataFrame):
            return pd.DataFrame(cells, index=X.index, columns=X.columns)
        return cells

    # ---- causes --------------------------------------------------------------------------------------------------

    def explain(
        self,
        X: Any,
        *,
        row: int | str | None = None,
        cells: Sequence[tuple[int | str, int | str]] | None = None,
    ) -> pd.DataFrame:
        """Which component caused a cell: a table with one line for each cell and component.

        Parameters
        ----------
        X : 0-1 data
        row : int or str, optional
            Explain all cells of this row (its position, or its name in the data).
        cells : list of (row, column), optional
            Explain these cells; rows and columns by position or name.

        Returns
        -------
        DataFrame with the columns row, column, value (0, 1, or <NA> when missing), component, kind (content, white,
        black), probability (the posterior that this component caused the value; for a missing cell the row's weight),
        weight (of the component in the row) and gives_one (the component's probability of a 1 in this column).
        """
        check_is_fitted(self)
        if (row is None) == (cells is None):
            raise DataError("explain takes either row= or cells=; for example row=0 or cells=[(0, 3), (2, 5)]")
        data = self._data(X)
        if cells is None:
            i = _position(row, data.row_names, data.shape[0], "row")
            where = [(i, j) for j in range(data.shape[1])]
        else:
            names = self._column_names()
            pairs = [cell if isinstance(cell, tuple | list) else (cell,) for cell in cells]
            if any(len(pair) != 2 for pair in pairs):
                raise DataError("cells must be a list of (row, column); for example cells=[(0, 3), (2, 5)]")
            where = [
                (_position(i, data.row_names, data.shape[0], "row"), _position(j, names, data.shape[1], "column"))
                for i, j in pairs
            ]
        if not where:
            raise DataError("cells is empty; name at least one (row, column)")
        rows, columns = (np.array(side) for side in zip(*where, strict=True))
        return self._explanation(data, rows, columns)

    def _explanation(self, data: BinaryData, rows: np.ndarray, columns: np.ndarray) -> pd.DataFrame:
        distinct, place = np.unique(rows, return_inverse=True)
        chosen = data.rows(distinct)
        w, mean = self._cause_weights(chosen)[place], self._solve(chosen)[place]
        values = chosen.dense()[place, columns]
        H1, H0 = self._components.H1, self._components.H0
        q = np.where(
            (values == MISSING)[:, None],
            mean,
            answers.cause_probabilities(values, w, H1[:, columns].T, H0[:, columns].T),
        )
        K = len(self.components_)
        value = pd.array(np.repeat(values, K), dtype="Int8")
        value[np.repeat(values == MISSING, K)] = pd.NA
        return pd.DataFrame(
            {
                "row": np.repeat(_labels(data.row_names, rows), K),
                "column": np.repeat(_labels(self._column_names(), columns), K),
                "value": value,
                "component": np.tile(np.arange(K), len(rows)),
                "kind": np.tile(self.phantoms_, len(rows)),
                "probability": q.ravel(),
                "weight": mean.ravel(),
                "gives_one": self.components_[:, columns].T.ravel(),
            }
        )

    # ---- suspects ------------------------------------------------------------------------------------------------

    def cause_parts(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `explain` weighs causes by: weights (N x K), and each component's part in a 1 and in a 0 (K x D both).

        A component's probability of having caused a cell goes as its weight times its part.
        """
        check_is_fitted(self)
        return self._cause_weights(self._data(X)), self._components.H1, self._components.H0

    def suspicion(self, X: Any, *, kind: Kind = "absence", ratings: ArrayLike | None = None) -> np.ndarray:
        """How likely each observed 0 hides a 1 (or, kind="presence", each 1 is false): an N x D array.

        The score is the probability that the content of the row would put a 1 there: the reconstruction without the
        phantoms, averaged over the restarts (but those stuck far below the best), whose disagreements cancel; rows that
        say little about their content lean on the average row. Read it as the probability that the 0 hides a 1 *when
        the 0 itself is no evidence*. It is for ranking: where few ones are hidden it is too high, where most are it
        may be too low, and attributes that are hard to see rank below easy ones. experiments/ has it against the
        truth. Cells of the other value, and missing ones, have 0.

        With `ratings` (one for each component, as in `reconstruct`) the content is what they keep, phantoms or not;
        as they are about the components of the best run, the other restarts have no say.
        """
        check_is_fitted(self)
        if kind not in ("absence", "presence"):
            raise DataError(f'kind={kind!r} is unknown; use "absence" or "presence"')
        data = self._data(X)
        if ratings is None:
            parts = [
                (components, (find_phantoms(components.mean, self.phantom_threshold) == CONTENT).astype(float))
                for components in self._good_runs()
            ]
        else:
            kept = self._checked_ratings(ratings)
            parts = [(self._components, kept / kept.max())]  # only their proportion counts
        observed = data.observed_per_row()
        total = np.zeros(data.shape)
        for components, kept in parts:
            W = self._weights_by(data, components)
            total += answers.lean_on(W * kept * observed[:, None], components.share * kept, kept) @ components.mean
        content_says = np.clip(total / len(parts), 0.0, 1.0)
        value = 0 if kind == "absence" else 1
        return np.where(data.dense() == value, content_says if value == 0 else 1 - content_says, 0.0)

    def _good_runs(self) -> list[Components]:
        """The components of the restarts that have a say: all but those that got stuck far below the best."""
        objective = self.restarts_["objective"].to_numpy()
        behind = self.objective_ - objective
        good = behind <= STUCK * abs(self.objective_)
        return [components for components, is_good in zip(self._restart_components, good, strict=True) if is_good]

    def suspects(
        self, X: Any, *, kind: Kind = "absence", top: int | None = 100, ratings: ArrayLike | None = None
    ) -> pd.DataFrame:
        """The cells most likely to be false, the most suspected first.

        Parameters
        ----------
        X : 0-1 data
        kind : "absence" or "presence"
            Zeros that may hide a 1, or ones that may be false.
        top : int, optional
            How many cells; None for all.
        ratings : array-like of shape (n_components,), optional
            As in `suspicion`.

        Returns
        -------
        DataFrame with the columns row, column, score (see `suspicion`) and phantom: the posterior, in the best run,
        that a phantom of that kind caused the cell.
        """
        check_is_fitted(self)
        if top is not None and (not isinstance(top, Integral) or top < 0):
            raise DataError(f"top={top!r} must be a whole number of cells, or None for all")
        data = self._data(X)
        score = self.suspicion(data, kind=kind, ratings=ratings)
        value = 0 if kind == "absence" else 1
        flat = np.flatnonzero(data.dense() == value)
        best = flat[np.argsort(-score.ravel()[flat], kind="stable")[:top]]
        rows, columns = np.divmod(best, data.shape[1])
        W = self._cause_weights(data)[rows]
        H1, H0 = self._components.H1[:, columns].T, self._components.H0[:, columns].T
        q = answers.cause_probabilities(np.full(len(best), value), W, H1, H0)
        return pd.DataFrame(
            {
                "row": _labels(data.row_names, rows),
                "column": _labels(self._column_names(), columns),
                "score": score.ravel()[best],
                "phantom": q[:, self.phantoms_ == NOISE_OF[kind]].sum(axis=1),
            }
        )


def _position(key: int | str | None, names: list[str] | None, n: int, what: str) -> int:
    """The position of a row or column given by position or name."""
    if isinstance(key, str):
        if names is not None and key in names:
            return names.index(key)
        raise DataError(f'no {what} is named "{key}"; give one of the data\'s {what} names, or a position from 0')
    if not isinstance(key, Integral) or not -n <= key < n:
        raise DataError(f"{what} {key} is outside 0 .. {n - 1}; positions count from 0")
    return int(key) % n


def _labels(names: list[str] | None, positions: np.ndarray) -> np.ndarray:
    return positions if names is None else np.array(names, dtype=object)[positions]
