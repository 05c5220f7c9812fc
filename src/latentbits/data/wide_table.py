"""Tables with a row for each case, whatever the format: what the columns are, and whether the cells are 0-1 data.

A reader says how it gets at texts and codes; labels, metadata, notes and every refusal of cells are decided here.
Nothing here needs NumPy before the whole file is accepted, so a file is refused at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from latentbits.data.codes import Tokens
from latentbits.data.long_format import refuse_long_format
from latentbits.data.messages import Origin
from latentbits.data.read_options import ReadOptions
from latentbits.data.refusals import BadCells, Surroundings, refusal
from latentbits.data.roles import ColumnChoice, Content, Roles, find_roles, is_measure

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData


class WideTable(ABC):
    """A file, read by one set of options.

    `read` finds out what the columns hold that may be no data, calls `_find_roles` with it, then `_refuse` with the bad
    cells, and gives what is left to `_finished`.
    """

    names: list[str]

    def __init__(self, options: ReadOptions, origin: Origin) -> None:
        self.origin = origin
        self.choice = ColumnChoice(options.row_labels, options.columns, options.exclude, options.metadata)
        self.tokens = Tokens.of(options, origin)
        self.strict = self.tokens.without_threshold()  # by a threshold any number would be data

    @abstractmethod
    def read(self) -> BinaryData:
        """The data with their names; or a DataError with the place, the value and what to do about it."""

    @abstractmethod
    def collect(self, make: Callable[..., Any], columns: Sequence[str]) -> Any:
        """What `make` makes of (names, rows, columns, tokens, origin), of a table with a row for each observation."""

    @abstractmethod
    def _labels(self, j: int) -> list[str]:
        """The cells of a column that names the rows, or is metadata."""

    def _find_roles(self, contents: Mapping[int, Content], unnamed: str = "") -> None:
        self.contents = contents
        self.roles: Roles = find_roles(self.names, contents, self.choice, self.origin, unnamed)
        self.columns = self.choice.data(self.names, (self.roles.label, *self.roles.metadata), self.origin)

    def _refuse(
        self,
        bad: BadCells,
        codes_of: Callable[[int], bytes | bytearray],
        row_names: Sequence[str] | None = None,
    ) -> None:
        """Refuse long format, and cells that are neither 0, 1 nor missing; messages name lines, or rows by name."""
        refuse_long_format(self.names, self.contents, self.roles, bad, self.choice, self.origin)
        if bad:
            around = Surroundings.of(bad, self.names, self.columns, codes_of, self.roles.numbered)
            raise refusal(bad, around, self.tokens, self.origin, row_names)

    def _finished(self, data: BinaryData) -> BinaryData:
        """The cells with names, metadata and notes; warns of what was guessed."""
        roles, names = self.roles, [self.names[j] for j in self.columns]
        if self.tokens.threshold is not None:
            full = data.ones_per_column() == data.observed_per_column()
            roles = roles.doubting([name for name, ones in zip(names, full, strict=True) if ones and is_measure(name)])
        roles.warn(self.origin)
        label = roles.label
        return replace(
            data,
            row_names=None if label is None else self._labels(label),
            column_names=names,
            row_label=None if label is None else self.names[label] or None,
            metadata={self.names[j]: self._labels(j) for j in roles.metadata} or None,
            notes=roles.notes,
        )
