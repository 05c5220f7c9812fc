"""The commands that answer from a file alone: repeat-visits, tetrachoric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.options.click_helpers import Values
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.options.reading import check_file, read, read_with_segments, reader_arguments, reading_options
from latentbits.cli.terminal import Terminal, check_target, output_table, warnings_as_notes
from latentbits.wording import counted

if TYPE_CHECKING:
    from latentbits.data.histories import Histories
    from latentbits.models.repeated_survey import RepeatedSurvey

__all__ = ["repeat_visits", "tetrachoric"]


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
    for line in _sentences(histories, model):
        click.echo(line, err=True)
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


def _sentences(histories: Histories, model: RepeatedSurvey) -> list[str]:
    n_sites, n_visits, n_species = histories.shape
    size = f"{counted(n_sites, 'site')}, {counted(n_visits, 'visit')} and {n_species:,} species"
    if model.rate is not None:
        return [f"{size}; the rate is given."]
    error = f" ± {model.rate_se_:.2f}" if model.rate_se_ < 1 else ""
    sees = f"a visit sees an individual with probability {model.rate_:.2f}{error}"
    return [f"{size}: {sees}, by species that were seen and missed again."]


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
