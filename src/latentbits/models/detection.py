"""What is there and what visits see of it: one model of histories, sampled.

Cell (i, j) has lam_ij = exp(a_j + b s_ij + c log E_i + g_i) expected individuals: s_ij is the complementary log-log of
what an estimator predicts from the rest of the table, less that of the species' frequency; log E_i, the centred
logarithm of the effort at the site, takes out what that prediction owes to it; g_i is what is left of the site. The
species is there with the probability 1 - exp(-lam). Visit v has the hazard x = h_j exp(z_iv d), where z are covariates
of the visit, and there are two ideas of why a species is missed:

- "abundance" (Royle and Nichols 2003): K ~ Poisson(lam) individuals, each missed with the probability exp(-x);
- "presence" (MacKenzie and others 2002): a species that is there is missed with the probability exp(-x).

The logarithms of the h_j come from a common normal distribution whose spread is learned, and so do the a_j and the
g_i: where species are alike they are drawn together, where they differ they are left alone, and species with few
sightings borrow most. Everything is sampled by Metropolis steps whose sizes are tuned before the first kept draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from latentbits.kernels.survey_pass import history_pass

Floats = NDArray[np.float64]
Idea = Literal["abundance", "presence"]
IDEAS: tuple[Idea, Idea] = ("presence", "abundance")

_USUAL_HAZARD, _HAZARD_SD = -1.0, 1.5
"""The prior of the mean of log h: visits that see 2 to 99 % of what is there. Without it nothing would bound what is
there where nothing was ever seen again."""

CLEARLY = 6.0
"""Nats by which abundance must predict better to be taken: it has the same number of parameters, and says that far more
is there that nobody has seen. Of simulated surveys (150 sites, 25 species, 3 visits) it is better by 13 to 22 where it
is true, and by up to 4 where it isn't. Of smaller ones (100 sites, 15 species) the data don't say which is true: it is
better by -3 to 8 where it is. With 3 instead of 6, totals of ten surveys each are 3 to 5 % higher where it is true (and
6 to 8 % too low), and 1 to 2 % where it isn't (and 5 % too low to 8 % too high): no more than exchanged."""

N_BOOTSTRAP = 500
N_BURN, N_KEPT, THIN = 700, 160, 6
_SPREADS = np.exp(np.linspace(np.log(0.02), np.log(4.0), 80))
"""Where the standard deviations of a_j and log h_j are looked for."""


class Visited(NamedTuple):
    """What the sampler sees of a survey.

    Attributes
    ----------
    cells : int8 array of shape (N, D, V)
        1 seen, 0 not seen, -1 where no visit looked.
    score : float array of shape (N, D)
        Complementary log-log of the prediction, centred by species.
    site : float array of shape (N,)
        Centred log effort of the sites; zeros where all are alike.
    visits : float array of shape (P, N, V)
        Covariates of the visits.
    weight : float array of shape (N,)
        How often each site counts.
    kinds : int32 array of shape (N, D)
        Numbers of the cells, the same where histories and visits are alike.
    """

    cells: NDArray[np.int8]
    score: Floats
    site: Floats
    visits: Floats
    weight: Floats
    kinds: NDArray[np.int32]

    @property
    def n_kinds(self) -> int:
        """How many numbers there are."""
        return int(self.kinds.max()) + 1


def kinds_of(cells: NDArray[np.int8], visits: Floats) -> NDArray[np.int32]:
    """Numbers of cells, the same where histories and visits are alike."""
    n, d, n_visits = cells.shape
    about = visits.transpose(1, 2, 0).reshape(n, -1)
    rows = np.unique(about, axis=0, return_inverse=True)[1].reshape(n, 1)
    codes = np.unique(cells.reshape(n * d, n_visits), axis=0, return_inverse=True)[1].reshape(n, d)
    return np.unique(rows * (codes.max() + 1) + codes, return_inverse=True)[1].reshape(n, d).astype(np.int32)


def visit_weights(d: Floats, survey: Visited) -> Floats:
    """What the hazards of an average visit are multiplied by, N x V."""
    weights: Floats = np.exp(np.clip(np.einsum("p,pnv->nv", d, survey.visits), -9.0, 9.0))
    return weights


