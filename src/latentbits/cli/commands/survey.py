"""The commands that answer from a file alone: repeat-visits, tetrachoric, factors."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits import sentences
from latentbits.cli.options.reading import check_file, read, read_with_segments, reader_arguments, reading_options
from latentbits.cli.terminal import (
    FILE_PATH,
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
from latentbits.errors import DataError
from latentbits.notes import Code, Role
from latentbits.storage.files import to_records
from latentbits.storage.output_folder import PLOTS_FOLDER, REPORT_FILE, OutputFolder
from latentbits.storage.run_folder import RunFolder
from latentbits.wording import quoted

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.correlations.factor_analysis import FactorSolution
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.histories import Histories
    from latentbits.findings.account import Findings


@click.command(
    "repeat-visits",
    short_help="What is there although no visit of FILE has seen it, and how much altogether.",
    epilog="Example: latentbits repeat-visits visits.csv --long site species --visits day --out run",
)
@click.option("--visits", metavar="COLUMN", help="The column that says which visit a line is about (with --long).")
@click.option(
    "--visits-made", type=FILE_PATH, metavar="FILE", help="A list of the visits made, with these two columns."
)
@click.option("--all-visits", is_flag=True, help="Every visit was made to every site.")
@click.option("--every-visit-saw", is_flag=True, help="Every visit saw something, so that FILE has them all.")
@click.option("--visit-file", type=FILE_PATH, multiple=True, help="A further visit, where each has a file. Repeatable.")
@click.option(
    "--visit-effort", metavar="COLUMN", help="The column with the effort of a visit, such as minutes (with --long)."
)
@click.option(
    "--sites",
    type=FILE_PATH,
    metavar="FILE",
    help="A table of the sites, named in its first column, for --covariates and --coordinates; with --long these "
    "may be columns of FILE.",
)
@click.option("--top", type=click.IntRange(min=1), default=100, show_default=True, help="How many cells.")
@click.option("--per-row", type=click.IntRange(min=1), metavar="N", help="At most so many cells of a site.")
@click.option("--detection", type=float, metavar="P", help="The probability that a visit sees a species, if known.")
@click.option("--rate", type=float, metavar="R", help="The probability that a visit sees an individual, if known.")
@click.option(
    "--verdict/--no-verdict",
    default=True,
    show_default=True,
    help="Leave out each visit in turn, to see whether it is predicted (with a folder).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same answer.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@table_options
@terminal_options
@reading_options
def repeat_visits(
    file: Path,
    reading: Values,
    top: int,
    per_row: int | None,
    detection: float | None,
    rate: float | None,
    verdict: bool,
    sites: Path | None,
    seed: int,
    jobs: int,
    out: Path | None,
    force: bool,
    terminal: Terminal,
    **about_visits: Any,
) -> None:
    """List what is most likely at a site although none of several visits has seen it, and say how much is there.

    FILE has a line for each observation: --long names its columns of sites and species, and perhaps of a value, and
    --visits that of the visit. A visit that saw nothing needs a line too, with an empty species or a value of 0, or a
    line in the file of --visits-made. Without --long it is a wide table (columns owl_visit1, owl_visit2 or v1_owl,
    v2_owl), a table of histories as text ("01-1"), a workbook with a sheet for each visit, or a file for each visit.

    The list has for each species that was never seen at a site the number of visits made there, the probability that
    it is present, and that the next visit sees it, with 90 % intervals. --out DIR makes a folder with the list, sites,
    species, both probabilities of all cells, plots, and a page to open: report.html. --out FILE.csv is the list only.
    """
    folder = out is not None and out.suffix.lower() not in _TABLE_SUFFIXES
    if out is not None:
        OutputFolder(out).check(force=force) if folder else check_target(out, force=force)
    check_file(file)
    known = {name: reading[name] for name in ("covariates", "coordinates") if reading[name]}
    if known and sites is None and not reading["long"]:
        raise click.UsageError("--covariates and --coordinates are columns of a table of sites; give it by --sites")

    with warnings_as_notes():
        of_file = reading if sites is None else {**reading, **dict.fromkeys(known, ())}
        histories, effort = _read(file, of_file, about_visits)

        from latentbits.findings.account import Provenance  # late: a file that is refused shouldn't wait for it
        from latentbits.findings.analyse import analyse
        from latentbits.models.repeated_survey import RepeatedSurvey
        from latentbits.render import lines

        if sites is not None:
            histories = _with_sites(histories, sites, known)
        model = RepeatedSurvey(detection=detection, rate=rate, random_state=seed, n_jobs=jobs)
        found = analyse(
            model,
            histories,
            verdict=folder and verdict,
            question={"top": top, "per_row": per_row},
            provenance=Provenance(file.name),
            effort=effort,
        )
    for line in lines(found) if folder else _sentences(found):
        click.echo(line, err=True)
    if not folder:
        output_table(found.tables["suspects"], out, force=force, terminal=terminal)
        return
    assert out is not None
    RunFolder(out).save(found, force=force, report=True)
    terminal.print(f"Open {out / REPORT_FILE}; tables are beside it, and pictures in {PLOTS_FOLDER}.")
    terminal.print(f"Later: latentbits suspects {out}, latentbits explain {out} --row SITE, latentbits report {out}.")


_TABLE_SUFFIXES = (".csv", ".json", ".txt", ".tsv")


def _read(file: Path, reading: Values, about: Values) -> tuple[Histories, Any]:
    """The histories, a site's visits numbered as they come, and the effort of each."""
    from latentbits.data.readers import read_histories, read_raw
    from latentbits.data.visit_tables import of_visits

    arguments: dict[str, Any] = reader_arguments(reading)
    if "long" not in arguments:
        useless = [
            name for name in ("visits", "visits_made", "all_visits", "every_visit_saw", "visit_effort") if about[name]
        ]
        if useless:
            raise click.UsageError(f"--{useless[0].replace('_', '-')} needs --long SITE SPECIES [VALUE]")
        more = list(about["visit_file"])
        return read_histories([file, *more] if more else file, **arguments).numbered(), None
    if about["visits"] is None:
        raise click.UsageError("name the column of visits too: --visits COLUMN")
    ways = [about["visits_made"], "all" if about["all_visits"] else None, "seen" if about["every_visit_saw"] else None]
    given = [way for way in ways if way is not None]
    if len(given) > 1:
        raise click.UsageError("--visits-made, --all-visits and --every-visit-saw exclude each other; give one of them")
    site, species, *value = arguments.pop("long")
    named = {"site": site, "visit": about["visits"], "species": species, "value": value[0] if value else None}
    histories = read_histories(file, **named, surveyed=given[0] if given else None, **arguments)
    if about["visit_effort"] is None:
        return histories.numbered(), None

    import numpy as np  # late: a file that is refused shouldn't wait for it

    source = about["visits_made"] or file
    effort = of_visits(read_raw(source), site, about["visits"], about["visit_effort"], histories)
    order = histories.in_order()
    return histories.numbered(), np.where(order < 0, np.nan, np.take_along_axis(effort, np.maximum(order, 0), axis=1))


