"""Pairs of columns: probabilities of their 2 x 2 tables, standard errors, and what is warned about."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from latentbits.data.messages import SHOWN, quoted
from latentbits.kernels.bivariate_normal import LARGEST, normal_cdf2, table_errors
from latentbits.wording import counted


def standard_errors(h: np.ndarray, k: np.ndarray, rho: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Asymptotic standard errors of tetrachoric correlations of n rows; P(1) = Phi(h) and Phi(k); arrays of one shape.

    Examples
    --------
    >>> standard_errors(np.zeros(1), np.zeros(1), np.zeros(1), np.array([100.0])).round(4).tolist()
    [0.1571]
    """
    error = np.empty(np.size(rho))
    given = (
        np.ascontiguousarray(part, dtype=np.float64).ravel() for part in (h, k, np.clip(rho, -LARGEST, LARGEST), n)
    )
    table_errors(*given, error)
    return error.reshape(np.shape(rho))


def table_probabilities(h: np.ndarray, k: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """P(11), P(10), P(01) and P(00) on the last axis; P(1) = Phi(h) and Phi(k); none is negative.

    Examples
    --------
    >>> table_probabilities(np.zeros(1), np.zeros(1), np.array([0.5])).round(4).tolist()
    [[0.3333, 0.1667, 0.1667, 0.3333]]
    """
    both = np.empty(np.size(rho))
    normal_cdf2(*(np.ascontiguousarray(part, dtype=np.float64).ravel() for part in (h, k, rho)), both)
    joint = both.reshape(np.shape(rho))
    p, q = ndtr(h), ndtr(k)
    return np.maximum(np.stack([joint, p - joint, q - joint, 1 - p - q + joint], axis=-1), 0.0)


class FoundPairs(NamedTuple):
    """What is found in U segments of D columns.

    correlations, errors, n_pairs: (U, D, D). shares: (U, D) of ones. constant: (U, D). empty: (U, D, D), tables with an
    empty cell. impossible: (U,) how many tables have an empty diagonal.
    """

    correlations: np.ndarray
    errors: np.ndarray
    n_pairs: np.ndarray
    shares: np.ndarray
    constant: np.ndarray
    empty: np.ndarray
    impossible: np.ndarray


def either(flags: np.ndarray) -> np.ndarray:
    """Pairs of which one or both are flagged."""
    return np.asarray(flags[:, :, None] | flags[:, None, :])


def upper_pairs(flags: np.ndarray) -> np.ndarray:
    """Each flagged pair once: above the diagonal."""
    return np.triu(flags, 1)


class Places(NamedTuple):
    """Columns and segments in the words of a warning."""

    names: list[str] | None
    labels: np.ndarray | None

    def column(self, segment: int, j: int) -> str:
        return self._name(j) + self._inside(segment)

    def pair(self, segment: int, i: int, j: int) -> str:
        return f"columns {self._name(i)} and {self._name(j)}{self._inside(segment)}"

    def _name(self, j: int) -> str:
        return str(j + 1) if self.names is None else quoted(self.names[j])

    def _inside(self, segment: int) -> str:
        return "" if self.labels is None else f" in segment {self.labels[segment]}"


def warn_about(found: FoundPairs, places: Places, correct: float | None) -> None:
    """Everything that was not as it should be, a sentence each."""
    zero = "their correlations are given as 0 with a standard error of 1, so leave them out"
    longer = "" if places.labels is None else ", or use longer segments"
    warn_about_silent(found.constant, found.n_pairs, places, zero, longer)
    _warn_unseen(upper_pairs(found.n_pairs == 0) & ~either(found.constant), places)
    _warn_empty(upper_pairs(found.empty), int(found.impossible.sum()), places, correct)
    at_limit = (np.abs(found.correlations) >= LARGEST - 1e-12) & ~found.empty
    _warn_limit(upper_pairs(at_limit), places)


def warn_about_silent(
    constant: np.ndarray, n_pairs: np.ndarray, places: Places, way_out: str, if_constant: str = ""
) -> None:
    """Name the columns of segments (U, D) that are constant or never observed, and say what becomes of them."""
    seen = np.diagonal(n_pairs, axis1=1, axis2=2) > 0
    kinds = {"constant columns": (constant & seen, if_constant), "columns that are never observed": (~seen, "")}
    for what, (flagged, more_way_out) in kinds.items():
        found = np.argwhere(flagged)
        if len(found):
            listed = ", ".join(places.column(*where) for where in found[:SHOWN])
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            warnings.warn(f"{what}: {listed}{more}; {way_out}{more_way_out}", stacklevel=4)


def _warn_limit(at_limit: np.ndarray, places: Places) -> None:
    found = np.argwhere(at_limit)
    if len(found):
        warnings.warn(
            f"{counted(len(found), 'pair')} of columns {'has' if len(found) == 1 else 'have'} a correlation beyond "
            f"{LARGEST:g} or -{LARGEST:g}, where estimates end (first: {places.pair(*found[0])}); such columns are "
            "almost copies, so leave one of them out",
            stacklevel=4,
        )


def _warn_unseen(unseen: np.ndarray, places: Places) -> None:
    found = np.argwhere(unseen)
    if len(found):
        warnings.warn(
            f"{counted(len(found), 'pair')} of columns {'is' if len(found) == 1 else 'are'} never seen in the same row "
            f"(first: {places.pair(*found[0])}); such correlations are given as 0 with a standard error of 1",
            stacklevel=4,
        )


def _warn_empty(empty: np.ndarray, impossible: int, places: Places, correct: float | None) -> None:
    found = np.argwhere(empty)
    if len(found):
        U, D, _ = empty.shape
        perfect = (
            f"; in {impossible} of these a whole diagonal is empty, so that "
            "nothing tells how near to 1 or -1 the correlation is, and the standard error is given as 1"
            if impossible
            else ""
        )
        counts_as = "half a row at most" if correct is None else f"correct={correct:g}"
        first = ", then ".join(places.pair(*pair) for pair in found[:SHOWN])
        warnings.warn(
            f"{len(found)} of {counted(U * D * (D - 1) // 2, 'pair')} of columns "
            f"{'has' if len(found) == 1 else 'have'} an empty cell in the 2 x 2 table, which counts as "
            f"{counts_as} (first: {first}); their correlations are "
            f"{'drawn towards 0 by the prior' if correct is None else 'little more than a guess, even the sign'}"
            f"{perfect}",
            stacklevel=4,
        )
