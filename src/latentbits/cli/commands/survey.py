"""The commands that answer from a file alone: repeat-visits, tetrachoric, factors."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits import sentences
from latentbits.cli.options.reading import check_file, read, read_with_segments, reader_arguments, reading_options
from latentbits.cli.terminal import (
    FOLDER_FORCE,
    Terminal,
    Values,
    check_target,
    force_option,
    optional_folder_option,
    output_table,
    table_options,
    terminal_options,
    warnings_as_notes,
)
from latentbits.storage.files import to_records
from latentbits.storage.output_folder import PLOTS_FOLDER, REPORT_FILE, OutputFolder

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.correlations.factor_analysis import FactorSolution
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.histories import Histories
    from latentbits.models.repeated_survey import RepeatedSurvey


@click.command(
    "repeat-visits",
    short_help="What is there although no visit of FILE has seen it.",
    epilog="Example: latentbits repeat-visits visits.csv --long site species --visits day --top 20",
)
@click.option("--visits", metavar="COLUMN", required=True, help="The column that says which visit a line is about.")
@click.option(
    "--all-visits",
    is_flag=True,
    help="Every visit was made to every site.  [default: those that FILE has a line of]",
)
@click.option("--top", type=click.IntRange(min=1), default=100, show_default=True, help="How many cells.")
@click.option("--per-row", type=click.IntRange(min=1), metavar="N", help="At most so many cells of a site.")
@click.option(
    "--rate",
    type=click.FloatRange(0.001, 1, max_open=True),
    metavar="R",
    help="The probability that a visit sees an individual, if it is known.  [default: learned]",
)
@click.option("--per-species", is_flag=True, help="Each species has a rate of its own.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same answer.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@table_options
@terminal_options
@reading_options
def repeat_visits(
    file: Path,
    reading: Values,
    visits: str,
    all_visits: bool,
    top: int,
    per_row: int | None,
    rate: float | None,
    per_species: bool,
    seed: int,
    jobs: int,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """List what is most likely at a site although none of several visits has seen it.

    FILE has a line for each observation: --long names its columns of sites and species, and perhaps of a value, and
    --visits that of the visit. A visit that saw nothing needs a line too, with an empty species or a value of 0.

    The table has for each species that was never seen at a site the number of visits made there, the probability that
    it is present, and that the next visit sees it. The second can be checked by going there, and is rather too low
    where species come and go between visits; the first relies on the idea that species are missed because they are few
    (help(latentbits.RepeatedSurvey) says more).
    """
    if out is not None:
        check_target(out, force=force)
    check_file(file)
    with warnings_as_notes():
        histories = _read(file, reading, visits, all_visits)

        from latentbits.models.repeated_survey import RepeatedSurvey

        model = RepeatedSurvey(rate=rate, per_species=per_species, random_state=seed, n_jobs=jobs).fit(histories)
        table = model.suspects(top=top, per_row=per_row)
    click.echo(_sentence(histories, model), err=True)
    output_table(table, out, force=force, terminal=terminal)


def _read(file: Path, reading: Values, visits: str, all_visits: bool) -> Histories:
    from latentbits.data.readers import read_histories

    arguments: dict[str, Any] = reader_arguments(reading)
    if "long" not in arguments:
        raise click.UsageError("name the columns of sites and species: --long SITE SPECIES [VALUE]")
    site, species, *value = arguments.pop("long")
    surveyed = "all" if all_visits else None
    named = {"site": site, "visit": visits, "species": species, "value": value[0] if value else None}
    return read_histories(file, **named, surveyed=surveyed, **arguments)


def _sentence(histories: Histories, model: RepeatedSurvey) -> str:
    error = model.rate_se_ if model.rate is None and model.rate_se_ < 1 else None
    return sentences.surveyed(*histories.shape, None if model.rate is not None else model.rate_, error)


@click.command(
    short_help="Tetrachoric correlations of the columns, as a labelled table.",
    epilog="Example: latentbits tetrachoric items.csv --out correlations.csv",
)
@click.option("--segments", metavar="COLUMN", help="The column that says which group a row belongs to.")
@click.option("--pairs", "as_pairs", is_flag=True, help="A line for each pair, with its standard error.")
@click.option("--repair", is_flag=True, help="Make the matrix positive definite, as factor analysis needs it.")
@table_options
@terminal_options
@reading_options
def tetrachoric(
    file: Path,
    reading: Values,
    segments: str | None,
    as_pairs: bool,
    repair: bool,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Correlations of the normal variables behind the columns of FILE, as a table with their names.

    Polychoric correlations, of columns with more than two ordered values, are not computed.
    """
    from latentbits.correlations.tetrachoric import tetrachoric as correlate

    check_file(file)
    data, labels = (read(file, reading), None) if segments is None else read_with_segments(file, reading, segments)
    found = correlate(data, labels, repair=repair)
    table = found.to_pairs() if as_pairs else found.to_frame().rename_axis(columns=None)
    if not as_pairs:
        table = table.reset_index(names=["segment", "column"] if labels is not None else ["column"])
    output_table(table, out, force=force, terminal=terminal)


