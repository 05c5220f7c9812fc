"""Binary ICA: posteriors of rows by products of probabilities against single logarithms; memory of correlations."""

from __future__ import annotations

import json
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import log_ndtr

from latentbits import BinaryICA, simulate, tetrachoric
from latentbits.kernels.probit_ep import log_probit_products

HERE = Path(__file__).parent / "results"
ROWS, COLUMNS, SOURCES, SEGMENTS = 6202, 63, 4, 19


def cpu(function, repeats=3):
    """The median CPU time of some calls, after one to warm up."""
    function()
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        taken.append(time.process_time() - began)
    return float(np.median(taken))


def products():
    """One block of rows x points x columns, by the kernel and by NumPy."""
    rng = np.random.default_rng(0)
    Y, cells = rng.normal(0, 2, (8, 512, COLUMNS)), rng.integers(0, 2, (8, COLUMNS)).astype(np.int8)
    out = np.empty(Y.shape[:2])
    sign = np.where(cells == 1, 1.0, -1.0)[:, None, :]
    ours = cpu(lambda: log_probit_products(Y, cells, out), 20)
    theirs = cpu(lambda: log_ndtr(sign * Y).sum(axis=2), 20)
    error = float(np.abs(out - log_ndtr(sign * Y).sum(axis=2)).max())
    return {"kernel_ms": 1000 * ours, "log_ndtr_ms": 1000 * theirs, "times": theirs / ours, "largest_difference": error}


def transforms():
    """All rows of a table as large as the votes of the UN General Assembly."""
    truth = simulate.binary_ica(ROWS // SEGMENTS + 1, COLUMNS, SOURCES, SEGMENTS, random_state=0)
    X, segments = truth.X[:ROWS], truth.segments[:ROWS]
    model = BinaryICA(SOURCES, n_init=1, random_state=0).fit(X, segments=segments)
    exact = cpu(lambda: model.transform(X, segments=segments), 1)
    mean, sd = model.transform(X, segments=segments), model.posterior_sd(X, segments=segments)
    model.set_params(posterior="normal")
    normal = cpu(lambda: model.transform(X, segments=segments), 1)
    away = np.abs(model.transform(X, segments=segments) - mean) / sd
    return {"exact_s": exact, "normal_s": normal, "normal_off_sd_rms": float(np.sqrt((away**2).mean()))}


def memory():
    """Largest memory of this process after 500 columns in 100 segments."""
    X = (np.random.default_rng(0).random((5000, 500)) < 0.5).astype(np.int8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        tetrachoric(X, np.repeat(np.arange(100), 50))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"before_gb": before, "after_gb": after}


def main() -> None:
    """Run all, print, and keep."""
    found = {"products": products(), "transform": transforms(), "memory": memory()}
    (HERE / "binary_ica.json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
