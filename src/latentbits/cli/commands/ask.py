"""The commands that ask a fitted model about rows: report, denoise, suspects, explain, rows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from latentbits import sentences
from latentbits.cli.options.asking import (
    ASKING,
    CHANGES,
    Ratings,
    kind_option,
    marks_option,
    note_unused_marks,
    question_about,
    ratings_option,
    refuse_asking,
    values_for,
    with_visit_columns,
)
from latentbits.cli.options.reading import (
    READING,
    check_file,
    optional_reading_options,
    read_numbers,
    reader_arguments,
    reading_options,
)
from latentbits.cli.terminal import (
    FILE_PATH,
    Command,
    FloatRange,
    InputFile,
    Terminal,
    Values,
    bundled,
    check_target,
    flag_of,
    force_option,
    given,
    model_argument,
    output_table,
    shape_option,
    table_options,
    terminal_options,
)
from latentbits.data.messages import Places
from latentbits.errors import DataError
from latentbits.models.abilities import Ability, abilities_of
from latentbits.models.registry import TABLE_MODELS
from latentbits.storage.run_folder import REPORT_FILE, RunFolder
from latentbits.wording import counted, place

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.cli.options.asking import Ratings
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.marks import Marks


def read_afresh_option(command: Command) -> Command:
    """Give a command the flag --read-afresh."""
    text = "Read FILE by the options given here alone, not as the file of the fit was read."
    return click.option("--read-afresh", is_flag=True, help=text)(command)


def open_model_and_rows(
    fitted: Path,
    file: Path | None,
    reading: Values,
    *,
    read_afresh: bool,
    out: Path | None,
    force: bool,
    needs: Ability = Ability.EXPLAIN_CELLS,
) -> tuple[Any, BinaryData]:
    """A model that can do what the command `needs`, and the rows of the file for it, with the marks of the fit.

    Without a file the rows are those of the fit. What needs no reading is refused first: a path that isn't there, and
    an `out` that may not be written.
    """
    run = RunFolder.open(fitted)
    if file is not None:
        check_file(file)
    elif not run.is_folder:
        raise click.UsageError(f"{run.path} is a model file, which has no rows; give FILE as well")
    if out is not None:
        check_target(out, force=force)
    model = run.load_model()
    refuse_unable(model, fitted, needs, found_nothing=run.fit_record.get("verdict", {}).get("predicts") is False)
    _note_verdict_of_fit(run)
    if file is None:
        own: Any = run.load_data()[0]
        return model, own
    data = rows_for(run, model, file, reading, read_afresh=read_afresh)
    return model, _with_marks_of_fit(run, data)


def _note_verdict_of_fit(run: RunFolder) -> None:
    verdict = run.fit_record.get("verdict")
    if verdict is not None and not verdict["predicts"]:
        first, *_ = verdict["sentences"]
        click.echo(f"note: {sentences.verdict_of_fit(first)}", err=True)


def note_question_of_fit(fitted: Path, asking: Values) -> None:
    """Say that the fit's own list was asked for another probability, if nothing about it is asked for here."""
    asked = RunFolder.open(fitted).question or {}
    told = {key: asked[key] for key in ("rate", "revisits", "later_visits", "n_visits") if key in asked}
    if told and all(asking[key] is None for key in told):
        options = " ".join(f"{flag_of(key)} {value}" for key, value in told.items())
        click.echo(f"note: the fit's own list was asked for with {options}; give it here as well", err=True)


def _with_marks_of_fit(run: RunFolder, data: BinaryData) -> BinaryData:
    """The data with the marks of the fit, if it was fitted to them; of other data a note says that there were marks.

    A command that takes no --marks looks at the file as it is.
    """
    asked = click.get_current_context().params
    if run.marks_file is None or "marks" not in asked or asked["marks"] is not None:
        return data
    if (known := _as_fitted(run, data)) is not None:
        click.echo(f"note: the cells that were marked for the fit ({run.marks_file}) count here as well", err=True)
        return known
    again = f"to use them here as well, give --marks {run.marks_file}"
    click.echo(f"note: cells were marked for the fit; {again}", err=True)
    return data


