"""SampledModel: chains in place of climbs, and the evidence by integration over temperatures.

The log evidence by thermodynamic integration: from the prior to the posterior by a ladder of temperatures.

At temperature tau the causes have the density p(X | z)^tau p(z) / Z(tau), and d log Z / d tau is the mean of
log p(X | z). So log p(X) = log Z(1) is its integral over tau from 0 to 1.

All this at a given gamma. Where gamma has a prior, log p(X) = log p(X | gamma) + log p(gamma) - log p(gamma | X) at any
gamma (Chib 1995), here the posterior median. (Along the ladder gamma would hardly move: given the causes of many cells
it is known to a few per cent, while its prior spans powers of ten.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.chains import LEAST_DRAWS, Length
from latentbits.fitting.restarts import Restart, Runner
from latentbits.fitting.rows import safe_log
from latentbits.fitting.workers import Progress, Workers, n_workers, stopped_together
from latentbits.models.aspect import Inference
from latentbits.models.aspect.aspect_model import AspectModel, Components
from latentbits.models.aspect.gibbs import (
    COLDEST,
    LIMITS,
    SPREAD,
    STEPS,
    Chain,
    Posterior,
    Sampler,
    chain_components,
    pool,
    solve_sampled_weights,
)
from latentbits.models.aspect.noise_components import CONTENT, NO_NOISE, NoiseComponents
from latentbits.models.aspect.variational import FIRST_GAMMA, Prior
from latentbits.models.sampling import chains_agree, repeated_cells
from latentbits.models.solved_rows import RowSolver
from latentbits.numerics import check_number
from latentbits.wording import counted

if TYPE_CHECKING:
    from latentbits.models.aspect.aspect_rows import AspectRows

LEVELS = np.linspace(0, 1, 25) ** 3
"""Dense near 0, where the mean changes most."""

BATCHES = 10

GAMMA_BURN, GAMMA_THIN, GRID = 2, 3, 1000
"""Of the chains that find the posterior of gamma: so many times `n_sweeps` before the first draw, and sweeps from one
to the next. Points of the grid on which its density is normalised."""


class Evidence(float):
    """A log evidence with its standard error; otherwise a float.

    Parameters
    ----------
    value : float
        The log evidence.
    error : float
        Its standard error: `batch_error`, half of `up` - `down`, and the spread of the runs, whichever is largest,
        and what the grid of temperatures may miss.
    up : float
        The mean of the integrals on the way from the prior to the posterior.
    down : float
        The same on the way back; they differ if the sweeps are too few for the chains to follow the temperature.
    batch_error : float
        The error by the means of successive batches of sweeps alone.

    Examples
    --------
    >>> from latentbits import BetaICA, simulate
    >>> X = simulate.aspect_bernoulli(30, 6, 2, random_state=0).X
    >>> one, two = (BetaICA(K, inference="gibbs", n_init=2, random_state=0).fit(X).log_evidence(X) for K in (1, 2))
    >>> one.error, 0 < two.error < 1
    (0.0, True)
    """

    error: float
    up: float
    down: float
    batch_error: float

    def __new__(cls, value: float, *, error: float, up: float, down: float, batch_error: float) -> Evidence:
        made = super().__new__(cls, value)
        made.error, made.up, made.down, made.batch_error = error, up, down, batch_error
        return made

    def __repr__(self) -> str:
        return f"{float(self):.7g} +- {self.error:.2g}"

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (float(self), self.error, self.up, self.down, self.batch_error)


def _restored(value: float, error: float, up: float, down: float, batch_error: float) -> Evidence:
    return Evidence(value, error=error, up=up, down=down, batch_error=batch_error)


class _Level(NamedTuple):
    """Mean and variance of log p(X | z) at a temperature, and the mean's standard error."""

    mean: float
    variance: float
    error: float


