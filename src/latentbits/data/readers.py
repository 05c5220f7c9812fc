"""Files of 0-1 data: delimited text, NumPy, Matrix Market and Parquet.

Text is read with the standard library's csv module rather than a faster parser, because errors name the line, the
column and the text of every cell that is neither 0, 1 nor missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from latentbits.data.binary_data import BinaryData
from latentbits.data.columns import ColumnChoice
from latentbits.data.matrix_files import read_matrix, read_parquet
from latentbits.data.messages import Origin, check_is_file
from latentbits.data.text_file import TextFile
from latentbits.data.text_reader import TextReader
from latentbits.data.words import Tokens, vocabulary

__all__ = ["read_table"]


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    header: bool = True,
    row_labels: str | int | bool | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    missing: str | Sequence[str] | None = None,
    true: str | Sequence[str] | None = None,
    false: str | Sequence[str] | None = None,
    presence: str | None = None,
    threshold: float | None = None,
    encoding: str = "utf-8",
    array: str | None = None,
) -> BinaryData:
    """Read a file of 0-1 data.

    The extension decides: .npy, .npz (dense or saved by `scipy.sparse.save_npz`), .mtx and .mtx.gz (Matrix
    Market), .parquet; everything else is read as delimited text, gzip-compressed or not.

    In text, cells are matched without regard to case and surrounding blanks. 1, TRUE and yes (and any number
    equal to 1) are ones; 0, FALSE and no (and any number equal to 0) are zeros; empty cells, NA, NaN, ?, N/A,
    null and None are missing. Anything else is an error.

    Parameters
    ----------
    path : str or Path
        The file.
    delimiter : str, optional
        One character. By default the one of comma, tab, semicolon and | that splits the first lines into the
        same number of fields, and into the most.
    header : bool, default=True
        Whether the first line names the columns. Without a header the columns are x1, x2, ... by their
        position in the file.
    row_labels : str, int or False, optional
        The column that names the rows, by its name or its position from 0; False if there is none. By default
        the first column is taken for the labels if its name is empty, or if the file has other columns
        and at least half of the first one's filled cells can't be read as 0 or 1.
    columns : sequence of str, optional
        Read only these columns, in this order.
    exclude : sequence of str, optional
        Leave these columns out, such as site, age or unit.
    missing : str or sequence of str, optional
        The markers of missing cells, instead of the default ones; an empty cell remains missing.
    true, false : str or sequence of str, optional
        Further words for 1 and for 0; they go before the default words.
    presence : str, optional
        The mark of a presence, such as "x": cells with it are 1 and empty cells are 0.
    threshold : float, optional
        Every number >= `threshold` is 1 and every smaller one 0.
    encoding : str, default="utf-8"
        Of the text. A byte-order mark is skipped.
    array : str, optional
        The array to read from an .npz file that holds several.

    Returns
    -------
    BinaryData
        The data with their names.

    Raises
    ------
    DataError
        One sentence with the file, the line, the column and the value, and what to do about it.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "sites.csv"
    >>> _ = path.write_text("site,Equus,Sus\\nPikermi,1,0\\nSamos,yes,NA\\n")
    >>> data = read_table(path)
    >>> data
    BinaryData(2 rows x 2 columns, 2 ones, 1 missing)
    >>> data.row_names, data.column_names
    (['Pikermi', 'Samos'], ['Equus', 'Sus'])
    >>> folder.cleanup()
    """
    file = Path(path)
    origin = Origin(file.name, "threshold={0:g} (--threshold {0:g})")
    check_is_file(file, origin)
    if threshold is not None and not math.isfinite(threshold):
        raise origin.error(f"threshold={threshold} is not a finite number; use for example threshold=1")
    choice = ColumnChoice(row_labels, columns, exclude)
    kind = Path(file.name.lower().removesuffix(".gz")).suffix[1:]
    words = {"missing": missing, "true": true, "false": false, "presence": presence, "delimiter": delimiter}
    if kind != "npz":
        _refuse_options({"array": array}, "to .npz files", origin)
    if kind in ("npy", "npz", "mtx", "parquet"):
        _refuse_options(words, f"to delimited text, not to .{kind} files", origin)
    if kind == "parquet":
        return read_parquet(file, choice, threshold, origin)
    if kind in ("npy", "npz", "mtx"):
        _refuse_options(vars(choice), f"to files with column names, not to .{kind} files", origin)
        return read_matrix(file, kind, array, threshold, origin)
    tokens = Tokens(vocabulary(missing, true, false, presence, origin), threshold)
    return TextReader(TextFile(file, origin, encoding, delimiter), origin, header, choice, tokens).read()


def _refuse_options(options: dict[str, Any], applies: str, origin: Origin) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise origin.error(f"the option {given[0]} applies only {applies}; leave it out")