def _as_fitted(run: RunFolder, data: BinaryData) -> BinaryData | None:
    """The data with the marks of the fit, if that makes them the fit's own; None if not, or if these aren't there."""
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.marks import with_marks

    try:
        fitted, _ = run.load_data()
    except DataError:
        return None
    if not isinstance(fitted, BinaryData) or fitted.marks is None or fitted.shape != data.shape:
        return None
    known = with_marks(data, fitted.marks)
    return known if known.fingerprint() == fitted.fingerprint() else None


_MATRICES = {Ability.PREDICT_CELLS: "probabilities of single cells", Ability.ROW_WEIGHTS: "weights of rows"}
"""What can be exported, by the ability that it takes."""


def refuse_unable(model: Any, place: Path, needs: Ability, *, found_nothing: bool = False) -> None:
    """Refuse a model that can't answer: all but the aspect family, and what FalseZeros doesn't do.

    If the verdict on the fit has `found_nothing`, that is said instead of which model could.
    """
    abilities = abilities_of(model)
    if needs in _MATRICES:
        if needs not in abilities:
            tables = [f"{name}.csv" for name in ("present", "seen_next") if (place / f"{name}.csv").is_file()]
            instead = f"; {' and '.join(tables)} in {place} have those of sites and species" if tables else ""
            raise DataError(f"{place}: {type(model).__name__} has no {_MATRICES[needs]}{instead}")
        return
    if Ability.VISITS in abilities:
        if needs is Ability.EXPLAIN_CELLS:
            raise DataError(
                f"{place}: the folder of repeat visits keeps its visits, and answers about them alone; leave out FILE"
            )
        raise DataError(f"{place}: a fit of repeat visits changes no cells; ask it for suspects, explain or report")
    if Ability.EXPLAIN_CELLS not in abilities and found_nothing:
        raise DataError(
            f"{place}: the verdict on the fit found nothing, so {type(model).__name__} has no suspects; latentbits "
            "false-zeros ranks the zeros all the same"
        )
    if Ability.EXPLAIN_CELLS not in abilities:
        raise DataError(
            f"{place}: {type(model).__name__} has no noise components, so it can't denoise, rank or explain cells; fit "
            "--model aspect-bernoulli or beta-ica"
        )
    if needs not in abilities:
        raise DataError(
            f"{place}: {type(model).__name__} ranks cells and changes none; set those that you have looked up by "
            "--marks, or fit --model aspect-bernoulli or beta-ica to denoise"
        )


def refuse_ratings_of_ensemble(model: Any, place: Path, ratings: Ratings | None) -> None:
    """Refuse ratings of components for a model that has none."""
    if ratings is not None and Ability.COMPONENTS not in abilities_of(model):
        raise DataError(
            f"{place}: {type(model).__name__} has no components to rate; leave --ratings out (--marks takes marks)"
        )


def rows_for(run: RunFolder, model: Any, file: Path, reading: Values, *, read_afresh: bool) -> BinaryData:
    """The file's data with the model's columns, read as for the fit; a note says by which options."""
    from latentbits.data.read_options import FitReading
    from latentbits.data.readers import read_table

    fit = FitReading.of_model(model, None if read_afresh else run.reading_of(model))
    arguments = _given_arguments(reading)
    data = read_table(file, **arguments, like=fit)
    remembered = {option: value for option, value in (fit.reading or {}).items() if option not in arguments}
    if note := _note(remembered, data):
        click.echo(f"note: {note}", err=True)
    return data


def _given_arguments(reading: Values) -> Values:
    """The options that the user has given, be it with their default values, as keyword arguments of `read_table`."""
    defaults = [option for option, settings in READING.items() if "default" in settings and given(option)]
    return reader_arguments(reading) | {option: reading[option] for option in defaults}


def _note(remembered: Values, data: BinaryData) -> str:
    """Which options of the fit were used on the file, and whether the column that named the rows is lacking."""
    used = {option: value for option, value in (data.reading or {}).items() if option in remembered}
    label = remembered.get("row_labels")
    lacking = isinstance(label, str) and used.get("row_labels") != label
    named = used.pop("row_labels", None)
    if named is not None and not lacking:
        used["row_labels"] = named  # last: what cells mean matters more
    parts = [f"read as for the fit: {' '.join(_typed(*option) for option in used.items())}"] if used else []
    return "; ".join([*parts, f'there is no column "{label}", which named the rows of the fit'] if lacking else parts)


