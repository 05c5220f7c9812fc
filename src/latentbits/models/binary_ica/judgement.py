"""How well a fitted model agrees with rows, pair by pair, and how certain it is: intervals from bootstrap refits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from latentbits.correlations.pairs import standard_errors, table_probabilities
from latentbits.correlations.parallel_analysis import average_correlations, log_noise_variance
from latentbits.correlations.tetrachoric import Tetrachoric, pair_counts
from latentbits.data.binary_data import BinaryData

if TYPE_CHECKING:
    from matplotlib.figure import Figure


from functools import partial
from itertools import combinations, pairwise

from scipy.optimize import linear_sum_assignment
from scipy.special import ndtri

from latentbits.fitting.climb import Monitor
from latentbits.fitting.workers import run_all
from latentbits.models.binary_ica import matched
from latentbits.models.binary_ica.learners import (
    FINE,
    MergedColumns,
    pairs_beyond_sources,
    segment_correlations,
    without_pairs,
)
from latentbits.models.binary_ica.parameters import Parameters, Prior

SURE = 1e-3
"""Probabilities of cells of a table are kept this far from 0: one row must not decide a comparison."""

THIN = 1.0
"""Pairs of which the model expects fewer rows than this in a cell of the table have no z: normal errors fail there."""

FAR = 3.0
"""A z beyond this is rare if the model is right: 0.3 % of pairs."""


def pair_score(data: BinaryData, codes: np.ndarray, thresholds: np.ndarray, correlations: np.ndarray) -> float:
    """The mean over rows and pairs of columns of the log probability of the two cells, segments given."""
    total, seen = 0.0, 0.0
    left, right = np.triu_indices(data.shape[1], 1)
    for u in np.unique(codes):
        counts = pair_counts(data, np.ones(data.shape[0]), np.flatnonzero(codes == u))[:, left, right]
        h = -thresholds[u]
        P = table_probabilities(h[left], h[right], correlations[u, left, right])
        total += float((counts * np.log(np.maximum(P.T, SURE))).sum())
        seen += float(counts.sum())
    return total / max(seen, 1.0)


@dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """Result of `BinaryICA.goodness_of_fit`.

    Attributes
    ----------
    rms_z : float or None
        Root mean square of z = (r - rho) / SE over pairs and segments: near 1 (0.7 to 1.1 in simulations) if the model
        is right, clearly more if sources are missing and segments have some 100 rows or more; None without any z.
    beyond_3 : float or None
        Share of pairs with \\|z\\| above 3; 0.003 if the model is right.
    n_pairs : int
        How many pairs and segments have a z.
    n_thin : int
        How many have none: a column is constant, or the model expects less than one row in a cell of the table.
    pairs : DataFrame
        A line for each pair and segment with a z, the worst first: segment, left, right, r, rho, se, z and n.

    Examples
    --------
    >>> from latentbits import BinaryICA, simulate
    >>> X = simulate.binary_ica(200, 6, 2, 5, random_state=0).X
    >>> fit = BinaryICA(2, n_init=1, random_state=0).fit(X, segments=5).goodness_of_fit(X, 5)
    >>> fit.rms_z < 1.1, fit.n_pairs + fit.n_thin
    (True, 75)
    """

    rms_z: float | None
    beyond_3: float | None
    n_pairs: int
    n_thin: int
    pairs: pd.DataFrame

    def plot(self) -> Figure:
        """Plot the z of all pairs beside the normal distribution, and which columns they belong to.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from latentbits.plots.mixing import plot_pair_fit

        return plot_pair_fit(self)

    def __repr__(self) -> str:
        if self.rms_z is None:
            return f"GoodnessOfFit(nothing to compare, {self.n_thin:,} pairs with too few rows)"
        return f"GoodnessOfFit(rms z {self.rms_z:.2f}, {self.beyond_3:.1%} beyond 3, {self.n_pairs:,} pairs)"


