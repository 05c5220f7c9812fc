"""RepeatedSurvey: what is there although no visit has seen it, from a model of what was ever seen and of visits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from latentbits.constraints import Number
from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.encoding import check_row_weight
from latentbits.data.histories import Histories
from latentbits.data.messages import Places
from latentbits.errors import DataError, warn_user
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.base import Renamed
from latentbits.models.detection import IDEAS, Idea, Visited, kinds_of, posterior
from latentbits.models.royle_nichols import visits_of_rows
from latentbits.models.survey_answers import (
    Cells,
    answers,
    chao2,
    expected_finds,
    further_visits,
    interval,
    on_both_scales,
    rank_within,
    ranked,
)
from latentbits.models.view import ShownModel
from latentbits.numerics import RandomSource, as_generator

Floats = NDArray[np.float64]

DOUBT = 0.05
"""No prediction of the estimator is taken for more certain than this share of the species' frequency."""

N_HELD_OUT = 5
"""Parts of the columns that are hidden in turn, where an estimator's prediction of a cell depends on the cell."""

HARDLY = 0.03
"""Visits that see less of what is there, or of what others saw, don't bound how much is there."""


class RepeatedSurvey(ShownModel):
    """Which species are at a site although no visit has seen them, learned from repeat visits.

    A site that was visited several times has a history for each species: seen, not seen, seen. `estimator` learns from
    the table of what was *ever seen*, as from any other 0-1 table, where a species is to be expected given the rest of
    the row. How often species that were seen once were seen again gives what a visit detects. Both together give the
    probability that a species is there although it was never seen, and that a later visit sees it.

    Detection differs between species. Their rates come from a common distribution whose spread is learned: species
    that are alike are drawn together, species that differ are left alone, and those with few sightings borrow most.
    Why a species that is there is missed is decided by the data as well, between two ideas: each visit sees a species
    with the same probability wherever it is (MacKenzie et al. 2002), or it sees each *individual* with the same
    probability, so that species are easily missed where they are few (Royle and Nichols 2003).

    What the data can say, and what they can't:

    - The probability of being *seen later* can be checked, by going there, as long as later visits are like those
      made. Where species come and go between visits, or the season differs, more or less is seen than predicted.
    - The probability of being *present* can't be checked by sightings. It is what endless visits would see, and assumes
      that visits are independent and that nothing comes or goes between them.
    - Intervals allow for what isn't known of rates and occupancy, and for chance; not for a wrong model, nor for errors
      of `estimator`. They are 90 % intervals.
    - Detection that differs between visits or sites must be told: in simulations totals are 23-32 % too high where it
      differs between visits without `visit_facts`, and 26-49 % too low where it differs between sites without `effort`.
    - Species that no visit saw anywhere are not counted; `total` gives Chao's lower bound of them.

    Parameters
    ----------
    estimator : estimator, optional
        The model of what was ever seen: `fit(X)` and `reconstruct(X)`, the probability of a 1 in each cell; a class of
        your own gets an array of 0 and 1 (with NaN where no visit was made), and as `rows` the `RowFacts` of the sites,
        if there are any. By default `FalseZeros()`.
    detection : float or array-like of shape (n_species,), optional
        The probability that a visit sees a *species* that is there, if it is known; above 0 and below 1. By default it
        is learned.
    rate : float or array-like of shape (n_species,), optional
        The probability that a visit sees an *individual*, if it is known; at least 0.001 and below 1.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draws, and of the default estimator. An estimator that is given has its own.
    n_jobs : int or None, default=None
        Threads of the default estimator; -1 is all cores.

    Attributes
    ----------
    species_ : DataFrame
        A line for each species: at how many sites it was seen, at how many it is (`estimated`, with the ends `lower`
        and `upper` of a 90 % interval), `detection` by a visit of average effort where it is (with its interval), the
        corresponding `rate` of individuals, and after how many further visits to each site 95 % of them are found.
    sites_ : DataFrame
        A line for each site: visits, how many species were seen, how many are there, with the interval, how many
        further visits find 95 % of them, and how many will have been seen after one more visit of average effort
        (`after_next`, with the interval), which that visit can check.
    abundance_share_ : float
        The share of the draws in which species are missed because they are few; the rest miss species as such.
    effort_ : float or None
        How steeply detection rises with effort, as a power: 1 is in proportion. None without effort.
    draws_ : Draws
        The draws from the posterior.
    score_ : ndarray of shape (n_sites, n_species)
        What the estimator said, as the model used it.
    estimator_ : estimator
        The fitted model of what was ever seen.
    survey_ : Histories
        The histories of the fit.
    row_weight_ : ndarray of shape (n_sites,)
        How often each site counts.
    data_checksum_ : str
        Identifies the histories of the fit.
    n_rows_ : int
        Number of sites.
    n_features_in_ : int
        Number of species.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the species; only if the histories have them.

    References
    ----------
    D. I. MacKenzie et al., "Estimating site occupancy rates when detection probabilities are less than one", Ecology
    83, 2248-2255, 2002.

    J. A. Royle and J. D. Nichols, "Estimating abundance from repeated presence-absence data or point counts", Ecology
    84, 777-790, 2003.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, RepeatedSurvey, simulate
    >>> truth = simulate.repeated_surveys(60, 12, 3, rate=0.4, random_state=0)
    >>> model = RepeatedSurvey(AspectBernoulli(2, n_init=2, random_state=0), random_state=0).fit(truth.histories)
    >>> present = model.predict_proba()
    >>> later = model.predict_proba(later_visits=1)
    >>> bool((later <= present).all())
    True
    >>> list(model.suspects(top=5))[:4]
    ['row', 'column', 'n_visits', 'present']
    >>> list(model.sites_)
    ['row', 'n_visits', 'seen', 'estimated', 'lower', 'upper', 'further_visits', 'after_next', 'after_next_lower', \
'after_next_upper']
    """

    rates_ = Renamed('species_["rate"]', lambda model: model.species_["rate"].to_numpy())
    rate_ = Renamed('the median of species_["rate"]', lambda model: float(model.species_["rate"].median()))

    def __init__(
        self,
        estimator: Any = None,
        *,
        detection: ArrayLike | None = None,
        rate: ArrayLike | None = None,
        random_state: RandomSource = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.detection = detection
        self.rate = rate
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        histories: Any,
        y: None = None,
        sample_weight: ArrayLike | None = None,
        rows: Any = None,
        effort: ArrayLike | None = None,
        visit_facts: Mapping[str, ArrayLike] | None = None,
    ) -> RepeatedSurvey:
        """Learn where species are to be expected, and what visits detect.

        Parameters
        ----------
        histories : Histories, or array-like of shape (n_sites, n_visits, n_species)
            1 seen, 0 not seen, NaN where the visit wasn't made.
        y : None, default=None
            Not used; scikit-learn's convention.
        sample_weight : array-like of shape (n_sites,), optional
            How often each site counts.
        rows : data frame or RowFacts, optional
            What is known of the sites, for an estimator that takes it, as `FalseZeros` does.
        effort : array-like of shape (n_sites, n_visits), optional
            How much was done on each visit, such as minutes; above 0 where a visit was made.
        visit_facts : mapping of str to array-like of shape (n_sites, n_visits), optional
            Other numbers that detection may depend on, such as day, hour or observer (0 or 1).

        Returns
        -------
        RepeatedSurvey
            The fitted estimator itself.

        Raises
        ------
        DataError
            If the histories are not 0-1 data, or say nothing about detection.
        """
        survey = Histories.of(histories).with_facts(rows)
        known = self._known_hazards(survey.shape[2])
        weight = check_row_weight(sample_weight, survey.shape[0])
        _check_informative(survey, weight, known is not None)
        rng = as_generator(self.random_state)
        estimator = self._unfitted()
        data = survey.ever_seen()
        given: dict[str, Any] = {} if sample_weight is None else {"sample_weight": weight}
        takes_rows = Ability.READ_ZERO_ONE in abilities_of(estimator)  # with the data; others take them by themselves
        given |= {} if takes_rows or survey.facts is None else {"rows": survey.facts}
        self.estimator_ = estimator.fit(_for(estimator, data), **given)
        self._adopt(survey)
        self.row_weight_ = weight
        seen = data.dense() == 1
        observed = data.dense() != MISSING
        share = (weight @ seen + 0.5) / (weight @ observed + 1)
        self._frequencies = np.log(-np.log1p(-share))
        facts = _checked_facts(survey, effort, visit_facts)
        self._visits = _standardised(facts, survey.surveyed)
        self._effort_of_sites = _effort_of_sites(survey, facts.get("effort"))
        self.score_ = self._scored(data)
        asked = self._asked()
        ideas: tuple[Idea, ...] = IDEAS
        if known is not None:
            ideas = ("presence",) if self.detection is not None else ("abundance",)
        self.draws_ = posterior(asked, rng, ideas, known)
        self.abundance_share_ = float(self.draws_.abundance.mean())
        self.effort_ = None if "effort" not in facts else float(np.median(self.draws_.common[:, 2]))
        self._summarise(asked, int(rng.integers(2**31)))
        return self

    def predict_proba(self, histories: Any = None, later_visits: ArrayLike | None = None) -> Floats:
        """Return the probability that each species is present, or that later visits see it, given the history.

        Parameters
        ----------
        histories : Histories, or array-like of shape (n_sites, n_visits, n_species), optional
            Sites to ask about, with the species of the fit; by default those of the fit.
        later_visits : float, or array-like of shape (n_sites,) or (n_sites, n_species), optional
            So many more visits of average effort, and the probability that any of them sees the species. By default the
            probability that it is present.

        Returns
        -------
        ndarray of shape (n_sites, n_species)
            Presence of species that were seen is 1.
        """
        check_is_fitted(self)
        if later_visits is None:
            return self._answers(histories)[0].mean
        survey = self.survey_ if histories is None else Histories.of(histories)
        n, _, d = survey.shape
        return self._answers(histories, visits_of_rows(later_visits, n, "later_visits", n_columns=d))[1].mean

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
            seen_next (probability that the next visit sees it), both with the ends of a 90 % interval: present_lower,
            present_upper, seen_next_lower, seen_next_upper.
        """
        check_is_fitted(self)
        for name, number in {"top": top, "per_row": per_row}.items():
            Number(1, integer=True, optional=True).check(name, number)
        survey = self.survey_ if histories is None else Histories.of(histories)
        present, seen_next = self._answers(histories)
        never = (survey.detections == 0) & (survey.n_visits > 0)
        rows, columns = ranked(present.mean, never)
        if per_row is not None:
            few = rank_within(rows) < per_row
            rows, columns = rows[few], columns[few]
        at = rows[:top], columns[:top]
        kinds = {"present": present, "seen_next": seen_next}
        return pd.DataFrame(
            {
                "row": Places(survey.row_names, survey.shape[0], "row").labels(at[0]),
                "column": Places(self._column_names(), self.n_features_in_, "column").labels(at[1]),
                "n_visits": survey.n_visits[at],
                **{name: kind.mean[at] for name, kind in kinds.items()},
                **{f"{n}_{end}": getattr(k, end)[at] for n, k in kinds.items() for end in ("lower", "upper")},
            }
        )

    def explain_cell(self, row: int | str, column: int | str) -> pd.DataFrame:
        """What the probability of a cell comes from.

        Parameters
        ----------
        row, column : int or str
            Position or name of a site of the fit and of a species.

        Returns
        -------
        DataFrame
            With the columns `what` and `value`: visits made and sightings there, the share of sites where the species
            was ever seen, the probability that the rest of the table gives, what a visit detects, and the
            probabilities of presence and of being seen next, with the ends of their 90 % intervals.

        Examples
        --------
        >>> from latentbits import IndependentBernoulli, RepeatedSurvey, simulate
        >>> truth = simulate.repeated_surveys(60, 12, 3, rate=0.4, random_state=0)
        >>> model = RepeatedSurvey(IndependentBernoulli(), random_state=0).fit(truth.histories)
        >>> model.explain_cell(3, 2)["what"].tolist()[:3]
        ['visits', 'sightings', 'share of sites where it was seen']
        """
        check_is_fitted(self)
        survey = self.survey_
        i = _position(row, Places(survey.row_names, survey.shape[0], "row"))
        j = _position(column, Places(self._column_names(), self.n_features_in_, "column"))
        share, expected = -np.expm1(-np.exp(self._frequencies[j] + np.array([0.0, self.score_[i, j]])))
        told = {
            "visits": survey.n_visits[i, j],
            "sightings": survey.detections[i, j],
            "share of sites where it was seen": share,
            "probability by the rest of the table": expected,
            "detection by a visit": self.species_["detection"][j],
        }
        for name, of_cells in (("present", self._present), ("seen on the next visit", self._later)):
            ends = (f"{name}: lower", of_cells.lower), (f"{name}: upper", of_cells.upper)
            told |= {what: values[i, j] for what, values in ((name, of_cells.mean), *ends)}
        return pd.DataFrame({"what": list(told), "value": np.array(list(told.values()), dtype=float)})

    def curve(self, most: int = 10) -> pd.DataFrame:
        """What further visits to every site would bring.

        Parameters
        ----------
        most : int, default=10
            Up to how many further visits.

        Returns
        -------
        DataFrame
            For each number of `further_visits` the expected number of species seen (`found`), summed over sites, and
            how many there are (`present`).
        """
        check_is_fitted(self)
        Number(1, integer=True).check("most", most)
        found, present = expected_finds(self.draws_, self._asked(), np.arange(most + 1))
        return pd.DataFrame(
            {"further_visits": range(most + 1), "found": found.sum(axis=(1, 2)), "present": present.sum()}
        )

    def total(self) -> dict[str, float]:
        """How much is there altogether.

        Returns
        -------
        dict
            Of all sites and species together `seen`, `estimated`, and `lower` and `upper` of a 90 % interval; how many
            `species` were seen, and Chao's lower bound of how many there are, `chao2`, with its 95 % interval
            `chao2_lower` and `chao2_upper`: species that were never seen anywhere are in no other number.
        """
        check_is_fitted(self)
        return dict(self._total)

    # ---- parts of fit ------------------------------------------------------------------------------------------------

    def _known_hazards(self, n_species: int) -> Floats | None:
        if self.estimator is not None and not (
            hasattr(self.estimator, "fit") and hasattr(self.estimator, "reconstruct")
        ):
            raise DataError(
                f"estimator={type(self.estimator).__name__} can't fit and reconstruct 0-1 tables; give a model such as "
                "FalseZeros()"
            )
        given = {"detection": self.detection, "rate": self.rate}
        named = [name for name, value in given.items() if value is not None]
        if len(named) == 2:
            raise DataError("detection is of species and rate of individuals; give one of them, the other follows")
        if not named:
            return None
        values = np.asarray(given[named[0]], float)
        if values.shape not in ((), (n_species,)):
            raise DataError(f"{named[0]} has the shape {values.shape}; give a number, or one for each of the species")
        for value in np.unique(values):  # a lower rate means thousands of individuals, and 1 that nothing is missed
            Number(0.001, 1).check(named[0], float(value))
        return np.log(-np.log1p(-np.broadcast_to(values, (n_species,))))

    def _unfitted(self) -> Any:
        if self.estimator is not None:
            return clone(self.estimator)
        from latentbits.models.registry import model_class  # late: families don't know each other

        return model_class("false-zeros")(random_state=self.random_state, n_jobs=self.n_jobs)

    @property
    def survey_(self) -> Histories:
        """The histories of the fit."""
        check_is_fitted(self)
        return Histories._of_stored(self._survey)

    def _adopt(self, survey: Histories) -> None:
        self._survey = survey._stored()
        self.data_checksum_ = survey.fingerprint()
        self.n_rows_, _, self.n_features_in_ = survey.shape
        self.__dict__.pop("feature_names_in_", None)
        if survey.column_names is not None:
            self.feature_names_in_ = np.array(survey.column_names, dtype=object)

    def _column_names(self) -> list[str] | None:
        return [str(name) for name in self.feature_names_in_] if hasattr(self, "feature_names_in_") else None

    def _scored(self, data: BinaryData) -> Floats:
        """What the rest of the table says about each cell: as complementary log-log, less that of its species."""
        u = _given_the_rest(self.estimator_, data)
        if u.shape != data.shape or not np.isfinite(u).all():
            kind = type(self.estimator_).__name__
            raise DataError(f"{kind}.reconstruct gives no probability for some cells; use another estimator")
        share = -np.expm1(-np.exp(self._frequencies))
        u = (1 - DOUBT) * np.clip(u, 0, 1) + DOUBT * share
        return np.log(-np.log1p(-np.minimum(u, 1 - 1e-9))) - self._frequencies

    def _asked(self) -> Visited:
        """What the sampler sees of the survey of the fit."""
        return _visited(self.survey_, self.score_, self._visits, self._effort_of_sites, self.row_weight_)

    def _told_at_fit(self) -> dict[str, Any]:
        """What `fit` was given beside the histories, for fits to some of the visits; on scales that don't matter."""
        first = int(self.effort_ is not None)
        return {
            "effort": np.exp(self._visits[0]) if first else None,
            "visit_facts": {f"fact {k + 1}": table for k, table in enumerate(self._visits[first:])},
            "sample_weight": None if (self.row_weight_ == 1).all() else self.row_weight_,
        }

    def _summarise(self, asked: Visited, seed: int) -> None:
        self._seed = seed
        found, survey = answers(self.draws_, asked, 1.0, np.random.default_rng(seed)), self.survey_
        self._present, self._later = found.present, found.later
        seen = survey.detections > 0
        detection, rate = on_both_scales(self.draws_, asked)
        per_site, per_species = further_visits(self.draws_, asked)
        low, high = interval(found.species)
        ends = np.quantile(detection, (0.05, 0.95), axis=0)
        n, _, d = survey.shape
        self.species_ = pd.DataFrame(
            {
                "column": Places(self._column_names(), d, "column").labels(np.arange(d)),
                "seen": seen.sum(axis=0),
                "estimated": found.species.mean(axis=0),
                "lower": low,
                "upper": high,
                "detection": detection.mean(axis=0),
                "detection_lower": ends[0],
                "detection_upper": ends[1],
                "rate": rate.mean(axis=0),
                "further_visits": per_species,
            }
        )
        low, high = interval(found.sites)
        self.sites_ = pd.DataFrame(
            {
                "row": Places(survey.row_names, n, "row").labels(np.arange(n)),
                "n_visits": survey.surveyed.sum(axis=1),
                "seen": seen.sum(axis=1),
                "estimated": found.sites.mean(axis=0),
                "lower": low,
                "upper": high,
                "further_visits": per_site,
                **_of_draws("after_next", found.after_next),
            }
        )
        low, high = interval(found.total)
        counts = {"seen": seen.sum(), "estimated": found.total.mean(), "lower": low, "upper": high}
        bound = dict(zip(("chao2", "chao2_lower", "chao2_upper"), chao2(seen), strict=True))
        self._total = {
            name: float(value) for name, value in (counts | {"species": seen.any(axis=0).sum()} | bound).items()
        }
        known = self.detection is not None or self.rate is not None
        _warn_if_unbounded(self.species_, asked, known)

    def _answers(self, histories: Any, later: ArrayLike = 1.0) -> tuple[Cells, Cells]:
        """Presence, and being seen by so many later visits."""
        if histories is None and np.ndim(later) == 0 and later == 1.0:
            return self._present, self._later
        if histories is None:
            asked = self._asked()
        else:
            survey = Histories.of(histories)
            if len(self._visits):
                raise DataError("the model knows facts of the visits of its fit; ask about these sites, or fit without")
            n, v, _ = survey.shape
            effort = _effort_of_sites(survey, None)
            score = self._scored(survey.ever_seen())
            asked = _visited(survey, score, np.zeros((0, n, v)), effort, np.ones(n))
        rng = np.random.default_rng(self._seed)
        found = answers(self.draws_, asked, later, rng, fitted=histories is None)
        return found.present, found.later


