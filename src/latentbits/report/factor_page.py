"""A factor analysis as one HTML page that needs nothing from outside: the finding, the scree plot, the loadings."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from latentbits import sentences
from latentbits.findings.account import factors_from_one
from latentbits.notes import Level
from latentbits.report.frame import framed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latentbits.correlations.factor_analysis import FactorSolution


def factor_page(found: FactorSolution, title: str) -> str:
    """The page of a solution; everything that comes from data is escaped."""
    headline, *others = str(found).split("\n")
    loadings = factors_from_one(found.to_frame()).reset_index(names="column")
    tables = {"loadings": loadings} if found.n_factors else {}
    if found.n_factors > 1:
        tables["correlations of the factors"] = factor_correlations(found)
    return framed(
        headline,
        level=_level(found),
        reasons=[] if found.parallel is None else [str(found.parallel)],
        numbers=_numbers(found),
        found=others,
        figures={sentences.label(key): (headline, draw) for key, draw in found.figures().items()},
        tables=tables,
        file=title,
    )


def factor_correlations(found: FactorSolution) -> pd.DataFrame:
    """Correlations of the factors as a table with their names, which count from 1."""
    names = [f"factor_{k + 1}" for k in range(found.n_factors)]
    return pd.DataFrame(found.factor_correlations, names, names).reset_index(names="factor")


def _level(found: FactorSolution) -> Level:
    """Parallel analysis is the test; a number that was given has none."""
    if found.parallel is None:
        return Level.UNKNOWN
    return Level.CLEAR if found.n_factors else Level.NONE


def _numbers(found: FactorSolution) -> list[tuple[str, str, str]]:
    """The large numbers: factors, what they explain, and how well they fit."""
    D, fit = len(found.loadings), found.fit
    numbers = [
        (str(found.n_factors), "factors", f"behind {D} columns"),
        (f"{1 - found.uniquenesses.mean():.0%}", "of variance", "explained by the factors"),
    ]
    if fit is not None and fit.rmsea is not None:
        numbers += [
            (f"{fit.rmsea:.2f}", "RMSEA", f"{fit.rmsea_low:.2f} to {fit.rmsea_high:.2f}; below 0.05 is close"),
            (f"{fit.srmr:.2f}", "SRMR", "root mean square of residual correlations"),
        ]
    return numbers if found.n_factors else []


def picture(figure: Figure, words: str = "") -> str:
    """A figure as part of a page, with the words for who doesn't see it."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{escape(words)}" style="max-width:100%" src="data:image/png;base64,{data}"><br>'
