"""`latentbits denoise`: a file without noise, by a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.model_and_rows import open_model_and_rows, read_afresh_option
from latentbits.cli.options.click_helpers import Values, given, model_argument
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.options.ratings import CHANGES, Ratings, marks_option, note_unused_marks, ratings_option, values_for
from latentbits.cli.options.reading import reading_options
from latentbits.cli.output_file import output_table
from latentbits.cli.terminal import Terminal
from latentbits.findings.results import data_table
from latentbits.wording import counted

if TYPE_CHECKING:
    from latentbits.data.marks import Marks

__all__ = ["denoise"]


@click.command(
    short_help="FILE without noise, by a fitted model.",
    epilog="Example: latentbits denoise run sites.csv --out clean.csv",
)
@model_argument
@click.option(
    "--threshold-probability",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Cells with at least this probability of a 1 become 1.",
)
@ratings_option("0 for phantoms, 1 for the rest")
@marks_option("confirmed ones become 1, rejected ones 0")
@click.option(
    "--change",
    type=click.Choice(CHANGES),
    default="auto",
    show_default=True,
    help="Which cells may change: zeros (absence), ones (presence), or what the phantoms can have falsified (auto).",
)
@table_options
@terminal_options
@reading_options
@read_afresh_option
def denoise(
    fitted: Path,
    file: Path,
    reading: Values,
    read_afresh: bool,
    threshold_probability: float,
    ratings: Ratings | None,
    marks: Marks | None,
    change: Any,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Write FILE as 0-1 data without the phantoms of the model in DIR; missing cells are filled.

    DIR is a folder made by "latentbits fit", or a model file. FILE is read like the file of the fit; options
    given here go before those given there. Columns are matched by name. A file of ratings
    that was saved in a report also says threshold and change, unless they are given here.
    """
    model, data = open_model_and_rows(
        fitted, file, reading, read_afresh=read_afresh, out=out, force=force, needs="denoise"
    )
    note_unused_marks(ratings, marks)
    saved = {} if ratings is None else ratings.document
    if not given("threshold_probability"):
        threshold_probability = saved.get("threshold", threshold_probability)
    if not given("change"):
        change = saved.get("change", change)
    rated = values_for(model, ratings)
    cells = model.denoise(data, threshold=threshold_probability, ratings=rated, change=change, marks=marks)
    changed = f"{(cells != data.dense()).sum():,} of {counted(cells.size, 'cell')} changed or filled in"
    details = f": {counted(len(cells), 'row')}, {changed}"
    output_table(data_table(cells, data), out, force=force, terminal=terminal, details=details)