def compare_pairs(found: Tetrachoric, correlations: np.ndarray, names: list[str]) -> GoodnessOfFit:
    """z of all pairs of columns in all segments; standard errors are those that the model's correlations would have."""
    assert found.segments is not None
    left, right = np.triu_indices(len(names), 1)
    r, rho, n = (part[:, left, right] for part in (found.correlations, correlations, found.n_pairs))
    h = -found.thresholds
    P = table_probabilities(h[:, left], h[:, right], rho)
    silent = found.constant[:, left] | found.constant[:, right]
    counted = ~silent & ((n[:, :, None] * P).min(axis=2) >= THIN)
    error = standard_errors(h[:, left], h[:, right], rho, np.maximum(n, 1).astype(float))
    u, pair = np.nonzero(counted)
    z = (r[counted] - rho[counted]) / np.maximum(error[counted], 1e-12)
    table = pd.DataFrame(
        {
            "segment": found.segments[u],
            "left": [names[i] for i in left[pair]],
            "right": [names[j] for j in right[pair]],
            "r": r[counted],
            "rho": rho[counted],
            "se": error[counted],
            "z": z,
            "n": n[counted],
        }
    )
    order = np.argsort(-np.abs(z), kind="stable")
    return GoodnessOfFit(
        float(np.sqrt(np.mean(z**2))) if len(z) else None,
        float(np.mean(np.abs(z) > FAR)) if len(z) else None,
        len(z),
        int((~counted).sum()),
        table.iloc[order].reset_index(drop=True),
    )


STEP = 1e-3
"""Of second derivatives by the logarithms of scales."""

