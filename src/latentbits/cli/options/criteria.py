"""The options of choosing a number of components or a model on held-out rows and cells."""

from __future__ import annotations

import click

from latentbits.cli.options.click_helpers import Command
from latentbits.cli.options.value_types import Names

__all__ = ["criterion_option", "folds_option"]

FOLDS = 10


def criterion_option(command: Command) -> Command:
    """Give a command the criteria of choosing a number."""
    return click.option(
        "--criterion",
        type=Names(("aic", "bic", "evidence", "cv", "cells")),
        metavar="LIST",
        help="aic, bic, evidence (beta-ica), cv (held-out rows), cells (held-out cells); the first one chooses.  "
        "[default: aic,cells; for nmf and fast-ica cells]",
    )(command)


def folds_option(command: Command) -> Command:
    """Give a command the number of folds."""
    return click.option(
        "--folds", type=click.IntRange(min=2), default=FOLDS, show_default=True, help="Of held-out rows and cells."
    )(command)
