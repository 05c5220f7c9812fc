"""Tables of numbers, for the models of continuous data: the same strictness as for 0-1 data, in fewer words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latentbits.data.binary_data import Origin, check_column_names, quoted
from latentbits.data.readers import check_is_file
from latentbits.data.text_file import TextFile, is_blank

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NumberTable", "read_numbers"]


@dataclass(frozen=True, eq=False)
class NumberTable:
    """An N x D table of finite numbers with its names.

    Attributes
    ----------
    values : float64 array
    row_names, column_names : list of str, or None
    row_label : str or None
        What the row names are called.
    """

    values: np.ndarray
    row_names: list[str] | None = None
    column_names: list[str] | None = None
    row_label: str | None = None

    @classmethod
    def of(cls, X: Any) -> NumberTable:
        """Take in an array or a pandas frame, whose names are kept.

        Examples
        --------
        >>> NumberTable.of([[1.5, 2], [0, -3]]).shape
        (2, 2)
        """
        import pandas as pd

        frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X, dtype=float))
        named = isinstance(X, pd.DataFrame)
        rows = named and not isinstance(frame.index, pd.RangeIndex)
        return cls(
            frame.to_numpy(dtype=float),
            [str(label) for label in frame.index] if rows else None,
            [str(name) for name in frame.columns] if named else None,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def to_frame(self) -> pd.DataFrame:
        """The numbers with the names of their columns, as models take them."""
        import pandas as pd

        return pd.DataFrame(self.values, columns=self.column_names)

    def fingerprint(self) -> str:
        """16 hex digits that identify shape, values and column names."""
        digest = hashlib.sha256(json.dumps([self.shape, self.column_names]).encode())
        digest.update(np.ascontiguousarray(self.values, "<f8").tobytes())
        return digest.hexdigest()[:16]


def read_numbers(
    path: str | Path,
    *,
    delimiter: str | None = None,
    header: bool = True,
    row_labels: str | bool | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    encoding: str = "utf-8",
) -> NumberTable:
    """Read delimited text (also gzipped) in which every cell is a finite number.

    Parameters are those of `read_table`. The first column names the rows if its name is empty, or if at least half of
    its cells are no numbers; missing cells are refused.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "fields.csv"
    >>> _ = path.write_text("eye,a,b\\nleft,1.5,2\\nright,0,-3\\n")
    >>> table = read_numbers(path)
    >>> table.values.tolist(), table.row_names, table.column_names
    ([[1.5, 2.0], [0.0, -3.0]], ['left', 'right'], ['a', 'b'])
    >>> folder.cleanup()
    """
    file = Path(path)
    origin = Origin(file.name)
    check_is_file(file, origin)
    with TextFile(file, origin, encoding, delimiter).rows() as rows:
        filled = [(line, fields) for line, fields in rows if not is_blank(fields, width=2)]
    head = filled.pop(0)[1] if header else [f"x{j + 1}" for j in range(len(filled[0][1]))]
    names = check_column_names(head, origin, unnamed=0)
    if not filled:
        raise origin.error("there is a header but no row below it; add rows, or use header=False (--no-header)")
    for line, fields in filled:
        if len(fields) != len(names):
            raise origin.error(
                f"{len(fields)} fields in a table of {len(names)} columns; mend the line", f"line {line}"
            )
    label = _label_column(names, [fields[0] for _, fields in filled], row_labels, origin)
    unknown = [name for name in (*(columns or ()), *(exclude or ())) if name not in names]
    if unknown:
        raise origin.error(f"there is no column {quoted(unknown[0])}; the first ones are {', '.join(names[:5])}")
    wanted = [name for name in (columns or names) if name != label and name not in (exclude or ())]
    if not wanted:
        raise origin.error("no column of numbers is left; exclude fewer")
    places = [names.index(name) for name in wanted]
    values = np.array([[_number(fields[j], line, names[j], origin) for j in places] for line, fields in filled])
    if label is None:
        return NumberTable(values, None, wanted)
    return NumberTable(values, [fields[names.index(label)] for _, fields in filled], wanted, label.strip() or None)


def _label_column(names: list[str], first: list[str], row_labels: str | bool | None, origin: Origin) -> str | None:
    """The column that names the rows; by default the first if it has no name, or holds words."""
    if row_labels is False:
        return None
    if isinstance(row_labels, str):
        if row_labels not in names:
            raise origin.error(f"there is no column {quoted(row_labels)} to name the rows")
        return row_labels
    words = sum(_value(text) is None for text in first)
    return names[0] if not names[0].strip() or (2 * words >= len(first) and len(names) > 1) else None


def _value(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _number(text: str, line: int, column: str, origin: Origin) -> float:
    value = _value(text)
    if value is None:
        what = f"value {quoted(text)} is no finite number" if text.strip() else "the cell is empty"
        place = f"line {line}, column {quoted(column)}"
        raise origin.error(f"{what}; fill it in, or leave its row or column out (--exclude)", place)
    return value
