"""Which zeros are false: an ensemble of unlike models, weighted by how well they predict held-out cells."""

from typing import get_args

from latentbits.constraints import Choice, Number
from latentbits.models.abilities import BY_CELL, Ability
from latentbits.models.aspect import NOISE_TRIALS, Noise
from latentbits.models.schema import CELL_MODEL, COLUMNS, ROW_FACTS, Array, Entries, Frame, Member, Named, Texts, Value
from latentbits.models.spec import ModelSpec, Option, Parameter

__all__ = ["SPECS"]

_HERE = "latentbits.models.false_zeros"

MEMBER_CLASSES = {
    **dict.fromkeys(("probit_factors", "covariates_2", "covariates_8"), "ProbitFactors"),
    **dict.fromkeys(("aspects_12", "aspects_4", "aspects_2"), "AspectBernoulli"),
    "ising": "IsingModel",
    "linear_autoencoder": "LinearAutoencoder",
    "rows_and_columns": "RowColumnBernoulli",
}
"""The class of each member, by its name."""

_LINE = Named("Line", intercept=Value(float), slope=Value(float, low=0))

SPECS = (
    ModelSpec(
        "false-zeros",
        f"{_HERE}.ensemble:FalseZeros",
        abilities=BY_CELL | {Ability.MEMBERS, Ability.EXPLAIN_CELLS, Ability.KNOW_ROWS},
        findings="false_zeros",
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
        fitted={
            **COLUMNS,
            **CELL_MODEL,
            "_row_facts": ROW_FACTS,
            "members_": Entries({name: Member(kind) for name, kind in MEMBER_CLASSES.items()}, "M", some=True),
            "intercept_": Value(float),
            "member_weights_": Array("M", low=0),
            "_lines": Entries({"absence": _LINE, "presence": _LINE}),
            "_column_odds": Array("D"),
            "n_hidden_": Value(int, low=0),
            "held_out_": Frame(
                None,
                optional=True,
                lower=Array("n", low=0, high=1),
                upper=Array("n", low=0, high=1),
                predicted=Array("n", low=0, high=1),
                observed=Array("n", low=0, high=1),
                count=Array("n", dtype="int64", low=0),
            ),
            "member_scores_": Frame(
                None,
                optional=True,
                member=Texts("n"),
                weight=Array("n", nan=True),
                log_likelihood=Array("n", nan=True),
                auc=Array("n", nan=True),
            ),
            "gains_": Entries(Entries(Value(float)), optional=True),
            "auc_": Entries(Value(float), optional=True),
            "noise_model_": Member("AspectBernoulli", optional=True),
            "noise_trials_": NOISE_TRIALS,
        },
        added=("n_rows_",),
        renamed={"data_fingerprint_": "data_checksum_", "weights_": "member_weights_"},
        stored_types=(f"{_HERE}.stacking:Stack", "latentbits.fitting.held_out:Line"),
    ),
)
