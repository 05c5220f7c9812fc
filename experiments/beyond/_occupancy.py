"""Single-species occupancy with a constant detection probability: the model usually fitted to surveys.

MacKenzie et al., "Estimating site occupancy rates when detection probabilities are less than one", Ecology 83, 2002: a
species is at a site with probability psi, and each visit sees it there with probability p.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class Occupancy(NamedTuple):
    """Fitted species by species: psi and p of each, and P(present | history) of each site and species."""

    psi: np.ndarray
    p: np.ndarray
    present: np.ndarray
    log_likelihood: np.ndarray

    def seen_next(self) -> np.ndarray:
        """P(the next visit sees it | history), sites x species."""
        return self.present * self.p


def fit_occupancy(n_seen: np.ndarray, n_visits: np.ndarray, max_iter: int = 10_000, tol: float = 1e-7) -> Occupancy:
    """Maximum likelihood of each species by EM, from sites x species of sightings and visits made.

    Sites without a visit say nothing and get psi. A species that was never seen has psi 0.
    """
    import numpy as np
    from scipy.special import xlog1py, xlogy

    visited = n_visits > 0
    n_sites = np.maximum(visited.sum(axis=0), 1)
    seen = n_seen > 0
    psi = seen.sum(axis=0) / n_sites
    p = n_seen.sum(axis=0) / np.maximum((seen * n_visits).sum(axis=0), 1)
    for _ in range(max_iter):
        missed = psi * (1 - p) ** n_visits
        present = np.where(seen, 1.0, missed / np.maximum(missed + 1 - psi, 1e-300))
        new_psi = (present * visited).sum(axis=0) / n_sites
        new_p = n_seen.sum(axis=0) / np.maximum((present * n_visits).sum(axis=0), 1e-300)
        moved = max(np.abs(new_psi - psi).max(), np.abs(new_p - p).max())
        psi, p = new_psi, np.minimum(new_p, 1.0)
        if moved < tol:
            break
    missed = psi * (1 - p) ** n_visits
    present = np.where(seen, 1.0, missed / np.maximum(missed + 1 - psi, 1e-300))
    of_cells = np.where(
        seen,
        xlogy(1, np.maximum(psi, 1e-300)) + xlogy(n_seen, p) + xlog1py(n_visits - n_seen, -p),
        np.log(np.maximum(missed + 1 - psi, 1e-300)),
    )
    return Occupancy(psi, p, present, (of_cells * visited).sum(axis=0))
