"""One table in the many forms that people have it in: how each is written, and with which options it is read."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl

SITES = ["Pikermi", "Samos", "Höwenegg", "Maragheh", "Lothagam", "Çandir"]
GENERA = ["Hipparion", "Sus", "Bohlinia", "Élan"]
CELLS = [[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, -1, 1, 0], [0, 1, 0, 1], [1, 0, 1, 1]]
COUNTS = [[0, 3, 1, 0], [12, 1, 0, 0], [0, 0, 0, 2], [4, None, 1, 0], [0, 7, 0, 1], [2, 0, 5, 3]]
"""Counts of at least 1 where CELLS has a 1."""

Writer = Callable[[Path], Path]


@dataclass(frozen=True)
class Variant:
    """A way to write the table: the function writes into a folder and returns the file."""

    write: Writer
    options: dict[str, Any] = field(default_factory=dict)
    named_rows: bool = True
    columns: tuple[str, ...] = tuple(GENERA)


def lines_of(
    *,
    site: str | None = "site",
    zero: str = "0",
    one: str = "1",
    missing: str = "",
    cells: Sequence[Sequence[object]] = CELLS,
) -> list[list[str]]:
    """The fields of all lines; `site` is what the label column is called, None if there is none."""

    def text(value: object) -> str:
        return {0: zero, 1: one, -1: missing, None: missing}.get(value, str(value))  # type: ignore[call-overload]

    head = GENERA if site is None else [site, *GENERA]
    body = [[*([] if site is None else [name]), *map(text, row)] for name, row in zip(SITES, cells, strict=True)]
    return [head, *body]


def delimited(
    lines: Sequence[Sequence[str]], delimiter: str = ",", end: str = "\n", quote: int = csv.QUOTE_MINIMAL
) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator=end, quoting=quote).writerows(lines)
    return buffer.getvalue()


def text(
    content: str, name: str = "table.csv", encoding: str = "utf-8", pack: Callable[[bytes], bytes] = bytes
) -> Writer:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(pack(content.encode(encoding)))
        return folder / name

    return write


def zipped(content: str, *others: str) -> Writer:
    def write(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "table.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("table.csv", content)
            for other in others:
                archive.writestr(other, "x")
        return folder / "table.zip"

    return write


def r_table(*, sep: str = " ", quote: bool = True, row_names: bool = True, na: str = "NA", dec: str = ".") -> str:
    """What R's write.table makes of the table with row names: the header has no name for them."""
    mark = '"' if quote else ""
    lines = [sep.join(f"{mark}{name}{mark}" for name in GENERA)]
    for site, row in zip(SITES, CELLS, strict=True):
        cells = [na if value == -1 else str(value).replace(".", dec) for value in row]
        lines.append(sep.join([f"{mark}{site}{mark}", *cells] if row_names else cells))
    return "\n".join(lines) + "\n"


def r_csv(sep: str = ",", na: str = "NA", zero: str = "0", one: str = "1") -> str:
    """What write.csv, write.csv2 and write.table(col.names = NA) make of it: an empty name for the row names."""
    head = sep.join(['""', *(f'"{name}"' for name in GENERA)])
    rows = [sep.join([f'"{row[0]}"', *row[1:]]) for row in lines_of(zero=zero, one=one, missing=na)[1:]]
    return "\n".join([head, *rows]) + "\n"


def frame(kind: str = "Int8", *, site: bool = False) -> pd.DataFrame:
    made = pd.DataFrame(CELLS, columns=GENERA).astype("Int64").replace(-1, pd.NA).astype(kind)
    made.index = pd.Index(SITES, name="site" if site else None)
    return made


def by_pandas(method: str, name: str, made: pd.DataFrame, **options: Any) -> Writer:
    def write(folder: Path) -> Path:
        getattr(made, method)(folder / name, **options)
        return folder / name

    return write


def by_polars(method: str, name: str, **options: Any) -> Writer:
    def write(folder: Path) -> Path:
        made = pl.from_pandas(frame(site=True).reset_index())
        getattr(made, method)(folder / name, **options)
        return folder / name

    return write


def workbook(made: dict[str, pd.DataFrame], **options: Any) -> Writer:
    def write(folder: Path) -> Path:
        with pd.ExcelWriter(folder / "table.xlsx", engine="openpyxl") as book:
            for sheet, content in made.items():
                content.to_excel(book, sheet_name=sheet, **options)
        return folder / "table.xlsx"

    return write


def observations(*, absent: bool) -> list[list[str]]:
    """Long format: a line for each 1 (and missing cell), or for each cell."""
    made = [["site", "genus", "found"]]
    for site, row in zip(SITES, CELLS, strict=True):
        for genus, value in zip(GENERA, row, strict=True):
            if absent or value:
                made.append([site, genus, "NA" if value == -1 else str(value)])
    return made


PLAIN = delimited(lines_of())
HEAD, *BODY = PLAIN.splitlines(keepends=True)

