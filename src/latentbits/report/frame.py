"""The frame of every page: badge, headline, four large numbers, a large picture, a list beside it, methods at the foot.

`framed` makes a page of anything that can be said in these parts; `latentbits.report.page` adds what is interactive.
"""

from __future__ import annotations

import io
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup

from latentbits import palette, sentences
from latentbits.notes import Level
from latentbits.storage.files import plain_scalar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

N_TABLE_LINES = 50
LARGEST_SVG = 400_000
"""Bytes of a figure, beyond which it is an image of points: a page that takes seconds to open is not looked at."""

FINDS_NOTHING = (Level.NONE, Level.NEIGHBOURS)
"""Levels without evidence: then the verdict stands alone, and all else is folded."""

_DEFAULTS: dict[str, Any] = {
    "file": "",
    "size": "",
    "reasons": [],
    "numbers": [],
    "answer": [],
    "notes": [],
    "lines": [],
    "sure": [],
    "facts": [],
    "methods": "",
    "pictures": [],
    "tables": [],
    "views": [],
    "beside": "found",
    "restarts": None,
    "selection": None,
    "workbench": None,
    "ensemble": None,
    "map": None,
    "responses": None,
    "variation": None,
}


def framed(
    headline: str,
    *,
    level: Level = Level.UNKNOWN,
    reasons: Sequence[str] = (),
    numbers: Sequence[tuple[str, str, str]] = (),
    found: Sequence[str] = (),
    sure: Sequence[str] = (),
    figures: Mapping[str, tuple[str, Callable[[], Figure]]] | None = None,
    tables: Mapping[str, pd.DataFrame] | None = None,
    methods: str = "",
    file: str = "",
) -> str:
    """A page in the frame, as HTML that needs nothing else; everything that comes from data is escaped.

    Parameters
    ----------
    headline : str
        The finding, in one sentence.
    level : Level
        How clear it is: the badge. With `Level.NONE` everything below the reasons is folded.
    reasons : sequence of str
        Why, in a few sentences.
    numbers : sequence of (value, what it is, what stands beside it)
        The large numbers, up to four.
    found, sure : sequence of str
        What was found, beside the picture, and how sure that is.
    figures : mapping of title to (finding, function that draws)
        The first is the large picture; the finding is the alternative text.
    tables : mapping of title to DataFrame
        Folded, and of long ones the first lines.
    methods : str
        A paragraph to copy, and references.
    file : str
        Where the data came from.

    Returns
    -------
    str
        HTML.
    """
    pictures = [picture(title, shows, draw()) for title, (shows, draw) in (figures or {}).items()]
    shown = [table(title, values) for title, values in (tables or {}).items()]
    content = {
        "headline": headline,
        "reasons": list(reasons),
        "level": str(level),
        "numbers": [list(number) for number in numbers],
    }
    content |= {"lines": list(found), "sure": list(sure), "methods": methods, "file": file}
    return render({**content, "views": ["figure"] if pictures else [], "pictures": pictures, "tables": shown})


