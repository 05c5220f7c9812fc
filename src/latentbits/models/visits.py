"""The record of the model of repeat visits. As the other records, it imports nothing but the standard library."""

from math import inf
from typing import Any

from latentbits.models import aspect, false_zeros, records
from latentbits.models.abilities import Ability
from latentbits.models.schema import (
    CELL_MODEL,
    NUMBER_COLUMNS,
    ROW_FACTS,
    Array,
    Entries,
    Frame,
    Labels,
    Member,
    Named,
    Texts,
    Value,
)
from latentbits.models.spec import ModelSpec, Parameter

_PREDICTORS = tuple(spec.class_name for family in (aspect, records, false_zeros) for spec in family.SPECS)
"""The classes whose models can say where a species is to be expected."""

_COUNT = Array("n", dtype="int64", low=0)
_ESTIMATED: dict[str, Any] = {
    "seen": _COUNT,
    "estimated": Array("n", low=0),
    "lower": _COUNT,
    "upper": _COUNT,
    "further_visits": Array("n", low=0, high=inf),
}
_DETECTION: dict[str, Any] = {
    name: Array("n", low=0, high=1) for name in ("detection", "detection_lower", "detection_upper", "rate")
}
_SHARE = Array("N", "D", low=0, high=1)
_PROBABILITY = Named("Cells", mean=_SHARE, lower=_SHARE, upper=_SHARE)
_TOTAL = ("seen", "estimated", "lower", "upper", "species", "chao2", "chao2_lower", "chao2_upper")

SPECS = (
    ModelSpec(
        "repeated-survey",
        "latentbits.models.repeated_survey:RepeatedSurvey",
        data="visits",
        findings="repeated_survey",
        abilities=frozenset({Ability.VISITS}),
        parameters={
            "estimator": Parameter(None),
            "detection": Parameter(None),
            "rate": Parameter(None),
            "random_state": Parameter(None),
            "n_jobs": Parameter(None),
        },
        fitted={
            **NUMBER_COLUMNS,
            **CELL_MODEL,
            "_survey": Entries(
                {
                    "cells": Array("N", "V", "D", dtype="int8", low=-1, high=1),
                    "row_names": Texts("N", optional=True),
                    "visit_names": Texts("V", optional=True),
                    "column_names": Texts("D", optional=True),
                    "row_label": Value(str, optional=True),
                    "facts": ROW_FACTS,
                }
            ),
            "estimator_": Member(_PREDICTORS),
            "_visits": Array("P", "N", "V"),
            "_effort_of_sites": Array("N"),
            "row_weight_": Array("N", low=0, high=1e9, some=True),
            "_frequencies": Array("D"),
            "score_": Array("N", "D"),
            "draws_": Named(
                "Draws",
                abundance=Array("S", dtype="bool"),
                a=Array("S", "D"),
                log_h=Array("S", "D", low=-100, high=100),
                g=Array("S", "N"),
                common=Array("S", ("Q", "P")),
                groups=Array("S", 5),
                criteria=Array(2, "N", low=-inf),
            ),
            "_present": _PROBABILITY,
            "_later": _PROBABILITY,
            "abundance_share_": Value(float, low=0, high=1),
            "effort_": Value(float, optional=True),
            "species_": Frame(
                "D",
                column=Labels("n"),
                **_ESTIMATED,
                **_DETECTION,
            ),
            "sites_": Frame(
                "N",
                row=Labels("n"),
                n_visits=_COUNT,
                **_ESTIMATED,
                after_next=Array("n", low=0),
                after_next_lower=_COUNT,
                after_next_upper=_COUNT,
            ),
            "_total": Entries({name: Value(float, low=0) for name in _TOTAL}),
            "_seed": Value(int, low=0),
        },
        sizes={"Q": (2,)},
        stored_types=(
            "latentbits.models.detection:Draws",
            "latentbits.models.survey_answers:Cells",
        ),
    ),
)
