"""0-1 data: one container for every form they come in, and readers for files."""

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.readers import read_table

__all__ = ["MISSING", "BinaryData", "read_table"]
