"""`latentbits suspects`: the cells of a file that are most likely false, by a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from latentbits.cli.model_and_rows import (
    note_question_of_fit,
    open_model_and_rows,
    read_afresh_option,
    refuse_ratings_of_ensemble,
)
from latentbits.cli.options.asking import ASKING, kind_option, question_about, refuse_asking, with_visit_columns
from latentbits.cli.options.click_helpers import Values, bundled, given, model_argument
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.options.ratings import Ratings, marks_option, note_unused_marks, ratings_option, values_for
from latentbits.cli.options.reading import reading_options
from latentbits.cli.output_file import output_table
from latentbits.cli.terminal import Terminal
from latentbits.findings.results import with_names

if TYPE_CHECKING:
    from latentbits.data.marks import Marks

__all__ = ["suspects"]


@click.command(
    short_help="The cells of FILE that are most likely false.",
    epilog="Example: latentbits suspects run sites.csv --top 20",
)
@model_argument
@kind_option
@click.option("--top", type=click.IntRange(min=1), default=100, show_default=True, help="How many cells.")
@bundled("asking", {key: settings | {"help": f"false-zeros: {settings['help']}"} for key, settings in ASKING.items()})
@ratings_option("phantoms don't count as content")
@marks_option("confirmed and rejected ones are left out")
@table_options
@terminal_options
@reading_options
@read_afresh_option
def suspects(
    fitted: Path,
    file: Path,
    reading: Values,
    read_afresh: bool,
    kind: Literal["absence", "presence"],
    top: int,
    asking: Values,
    ratings: Ratings | None,
    marks: Marks | None,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """List the cells of FILE that are most likely false, by the model in DIR.

    The score ranks cells: the probability that the content of the row would put a 1 there (or not), averaged over the
    restarts of the fit; with --ratings by the best restart alone. It is no measured error rate. DIR is a folder made by
    "latentbits fit", or a model file. FILE is read like the file of the fit; options given here go before those given
    there. Columns are matched by name; without names the first row is "row 1", and so in "latentbits
    explain".

    Of a fit of false-zeros the table has a probability too, whose name says what it is of, and what each member says.
    """
    reading = with_visit_columns(reading, asking)
    model, data = open_model_and_rows(fitted, file, reading, read_afresh=read_afresh, out=out, force=force)
    refuse_ratings_of_ensemble(model, fitted, ratings)
    note_unused_marks(ratings, marks)
    if hasattr(model, "members_"):
        note_question_of_fit(fitted, asking)
        most = None if asking["per_row"] is not None and not given("top") else top
        table = model.suspects(data, top=most, marks=marks, **question_about(data, asking, kind=kind))
    else:
        refuse_asking(model)
        table = model.suspects(data, kind=kind, top=top, ratings=values_for(model, ratings), marks=marks)
    output_table(with_names(table), out, force=force, terminal=terminal)
