"""The cells of a file that are neither 0, 1 nor missing: counted, located, and refused with the way out."""

from __future__ import annotations

from collections.abc import Sequence

from latentbits.data.advice import BadColumn, Surroundings, advise
from latentbits.data.messages import SHOWN, Origin, bad_cells_error, quoted
from latentbits.data.words import BAD_BYTE, Tokens
from latentbits.errors import DataError

__all__ = ["BadCells", "refusal"]


class BadCells(dict[int, BadColumn]):
    """The bad cells of a file, by the position of their column.

    Examples
    --------
    >>> bad = BadCells()
    >>> bad.add_row(7, [1, 2], ["0", "many"], bytes([0, BAD_BYTE]))
    >>> bad[2].first
    [(7, 'many')]
    """

    def add_row(self, line: int, columns: Sequence[int], texts: Sequence[str], codes: bytes) -> None:
        """Take note of the bad cells of a row.

        Parameters
        ----------
        line : int
            The line of the row.
        columns : sequence of int
            The positions of its columns.
        texts : sequence of str
            Its cells.
        codes : bytes
            Their codes.
        """
        k = codes.find(BAD_BYTE)
        while k >= 0:
            self.setdefault(columns[k], BadColumn()).add(line, texts[k])
            k = codes.find(BAD_BYTE, k + 1)


def refusal(
    bad: BadCells, around: Surroundings, tokens: Tokens, origin: Origin, row_names: Sequence[str] | None = None
) -> DataError:
    """Make one error for all bad cells, with the way out.

    Parameters
    ----------
    bad : BadCells
        The bad cells.
    around : Surroundings
        What is known of the data.
    tokens : Tokens
        What words mean.
    origin : Origin
        Where the data come from, for error messages.
    row_names : sequence of str, optional
        Names to show instead of lines.

    Returns
    -------
    DataError
        For the caller to raise.
    """
    first = sorted((line, j, text) for j, column in bad.items() for line, text in column.first)[:SHOWN]
    cells = [
        (
            origin.place(line if row_names is None else quoted(row_names[line - 1]), around.names[j]),
            text if tokens.number(text.strip()) is not None else quoted(text),
        )
        for line, j, text in first
    ]
    fault = "neither 0 nor 1" if tokens.threshold is None else "not a finite number"
    total = sum(column.count for column in bad.values())
    return bad_cells_error(origin, cells, total, f"use {advise(bad, around, tokens, origin)}", fault)