@dataclass
class State:
    """One draw of everything."""

    a: Floats
    log_h: Floats
    g: Floats
    b: float
    c: float
    d: Floats
    mean_a: float
    sd_a: float
    mean_h: float
    sd_h: float
    sd_g: float


class Draws(NamedTuple):
    """What the sampler keeps, S draws of each, and how well the ideas fit.

    Attributes
    ----------
    abundance : bool array of shape (S,)
        Whether species are missed because they are few ("abundance").
    a, log_h : float array of shape (S, D)
        Of the species.
    g : float array of shape (S, N)
        Of the sites.
    common : float array of shape (S, 2 + P)
        b, c, and the coefficients of the visits' covariates.
    groups : float array of shape (S, 5)
        Means and standard deviations of a and log h, standard deviation of g.
    criteria : float array of shape (2, N)
        For "presence" and "abundance" the widely applicable information criterion of the sites (Watanabe 2010) as
        expected log-likelihood of new cells; -inf where an idea was not tried.
    """

    abundance: NDArray[np.bool_]
    a: Floats
    log_h: Floats
    g: Floats
    common: Floats
    groups: Floats
    criteria: Floats


def posterior(
    survey: Visited, rng: np.random.Generator, ideas: tuple[Idea, ...] = IDEAS, log_h: Floats | None = None
) -> Draws:
    """Draw from the posterior of each idea, and mix the draws by how well the ideas predict.

    The criterion decides, with the sites drawn again by Bayes' bootstrap: an idea that is better by a few sites alone
    doesn't exclude the other (Yao, Vehtari, Simpson and Gelman 2018, "pseudo-BMA+").

    Parameters
    ----------
    survey : Visited
        The data.
    rng : Generator
        Its state is advanced.
    ideas : tuple of str
        Those to try.
    log_h : float array of shape (D,), optional
        Logarithms of the hazards, if they are known.

    Returns
    -------
    Draws
        About `N_KEPT`, of each idea as many as its share.
    """
    found = [sample(survey, idea, rng, log_h) for idea in ideas]
    by_site = np.array([draws.criteria[IDEAS.index(idea)] for draws, idea in zip(found, ideas, strict=True)])
    criteria = len(survey.weight) * rng.dirichlet(np.ones(len(survey.weight)), N_BOOTSTRAP) @ by_site.T
    criteria -= CLEARLY * np.array([idea == "abundance" for idea in ideas])
    counts = np.round(N_KEPT * softmax(criteria, axis=1).mean(axis=0)).astype(int)
    picked = [np.linspace(0, N_KEPT - 1, count).astype(int) for count in counts]
    mixed = [
        np.concatenate([np.asarray(getattr(draws, name))[pick] for draws, pick in zip(found, picked, strict=True)])
        for name in Draws._fields[:-1]
    ]
    criteria = np.max([draws.criteria for draws in found], axis=0)
    return Draws(**dict(zip(Draws._fields, [*mixed, criteria], strict=True)))


def sample(survey: Visited, idea: Idea, rng: np.random.Generator, log_h: Floats | None = None) -> Draws:
    """Draw from the posterior.

    Parameters
    ----------
    survey : Visited
        The data.
    idea : "abundance" or "presence"
        Why species are missed.
    rng : Generator
        Its state is advanced.
    log_h : float array of shape (D,), optional
        Logarithms of the hazards, if they are known.

    Returns
    -------
    Draws
        `N_KEPT` of them.
    """
    chain = _Chain(survey, idea, rng, log_h)
    for sweep in range(N_BURN):
        chain.sweep(tuning=1 / np.sqrt(1 + sweep / 10))
    kept: list[tuple[Floats, ...]] = []
    seen, mean, squares = (np.zeros_like(chain.cells) for _ in range(3))
    for sweep in range(N_KEPT * THIN):
        chain.sweep()
        if sweep % THIN == THIN - 1:
            kept.append(chain.snapshot())
            cells = chain.cells
            seen, mean, squares = seen + np.exp(cells), mean + cells, squares + cells**2
    mean, squares = mean / N_KEPT, squares / N_KEPT
    by_cell = np.log(seen / N_KEPT) - (squares - mean**2)
    a, h, g, common, groups = map(np.array, zip(*kept, strict=True))
    criteria = np.where(np.array(IDEAS)[:, None] == idea, survey.weight * by_cell.sum(axis=1), -np.inf)
    return Draws(np.full(N_KEPT, idea == "abundance"), a, h, g, common, groups, criteria)


