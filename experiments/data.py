"""The data sets of experiments and benchmarks, read from one folder.

The folder is the one that the environment variable LATENTBITS_DATA names, else ../shared/data beside the
repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from latentbits import BinaryData, datasets, read_table

__all__ = ["Birds", "Images", "birds", "fossils", "numerals"]

FALLBACK = Path(__file__).resolve().parents[2] / "shared" / "data"


def data_file(name: str) -> Path:
    """The path of a file in the data folder."""
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
    with np.load(data_file("mfeat_pix.npz")) as file:
        high, wide = (int(n) for n in file["image_shape"])
        return Images((file["X"] >= threshold).astype(np.int8), (high, wide))


def fossils() -> BinaryData:
    """501 sites x 139 genera of fossil mammals (NOW database)."""
    exclude = ["MN", "age_Ma", "known_age"]
    return read_table(data_file("now_g10s2.csv"), row_labels="site", exclude=exclude)


class Birds(NamedTuple):
    """first: sites x species, seen on visit 1. ever: seen on any visit."""

    first: np.ndarray
    ever: np.ndarray


def birds(*, complete: bool, least: int = 3) -> Birds:
    """Swiss breeding birds (mhb2014), the species seen at `least` or more of the chosen sites on visit 1.

    The sites are those surveyed on all three visits (`complete`), or those surveyed on visit 1; a visit that
    wasn't made then sees nothing.
    """
    with np.load(data_file("mhb2014.npz")) as file:
        detections = file["detections"]  # sites x visits x species, -1 where a site was not surveyed
    surveyed = (detections >= 0).all(axis=2)
    seen = detections[surveyed.all(axis=1) if complete else surveyed[:, 0]] == 1
    seen = seen[:, :, seen[:, 0].sum(axis=0) >= least]
    return Birds(seen[:, 0].astype(np.int8), seen.any(axis=1).astype(np.int8))
