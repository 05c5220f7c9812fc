"""A fitted aspect model and rows: reconstruction, cleaned data, causes of cells, suspects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from latentbits.data.binary_data import MISSING, row_blocks
from latentbits.data.messages import Places
from latentbits.errors import DataError, NoNoiseComponentWarning, warn_user
from latentbits.fitting.workers import one_blas_thread
from latentbits.models.aspect.noise_components import BLACK, CONTENT, WHITE
from latentbits.models.aspect.noise_evidence import NoiseEvidence, judge_noise
from latentbits.models.aspect.statistics import cause_probabilities, reweight, shrink_to_average
from latentbits.models.cell_ranking import FALSE_VALUE, Kind, RankedCells, check_kind, may_be_false
from latentbits.models.solved_rows import SolvedRows, lazy, remembered, solve
from latentbits.numerics import check_number
from latentbits.wording import counted

if TYPE_CHECKING:
    from latentbits.models.aspect.aspect_model import AspectModel, Components

NOISE_OF: dict[Kind, str] = {"absence": WHITE, "presence": BLACK}
"""The phantom behind each kind of false cell."""

Member = tuple["Components", np.ndarray, np.ndarray]
"""One of an ensemble: its components, the weights of the rows, and how much is kept of each component."""

CHANGES = ("auto", "both", "absence", "presence")

ROUNDED = 0.5
"""A probability from which a cell counts as a 1."""

_WAY_OUT = (
    'if zeros or ones may be false all the same, say so: denoise(change="absence"), "presence" or "both" '
    "(latentbits denoise --change)"
)

STUCK = 0.03
"""A restart whose objective is this much (relative) below the best has found another, poorer picture. Restarts that
are merely somewhat behind (up to 2.4 % on birds, digits and fossils) improve the average."""


def is_stuck(objective: float, best: float) -> bool:
    """Whether a restart counts for nothing beside the best."""
    return best - objective > STUCK * abs(best)


class SuspectedCells(NamedTuple):
    """Cells that may be false: their positions, scores, and how likely a phantom made each."""

    rows: np.ndarray
    columns: np.ndarray
    score: np.ndarray
    phantom: np.ndarray


class AspectRows(SolvedRows):
    """Rows of an aspect model; the model's methods say what the answers mean.

    The weights by the best run's components are solved for once, and so are those by the components of each restart.
    """

    model: AspectModel

    # ---- weights -------------------------------------------------------------------------------------------------

    @lazy
    def cause_weights(self) -> np.ndarray:
        """The weights by which components share the responsibility for a cell."""
        return self.model._cause_weights(self)

    def _weights_by(self, components: Components) -> np.ndarray:
        """The weights by the components of one restart; kept with the model's latest solutions, not here."""
        return solve(self.model, self.data, self.model._weights_solver(components)).coordinates

    # ---- reconstruction ------------------------------------------------------------------------------------------

    def reconstruct(self, ratings: ArrayLike | None = None) -> np.ndarray:
        """The probability of a 1 in each cell, after ratings of the components."""
        if ratings is None:
            return super().reconstruct()
        rated = self._checked_ratings(ratings, len(self.weights))
        kept, lost = reweight(self.weights, rated, self.model.shares_)
        if lost.any():
            warn_user(
                f"{counted(lost.sum(), 'row')} {'has' if lost.sum() == 1 else 'have'} no weight on any kept component; "
                f"{'it gets' if lost.sum() == 1 else 'they get'} the average kept weights"
            )
        return self.model._probabilities(kept)

    def denoise(
        self,
        *,
        level: float = 0.5,
        threshold: float | None = None,
        ratings: ArrayLike | None = None,
        change: str = "auto",
        judged_on: AspectRows | None = None,
    ) -> np.ndarray:
        """0-1 cells (int8) with the phantoms removed, missing ones filled."""
        if change not in CHANGES:
            *first, last = (f'"{name}"' for name in CHANGES)
            raise DataError(f"change={change!r} is unknown; use {', '.join(first)} or {last}")
        check_number("level", level, least=0, below=1)
        if change == "auto" and threshold is None and ratings is None:
            cells = self._denoised_by_evidence(level, (judged_on or self).evidence)
        else:
            cells = self._rounded(ROUNDED if threshold is None else threshold, ratings, change)
        return cells if self.data.marks is None else self.data.marks.settle(cells)

    @lazy
    def denoised(self) -> np.ndarray:
        """`denoise` with its defaults, which is what findings are about."""
        return self.denoise()

    def changed(self, kind: Kind) -> np.ndarray:
        """The observed cells of this kind that `denoised` changes: N x D."""
        value = FALSE_VALUE[kind]
        return (self.data.dense() == value) & (self.denoised != value)

    def _rounded(self, threshold: float, ratings: ArrayLike | None, change: str) -> np.ndarray:
        """The reconstruction by rated components, cut, where cells may change: the papers' rule."""
        if ratings is not None:
            ratings = self._checked_ratings(ratings, self.data.shape[0])
        changed = self._changed(change)
        content = (self.model.phantoms_ == CONTENT).astype(float)
        probabilities = self.reconstruct(content if ratings is None else ratings)
        cells = (probabilities >= threshold).astype(np.int8)
        observed = self.data.dense()
        for value in {0, 1} - changed:
            cells[observed == value] = value
        return cells

    @lazy
    def evidence(self) -> NoiseEvidence | None:
        """What held-out cells of these rows say about noise; None where nothing looks like it, or cells are few."""
        return remembered(self.model, self.data, "noise", lambda: judge_noise(self.model, self.data))

    def _denoised_by_evidence(self, level: float, evidence: NoiseEvidence | None) -> np.ndarray:
        """Observed cells change where the other value is more probable than `level`; missing ones are filled."""
        cells = self.data.dense().copy()
        if self.data.has_missing:
            kinds = self.model.phantoms_ if evidence is None else evidence.kinds
            filled = self.reconstruct((kinds == CONTENT).astype(float)) >= ROUNDED
            cells[cells == MISSING] = filled[cells == MISSING]
        false = self._false(evidence)
        why = self._why_not(level, evidence, float(false.max(initial=0.0)))
        if why:
            warn_user(f"{why}; {_WAY_OUT}", NoNoiseComponentWarning)
        cells[false > level] ^= 1
        return cells

    def _false(self, evidence: NoiseEvidence | None) -> np.ndarray:
        """How probable it is of each observed cell that it is false."""
        if evidence is None or not evidence.is_earned:
            return np.zeros(self.data.shape)
        return evidence.other_value(self.data.dense(), self.reconstruct(), self.weights)

    def _why_not(self, level: float, evidence: NoiseEvidence | None, most: float) -> str:
        """Why no observed cell changes; empty if some does."""
        if not np.isin(self.model.phantoms_, list(NOISE_OF.values())).any():
            return "no phantom was found, so no observed cell is changed"
        if evidence is None:
            return "cells are too few to judge by whether a component is noise, so none is changed"
        if not evidence.is_earned:
            return f"{evidence.as_content()}, so no observed cell is changed"
        if most <= level:
            return f"no cell is false with a probability above {level:g} by held-out cells (at most {most:.2f})"
        return ""

    def _changed(self, change: str) -> set[int]:
        """Which values of observed cells may change."""
        if change == "both":
            return {0, 1}
        if change != "auto":
            return {FALSE_VALUE[change]}  # type: ignore[index]
        found = {FALSE_VALUE[kind] for kind, phantom in NOISE_OF.items() if phantom in self.model.phantoms_}
        if not found:
            warn_user(f"no phantom was found, so no observed cell is changed; {_WAY_OUT}", NoNoiseComponentWarning)
        return found

    def _checked_ratings(self, ratings: ArrayLike, n_rows: int | None = None) -> np.ndarray:
        """Ratings of the components; with `n_rows`, each row may have its own."""
        r = np.asarray(ratings, dtype=float)
        K = len(self.model.components_)
        shapes = [(K,)] if n_rows is None else [(K,), (n_rows, K)]
        if r.shape not in shapes or not np.all((r >= 0) & (r <= 1)) or not r.any(axis=-1).all():
            each = "one for each component" + (", or for each row and component" if n_rows is not None else "")
            raise DataError(f"ratings must be {counted(K, 'number')} from 0 to 1 ({each}), not all of them 0")
        return r

    # ---- causes --------------------------------------------------------------------------------------------------

    def explain(self, *, row: int | str | None, cells: Sequence[tuple[int | str, int | str]] | None) -> pd.DataFrame:
        """Which component caused a cell: a line for each cell and component."""
        if (row is None) == (cells is None):
            raise DataError("explain takes either row= or cells=; for example row=0 or cells=[(0, 3), (2, 5)]")
        rows, columns = self._places(cells) if cells is not None else self._places_of_row(row)
        distinct, place = np.unique(rows, return_inverse=True)
        # Rows are solved for one by one, so those that are asked for are enough.
        asked = type(self)(self.model, self.data.rows(distinct))
        values = asked.data.dense()[place, columns]
        weights = asked.weights[place]
        q = self._causes(values, asked.cause_weights[place], columns)
        return self._explanation(rows, columns, values, weights, np.where((values == MISSING)[:, None], weights, q))

    def _places_of_row(self, row: int | str | None) -> tuple[np.ndarray, np.ndarray]:
        n_columns = self.data.shape[1]
        i = self._row_places.position(row)
        return np.full(n_columns, i), np.arange(n_columns)

    @property
    def _row_places(self) -> Places:
        return Places(self.data.row_names, self.data.shape[0], "row")

    @property
    def _column_places(self) -> Places:
        return Places(self.model._column_names(), self.data.shape[1], "column")

    def _places(self, cells: Sequence[tuple[int | str, int | str]]) -> tuple[np.ndarray, np.ndarray]:
        pairs = [cell if isinstance(cell, tuple | list) else (cell,) for cell in cells]
        if any(len(pair) != 2 for pair in pairs):
            raise DataError("cells must be a list of (row, column); for example cells=[(0, 3), (2, 5)]")
        if not pairs:
            raise DataError("cells is empty; name at least one (row, column)")
        rows = [self._row_places.position(i) for i, _ in pairs]
        columns = [self._column_places.position(j) for _, j in pairs]
        return np.array(rows), np.array(columns)

    def _causes(self, values: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The probability that each component caused each of n cells, given their rows' cause weights (n x K)."""
        components = self.model._components
        return cause_probabilities(values, weights, components.H1[:, columns].T, components.H0[:, columns].T)

    def _explanation(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, weights: np.ndarray, q: np.ndarray
    ) -> pd.DataFrame:
        model, K = self.model, len(self.model.components_)
        value = pd.array(np.repeat(values, K), dtype="Int8")
        value[np.repeat(values == MISSING, K)] = pd.NA
        return pd.DataFrame(
            {
                "row": np.repeat(self._row_places.labels(rows), K),
                "column": np.repeat(self._column_places.labels(columns), K),
                "value": value,
                "component": np.tile(np.arange(K), len(rows)),
                "kind": np.tile(model.phantoms_, len(rows)),
                "probability": q.ravel(),
                "weight": weights.ravel(),
                "gives_one": model.components_[:, columns].T.ravel(),
            }
        )

    # ---- suspects ------------------------------------------------------------------------------------------------

    @lazy
    def _members(self) -> list[Member]:
        """The model's ensemble, its weights solved for once."""
        return list(self.model._members(self))

    @lazy
    def _n_observed(self) -> np.ndarray:
        return self.data.observed_per_row()[:, None]

    def average_reconstruction(self) -> np.ndarray:
        """The probability of a 1 by all components of each row, averaged over the model's ensemble: N x D."""
        whole = [(components, W, np.ones(len(kept))) for components, W, kept in self._members]
        average = np.empty(self.data.shape)
        for rows in row_blocks(*self.data.shape):
            average[rows] = self._content(rows, whole)
        return average

    def _rated(self, ratings: ArrayLike) -> list[Member]:
        """The best run alone, whose components the ratings are about, with what they keep."""
        kept = self._checked_ratings(ratings)
        return [(self.model._components, self.weights, kept / kept.max())]  # only their proportion counts

    def _content(self, rows: slice, members: list[Member]) -> np.ndarray:
        """P(1) in the cells of some rows by what members keep of their components, the mean over the members."""
        total = np.zeros((rows.stop - rows.start, self.data.shape[1]))
        with one_blas_thread():
            for components, W, kept in members:
                evidence = W[rows] * kept * self._n_observed[rows]
                total += shrink_to_average(evidence, components.share * kept, kept) @ components.mean
        return np.clip(total / len(members), 0.0, 1.0)

    @property
    def ensemble(self) -> str:
        """What suspicion is a mean over, in words."""
        return self.model._ensemble

    def by_restarts(self) -> Iterator[Member]:
        """Components, weights by them, and which are content, of all restarts but those stuck far below the best."""
        model = self.model
        for components, objective in zip(model._restart_components, model.restarts_["objective"], strict=True):
            if not is_stuck(objective, model.objective_):
                is_content = model._kinds_of(components) == CONTENT
                yield components, self._weights_by(components), is_content.astype(float)

    def suspicion(self, *, kind: Kind, ratings: ArrayLike | None = None) -> np.ndarray:
        """How likely each observed 0 hides a 1, or each 1 is false: N x D, 0 for all other cells."""
        scores = np.zeros(self.data.shape)
        for rows, asked, score in self._score_blocks(kind, ratings):
            scores[rows][asked] = score
        return scores

    def _score_blocks(self, kind: Kind, ratings: ArrayLike | None) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Blocks of rows (nothing else of size N x D is made), which of their cells may be false, and those' scores."""
        check_kind(kind)
        members = self._members if ratings is None else self._rated(ratings)
        for rows in row_blocks(*self.data.shape):
            asked = may_be_false(self.data.rows(rows), kind)
            content = self._content(rows, members)[asked]
            yield rows, asked, content if kind == "absence" else 1 - content

    def most_suspected(self, *, kind: Kind, top: int | None, ratings: ArrayLike | None = None) -> SuspectedCells:
        """The cells most likely to be false, the most suspected first; equal scores in reading order."""
        at, columns, score = RankedCells.of(self._score_blocks(kind, ratings), self.data.shape[1], top)
        q = self._causes(np.full(len(at), FALSE_VALUE[kind]), self.cause_weights[at], columns)
        phantom = q[:, self.model.phantoms_ == NOISE_OF[kind]].sum(axis=1)
        return SuspectedCells(at, columns, score, phantom)

    def suspects(self, *, kind: Kind, top: int | None, ratings: ArrayLike | None = None) -> pd.DataFrame:
        """The same as a table, with the names of rows and columns."""
        found = self.most_suspected(kind=kind, top=top, ratings=ratings)
        ranked = RankedCells(found.rows, found.columns, found.score)
        return ranked.table(self.data, self.model._column_names(), phantom=found.phantom)