def log_evidence(
    cells: np.ndarray,
    n_components: int,
    prior: Prior,
    seeds: list[int],
    n_sweeps: int,
    workers: Workers,
    fixed: np.ndarray | None = None,
    *,
    verbose: bool = False,
) -> Evidence:
    """The log evidence of a table; parameters as of `integrate`, but the prior's gamma may be None: it has a prior."""
    if prior.gamma is not None or n_components == 1:
        return integrate(cells, n_components, prior, seeds, n_sweeps, workers, fixed, verbose=verbose)
    sampled = workers.map(lambda seed: _gamma_chain(cells, n_components, prior, seed, n_sweeps, fixed), seeds)
    log_gammas = np.concatenate([part[0] for part in sampled])
    at = float(np.median(log_gammas))
    observed = np.sum(cells >= 0, axis=1)
    densities = [gamma_density(at, log_gammas, part[1], observed, n_components) for part in sampled]
    density = float(np.log(np.mean(densities)))
    batches = np.concatenate([[part.mean() for part in np.array_split(one, BATCHES)] for one in densities])
    error = float(batches.std(ddof=1) / np.sqrt(len(batches)) / batches.mean())
    given = integrate(
        cells, n_components, prior._replace(gamma=np.exp(at)), seeds, n_sweeps, workers, fixed, verbose=verbose
    )
    shift = float(norm.logpdf(at, scale=SPREAD)) - density
    return Evidence(
        given + shift,
        error=float(np.hypot(given.error, error)),
        up=given.up + shift,
        down=given.down + shift,
        batch_error=float(np.hypot(given.batch_error, error)),
    )


