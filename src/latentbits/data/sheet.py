"""Excel workbooks: a sheet as rows of text, read by openpyxl."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from latentbits.data.codes import as_text
from latentbits.data.compressed import ARRAY_BYTES, SHEET_BYTES, check_archive, check_unpacked
from latentbits.data.messages import Origin, option, quoted, refusing_damage
from latentbits.data.read_options import ReadOptions
from latentbits.data.text_file import Rows, empty_file_error
from latentbits.data.text_reader import TextReader

_ROWS = 1 << 20
"""Of a sheet, at most: a crafted one may claim billions of empty rows."""


def open_sheet(file: Path, kind: str, options: ReadOptions, origin: Origin) -> TextReader:
    """A sheet of a workbook, to be read; for `FORMATS`."""
    return TextReader(ExcelSheet(file, origin, options.sheet), options, origin)


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
        """Read the sheet, within a `with` statement."""
        try:
            import openpyxl  # noqa: F401
        except ImportError:
            raise self.origin.error('reading .xlsx needs openpyxl; pip install "latentbits[excel]"') from None
        filled = [j for j in range(len(self._cells[0])) if any(row[j].strip() for row in self._cells)]
        yield ((i + 1, [row[j] for j in filled]) for i, row in enumerate(self._cells))

    @cached_property
    def _cells(self) -> list[list[str]]:
        with refusing_damage(self.origin, "this can't be read as .xlsx", "save the table again"):
            check_archive(self.file, SHEET_BYTES, self.origin)
            filled = {name: rows for name, rows in self._sheets() if rows}
        if not filled:
            raise empty_file_error(self.origin)
        name = next(iter(filled)) if self.sheet is None and len(filled) == 1 else self.sheet
        if name not in filled:
            listed = ", ".join(map(quoted, filled))
            way_out = option("sheet", max(filled, key=lambda sheet: sum(map(len, filled[sheet]))))
            raise self.origin.error(f"the sheets are {listed}; choose one, such as {way_out}")
        rows = filled[name]
        width = max(map(len, rows))
        check_unpacked(self.file.stat().st_size, 8 * len(rows) * width, ARRAY_BYTES, self.origin)
        return [row + [""] * (width - len(row)) for row in rows]

    def _sheets(self) -> Iterator[tuple[str, list[list[str]]]]:
        """The names of all sheets, and their rows up to the last cell that isn't empty."""
        import openpyxl

        with self.file.open("rb") as stream:  # openpyxl leaves a file open that it can't read
            workbook = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            for sheet in workbook.worksheets:
                sheet.reset_dimensions()  # some programs write false ones
                rows: list[list[str]] = []
                for cells in sheet.iter_rows():
                    if len(rows) == _ROWS:
                        raise ValueError(f"the sheet {quoted(sheet.title)} has more rows than Excel knows")
                    rows.append(_up_to_last(["" if cell.data_type == "e" else as_text(cell.value) for cell in cells]))
                yield sheet.title, _up_to_last(rows)


Filled = TypeVar("Filled", str, list[str])


def _up_to_last(parts: list[Filled]) -> list[Filled]:
    """Without the empty ones at the end."""
    while parts and not parts[-1]:
        parts.pop()
    return parts
