"""Files of 0-1 data: delimited text, Excel, Parquet, Feather, NumPy and Matrix Market.

Text is read with the standard library's csv module rather than a faster parser, because errors name the line, the
column and the text of every cell that is neither 0, 1 nor missing. What only some formats need is imported for them.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from latentbits.data.codes import Tokens, vocabulary
from latentbits.data.like import remembers_reading
from latentbits.data.long_format import Surveyed, collect_visits, pivot, refuse_wide_options
from latentbits.data.messages import Origin, check_is_file, option
from latentbits.data.names import check_column_names
from latentbits.data.roles import ColumnChoice
from latentbits.data.sheet import ExcelSheet
from latentbits.data.text_file import TextFile
from latentbits.data.text_reader import RowSource, TextReader, open_rows
from latentbits.errors import UselessOptionError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.histories import Histories

__all__ = ["check_decimal", "read_histories", "read_table", "row_source"]

_MATRICES = ("npy", "npz", "mtx")
_TYPED = ("parquet", "feather", "arrow")
_SHEETS = ("xlsx", "xlsm")
_FOREIGN = {
    "xls": "save it as .xlsx or CSV",
    "xlsb": "save it as .xlsx or CSV",
    "ods": "save it as .xlsx or CSV",
    "rds": "use write.csv in R",
    "rda": "use write.csv in R",
    "rdata": "use write.csv in R",
    "sav": "save it as CSV",
    "dta": "save it as CSV",
}
"""Formats that are not read, and what to do about them."""


@remembers_reading
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
    metadata: str | Sequence[str] | None = None,
    long: Sequence[str] | None = None,
    decimal: str = ".",
    comment: str | None = None,
    sheet: str | None = None,
    like: Any = None,
) -> BinaryData:
    """Read a file of 0-1 data.

    The extension decides: .npy, .npz (dense or saved by `scipy.sparse.save_npz`), .mtx and .mtx.gz (Matrix
    Market), .parquet, .feather, .xlsx; everything else is read as delimited text, compressed by gzip, bzip2, xz or
    zip, or not. A folder of .parquet files is read as one table, in the order of their names. Large Parquet tables are
    read in blocks of rows and kept as bits.

    Files may be damaged or crafted: a small one is refused if it would become more than 200 times its size in memory,
    and more than 64 MiB of text (a line counts as 32 bytes at least), 8 MiB of a workbook, 1 GiB of arrays or 33
    million cells of Parquet or Feather; so is a line of 67 million characters or a field of more than 131,072. The
    apostrophe that our own tables have in front of labels that look like formulas is taken away.

    In text, cells are matched without regard to case and surrounding blanks. 1, TRUE and yes (and any number
    equal to 1) are ones; 0, FALSE and no (and any number equal to 0) are zeros; empty cells, NA, NaN, ?, N/A,
    null and None are missing. Anything else is an error. Blank lines, delimiters at the end of lines and Excel's line
    sep=; are skipped, and a header may have no name for the row labels, as R's `write.table` writes it.

    Columns that are no data are found by one rule, with or without a threshold. The rows are named by a first column
    without a name; or by a column named like an identifier (id, site, plot, sample, name, code, ..., Site_ID) that
    holds different whole numbers or texts; or by a first column of different texts, or of whole numbers that increase
    (in 20 rows or more: that are all different). A column of text with repeats, such as a party, is metadata, kept
    beside the rows. `BinaryData.notes` says what was decided, and a UserWarning what was guessed.

    Parameters
    ----------
    path : str or Path
        The file, or a folder of Parquet files.
    delimiter : str, optional
        One character. By default the one of comma, tab, semicolon and | that splits the first lines into the
        same number of fields, and into the most; blanks if there is none of them.
    header : bool, default=True
        Whether the first line names the columns. Without a header the columns are x1, x2, ... by their
        position in the file.
    row_labels : str, int or False, optional
        The column that names the rows, by its name or its position from 0; False if there is none. By default
        it is found as said above.
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
        Of the text. A byte-order mark is skipped, and one of UTF-16 or UTF-32 is recognised.
    array : str, optional
        The array to read from an .npz file that holds several.
    metadata : str or sequence of str, optional
        Columns to keep beside the rows, whatever they hold; other columns may be found to be metadata as well.
    long : sequence of two or three str, optional
        The table has a row for each observation: the columns that hold the row (the site), the column (the species)
        and, of three, the value. Pairs that don't occur are 0.
    decimal : {".", ","}, default="."
        What separates the decimals of numbers in text.
    comment : str, optional
        How lines begin that are skipped. By default those that begin with #, unless they may be rows; "" for none.
    sheet : str, optional
        The sheet of a workbook that has several.
    like : fitted model, path or dict, optional
        Read the file as the one of a fit was read: a fitted model, the folder of a fit (or its model file), or a
        record of reading (`reading` of BinaryData, `reading_` of a model). Options that are given here go before those
        of the fit. Of a model that knows the names of its columns these are read, in its order. A label column or an
        excluded column that this file doesn't have, and options that mean nothing for its format, don't count.

    Returns
    -------
    BinaryData
        The data with their names, and in `reading` the options needed to read another file in the same way.

    Raises
    ------
    DataError
        One sentence with the file, the line, the column and the value, and what to do about it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbits import read_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "sites.csv"
    >>> _ = path.write_text("site,Equus,Sus\\nPikermi,1,0\\nSamos,yes,NA\\n")
    >>> data = read_table(path)
    >>> data
    BinaryData(2 rows x 2 columns, 2 ones, 1 missing)
    >>> data.row_names, data.column_names
    (['Pikermi', 'Samos'], ['Equus', 'Sus'])
    >>> data.notes
    ('the column "site" names the rows (unique texts)',)
    >>> _ = path.write_text("site,genus\\nPikermi,Equus\\nPikermi,Sus\\nSamos,Sus\\n")
    >>> read_table(path, long=["site", "genus"]).to_frame()
             Equus  Sus
    Pikermi      1    1
    Samos        0    1
    >>> folder.cleanup()
    """
    return _read(
        path,
        None if long is None else _Observed("long", long, pivot),
        delimiter=delimiter,
        header=header,
        row_labels=row_labels,
        columns=columns,
        exclude=exclude,
        missing=missing,
        true=true,
        false=false,
        presence=presence,
        threshold=threshold,
        encoding=encoding,
        array=array,
        metadata=metadata,
        decimal=decimal,
        comment=comment,
        sheet=sheet,
    )


def read_histories(
    path: str | Path,
    *,
    site: str,
    visit: str,
    species: str,
    value: str | None = None,
    surveyed: Surveyed = None,
    **reading: Any,
) -> Histories:
    """Read a file with a line for each observation of a species on a visit to a site.

    Parameters
    ----------
    path : str or Path
        The file, of any format with columns that `read_table` reads.
    site, visit, species : str
        The columns that say where, on which visit and what. A line without a species says that the visit was made.
    value : str, optional
        The column that says whether the species was seen. Without it every line is a sighting.
    surveyed : sequence of (site, visit) or "all", optional
        The visits that were made; "all" if every visit was made to every site. By default those that occur in the
        file: a visit that saw nothing must be in it, as a line without a species or with a value of 0. Where a visit
        was made, species that it has no line of are 0; where it wasn't, all are missing.
    **reading
        How the file is read: the options of `read_table` but those about wide tables, such as `delimiter`,
        `threshold`, `decimal`, `encoding` and `sheet`.

    Returns
    -------
    Histories
        Sites, visits and species in the order of appearance.

    Raises
    ------
    DataError
        One sentence with the file, the line, the column and the value, and what to do about it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbits import read_histories
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "birds.csv"
    >>> _ = path.write_text("site,day,bird,n\\nA,1,owl,3\\nA,2,owl,0\\nB,1,tit,1\\n")
    >>> read_histories(path, site="site", visit="day", species="bird", value="n", threshold=1)
    Histories(2 rows x 2 visits x 2 columns, 3 of 4 visits made, 2 sightings)
    >>> folder.cleanup()
    """
    defaults = {
        name: option.default
        for name, option in inspect.signature(read_table).parameters.items()
        if name not in ("path", "long", "like")
    }
    unknown = sorted(reading.keys() - defaults)
    if unknown:
        raise TypeError(f"read_histories has no option {unknown[0]!r}; the options are those of read_table")
    columns = [site, visit, species, *([] if value is None else [value])]
    observed = _Observed("visit", columns, partial(collect_visits, surveyed=surveyed))
    return _read(path, observed, **{**defaults, **reading})


class _Observed(NamedTuple):
    """A table with a row for each observation: the option that says so, its columns, and what is made of its rows."""

    option: str
    columns: Sequence[str]
    collect: Callable[..., Any]


def _read(
    path: str | Path,
    observed: _Observed | None,
    *,
    delimiter: str | None,
    header: bool,
    row_labels: str | int | bool | None,
    columns: Sequence[str] | None,
    exclude: Sequence[str] | None,
    missing: str | Sequence[str] | None,
    true: str | Sequence[str] | None,
    false: str | Sequence[str] | None,
    presence: str | None,
    threshold: float | None,
    encoding: str,
    array: str | None,
    metadata: str | Sequence[str] | None,
    decimal: str,
    comment: str | None,
    sheet: str | None,
) -> Any:
    """Read a wide table, or one of observations; the options are those of `read_table`."""
    file = Path(path)
    kind = _kind(file)
    origin = Origin(file.name, "threshold={0:g} (--threshold {0:g})", "row" if kind in (*_TYPED, *_SHEETS) else "line")
    if not _holds_parquet(file):
        check_is_file(file, origin)
    if threshold is not None and not math.isfinite(threshold):
        raise origin.error(f"threshold={threshold} is not a finite number; use for example threshold=1")
    choice = ColumnChoice(row_labels, columns, exclude, metadata)
    words = {"missing": missing, "true": true, "false": false, "presence": presence}
    text = {"delimiter": delimiter, "comment": comment, "decimal": None if decimal == "." else decimal}
    about_columns = words | vars(choice) | ({observed.option: observed.columns} if observed else {})
    _refuse_foreign_options(kind, {"array": array, "sheet": sheet}, text, about_columns, origin)
    if kind in _MATRICES:
        from latentbits.data.matrix_files import read_matrix

        return read_matrix(file, kind, array, threshold, origin)
    check_decimal(decimal, delimiter, origin)
    if observed is not None:
        way_out = "leave it out, or leave out long (--long)" if observed.option == "long" else "leave it out"
        refuse_wide_options(vars(choice), way_out, origin)
    tokens = Tokens(vocabulary(missing, true, false, presence, origin), threshold, decimal)
    if kind in _TYPED:
        from latentbits.data.typed_tables import LargeParquet, TypedTable, is_large, read_frame

        words_given = any(map(_is_given, words.values()))
        if observed is None and kind == "parquet" and is_large(file):
            return LargeParquet(file, choice, tokens, words_given, origin).read()
        table = TypedTable(read_frame(file, kind, origin), choice, tokens, words_given, origin)
        if observed is None:
            return table.read()
        return observed.collect(*table.observations(observed.columns), observed.columns, tokens, origin)
    source = row_source(file, origin, encoding=encoding, delimiter=delimiter, comment=comment, sheet=sheet)
    if observed is None:
        return TextReader(source, origin, header, choice, tokens).read()
    with open_rows(source, header, origin) as (head, rows):
        check_column_names(head.names, origin, head.place, unnamed=0)
        return observed.collect(head.names, rows, observed.columns, tokens, origin)


def row_source(
    file: Path, origin: Origin, *, encoding: str, delimiter: str | None, comment: str | None, sheet: str | None
) -> RowSource:
    """Choose how the rows of a file are read."""
    kind = _kind(file)
    if kind in _FOREIGN:
        raise origin.error(f".{kind} files are not read; {_FOREIGN[kind]}")
    if kind in _SHEETS:
        return ExcelSheet(file, origin, sheet)
    return TextFile(file, origin, encoding, delimiter, comment)


def _kind(file: Path) -> str:
    """The extension, but for that of compression; a folder of Parquet files is one of them."""
    return "parquet" if _holds_parquet(file) else Path(file.name.lower().removesuffix(".gz")).suffix[1:]


def _holds_parquet(path: Path) -> bool:
    # os.path, as Path.is_dir raises for some names that can't be.
    return os.path.isdir(path) and next(path.glob("*.parquet"), None) is not None


def _is_given(value: object) -> bool:
    return value is not None


def _refuse_foreign_options(
    kind: str, archives: dict[str, Any], text: dict[str, Any], names: dict[str, Any], origin: Origin
) -> None:
    """Refuse options that are about other formats than this one."""
    if kind != "npz":
        _refuse_options({"array": archives["array"]}, "to .npz files", origin)
    if kind not in _SHEETS:
        _refuse_options({"sheet": archives["sheet"]}, "to .xlsx files", origin)
    if kind in (*_MATRICES, *_TYPED, *_SHEETS):
        _refuse_options(text, f"to delimited text, not to .{kind} files", origin)
    if kind in _MATRICES:
        _refuse_options(names, f"to files with column names, not to .{kind} files", origin)


def _refuse_options(options: dict[str, Any], applies: str, origin: Origin) -> None:
    given = [name for name, value in options.items() if _is_given(value)]
    if given:
        message = f"the option {given[0]} applies only {applies}; leave it out"
        raise UselessOptionError(str(origin.error(message)), given[0])


def check_decimal(decimal: str, delimiter: str | None, origin: Origin) -> None:
    """Refuse what can't separate decimals."""
    if decimal not in (".", ","):
        raise origin.error(f"decimal={decimal!r} is neither a dot nor a comma; use {option('decimal', ',')}")
    if decimal == "," == delimiter:
        raise origin.error(f"a comma can't separate both fields and decimals; use {option('delimiter', ';')}")
