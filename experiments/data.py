"""Where experiments, benchmarks and tests find their data sets.

The loaders of `latentbits.datasets` look in the folder that the environment variable LATENTBITS_DATA names. Inside the
repository `use_shared_folder` names ../shared/data, if that is there and nothing else is named.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from latentbits import BinaryData
from latentbits.data import datasets

__all__ = ["FALLBACK", "Birds", "Images", "birds", "data_file", "fossils", "numerals", "use_shared_folder"]

FALLBACK = Path(__file__).resolve().parents[2] / "shared" / "data"


def use_shared_folder() -> None:
    """Name the folder beside the repository in LATENTBITS_DATA, unless another one is named; workers inherit it."""
    if not os.environ.get("LATENTBITS_DATA") and FALLBACK.is_dir():
        os.environ["LATENTBITS_DATA"] = str(FALLBACK)


def data_file(name: str) -> Path:
    """The path of a file in the data folder."""
    use_shared_folder()
    file = (datasets.data_folder() or FALLBACK) / name
    if not file.is_file():
        raise FileNotFoundError(f"{file} is not there; name the folder that holds it in LATENTBITS_DATA.")
    return file


class Images(NamedTuple):
    """X: an image a row, int8 of 0 and 1. shape: rows and columns of an image."""

    X: np.ndarray
    shape: tuple[int, int]


def numerals(threshold: int = 4) -> Images:
    """2000 handwritten numerals, 16 x 15 pixels (UCI Multiple Features); 1 where a pixel is >= threshold."""
    use_shared_folder()
    images = datasets.load_numerals(threshold=threshold)
    return Images(images.X, images.image_shape)


def fossils() -> BinaryData:
    """501 sites x 139 genera of fossil mammals (NOW database)."""
    use_shared_folder()
    return datasets.load_fossils().data


class Birds(NamedTuple):
    """first: sites x species, seen on visit 1. ever: seen on any visit."""

    first: np.ndarray
    ever: np.ndarray


def birds(*, complete: bool, least: int = 3) -> Birds:
    """Swiss breeding birds (mhb2014), the species seen at `least` or more of the chosen sites on visit 1.

    The sites are those surveyed on all three visits (`complete`), or those surveyed on visit 1; a visit that
    wasn't made then sees nothing.
    """
    use_shared_folder()
    survey = datasets.load_birds()
    chosen = survey.surveyed.all(axis=1) if complete else survey.surveyed[:, 0]
    seen = survey.detections[chosen] == 1
    seen = seen[:, :, seen[:, 0].sum(axis=0) >= least]
    return Birds(seen[:, 0].astype(np.int8), seen.any(axis=1).astype(np.int8))
