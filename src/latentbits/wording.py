"""Numbers as people read them: how many of what, which row, and as many digits as mean something.

Imports nothing but the standard library, so that `latentbits --help` needs neither NumPy nor the compiler.
"""

from __future__ import annotations

import json

CSV_DIGITS = 10
JSON_DIGITS = 12
TERMINAL_DIGITS = 5
"""Significant digits of floats: in tables that are written, in JSON, and in tables on the terminal."""


def one_line(text: object) -> str:
    """A text that came from anywhere, for a sentence: one line, and no character that a terminal would obey.

    Parameters
    ----------
    text : object
        Of any kind that can be written as text.

    Returns
    -------
    str
        Runs of blanks and line ends as one blank, and other characters that can't be printed by their numbers.

    Examples
    --------
    >>> print(one_line("two\\n  lines, \\x1b[31mred"))
    two lines, \\x1b[31mred
    """
    line = " ".join(str(text).split())
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def plural(n: int, noun: str) -> str:
    """The noun for so many things.

    Parameters
    ----------
    n : int
        How many there are.
    noun : str
        What one of them is called; several of them have an s at the end.

    Returns
    -------
    str
        The noun, with an s unless there is one.

    Examples
    --------
    >>> plural(1, "row"), plural(0, "row")
    ('row', 'rows')
    """
    return noun if n == 1 else f"{noun}s"


def counted(n: int, noun: str) -> str:
    """How many of what.

    Parameters
    ----------
    n : int
        How many there are.
    noun : str
        What one of them is called.

    Returns
    -------
    str
        Number and noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {plural(n, noun)}"


def place(what: str, position: int) -> str:
    """What a row or column without a name is called: people count from 1.

    Parameters
    ----------
    what : str
        "row" or "column".
    position : int
        Counted from 0, as in Python.

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> place("row", 0)
    'row 1'
    """
    return f"{what} {position + 1}"


def quoted(text: str) -> str:
    """Show text as messages do: in quotes, on one line, at most 40 characters.

    Parameters
    ----------
    text : str
        Of any length.

    Returns
    -------
    str
        The text to put into a message.

    Examples
    --------
    >>> print(quoted("two\\nlines"))
    "two\\nlines"
    """
    short = text if len(text) <= 40 else text[:37] + "..."
    return json.dumps(short, ensure_ascii=False)


def rounded(value: float, digits: int = JSON_DIGITS) -> float:
    """The number with so many significant digits.

    Parameters
    ----------
    value : float
        The number.
    digits : int, optional
        How many digits.

    Returns
    -------
    float
        The nearest number of so many digits.

    Examples
    --------
    >>> rounded(0.9999999999000002)
    0.9999999999
    """
    return float(f"{value:.{digits}g}")


def plain_number(value: float) -> str:
    """A number in a sentence: no exponent if it can be read without, and no digits that say nothing.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    str
        Its digits.

    Examples
    --------
    >>> plain_number(1e-06), plain_number(0.0), plain_number(1e-12)
    ('0.000001', '0', '1e-12')
    """
    digits = f"{value:.{CSV_DIGITS}g}"
    if "e" not in digits or not 1e-6 <= abs(value) < 1e15:
        return digits
    return f"{value:.15f}".rstrip("0").rstrip(".")