class _Chain:
    def __init__(self, survey: Visited, idea: Idea, rng: np.random.Generator, log_h: Floats | None) -> None:
        self.survey, self.idea, self.rng = survey, idea, rng
        self.known = log_h is not None
        n, d, _ = survey.cells.shape
        self.state = _start(survey, log_h)
        self.moves = list(self._common_moves())
        self.steps = np.full(len(self.moves), np.log(0.1))
        self.site_steps = np.full(n, np.log(0.3))
        self.own_steps = np.full((3, d), np.log(0.5))
        self.cells = np.zeros((n, d))
        self.by_species = self._likelihood(self.state)
        self.cells = self.proposed

    def _likelihood(self, s: State) -> Floats:
        survey = self.survey
        eta = s.a + s.b * survey.score + (s.c * survey.site + s.g)[:, None]
        weight = visit_weights(s.d, survey)
        self.proposed = np.empty_like(eta)
        history_pass(
            eta,
            survey.cells,
            survey.kinds,
            survey.n_kinds,
            weight,
            np.exp(np.minimum(s.log_h, 5.0)),
            self.idea == "abundance",
            self.proposed,
        )
        result: Floats = survey.weight @ self.proposed
        return result

    def sweep(self, tuning: float = 0.0) -> None:
        self._species_step(tuning)
        self._site_step(tuning)
        for _ in range(2):
            self._common_step(tuning)
        self._groups()

    def _species_step(self, tuning: float) -> None:
        """Each species moves for itself: its occupancy, its hazard, or both against each other."""
        s, d = self.state, len(self.state.a)
        which = 0 if self.known else int(self.rng.integers(3))
        move = self.rng.normal(size=d) * np.exp(self.own_steps[which])
        new = State(**vars(s))
        new.a = s.a + (move if which != 1 else 0)
        new.log_h = s.log_h + (0 if which == 0 else move if which == 1 else -move)
        found = self._likelihood(new)
        ratio = found - self.by_species + _own_prior(new) - _own_prior(s)
        taken = np.log(self.rng.random(d)) < ratio
        s.a, s.log_h = np.where(taken, new.a, s.a), np.where(taken, new.log_h, s.log_h)
        self.by_species = np.where(taken, found, self.by_species)
        self.cells = np.where(taken, self.proposed, self.cells)
        self.own_steps[which] += tuning * (np.minimum(1, np.exp(np.minimum(ratio, 0))) - 0.4)

    def _site_step(self, tuning: float) -> None:
        s, n = self.state, len(self.state.g)
        new = State(**vars(s))
        new.g = s.g + self.rng.normal(size=n) * np.exp(self.site_steps)
        self._likelihood(new)
        change = self.survey.weight * (self.proposed - self.cells).sum(axis=1)
        ratio = change + (s.g**2 - new.g**2) / (2 * s.sd_g**2)
        taken = np.log(self.rng.random(n)) < ratio
        s.g = np.where(taken, new.g, s.g)
        self.cells = np.where(taken[:, None], self.proposed, self.cells)
        self.by_species = self.survey.weight @ self.cells
        self.site_steps += tuning * (np.minimum(1, np.exp(np.minimum(ratio, 0))) - 0.4)

    def _common_step(self, tuning: float) -> None:
        m = int(self.rng.integers(len(self.moves)))
        s, new = self.state, State(**vars(self.state))
        jacobian = self.moves[m](new, self.rng.normal() * np.exp(self.steps[m]))
        found = self._likelihood(new)
        ratio = found.sum() - self.by_species.sum() + _common_prior(new) - _common_prior(s) + jacobian
        if np.log(self.rng.random()) < ratio:
            self.state, self.by_species, self.cells = new, found, self.proposed
        self.steps[m] += tuning * (min(1.0, np.exp(min(ratio, 0.0))) - 0.4)

    def _common_moves(self) -> Iterator[Callable[[State, float], float]]:
        """Moves of what all species share; each changes a state and returns the log of its Jacobian."""

        def slope(s: State, e: float) -> float:
            s.b += e
            return 0.0

        def levels(s: State, e: float) -> float:
            s.log_h, s.mean_h, s.a, s.mean_a = s.log_h + e, s.mean_h + e, s.a - e, s.mean_a - e
            return 0.0

        def hazards(s: State, e: float) -> float:
            s.log_h, s.mean_h = s.log_h + e, s.mean_h + e
            return 0.0

        def distances(s: State, e: float) -> float:
            s.log_h, s.sd_h = s.mean_h + (s.log_h - s.mean_h) * np.exp(e), s.sd_h * np.exp(e)
            return e * (len(s.log_h) + 1)

        def effort(s: State, e: float) -> float:
            s.c += e
            return 0.0

        def covariate(p: int) -> Callable[[State, float], float]:
            def move(s: State, e: float) -> float:
                s.d = s.d.copy()
                s.d[p] += e
                return 0.0

            return move

        yield slope
        if not self.known:
            yield from (levels, hazards, distances)
        if self.survey.site.any():
            yield effort
        yield from (covariate(p) for p in range(len(self.state.d)))

    def _groups(self) -> None:
        s, rng = self.state, self.rng
        s.sd_g = _spread(s.g, rng, 1.0)
        s.mean_a, s.sd_a = _group(s.a, s.sd_a, rng, 2.0)
        if not self.known:
            s.mean_h, s.sd_h = _group(s.log_h, s.sd_h, rng, 1.0, (_USUAL_HAZARD, _HAZARD_SD))

    def snapshot(self) -> tuple[Floats, ...]:
        s = self.state
        groups = np.array([s.mean_a, s.sd_a, s.mean_h, s.sd_h, s.sd_g])
        return s.a, s.log_h, s.g, np.array([s.b, s.c, *s.d]), groups


