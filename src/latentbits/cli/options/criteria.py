"""The options of choosing a number of components or a model on held-out rows and cells."""

from __future__ import annotations

from collections.abc import Callable

import click

from latentbits.cli.options.click_helpers import Command
from latentbits.cli.options.value_types import Names

__all__ = ["CHOOSING", "SHOWING", "criterion_option", "folds_option"]

FOLDS = 10
CHOOSING, SHOWING = ("cells", "aic"), ("aic", "cells")
"""The criteria of a fit, the first about what a fit is asked for (which cells are false); and those of a table."""


def criterion_option(default: tuple[str, ...]) -> Callable[[Command], Command]:
    """Give a command the criteria of choosing a number."""
    return click.option(
        "--criterion",
        type=Names(("aic", "bic", "evidence", "cv", "cells", "pairs")),
        metavar="LIST",
        help="aic, bic, evidence (beta-ica, ica-mixture), cv (held-out rows), cells (held-out cells), pairs "
        "(binary-ica); the first one chooses.  "
        f"[default: {','.join(default)}; for nmf and fast-ica cells, for binary-ica pairs, for binary-factors bic,cv, "
        "for ica-mixture evidence,cv]",
    )


def folds_option(command: Command) -> Command:
    """Give a command the number of folds."""
    return click.option(
        "--folds", type=click.IntRange(min=2), default=FOLDS, show_default=True, help="Of held-out rows and cells."
    )(command)
