"""`latentbits fit`: a model of a file, with everything about it in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latentbits.cli import console
from latentbits.cli.options import (
    FILE_PATH,
    LEARNING,
    Values,
    bundled,
    force_option,
    parameters_of,
    read,
    read_numbers,
    read_with_segments,
    reads_file,
)
from latentbits.cli.output import check_folder, new_folder
from latentbits.models.registry import MODELS, NUMBER_MODELS

if TYPE_CHECKING:
    from latentbits.cli.folder import Stopwatch
    from latentbits.data.binary_data import BinaryData
    from latentbits.data.numbers import NumberTable
    from latentbits.findings.results import Results

__all__ = ["FORCE_HELP", "fit", "fit_and_gather", "save"]

FORCE_HELP = "Replace DIR if it holds an earlier output, or nothing."
_INTERRUPTED = "interrupted:"


@click.command(
    short_help="Fit a model to FILE; tables, plots and model go to a folder.",
    epilog="Example: latentbits fit sites.csv --components 4 --exclude age --out run",
)
@click.option("--model", type=click.Choice(list(MODELS)), default="aspect-bernoulli", show_default=True)
@bundled("learning", LEARNING)
@click.option("--segments", metavar="COLUMN", help="binary-ica: the column that says which segment a row belongs to.")
@click.option("--out", type=FILE_PATH, metavar="DIR", required=True, help="The folder to make.")
@force_option(FORCE_HELP)
@click.option("--quiet", is_flag=True, help="No progress bar, no answer; only files, notes and errors.")
@reads_file
def fit(
    file: Path,
    reading: Values,
    model: str,
    learning: Values,
    segments: str | None,
    out: Path,
    force: bool,
    quiet: bool,
) -> None:
    """Fit a model to FILE and leave model, tables, plots and summary in DIR.

    FILE is CSV, TSV or other delimited text (also gzipped), .npz, .npy, .mtx or .parquet, of 0, 1 and missing
    cells; for binary-factors and ica-mixture delimited text of numbers.

    DIR gets model.npz, the answers as tables (CSV), restarts.csv, summary.json and plots; of the aspect models
    (aspect-bernoulli, beta-ica) also denoised.csv and suspects.csv (the 1000 most suspected zeros, and ones if
    there is a black phantom). A fit that is interrupted leaves the best answer so far, and exit code 130.
    """
    from latentbits.cli.folder import Stopwatch, tell

    check_folder(out, force=force)
    watch = Stopwatch()
    parameters = parameters_of(learning, model)
    more: Values = {}
    data: BinaryData | NumberTable
    with watch.timed("read"):
        if segments is not None and model != "binary-ica":
            raise click.UsageError(f"--segments is not an option of {model}; leave it out, or use --model binary-ica")
        if segments is not None:
            data, more["segments"] = read_with_segments(file, reading, segments)
        else:
            data = read_numbers(file, reading) if model in NUMBER_MODELS else read(file, reading)
    with console.notes() as heard:
        results = fit_and_gather(model, parameters, data, watch, quiet=quiet, **more)
        results.summary["data"]["file"] = file.name
    save(results, out, force=force, notes=heard, watch=watch)
    if not quiet:
        tell(results, out)
    if any(text.startswith(_INTERRUPTED) for text in heard):
        click.get_current_context().exit(console.INTERRUPTED)


def fit_and_gather(
    name: str, parameters: Values, data: BinaryData | NumberTable, watch: Stopwatch, *, quiet: bool, **more: Any
) -> Results:
    """Fit the model of that name, with a progress bar if somebody looks, and ask it everything.

    `more` are further arguments of the model's `fit`.
    """
    from latentbits.findings import gather
    from latentbits.models.registry import model_class

    estimator = model_class(name)(**parameters, verbose=int(console.shows_progress(quiet=quiet)))
    with watch.timed("fit"):
        estimator.fit(data.to_frame() if name in NUMBER_MODELS else data, **more)
    estimator.set_params(verbose=0)  # a colleague who opens the model file didn't ask for progress
    with watch.timed("answers"):
        return gather(estimator, data, **more)


def save(results: Results, out: Path, *, force: bool, notes: list[str], watch: Stopwatch) -> None:
    """Write the results to their folder, with what was noted on the way."""
    from latentbits.cli.folder import write

    results.summary |= {"notes": notes, "seconds": watch.seconds}
    with new_folder(out, force=force) as draft:
        write(results, draft)
