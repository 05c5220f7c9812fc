"""Measures of denoising, of the recovery of components, and of the calibration of probabilities.

Missing cells are NaN in the data (``clean``, ``noisy``, ``truth``) and are left out. An estimate that is NaN at an
observed cell is an error: leaving it out would reward a model for not predicting.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from latentbits.numerics import Matching, Similarity, as_cells, match_components

__all__ = [
    "Matching",
    "calibration_table",
    "component_similarity",
    "denoising_auc",
    "denoising_average_precision",
    "expected_calibration_error",
    "match_components",
    "noise_removal_rate",
]

NoiseKind = Literal["absence", "presence"]


def noise_removal_rate(
    clean: ArrayLike, noisy: ArrayLike, denoised: ArrayLike, *, kind: NoiseKind = "absence"
) -> float:
    """Return ``1 - (fp + fn) / 2``, the success of denoising 0-1 data to 0-1 data.

    Over the cells that are 0 in `noisy`, ``fp`` is the share of true 0s turned to 1 and ``fn`` the
    share of false 0s left 0 (Bingham, Kabán and Fortelius, "The aspect Bernoulli model", section
    3.4.2). 1 is perfect; 0.5 is the rate of unchanged data, and of random guesses.

    Parameters
    ----------
    clean : array-like of 0, 1 and NaN (missing)
        The true cells.
    noisy : array-like of the same shape
        The cells with noise.
    denoised : array-like of the same shape
        The cells after denoising, 0 or 1.
    kind : {"absence", "presence"}, default="absence"
        "presence" is the mirror image: over the cells that are 1 in `noisy`, true 1s turned to 0 and false 1s left 1.

    Returns
    -------
    float
        The rate, from 0 to 1.

    Examples
    --------
    Of two true 0s one is turned on (fp = 1/2), and both false 0s are found (fn = 0).

    >>> from latentbits.metrics import noise_removal_rate
    >>> noise_removal_rate([0, 0, 1, 1, 1], [0, 0, 0, 0, 1], [1, 0, 1, 1, 1])
    0.75
    """
    false, restored = _judged_cells(clean, noisy, as_cells(denoised, "denoised"), kind)
    false_positives = restored[~false].mean()
    false_negatives = 1.0 - restored[false].mean()
    return float(1.0 - (false_positives + false_negatives) / 2.0)


def denoising_auc(clean: ArrayLike, noisy: ArrayLike, scores: ArrayLike, *, kind: NoiseKind = "absence") -> float:
    """Return the area under the ROC curve of finding the false cells by their reconstruction.

    Over the cells that are 0 in `noisy`, all rows together: does the grey-scale reconstruction
    rank those that are 1 in `clean` first? (Kabán and Bingham, "Factorisation and denoising of 0-1
    data", section 4.2.) For a 0-1 reconstruction it equals `noise_removal_rate` (their footnote 4).

    Parameters
    ----------
    clean : array-like of 0, 1 and NaN (missing)
        The true cells.
    noisy : array-like of the same shape
        The cells with noise.
    scores : array-like of the same shape
        Reconstruction: the larger, the more likely a 1.
    kind : {"absence", "presence"}, default="absence"
        "presence" is the mirror image: over the cells that are 1 in `noisy`, does ``1 - scores`` rank those that are 0
        in `clean` first?

    Returns
    -------
    float
        The area, from 0 to 1; 0.5 for a random order.

    Examples
    --------
    >>> from latentbits.metrics import denoising_auc
    >>> denoising_auc([0, 0, 1, 1, 1], [0, 0, 0, 0, 1], [0.1, 0.6, 0.5, 0.9, 0.2])
    0.75
    """
    return float(roc_auc_score(*_judged_cells(clean, noisy, scores, kind)))


def denoising_average_precision(
    clean: ArrayLike, noisy: ArrayLike, scores: ArrayLike, *, kind: NoiseKind = "absence"
) -> float:
    """Return the average precision of finding the false cells by their reconstruction.

    Like `denoising_auc`, but it emphasises the top of the ranking, which matters to an analyst who checks suspected
    cells one by one. A random order gets the share of false cells, not 0.5.

    Parameters
    ----------
    clean : array-like of 0, 1 and NaN (missing)
        The true cells.
    noisy : array-like of the same shape
        The cells with noise.
    scores : array-like of the same shape
        Reconstruction: the larger, the more likely a 1.
    kind : {"absence", "presence"}, default="absence"
        "presence" is the mirror image: over the cells that are 1 in `noisy`, does ``1 - scores`` rank those that are 0
        in `clean` first?

    Returns
    -------
    float
        The average precision, from 0 to 1.

    Examples
    --------
    False 0s come first and third, so precision is 1/1 and 2/3 there.

    >>> from latentbits.metrics import denoising_average_precision
    >>> round(denoising_average_precision([0, 0, 1, 1, 1], [0, 0, 0, 0, 1], [0.1, 0.6, 0.5, 0.9, 0.2]), 4)
    0.8333
    """
    return float(average_precision_score(*_judged_cells(clean, noisy, scores, kind)))


class _JudgedCells(NamedTuple):
    """The observed cells that noise of one kind may have changed: whether it did, and their scores."""

    false: NDArray[np.bool_]
    score: NDArray[np.float64]


def _judged_cells(clean: ArrayLike, noisy: ArrayLike, scores: ArrayLike, kind: NoiseKind) -> _JudgedCells:
    """Select the cells to evaluate; false presences are mirrored, so that they are treated like false absences."""
    if kind not in ("absence", "presence"):
        raise ValueError(f'kind is {kind!r}; it is "absence" or "presence".')
    cells = {
        "clean": np.asarray(as_cells(clean, "clean"), dtype=np.float64),
        "noisy": np.asarray(as_cells(noisy, "noisy"), dtype=np.float64),
        "scores": np.asarray(scores, dtype=np.float64),
    }
    _check_same_shape(cells)
    mirrored = kind == "presence"
    was, seen, score = (1.0 - values if mirrored else values for values in cells.values())
    judged = (seen == 0) & ~np.isnan(was)
    false = was[judged] == 1
    if false.all() or not false.any():
        which = "true" if false.all() else "false"
        raise ValueError(f"No cell that is {int(mirrored)} in noisy is a {which} {kind}, so the rate is undefined.")
    _check_answered(score[judged])
    return _JudgedCells(false, score[judged])


def _check_same_shape(arrays: dict[str, NDArray[np.float64]]) -> None:
    if len({array.shape for array in arrays.values()}) > 1:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"The arrays must have one shape, but have: {found}.")


def _check_answered(estimates: NDArray[np.float64]) -> None:
    if np.isnan(estimates).any():
        raise ValueError(f"The estimate is NaN at {np.isnan(estimates).sum()} cells that are not missing.")


def component_similarity(A: ArrayLike, B: ArrayLike, *, metric: Similarity = "l1") -> float:
    """Return the mean similarity of the best one-to-one matching of two sets of components.

    Parameters
    ----------
    A : array-like of shape (n_components, n_columns)
        The first set of components.
    B : array-like of shape (n_other_components, n_columns)
        The second set of components. If one set has more rows than the other, unmatched rows are left out.
    metric : {"l1", "correlation", "cosine"}, default="l1"
        Similarity of two components: ``1 - mean |a - b|``, their correlation, or the cosine of their angle.

    Returns
    -------
    float
        Mean similarity of the matched pairs; 1 if they are equal.

    Examples
    --------
    >>> from latentbits.metrics import component_similarity
    >>> component_similarity([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.5, 0.0]])
    0.875
    """
    order, similarity = match_components(A, B, metric=metric)
    return float(similarity[order >= 0].mean())


def calibration_table(truth: ArrayLike, probability: ArrayLike, *, bins: int = 10) -> pd.DataFrame:
    """Compare predicted probabilities with observed shares of 1s, in bins of equal width.

    Parameters
    ----------
    truth : array-like of 0, 1 and NaN (missing)
        The true cells.
    probability : array-like of the same shape
        Predicted probability of a 1.
    bins : int, default=10
        Number of bins of [0, 1]; each includes its lower edge, the last one also 1.

    Returns
    -------
    pandas.DataFrame
        A row for each bin that isn't empty: ``lower``, ``upper``, ``predicted`` (mean probability),
        ``observed`` (share of 1s) and ``count``.

    Examples
    --------
    >>> from latentbits.metrics import calibration_table
    >>> calibration_table([0, 1, 1, 1], [0.2, 0.4, 0.6, 1.0], bins=2)
       lower  upper  predicted  observed  count
    0    0.0    0.5        0.3       0.5      2
    1    0.5    1.0        0.8       1.0      2
    """
    happened, predicted = _judged_probabilities(truth, probability)
    if bins < 1:
        raise ValueError(f"bins is {bins}; it must be at least 1.")
    edges = np.linspace(0.0, 1.0, bins + 1)
    # By bisection in the edges: predicted * bins would put some edges into the bin below, by rounding.
    bin_of = np.minimum(np.searchsorted(edges, predicted, side="right") - 1, bins - 1)
    cells = pd.DataFrame({"bin": bin_of, "predicted": predicted, "observed": happened})
    groups = cells.groupby("bin")
    table = groups.mean()
    table.insert(0, "lower", edges[table.index])
    table.insert(1, "upper", edges[table.index + 1])
    return table.assign(count=groups.size()).reset_index(drop=True)


def _judged_probabilities(truth: ArrayLike, probability: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    happened = np.asarray(as_cells(truth, "truth"), dtype=np.float64)
    predicted = np.asarray(probability, dtype=np.float64)
    _check_same_shape({"truth": happened, "probability": predicted})
    judged = ~np.isnan(happened)
    if not judged.any():
        raise ValueError("truth has no cell that is not missing, so there is nothing to calibrate.")
    happened, predicted = happened[judged], predicted[judged]
    _check_answered(predicted)
    if predicted.min() < 0 or predicted.max() > 1:
        raise ValueError(f"probability goes from {predicted.min()} to {predicted.max()}, beyond [0, 1].")
    return happened, predicted


def expected_calibration_error(truth: ArrayLike, probability: ArrayLike, *, bins: int = 10) -> float:
    """Return the mean distance of predicted and observed shares of 1s over the bins, weighted by their counts.

    0 is perfect calibration, at the resolution of the bins (Naeini, Cooper and Hauskrecht 2015).

    Parameters
    ----------
    truth : array-like of 0, 1 and NaN (missing)
        The true cells.
    probability : array-like of the same shape
        Predicted probability of a 1.
    bins : int, default=10
        Number of bins of [0, 1]; each includes its lower edge, the last one also 1.

    Returns
    -------
    float
        The error, from 0 to 1.

    Examples
    --------
    >>> from latentbits.metrics import expected_calibration_error
    >>> round(expected_calibration_error([0, 1, 1, 1], [0.2, 0.4, 0.6, 1.0], bins=2), 6)
    0.2
    """
    table = calibration_table(truth, probability, bins=bins)
    distance = (table["predicted"] - table["observed"]).abs()
    return float(np.average(distance, weights=table["count"]))