VARIANTS: dict[str, Variant] = {
    # delimiters, quotes and line ends
    **{
        f"{word}-delimited": Variant(text(delimited(lines_of(missing="NA"), delimiter)))
        for word, delimiter in {"comma": ",", "tab": "\t", "semicolon": ";", "bar": "|", "blank": " "}.items()
    },
    "aligned with blanks": Variant(
        text("\n".join("".join(f"{word:12}" for word in row) for row in lines_of(missing="NA")) + "\n", "table.txt")
    ),
    "everything quoted": Variant(text(delimited(lines_of(), quote=csv.QUOTE_ALL))),
    "blanks after commas": Variant(text(PLAIN.replace(",", ", "))),
    "Windows line ends": Variant(text(delimited(lines_of(), end="\r\n"))),
    "old Mac line ends": Variant(text(delimited(lines_of(), end="\r"))),
    "no end of the last line": Variant(text(PLAIN.rstrip("\n"))),
    # encodings
    "UTF-8 with mark": Variant(text(PLAIN, encoding="utf-8-sig")),
    "UTF-16 with mark": Variant(text(PLAIN, encoding="utf-16")),
    "UTF-16 of the other order": Variant(text("\ufeff" + PLAIN, encoding="utf-16-be")),
    "UTF-32 with mark": Variant(text(PLAIN, encoding="utf-32")),
    "Windows-1254": Variant(text(PLAIN, encoding="cp1254"), {"encoding": "cp1254"}),
    # compression
    "gzip": Variant(text(PLAIN, "table.csv.gz", pack=gzip.compress)),
    "bzip2": Variant(text(PLAIN, "table.csv.bz2", pack=bz2.compress)),
    "xz": Variant(text(PLAIN, "table.csv.xz", pack=lzma.compress)),
    "zip": Variant(zipped(PLAIN)),
    "zip from a Mac": Variant(zipped(PLAIN, "__MACOSX/._table.csv")),
    "zip of a Mac's folder": Variant(zipped(PLAIN, ".DS_Store", "data/.DS_Store", "__MACOSX/data/._.DS_Store")),
    "gzip by another name": Variant(text(PLAIN, "table.txt", pack=gzip.compress)),
    "zipped UTF-16": Variant(text(PLAIN, "table.csv.gz", "utf-16", gzip.compress)),
    # what else stands in files
    "comments above": Variant(text("# excavated 1921\n#\n" + PLAIN)),
    "comments between": Variant(text(HEAD + BODY[0] + "# second season\n" + "".join(BODY[1:]) + "# end\n")),
    "comments with another mark": Variant(text("% excavated 1921\n" + PLAIN), {"comment": "%"}),
    "commented header": Variant(text("# Constructed from biom file\n#" + PLAIN)),
    "blank lines": Variant(text("\n" + HEAD + "\n" + "\n".join(BODY) + "\n \n")),
    "delimiters at all ends": Variant(text(PLAIN.replace("\n", ",\n"))),
    "delimiters at the ends of rows": Variant(text(HEAD + "".join(BODY).replace("\n", ",\n"))),
    "delimiter at the end of the header": Variant(text(PLAIN.replace("\n", ",\n", 1))),
    "empty columns and rows": Variant(text(PLAIN.replace("\n", ",,,\n") + ",,,,,,,\n" * 3)),
    "empty rows above": Variant(text(",,,,\n" + PLAIN)),
    # words
    "yes and no": Variant(text(delimited(lines_of(zero="no", one="Yes", missing="?")))),
    "marks": Variant(text(delimited(lines_of(zero="", one="x", missing="NA"))), {"presence": "x"}),
    "own words": Variant(
        text(delimited(lines_of(zero="nein", one="ja", missing="k.A."))),
        {"true": "ja", "false": "nein", "missing": "k.A."},
    ),
    "code for missing": Variant(text(delimited(lines_of(missing="-9"))), {"missing": "-9"}),
    "decimal commas": Variant(text(delimited(lines_of(zero="0,0", one="1,0", missing="NA"), ";")), {"decimal": ","}),
    "measured, decimal commas": Variant(
        text(delimited(lines_of(zero="0,25", one="0,5"), "\t")), {"decimal": ",", "threshold": 0.5}
    ),
    "counts": Variant(text(delimited(lines_of(cells=COUNTS))), {"threshold": 1}),
    # labels
    "label without a name": Variant(text(delimited(lines_of(site="")))),
    "label called Fundort": Variant(text(delimited(lines_of(site="Fundort")))),
    "label called pandas": Variant(text(delimited(lines_of(site="Unnamed: 0")))),
    "label last": Variant(text(delimited([[*row[1:], row[0]] for row in lines_of(site="Site_ID")]))),
    "no labels": Variant(text(delimited(lines_of(site=None))), named_rows=False),
    "no header": Variant(text("".join(BODY)), {"header": False}, columns=("x2", "x3", "x4", "x5")),
    # R
    "R write.csv": Variant(text(r_csv())),
    "R write.csv, na empty": Variant(text(r_csv(na=""))),
    "R write.csv, logical": Variant(text(r_csv(zero="FALSE", one="TRUE"))),
    "R write.csv2": Variant(text(r_csv(";"))),
    "R write.table": Variant(text(r_table(), "table.txt")),
    "R write.table, quote off": Variant(text(r_table(quote=False), "table.txt")),
    "R write.table, tabs": Variant(text(r_table(sep="\t"), "table.tsv")),
    "R write.table, commas, quote off": Variant(text(r_table(sep=",", quote=False))),
    "R write.table, row.names off": Variant(text(r_table(row_names=False), "table.txt"), named_rows=False),
    "R write.table, both off": Variant(text(r_table(quote=False, row_names=False), "t.txt"), named_rows=False),
    "R write.table, col.names NA": Variant(text(r_csv("\t"), "table.tsv")),
    # Excel
    "Excel CSV": Variant(text(delimited(lines_of(), end="\r\n"), encoding="utf-8-sig")),
    "Excel CSV, semicolons": Variant(text(delimited(lines_of(), ";", "\r\n"), encoding="utf-8-sig")),
    "Excel CSV, sep line": Variant(text("sep=;\r\n" + delimited(lines_of(), ";", "\r\n"), encoding="utf-8-sig")),
    "Excel Unicode text": Variant(text(delimited(lines_of(), "\t", "\r\n"), "table.txt", "utf-16")),
    "Excel CSV, decimal commas": Variant(
        text(delimited(lines_of(zero="0,0", one="2,5"), ";", "\r\n"), encoding="cp1254"),
        {"encoding": "cp1254", "decimal": ",", "threshold": 1},
    ),
    "workbook": Variant(workbook({"Sheet1": frame()})),
    "workbook, named index": Variant(workbook({"Sheet1": frame(site=True)})),
    "workbook, no index": Variant(workbook({"Sheet1": frame()}, index=False), named_rows=False),
    "workbook, numbers with decimals": Variant(workbook({"Sheet1": frame("float64")})),
    "workbook, truth values": Variant(workbook({"Sheet1": frame("boolean")})),
    "workbook, table further down": Variant(workbook({"Sheet1": frame()}, startrow=3, startcol=2)),
    "workbook, empty sheets": Variant(workbook({"A": frame(), "B": pd.DataFrame()})),
    "workbook, chosen sheet": Variant(workbook({"A": frame().iloc[:2], "B": frame()}), {"sheet": "B"}),
    "workbook, marks": Variant(
        workbook(
            {"S": pd.DataFrame(lines_of(zero="", one="x", missing="NA")[1:], columns=["site", *GENERA])}, index=False
        ),
        {"presence": "x"},
    ),
    # pandas
    "pandas to_csv": Variant(by_pandas("to_csv", "table.csv", frame())),
    "pandas to_csv, named index": Variant(by_pandas("to_csv", "table.csv", frame(site=True))),
    "pandas to_csv, no index": Variant(by_pandas("to_csv", "table.csv", frame(), index=False), named_rows=False),
    "pandas to_csv, floats": Variant(by_pandas("to_csv", "table.csv", frame("float64"))),
    "pandas to_csv, truth values": Variant(by_pandas("to_csv", "table.csv", frame("boolean"))),
    "pandas to_csv, zip": Variant(by_pandas("to_csv", "table.csv.zip", frame())),
    "pandas to_csv, xz": Variant(by_pandas("to_csv", "table.csv.xz", frame())),
    "pandas to_parquet": Variant(by_pandas("to_parquet", "table.parquet", frame())),
    "pandas to_parquet, floats": Variant(by_pandas("to_parquet", "table.parquet", frame("float64", site=True))),
    "pandas to_parquet, column": Variant(by_pandas("to_parquet", "t.parquet", frame(site=True).reset_index())),
    "pandas to_parquet, no index": Variant(
        by_pandas("to_parquet", "table.parquet", frame().reset_index(drop=True)), named_rows=False
    ),
    "pandas to_feather": Variant(by_pandas("to_feather", "table.feather", frame("boolean", site=True).reset_index())),
    # polars
    "polars write_csv": Variant(by_polars("write_csv", "table.csv")),
    "polars write_csv, semicolons": Variant(by_polars("write_csv", "table.csv", separator=";", null_value="NA")),
    "polars write_parquet": Variant(by_polars("write_parquet", "table.parquet")),
    "polars write_ipc": Variant(by_polars("write_ipc", "table.arrow")),
    # long format
    "long with values": Variant(text(delimited(observations(absent=True))), {"long": ["site", "genus", "found"]}),
    "long with values, parquet": Variant(
        by_pandas(
            "to_parquet",
            "long.parquet",
            pd.DataFrame(observations(absent=True)[1:], columns=["site", "genus", "found"]),
        ),
        {"long": ["site", "genus", "found"]},
    ),
}
