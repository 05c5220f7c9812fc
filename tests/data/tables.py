"""Tables that several tests of 0-1 data share."""

from collections.abc import Callable

import numpy as np

from latentbits.data import BinaryData

BITS = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 1]])
HOLES = np.array([[0.0, 1.0, np.nan], [1.0, np.nan, 0.0], [np.nan, 0.0, 1.0]])
HOLES_CODES = [[0, 1, -1], [1, -1, 0], [-1, 0, 1]]
NAMES = ["Equus", "Sus", "Bos"]

Reader = Callable[..., BinaryData]
"""Writes a content to a file and reads it: the fixture `read`."""


def cells(data: BinaryData) -> list[list[int]]:
    return data.dense().tolist()
