"""Which zeros are false: an ensemble of unlike models, weighted by how well they predict hidden cells."""

from typing import get_args

from latentbits.constraints import Choice, Number
from latentbits.models.aspect import Noise
from latentbits.models.spec import ModelSpec, Option, Parameter

__all__ = ["SPECS"]

_HERE = "latentbits.models.false_zeros"

SPECS = (
    ModelSpec(
        "false-zeros",
        f"{_HERE}.estimator:FalseZeros",
        findings="false_zeros",
        has_weights=False,
        parameters={
            "n_folds": Parameter(
                Number(2, integer=True, optional=True),
                Option("folds", "parts of the cells, hidden in turn to weight the members"),
            ),
            "noise": Parameter(
                Choice(get_args(Noise), optional=True),
                Option("noise", "allow for rows that lost ones (white) or got false ones (black); auto: if it shows"),
            ),
            "members": Parameter(None, Option("members", "those to use, such as aspects_4,ising; all by default")),
            "random_state": Parameter(None, Option("seed", "same seed, same answer")),
            "n_jobs": Parameter(None, Option("jobs", "threads; -1 is all cores")),
        },
        stored_types=(f"{_HERE}.stacking:Stack", f"{_HERE}.stacking:Line"),
    ),
)
