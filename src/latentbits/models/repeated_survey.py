"""RepeatedSurvey: a model of what was ever seen, and the rate at which visits see what is there.

It has no record: model files, comparisons and `latentbits fit` are about tables, and this is about histories.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from latentbits.constraints import Number
from latentbits.data.binary_data import BinaryData
from latentbits.data.encoding import check_row_weight
from latentbits.data.histories import Histories
from latentbits.data.messages import Places
from latentbits.errors import DataError, warn_user
from latentbits.models.abilities import Ability
from latentbits.models.royle_nichols import (
    abundance_of,
    present_if_never_seen,
    seen_later,
    seen_later_if_never_seen,
    visits_of_rows,
)
from latentbits.models.survey_rates import (
    BOUNDS,
    LEAST,
    Rate,
    SeenCells,
    balanced,
    common_rate,
    effort_of,
    effort_table,
    rates_of_species,
)
from latentbits.models.view import ShownModel
from latentbits.numerics import RandomSource

Floats = NDArray[np.float64]


class Survey(NamedTuple):
    """What is used of a survey: visits and sightings of each cell, and how probable it was to see it.

    Attributes
    ----------
    n_visits, n_seen : int array of shape (N, D)
        Visits that looked for the species at the site, and those that saw it.
    effort : float array of shape (N, D)
        The number of visits that `ever_seen` is about: those made, or where none was made those of similar cells.
    ever_seen : float array of shape (N, D)
        Probability that at least one of so many visits sees it.
    row_names : list of str or None
        Names of the sites.
    """

    n_visits: NDArray[np.int_]
    n_seen: NDArray[np.int_]
    effort: Floats
    ever_seen: Floats
    row_names: list[str] | None

    def abundance(self, rates: Floats) -> Floats:
        """Expected numbers of individuals, which don't depend on the number of visits."""
        return abundance_of(self.ever_seen, self.effort, rates)


