"""A factor analysis as one HTML page that needs nothing from outside: the finding, the scree plot, the loadings."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

from latentbits import sentences
from latentbits.report.frame import framed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latentbits.correlations.factor_analysis import FactorSolution


def factor_page(found: FactorSolution, title: str) -> str:
    """The page of a solution; everything that comes from data is escaped."""
    headline, *others = str(found).split("\n")
    figures = {sentences.label(key): (headline, draw) for key, draw in found.figures().items()}
    loadings = found.to_frame().reset_index(names="column")
    tables = {"loadings": loadings} if found.n_factors else {}
    return framed(headline, found=others, figures=figures, tables=tables, file=title)


def picture(figure: Figure, words: str = "") -> str:
    """A figure as part of a page, with the words for who doesn't see it."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{escape(words)}" style="max-width:100%" src="data:image/png;base64,{data}"><br>'
