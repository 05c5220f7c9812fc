"""One palette for plots and pages: each colour has one meaning, on light paper and on dark.

Imports nothing but the standard library. Text has a contrast of at least 4.5 to 1 with its paper, marks and borders of
at least 3 to 1 (`contrast`); a test computes them.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "ground": "#f4f5f7",
    "ink": "#1c2430",
    "quiet": "#5b6675",
    "line": "#d9dee5",
    "edge": "#7b8492",
    "value": "#0072b2",
    "below": "#b84a08",
    "found": "#b0125b",
    "filled": "#1f86c7",
    "missing": "#8a7fae",
    "zero": "#e9edf2",
    "one": "#2b3440",
    "clear": "#1a7f4b",
    "weak": "#96600a",
    "none": "#5b6675",
}
"""By meaning. Cells are `zero`, `one` or `missing`. `value`: how much from 0 to 1, and what speaks for a 1. `below`:
less than zero, and what speaks against a 1. `found`: listed cells, and how suspected they are. `filled`: a 0 that
becomes a 1."""

DARK = {
    "paper": "#1d1f21",
    "ground": "#141517",
    "ink": "#e8e8e6",
    "quiet": "#a3a8ae",
    "line": "#3a3d40",
    "edge": "#7d8084",
    "value": "#64b5f0",
    "below": "#f0853c",
    "found": "#f472ac",
    "filled": "#3a9ad8",
    "missing": "#8076a8",
    "zero": "#2b2f34",
    "one": "#cfd6de",
    "clear": "#58c48a",
    "weak": "#e0ac54",
    "none": "#a3a8ae",
}
"""The same meanings on dark paper."""

TEXT = ("ink", "quiet", "value", "below", "found", "clear", "weak", "none")
"""Those that texts have, or that stand behind texts of the colour of the paper."""

MARKS = ("edge", "filled", "missing", "one")
"""Those that marks and borders have."""

SERIES = (
    *("#0072b2", "#009e73", "#d55e00", "#7b5ea7", "#2f93cc"),
    *("#8c6d31", "#c23b6b", "#3d8f8f", "#6b8e23", "#6f7fd0"),
)
"""Components, clusters and groups, in order; on light paper and on dark."""

NOISE = {"white": "#bd7f00", "black": "#a05a86", "extinct": "#808080"}
"""Components that are no content."""

SHARES = {"covariates": SERIES[0], "space": SERIES[1], "factors": NOISE["white"], "unexplained": LIGHT["line"]}
"""Parts of what explains a column."""


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21, as accessibility guidelines (WCAG 2) define it.

    Parameters
    ----------
    one, other : str
        Such as "#ffffff".

    Returns
    -------
    float
        How many times as bright the brighter one is.

    Examples
    --------
    >>> contrast("#000000", "#ffffff")
    21.0
    """
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
