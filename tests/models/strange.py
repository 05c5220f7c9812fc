"""Tables that a model must survive, each with a number of components, and what is to be warned about."""

import warnings
from contextlib import contextmanager

import numpy as np

from latentbits import DegenerateDataWarning

NAN = np.nan


def some(n, D, density=0.4):
    """A table of 0 and 1 that depends on its size alone."""
    return (np.random.default_rng(n + D).random((n, D)) < density).astype(float)


def leaves_nothing(cells, n_components):
    """Whether fewer than two columns vary, or there are more components than rows or such columns: in plain loops."""
    varying = sum({0, 1} <= {row[j] for row in cells} for j in range(len(cells[0])))
    return varying < 2 or n_components > min(len(cells), varying)


@contextmanager
def warns_if_degenerate(cells, n_components):
    """Inside, a warning is given if the table leaves nothing to be learned, and no other."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        yield
    expected = {DegenerateDataWarning} if leaves_nothing(np.asarray(cells).tolist(), n_components) else set()
    assert {warning.category for warning in given} == expected, [str(warning.message) for warning in given]


def strange_tables(X):
    """Name -> cells and number of components; some are parts of X, which has 12 columns."""
    return {
        "all zero": (np.zeros((12, 6)), 3),
        "all one": (np.ones((12, 6)), 3),
        "one row": (X[:1], 2),
        "one column": (X[:, :1], 2),
        "one cell": (np.ones((1, 1)), 2),
        "all but one cell missing": (np.where(np.eye(5, 4, k=3), 1.0, NAN), 2),
        "more components than rows": (X[:4], 7),
        "more components than columns": (X[:, :3], 6),
        "constant columns": (np.hstack([X[:20], np.zeros((20, 2)), np.ones((20, 2))]), 3),
        "rows and columns missing": (np.vstack([np.full((2, 13), NAN), np.insert(X, 5, NAN, axis=1)]), 2),
        "separable": (np.kron(np.eye(2), np.ones((10, 5))), 2),
        "duplicated rows": (np.repeat(X[:2], 15, axis=0), 4),
    }