class RepeatedSurvey(ShownModel):
    """Which species are at a site although no visit has seen them, learned from repeat visits.

    A site that was visited several times has a history for each species: seen, not seen, seen. `estimator` learns from
    the table of what was *ever seen*, as from any other 0-1 table, how probable each species was to be seen at each
    site. How often species that were seen once were seen again gives the detection rate of a visit. Both together give
    the probability that a species is there although it was never seen, and that a later visit sees it.

    The bridge between them is the model of Royle and Nichols (2003): a species has a Poisson distributed number of
    individuals at a site, and each visit sees each individual with the same probability, the rate. Species are then
    easy to see where they are many, and easily missed where they are few.

    What the data can say, and what they can't:

    - The probability of being *seen later* can be checked, by going there. It depends little on the bridge, as long as
      the later visits are about as many as those made. Where species differ in how easily they are seen, or come and go
      between visits, more is seen than predicted: of Swiss birds that two visits had missed the third saw 3 to 4 %,
      where 2 % were predicted. Read it as a lower bound; it ranks all the same.
    - The probability of being *present* can't be checked by any number of sightings. It is what would be seen after
      endless visits, and relies on the bridge: that species are missed because they are few, that visits are
      independent, and that nothing comes or goes between them. With another idea of why species are missed it is
      another number.
    - The rate, and with it the probability of being present, depends on how well `estimator` fits. One that follows the
      table too closely takes every sighting for certain, so that the rate becomes too low and presence too probable;
      one that is too coarse does the opposite. The probability of being seen later hardly changes.
    - The rate is one of individuals, and those are no count of anything: twice as conspicuous and half as many would be
      seen as often. Its standard error counts cells as independent and the model of what was ever seen as true, so it
      is too small.
    - Rows may have different numbers of visits. `estimator` doesn't know them, so what it predicts for rows of n visits
      is corrected by a factor (`effort_`) until it agrees with what was seen there, and put on the scale of the
      expected number of individuals. That takes sites with few visits for sites like the others; if the poor ones were
      visited less, their species are overestimated.

    Parameters
    ----------
    estimator : estimator, optional
        The model of what was ever seen: `fit(X)` and `reconstruct(X)`, the probability of a 1 in each cell from a fit
        that saw it. By default `FalseZeros()`.
    rate : float, optional
        The rate, if it is known from elsewhere; at least 0.001 and below 1. By default it is learned.
    per_species : bool, default=False
        Whether each species has a rate of its own. They are drawn towards each other by a Beta prior, whose mean and
        strength are learned from all species.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the default estimator. One that is given has its own.
    n_jobs : int or None, default=None
        Threads of the default estimator; -1 is all cores.

    Attributes
    ----------
    rate_ : float
        Probability that a visit sees an individual, common to all species.
    rate_se_ : float
        Its standard error by the curvature of the likelihood; 0 if the rate was given, infinite if the data don't
        bound it.
    rates_ : ndarray of shape (n_columns,)
        The rate of each species; all the common one unless `per_species`.
    rate_strength_ : float
        Strength of the prior of the rates, as a number of trials; infinite unless `per_species`.
    effort_ : DataFrame
        For each number of visits: n_visits, the number of cells, how many of them were seen and were predicted to be by
        `estimator`, and the factor by which expected numbers of individuals are corrected.
    estimator_ : estimator
        The fitted model of what was ever seen.
    survey_ : Survey
        Visits and sightings of the fit, and the probability of having been seen, cell by cell.
    n_features_in_ : int
        Number of species.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the species; only if the histories have them.

    References
    ----------
    J. A. Royle and J. D. Nichols, "Estimating abundance from repeated presence-absence data or point counts", Ecology
    84, 777-790, 2003.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, RepeatedSurvey, simulate
    >>> truth = simulate.repeated_surveys(200, 30, 3, rate=0.4, random_state=0)
    >>> model = RepeatedSurvey(AspectBernoulli(3, n_init=5, random_state=0)).fit(truth.histories)
    >>> present = model.predict_proba()
    >>> later = model.predict_proba(later_visits=1)
    >>> bool((later <= present).all())
    True
    >>> list(model.suspects(top=5))
    ['row', 'column', 'n_visits', 'present', 'seen_next']
    """

    _abilities = frozenset({Ability.VISITS})

    def __init__(
        self,
        estimator: Any = None,
        *,
        rate: float | None = None,
        per_species: bool = False,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.rate = rate
        self.per_species = per_species
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, histories: Any, y: None = None, sample_weight: ArrayLike | None = None) -> RepeatedSurvey:
        """Learn the probability of being seen, and the detection rate.

        Parameters
        ----------
        histories : Histories, or array-like of shape (n_sites, n_visits, n_species)
            1 seen, 0 not seen, NaN where the visit wasn't made.
        y : None, default=None
            Not used; scikit-learn's convention.
        sample_weight : array-like of shape (n_sites,), optional
            How often each site counts.

        Returns
        -------
        RepeatedSurvey
            The fitted estimator itself.

        Raises
        ------
        DataError
            If the histories are not 0-1 data, or say nothing about the rate.
        """
        self._check_parameters()
        survey = Histories.of(histories)
        weight = check_row_weight(sample_weight, survey.shape[0])
        if not survey.surveyed[weight > 0].any():
            raise DataError("no visit was made to any site that counts; give histories with a 0 or a 1")
        estimator = self._unfitted()
        weights = {} if sample_weight is None else {"sample_weight": weight}
        data = survey.ever_seen()
        self.estimator_ = estimator.fit(data, **weights)
        self._adopt_columns(survey)
        u = self._reconstructed(data)
        self.effort_ = effort_table(u, survey.detections > 0, survey.n_visits, weight)
        self.survey_ = self._summary(survey, u)
        self._fit_rates(weight)
        return self

    def predict_proba(self, histories: Any = None, later_visits: ArrayLike | None = None) -> Floats:
        """Return the probability that each species is present, or that later visits see it, given the history.

        Parameters
        ----------
        histories : Histories, or array-like of shape (n_sites, n_visits, n_species), optional
            Sites to ask about, with the species of the fit; by default those of the fit.
        later_visits : float, or array-like of shape (n_sites,) or (n_sites, n_species), optional
            So many more visits, and the probability that any of them sees the species. By default the probability that
            it is present.

        Returns
        -------
        ndarray of shape (n_sites, n_species)
            Presence of species that were seen is 1.
        """
        check_is_fitted(self)
        survey = self._asked_about(histories)
        lam = survey.abundance(self.rates_)
        if later_visits is not None:
            n_rows, n_columns = survey.n_visits.shape
            n_later = visits_of_rows(later_visits, n_rows, "later_visits", n_columns=n_columns)
            return seen_later(lam, survey.n_seen, survey.n_visits, n_later, self.rates_)
        return np.where(survey.n_seen > 0, 1.0, present_if_never_seen(lam, survey.n_visits, self.rates_))

    def suspects(self, histories: Any = None, *, top: int | None = 100, per_row: int | None = None) -> pd.DataFrame:
        """List the species that were never seen at a site and are most likely present, the most likely first.

        Parameters
        ----------
        histories : Histories, or array-like of shape (n_sites, n_visits, n_species), optional
            Sites to ask about; by default those of the fit.
        top : int, default=100
            How many cells; None for all. Cells that no visit was made to are left out.
        per_row : int, optional
            At most so many cells of a site.

        Returns
        -------
        DataFrame
            With the columns row, column, n_visits (made in vain), present (probability that the species is there) and
            seen_next (probability that the next visit sees it).
        """
        check_is_fitted(self)
        for name, number in {"top": top, "per_row": per_row}.items():
            Number(1, integer=True, optional=True).check(name, number)
        survey = self._asked_about(histories)
        rows, columns = np.nonzero((survey.n_seen == 0) & (survey.n_visits > 0))
        n_visits, rates = survey.n_visits[rows, columns], self.rates_[columns]
        lam = survey.abundance(self.rates_)[rows, columns]
        present = present_if_never_seen(lam, n_visits, rates)
        order = np.argsort(-present, kind="stable")
        if per_row is not None:
            order = order[_rank_within(rows[order]) < per_row]
        order = order[:top]
        names = [str(name) for name in self.feature_names_in_] if hasattr(self, "feature_names_in_") else None
        return pd.DataFrame(
            {
                "row": Places(survey.row_names, len(survey.n_seen), "row").labels(rows[order]),
                "column": Places(names, self.n_features_in_, "column").labels(columns[order]),
                "n_visits": n_visits[order],
                "present": present[order],
                "seen_next": seen_later_if_never_seen(lam, n_visits, 1, rates)[order],
            }
        )

    # ---- parts of fit ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        Number(0.001, 1, optional=True).check("rate", self.rate)  # a lower one means thousands of individuals
        if self.rate is not None and self.per_species:
            raise DataError("rate is given for all species, and per_species learns one for each; leave one of them out")
        if self.estimator is not None and not (
            hasattr(self.estimator, "fit") and hasattr(self.estimator, "reconstruct")
        ):
            raise DataError(
                f"estimator={type(self.estimator).__name__} can't fit and reconstruct 0-1 tables; give a model such as "
                "FalseZeros()"
            )

    def _unfitted(self) -> Any:
        if self.estimator is not None:
            return clone(self.estimator)
        from latentbits.models.registry import model_class  # late: families don't know each other

        return model_class("false-zeros")(random_state=self.random_state, n_jobs=self.n_jobs)

    def _adopt_columns(self, survey: Histories) -> None:
        self.n_features_in_ = survey.shape[2]
        self.__dict__.pop("feature_names_in_", None)
        if survey.column_names is not None:
            self.feature_names_in_ = np.array(survey.column_names, dtype=object)

    def _reconstructed(self, data: BinaryData) -> Floats:
        u = np.asarray(self.estimator_.reconstruct(data), float)
        if u.shape != data.shape or not np.isfinite(u).all():
            kind = type(self.estimator_).__name__
            raise DataError(f"{kind}.reconstruct gives no probability for some cells; use another estimator")
        return u

    def _summary(self, survey: Histories, u: Floats) -> Survey:
        typical = np.average(self.effort_["n_visits"], weights=self.effort_["cells"])
        effort = effort_of(survey.n_visits, typical)
        u = balanced(u, effort, self.effort_)
        n_seen = survey.detections
        return Survey(survey.n_visits, n_seen, effort, np.where(n_seen > 0, np.maximum(u, LEAST), u), survey.row_names)

    def _asked_about(self, histories: Any) -> Survey:
        if histories is None:
            return self.survey_
        survey = Histories.of(histories)
        return self._summary(survey, self._reconstructed(survey.ever_seen()))

    def _fit_rates(self, row_weight: Floats) -> None:
        found, cells = Rate(self.rate or 0.0, 0.0), None
        if self.rate is None:
            cells = SeenCells.of(self.survey_.ever_seen, self.survey_.n_seen, self.survey_.n_visits, row_weight)
            _check_informative(cells)
            found = common_rate(cells)
            _warn_at_the_edge(found)
        self.rate_, self.rate_se_ = float(found.value), found.standard_error
        self.rates_, self.rate_strength_ = np.full(self.n_features_in_, self.rate_), np.inf
        if self.per_species and cells is not None:
            species = rates_of_species(cells, self.n_features_in_, self.rate_)
            self.rates_, self.rate_strength_ = species.values, species.strength


def _check_informative(cells: SeenCells) -> None:
    if not cells.u.size:
        raise DataError(
            "no species was seen at a site with two visits or more, so nothing says how much a visit sees; give such "
            "sites, or the rate"
        )


def _warn_at_the_edge(rate: Rate) -> None:
    if not rate.at_the_edge:
        return
    if rate.value > 0.5:
        warn_user(f"species that were seen were hardly missed by another visit: the rate is at its limit {BOUNDS[1]}")
    else:
        warn_user(
            f"the rate is at its limit {BOUNDS[0]}: the histories don't bound how many species are there unseen, or "
            "the estimator follows them too closely; read the probability of being seen later, not that of presence"
        )


def _rank_within(groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """The position of each entry among those of its group, from 0."""
    order = np.argsort(groups, kind="stable")
    sorted_groups = groups[order]
    first = np.searchsorted(sorted_groups, sorted_groups)
    rank = np.empty(groups.size, np.intp)
    rank[order] = np.arange(groups.size) - first
    return rank
