"""How well correlations of a model agree with rows: pair by pair, segment by segment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from latentbits.correlations.pair_tables import standard_errors, table_probabilities
from latentbits.correlations.tetrachoric import Tetrachoric, pair_counts
from latentbits.data.binary_data import BinaryData

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GoodnessOfFit", "compare_pairs", "pair_score"]

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
        from latentbits.plots.pair_fit import plot_pair_fit

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
