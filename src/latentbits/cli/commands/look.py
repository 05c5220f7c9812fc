"""The command that says what a file holds before anything is fitted to it: look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from latentbits.cli.options.reading import check_file, read, reading_options
from latentbits.cli.terminal import Terminal, Values, terminal_options, warnings_as_notes

if TYPE_CHECKING:
    import numpy as np

    from latentbits.data.binary_data import BinaryData

_NAMES = 4
"""How many names of rows or columns a line shows."""


@click.command(
    short_help="What FILE holds as it is read: rows, columns, ones, what is no data and why.",
    epilog="Example: latentbits look sites.csv --threshold 1",
)
@terminal_options
@reading_options
def look(file: Path, reading: Values, terminal: Terminal) -> None:
    """Read FILE as the other commands do, and say what it holds: nothing is fitted, nothing is written.

    A file that can't be read as it is gets one sentence with the place and the options that help.
    """
    check_file(file)
    with warnings_as_notes() as warned:
        data = read(file, reading)
    told = " ".join(map(str, warned))
    terminal.print_lines(description(data, file.name, [note for note in data.notes if note not in told]))
    terminal.print_json({"file": file.name, **contents(data)})


def contents(data: BinaryData) -> dict[str, object]:
    """What a table holds, as plain values."""
    ones, observed = data.ones_per_column(), data.observed_per_column()
    return {
        "rows": data.shape[0],
        "columns": data.shape[1],
        "ones": data.n_ones,
        "zeros": data.n_observed - data.n_ones,
        "missing": data.n_missing,
        "columns_without_ones": int((ones == 0).sum()),
        "columns_of_ones": int(((ones == observed) & (observed > 0)).sum()),
        "row_label": data.row_label,
        "metadata": list(data.metadata or ()),
        "notes": list(data.notes),
        "reading": data.reading,
    }


def description(data: BinaryData, file: str, notes: Sequence[str]) -> Iterator[str]:
    """What a table holds, in at most ten lines; with those of the notes that weren't shown yet."""
    held = contents(data)
    yield (
        f"{file}: {data.shape[0]:,} rows x {data.shape[1]:,} columns; {data.n_ones:,} ones ({data.density:.0%}), "
        f"{held['zeros']:,} zeros, {data.n_missing or 'no'} missing"
    )
    named = f', named by "{data.row_label}"' if data.row_label else ""
    yield f"rows: {_some(data.row_names or [], data.shape[0])}{named}; ones in each: {_range(data.ones_per_row())}"
    yield f"columns: {_some(data.column_names or [], data.shape[1])}; ones in each: {_range(data.ones_per_column())}"
    if held["columns_without_ones"] or held["columns_of_ones"]:
        yield (
            f"{held['columns_without_ones']} columns without a single 1, {held['columns_of_ones']} of nothing else: "
            "these tell nothing of causes"
        )
    yield from (f"note: {note}" for note in notes[:5])
    if len(notes) > 5:
        yield f"note: {len(notes) - 5} more such decisions (--json has all)"


def _some(names: Sequence[str], number: int) -> str:
    """The first names and the last one."""
    if not names:
        return f"{number:,} without names"
    if number <= _NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _NAMES - 1])}, ..., {names[-1]}"


def _range(counts: np.ndarray) -> str:
    """The least, median and largest of some counts."""
    middle = float(sorted(counts.tolist())[len(counts) // 2])
    return f"{counts.min():g} to {counts.max():g}, median {middle:g}"
