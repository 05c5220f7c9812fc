"""What the words in the cells of a text file mean: 1, 0, missing, or nothing known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from latentbits.data.codes import BAD, MISSING
from latentbits.data.messages import Origin, quoted
from latentbits.data.text_rows import finite_number

__all__ = ["BAD_BYTE", "MISSING_BYTE", "Tokens", "has_decimal_comma", "vocabulary"]

BAD_BYTE, MISSING_BYTE = BAD & 0xFF, MISSING & 0xFF
"""The codes as two's complement: bytes can't be negative."""

_TRUE = ("true", "yes")
_FALSE = ("false", "no")
_MISSING = ("", "na", "nan", "?", "n/a", "null", "none")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_CACHED_TOKENS = 100_000  # distinct measurements under a threshold may be as many as the cells


def has_decimal_comma(word: str) -> bool:
    """Check whether a word is a number with a decimal comma.

    Parameters
    ----------
    word : str
        A cell without surrounding blanks.

    Returns
    -------
    bool
        True for 0,5 and the like.

    Examples
    --------
    >>> [has_decimal_comma(word) for word in ("0,5", "-1,25", "0.5", "a,b")]
    [True, True, False, False]
    """
    return _DECIMAL_COMMA.fullmatch(word) is not None


def vocabulary(
    missing: str | Sequence[str] | None,
    true: str | Sequence[str] | None,
    false: str | Sequence[str] | None,
    presence: str | None,
    origin: Origin,
) -> dict[str, int]:
    """Collect the known words; what the caller says goes before the defaults.

    Parameters
    ----------
    missing, true, false, presence : str or sequence of str, or None
        The caller's words, as `read_table` takes them.
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    dict of str to int
        The code of each word in lower case.

    Raises
    ------
    DataError
        If the caller gave a word two meanings.

    Examples
    --------
    >>> vocabulary("-9", None, None, "x", Origin())
    {'true': 1, 'yes': 1, 'false': 0, 'no': 0, '': 0, 'x': 1, '-9': -1}
    """
    given: dict[str, int] = {}
    if presence is not None:
        given = {presence.strip().lower(): 1, "": 0}
    for words, code in ((missing, MISSING), (true, 1), (false, 0)):
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

    Parameters
    ----------
    words : dict of str to int
        The code of each known word, see `vocabulary`.
    threshold : float or None
        Every number >= `threshold` is 1 and every smaller one 0; without it only 0 and 1 are known numbers.
    decimal : {".", ","}
        What separates the decimals of a number.

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

    def without_threshold(self) -> Tokens:
        """Make tokens of the same words that know no numbers but 0 and 1.

        Returns
        -------
        Tokens
            These themselves if they have no threshold.
        """
        return self if self.threshold is None else Tokens(self.words, None, self.decimal)

    def number(self, word: str) -> float | None:
        """Read a word as a finite number.

        Parameters
        ----------
        word : str
            A cell without surrounding blanks.

        Returns
        -------
        float or None
            None if it is no finite number, or written with another separator of decimals.
        """
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
        """Look the texts up.

        Parameters
        ----------
        texts : iterable of str
            Cells as they are in the file.

        Returns
        -------
        bytes
            One for each text.
        """
        return bytes(map(self.__getitem__, texts))
