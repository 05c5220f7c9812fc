"""The byte of a cell (0, 1, missing), what the words in cells mean, and blocks of rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from latentbits.data.messages import Origin, quoted

if TYPE_CHECKING:
    import scipy.sparse as sp

    from latentbits.data.read_options import ReadOptions

MISSING = -1
"""The code of a missing cell in `BinaryData.cells` and among the stored values of `BinaryData.sparse`."""

BAD = -2
"""The code of a value that is neither 0, 1 nor missing; it never leaves this package."""

MISSING_NUMBERS = frozenset(sign * int("9" * digits) for sign in (-1, 1) for digits in (1, 2, 3, 4))
"""Numbers that often stand for a missing cell."""

BLOCK_CELLS = 1 << 18
"""Cells converted or counted at a time: the temporaries of one block stay in the processor's cache."""


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cover the rows with consecutive slices of about `BLOCK_CELLS` cells.

    Examples
    --------
    >>> list(row_blocks(5, BLOCK_CELLS // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, BLOCK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def with_index_types(csr: sp.csr_array) -> sp.csr_array:
    """Sort in place, and make indices int32 and indptr int64: the one pair of types that kernels compile for."""
    csr.sort_indices()
    csr.indices = csr.indices.astype("int32", copy=False)
    csr.indptr = csr.indptr.astype("int64", copy=False)
    return csr


BAD_BYTE, MISSING_BYTE = BAD & 0xFF, MISSING & 0xFF
"""The codes as two's complement: bytes can't be negative."""

_TRUE = ("true", "yes")
_FALSE = ("false", "no")
_MISSING = ("", "na", "nan", "?", "n/a", "null", "none")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_CACHED_TOKENS = 100_000  # distinct measurements under a threshold may be as many as the cells


def has_decimal_comma(word: str) -> bool:
    """Check whether a word is a number with a decimal comma.

    Examples
    --------
    >>> [has_decimal_comma(word) for word in ("0,5", "-1,25", "0.5", "a,b")]
    [True, True, False, False]
    """
    return _DECIMAL_COMMA.fullmatch(word) is not None


def vocabulary(options: ReadOptions, origin: Origin) -> dict[str, int]:
    """The codes of known words, in lower case; what the caller says goes before the defaults.

    Examples
    --------
    >>> from latentbits.data.read_options import ReadOptions
    >>> vocabulary(ReadOptions(missing="-9", presence="x"), Origin())
    {'true': 1, 'yes': 1, 'false': 0, 'no': 0, '': 0, 'x': 1, '-9': -1}
    """
    missing, presence = options.missing, options.presence
    given: dict[str, int] = {}
    if presence is not None:
        given = {presence.strip().lower(): 1, "": 0}
    for words, code in ((missing, MISSING), (options.true, 1), (options.false, 0)):
        for word in [words] if isinstance(words, str) else words or ():
            key = word.strip().lower()
            if given.setdefault(key, code) != code:
                raise origin.error(
                    f"the word {quoted(word)} has two meanings; give it in only one of missing, true, false "
                    "and presence"
                )
    defaults = dict.fromkeys(_TRUE, 1) | dict.fromkeys(_FALSE, 0)
    defaults |= dict.fromkeys(_MISSING if missing is None else ("",), MISSING)
    return defaults | given


class Tokens(dict[str, int]):
    """The byte for each cell text: its code, with MISSING and BAD as two's complement.

    A text is interpreted once and then looked up, so that a file costs one dict access a cell.

    Examples
    --------
    >>> list(Tokens({"yes": 1}, threshold=None).codes(["Yes", "1.0", " 0", "2"]))
    [1, 1, 0, 254]
    """

    def __init__(self, words: dict[str, int], threshold: float | None, decimal: str = ".") -> None:
        super().__init__()
        self.words = words
        self.threshold = threshold
        self.decimal = decimal

    @classmethod
    def of(cls, options: ReadOptions, origin: Origin) -> Tokens:
        """What cells mean by these options."""
        return cls(vocabulary(options, origin), options.threshold, options.decimal)

    def without_threshold(self) -> Tokens:
        """Make tokens of the same words that know no numbers but 0 and 1."""
        return self if self.threshold is None else Tokens(self.words, None, self.decimal)

    def number(self, word: str) -> float | None:
        """Read a word as a finite number."""
        if self.decimal == ",":
            return None if "." in word else finite_number(word.replace(",", "."))
        return finite_number(word)

    def __missing__(self, text: str) -> int:
        byte = self._code(text.strip().lower()) & 0xFF
        if len(self) < _CACHED_TOKENS:
            self[text] = byte
        return byte

    def _code(self, word: str) -> int:
        if word in self.words:
            return self.words[word]
        number = self.number(word)
        if number is None:
            return BAD
        if self.threshold is not None:
            return int(number >= self.threshold)
        return int(number) if number in (0, 1) else BAD

    def codes(self, texts: Iterable[str]) -> bytes:
        """Look the texts up."""
        return bytes(map(self.__getitem__, texts))


def finite_number(text: str) -> float | None:
    """Read a text as a finite number.

    Examples
    --------
    >>> finite_number("1e3"), finite_number("inf"), finite_number("1_0"), finite_number("ten")
    (1000.0, None, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def as_text(value: Any) -> str:
    """Write a cell as text, as a person would.

    Examples
    --------
    >>> as_text(1.0), as_text(0.5), as_text(None), as_text(" Pikermi "), as_text(float("nan"))
    ('1', '0.5', '', ' Pikermi ', '')
    """
    if isinstance(value, str):
        return value
    # pandas' own first, which isn't imported here and can't be compared.
    if value is None or type(value).__name__ == "NAType" or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