def picture(title: str, shows: str, figure: Figure) -> dict[str, str]:
    """A figure with the finding that it shows as alternative text."""
    from matplotlib import rc_context

    file, kind = io.BytesIO(), "svg+xml"
    with rc_context({"svg.hashsalt": title}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    if file.tell() > LARGEST_SVG:
        file, kind = io.BytesIO(), "png"
        figure.savefig(file, format="png", dpi=150)
    source = f"data:image/{kind};base64,{b64encode(file.getvalue()).decode()}"
    return {"title": title, "alternative": f"{title}. {shows}".strip(), "source": source}


def table(name: str, values: pd.DataFrame) -> dict[str, Any]:
    """The first lines of a table, every cell as text, and which columns hold numbers."""
    lines = [[_shown(cell) for cell in line] for line in values.head(N_TABLE_LINES).to_numpy(object)]
    numeric = [dtype.kind in "iuf" for dtype in values.dtypes]
    columns = [str(column) for column in values.columns]
    return {"name": name, "columns": columns, "numeric": numeric, "lines": lines, "n_lines": len(values)}


def _shown(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.0f}" if cell.is_integer() and abs(cell) < 1e9 else f"{cell:.4g}"


# ---- the file --------------------------------------------------------------------------------------------------------

_OF_ENSEMBLE, _OF_PLACES = "ensemble.js", "map.js"
"""Scripts that a page has only where there is something for them to show."""

SCRIPTS = (
    "model.js",
    "shapes.js",
    "components.js",
    "cells.js",
    "zoom.js",
    "rows.js",
    "suspects.js",
    "marks.js",
    "files.js",
    "sure.js",
    "overview.js",
    _OF_PLACES,
    "page.js",
)
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(content: dict[str, Any]) -> str:
    """The HTML of a page with this content. It may load nothing, and runs no script but its own."""
    content = {**_DEFAULTS, "folded": content["level"] in FINDS_NOTHING, **content}
    content["menu"] = [(name, title) for name, title in sentences.SECTIONS.items() if _has(content, name)]
    names = [_OF_ENSEMBLE, *SCRIPTS] if content["ensemble"] else list(SCRIPTS)
    if not any(content[what] for what in ("map", "responses", "variation")):
        names.remove(_OF_PLACES)
    assets = (_lean(_asset(name)) for name in names)
    script = "\n".join(["(() => {", '"use strict";', f"const PALETTE = {json.dumps(_PALETTE)};", *assets, "})();"])
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _lean(_asset("page.html"))
    )
    return template.render(
        **content,
        badge=sentences.BADGES[Level(content["level"])],
        style=Markup(_colours() + _lean(_asset("page.css"))),
        script=Markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        data=Markup(_json_for_html({name: part for name, part in content.items() if name not in _FOR_READERS})),
    )


def _has(content: dict[str, Any], section: str) -> bool:
    """Whether a page has the section, so that its menu shows it."""
    bench, is_list = content["workbench"], content["ensemble"] is not None
    has = {
        "suspects": is_list or bench is not None,
        "components": bench is not None,
        "cells": bench is not None,
        "row": bench is not None,
        "found": bool(content["lines"]),
        "figures": len(content["pictures"]) > ("figure" in content["views"]),
        "sure": any(content[name] for name in ("sure", "restarts", "ensemble", "selection")),
        "tables": bool(content["tables"]),
        "fitted": bool(content["methods"] or content["facts"]),
        **{name: content[name] is not None for name in ("map", "responses", "variation")},
    }
    return has[section]


_FOR_READERS = {
    "pictures",
    "tables",
    "methods",
    "facts",
    "sure",
    "lines",
    "answer",
    "notes",
    "numbers",
    "reasons",
    "menu",
}
"""Parts that stand in the page already, and that no script reads."""


def _json_for_html(content: dict[str, Any]) -> str:
    """JSON in which nothing can end a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain_scalar)
    return text.translate(_ESCAPED)


_PALETTE = {"series": palette.SERIES, "noise": palette.NOISE, "shares": palette.SHARES}


def _colours() -> str:
    """The palette as variables of the style sheet, light and dark; paper is light."""
    schemes = {":root": palette.LIGHT, ':root[data-theme="dark"]': palette.DARK}
    rules = [
        f"{root} {{ color-scheme: {scheme}; {' '.join(f'--{name}: {colour};' for name, colour in colours.items())} }}"
        for scheme, (root, colours) in zip(("light", "dark"), schemes.items(), strict=True)
    ]
    return "\n".join([*rules, f":root {{ --light-paper: {palette.LIGHT['paper']}; }}", ""])


_COMMENT = re.compile(r"(^\s*|\s\s)// .*$")


def _lean(text: str) -> str:
    """A template, script or style sheet without indentation and comments: every page carries it."""
    lines = (_COMMENT.sub("", line).strip() for line in text.splitlines())
    return "\n".join(filter(None, lines))


def _asset(name: str) -> str:
    return (files("latentbits.report") / "assets" / name).read_text(encoding="utf-8")
