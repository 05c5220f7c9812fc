"""Whether the order of rows predicts cells: successive rows resemble each other, and columns share no cause.

In a time series, a transect or a map read row by row a cell can be predicted from its neighbours in the same column.
A model that is fitted to all columns then predicts held-out cells even if the columns are independent: a few long
excursions of each column coincide with those of others by chance. Shifts tell: windows of the columns that begin in
different rows keep each column's own autocorrelation, and what columns share is broken. Windows don't wrap around, so
that there is no jump in them; those of a map read row by row begin with a row of the map, as all columns jump at its
edge. Rows that were sorted by their own columns have no order of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.models.independent import RowColumnBernoulli

ORDERED = 3.0
"""By so many standard errors successive rows must resemble each other for their order to be called one."""

WINDOW, N_OWN, N_SHIFTS, LEVEL = 0.65, 7, 199, 0.15
"""Windows are that part of the rows. If in more than that share of the random shifts columns go together as much as in
so many windows with the same rows of all columns on average, they share nothing that shows (all chosen on other seeds
than those of experiments/beyond/order.py)."""

LEAST_ROWS = 30
"""Windows of fewer rows tell too little."""

SHORTEST_MAP, BELOW, NEXT, FADED = 4, 0.8, 3, 0.8
"""A row of a map has at least so many cells. That below is alike by at least that share of what neighbours are, above
the least of those between, and more than those within so many cells of it; the next one below by at most that share of
it, which tells a map from a cycle."""

MOST_ROWS, MOST_COLUMNS = 20_000, 200
"""Of larger tables the first rows and a random part of the columns are shifted."""

SURE = 1e-3


@dataclass(frozen=True)
class Order:
    """What the order of the rows says.

    Attributes
    ----------
    z : float
        By how many standard errors successive rows resemble each other more than rows in random order do.
    p : float or None
        How often columns go together as much after random shifts along the rows; None if the rows have no order, or
        are fewer than 30.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import AspectBernoulli, verdict
    >>> waves = np.random.default_rng(0).normal(size=(140, 30)).cumsum(axis=0)  # each column on its own
    >>> found = verdict(AspectBernoulli(2, n_init=1, random_state=0), waves[20:] > waves[:-20], random_state=0)
    >>> str(found.level), found.order.z > 3, found.order.p > 0.15
    ('neighbours', True, True)
    """

    z: float
    p: float | None

    @property
    def is_all(self) -> bool:
        """Whether rows have an order, and columns go together no more than it brings about."""
        return self.p is not None and self.p > LEVEL


def order_of(data: BinaryData) -> Order:
    """Test whether rows have an order and, if so, whether columns share more than it brings about."""
    ones = data.ones_per_column()
    if not np.any((ones > 0) & (ones < data.observed_per_column())) or is_sorted(data.dense()):
        return Order(0.0, None)
    R, loading = residuals(data)
    z = resemblance(R)
    return Order(z, share_of_shifts(R, loading) if z > ORDERED and len(R) >= LEAST_ROWS else None)


def is_sorted(cells: np.ndarray) -> bool:
    """Whether rows were sorted by their columns, the first one first, upwards or downwards.

    Examples
    --------
    >>> is_sorted(np.array([[0, 0], [0, 1], [1, 0], [1, 0]])), is_sorted(np.array([[0, 1], [0, 0], [1, 0]]))
    (True, False)
    """
    steps = np.diff(cells.astype(np.int8), axis=0)
    changed = steps != 0
    first = steps[np.arange(len(steps)), changed.argmax(axis=1)][changed.any(axis=1)]
    return bool(np.all(first > 0) or np.all(first < 0))


def residuals(data: BinaryData) -> tuple[np.ndarray, np.ndarray]:
    """Cells less what row and column totals predict, columns standardised, and how a row's effect loads on them.

    Constant columns are left out.
    """
    ones = data.ones_per_column()
    varies = (ones > 0) & (ones < data.observed_per_column())
    p = np.clip(RowColumnBernoulli().fit(data).reconstruct(data), SURE, 1 - SURE)
    spread = np.sqrt(p * (1 - p))
    cells = data.dense()
    R = np.where(cells != MISSING, (cells - p) / spread, 0.0)
    R = R[:, varies] - R[:, varies].mean(axis=0)
    loading = spread[:, varies].mean(axis=0)
    return R / np.sqrt(np.mean(R**2, axis=0)), loading / np.linalg.norm(loading)


def resemblance(R: np.ndarray) -> float:
    """The sum of the products of successive rows, in standard deviations of the same in random orders of the rows.

    Its mean and variance over all orders are Mantel's (1967), of the products of rows and of a chain: each has a total,
    a sum of squares and a sum of squared sums of rows, diagonals left out.
    """
    n = len(R)
    if n < 4:
        return 0.0
    own = np.sum(R**2, axis=1)
    # Columns sum to 0, so the products of a row with all others sum to minus its own square.
    total, squares, by_row = -own.sum(), 2 * (np.sum((R.T @ R) ** 2) - own @ own), 4 * (own @ own)
    links, link_squares, by_link = 2 * (n - 1), 4 * (n - 1), 8 * (2 * n - 3)
    pairs = n * (n - 1)
    mean = links * total / pairs
    variance = (
        link_squares * squares / (2 * pairs)
        + (by_link - 2 * link_squares) * (by_row - 2 * squares) / (4 * pairs * (n - 2))
        + (links**2 + link_squares - by_link) * (total**2 + squares - by_row) / (pairs * (n - 2) * (n - 3))
        - mean**2
    )
    return float((2 * np.sum(R[:-1] * R[1:]) - mean) / np.sqrt(variance)) if variance > 1e-9 * len(R) else 0.0


def share_of_shifts(R: np.ndarray, loading: np.ndarray, seed: int = 0) -> float:
    """The share of random shifts (with the table itself) after which columns go together as much."""
    rng = np.random.default_rng(seed)
    if R.shape[1] > MOST_COLUMNS:
        some = np.sort(rng.choice(R.shape[1], MOST_COLUMNS, replace=False))
        R, loading = R[:, some], loading[some] / np.linalg.norm(loading[some])
    step, (n, d) = map_width(R), R[:MOST_ROWS].shape
    row, latest = np.arange(int(WINDOW * n))[:, None], (n - int(WINDOW * n)) // step

    def of_windows(starts: np.ndarray) -> float:
        return together(R[row + step * starts, np.arange(d)], loading)

    same = np.unique(np.linspace(0, latest, N_OWN).round().astype(int))
    own = np.mean([of_windows(np.full(d, start)) for start in same])
    shifted = (of_windows(rng.integers(latest + 1, size=d)) for _ in range(N_SHIFTS))
    return float(1 + sum(value >= own for value in shifted)) / (1 + N_SHIFTS)


def map_width(R: np.ndarray) -> int:
    """The cells in a row of the map that is read row by row; 1 if the rows don't look like one."""
    n = len(R)
    spectrum = np.sum(np.abs(np.fft.rfft(R, 2 * n, axis=0)) ** 2, axis=1)
    alike = np.fft.irfft(spectrum)[: 2 * n // 3] / np.arange(n, n - 2 * n // 3, -1)
    least = max(BELOW * alike[1], 2 * ORDERED * alike[0] / np.sqrt(R.size))
    for width in range(SHORTEST_MAP, n // 3):
        near = alike[width - NEXT : width + NEXT + 1]
        is_peak = alike[width] == near.max() > alike[1:width].min() + least
        if is_peak and alike[2 * width] < FADED * alike[width]:
            return width
    return 1


def together(R: np.ndarray, loading: np.ndarray) -> float:
    """How strongly columns go together: the sum of their squared covariances, without effects of rows.

    Covariances and not correlations, because those of rare columns are mostly noise.
    """
    Q = (R - np.outer(R @ loading, loading)) * loading
    C = Q.T @ Q
    np.fill_diagonal(C, 0.0)
    return float(np.sum(C**2))