def _typed(option: str, value: Any) -> str:
    """An option as it is typed on the command line."""
    flag = flag_of(option)
    if isinstance(value, bool):
        return flag if value else flag_of(f"no_{option}")
    words = [shlex.quote(f"{part:g}" if isinstance(part, float) else str(part)) for part in _listed(value)]
    if READING.get(option, {}).get("multiple"):
        return " ".join(f"{flag} {word}" for word in words)
    return " ".join([flag, *words])


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@click.command(
    short_help="What a fit has found, as one HTML file to explore and act in.",
    epilog="Example: latentbits report run --ratings ratings.json",
)
@model_argument
@click.option("--out", type=FILE_PATH, metavar="FILE.html", help=f"Where to write.  [default: DIR/{REPORT_FILE}]")
@force_option("Replace an existing FILE.html (that of DIR is replaced anyway).")
@ratings_option("0 for phantoms, 1 for the rest")
@marks_option("the page begins with them")
@shape_option
@terminal_options
@optional_reading_options
@read_afresh_option
def report(
    fitted: Path,
    file: Path | None,
    reading: Values,
    read_afresh: bool,
    out: Path | None,
    force: bool,
    ratings: Ratings | None,
    marks: Marks | None,
    shape: tuple[int, int] | None,
    terminal: Terminal,
) -> None:
    """Write the report of the model in DIR: one HTML file that needs no network and can be sent on.

    It is about the rows that the model was fitted to or, if FILE is given, about those of FILE, which is read like
    the file of the fit and whose columns are matched by name. DIR is a folder made by "latentbits fit", or (with FILE)
    a model file.
    """
    run = RunFolder.open(fitted)
    target = _target(run, file, out, force=force)
    if file is None and read_afresh:
        raise click.UsageError("--read-afresh is about reading FILE; give one, or leave it out")
    if file is None:
        run.check_data()
    else:
        check_file(file)

    from latentbits.findings.analyse import analyse

    model = run.load_model()
    if marks is not None:
        refuse_unable(model, fitted, Ability.EXPLAIN_CELLS)
    if ratings is not None:
        refuse_unable(model, fitted, Ability.EXPLAIN_CELLS)
        refuse_ratings_of_ensemble(model, fitted, ratings)
        ratings.check(model)
    data: Any
    data, fit_params = run.load_data() if file is None else (_other_rows(run, model, file, reading, read_afresh), {})
    asked = _question_of_fit(run, model, data) if file is None else {}
    findings = analyse(
        (run.load_choice(model) if file is None else None) or model,
        data,
        **_record(run, run.file_name if file is None else file.name, asked),
        question=question_about(data, _typed_question(asked), kind=asked["kind"]) if asked else None,
        shape=shape or run.image_shape,
        **fit_params,
    )
    run.write_report(findings, target, ratings=_marked(ratings, marks))
    terminal.print_json({**findings.to_dict(), "report": str(target)})
    terminal.print(f"Open {target}.")


def _record(run: RunFolder, file: str | None, asked: Values) -> Values:
    """What the folder of a fit knows: the verdict, warnings, seconds, how a number was chosen."""
    from latentbits.findings.account import Provenance, Selection
    from latentbits.tasks.verdict import Verdict

    record, chosen = run.fit_record, run.fit_record.get("selection")
    warned = tuple(UserWarning(text) for text in record.get("notes", ()))
    selection, table = None, run.selection
    if chosen is not None:
        best = chosen.get("best", chosen["choices"][0]["best"])
        selection = Selection(tuple(chosen["tried"]), best, chosen["seed"], tuple(chosen["choices"]), table)
    elif table is not None:
        selection = Selection(tuple(table["n_components"].astype(int)), None, None, (), table)
    return {
        "verdict": Verdict.from_dict(record["verdict"]) if "verdict" in record else False,
        "selection": selection,
        "provenance": Provenance(
            file, asked=_typed_question(asked) or None, seconds=record.get("seconds", {}), warnings=warned
        ),
    }


