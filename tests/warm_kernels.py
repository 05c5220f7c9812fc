"""Compile the kernels once, on two cores, before the tests: `python -m tests.warm_kernels`.

Numba keeps what it has compiled in files, but two test workers that start together find none and both compile the same.
"""

import subprocess
import sys

import numpy as np

from latentbits import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.statistics import collect
from tests.stored_models.make import fitted


def aspect_pass() -> None:
    """The pass in both precisions: a fifth of all compiling."""
    data, H = BinaryData.of(np.eye(3)), np.full((2, 3), 0.5)
    for precise in (True, False):
        collect(data, np.full((3, 2), 0.5), H, 1 - H, np.ones(3), Workers(), precise=precise)


def models(*names: str) -> None:
    for name in names:
        fitted(name)


PARTS = {
    "1": lambda: (aspect_pass(), models("logistic-pca", "beta-ica", "bernoulli-mixture")),
    "2": lambda: models("plsa", "probit-factors", "bernoulli-nmf", "binary-factors", "binary-ica", "ica-mixture"),
}
"""What each of two processes does: about equally much."""


def main() -> int:
    if len(sys.argv) > 1:
        PARTS[sys.argv[1]]()
        return 0
    started = [subprocess.Popen([sys.executable, "-m", "tests.warm_kernels", part]) for part in PARTS]
    return max(abs(process.wait()) for process in started)


if __name__ == "__main__":
    sys.exit(main())
