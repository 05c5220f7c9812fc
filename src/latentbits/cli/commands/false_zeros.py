"""`latentbits false-zeros`: which zeros of a file hide a 1, without a number of components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.fit_run import (
    Stopwatch,
    add_verdict,
    data_lines,
    fit_and_gather,
    read_for_fit,
    save_run,
    tell_origin,
    where_lines,
)
from latentbits.cli.options.asking import ASKING, kind_option, question_about, typed, with_visit_columns
from latentbits.cli.options.click_helpers import FILE_PATH, Values, bundled, given
from latentbits.cli.options.learning import LEARNING, parameters_of
from latentbits.cli.options.output import FOLDER_FORCE, force_option, terminal_options
from latentbits.cli.options.ratings import marks_option
from latentbits.cli.options.reading import check_file, reading_options
from latentbits.cli.terminal import Terminal, warnings_as_notes
from latentbits.models.registry import MODELS
from latentbits.storage.files import to_records
from latentbits.storage.run_folder import RunFolder

if TYPE_CHECKING:
    from latentbits.data.marks import Marks
    from latentbits.findings.results import Results

__all__ = ["false_zeros"]

_MODEL = "false-zeros"
_LEARNING = {
    parameter.option.name: LEARNING[parameter.option.name]
    for parameter in MODELS[_MODEL].parameters.values()
    if parameter.option is not None
}


@click.command(
    "false-zeros",
    short_help="Which zeros of FILE hide a 1: a ranking that needs no number of components.",
    epilog="Example: latentbits false-zeros sites.csv --top 20 --out run",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many cells to list; with --per-row alone all of those, in DIR/suspects.csv if there is one.",
)
@kind_option
@bundled("asking", ASKING)
@marks_option("confirmed ones are 1 in the fit, rejected ones 0, and neither is listed")
@bundled("learning", _LEARNING)
@click.option("--out", type=FILE_PATH, metavar="DIR", help="A folder to make, as of latentbits fit.")
@force_option(FOLDER_FORCE)
@click.option("--report/--no-report", default=True, help="Whether DIR gets a report.html.  [default: report]")
@terminal_options
@reading_options
def false_zeros(
    file: Path,
    reading: Values,
    top: int,
    kind: str,
    asking: Values,
    marks: Marks | None,
    learning: Values,
    out: Path | None,
    force: bool,
    report: bool,
    terminal: Terminal,
) -> None:
    """List the zeros of FILE that most likely hide a 1, by an ensemble of unlike models.

    The answer begins with a verdict: are hidden cells predicted better than by frequencies of rows and columns? If not,
    the list is no evidence of false zeros. The score ranks; the probability beside it is P(1 | the rest), not that of
    presence, unless --rate or --revisits tell how much a visit sees.

    With --out, DIR gets model, suspects.csv (1000 cells, with what each member says), members.csv, reliability.csv,
    plots, summary.json and report.html; "latentbits suspects DIR FILE" then asks it about other rows, and "latentbits
    explain DIR FILE --cell ROW COLUMN" says why. For components that explain cells, and to denoise, use
    "latentbits fit".
    """
    if out is not None:
        RunFolder(out).check(force=force)
    check_file(file)
    parameters = parameters_of(learning, _MODEL)
    watch = Stopwatch()
    progress = terminal.shows_progress
    limit = None if asking["per_row"] is not None and not given("top") else top
    with warnings_as_notes() as notes:
        with watch.timed("read"):
            data = read_for_fit(file, with_visit_columns(reading, asking), marks)
            question = question_about(data, asking, kind=kind)

        from latentbits.findings.false_zeros import N_SUSPECTS

        question |= {"typed": typed(asking), "top": None if limit is None else max(limit, N_SUSPECTS)}
        results = fit_and_gather(_MODEL, parameters, data, watch, progress=progress, question=question)
        said = [line for line in results.lines if line not in results.evidence]
        add_verdict(results, None, watch, n_jobs=parameters.get("n_jobs"), progress=progress)
        tell_origin(results, file, reading, marks)
    if out is not None:
        save_run(results, out, force=force, notes=notes, watch=watch, report=report)
    suspects = results.tables["suspects"][: limit if out is None else top]
    terminal.print_json(results.summary | {"suspects": results.summary["suspects"] | {"cells": to_records(suspects)}})
    for line in _lines(results, said, suspects):
        terminal.print(line)
    for line in [] if out is None else where_lines(results, out):
        terminal.print(line)


def _lines(results: Results, said: list[str], suspects: Any) -> list[str]:
    """The verdict, what was fitted, the list, and what its probability is."""
    from latentbits.findings.false_zeros import suspect_line, suspects_head

    first, *others, meaning = said
    listed = [suspects_head(suspects), *map(suspect_line, (line for _, line in suspects.iterrows()))]
    verdict = results.summary.get("verdict", {}).get("sentences", [])
    return [*verdict, first, *data_lines(results.data), *others, *(listed if len(suspects) else []), meaning]
