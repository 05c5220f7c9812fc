"""`latentbits select`: how many components, judged on what wasn't seen."""

from __future__ import annotations

from pathlib import Path

import click

from latentbits.cli.model_selection import choice_lines, select_number, selection_tables, size_line, terminal_table
from latentbits.cli.options.click_helpers import Values, bundled
from latentbits.cli.options.criteria import SHOWING, criterion_option, folds_option
from latentbits.cli.options.learning import LEARNING, parameters_of
from latentbits.cli.options.output import FOLDER_FORCE, force_option, optional_folder_option, terminal_options
from latentbits.cli.options.reading import check_file, read, read_with_segments, reading_options
from latentbits.cli.options.value_types import ModelWithNumber, Numbers
from latentbits.cli.terminal import Terminal
from latentbits.files import to_records
from latentbits.models.registry import MODELS, SEGMENT_MODELS, TABLE_MODELS
from latentbits.output_folder import PLOTS_FOLDER, OutputFolder

__all__ = ["select"]

CHOOSABLE = [name for name in (*TABLE_MODELS, *SEGMENT_MODELS) if MODELS[name].has_components]


@click.command(
    short_help="How many components: criteria, stability, a plot.",
    epilog="Example: latentbits select sites.csv --components 2:8 --criterion aic,cells",
)
@click.option("--model", type=ModelWithNumber(CHOOSABLE), default="aspect-bernoulli", show_default=True)
@click.option("--components", type=Numbers(), required=True, metavar="RANGE", help="To try, such as 2:8 or 2,4,8.")
@click.option("--segments", metavar="COLUMN", help="binary-ica: the column that says which segment a row belongs to.")
@criterion_option(SHOWING)
@folds_option
@bundled("learning", {key: LEARNING[key] for key in LEARNING if key not in ("components", "folds")})
@optional_folder_option
@force_option(FOLDER_FORCE)
@terminal_options
@reading_options
def select(
    file: Path,
    reading: Values,
    model: str,
    components: list[int],
    segments: str | None,
    criterion: list[str] | None,
    folds: int,
    learning: Values,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Compare numbers of components of a model for FILE; 1 is always tried as well, as the baseline.

    "cv" and "cells" fit FOLDS times more, each time without some rows or cells, and judge the model on these.
    Of binary-ica rows are held out within segments, and "pairs" judges the pairs of their cells; 0 sources
    (independent columns) are tried as well. Stability tells how well other random starts find the least stable
    component again (1: the same, 0 or less: an accident).
    """
    if out is not None:
        OutputFolder(out).check(force=force)
    if segments is not None and model not in SEGMENT_MODELS:
        raise click.UsageError(f"--segments is not an option of {model}; leave it out, or use --model binary-ica")
    check_file(file)
    parameters = parameters_of(learning, model)
    data, labels = (read(file, reading), None) if segments is None else read_with_segments(file, reading, segments)
    search: Values = {"criterion": criterion, "default": SHOWING, "folds": folds, "segments": labels}
    found = select_number(model, parameters, data, components, progress=terminal.shows_progress, **search)
    tables = selection_tables(found)
    summary = {"model": model, "file": file.name, "best": found.best_order, "choices": to_records(found.choices)}
    if out is not None:
        OutputFolder(out).save_tables(tables, summary, figures={"selection": found.plot}, force=force)
    terminal.print_json(summary | {name: to_records(table) for name, table in tables.items()})
    terminal.print(size_line(data))
    terminal.print(terminal_table(found.table))
    for line in choice_lines(found):
        terminal.print(line)
    if out is not None:
        terminal.print(f"Look at {out}: selection.csv, folds.csv, stability.csv, and the plot in {PLOTS_FOLDER}.")