def _typed_question(asked: Values) -> Values:
    return {key: value for key, value in asked.items() if key != "kind"}


def _question_of_fit(run: RunFolder, model: Any, data: Any) -> Values:
    """What an ensemble was asked when it was fitted; a note says if a file of revisits would be needed for that."""
    question = run.question
    if question is None or Ability.MEMBERS not in abilities_of(model):
        return {}
    if "revisits" not in question:
        return question
    click.echo(
        f"note: without {question['revisits']} the probability is P(1 | the rest) again; latentbits false-zeros or "
        "suspects with --revisits gives the other",
        err=True,
    )
    return {key: question[key] for key in ("kind", "per_row") if key in question}


def _marked(ratings: Ratings | None, marks: Marks | None) -> Values | None:
    """What the page begins with: ratings, or marks, or both."""
    document = {} if ratings is None else dict(ratings.document)
    if marks is not None:
        cells = [{"row": mark.row, "column": mark.column, "mark": mark.word} for mark in marks.marks]
        document |= {"marks": cells, "data": marks.fingerprint}
    return document or None


def _target(run: RunFolder, file: Path | None, out: Path | None, *, force: bool) -> Path:
    """Where the report goes; what would be replaced against the user's will is refused."""
    if file is None and not run.is_folder:
        raise click.UsageError(f"{run.path} is not a folder made by latentbits fit; give one, or a model file and FILE")
    if file is not None and out is None:
        raise click.UsageError(f"give --out FILE.html for the report on {file.name}")
    target = run.report_file if out is None else out
    check_target(target, force=force or run.is_own_report(target))
    return target


def _other_rows(run: RunFolder, model: Any, file: Path, reading: Values, read_afresh: bool) -> BinaryData:
    """The rows of a file with the model's columns."""
    from latentbits.models.registry import model_name

    name = model_name(model)
    if name not in TABLE_MODELS:
        raise DataError(f"{file.name}: a report of {name} is about the rows it was fitted to; leave FILE out")
    return rows_for(run, model, file, reading, read_afresh=read_afresh)