def _of_draws(name: str, counts: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    low, high = interval(counts)
    return {name: counts.mean(axis=0), f"{name}_lower": low, f"{name}_upper": high}


def _position(label: int | str, places: Places) -> int:
    if isinstance(label, str):
        return places.find(label)
    Number(0, integer=True).check(places.what, label)
    if label >= places.number:
        raise DataError(f"there is no {places.what} {label}; the last one is {places.number - 1}")
    return int(label)


def _for(estimator: Any, data: BinaryData) -> Any:
    """The table as an estimator takes it: a class of the user's own gets an array."""
    if Ability.READ_ZERO_ONE in abilities_of(estimator):
        return data
    cells = data.dense()
    return np.where(cells == MISSING, np.nan, cells) if (cells == MISSING).any() else cells.astype(int)


def _given_the_rest(model: Any, data: BinaryData) -> Floats:
    """The probability of a 1 in each cell in which the cell itself has no part, as far as the model can give it."""
    abilities = abilities_of(model)
    if Ability.READ_ZERO_ONE not in abilities:
        return np.asarray(model.reconstruct(_for(model, data)), float)
    if Ability.MEMBERS in abilities and model.held_out_ is not None:
        return np.asarray(model.predict_proba(data), float)
    if Ability.PREDICT_HELD_OUT in abilities:
        return np.asarray(model.predict_held_out(data), float)
    cells, u = data.dense(), np.empty(data.shape)
    for k in range(N_HELD_OUT):
        hidden = np.zeros(data.shape[1], bool)
        hidden[k::N_HELD_OUT] = True
        part = BinaryData(np.where(hidden, np.int8(MISSING), cells), column_names=data.column_names)
        u[:, hidden] = model.reconstruct(part)[:, hidden]
    return u


def _check_informative(survey: Histories, weight: Floats, known: bool) -> None:
    counts = weight > 0
    if not survey.surveyed[counts].any():
        raise DataError("no visit was made to any site that counts; give histories with a 0 or a 1")
    if not known and not ((survey.detections > 0) & (survey.n_visits > 1))[counts].any():
        raise DataError(
            "no species was seen at a site with two visits or more, so nothing says how much a visit sees; give such "
            "sites, or the rate"
        )


def _checked_facts(
    survey: Histories, effort: ArrayLike | None, facts: Mapping[str, ArrayLike] | None
) -> dict[str, Floats]:
    given = {"effort": effort, **(facts or {})}  # effort is the first of them, if it is known
    result = {}
    for name, values in given.items():
        if values is None:
            continue
        table = np.asarray(values, float)
        if table.shape != survey.surveyed.shape:
            raise DataError(f"{name} has the shape {table.shape}; give a number for each site and visit")
        of_visits = table[survey.surveyed]
        if not np.isfinite(of_visits).all() or (name == "effort" and (of_visits <= 0).any()):
            what = "a number above 0" if name == "effort" else "a number"
            raise DataError(f"{name} must be {what} for each visit that was made; correct the others")
        result[name] = table
    return result


def _standardised(facts: Mapping[str, Floats], made: NDArray[np.bool_]) -> Floats:
    """Log effort, whose coefficient is a power, centred; other facts in standard deviations."""
    tables = np.zeros((len(facts), *made.shape))
    for table, (name, values) in zip(tables, facts.items(), strict=True):
        of_visits = np.log(values[made]) if name == "effort" else values[made]
        spread = 1.0 if name == "effort" else max(float(of_visits.std()), 1e-12)
        table[made] = (of_visits - of_visits.mean()) / spread
    return tables


def _effort_of_sites(survey: Histories, effort: Floats | None) -> Floats:
    """Centred log effort, or number of visits, of each site; zeros where all are alike."""
    made = survey.surveyed
    amount = (np.where(made, effort, 0.0) if effort is not None else made).sum(axis=1).astype(float)
    has_any, site = amount > 0, np.zeros(len(amount))
    if np.ptp(amount[has_any]) > 0:
        site[has_any] = np.log(amount[has_any]) - np.log(amount[has_any]).mean()
    return site


def _visited(survey: Histories, score: Floats, visits: Floats, site: Floats, weight: Floats) -> Visited:
    """What the sampler sees; without facts of visits their order has no meaning, and they are sorted."""
    cells = np.ascontiguousarray(survey.cells.transpose(0, 2, 1))
    if not len(visits):
        cells = np.sort(cells, axis=2)
        cells = np.ascontiguousarray(cells[:, :, (cells != MISSING).any(axis=(0, 1))])
        visits = np.zeros((0, len(cells), cells.shape[2]))
    return Visited(cells, score, site, visits, weight, kinds_of(cells, visits))


def _warn_if_unbounded(species: pd.DataFrame, asked: Visited, known: bool) -> None:
    """Where next to nothing was seen again, what is said of detection is the priors' or comes from unlike sites."""
    cells = asked.cells[asked.weight > 0]
    seen, made = (cells == 1).sum(axis=2), (cells != MISSING).sum(axis=2)
    again = (seen - 1)[seen > 0].sum() < HARDLY * (made - 1)[seen > 0].sum()
    if (again and not known) or species["detection"].median() < HARDLY:
        warn_user(
            "hardly anything was seen again, so the histories don't bound how many species are there unseen; read the "
            "probability of being seen later, not that of presence"
        )