def _gamma_chain(
    cells: np.ndarray, n_components: int, prior: Prior, seed: int, n_sweeps: int, fixed: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """log gamma after some sweeps of a chain, and how many c_ik were above m = 0, 1, ... after each of them."""
    chain = Chain(cells, n_components, prior, np.random.default_rng(seed), fixed)
    for tau in np.linspace(COLDEST, 1.0, STEPS):
        chain.sweep(n_sweeps // STEPS + 1, float(tau))
    chain.sweep(GAMMA_BURN * n_sweeps)
    log_gammas, above = [], []
    for _ in range(n_sweeps):
        chain.sweep(GAMMA_THIN)
        log_gammas.append(np.log(chain.gamma))
        counts = np.bincount(chain.of_rows.ravel(), minlength=cells.shape[1] + 1)
        above.append(counts[::-1].cumsum()[::-1][1:])
    return np.array(log_gammas), np.array(above)


def gamma_density(
    at: float, log_gammas: np.ndarray, above: np.ndarray, observed: np.ndarray, n_components: int
) -> np.ndarray:
    """The density of log gamma there, given the causes of each of S sweeps; their mean is that of the posterior.

    Parameters
    ----------
    at : float
    log_gammas : ndarray
        Draws, between which (and somewhat beyond) the density is.
    above : ndarray of shape (S, D)
        How many c_ik are above m = 0, 1, ...
    observed : ndarray of shape (N,)
        Observed cells of each row.
    n_components : int

    Returns
    -------
    ndarray of shape (S,)
    """
    low, high = np.log(LIMITS)
    beyond = np.ptp(log_gammas) + 0.5
    grid = np.linspace(max(low, log_gammas.min() - beyond), min(high, log_gammas.max() + beyond), GRID)
    m = np.arange(above.shape[1])
    of_rows = np.sum(observed[:, None] > m, axis=0)

    def log_density(log_gamma: np.ndarray) -> np.ndarray:
        gamma = np.exp(log_gamma)[:, None]
        shared = np.log(n_components * gamma + m) @ of_rows + 0.5 * (log_gamma / SPREAD) ** 2
        return np.log(gamma + m) @ above.T - shared[:, None]

    norms = logsumexp(log_density(grid), axis=0) + np.log(grid[1] - grid[0])
    density: np.ndarray = np.exp(log_density(np.array([at]))[0] - norms)
    return density


def integrate(
    cells: np.ndarray,
    n_components: int,
    prior: Prior,
    seeds: list[int],
    n_sweeps: int,
    workers: Workers,
    fixed: np.ndarray | None = None,
    *,
    verbose: bool = False,
) -> Evidence:
    """The log evidence of a table, from one run up and down the ladder for each seed; Ctrl-C ends all runs.

    Parameters
    ----------
    cells : ndarray of int8, shape (N, D)
        Below 0 where missing.
    n_components : int
    prior : Prior
    seeds : list of int
    n_sweeps : int
        At each temperature, of which the first third isn't counted.
    workers : Workers
    fixed : ndarray of shape (K, D), optional
        As in `Chain`.
    verbose : bool
        Whether to show a bar, a step for each temperature of each run.
    """
    if n_components == 1:  # there is one way to cause the cells, so nothing to integrate over
        exact = float(Chain(cells, 1, prior, np.random.default_rng(0), fixed).sweep(1)[0])
        return Evidence(exact, error=0.0, up=exact, down=exact, batch_error=0.0)

    n_visits = 2 * len(LEVELS) * len(seeds)
    with stopped_together() as stopped, Progress("Integrating", n_visits, show=verbose) as progress:

        def visit(chain: Chain, tau: float) -> _Level:
            if stopped.is_set():
                raise KeyboardInterrupt
            level = _visit(chain, tau, n_sweeps)
            progress.finished_one()
            return level

        def one(seed: int) -> tuple[list[_Level], list[_Level]]:
            chain = Chain(cells, n_components, prior, np.random.default_rng(seed), fixed)
            up = [visit(chain, tau) for tau in LEVELS]
            down = [visit(chain, tau) for tau in LEVELS[::-1]]
            return up, down[::-1]

        try:
            ways = np.array(workers.map(one, seeds))  # run, direction, level, (mean, variance, error)
        except KeyboardInterrupt:
            stopped.set()  # ends the runs on other threads at their next temperature
            raise
    values = np.array([[_integral(way) for way in run] for run in ways])
    batch = float(np.sqrt((np.square(_widths() * ways[..., 2])).sum())) / values.size
    up, down = values.mean(axis=0)
    between = values.mean(axis=1).std(ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else 0.0
    error = np.hypot(max(batch, abs(up - down) / 2, between), _grid_error(ways.mean(axis=(0, 1))))
    return Evidence(float(values.mean()), error=float(error), up=float(up), down=float(down), batch_error=batch)


def _visit(chain: Chain, tau: float, n_sweeps: int) -> _Level:
    chain.sweep(n_sweeps // 3, tau)
    trace = chain.sweep(n_sweeps - n_sweeps // 3, tau)
    means = np.array([part.mean() for part in np.array_split(trace, BATCHES)])
    return _Level(float(trace.mean()), float(trace.var()), float(means.std(ddof=1) / np.sqrt(BATCHES)))


def _integral(way: np.ndarray) -> float:
    """The trapezoidal rule, corrected by the curve's slopes at the levels, which are the variances (Friel 2014)."""
    step = np.diff(LEVELS)
    return float(_widths() @ way[:, 0] - step**2 @ np.diff(way[:, 1]) / 12)


def _grid_error(way: np.ndarray) -> float:
    """How far the rule is off between the levels: its change if every other level is left out, a sixteenth of it.

    (The corrected rule is of fourth order.)
    """
    mean, variance = way[::2, 0], way[::2, 1]
    step = np.diff(LEVELS[::2])
    coarse = step @ (mean[1:] + mean[:-1]) / 2 - step**2 @ np.diff(variance) / 12
    return abs(_integral(way) - float(coarse)) / 16


def _widths() -> np.ndarray:
    """How much each level counts in the trapezoidal rule."""
    step = np.diff(LEVELS)
    return (np.append(step, 0) + np.append(0, step)) / 2


# ---- the model that is sampled -----------------------------------------------------------------------------------

INSTEAD = 'fit with inference="vb"'
"""What weights that can't be sampled are advised to."""

RUNS, LEAST_SWEEPS = 2, 30
"""Of the integration over temperatures: runs up and down, and sweeps without which batches would be single sweeps."""


class SampledModel(AspectModel):
    """An aspect model that may have posterior samples; then a row's coordinates are S x K, weights for each sample."""

    inference: Inference
    alpha: float
    beta: float
    gamma: float | None
    n_samples: int
    n_burn: int
    thin: int
    _samples: Posterior | None

    # ---- fitting -------------------------------------------------------------------------------------------------

    @property
    def _prior(self) -> Prior:
        return Prior(self.alpha, self.beta, self.gamma)

    def _runner_maker(
        self, data: BinaryData, row_weight: np.ndarray, noise: NoiseComponents = NO_NOISE
    ) -> Callable[[Workers], Runner[Any]]:
        if self.inference != "gibbs":
            return super()._runner_maker(data, row_weight, noise)
        if not isinstance(data, BinaryData):
            raise DataError('chains are not sampled on a cluster (--cluster); leave it out, or use inference="vb"')
        for given in ("batch_size", "warm_start"):
            if getattr(self, given):
                self._check_batches(given)
        if self.checkpoint is not None:
            raise DataError('chains keep no checkpoint; leave it out (--checkpoint), or fit with inference="vb"')
        if noise.kinds and noise.rate is None:
            raise DataError('sampling learns no noise_rate; give a number such as 0.001, or fit with inference="vb"')
        length = Length(self.n_burn, self.n_samples, self.thin)
        fixed = noise.after(np.full((self.n_components, data.shape[1]), np.nan))
        sampler = Sampler(repeated_cells(data, row_weight, INSTEAD), len(fixed), self._prior, length, fixed)
        return lambda workers: sampler.run

    def _check_batches(self, given: str) -> None:
        if self.inference == "gibbs":
            raise DataError(f'chains sample the causes of all rows together, without {given}; use inference="vb"')

    def _runs_with(
        self, name: str, data: BinaryData, row_weight: np.ndarray, rng: np.random.Generator
    ) -> tuple[Restart[Any], list[Restart[Any]]]:
        """Without chains that were interrupted before they had samples to be compared: burn-in is no posterior."""
        best, runs = super()._runs_with(name, data, row_weight, rng)
        if self.inference != "gibbs":
            return best, runs
        enough = self.n_burn + self.thin * min(LEAST_DRAWS, self.n_samples)
        sampled = [run for run in runs if run.n_iter >= enough] or runs
        return max(sampled, key=lambda run: run.objective), sampled

    def _ran_out(self, run: Restart[Any]) -> bool:
        """Chains have a length of their own, not `max_iter`."""
        return self.inference != "gibbs" and super()._ran_out(run)

    @property
    def _if_interrupted(self) -> str:
        return "these are the samples of {} chains so far" if self.inference == "gibbs" else super()._if_interrupted

    def _keep(self, state: Any, row_weight: np.ndarray, noise: NoiseComponents = NO_NOISE) -> Components:
        if self.inference != "gibbs":
            return super()._keep(state, row_weight, noise)
        return self._with_kinds(chain_components(state, self._prior, len(noise)), noise)

    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        if self.inference != "gibbs":
            super()._adopt(best, runs)
            return
        number = next(n for n, run in enumerate(runs) if run is best)
        n_noise = len(best.kept.mean) - self.n_components
        pooled, posterior = pool([run.state for run in runs], number, self._prior, n_noise)
        pooled = pooled._replace(kinds=best.kept.kinds)  # noise components are the last of each chain
        super()._adopt(replace(best, kept=pooled), runs)
        self._samples = posterior.take(np.argsort(-pooled.share, kind="stable"))
        self.converged_ = chains_agree(posterior.largest_r_hat) and bool(best.converged)

    def _set_components(self, components: Components, runs: Sequence[Restart[Any]]) -> None:
        self._samples = None
        super()._set_components(components, runs)

    def _row_solver(self) -> RowSolver:
        if self._posterior is None:
            return super()._row_solver()
        return partial(solve_sampled_weights, H=self._posterior.H, gamma=self._sampled_gamma(self._posterior))

    def _sampled_gamma(self, posterior: Posterior) -> np.ndarray:
        """gamma of every sample: the samples' own, unless it is given."""
        if self.gamma is None and posterior.gamma is not None:
            return posterior.gamma
        return np.full(len(posterior.H), FIRST_GAMMA if self.gamma is None else float(self.gamma))

    # ---- answers -------------------------------------------------------------------------------------------------

    @property
    def _posterior(self) -> Posterior | None:
        return getattr(self, "_samples", None)  # models stored by earlier versions have no such attribute

    @property
    def r_hat_(self) -> dict[str, np.ndarray] | None:
        """Rank-normalised split R-hat of chains, by the name of the quantity."""
        return None if self._posterior is None else self._posterior.r_hat

    @property
    def ess_(self) -> dict[str, np.ndarray] | None:
        """Bulk effective sample sizes, by the name of the quantity."""
        return None if self._posterior is None else self._posterior.ess

    def _as_weights(self, coordinates: np.ndarray) -> np.ndarray:
        if coordinates.ndim == 2:
            return super()._as_weights(coordinates)
        mean = coordinates.mean(axis=1, dtype=np.float64)
        return mean / mean.sum(axis=1, keepdims=True)

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        if W.ndim == 2:
            return super()._probabilities(W)
        return np.clip(self._mixed(W), 0.0, 1.0)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if W.ndim == 2:
            return super()._log_probabilities(W)
        P = self._mixed(W)
        return safe_log(P), safe_log(1 - P)

    def _mixed(self, W: np.ndarray) -> np.ndarray:
        """The mean over samples of weights times components: N x S x K and S x K x D to N x D."""
        assert self._posterior is not None
        H = self._posterior.H
        return W.reshape(len(W), -1).astype(np.float64) @ H.reshape(-1, H.shape[2]).astype(np.float64) / len(H)

    @property
    def _ensemble(self) -> str:
        return super()._ensemble if self._posterior is None else "posterior samples"

    def _members(self, rows: AspectRows) -> Iterator[tuple[Components, np.ndarray, np.ndarray]]:
        """Every sample is a member of the ensemble."""
        posterior = self._posterior
        if posterior is None:
            yield from super()._members(rows)
            return
        is_content = (self.phantoms_ == CONTENT).astype(float)
        for s, H in enumerate(posterior.H):
            yield Components(H, H, 1 - H, self._components.share), rows.coordinates[:, s], is_content

    def _integrated_evidence(self, X: Any, n_sweeps: int) -> Evidence:
        if X is None:
            raise DataError('log_evidence by "ti" samples the causes of the training data again; give them: X')
        check_number("n_sweeps", n_sweeps, least=LEAST_SWEEPS, integer=True)
        data = self._data(X)
        if data.shape[0] != len(self.row_weight_):
            raise DataError(
                f"X has {counted(data.shape[0], 'row')}, but the model was fitted to {len(self.row_weight_)}; "
                "give the training data"
            )
        cells = repeated_cells(data, self.row_weight_, INSTEAD)
        # From the seed of the first start: asking twice gives the same answer, whatever `random_state` is.
        seeds = np.random.default_rng([int(self.restarts_["seed"][0]), len(self.components_)]).integers(
            2**31, size=RUNS
        )
        with Workers(n_workers(self.n_jobs)) as workers:
            return log_evidence(
                cells,
                len(self.components_),
                self._prior,
                seeds.tolist(),
                n_sweeps,
                workers,
                self._known_components(),
                verbose=bool(self.verbose),
            )

    def _known_components(self) -> np.ndarray:
        """Probabilities of a 1 of the noise components; NaN for the others."""
        kinds = self._components.kinds
        free = np.ones(len(self.components_), dtype=bool) if kinds is None else kinds == CONTENT
        return np.where(free[:, None], np.nan, self.components_)

    def to_arviz(self) -> Any:
        """The samples as ArviZ' InferenceData, for its plots and diagnostics (`inference="gibbs"` only).

        Returns
        -------
        arviz.InferenceData
            With the posterior of "components" (labels aligned) and of "cells", the probabilities of some cells spread
            over the table; and the sample statistic "lp", log p(X | causes). Chains are cut to the shortest.
        """
        check_is_fitted(self)
        if self._posterior is None:
            raise DataError('there are no posterior samples to give to ArviZ; fit with inference="gibbs"')
        try:
            import arviz  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ImportError("to_arviz needs the package arviz; install it (pip install arviz)") from None
        draws = self._posterior.by_chain()
        named = {name: draws[name] for name in ("components", "cells")}
        return arviz.from_dict(posterior=named, sample_stats={"lp": draws["log_likelihood"]})
