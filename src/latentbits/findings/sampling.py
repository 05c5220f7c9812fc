"""What is said of posterior samples: how many there are, and whether their chains agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from latentbits.fitting.chains import LARGEST_R_HAT
from latentbits.wording import counted

__all__ = ["Samples", "sampling_lines", "sampling_summary"]


class Samples(Protocol):
    """Samples of several chains, as fitted models have them."""

    @property
    def chain(self) -> np.ndarray:
        """Which chain each sample is of."""

    @property
    def ess(self) -> dict[str, np.ndarray] | None:
        """Effective sample sizes, of "cells" among others."""

    @property
    def largest_r_hat(self) -> float | None:
        """Of quantities that need no alignment."""


def sampling_summary(samples: Samples) -> dict[str, Any]:
    """How many samples there are, and whether the chains agree; None where there are too few to tell."""
    r_hat, ess = samples.largest_r_hat, samples.ess
    return {
        "chains": int(samples.chain.max()) + 1,
        "samples": len(samples.chain),
        "r_hat": r_hat,
        "effective_samples": None if ess is None else float(np.median(ess["cells"])),
        "agree": r_hat is not None and r_hat <= LARGEST_R_HAT,
    }


def sampling_lines(sampling: dict[str, Any]) -> Iterator[str]:
    """Whether the chains agree, and what to do if they don't."""
    line = f"{counted(sampling['samples'], 'posterior sample')} of {counted(sampling['chains'], 'chain')}"
    if sampling["r_hat"] is None:
        yield f"{line}: too few to tell whether the chains agree; take more (--samples)."
        return
    worth = f"R-hat {sampling['r_hat']:.2f}, worth {sampling['effective_samples']:,.0f} independent ones"
    if sampling["agree"]:
        yield f"{line}, which agree ({worth})."
    else:
        yield f"{line}, which disagree ({worth}), so intervals depend on the seed; raise --burn, --samples or --thin."
