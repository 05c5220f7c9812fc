"""The page: a template, a style sheet and scripts, and the content as JSON, in one file."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from latentbits.storage.files import plain_scalar

__all__ = ["render"]

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
    "page.js",
)
_OF_ENSEMBLE = "ensemble.js"
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(content: dict[str, Any]) -> str:
    """The HTML of a page with this content. It may load nothing, and runs no script but its own."""
    names = [_OF_ENSEMBLE, *SCRIPTS] if content["ensemble"] else SCRIPTS
    script = "\n".join(["(() => {", '"use strict";', *map(_asset, names), "})();"])
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_asset("page.html"))
    return template.render(
        **content,
        style=Markup(_asset("page.css")),
        script=Markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        data=Markup(_json_for_html(content)),
    )


def _json_for_html(content: dict[str, Any]) -> str:
    """JSON in which nothing can end a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain_scalar)
    return text.translate(_ESCAPED)


def _asset(name: str) -> str:
    return (files("latentbits.report") / "assets" / name).read_text(encoding="utf-8")
