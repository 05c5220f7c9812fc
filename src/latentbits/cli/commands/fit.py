"""The commands that fit a model to a file, and leave everything about it in one folder: fit, false-zeros."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits import sentences
from latentbits.cli.commands.choose import select_number
from latentbits.cli.options.asking import ASKING, kind_option, marks_option, question_about, typed, with_visit_columns
from latentbits.cli.options.learning import (
    BY_OPTION,
    FOLDS,
    LEARNING,
    OF_MANY,
    GroupedHelp,
    criterion_option,
    model_option,
    parameters_of,
)
from latentbits.cli.options.reading import (
    TOGETHER,
    check_file,
    read_numbers,
    read_together,
    read_with_segments,
    reader_arguments,
    reading_options,
)
from latentbits.cli.terminal import (
    FILE_PATH,
    FOLDER_FORCE,
    INTERRUPTED,
    Terminal,
    Values,
    bundled,
    figures_option,
    flag_of,
    force_option,
    given,
    shape_option,
    terminal_options,
    verbose_option,
    warnings_as_notes,
)
from latentbits.models.registry import FITTED_TO_FILES, MODELS, NUMBER_MODELS, TABLE_MODELS
from latentbits.notes import Code
from latentbits.storage.files import to_records
from latentbits.storage.output_folder import PLOTS_FOLDER, SUMMARY_FILE
from latentbits.storage.run_folder import REPORT_FILE, RunFolder

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.marks import Marks
    from latentbits.findings.account import Data, Findings, Provenance

# ---- fit -------------------------------------------------------------------------------------------------------------


@click.command(
    cls=GroupedHelp,
    first=(
        *("out", "force", "components", "model", "restarts", "seed", "jobs", "verdict"),
        *("row_labels", "exclude", "long", "presence", "threshold", "missing"),
    ),
    short_help="Fit a model to FILE; tables, plots, report and model go to a folder.",
    epilog="Example: latentbits fit sites.csv --exclude age --out run",
)
@model_option(click.Choice(FITTED_TO_FILES), None)
@bundled("learning", LEARNING)
@criterion_option
@click.option("--segments", metavar="COLUMN", help="binary-ica: the column that says which segment a row belongs to.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="aspect-bernoulli, beta-ica: fit on the workers of the Dask scheduler at ADDRESS, such as tcp://host:8786.",
)
@marks_option("confirmed ones are 1 in the fit, rejected ones 0, and neither is a suspect")
@click.option("--out", type=FILE_PATH, metavar="DIR", required=True, help="The folder to make.")
@force_option(FOLDER_FORCE)
@shape_option
@click.option(
    "--verdict/--no-verdict",
    default=True,
    help="Whether to ask first if the model predicts held-out cells better than frequencies.  [default: verdict]",
)
@bundled("together", TOGETHER)
@click.option("--report/--no-report", default=True, help="Whether DIR gets a report.html.  [default: report]")
@figures_option
@terminal_options
@verbose_option
@reading_options
def fit(
    file: Path,
    reading: Values,
    model: str | None,
    learning: Values,
    criterion: list[str] | None,
    segments: str | None,
    cluster: str | None,
    marks: Marks | None,
    out: Path,
    force: bool,
    shape: tuple[int, int] | None,
    verdict: bool,
    together: Values,
    report: bool,
    figures: tuple[str, ...],
    terminal: Terminal,
) -> None:
    """Fit a model to FILE and leave model, tables, plots, summary and a report in DIR.

    FILE is CSV, TSV or other delimited text (also compressed), .xlsx, .parquet (or a folder of such files), .feather,
    .npz, .npy or .mtx, of 0, 1 and missing cells; for binary-factors (cells may be missing) and ica-mixture text or
    .xlsx of numbers.

    DIR gets model.npz, the answers as tables (CSV), restarts.csv, summary.json, plots and report.html; of the aspect
    models (aspect-bernoulli, beta-ica) also denoised.csv and suspects.csv (the 1000 most suspected zeros, and ones if
    there is a black phantom); of false-zeros what "latentbits false-zeros" leaves there. A fit that is interrupted
    leaves the best answer so far, and exit code 130; with --checkpoint the same command and --force go on there. Of a
    table with more than 20 million cells weights.csv and suspects.csv are of all rows, and the rest of the answers of a
    random part of them.

    The answer begins with a verdict: does the model predict held-out cells better than the frequencies of columns, and
    of rows and columns? If not, its suspects are no evidence of false zeros. For that, parts of the cells are held out
    and predicted, from up to 10 random starts (of large tables 3); --no-verdict leaves it out.

    Without --model, independent columns, rows and columns, a Bernoulli mixture and aspects (beta-ica) are compared by
    held-out cells, with 2 to 6 components or those of --components; the simplest that is within one standard error of
    the best is fitted. (One number alone of --components is that of aspect-bernoulli.) With --model several numbers of
    components are compared as by "latentbits select"; the model that the first --criterion chooses is kept, by default
    the one that predicts held-out cells best. Comparing leaves nothing when it is interrupted.
    """
    RunFolder(out).check(force=force)
    model, numbers = _planned(model, learning, criterion=criterion, segments=segments, cluster=cluster)
    searching = numbers is not None and len(numbers) > 1
    if segments is not None and model != "binary-ica":
        raise click.UsageError(f"--segments is not an option of {model}; leave it out, or use --model binary-ica")
    if marks is not None and model in NUMBER_MODELS:
        raise click.UsageError(f"--marks is about 0-1 data, and {model} takes numbers; leave it out")
    if cluster is not None and model is not None:
        _check_cluster(model, searching)
    _check_together(model, together, verdict, segments)
    check_file(file)
    folds = (learning.pop("folds") if searching else None) or FOLDS
    learning = {**learning, "components": numbers and numbers[0]}
    parameters = _candidates(learning) if model is None else {model: parameters_of(learning, model)}
    asking: Values = {"verdict": verdict, "shape": shape, "cluster": cluster, "n_jobs": learning["jobs"]}
    asking["verbose"] = int(terminal.shows_progress)
    with warnings_as_notes(Code.NO_NOISE_COMPONENT) as warned:
        start = time.perf_counter()
        data, fit_params = _read_for(model, file, reading, segments, marks, together)
        seconds = {"read": _since(start)}

        from latentbits.findings.analyse import analyse
        from latentbits.models.registry import model_class
        from latentbits.tasks.choose import choose

        start = time.perf_counter()
        search: Values = {"folds": folds, "progress": terminal.shows_progress}
        if model is None:
            facts = getattr(data, "facts", None)
            if facts is not None:
                click.echo(f"note: {sentences.not_compared_with(facts.names)}", err=True)
            estimators = [model_class(name)(**own) for name, own in parameters.items()]
            where: Values = {"random_state": learning["seed"], "n_jobs": learning["jobs"], "verbose": asking["verbose"]}
            asked: Any = choose(data, estimators, components=numbers or COMPONENTS, n_folds=folds, **where)
        elif searching:
            others = {key: value for key, value in parameters[model].items() if key != "n_components"}
            asked = select_number(model, others, data, numbers or [], criterion=criterion, **search)
        else:
            asked = model_class(model)(**parameters[model])
        if searching:
            seconds["select"] = _since(start)
        provenance = _provenance(file, reading, marks, seconds, warned)
        findings = analyse(asked, data, provenance=provenance, **asking, **fit_params)
    summary = RunFolder(out).save(findings, force=force, report=report, formats=figures)
    terminal.print_json(summary)
    terminal.print_findings(findings)
    terminal.print_lines(where_lines(findings, out, file, report=report, verbose=terminal.verbose))
    if findings.has(Code.INTERRUPTED):
        click.get_current_context().exit(INTERRUPTED)


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 3)


def _provenance(
    file: Path, reading: Values, marks: Marks | None, seconds: dict[str, float], warned: list[Warning], **asked: Any
) -> Provenance:
    """Where the data came from, how they can be read again, which cells were looked up, and what was warned of."""
    from latentbits.findings.account import Provenance

    place = None if marks is None else marks.place.removesuffix(": ")
    return Provenance(file.name, reader_arguments(reading), place, asked or None, seconds, tuple(warned))


BASELINES, FAMILIES = ("independent", "row-column"), ("bernoulli-mixture", "beta-ica")
"""What is compared if no model is named: baselines, and models with components."""

COMPONENTS = [2, 3, 4, 5, 6]
"""What is tried if no number is given."""


def _planned(model: str | None, learning: Values, **of_one_model: Any) -> tuple[str | None, list[int] | None]:
    """The model, or None if it is to be chosen, and the numbers of components to try; what is senseless is refused."""
    numbers = learning["components"]
    if model is None:
        if numbers and len(numbers) == 1:
            model = "aspect-bernoulli"
        else:
            single = next((name for name, value in of_one_model.items() if value is not None), None)
            if single is not None:
                raise click.UsageError(f"--{single} is about one model; name it with --model")
            return None, numbers or COMPONENTS
    spec = MODELS[model]
    if numbers is None and spec.needs_components and model in TABLE_MODELS:
        numbers = COMPONENTS
    searching = numbers is not None and len(numbers) > 1
    if searching and spec.has_components and model not in TABLE_MODELS:
        raise click.UsageError(f"--components of {model} must be one number; of 0-1 tables only it can be chosen")
    own = [parameter.option.name for parameter in spec.parameters.values() if parameter.option]
    for option in ("criterion", "folds"):
        if given(option) and not searching and option not in own:
            raise click.UsageError(f"--{option} chooses among several --components; give a range such as 2:8")
    return model, numbers


def _candidates(learning: Values) -> dict[str, Values]:
    """The parameters of all that is compared: baselines, and the families that have all options that were given."""
    special = [name for name in learning if given(name) and len(BY_OPTION[name]) < OF_MANY and name != "folds"]
    able = [family for family in FAMILIES if all(family in BY_OPTION[name] for name in special)]
    if not able:
        first = next(name for name in special if not set(FAMILIES) & BY_OPTION[name].keys())
        raise click.UsageError(f"{flag_of(first)} is an option of {', '.join(BY_OPTION[first])}; name one with --model")
    parameters = {name: parameters_of(learning, name, known_only=True) for name in (*BASELINES, *able)}
    return {name: {k: v for k, v in own.items() if k != "n_components"} for name, own in parameters.items()}


def _check_cluster(model: str, searching: bool) -> None:
    """Refuse a cluster where it would not be used."""
    able = [name for name, spec in MODELS.items() if spec.on_cluster]
    if model not in able:
        raise click.UsageError(f"--cluster is not an option of {model}; leave it out, or use --model {able[0]}")
    if searching:
        raise click.UsageError("--cluster is for one number of --components; choose it on a sample of the rows first")


def _check_together(model: str | None, together: Values, verdict: bool, segments: str | None) -> None:
    """Refuse rows that are held out together where nothing is held out."""
    for option, value in together.items():
        if value is None:
            continue
        if model in NUMBER_MODELS or not verdict:
            raise click.UsageError(f"--{option} is about the verdict, and there is none; leave it out")
        if segments is not None:
            raise click.UsageError(f"--{option} and --segments both say how rows belong together; give one of them")


def _read_for(
    model: str | None, file: Path, reading: Values, segments: str | None, marks: Marks | None, together: Values
) -> tuple[Data, Values]:
    """The data, and what else the model's `fit` and the verdict take."""
    if model is not None and model in NUMBER_MODELS:
        return read_numbers(file, reading, allow_missing=MODELS[model].takes_missing), {}
    if segments is None:
        data, known = read_together(file, reading, together)
        return _with_marks(data, marks), known
    data, segment_of_row = read_with_segments(file, reading, segments)
    return _with_marks(data, marks), {"segments": segment_of_row}


