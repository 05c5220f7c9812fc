"""What `latentbits select` and `compare` share: how their tables are shown, and the folder that they may leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.options import FILE_PATH, Command, Values
from latentbits.cli.output import PLOTS_FOLDER, SUMMARY_FILE, new_folder, write_csv, write_json

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.data.binary_data import BinaryData

__all__ = ["out_option", "readable", "size_line", "write_trials"]


def out_option(command: Command) -> Command:
    """Give a command the folder that it may make."""
    return click.option(
        "--out",
        type=FILE_PATH,
        metavar="DIR",
        help="A folder to make, with the tables as CSV and a plot.  [default: only tell]",
    )(command)


def size_line(data: BinaryData) -> str:
    """What was read, so that a column too many or too few is seen."""
    n_rows, n_columns = data.shape
    label = f'; the column "{data.row_label}" names the rows' if data.row_label else ""
    return f"Read {n_rows:,} rows x {n_columns:,} columns ({data.density:.1%} ones{label})."


def readable(table: pd.DataFrame) -> str:
    """A table for the terminal: the details of the differences are left to the files."""
    shown = table[[name for name in table.columns if not name.endswith(("_behind_se", "_p"))]]
    return str(shown.to_string(index=False, float_format=lambda value: f"{value:.5g}"))


def write_trials(out: Path, tables: dict[str, pd.DataFrame], figure: Any, summary: Values, *, force: bool) -> None:
    """Write the tables, a plot named as the first of them, and the summary."""
    plot = next(iter(tables))
    with new_folder(out, force=force) as draft:
        for name, table in tables.items():
            write_csv(table, draft / f"{name}.csv")
        (draft / PLOTS_FOLDER).mkdir()
        figure.savefig(draft / PLOTS_FOLDER / f"{plot}.png")
        files = [SUMMARY_FILE, PLOTS_FOLDER, *(f"{name}.csv" for name in tables)]
        write_json({**summary, "files": files}, draft / SUMMARY_FILE)
