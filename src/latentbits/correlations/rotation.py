"""Rotations of factor loadings towards simple structure: varimax, oblimin (quartimin) and promax."""

from __future__ import annotations

from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

Rotation = Literal["varimax", "promax", "oblimin", "none"]

POWER = 4
"""Of promax, as in psych and factor_analyzer."""

MAX_STEPS, TOL = 1000, 1e-8


class Rotated(NamedTuple):
    """Loadings (D, K), and the correlations of the factors (K, K)."""

    loadings: np.ndarray
    factor_correlations: np.ndarray


def rotate(loadings: np.ndarray, rotation: Rotation, kaiser: bool | None = None) -> Rotated:
    """Rotate, with rows brought to length 1 before and back after if `kaiser` (Kaiser's normalisation).

    None is psych's default: with varimax and promax, but not with oblimin.

    Examples
    --------
    >>> L = np.array([[0.8, 0.0], [0.7, 0.0], [0.0, 0.6], [0.0, 0.9]])
    >>> turned = L @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> np.abs(rotate(turned, "varimax").loadings).round(3).max(axis=1).tolist()
    [0.8, 0.7, 0.6, 0.9]
    """
    K = loadings.shape[1]
    if K < 2 or rotation == "none":
        return Rotated(loadings, np.eye(K))
    normalised = rotation != "oblimin" if kaiser is None else kaiser
    length = np.maximum(np.linalg.norm(loadings, axis=1, keepdims=True), 1e-12) if normalised else 1.0
    unit = loadings / length
    if rotation == "oblimin":
        found, correlations = _quartimin(unit)
    else:
        found, correlations = unit @ _varimax(unit), np.eye(K)
    if rotation == "promax":
        found, correlations = _promax(found)
    return Rotated(found * length, correlations)


def _varimax(L: np.ndarray) -> np.ndarray:
    """The orthogonal matrix that maximises the variance of squared loadings (Kaiser, pair by pair)."""
    n, K = L.shape
    T = np.eye(K)
    for _ in range(MAX_STEPS):
        largest = 0.0
        for j, k in combinations(range(K), 2):
            x, y = L @ T[:, j], L @ T[:, k]
            u, v = x**2 - y**2, 2 * x * y
            across = 2 * (u @ v - u.sum() * v.sum() / n)
            along = u @ u - v @ v - (u.sum() ** 2 - v.sum() ** 2) / n
            angle = np.arctan2(across, along) / 4
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            T[:, [j, k]] = T[:, [j, k]] @ turn
            largest = max(largest, abs(angle))
        if largest < TOL:
            break
    return T


def _promax(L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The oblique rotation nearest to the loadings' own powers, factors with a variance of 1."""
    target = L * np.abs(L) ** (POWER - 1)
    U = np.linalg.lstsq(L, target, rcond=None)[0]
    U = U @ np.diag(np.sqrt(np.diag(np.linalg.inv(U.T @ U))))
    inverse = np.linalg.inv(U)
    return L @ U, inverse @ inverse.T


def _quartimin(L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Oblimin with gamma = 0 by gradient projection (Jennrich): columns of T have length 1, loadings are L T^-T."""
    K = L.shape[1]
    T = _varimax(L)
    others = np.ones((K, K)) - np.eye(K)

    def criterion(T: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        inverse = np.linalg.inv(T)
        Z = L @ inverse.T
        cross = Z**2 @ others
        return float((Z**2 * cross).sum()) / 4, Z, -(Z.T @ (Z * cross) @ inverse).T

    step = 1.0
    value, Z, gradient = criterion(T)
    for _ in range(MAX_STEPS):
        along = gradient - T * (T * gradient).sum(axis=0)  # tangent to columns of length 1
        size = np.linalg.norm(along)
        if size < TOL:
            break
        step *= 2
        while True:
            moved = T - step * along
            moved /= np.linalg.norm(moved, axis=0)
            new = criterion(moved)
            if new[0] < value - 0.5 * step * size**2 or step < 1e-12:
                break
            step /= 2
        T, (value, Z, gradient) = moved, new
    return Z, T.T @ T