def _with_marks(data: BinaryData, marks: Marks | None) -> BinaryData:
    """The data with the cells that were looked up set to what they are."""
    if marks is None:
        return data
    from latentbits.data.marks import apply_marks

    return apply_marks(data, marks)


def where_lines(findings: Findings, folder: Path, file: Path, *, report: bool, verbose: bool) -> Iterator[str]:
    """What a run has left, and where; in short the report, and how to ask why."""
    if not verbose:
        yield f" Report  {folder / REPORT_FILE}" if report else f" Folder  {folder}"
        from latentbits.render import has_suspects

        if has_suspects(findings):
            row, column = findings.tables["suspects"].loc[0, ["row", "column"]]
            words = ("latentbits", "explain", folder, file, "--cell", row, column)
            yield f" Why?    {shlex.join(map(str, words))}"
        return
    tables = ", ".join(f"{name}.csv" for name in findings.tables if name != "restarts")
    pictures = f", and pictures in {PLOTS_FOLDER}" if findings.figures else ""
    yield f"Look at {folder}: {tables}, {SUMMARY_FILE}{pictures}."
    if report:
        yield f"Open {folder / REPORT_FILE}."


# ---- false-zeros -----------------------------------------------------------------------------------------------------

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
@bundled("together", TOGETHER)
@click.option("--out", type=FILE_PATH, metavar="DIR", help="A folder to make, as of latentbits fit.")
@force_option(FOLDER_FORCE)
@click.option("--report/--no-report", default=True, help="Whether DIR gets a report.html.  [default: report]")
@figures_option
@terminal_options
@verbose_option
@reading_options
def false_zeros(
    file: Path,
    reading: Values,
    top: int,
    kind: str,
    asking: Values,
    marks: Marks | None,
    learning: Values,
    together: Values,
    out: Path | None,
    force: bool,
    report: bool,
    figures: tuple[str, ...],
    terminal: Terminal,
) -> None:
    """List the zeros of FILE that most likely hide a 1, by an ensemble of unlike models.

    The answer begins with a verdict: are held-out cells predicted better than by frequencies of rows and columns? If
    not, the list is no evidence of false zeros. The score ranks; the probability beside it is P(1 | the rest), not
    that of presence, unless --rate or --revisits tell how much a visit sees.

    With --out, DIR gets model, suspects.csv (1000 cells, with what each member says), members.csv, reliability.csv,
    plots, summary.json and report.html; "latentbits suspects DIR FILE" then asks it about other rows, and "latentbits
    explain DIR FILE --cell ROW COLUMN" says why. For components that explain cells, and to denoise, use
    "latentbits fit".
    """
    if out is not None:
        RunFolder(out).check(force=force)
    check_file(file)
    parameters = parameters_of(learning, _MODEL)
    limit = None if asking["per_row"] is not None and not given("top") else top
    with warnings_as_notes() as warned:
        start = time.perf_counter()
        data, known = read_together(file, with_visit_columns(reading, asking), together)
        data = _with_marks(data, marks)
        question = question_about(data, asking, kind=kind)
        seconds = {"read": _since(start)}

        from latentbits.findings.account import N_SUSPECTS
        from latentbits.findings.analyse import analyse
        from latentbits.models.registry import model_class

        question["top"] = None if limit is None else max(limit, N_SUSPECTS)
        findings = analyse(
            model_class(_MODEL)(**parameters),
            data,
            question=question,
            provenance=_provenance(file, reading, marks, seconds, warned, **typed(asking)),
            n_jobs=parameters.get("n_jobs"),
            verbose=int(terminal.shows_progress),
            **known,
        )
    summary = findings.to_dict()
    if out is not None:
        summary = RunFolder(out).save(findings, force=force, report=report, formats=figures)
    shown = limit if out is None else top
    cells = to_records(findings.tables["suspects"][:shown])
    terminal.print_json(summary | {"suspects": summary["suspects"] | {"cells": cells}})
    terminal.print_findings(findings, top=len(cells), asked=terminal.verbose or given("top"))
    if out is not None:
        terminal.print_lines(where_lines(findings, out, file, report=report, verbose=terminal.verbose))
