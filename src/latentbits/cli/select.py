"""`latentbits select`: how many components, judged on what wasn't seen."""

from __future__ import annotations

from pathlib import Path

import click

from latentbits.cli.console import Voice
from latentbits.cli.learning import LEARNING, parameters_of
from latentbits.cli.options import FOLDER_FORCE, Values, bundled, check_file, force_option, read, reads_file, tells
from latentbits.cli.output import PLOTS_FOLDER, as_records, check_folder
from latentbits.cli.selecting import choice_lines, criterion_option, folds_option, select_number, selection_tables
from latentbits.cli.trials import out_option, readable, size_line, write_trials
from latentbits.cli.values import Numbers
from latentbits.models.registry import TABLE_MODELS

__all__ = ["select"]


@click.command(
    short_help="How many components: criteria, stability, a plot.",
    epilog="Example: latentbits select sites.csv --components 2:8 --criterion aic,cells",
)
@click.option("--model", type=click.Choice(TABLE_MODELS), default="aspect-bernoulli", show_default=True)
@click.option("--components", type=Numbers(), required=True, metavar="RANGE", help="To try, such as 2:8 or 2,4,8.")
@criterion_option
@folds_option
@bundled("learning", {key: settings for key, settings in LEARNING.items() if key != "components"})
@out_option
@force_option(FOLDER_FORCE)
@tells
@reads_file
def select(
    file: Path,
    reading: Values,
    model: str,
    components: list[int],
    criterion: list[str] | None,
    folds: int,
    learning: Values,
    out: Path | None,
    force: bool,
    voice: Voice,
) -> None:
    """Compare numbers of components of a model for FILE; 1 is always tried as well, as the baseline.

    "cv" and "cells" fit FOLDS times more, each time without some rows or cells, and judge the model on these.
    Stability tells how well other random starts find the least stable component again (1: the same, 0 or less:
    an accident).
    """
    if out is not None:
        check_folder(out, force=force)
    check_file(file)
    parameters = parameters_of(learning, model)
    data = read(file, reading)
    found = select_number(
        model, parameters, data, components, criterion=criterion, folds=folds, progress=voice.shows_progress
    )
    tables = selection_tables(found)
    summary = {"model": model, "file": file.name, "best": found.best_order, "choices": as_records(found.choices)}
    if out is not None:
        write_trials(out, tables, found.plot(), summary, force=force)
    voice.document(summary | {name: as_records(table) for name, table in tables.items()})
    voice.say(size_line(data))
    voice.say(readable(found.table))
    for line in choice_lines(found):
        voice.say(line)
    if out is not None:
        voice.say(f"Look at {out}: selection.csv, folds.csv, stability.csv, and the plot in {PLOTS_FOLDER}.")
