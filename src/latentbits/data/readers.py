"""Files of 0-1 data: delimited text, Excel, Parquet, Feather, NumPy and Matrix Market.

Text is read with the standard library's csv module rather than a faster parser, because errors name the line, the
column and the text of every cell that is neither 0, 1 nor missing. What only some formats need is imported for them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from latentbits.data.long_format import Described, Surveyed, collect_visits, pivot, refuse_wide_options
from latentbits.data.messages import Origin, check_is_file
from latentbits.data.read_options import (
    COLUMNS,
    DELIMITED,
    FORMATS,
    NOT_READ,
    ReadOptions,
    read_like,
    takes_read_options,
    useless_option,
)
from latentbits.data.visit_tables import FORMS, RawTable, of_tables, of_texts, of_wide
from latentbits.errors import DataError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.codes import Tokens
    from latentbits.data.histories import Histories
    from latentbits.data.roles import ColumnChoice


@takes_read_options
def read_table(path: str | Path, **given: Any) -> BinaryData:
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

    A threshold makes data of counts, not of measurements: unless `columns` names them, columns that it would make 1 in
    every row, with numbers below 0, or with fractions beside columns of counts are kept beside the rows. A row or a
    column of totals is refused.

    Parameters
    ----------
    path : str or Path
        The file, or a folder of Parquet files.
    row_labels : str, int or False, optional
        The column that names the rows, by its name or its position from 0; False if there is none. By default
        it is found as said above.
    columns : sequence of str, optional
        Read only these columns, in this order.
    exclude : sequence of str, optional
        Leave these columns out, such as site, age or unit.
    exclude_rows : sequence of str, optional
        Leave out the rows whose name, or first cell, is one of these, such as a row of totals.
    metadata : str or sequence of str, optional
        Columns to keep beside the rows, whatever they hold; other columns may be found to be metadata as well.
    covariates : str or sequence of str, optional
        Columns that describe the rows, for the models that use them: numbers, or categories. "all" takes every column
        that is no data and names no rows; columns such as lon and lat among them become the coordinates.
    coordinates : two names, optional
        The columns that say where a row is, such as ("lon", "lat") in degrees or ("x", "y") in a plane.
    effort : str, optional
        The column that says how much a row was looked at, such as minutes; above 0.
    long : sequence of two or three str, optional
        The table has a row for each observation: the columns that hold the row (the site), the column (the species)
        and, of three, the value. Pairs that don't occur are 0.
    missing : str or sequence of str, optional
        The markers of missing cells, instead of the default ones; an empty cell remains missing.
    true, false : str or sequence of str, optional
        Further words for 1 and for 0; they go before the default words.
    presence : str, optional
        The mark of a presence, such as "x": cells with it are 1 and empty cells are 0.
    threshold : float, optional
        Every number >= `threshold` is 1 and every smaller one 0.
    delimiter : str, optional
        One character. By default the one of comma, tab, semicolon and | that splits the first lines into the
        same number of fields, and into the most; blanks if there is none of them.
    encoding : str, default="utf-8"
        Of the text. A byte-order mark is skipped, and one of UTF-16 or UTF-32 is recognised.
    decimal : {".", ","}, default="."
        What separates the decimals of numbers in text.
    comment : str, optional
        How lines begin that are skipped. By default those that begin with #, unless they may be rows; "" for none.
    sheet : str, optional
        The sheet of a workbook that has several.
    header : bool, default=True
        Whether the first line names the columns. Without a header the columns are x1, x2, ... by their
        position in the file.
    array : str, optional
        The array to read from an .npz file that holds several.
    missing_as : {"0", "unknown"}, optional
        What the cells of columns are that the fit has and this file lacks: 0 if what they stand for would have been
        noticed, unknown if nobody looked for it. By default such a file is refused.
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
    like = given.pop("like", None)
    return read_like(partial(_read, path), Path(path).name, given, like)


def read_histories(
    path: str | Path | Sequence[str | Path],
    *,
    site: str | None = None,
    visit: str | None = None,
    species: str | None = None,
    value: str | None = None,
    surveyed: Surveyed | str | Path = None,
    **reading: Any,
) -> Histories:
    """Read repeat visits: a line for each observation of a species on a visit to a site, or one of the other forms.

    Without `site`, `visit` and `species` it is one of these: a wide table whose columns are called owl_visit1,
    owl_visit2, ... or v1_owl, v2_owl, ..., or owl, tit, owl, tit, ... (a block for each visit); a table of
    histories as text, such as "01-1" (- where the visit wasn't made), a column for each species; several files, or a
    workbook with several sheets, a table of sites by species for each visit.

    Parameters
    ----------
    path : str, Path, or list of these
        The file, of any format with columns that `read_table` reads; of a list each is a visit.
    site, visit, species : str, optional
        The columns that say where, on which visit and what. A line without a species says that the visit was made.
    value : str, optional
        The column that says whether the species was seen. Without it every line is a sighting.
    surveyed : sequence of (site, visit), path, "all" or "seen", optional
        The visits that were made, or a file that lists them in the columns `site` and `visit`; "all" if every visit was
        made to every site; "seen" if every visit saw something. By default those that occur in the file: a visit that
        saw nothing must be in it, as a line without a species or with a value of 0, and a file where such visits seem
        to be missing is refused. Where a visit was made, species that it has no line of are 0; where it wasn't, all are
        missing.
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
    if "long" in reading:
        raise TypeError("read_histories has no option 'long'; site, visit and species say what the columns are")
    options = ReadOptions.of(reading, "read_histories")
    if not isinstance(path, (str, Path)):
        return of_tables({Path(file).stem: read_table(file, **reading) for file in path})
    if site is None and visit is None and species is None:
        return _of_other_forms(Path(path), options, reading)
    if site is None or visit is None or species is None:
        raise DataError("a line for each observation has a site, a visit and a species; name the columns of all three")
    if isinstance(surveyed, Path) or (isinstance(surveyed, str) and surveyed not in ("all", "seen")):
        listed = read_raw(surveyed, delimiter=reading.get("delimiter"), encoding=reading.get("encoding", "utf-8"))
        surveyed = list(zip(listed.column(site), listed.column(visit), strict=True))
    columns = [site, visit, species, *([] if value is None else [value])]
    observed = _Observed("visit", columns, partial(collect_visits, surveyed=surveyed))
    return _read(path, options, observed)


def read_raw(path: str | Path, **reading: Any) -> RawTable:
    """The columns of a file as texts."""
    return _read(path, ReadOptions.of(reading, "read_histories"), _Observed("visit", [], RawTable.of))


def _of_other_forms(path: Path, options: ReadOptions, reading: dict[str, Any]) -> Histories:
    """Sheets, texts or a wide table, whichever it is."""
    if path.suffix.lower() == ".xlsx" and options.sheet is None:
        from latentbits.data.text_reader import ExcelSheet

        check_is_file(path, Origin(path.name))
        sheets = ExcelSheet(path, Origin(path.name)).names()
        if len(sheets) > 1:
            return of_tables({sheet: read_table(path, sheet=sheet, **reading) for sheet in sheets})
    texts = of_texts(_read(path, options, _Observed("visit", [], RawTable.of), in_blocks=True))
    found = texts if texts is not None else of_wide(_read(path, options, in_blocks=True))
    if found is None:
        raise DataError(f"{path.name}: the columns don't say which visit they are about; {FORMS}")
    return found


class _Observed(NamedTuple):
    """A table with a row for each observation: the option that says so, its columns, and what is made of its rows."""

    option: str
    columns: Sequence[str]
    make: Callable[..., Any]


def _read(path: str | Path, options: ReadOptions, observed: _Observed | None = None, *, in_blocks: bool = False) -> Any:
    """Read a wide table, or one of observations; names of columns may repeat if these are `in_blocks`."""
    if observed is None and options.long is not None:
        observed = _Observed("long", options.long, pivot)

    def check(kind: str, origin: Origin) -> None:
        options.refuse_useless(kind, origin)
        if observed is not None:
            if COLUMNS not in FORMATS.get(kind, DELIMITED).has:
                raise useless_option(observed.option, COLUMNS, kind, origin)
            way_out = "leave it out, or leave out long (--long)" if observed.option == "long" else "leave it out"
            refuse_wide_options(options, way_out, origin, visits=observed.option != "long")

    table = open_table(path, options, check)
    if in_blocks and hasattr(table, "in_blocks"):  # tables without names of columns have none that repeat
        table.in_blocks = True
    if observed is None:
        return table.read()
    choice = table.choice
    if not (choice.takes_all or choice.covariates or choice.coordinates or choice.effort):
        return table.collect(observed.make, observed.columns)
    named = [*choice.covariates, *choice.coordinates, *([choice.effort] if choice.effort else [])]
    columns = None if choice.takes_all else list(dict.fromkeys([*observed.columns, *named]))
    return table.collect(partial(_with_sites, observed, choice), columns)


def _with_sites(
    observed: _Observed, choice: ColumnChoice, names: Sequence[str], rows: Any, _: Any, tokens: Tokens, origin: Origin
) -> Any:
    """What is made of observations, and what their lines say of the sites."""
    described = Described(choice, names, observed.columns, origin)
    made = observed.make(names, described.seen_in(rows, tokens), observed.columns, tokens, origin)
    return made.with_facts(described.facts(made.row_names))


def open_table(path: str | Path, options: ReadOptions, check: Callable[[str, Origin], None]) -> Any:
    """The reader of a file, see `Format`; `check` may refuse its extension."""
    file = Path(path)
    kind = "parquet" if _holds_parquet(file) else Path(file.name.lower().removesuffix(".gz")).suffix[1:]
    form = FORMATS.get(kind, DELIMITED)
    origin = Origin(file.name, "threshold={0:g} (--threshold {0:g})", form.row)
    if not _holds_parquet(file):
        check_is_file(file, origin)
    options.check(origin)
    check(kind, origin)
    if kind in NOT_READ:
        raise origin.error(f".{kind} files are not read; {NOT_READ[kind]}")
    module, _, name = form.reader.partition(":")
    return getattr(import_module(f"latentbits.data.{module}"), name)(file, kind, options, origin)


def _holds_parquet(path: Path) -> bool:
    """Whether a path is a folder of Parquet files, which are one table."""
    # os.path, as Path.is_dir raises for some names that can't be.
    return os.path.isdir(path) and next(path.glob("*.parquet"), None) is not None
