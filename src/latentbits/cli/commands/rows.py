"""`latentbits rows`: what a fitted model of numbers says about the rows of a file."""

from __future__ import annotations

from pathlib import Path

import click

from latentbits.cli.options.click_helpers import Values, model_argument
from latentbits.cli.options.output import table_options, terminal_options
from latentbits.cli.options.reading import check_file, read_numbers, reading_options
from latentbits.cli.output_file import check_target, output_table
from latentbits.cli.terminal import Terminal
from latentbits.errors import DataError
from latentbits.storage.run_folder import RunFolder
from latentbits.wording import counted

__all__ = ["rows"]


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
    from latentbits.findings import rows_table
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
