"""A factor analysis as one HTML page that needs nothing from outside: the finding, the scree plot, the loadings."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

from latentbits import views

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latentbits.correlations.factor_analysis import FactorSolution


def factor_page(found: FactorSolution, title: str) -> str:
    """The page of a solution; everything that comes from data is escaped."""
    figures = [picture(draw()) for draw in found.figures().values()]
    block = views.block(title, str(found).split("\n"), *figures, *([_loadings(found)] if found.n_factors else []))
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{block}</body></html>'


def _loadings(found: FactorSolution) -> str:
    table = found.to_frame().reset_index(names="column")
    return views.table(list(table.columns), [[_short(cell) for cell in row] for row in table.values.tolist()])


def _short(cell: object) -> object:
    return f"{cell:z.3f}" if isinstance(cell, float) else cell


def picture(figure: Figure, words: str = "") -> str:
    """A figure as part of a page, with the words for who doesn't see it."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{escape(words)}" style="max-width:100%" src="data:image/png;base64,{data}"><br>'
