"""0-1 data: one container for every form they come in, and readers for files.

The names are imported on first use: a file can be read, and refused, without NumPy and SciPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentbits.data.binary_data import MISSING, BinaryData
    from latentbits.data.histories import Histories
    from latentbits.data.readers import read_histories, read_table

__all__ = ["MISSING", "BinaryData", "Histories", "read_histories", "read_table"]

_HOME = {
    "BinaryData": "binary_data",
    "Histories": "histories",
    "MISSING": "codes",
    "read_histories": "readers",
    "read_table": "readers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'latentbits.data' has no attribute {name!r}")
    return getattr(import_module(f"latentbits.data.{_HOME[name]}"), name)