def _sentences(found: Findings) -> list[str]:
    """What is said beside a list that is written itself."""
    notes = found.said(Role.LEAD, Role.FOUND)
    return [sentences.sentence(note) for note in notes if note.code is not Code.UNSEEN_LISTED]


def _with_sites(histories: Histories, file: Path, known: Values) -> Histories:
    """The histories with what a table of the sites says, by the names in its first column."""
    import numpy as np

    from latentbits.data.readers import read_raw
    from latentbits.data.row_facts import RowFacts

    table = read_raw(file)
    name, *others = table.names
    sites = list(table.column(name))
    lines = {site: n for n, site in enumerate(sites)}
    if len(lines) < len(sites):
        twice = next(site for n, site in enumerate(sites) if lines[site] != n)
        raise DataError(f"{file.name}: the site {quoted(twice)} has two lines or more; leave one line for each site")
    lacking = [site for site in histories.row_names or [] if site not in lines]
    if lacking or histories.row_names is None:
        which = f"the site {quoted(lacking[0])} is not" if lacking else "the sites of the visits have no names to find"
        raise DataError(f"{file.name}: {which} in its first column {quoted(name)}; add a line for each site")
    at = [lines[site] for site in histories.row_names]
    columns = {other: np.array(table.column(other), dtype=object)[at] for other in others}
    covariates = list(known.get("covariates", ()))
    return histories.with_facts(
        RowFacts.of(
            columns,
            covariates=None if covariates == ["all"] else covariates,
            coordinates=known.get("coordinates"),
        )
    )


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
    the scores of the rows with their standard errors, the correlations of items and of factors, plots, and a page to
    open: report.html.
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
    terminal.print_json(summary | {"loadings": to_records(_loadings(found))})
    for line in str(found).split("\n"):
        terminal.print(line)
    if found.n_factors > 1:
        from latentbits.report.factor_page import factor_correlations

        terminal.print("Correlations of the factors:")
        table = factor_correlations(found).set_index("factor").rename_axis(None)
        for line in table.to_string(float_format="{:.2f}".format).split("\n"):
            terminal.print(line)
    if out is not None:
        terminal.print(f"Open {out / REPORT_FILE}; tables are beside it, and pictures in {PLOTS_FOLDER}.")


def _summary_of(found: FactorSolution, file: Path) -> dict[str, Any]:
    fit = {} if found.fit is None else asdict(found.fit)
    return {
        "file": file.name,
        "n_factors": found.n_factors,
        "rms_residual": found.rms_residual,
        "fit": fit,
        "factor_correlations": found.factor_correlations.tolist(),
    }


def _loadings(found: FactorSolution) -> pd.DataFrame:
    from latentbits.findings.account import factors_from_one

    return _named_columns(factors_from_one(found.to_frame()))


def _named_columns(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename_axis(columns=None).reset_index(names="column")


def _save_factors(found: FactorSolution, data: BinaryData, summary: dict[str, Any], out: Path, *, force: bool) -> None:
    import pandas as pd

    from latentbits.findings.account import factors_from_one
    from latentbits.report.factor_page import factor_correlations, factor_page

    names = list(found.to_frame().index)
    tables = {
        "loadings": _loadings(found),
        "scores": factors_from_one(found.scores(data).to_frame()).reset_index(names="row"),
        "correlations": _named_columns(pd.DataFrame(found.correlations, index=names, columns=names)),
    }
    if found.n_factors > 1:
        tables["factor_correlations"] = factor_correlations(found)
    folder = OutputFolder(out)
    folder.save_tables(tables, summary, figures=found.figures(), force=force)
    (out / REPORT_FILE).write_text(factor_page(found, f"Factors of {summary['file']}"), encoding="utf-8")
    folder.add_file(REPORT_FILE)
