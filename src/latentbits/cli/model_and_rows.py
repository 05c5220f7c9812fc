"""A fitted model and a file of rows for it, opened together: read as for the fit, columns matched by name."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli.options.click_helpers import Command, Values, flag_of, given
from latentbits.cli.options.reading import READING, check_file, reader_arguments
from latentbits.cli.output_file import check_target
from latentbits.errors import DataError
from latentbits.storage.run_folder import RunFolder

if TYPE_CHECKING:
    from latentbits.cli.options.ratings import Ratings
    from latentbits.data.binary_data import BinaryData

__all__ = [
    "note_question_of_fit",
    "open_model_and_rows",
    "read_afresh_option",
    "refuse_ratings_of_ensemble",
    "refuse_without_phantoms",
    "rows_for",
]


def read_afresh_option(command: Command) -> Command:
    """Give a command the flag --read-afresh."""
    text = "Read FILE by the options given here alone, not as the file of the fit was read."
    return click.option("--read-afresh", is_flag=True, help=text)(command)


def open_model_and_rows(
    fitted: Path,
    file: Path,
    reading: Values,
    *,
    read_afresh: bool,
    out: Path | None,
    force: bool,
    needs: str = "suspects",
) -> tuple[Any, BinaryData]:
    """A model that has the method `needs`, and the file's rows for it, with what the fit knew of cells of that file.

    What needs no reading is refused first: a path that isn't there, and an `out` that may not be written.
    """
    run = RunFolder.open(fitted)
    check_file(file)
    if out is not None:
        check_target(out, force=force)
    model = run.load_model()
    refuse_without_phantoms(model, fitted, needs)
    _note_verdict_of_fit(run)
    data = rows_for(run, model, file, reading, read_afresh=read_afresh)
    return model, _with_marks_of_fit(run, data)


def _note_verdict_of_fit(run: RunFolder) -> None:
    verdict = run.fit_record.get("verdict")
    if verdict is not None and not verdict["predicts"]:
        click.echo(f"note: by the verdict on the fit: {verdict['sentences'][0]}", err=True)


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


def refuse_without_phantoms(model: Any, place: Path, needs: str = "suspects") -> None:
    """Refuse a model that can't answer: all but the aspect family, and what FalseZeros doesn't do."""
    if hasattr(model, "suspects") and not hasattr(model, needs):
        raise DataError(
            f"{place}: {type(model).__name__} ranks cells and changes none; set those that you have looked up by "
            "--marks, or fit --model aspect-bernoulli or beta-ica to denoise"
        )
    if not hasattr(model, "suspects"):
        raise DataError(
            f"{place}: {type(model).__name__} knows no phantoms, by which cells are cleaned, suspected, explained and "
            "components rated; fit --model aspect-bernoulli or beta-ica"
        )


def refuse_ratings_of_ensemble(model: Any, place: Path, ratings: Ratings | None) -> None:
    """Refuse ratings of components for a model that has none."""
    if ratings is not None and not hasattr(model, "components_"):
        raise DataError(
            f"{place}: {type(model).__name__} has no components to rate; leave --ratings out (--marks takes marks)"
        )


def rows_for(run: RunFolder, model: Any, file: Path, reading: Values, *, read_afresh: bool) -> BinaryData:
    """The file's data with the model's columns, read as for the fit; a note says by which options."""
    from latentbits.data.like import FitReading
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