SEPARATED = 1.5
"""Two sources are told apart if their `separation` is above this. In simulations with equal variances in all segments
it was 0.2 to 1.3; with others, mixings were mostly within 0.98 of the truth above it, and mostly not below. Of sixty
other sets it named 29 of 30 with equal variances, and none of 30 whose log scales have a standard deviation of 0.4."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """An estimate with its interval, as arrays of the same shape.

    Attributes
    ----------
    estimate : ndarray
        From all rows.
    low : ndarray
        Lower ends.
    high : ndarray
        Upper ends.
    se : ndarray
        Standard errors: how much bootstrap refits spread.

    Examples
    --------
    >>> from latentbits import BinaryICA, simulate
    >>> X = simulate.binary_ica(200, 6, 2, 5, random_state=0).X
    >>> mixing = BinaryICA(2, n_init=1, random_state=0).fit(X, segments=5).bootstrap(X, 5, n_samples=5).mixing
    >>> mixing.estimate.shape, bool((mixing.low <= mixing.high).all())
    ((6, 2), True)
    """

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    se: np.ndarray


@dataclass(frozen=True, eq=False)
class SourceIntervals:
    """Result of `BinaryICA.bootstrap`.

    Attributes
    ----------
    mixing : Intervals
        Of `mixing_`, n_features x n_components.
    variances : Intervals
        Of the sources' variances in the segments, ``source_scales_ ** 2``, n_segments x n_components; symmetric on the
        logarithmic scale, and at least as wide as the posterior under the prior.
    level : float
        What the intervals should cover.
    n_samples : int
        How many fits they come from.
    mixings : ndarray of shape (n_samples, n_features, n_components)
        The mixings of all fits, aligned.
    column_names : list of str or None
        Names of the columns.

    Examples
    --------
    >>> from latentbits import BinaryICA, simulate
    >>> X = simulate.binary_ica(200, 6, 2, 5, random_state=0).X
    >>> found = BinaryICA(2, n_init=1, random_state=0).fit(X, segments=5).bootstrap(X, 5, n_samples=5)
    >>> found.variances.se.shape, found.mixings.shape, found.separation().shape
    ((5, 2), (5, 6, 2), (2, 2))
    """

    mixing: Intervals
    variances: Intervals
    level: float
    n_samples: int
    mixings: np.ndarray
    column_names: list[str] | None = None

    def separation(self) -> np.ndarray:
        """How clearly the variances of two sources change differently from segment to segment.

        That is all that tells two sources apart: where it isn't seen, any rotation of the two fits as well, and
        intervals, which come from fits that begin at one of them, are too narrow.

        Returns
        -------
        ndarray of shape (n_components, n_components)
            Mean square of what the logarithm of their ratio differs by from its average, in standard errors: about 1
            or less by chance, as `confused` judges it; 0 for one segment, and infinite for a source with itself.
        """
        log_v, se = np.log(self.variances.estimate), self.variances.se / self.variances.estimate
        U, m = log_v.shape
        found = np.full((m, m), np.inf)
        for k, j in combinations(range(m), 2):
            gap = log_v[:, k] - log_v[:, j]
            weight = 1 / np.maximum(se[:, k] ** 2 + se[:, j] ** 2, 1e-12)
            away = gap - np.average(gap, weights=weight)
            found[k, j] = found[j, k] = float(weight @ away**2) / max(U - 1, 1)
        return found

    def confused(self) -> list[tuple[int, int]]:
        """Pairs of sources that may be rotations of two others: their `separation` is no more than chance.

        Returns
        -------
        list of (int, int)
            Numbers of sources, from 0.
        """
        pairs = np.argwhere(np.triu(self.separation() < SEPARATED, 1))
        return [(int(k), int(j)) for k, j in pairs]

    def to_frame(self, names: list[str] | None = None) -> pd.DataFrame:
        """The mixing as a table: variable, source, estimate, se, low and high.

        Parameters
        ----------
        names : list of str or None, default=None
            Names of the variables; None means those of the fit, or numbers from 0.

        Returns
        -------
        DataFrame
            A line for each variable and source.
        """
        n, m = self.mixing.estimate.shape
        variables = np.asarray(names or self.column_names or range(n))
        columns = {name: getattr(self.mixing, name).ravel() for name in ("estimate", "se", "low", "high")}
        return pd.DataFrame({"variable": np.repeat(variables, m), "source": np.tile(np.arange(m), n), **columns})

    def __repr__(self) -> str:
        clear = float(np.mean((self.mixing.low > 0) | (self.mixing.high < 0))) if self.mixing.low.size else 0.0
        return f"SourceIntervals({self.n_samples} fits, {self.level:.0%} intervals; {clear:.0%} of the mixing isn't 0)"


def bootstrap_fits(
    data: BinaryData,
    names: np.ndarray,
    codes: np.ndarray,
    fitted: Parameters,
    prior: Prior,
    condition_number: float | None,
    seeds: list[int],
    n_jobs: int | None,
    verbose: bool,
) -> list[Parameters]:
    """A fit for each seed, to rows drawn with replacement within each segment; each starts from the fitted model."""
    if fitted.mixing.shape[1] == 0:
        return [fitted] * len(seeds)
    n_rows = np.bincount(codes).astype(float)
    labels = names[codes]
    found = segment_correlations(data, labels)
    thresholds = found.thresholds
    merged = MergedColumns.of(found, least=fitted.mixing.shape[1])
    left_out = pairs_beyond_sources(merged.correlations(found), n_rows, fitted.mixing.shape[1], prior, condition_number)
    data = merged.data(data)
    order = np.argsort(codes, kind="stable")
    ends = np.concatenate([[0], np.cumsum(n_rows.astype(int))])
    first = matched.start_from(fitted._replace(mixing=fitted.mixing[merged.kept]))

    def one(seed: int) -> Parameters:
        rng = np.random.default_rng(seed)
        weight = np.zeros(len(codes))
        for begin, end in pairwise(ends.tolist()):
            drawn = rng.integers(begin, end, size=end - begin)
            np.add.at(weight, order[drawn], 1.0)
        drawn = without_pairs(segment_correlations(data, labels, weights=weight), left_out)
        statistics = matched.filled(matched.statistics_of(drawn, n_rows, condition_number), first)
        monitor = Monitor(FINE, 2000, float(data.n_observed))
        last = matched.finish if statistics.nugget is not None else matched.climb
        again = matched.parameters_of(last(statistics, prior, first, monitor).state, statistics)
        return aligned(merged.parameters(again, thresholds, n_rows), fitted)

    return run_all([partial(one, seed) for seed in seeds], title="Bootstrap", n_jobs=n_jobs, verbose=verbose)


def log_variance_sd(
    found: Tetrachoric, n_rows: np.ndarray, fitted: Parameters, prior: Prior, condition_number: float | None
) -> np.ndarray:
    """Posterior standard deviations of the logarithms of variances (U, m), the mixing fixed, by Laplace's method.

    Given the mixing, segments have no part in each other, so two gradients for each source give all second derivatives.
    """
    merged = MergedColumns.of(found, least=fitted.mixing.shape[1])
    used = merged.correlations(found)
    left_out = pairs_beyond_sources(used, n_rows, fitted.mixing.shape[1], prior, condition_number)
    used = without_pairs(used, left_out)
    state = matched.start_from(fitted._replace(mixing=fitted.mixing[merged.kept]))
    statistics = matched.filled(matched.statistics_of(used, n_rows, condition_number), state)
    U, m = state.log_s.shape
    curvature = np.zeros((U, m, m))
    for k, step in enumerate(STEP * np.eye(m)):
        ahead, behind = (
            matched.last_objective(state._replace(log_s=state.log_s + sign * step), statistics, prior)[1].log_s
            for sign in (1, -1)
        )
        curvature[:, k] = (behind - ahead) / (2 * STEP)
    values, axes = np.linalg.eigh((curvature + curvature.transpose(0, 2, 1)) / 2)
    # Where the objective bends the other way, half of the prior is what is believed at least.
    values = np.maximum(values, max(prior.log_scales, 1e-3) / 2)
    return np.asarray(2 * np.sqrt((axes**2 / values[:, None, :]).sum(axis=2)))


def windows_differ(
    found: Tetrachoric, data: BinaryData, codes: np.ndarray, *, n_draws: int = 39, n_jobs: int | None = None
) -> float:
    """The p-value of windows of a series: correlations change between them more than between random groups of rows.

    Random groups have the sizes of the windows. What changes is measured by the squares of what correlations differ by
    from their average, each by its information.
    """

    def one(seed: int) -> float:
        return _change(segment_correlations(data, np.random.default_rng(seed).permutation(codes)))

    drawn = run_all([partial(one, seed) for seed in range(n_draws)], title="Windows", n_jobs=n_jobs)
    return (1 + int(np.sum(np.array(drawn) >= _change(found)))) / (1 + n_draws)


def _change(found: Tetrachoric) -> float:
    C = average_correlations(found)
    v = np.exp(np.minimum(log_noise_variance(found.thresholds), 50.0))
    information = np.where(found.constant, 0.0, 1 / v)
    weight = found.n_pairs * information[:, :, None] * information[:, None, :]
    return float(np.sum(weight * (found.correlations - C) ** 2))


def aligned(found: Parameters, like: Parameters) -> Parameters:
    """The same model with its sources in the order, and of the sign, in which they are most like those of another."""
    unit = [A / np.maximum(np.linalg.norm(A, axis=0), 1e-300) for A in (like.mixing, found.mixing)]
    cosine = unit[0].T @ unit[1]
    _, order = linear_sum_assignment(np.abs(cosine), maximize=True)
    sign = np.where(cosine[np.arange(len(order)), order] < 0, -1.0, 1.0)
    return found._replace(
        mixing=found.mixing[:, order] * sign, means=found.means[:, order] * sign, scales=found.scales[:, order]
    )


def variance_intervals(estimate: np.ndarray, samples: np.ndarray, log_sd: np.ndarray, level: float) -> Intervals:
    """Intervals that are symmetric around the logarithms of variances, as wide as the wider of samples and posterior.

    With few rows per segment the prior holds all refits near the estimate, and the posterior is as wide as the prior;
    with many rows refits spread as estimates do, and the quasi-likelihood of correlations understates it a little.
    """
    sd = np.maximum(np.log(samples).std(axis=0, ddof=1), log_sd)
    factor = np.exp(float(ndtri(0.5 + level / 2)) * sd)
    return Intervals(estimate, estimate / factor, estimate * factor, samples.std(axis=0, ddof=1))


def intervals_of(estimate: np.ndarray, samples: np.ndarray, level: float) -> Intervals:
    """Normal intervals around the estimate, as wide as the samples spread.

    Percentiles would need hundreds of samples for their ends, and are off where shrinkage moves samples to one side.
    """
    se = samples.std(axis=0, ddof=1)
    width = float(ndtri(0.5 + level / 2)) * se
    return Intervals(estimate, estimate - width, estimate + width, se)