@click.command(
    short_help="How many factors yes-no items have, which ones, and how well they fit.",
    epilog="Example: latentbits factors items.csv --out factors",
)
@click.option("--factors", "n_factors", type=click.IntRange(min=1), metavar="N", help="[default: parallel analysis]")
@click.option(
    "--rotation",
    type=click.Choice(["oblimin", "promax", "varimax", "none"]),
    default="oblimin",
    show_default=True,
    help="Oblimin and promax let factors be correlated.",
)
@click.option(
    "--samples", type=click.IntRange(min=0), default=0, metavar="N", help="Bootstrap refits for standard errors."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same answer.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@optional_folder_option
@force_option(FOLDER_FORCE)
@terminal_options
@reading_options
def factors(
    file: Path,
    reading: Values,
    n_factors: int | None,
    rotation: Any,
    samples: int,
    seed: int,
    jobs: int,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Factor analysis of the yes-no items of FILE on their tetrachoric correlations; cells may be missing.

    How many factors there are is found by parallel analysis, and may be none. --out makes a folder with the loadings,
    the scores of the rows with their standard errors, the correlations, plots, and a page to open: report.html.
    """
    if out is not None:
        OutputFolder(out).check(force=force)
    check_file(file)
    with warnings_as_notes():
        data = read(file, reading)

        from latentbits.correlations.factor_analysis import factor_analysis

        found = factor_analysis(data, n_factors, rotation=rotation, n_samples=samples, random_state=seed, n_jobs=jobs)
    summary = _summary_of(found, file)
    if out is not None:
        _save_factors(found, data, summary, out, force=force)
    terminal.print_json(summary | {"loadings": to_records(_named_columns(found.to_frame()))})
    for line in str(found).split("\n"):
        terminal.print(line)
    if out is not None:
        terminal.print(f"Open {out / REPORT_FILE}; tables are beside it, and pictures in {PLOTS_FOLDER}.")


def _summary_of(found: FactorSolution, file: Path) -> dict[str, Any]:
    fit = {} if found.fit is None else asdict(found.fit)
    return {"file": file.name, "n_factors": found.n_factors, "rms_residual": found.rms_residual, "fit": fit}


def _named_columns(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename_axis(columns=None).reset_index(names="column")


def _save_factors(found: FactorSolution, data: BinaryData, summary: dict[str, Any], out: Path, *, force: bool) -> None:
    import pandas as pd

    from latentbits.report.factor_page import factor_page

    names = list(found.to_frame().index)
    tables = {
        "loadings": _named_columns(found.to_frame()),
        "scores": found.scores(data).to_frame().reset_index(names="row"),
        "correlations": _named_columns(pd.DataFrame(found.correlations, index=names, columns=names)),
    }
    folder = OutputFolder(out)
    folder.save_tables(tables, summary, figures=found.figures(), force=force)
    (out / REPORT_FILE).write_text(factor_page(found, f"Factors of {summary['file']}"), encoding="utf-8")
    folder.add_file(REPORT_FILE)