def _start(survey: Visited, log_h: Floats | None) -> State:
    """Frequencies of what was seen, and of what was seen again."""
    cells, d = survey.cells, survey.cells.shape[1]
    n_seen, n_visits = (cells == 1).sum(axis=2), (cells >= 0).sum(axis=2)
    ever = ((n_seen > 0).sum(axis=0) + 0.5) / ((n_visits > 0).sum(axis=0) + 1)
    several = (n_seen > 0) & (n_visits > 1)
    again = ((n_seen - 1)[several].sum() + 0.5) / ((n_visits - 1)[several].sum() + 1)
    h = np.full(d, np.log(-np.log1p(-again))) if log_h is None else log_h
    a = np.log(-np.log1p(-ever))
    groups = a.mean(), max(a.std(), 0.1), h.mean(), 0.5, 0.3
    return State(a, h, np.zeros(len(cells)), 1.0, 0.0, np.zeros(len(survey.visits)), *groups)


def _own_prior(s: State) -> Floats:
    result: Floats = -0.5 * (((s.a - s.mean_a) / s.sd_a) ** 2 + ((s.log_h - s.mean_h) / s.sd_h) ** 2)
    return result


def _common_prior(s: State) -> float:
    """b, c and d are about 1, 0 and 0 with a standard deviation of 1; standard deviations are half-normal."""
    own = float(_own_prior(s).sum()) - len(s.log_h) * np.log(s.sd_h)
    common = -0.5 * ((s.b - 1) ** 2 + s.c**2 + float(s.d @ s.d) + s.sd_h**2)
    common -= 0.5 * ((s.mean_h - _USUAL_HAZARD) / _HAZARD_SD) ** 2
    return own + common


def _group(
    values: Floats, sd: float, rng: np.random.Generator, scale: float, prior: tuple[float, float] = (0.0, 10.0)
) -> tuple[float, float]:
    """A draw of the mean (normal prior) and the standard deviation (half-normal, on a grid) of normal `values`."""
    precision = len(values) / sd**2 + prior[1] ** -2
    centre = (values.sum() / sd**2 + prior[0] * prior[1] ** -2) / precision
    mean = rng.normal(centre, precision**-0.5)
    return mean, _spread(values - mean, rng, scale)


def _spread(values: Floats, rng: np.random.Generator, scale: float) -> float:
    """A draw of the standard deviation of values about 0."""
    log_density = -(len(values) - 1) * np.log(_SPREADS) - float(values @ values) / (2 * _SPREADS**2)
    log_density -= 0.5 * (_SPREADS / scale) ** 2
    share = np.cumsum(np.exp(log_density - log_density.max()))
    return float(_SPREADS[np.searchsorted(share, rng.random() * share[-1])])
