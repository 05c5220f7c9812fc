"""Excel workbooks: a sheet as rows of text, read by pandas."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from latentbits.data.messages import Origin, option, quoted
from latentbits.data.text_rows import Rows, empty_file_error

__all__ = ["ExcelSheet", "as_text"]


def as_text(value: Any) -> str:
    """Write a cell as text, as a person would.

    Parameters
    ----------
    value : object
        Text, number, bool, date or a missing value.

    Returns
    -------
    str
        Whole numbers without decimals; empty for missing values.

    Examples
    --------
    >>> as_text(1.0), as_text(0.5), as_text(None), as_text(" Pikermi "), as_text(float("nan"))
    ('1', '0.5', '', ' Pikermi ', '')
    """
    if isinstance(value, str):
        return value
    # pandas' own first, which isn't imported here and can't be compared.
    if value is None or type(value).__name__ == "NAType" or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class ExcelSheet:
    """A sheet of a workbook.

    Attributes
    ----------
    file : pathlib.Path
        The workbook.
    origin : Origin
        Where the data come from, for error messages.
    sheet : str or None
        The name of the sheet; the only one that isn't empty if None.
    """

    file: Path
    origin: Origin
    sheet: str | None = None

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Read the sheet, within a `with` statement.

        Yields
        ------
        iterator of (int, list of str)
            Row numbers and cells of all rows, without columns and with rows that are empty throughout.

        Raises
        ------
        DataError
            If openpyxl is not installed, the file can't be read, or the sheet is empty or has to be chosen.
        """
        try:
            import openpyxl  # noqa: F401
        except ImportError:
            raise self.origin.error('reading .xlsx needs openpyxl; pip install "latentbits[excel]"') from None
        filled = [j for j in range(len(self._cells[0])) if any(row[j].strip() for row in self._cells)]
        yield ((i + 1, [row[j] for j in filled]) for i, row in enumerate(self._cells))

    @cached_property
    def _cells(self) -> list[list[str]]:
        import pandas as pd

        try:
            sheets = pd.read_excel(
                self.file, sheet_name=None, engine="openpyxl", header=None, dtype=object, na_filter=False
            )
        except (ValueError, OSError, KeyError, zipfile.BadZipFile) as error:
            raise self.origin.error(f"this can't be read as .xlsx ({error}); save the table again") from None
        filled = {str(name): frame for name, frame in sheets.items() if frame.size}
        if not filled:
            raise empty_file_error(self.origin)
        name = next(iter(filled)) if self.sheet is None and len(filled) == 1 else self.sheet
        if name not in filled:
            listed = ", ".join(map(quoted, filled))
            way_out = option("sheet", max(filled, key=lambda sheet: filled[sheet].size))
            raise self.origin.error(f"the sheets are {listed}; choose one, such as {way_out}")
        return [list(map(as_text, row)) for row in filled[name].itertuples(index=False, name=None)]
