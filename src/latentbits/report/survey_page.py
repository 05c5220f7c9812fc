"""A survey with repeat visits as one HTML page that needs nothing from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from latentbits import views
from latentbits.report.factor_page import picture

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_LINES = 60
"""Of each table; the rest is in its file."""

_HEADINGS = {
    "suspects": "Look for these: species that no visit has seen, and that are most likely there",
    "sites": "Sites: species seen and estimated",
    "species": "Species: sites where each was seen, where it is, and how easily it is seen",
    "left_out_visits": "Each visit left out in turn, and predicted from the others",
}
_CAPTIONS = {
    "richness": "Species seen and estimated, site by site.",
    "detection": "How easily each species is seen where it is.",
    "further_visits": "What further visits to every site would bring.",
    "calibration": "Left-out visits: on the diagonal, what was predicted came true. Large dots are many cells.",
}


def survey_page(
    title: str,
    lines: Sequence[str],
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Callable[[], Figure]],
) -> str:
    """The page; everything that comes from data is escaped."""
    parts = []
    for name, draw in figures.items():
        parts += [f"<h3>{escape(_CAPTIONS[name])}</h3>", picture(draw(), _CAPTIONS[name])]
    for name in [name for name in _HEADINGS if name in tables]:
        shown = tables[name].head(MOST_LINES)
        rows = [[_short(cell) for cell in row] for row in shown.astype(object).to_numpy().tolist()]
        more = len(tables[name]) - len(shown)
        parts += [f"<h3>{escape(_HEADINGS[name])}</h3>", views.table(list(shown.columns), rows, more=more)]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    block = views.block(title, lines, *parts)
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{block}</body></html>'


def _short(cell: object) -> object:
    if not isinstance(cell, float):
        return cell
    return f"{cell:.0f}" if cell.is_integer() and abs(cell) >= 1 else f"{cell:.3g}"