@click.command(
    short_help="FILE without noise, by a fitted model.",
    epilog="Example: latentbits denoise run sites.csv --out clean.csv",
)
@model_argument
@click.option(
    "--threshold-probability",
    type=click.FloatRange(0, 1),
    help="Cells with at least this probability of a 1 become 1, without evidence from held-out cells.",
)
@click.option(
    "--level",
    type=FloatRange(0, 1, max_open=True),
    default=0.5,
    show_default=True,
    help="Observed cells change where they are false with more than this probability, by held-out cells of the fit.",
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
    threshold_probability: float | None,
    level: float,
    ratings: Ratings | None,
    marks: Marks | None,
    change: Any,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Write FILE as 0-1 data without the phantoms of the model in DIR; missing cells are filled.

    Observed cells change where held-out cells show that they are more likely false than not; if none is, a note says
    why. With --ratings, --threshold-probability or --change these are followed instead, without such evidence.

    DIR is a folder made by "latentbits fit", or a model file. FILE is read like the file of the fit; options
    given here go before those given there. Columns are matched by name. A file of ratings
    that was saved in a report also says threshold and change, unless they are given here.
    """
    model, data = open_model_and_rows(
        fitted, file, reading, read_afresh=read_afresh, out=out, force=force, needs=Ability.DENOISE
    )
    note_unused_marks(ratings, marks)
    saved = {} if ratings is None else ratings.document
    if not given("threshold_probability"):
        threshold_probability = saved.get("threshold")
    if not given("change"):
        change = saved.get("change", change)
    rated = values_for(model, ratings)
    if rated is None and change == "auto" and threshold_probability == 0.5 and not given("threshold_probability"):
        threshold_probability = None  # a file in which nothing was moved, as the report begins
    asked = {"level": level, "threshold": threshold_probability, "ratings": rated, "change": change}
    run = RunFolder.open(fitted)
    cells = model.denoise(data, **asked, judged_on=run.load_data()[0] if run.is_folder else None, marks=marks)
    changed = f"{(cells != data.dense()).sum():,} of {counted(cells.size, 'cell')} changed or filled in"
    details = f": {counted(len(cells), 'row')}, {changed}"
    from latentbits.findings.account import data_table

    output_table(data_table(cells, data), out, force=force, terminal=terminal, details=details)


@click.command(
    short_help="The cells of FILE that are most likely false.",
    epilog="Example: latentbits suspects run --top 20",
)
@model_argument
@kind_option
@click.option("--top", type=click.IntRange(min=1), default=100, show_default=True, help="How many cells.")
@bundled("asking", {key: settings | {"help": f"false-zeros: {settings['help']}"} for key, settings in ASKING.items()})
@ratings_option("phantoms don't count as content")
@marks_option("confirmed and rejected ones are left out")
@table_options
@terminal_options
@optional_reading_options
@read_afresh_option
def suspects(
    fitted: Path,
    file: Path | None,
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
    "latentbits fit", or a model file. Without FILE it is about the rows of the fit. FILE is read like the file of the
    fit; options given here go before those given there. Columns are matched by name; without names the first row is
    "row 1", and so in "latentbits explain".

    Of a fit of false-zeros the table has a probability too, whose name says what it is of, and what each member says.
    """
    visits = _of_visits(fitted, out, force=force) if file is None else None
    if visits is not None:
        table = visits.suspects(top=top, per_row=asking["per_row"]).round(4)
        output_table(_named(table), out, force=force, terminal=terminal)
        return
    reading = with_visit_columns(reading, asking)
    model, data = open_model_and_rows(fitted, file, reading, read_afresh=read_afresh, out=out, force=force)
    refuse_ratings_of_ensemble(model, fitted, ratings)
    note_unused_marks(ratings, marks)
    if Ability.MEMBERS in abilities_of(model):
        note_question_of_fit(fitted, asking)
        most = None if asking["per_row"] is not None and not given("top") else top
        table = model.suspects(data, top=most, marks=marks, **question_about(data, asking, kind=kind))
    else:
        refuse_asking(model)
        if RunFolder.open(fitted).fit_record.get("suspected", {}).get(kind) == 0:
            click.echo(f"note: {sentences.none_suspected(kind)}", err=True)
        table = model.suspects(data, kind=kind, top=top, ratings=values_for(model, ratings), marks=marks)
    from latentbits.findings.account import with_names

    output_table(with_names(table), out, force=force, terminal=terminal)


@click.command(
    short_help="A methods paragraph about the fit in DIR, with references.",
    epilog="Example: latentbits methods run",
)
@model_argument
@terminal_options
def methods(fitted: Path, terminal: Terminal) -> None:
    """Print a paragraph for the methods section of a paper: what was fitted in DIR, to what, how, and whom to cite.

    It is made from the model, and reports the verdict of the fit, whatever that says.
    """
    from latentbits.findings.methods import methods_text
    from latentbits.tasks.verdict import Verdict

    run = RunFolder.open(fitted)
    stored = run.fit_record.get("verdict")
    verdict = None if stored is None else Verdict.from_dict(stored)
    model = run.load_model()
    text = methods_text(run.load_choice(model) or model, verdict=verdict)
    terminal.print_json({"methods": text})
    terminal.print_lines(text.splitlines())


@click.command(
    short_help="A whole matrix of the fit in DIR: the probability of a 1 in every cell, or the rows' weights.",
    epilog="Example: latentbits export run --what probabilities --out probabilities.csv",
)
@model_argument
@click.option(
    "--what",
    type=click.Choice(["probabilities", "weights"]),
    required=True,
    help="The probability of a 1 in each cell (of false-zeros P(1 | the rest)), or the rows' weights on components.",
)
@table_options
@terminal_options
@optional_reading_options
@read_afresh_option
def export(
    fitted: Path,
    file: Path | None,
    reading: Values,
    read_afresh: bool,
    what: str,
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Write a matrix of the model in DIR: a line for each row of the data of the fit or, if FILE is given, of FILE."""
    needs = {"probabilities": Ability.PREDICT_CELLS, "weights": Ability.ROW_WEIGHTS}[what]
    model, data = open_model_and_rows(fitted, file, reading, read_afresh=read_afresh, out=out, force=force, needs=needs)
    from latentbits.findings.account import cell_probabilities, data_table
    from latentbits.findings.factors import weights_table

    if what == "weights":
        table = weights_table(model._solved(data).weights, data)
    else:
        table = data_table(cell_probabilities(model, data), data)
    output_table(table, out, force=force, terminal=terminal, details=f": {counted(len(table), 'row')}")


@click.command(
    short_help="Which component caused a cell of FILE.",
    epilog="Example: latentbits explain run sites.csv --cell Pikermi Equus",
)
@model_argument
@click.option("--row", metavar="ROW", help="Explain all cells of this row.")
@click.option("--cell", "cells", nargs=2, multiple=True, metavar="ROW COLUMN", help="This cell (may be repeated).")
@table_options
@terminal_options
@optional_reading_options
@read_afresh_option
def explain(
    fitted: Path,
    file: Path | None,
    reading: Values,
    read_afresh: bool,
    row: str | None,
    cells: tuple[tuple[str, str], ...],
    out: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Which component caused a cell of FILE, by the model in DIR: a line for each cell and component.

    Rows and columns are given by name, or as "row 1", which is the first, as "latentbits suspects" prints them; if they
    have no names, 1 is enough. DIR is a folder made by "latentbits fit", or a model file. FILE is read like the file of
    the fit; options given here go before those given there. Columns are matched by name.

    Of a fit of false-zeros, why a cell has its score: which columns of its row, and which rows like it, speak for a 1
    there ("says" above 0) or against it.

    Of a fit of repeat-visits leave out FILE: what the probability of each species at the site, or of each cell, comes
    from.
    """
    from latentbits.findings.account import from_one, with_names

    if (row is None) == (not cells):
        raise click.UsageError("give either --row ROW or --cell ROW COLUMN")
    visits = _of_visits(fitted, out, force=force) if file is None else None
    if visits is not None:
        table = _explained_visits(visits, row, cells)
        output_table(table.round(4), out, force=force, terminal=terminal)
        return
    model, data = open_model_and_rows(fitted, file, reading, read_afresh=read_afresh, out=out, force=force)
    rows, columns = Places(data.row_names, data.shape[0], "row"), Places(data.column_names, data.shape[1], "column")
    positions = [(_position(i, rows), _position(j, columns)) for i, j in cells]
    if Ability.MEMBERS in abilities_of(model):
        table = _by_ensemble(model, data, positions, rows, columns)
    elif row is not None:
        table = from_one(model.explain(data, row=_position(row, rows)))
    else:
        table = from_one(model.explain(data, cells=positions))
    output_table(with_names(table), out, force=force, terminal=terminal)


def _of_visits(fitted: Path, out: Path | None, *, force: bool) -> Any:
    """A model of repeat visits, which knows its sites; None for any other, which is asked about rows."""
    run = RunFolder.open(fitted)
    if out is not None:
        check_target(out, force=force)
    model = run.load_model()
    if Ability.VISITS not in abilities_of(model):
        return None
    _note_verdict_of_fit(run)
    return model


def _named(table: pd.DataFrame) -> pd.DataFrame:
    from latentbits.findings.account import with_names

    return with_names(table)


def _explained_visits(model: Any, row: str | None, cells: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    """A line for each cell: all species of a site, of which a sentence is said, or these."""
    import pandas as pd

    from latentbits.findings.repeated_survey import of_site

    survey = model.survey_
    rows, columns = (
        Places(names, n, what)
        for names, n, what in (
            (survey.row_names, survey.shape[0], "row"),
            (survey.column_names, survey.shape[2], "column"),
        )
    )
    asked = [(_position(i, rows), _position(j, columns)) for i, j in cells]
    if row is not None:
        site = _position(row, rows)
        click.echo(sentences.richest_gap(**of_site(model, survey.ever_seen(), site)), err=True)
        asked = [(site, j) for j in range(survey.shape[2])]
    lines = []
    for i, j in asked:
        told = model.explain_cell(i, j)
        lines.append({"row": i, "column": j, **dict(zip(told["what"], told["value"], strict=True))})
    table = pd.DataFrame(lines)
    for places in (rows, columns):
        table[places.what] = places.labels(table[places.what].to_numpy())
    return _named(table)


def _by_ensemble(model: Any, data: BinaryData, cells: list[tuple[int, int]], *sides: Places) -> pd.DataFrame:
    """What speaks for or against a 1 in each of these cells: columns of its row, and rows like it."""
    import numpy as np
    import pandas as pd

    if not cells:
        raise click.UsageError("false-zeros explains single cells; give --cell ROW COLUMN")
    parts = []
    for cell in cells:
        part = model.explain(data, *cell)
        part["name"] = [
            name if isinstance(name, str) else place(what, int(name))
            for what, name in zip(part["what"], part["name"], strict=True)
        ]
        for at, (position, places) in enumerate(zip(cell, sides, strict=True)):
            part.insert(at, places.what, places.labels(np.array([position]))[0])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _position(text: str, places: Places) -> int:
    """The position (from 0) of what is called so; where there are no names, a number from 1 is enough."""
    return places.find(f"{places.what} {text}" if places.names is None and text.isdecimal() else text)


@click.command(
    short_help="Clusters, sources or causes of the rows of FILE, by a fitted model of numbers.",
    epilog="Example: latentbits rows run new.csv --out rows.csv",
)
@model_argument
@table_options
@terminal_options
@reading_options
def rows(fitted: Path, file: Path, reading: Values, out: Path | None, force: bool, terminal: Terminal) -> None:
    """Write what the model in DIR says about each row of FILE, which may be new rows.

    DIR is a folder made by "latentbits fit --model ica-mixture" or binary-factors, or a model file. Of each row the
    table has the cluster, the probability of each cluster, the sources (as posterior means, and "unmixed" by the
    pseudo-inverse of the mixing matrix) and the log density; or which factors are on, with their probabilities, and the
    log likelihood. Columns are matched by name; FILE may have more of them. For binary-factors cells may be missing.
    """
    from latentbits.findings.analyse import rows_table
    from latentbits.models.spec import spec_of

    run = RunFolder.open(fitted)
    check_file(file)
    if out is not None:
        check_target(out, force=force)
    model = run.load_model()
    spec = spec_of(type(model))
    if spec is None or spec.data != "numbers":
        raise DataError(
            f"{fitted}: {type(model).__name__} is about 0-1 data; fit --model ica-mixture or binary-factors, or ask "
            "for suspects, denoise or explain"
        )
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not reading["columns"]:
        reading = {**reading, "columns": tuple(str(name) for name in names)}
    data = read_numbers(file, reading, allow_missing=spec.takes_missing)
    table = rows_table(model, data)
    output_table(table, out, force=force, terminal=terminal, details=f": {counted(len(table), 'row')}")


@click.command(
    short_help="Probabilities at rows that nobody has looked at, such as unvisited sites.",
    epilog="Example: latentbits predict run unvisited.csv --out probabilities.csv",
)
@model_argument
@click.argument("file", type=InputFile())
@table_options
@terminal_options
def predict(fitted: Path, file: Path, out: Path | None, force: bool, terminal: Terminal) -> None:
    """Write the probability of a 1 in each column for the rows of FILE, of which no cell was seen.

    DIR is a folder made by "latentbits false-zeros" or "latentbits fit --model probit-factors" with --covariates,
    --coordinates or --effort, or a model file. FILE has the same columns of what is known of the rows; others are not
    looked at.
    """
    from latentbits.data.readers import read_raw

    run = RunFolder.open(fitted)
    check_file(file)
    if out is not None:
        check_target(out, force=force)
    model = run.load_model()
    facts = model._facts if Ability.KNOW_ROWS in abilities_of(model) else None
    if facts is None:
        raise DataError(
            f"{fitted}: the model knows nothing of its rows beside their cells; fit false-zeros or probit-factors with "
            "--covariates, --coordinates or --effort"
        )
    raw = read_raw(file)
    table = model.predict_rows({name: raw.column(name) for name in facts.names if name in raw.names})
    label = (run.reading_of(model) or {}).get("row_labels")
    if label is not None and str(label) in raw.names:
        table.insert(0, str(label), raw.column(str(label)))
    else:
        table.insert(0, "row", [f"row {i + 1}" for i in range(len(table))])
    output_table(table, out, force=force, terminal=terminal, details=f": {counted(len(table), 'row')}")
