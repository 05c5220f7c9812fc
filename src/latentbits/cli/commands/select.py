"""`latentbits select`: how many components, judged on what wasn't seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.model_selection import choice_lines, select_number, selection_tables, size_line, terminal_table
from latentbits.cli.options.click_helpers import Values, bundled
from latentbits.cli.options.criteria import SHOWING, criterion_option, folds_option
from latentbits.cli.options.learning import LEARNING, parameters_of
from latentbits.cli.options.output import FOLDER_FORCE, force_option, optional_folder_option, terminal_options
from latentbits.cli.options.reading import check_file, read, read_numbers, read_with_segments, reading_options
from latentbits.cli.options.value_types import ModelWithNumber, Numbers
from latentbits.cli.terminal import Terminal
from latentbits.models.registry import MODELS, NUMBER_MODELS, SEGMENT_MODELS
from latentbits.storage.files import to_records
from latentbits.storage.output_folder import PLOTS_FOLDER, OutputFolder

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable

__all__ = ["select"]

CHOOSABLE = [name for name, spec in MODELS.items() if spec.orders]
COUNTS = ("components", "clusters", "sources")
"""The options that take several numbers here."""


@click.command(
    short_help="How many components, clusters or sources: criteria, stability, a plot.",
    epilog="Example: latentbits select sites.csv --components 2:8 --criterion aic,cells",
)
@click.option("--model", type=ModelWithNumber(CHOOSABLE), default="aspect-bernoulli", show_default=True)
@click.option("--components", type=Numbers(), metavar="RANGE", help="To try, such as 2:8 or 2,4,8.")
@click.option("--clusters", type=Numbers(), metavar="RANGE", help="To try, of ica-mixture.")
@click.option("--sources", type=Numbers(), metavar="RANGE", help="To try, of each cluster of ica-mixture.")
@click.option("--segments", metavar="COLUMN", help="binary-ica: the column that says which segment a row belongs to.")
@criterion_option(SHOWING)
@folds_option
@bundled("learning", {key: LEARNING[key] for key in LEARNING if key not in (*COUNTS, "folds")})
@optional_folder_option
@force_option(FOLDER_FORCE)
@terminal_options
@reading_options
def select(
    file: Path,
    reading: Values,
    model: str,
    components: list[int] | None,
    clusters: list[int] | None,
    sources: list[int] | None,
    segments: str | None,
    criterion: list[str] | None,
    folds: int,
    learning: Values,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Compare numbers of components of a model for FILE; 1 is always tried as well, as the baseline.

    Of ica-mixture, numbers of --clusters (which then are neither split nor deleted) or of --sources are compared, by
    the bound of the evidence and by held-out rows; binary-factors by maximum likelihood, BIC and held-out rows.

    "cv" and "cells" fit FOLDS times more, each time without some rows or cells, and judge the model on these.
    Of binary-ica rows are held out within segments, and "pairs" judges the pairs of their cells; 0 sources
    (independent columns) are tried as well. Stability tells how well other random starts find the least stable
    component again (1: the same, 0: as alike as two different ones).
    """
    if out is not None:
        OutputFolder(out).check(force=force)
    if segments is not None and model not in SEGMENT_MODELS:
        raise click.UsageError(f"--segments is not an option of {model}; leave it out, or use --model binary-ica")
    check_file(file)
    asked = {"components": components, "clusters": clusters, "sources": sources}
    parameter, numbers = _varied(model, asked)
    single = {name: own[0] for name, own in asked.items() if own and own is not numbers}
    parameters = parameters_of({**learning, **single}, model)
    data, labels = _read_for(model, file, reading, segments)
    search: Values = {"criterion": criterion, "default": SHOWING, "folds": folds, "segments": labels}
    search |= {"parameter": parameter, "progress": terminal.shows_progress}
    found = select_number(model, parameters, getattr(data, "values", data), numbers, **search)
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


def _varied(model: str, asked: dict[str, list[int] | None]) -> tuple[str, list[int]]:
    """The parameter to choose, and its numbers: the one with several, or the only one."""
    spec = MODELS[model]
    options = {parameter.option.name: name for name, parameter in spec.parameters.items() if parameter.option}
    for name, numbers in asked.items():
        if numbers and name not in options:
            raise click.UsageError(f"--{name} is not an option of {model}; leave it out, or choose another --model")
    own = [name for name in asked if options.get(name) in spec.orders]
    given = [name for name in own if asked[name]]
    several = [name for name in given if len(asked[name] or ()) > 1] or given
    if len(several) != 1:
        way_out = " or for ".join(f"--{name}" for name in own)
        raise click.UsageError(f"{model}: give a range, such as 1:6, for {way_out}")
    (name,) = several
    return options[name], asked[name] or []


def _read_for(
    model: str, file: Path, reading: Values, segments: str | None
) -> tuple[BinaryData | NumberTable, list[Any] | None]:
    """The data, and the segments of the rows if there are any."""
    if model in NUMBER_MODELS:
        return read_numbers(file, reading, allow_missing=MODELS[model].takes_missing), None
    return (read(file, reading), None) if segments is None else read_with_segments(file, reading, segments)
