"""Where experiments, benchmarks and tests find their data sets.

The loaders of `latentbits.datasets` look in the folder that the environment variable LATENTBITS_DATA names. Inside the
repository `use_shared_folder` names ../shared/data, if that is there and nothing else is named.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["FALLBACK", "use_shared_folder"]

FALLBACK = Path(__file__).resolve().parents[2] / "shared" / "data"


def use_shared_folder() -> None:
    """Name the folder beside the repository in LATENTBITS_DATA, unless another one is named; workers inherit it."""
    if not os.environ.get("LATENTBITS_DATA") and FALLBACK.is_dir():
        os.environ["LATENTBITS_DATA"] = str(FALLBACK)
