"""FalseZeros: an ensemble of different models that ranks zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.errors import DataError, DegenerateDataWarning, warn_user
from latentbits.fitting.held_out import HiddenCells, Line, fit_line, log_odds
from latentbits.models.aspect import Noise
from latentbits.models.base import Renamed, degeneracy
from latentbits.models.cell_model import CellModel
from latentbits.models.cell_ranking import FALSE_VALUE, Kind, check_kind
from latentbits.models.false_zeros.later import (
    PRESENT,
    SEEN_LATER,
    Scale,
    fit_exponent,
    fit_rate,
    left_to_see,
    placed_revisits,
)
from latentbits.models.false_zeros.scored_rows import (
    Block,
    ScoredRows,
    allow_for,
    explain_cell,
    find_row_noise,
    lost_share,
)
from latentbits.models.false_zeros.stacking import (
    MEMBERS,
    HeldOut,
    HeldOutScores,
    Member,
    Part,
    Stack,
    chosen_members,
    counting_rows,
    cross_fitted,
    equal_stack,
    fit_all,
    fit_stack,
    score,
    stand_aside,
    too_many_cells,
)
from latentbits.models.knows_rows import KnowsRows
from latentbits.models.royle_nichols import visits_of_rows
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.wording import counted

FEW_REVISITED = 10
"""Rows of a pilot below which the scale of the probability is mostly chance."""


class FalseZeros(KnowsRows, CellModel):
    """Which zeros are false: a ranking by an ensemble of different models, with a probability.

    No number of components is asked for. Probit factors, aspect models of 12, 4 and 2 components (each the mean of many
    restarts), an Ising model, a linear autoencoder and effects of rows and columns each give the probability of a 1 in
    a cell; the score is a weighted mean of their log-odds, with weights learned from held-out cells of the table
    (`member_weights_`). The held-out cells also tell how good the answer is (`held_out_`, `gains_`). Members that would
    take too long for a table are left out, with a warning.

    **What is known of rows.** With `fit(X, rows=frame)`, or data made by ``BinaryData.of(X, rows=frame, ...)``, two
    models of covariates, coordinates and effort join (`ProbitFactors` with 2 and with 8 factors): "covariates_2" and
    "covariates_8". `member_scores_` says what they are worth.

    **When to use which.** For the list of suspects this ranks better than `AspectBernoulli.suspects`, and takes longer.
    `AspectBernoulli` explains cells by components that can be named and rated, and denoises.

    **What the numbers are.** `suspicion` and `reconstruct` come from fits that include the cell: a 0 is evidence, and
    they rank best. P(1 | the rest) of `predict_proba` and `suspects` is the probability that a cell is a 1 given the
    rest of the table, as if the cell itself had not been observed. It is *not* the probability that something is
    present: what a visit never detects can't be known from it. Give `rate` (the probability that a visit finds an
    individual) or `revisits` (some rows that were visited again) to get that.

    Parameters
    ----------
    n_folds : int or None, default=5
        Number of parts in which cells are held out to learn the weights of the members. None: no cells are held out,
        the members have equal weights, and nothing is known about the quality of the answer; it takes less time.
    noise : "auto", "white", "black", "both" or None, default="auto"
        Whether the score of a cell allows for what its row has lost ("white": some rows have lost far more of their
        ones than others, say by less effort) or got ("black": false ones). "auto": if the table clearly shows it. A
        table can't distinguish rows that have lost ones from rows that have few, so "auto" requires strong evidence.
        None: rows are taken as they are.
    members : list of str or None, default=None
        Names of the members to use; None for all of "probit_factors", "aspects_12", "aspects_4", "aspects_2", "ising",
        "linear_autoencoder" and "rows_and_columns", and with `rows` "covariates_2" and "covariates_8".
    binarize : float, optional
        Call every value >= `binarize` a 1 and every smaller one a 0. By default only 0, 1 and missing are taken.
    random_state : int, Generator, RandomState or None, default=None
        The same seed gives the same answer, on any number of jobs.
    n_jobs : int or None, default=None
        Number of fits at the same time (threads): None means 1 unless a joblib context says otherwise, -1 means all
        cores.
    verbose : int, default=0
        1 shows a progress bar on the terminal.

    Attributes
    ----------
    members_ : dict of str to estimator
        The fitted members by their names.
    member_weights_ : ndarray of shape (n_members,)
        Weight of each member's log-odds, in the order of `members_`.
    intercept_ : float
        What is added to the weighted log-odds.
    member_scores_ : DataFrame or None
        For each member its weight, and how well it alone predicts held-out cells: mean log-likelihood and area under
        the ROC curve; the last line is the ensemble. None without held-out cells.
    held_out_ : DataFrame or None
        Reliability of the ensemble on held-out cells: for each bin of predicted probabilities the mean prediction, the
        share of ones and the number of cells. None without held-out cells. Of tables above two million cells the fits
        behind it are to some of the rows, so that the ensemble itself is better, and its probabilities are too
        cautious.
    gains_ : dict or None
        What the ensemble's predictions of held-out cells gain over frequencies of "columns", and of "rows and columns";
        see `verdict`. None without held-out cells.
    auc_ : dict or None
        Areas under the ROC curve of held-out cells, of the "model" and both baselines.
    n_hidden_ : int
        Number of cells that were held out and predicted; 0 if none were.
    noise_model_ : AspectBernoulli or None
        The model of how much each row has lost; None if the rows show no such noise.
    noise_trials_ : DataFrame or None
        What noise components gained; see `AspectBernoulli`.
    data_checksum_ : str
        Checksum of the training data.
    n_rows_ : int
        Number of rows at the fit.
    n_features_in_ : int
        Number of columns at the fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.
    reading_ : dict or None
        How the file of the training data was read, if they were read from one (see `read_table`); None otherwise.

    Examples
    --------
    >>> from latentbits import FalseZeros, simulate
    >>> clean = simulate.aspect_bernoulli(60, 20, 2, sharpness=0.1, random_state=0).X
    >>> seen = simulate.corrode(clean, 0.4, random_state=0).X
    >>> model = FalseZeros(n_folds=2, members=["aspects_2", "linear_autoencoder"], random_state=0).fit(seen)
    >>> model.suspects(seen, top=2)["score"].round(1).tolist()
    [0.8, 0.8]
    """

    weights_ = Renamed("member_weights_")

    def __init__(
        self,
        n_folds: int | None = 5,
        *,
        noise: Noise | None = "auto",
        members: Sequence[str] | None = None,
        binarize: float | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_folds = n_folds
        self.noise = noise
        self.members = members
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None, rows: Any = None) -> Self:
        """Learn what the cells of a row say about each other.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            A row of weight 2 counts like two equal rows.
        rows : data frame or RowFacts, optional
            What is known of the rows. The columns of a frame are all covariates; for coordinates and effort give
            ``RowFacts.of(frame, coordinates=("lon", "lat"), effort="minutes")``.

        Returns
        -------
        Self
            The fitted model.
        """
        return super().fit(self._with_rows(X, rows), y, sample_weight)

    def _fit(self, data: BinaryData, row_weight: np.ndarray) -> None:
        rng = as_generator(self.random_state)
        members = self._willing(data, row_weight)
        noise_seed = int(rng.integers(2**31))
        part = Part(data, row_weight, self.n_jobs, bool(self.verbose))
        fitted, held_out = fit_all(members, part, self._folds_for(counting_rows(data, row_weight)[0]), rng)
        self.members_ = {member.name: model for member, model in zip(members, fitted, strict=True)}
        self._adopt_stack(equal_stack(len(members)))
        self._lines = {kind: Line(0.0, 1.0) for kind in FALSE_VALUE}
        self._column_odds = log_odds(
            (data.ones_per_column(row_weight) + 1) / (data.observed_per_column(row_weight) + 2)
        )
        self._adopt_scores(None)
        if held_out is not None:
            self._learn_weights(held_out)
        self.noise_model_: Any = None
        self.noise_trials_: pd.DataFrame | None = None
        if self.noise is not None and not too_many_cells(*data.shape):
            self.noise_model_, self.noise_trials_ = find_row_noise(
                data, row_weight, self.noise, noise_seed, self.n_jobs
            )

    def _willing(self, data: BinaryData, row_weight: np.ndarray) -> list[Member]:
        """The members that can be fitted to these data; the others are warned of."""
        members = chosen_members(self.members, data)
        reasons = {member.name: stand_aside(member, data, row_weight) for member in members}
        willing = [member for member in members if not reasons[member.name]]
        if not willing:
            raise DataError(f"no member is left: {'; '.join(reasons.values())}; give fewer columns")
        if len(willing) < len(members):
            left = ", ".join(member.name for member in willing)
            warn_user(f"{'; '.join(filter(None, reasons.values()))}: the ensemble is made of {left}")
        return willing

    def _folds_for(self, data: BinaryData) -> int | None:
        """The number of folds; None where held-out cells would be uninformative."""
        if self.n_folds is None:
            return None
        if degeneracy(data, None):  # which has been said
            return None
        if data.n_observed < 2 * self.n_folds:
            warn_user(
                f"there are too few cells to hold out {self.n_folds} parts of them, so all members have equal weights "
                "and nothing is known about the quality of the answer; give more data, or fewer folds",
                DegenerateDataWarning,
            )
            return None
        return self.n_folds

    def _adopt_stack(self, stack: Stack) -> None:
        self.intercept_, self.member_weights_ = stack.intercept, stack.weights

    def _learn_weights(self, held_out: HeldOut) -> None:
        """Set weights, probabilities and all that is known about how good they are."""
        cells = HiddenCells.of(held_out.data, held_out.folds.of_observed())
        cell_weight = held_out.row_weight[cells.row]
        odds = np.stack([log_odds(p) for p in held_out.by_members], axis=1)
        self._adopt_stack(fit_stack(odds, cells.x, cell_weight))
        predicted = expit(cross_fitted(odds, cells.x, cell_weight, cells.fold))
        self._learn_lines(held_out, cells, cell_weight, predicted)
        self._adopt_scores(
            score(held_out, cells, predicted, dict(zip(self.members_, self.member_weights_, strict=True)))
        )

    def _learn_lines(
        self, held_out: HeldOut, cells: HiddenCells, cell_weight: np.ndarray, predicted: np.ndarray
    ) -> None:
        """P(1 | the rest) of a cell that was seen, from its score: fits that saw the cell are nearer to its value."""
        rows = ScoredRows(self, held_out.data)
        seen_odds = np.concatenate(
            [block.odds[block.data.dense() != MISSING] for block in rows.blocks()]  # row by row, as the cells are
        )
        for kind, value in FALSE_VALUE.items():
            asked = cells.x == value
            self._lines[kind] = fit_line(seen_odds[asked], log_odds(predicted[asked]), cell_weight[asked])

    def _adopt_scores(self, scores: HeldOutScores | None) -> None:
        """Set what held-out cells show about the quality of the answer."""
        self.n_hidden_ = 0 if scores is None else scores.n_cells
        self.held_out_ = None if scores is None else scores.reliability
        self.member_scores_ = None if scores is None else scores.members
        self.gains_ = None if scores is None else scores.gains
        self.auc_ = None if scores is None else scores.auc

    # ---- what is known of rows -----------------------------------------------------------------------------------

    def predict_rows(self, rows: Any) -> pd.DataFrame:
        """The probability of a 1 in each column of rows of which no cell was seen, such as unvisited sites.

        Parameters
        ----------
        rows : data frame or RowFacts
            What is known of them, with the columns of the fit.

        Returns
        -------
        DataFrame
            A line for each row, a column for each column of the training data: the mean log-odds of the members that
            know of the rows, by their weights.
        """
        knowing = self._knowing("predict_rows")
        total = sum(weight for _, weight in knowing)
        predicted = [
            (model.predict_rows(rows), weight / total if total else 1 / len(knowing)) for model, weight in knowing
        ]
        first = predicted[0][0]
        odds = sum(share * log_odds(p.to_numpy()) for p, share in predicted)
        return pd.DataFrame(expit(odds), index=first.index, columns=first.columns)

    def responses(self, level: float = 0.9) -> pd.DataFrame:
        """How the probability of a 1 changes with each covariate, the others at their means.

        Parameters
        ----------
        level : float, default=0.9
            Posterior probability of each band, between 0 and 1.

        Returns
        -------
        DataFrame
            As of `ProbitFactors.responses`, by the member with most weight among those that know of the rows.
        """
        return self._best_knowing("responses").responses(level)

    def variation(self) -> pd.DataFrame:
        """Shares of the variance of each column's scores: by covariates, space, factors, and unexplained.

        Returns
        -------
        DataFrame
            As of `ProbitFactors.variation`, by the member with most weight among those that know of the rows.
        """
        return self._best_knowing("variation").variation()

    def _knowing(self, question: str) -> list[tuple[Any, float]]:
        """The members that know of the rows, with their weights."""
        check_is_fitted(self)
        weights = dict(zip(self.members_, self.member_weights_, strict=True))
        names = [member.name for member in MEMBERS if member.knows_rows and member.name in self.members_]
        if not names:
            raise DataError(f"{question} needs to know of the rows; fit with rows=frame, and leave out members")
        return [(self.members_[name], float(weights[name])) for name in names]

    @property
    def _has_knowing(self) -> bool:
        """Whether any member knows of the rows."""
        return any(member.knows_rows and member.name in self.members_ for member in MEMBERS)

    def _best_knowing(self, question: str) -> Any:
        model, _ = max(self._knowing(question), key=lambda pair: pair[1])
        return model

    # ---- cells of rows -------------------------------------------------------------------------------------------

    def _predict(self, data: BinaryData) -> np.ndarray:
        return expit(self._scored_block(slice(0, data.shape[0]), data).odds)

    def _scored_block(self, rows: slice, data: BinaryData) -> Block:
        by_name = {member.name: member for member in chosen_members(None)}
        by_members = [by_name[name].predicted(model, data) for name, model in self.members_.items()]
        odds = Stack(self.intercept_, self.member_weights_).combine([log_odds(p) for p in by_members])
        return Block(rows, data, by_members, odds)

    def _content(self, block: Block, kind: Kind) -> np.ndarray:
        """P(1) of the cells of a block by the content of their rows, allowing for what noise has done to these."""
        p = expit(block.odds)
        lost = lost_share(self.noise_model_, block.data, kind)
        return allow_for(lost, p) if kind == "absence" else 1 - allow_for(lost, 1 - p)

    def _given_the_rest(self, block: Block) -> np.ndarray:
        """P(1 | the rest) of every cell of a block; a missing cell was never seen, so its score says it."""
        cells = block.data.dense()
        odds = block.odds.copy()
        for kind, value in FALSE_VALUE.items():
            odds[cells == value] = self._lines[kind](block.odds[cells == value])
        return expit(odds)

    def _scored(self, X: Any, marks: Any = None) -> ScoredRows:
        check_is_fitted(self)
        return ScoredRows(self, self._marked(X, marks))

    # ---- answers -------------------------------------------------------------------------------------------------

    def suspicion(self, X: Any, *, kind: Kind = "absence", later_visits: ArrayLike | None = None) -> np.ndarray:
        """The score by which observed zeros (or, kind="presence", ones) are ranked as false.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit. The answer is dense; of a large sparse table ask for `suspects`.
        kind : "absence" or "presence", default="absence"
            Zeros that may be false, or ones that may be.
        later_visits : float or array-like of shape (n_rows,), optional
            Visits to come, if zeros are to be ranked by whether these will see something: rows with more of them show
            more.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Scores from 0 to 1; 0 for cells of the other value, and for missing ones.
        """
        _check_question(kind, later_visits=later_visits)
        rows = self._scored(X)
        return rows.suspicion(kind, left_to_see(rows.data.shape[0], later_visits, None))

    def predict_proba(
        self,
        X: Any,
        *,
        revisits: Any = None,
        rate: float | None = None,
        later_visits: ArrayLike | None = None,
        n_visits: ArrayLike = 1,
    ) -> np.ndarray:
        """Probabilities of all cells.

        Without `rate` and `revisits`: P(1 | the rest), of every cell. With one of them: P(present), or P(seen later),
        of the cells that are 0 or missing; 1 for those that were seen. A zero was searched for without success, a
        missing cell was not: of two with the same P(1 | the rest) the missing one is more likely present.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        revisits : array, data frame or BinaryData, optional
            A pilot: what was seen later in some rows of X. Either as many rows as X, missing where nobody went again,
            or a frame whose index names some of the rows. The probability is then that of being seen later, on visits
            like these. About thirty rows are enough to calibrate it.
        rate : float, optional
            The probability that a visit finds a given individual, if it is known: the probability is that of presence
            by the Royle-Nichols model, or with `later_visits` that of being seen on any of these.
        later_visits : float or array-like of shape (n_rows,), optional
            Visits to come (with `rate`), or made in the pilot's rows (with `revisits`), one number for all rows or one
            for each. With `revisits` the rate is then estimated from the pilot.
        n_visits : float or array-like of shape (n_rows,), default=1
            Number of visits that X summarises.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The probabilities.
        """
        rows = self._scored(X)
        return rows.probabilities(self._scale(rows, revisits, rate, later_visits, n_visits))

    def suspects(
        self,
        X: Any,
        *,
        kind: Kind = "absence",
        top: int | None = 100,
        per_row: int | None = None,
        revisits: Any = None,
        rate: float | None = None,
        later_visits: ArrayLike | None = None,
        n_visits: ArrayLike = 1,
        marks: Any = None,
    ) -> pd.DataFrame:
        """The cells most likely to be false, the highest score first.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        kind : "absence" or "presence", default="absence"
            Zeros that may be false, or ones that may be.
        top : int or None, default=100
            How many cells; None for all.
        per_row : int or None, default=None
            How many of each row, at most: recommendations for every row, with `top=None`.
        revisits : array, data frame or BinaryData, optional
            A pilot, as in `predict_proba`.
        rate : float, optional
            As in `predict_proba`.
        later_visits : float or array-like of shape (n_rows,), optional
            As in `predict_proba`; it counts for the order too.
        n_visits : float or array-like of shape (n_rows,), default=1
            As in `predict_proba`; with `rate` or `later_visits` it counts for the order too: zeros of rows with more
            visits are less suspected.
        marks : path, dict or list of dict, optional
            Cells that somebody has checked, as in `apply_marks`: confirmed and rejected ones are left out.

        Returns
        -------
        DataFrame
            With the columns row, column, score (see `suspicion`), the probability, whose name says what it is of
            ("P(1 | the rest)", "P(present)" or "P(seen later)"; for kind="presence" "P(0 | the rest)"), and what each
            member says: its probability of a 1. With marks also the column mark: "unsure", or empty.
        """
        _check_question(kind, revisits=revisits, rate=rate, later_visits=later_visits)
        rows = self._scored(X, marks)
        scale = self._scale(rows, revisits, rate, later_visits, n_visits, for_ranking=True)
        visible = left_to_see(rows.data.shape[0], later_visits, scale.rate, n_visits)
        return rows.suspects(kind, top=top, per_row=per_row, visible=visible, scale=scale)

    def explain(self, X: Any, row: int | str, column: int | str, *, top: int = 5) -> pd.DataFrame:
        """Why a cell has its score: the columns of its row, and similar rows, that suggest a 1 or a 0.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit, among them the row.
        row, column : int or str
            The cell, by position or name.
        top : int, default=5
            How many columns and how many rows.

        Returns
        -------
        DataFrame
            With the columns what, name, value (for a column the cell of this row, for a row that of this column) and
            says. "base" says where a prediction begins (how common the column is), "column" what the cell of that
            column adds to it, "rest" what all other columns add: log-odds of a 1 by the Ising model, or probabilities
            by the linear autoencoder if it is the only one of the two. "row" is a row like this one, and says how
            similar it is (correlation of the two rows' deviations from the average row), negative where it has a 0.
            Of data with covariates, coordinates or effort also "covariate" and "space": what they add to the log-odds
            of a 1 against their mean, by the member that knows most of the rows; and "neighbour": the nearest rows, and
            how near they are (from 0 to 1, by the scale at which places say something), negative where they have a 0.
        """
        rows = self._scored(X)
        check_number("top", top, least=1, integer=True)
        return explain_cell(self, rows, row, column, top)

    def _scale(
        self,
        rows: ScoredRows,
        revisits: Any,
        rate: float | None,
        later_visits: ArrayLike | None,
        n_visits: ArrayLike,
        *,
        for_ranking: bool = False,
    ) -> Scale:
        """What the probability is of; with `for_ranking` visits to come may be given without a rate."""
        n_rows = rows.data.shape[0]
        made = visits_of_rows(n_visits, n_rows, "n_visits", least=1)
        later = None if later_visits is None else visits_of_rows(later_visits, n_rows, "later_visits")
        if rate is not None:
            if revisits is not None:
                raise DataError("rate and revisits both fix the scale of the probability; give one of them")
            check_number("rate", rate, least=0, below=1, above=True)
            return Scale(PRESENT if later is None else SEEN_LATER, None, rate, made, later)
        if revisits is not None:
            return self._scale_of_pilot(rows, placed_revisits(revisits, rows.data), made, later)
        if later is not None and not for_ranking:
            raise DataError("later_visits need a detection rate; give rate or revisits too")
        return Scale()

    def _scale_of_pilot(
        self, rows: ScoredRows, later_seen: BinaryData, made: np.ndarray, later: np.ndarray | None
    ) -> Scale:
        cells, seen_then = rows.data.dense(), later_seen.dense()
        asked = (cells == 0) & (seen_then != MISSING)
        seen = seen_then[asked]
        if len(seen) == 0 or not 0 < seen.sum() < len(seen):
            raise DataError(
                "revisits must have zeros of X that were seen later, and some that were not; revisit more rows, or "
                "give rate"
            )
        visited = np.flatnonzero(asked.any(axis=1))
        if len(visited) < FEW_REVISITED:
            warn_user(
                f"the pilot has {counted(len(visited), 'row')} with {counted(int(seen.sum()), 'later sighting')}, "
                "which says little about the detection rate; revisit about thirty rows"
            )
        pilot = ScoredRows(self, rows.data.rows(visited))
        m = pilot.probabilities(Scale())[asked[visited]]
        if later is None:
            return Scale(SEEN_LATER, fit_exponent(m, seen))
        of_cell = np.nonzero(asked)[0]
        rate = fit_rate(m, seen, made[of_cell, 0], later[of_cell, 0])
        return Scale(SEEN_LATER, None, rate, made, later)


def _check_question(kind: Kind, **about_zeros: Any) -> None:
    """Refuse unknown kinds, and detection rates for ones."""
    check_kind(kind)
    useless = [name for name, value in about_zeros.items() if value is not None]
    if kind == "presence" and useless:
        raise DataError(f'{useless[0]} is about zeros and what a visit misses; leave it out with kind="presence"')
